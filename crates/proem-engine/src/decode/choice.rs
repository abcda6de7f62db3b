//! Takes one of the values in a text, or none if the text doesn't say which.

use serde_json::Value as Json;

use proem_text::Span;

use super::DecodeFailure;
use super::RepairKind;
use super::around::is_space;
use super::repairs::Repairs;
use crate::contract::Contract;

/// Words before a value that make it the final one.
const FINAL: [&str; 40] = [
    "final",
    "finally",
    "answer",
    "answers",
    "corrected",
    "correction",
    "revised",
    "actually",
    "wait",
    "no",
    "sorry",
    "better",
    "fixed",
    "improved",
    "updated",
    "rather",
    "result",
    "so",
    "therefore",
    "hence",
    "thus",
    "endgültig",
    "antwort",
    "korrigiert",
    "nein",
    "besser",
    "ergebnis",
    "finale",
    "réponse",
    "corrigé",
    "non",
    "résultat",
    "respuesta",
    "corregido",
    "mejor",
    "resultado",
    "resposta",
    "corrigido",
    "não",
    "mine",
];

/// Words before a value that make it one among several, or no answer at all.
const ANOTHER: [&str; 26] = [
    "example",
    "e.g",
    "format",
    "shape",
    "schema",
    "template",
    "such",
    "instead",
    "like",
    "prefer",
    "alternatively",
    "alternative",
    "or",
    "quoted",
    "said",
    "contained",
    "not",
    "beispiel",
    "etwa",
    "oder",
    "exemple",
    "ou",
    "ejemplo",
    "exemplo",
    "esempio",
    "voorbeeld",
];

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
}

impl ValueCandidate {
    /// Whether part of it is missing or in doubt.
    fn is_damaged(&self) -> bool {
        self.cut || self.torn || self.repairs.has(RepairKind::LeftOut)
    }

    /// Whether it was meant as the answer: it is one, or has the kind and a key that the contract wants.
    fn is_attempt(&self, text: &str, contract: &Contract) -> bool {
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

/// The value that was meant, of those in `text`; `None` if there is none.
///
/// # Errors
///
/// [`DecodeFailure::Ambiguous`] if that can't be told.
pub(super) fn choose(
    text: &str,
    mut candidates: Vec<ValueCandidate>,
    contract: &Contract,
) -> Result<Option<ValueCandidate>, DecodeFailure> {
    let Some(at) = best(text, &candidates, contract)? else { return Ok(None) };
    let chosen = candidates.swap_remove(at);
    if chosen.torn { Err(DecodeFailure::Ambiguous) } else { Ok(Some(chosen)) }
}

fn best(text: &str, candidates: &[ValueCandidate], contract: &Contract) -> Result<Option<usize>, DecodeFailure> {
    // An earlier value is a draft or a quotation, which must not stand in for what the model meant to send.
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
    filled.retain(|at| candidates.get(*at).is_some_and(|candidate| !has_placeholder(&candidate.value)));
    let standing = if filled.is_empty() { accepted } else { filled };
    let chosen: Vec<&ValueCandidate> = standing.iter().filter_map(|at| candidates.get(*at)).collect();
    match chosen.as_slice() {
        [others @ .., last] if others.iter().any(|other| other.value != last.value) => {
            if is_final(text, others, last) {
                Ok(standing.last().copied())
            } else {
                Err(DecodeFailure::Ambiguous)
            }
        }
        _ => Ok(standing.last().copied()),
    }
}

fn indices(candidates: &[ValueCandidate], keep: impl Fn(&ValueCandidate) -> bool) -> Vec<usize> {
    candidates.iter().enumerate().filter(|(_, candidate)| keep(candidate)).map(|(at, _)| at).collect()
}

/// Whether the text shows that `last` replaces the other values: it follows at once, stands by itself after values
/// amid sentences, or words say so.
fn is_final(text: &str, others: &[&ValueCandidate], last: &ValueCandidate) -> bool {
    let from = others.last().map_or(0, |other| other.span.end);
    let between = text.get(from..last.span.start).unwrap_or_default();
    let is_mark = |c: char| is_space(c) || matches!(c, '`' | '~');
    if between.trim_matches(is_mark).trim_start_matches("json").trim_matches(is_mark).is_empty() {
        return true;
    }
    let between = between.to_lowercase();
    let mut words = between.split(|c: char| !c.is_alphanumeric() && c != '.').map(|word| word.trim_matches('.'));
    if words.clone().any(|word| ANOTHER.contains(&word)) {
        return false;
    }
    words.any(|word| FINAL.contains(&word))
        || (is_block(text, last.span) && !others.iter().any(|other| is_block(text, other.span)))
}

/// Whether a value stands by itself on its lines.
fn is_block(text: &str, span: Span) -> bool {
    let before = text.get(..span.start).unwrap_or_default().rsplit('\n').next().unwrap_or_default().trim();
    let after = text.get(span.end..).unwrap_or_default().split('\n').next().unwrap_or_default().trim();
    let is_fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
    let opens = before.is_empty() || is_fence(before) || (before.starts_with('<') && before.ends_with('>'));
    opens && (after.is_empty() || is_fence(after) || after.starts_with("</"))
}

/// Whether a text in `value` is the mark of one that is to be filled in.
fn has_placeholder(value: &Json) -> bool {
    match value {
        Json::String(text) => {
            let text = text.trim();
            let inside = |open, close| text.strip_prefix(open).and_then(|rest: &str| rest.strip_suffix(close));
            matches!(text, "..." | "…" | "string") || inside('<', '>').or_else(|| inside('{', '}')).is_some()
        }
        Json::Array(elements) => elements.iter().any(has_placeholder),
        Json::Object(members) => members.values().any(has_placeholder),
        _ => false,
    }
}
