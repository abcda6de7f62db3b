//! Takes one of the values in a text, or none if the text doesn't say which.

use serde_json::Value as Json;

use proem_text::Span;

use super::DecodeFailure;
use super::answer_standing::{Standing, is_replaced, is_taken_back, standing_in_text};
use super::repairs::Repairs;
use crate::contract::Contract;

/// A value and what the contract says to it.
#[derive(Debug)]
pub(super) struct ValueCandidate {
    pub(super) value: Json,
    pub(super) span: Span,
    pub(super) repairs: Repairs,
    /// Whether the contract accepts it.
    pub(super) accepted: bool,
    /// How many places break the schema.
    pub(super) wrong: usize,
    /// Whether the text ended inside of it.
    pub(super) cut: bool,
    /// Whether its parts can be put together in more than one way.
    pub(super) torn: bool,
    /// How many words are before it that may open somebody else's turn.
    pub(super) turn: usize,
    /// The start of the words that may lead to it.
    pub(super) lead: usize,
}

impl ValueCandidate {
    /// Whether part of it is missing or in doubt.
    fn is_damaged(&self) -> bool {
        self.cut || self.torn || self.repairs.has_loss()
    }

    /// Whether it was meant as the answer: it is one, or has the kind and a key that the contract wants.
    pub(super) fn is_attempt(&self, text: &str, contract: &Contract) -> bool {
        let written = text.get(self.span.start..self.span.end).unwrap_or_default();
        let wants_list = contract.schema().get("type").and_then(Json::as_str) == Some("array");
        let names = contract.schema().get("properties").and_then(Json::as_object);
        self.accepted
            || match names {
                Some(names) => written.starts_with('{') && names.keys().any(|name| written.contains(name.as_str())),
                None => written.starts_with('[') == wants_list,
            }
    }
}

/// The value that was meant, of those in `text`. `None` if there is none.
///
/// # Errors
///
/// [`DecodeFailure::Ambiguous`] if that can't be told.
pub(super) fn choose_value(
    text: &str,
    mut candidates: Vec<ValueCandidate>,
    contract: &Contract,
) -> Result<Option<ValueCandidate>, DecodeFailure> {
    let Some(at) = best_candidate(text, &candidates, contract)? else { return Ok(None) };
    let chosen = candidates.swap_remove(at);
    match chosen {
        ValueCandidate { torn: true, .. } => Err(DecodeFailure::Ambiguous),
        chosen if is_unfilled(&chosen.value) => Err(DecodeFailure::Unfilled),
        chosen => Ok(Some(chosen)),
    }
}

/// Whether a text in `value` is no more than the name of its own field in brackets, or dots for what is to come, or
/// all of several texts are words in angle brackets.
pub(super) fn is_unfilled(value: &Json) -> bool {
    let mut texts = Vec::new();
    collect_texts(value, &mut texts);
    let is_blank = |text: &&str| text.starts_with('<') && text.ends_with('>') && !text.contains(['/', '=']);
    texts.iter().any(|text| matches!(*text, "..." | "…"))
        || (texts.len() > 1 && texts.iter().all(is_blank))
        || holds_own_name(value)
}

fn collect_texts<'v>(value: &'v Json, texts: &mut Vec<&'v str>) {
    match value {
        Json::String(text) => texts.push(text.trim()),
        Json::Array(elements) => elements.iter().for_each(|element| collect_texts(element, texts)),
        Json::Object(members) => members.values().for_each(|member| collect_texts(member, texts)),
        _ => {}
    }
}

fn holds_own_name(value: &Json) -> bool {
    let is_own_name = |(name, value): (&String, &Json)| match value {
        Json::String(text) => ["<>", "{}", "[]"].iter().any(|brackets| {
            let mut brackets = brackets.chars();
            let inner = brackets.next().and_then(|open| text.trim().strip_prefix(open));
            let inner = inner.zip(brackets.next()).and_then(|(inner, close)| inner.strip_suffix(close));
            inner.is_some_and(|inner| inner.trim().replace([' ', '-'], "_").eq_ignore_ascii_case(name))
        }),
        other => holds_own_name(other),
    };
    match value {
        Json::Array(elements) => elements.iter().any(holds_own_name),
        Json::Object(members) => members.iter().any(is_own_name),
        _ => false,
    }
}

fn best_candidate(
    text: &str,
    candidates: &[ValueCandidate],
    contract: &Contract,
) -> Result<Option<usize>, DecodeFailure> {
    // An earlier value is a draft or a quotation, which must not replace what the model meant to send.
    let last = candidates.iter().rposition(|candidate| candidate.is_attempt(text, contract));
    if let Some(last) = last
        && candidates.get(last).is_some_and(ValueCandidate::is_damaged)
    {
        return Ok(Some(last));
    }
    let accepted: Vec<usize> = indices(candidates, |candidate| candidate.accepted && !candidate.torn);
    if accepted.is_empty() {
        let least = candidates.iter().map(|candidate| candidate.wrong).min();
        return Ok(candidates.iter().rposition(|candidate| Some(candidate.wrong) == least));
    }
    let mut filled = accepted.clone();
    filled.retain(|at| candidates.get(*at).is_some_and(|candidate| !has_placeholder_text(&candidate.value)));
    stated_answer(text, candidates, &if filled.is_empty() { accepted } else { filled }).map(Some)
}

/// The one of the accepted values that the text states as its answer.
fn stated_answer(text: &str, candidates: &[ValueCandidate], accepted: &[usize]) -> Result<usize, DecodeFailure> {
    let mut from = 0;
    let mut found: Vec<(usize, &ValueCandidate, Standing)> = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        if accepted.contains(&at) {
            found.push((at, candidate, standing_in_text(text, from.max(candidate.lead), candidate.span)));
        }
        from = candidate.span.end;
    }
    let is_stated = |(_, _, standing): &&(usize, &ValueCandidate, Standing)| *standing != Standing::Mentioned;
    let Some(first) = found.iter().position(|one| is_stated(&one)) else { return Err(DecodeFailure::Mentioned) };
    // A mention before the answer is a quotation or a thought. One behind it may take the answer back.
    let found = found.get(first..).unwrap_or_default();
    if let [.., (_, previous, _), (at, last, Standing::Stated)] = found
        && is_replaced(text, previous.span.end, last.span.start)
        && !is_taken_back(text, candidates.iter().map(|candidate| candidate.span), last.span)
    {
        return Ok(*at);
    }
    let finals: Vec<_> = found.iter().filter(|(_, _, standing)| *standing == Standing::Final).collect();
    let standing = if finals.is_empty() { found.iter().collect() } else { finals };
    let [others @ .., (at, last, _)] = standing.as_slice() else { return Err(DecodeFailure::Mentioned) };
    let differs = others.iter().any(|(_, other, _)| other.value != last.value);
    if differs || is_taken_back(text, candidates.iter().map(|candidate| candidate.span), last.span) {
        return Err(DecodeFailure::Ambiguous);
    }
    Ok(*at)
}

fn indices(candidates: &[ValueCandidate], keep: impl Fn(&ValueCandidate) -> bool) -> Vec<usize> {
    candidates.iter().enumerate().filter(|(_, candidate)| keep(candidate)).map(|(at, _)| at).collect()
}

/// Whether a text in `value` is the mark of one that is to be filled in.
fn has_placeholder_text(value: &Json) -> bool {
    match value {
        Json::String(text) => {
            let text = text.trim();
            let inside = |open, close| text.strip_prefix(open).and_then(|rest: &str| rest.strip_suffix(close));
            matches!(text, "..." | "…" | "string") || inside('<', '>').or_else(|| inside('{', '}')).is_some()
        }
        Json::Array(elements) => elements.iter().any(has_placeholder_text),
        Json::Object(members) => members.values().any(has_placeholder_text),
        _ => false,
    }
}
