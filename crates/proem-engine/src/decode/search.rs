//! Finds the values in a text.

use std::collections::VecDeque;

use serde_json::Value as Json;

use proem_text::Span;

use super::around::{describe, is_space, peeled, trim};
use super::choice::{ValueCandidate, choose};
use super::cursor::LenientReader;
use super::fit::fit;
use super::reader::Stop;
use super::reasoning::{Reasoning, next_reasoning};
use super::strings::StringPosition;
use super::tree::{JsonNodeKind, JsonTree};
use super::{DecodeFailure, DecodedValue, MAX_CANDIDATES, RepairKind};
use crate::contract::Contract;

/// How often the bytes of a text may be read before a failed attempt costs what it read, and how many
/// bytes are free for short texts.
const READS: usize = 8;
const FREE_BYTES: usize = 64 * 1024;

/// How much behind a value is looked at for a key.
const MAX_KEY_BYTES: usize = 256;

/// The value that all of `body` is, as the contract wants it.
pub(super) fn whole(text: &str, body: Span, contract: &Contract) -> Result<DecodedValue, DecodeFailure> {
    let tree = LenientReader::new(text, body).tree().map_err(|stop| unreadable(text, body, stop))?;
    let judged = choose(text, judge(text, tree, contract).into_iter().collect(), contract)?;
    let judged = judged.ok_or(DecodeFailure::NoValue)?;
    Ok(DecodedValue { value: judged.value, repairs: judged.repairs.into_sorted() })
}

/// The best of the values in `body`.
pub(super) fn best(text: &str, body: Span, contract: &Contract) -> Result<DecodedValue, DecodeFailure> {
    let (trees, earlier) = trees(text, body).map_err(|stop| unreadable(text, body, stop))?;
    let candidates: Vec<ValueCandidate> = trees.into_iter().filter_map(|tree| judge(text, tree, contract)).collect();
    let count = candidates.len();
    let best = match choose(text, candidates, contract)? {
        Some(chosen) => Some(chosen),
        None => choose(text, scalar(text, body, contract).into_iter().collect(), contract)?,
    };
    let best = best.ok_or_else(|| unreadable(text, body, Stop::NoValue))?;
    let mut repairs = best.repairs;
    if count > 1 {
        repairs.push(RepairKind::Candidates, best.span);
    }
    if let Some(earlier) = earlier {
        repairs.push(RepairKind::CandidatesUnread, earlier);
    }
    describe(text, best.span, &mut repairs);
    Ok(DecodedValue { value: best.value, repairs: repairs.into_sorted() })
}

fn unreadable(text: &str, body: Span, stop: Stop) -> DecodeFailure {
    match stop {
        Stop::TooDeep => DecodeFailure::TooDeep,
        Stop::NoValue if trim(text, body).is_empty() => DecodeFailure::Empty,
        Stop::NoValue => DecodeFailure::NoValue,
    }
}

/// The last lists and objects of `body` outside of the model's reasoning, and where the ones before them are.
fn trees(text: &str, body: Span) -> Result<(VecDeque<JsonTree>, Option<Span>), Stop> {
    let mut trees: VecDeque<JsonTree> = VecDeque::new();
    let mut earlier: Option<Span> = None;
    let mut budget = body.len().saturating_mul(READS).saturating_add(FREE_BYTES);
    let mut from = body.start;
    loop {
        let rest = text.get(from..body.end).unwrap_or_default();
        let at = rest.bytes().position(|byte| matches!(byte, b'{' | b'[')).unwrap_or(rest.len());
        match next_reasoning(rest.get(..at).unwrap_or_default(), rest) {
            Some(Reasoning::Block(end)) => {
                from = from.saturating_add(end);
                continue;
            }
            // A server may keep the opening tag to itself; everything before the closing one is reasoning.
            Some(Reasoning::End(end)) => {
                trees.clear();
                earlier = None;
                from = from.saturating_add(end);
                continue;
            }
            None if at == rest.len() => break,
            None => {}
        }
        let start = from.saturating_add(at);
        let mut reader = LenientReader::new(text, Span::new(start, body.end));
        let tree = reader.tree();
        let looked = reader.looked.max(reader.at);
        budget = budget.saturating_sub(looked.saturating_sub(start));
        // Something inside of what is no value may be one.
        let mut next = start;
        match tree {
            Err(Stop::TooDeep) => return Err(Stop::TooDeep),
            Ok(tree) if tree.torn || !is_prose(&tree) => {
                next = tree.span(tree.root).end;
                trees.push_back(tree);
                join_neighbours(text, body, &mut trees);
            }
            _ => {}
        }
        // Looking at the same bytes again and again has an end.
        from = if budget > 0 { next } else { next.max(looked) }.max(start.saturating_add(1));
        if trees.len() > MAX_CANDIDATES
            && let Some(tree) = trees.pop_front()
        {
            let span = tree.span(tree.root);
            earlier = Some(Span::new(earlier.map_or(span.start, |earlier| earlier.start), span.end));
        }
    }
    Ok((trees, earlier))
}

/// Marks the last value as torn if what follows it is structure, and it with the one before if brackets that neither
/// opened follow: something ended too early, and part of it would be taken for prose.
fn join_neighbours(text: &str, body: Span, trees: &mut VecDeque<JsonTree>) {
    let Some(mut last) = trees.pop_back() else { return };
    let span = last.span(last.root);
    let follows = continuation(text, Span::new(span.end, body.end));
    last.torn |= follows.continues;
    if let Some(previous) = trees.back_mut() {
        let between = Span::new(previous.span(previous.root).end, span.start);
        let between = text.get(between.start..between.end).unwrap_or_default();
        let adjoins = between.trim_matches(|c| c == ',' || is_space(c)).is_empty();
        if adjoins && (follows.closes || previous.torn) {
            previous.torn = true;
            last.torn = true;
        }
    }
    trees.push_back(last);
}

/// What follows a value.
struct Continuation {
    /// Whether brackets follow that it did not open.
    closes: bool,
    /// Whether members or elements follow behind a comma or such brackets.
    continues: bool,
}

fn continuation(text: &str, rest: Span) -> Continuation {
    let after = text.get(rest.start..rest.end).unwrap_or_default().trim_start_matches(is_space);
    let open = after.trim_start_matches(|c| matches!(c, '}' | ']') || is_space(c));
    let closes = after.starts_with(['}', ']']);
    let comma = open.strip_prefix(',').map(|rest| rest.trim_start_matches(is_space));
    let next = comma.unwrap_or(open);
    let is_bracket = comma.is_some() && next.starts_with(['{', '[']);
    // A key is short, so that looking for one behind each value costs little.
    let start = rest.end.saturating_sub(next.len());
    let end = start.saturating_add(next.floor_char_boundary(MAX_KEY_BYTES));
    let mut reader = LenientReader::new(text, Span::new(start, end));
    let is_key = next.starts_with('"')
        && reader.quoted(StringPosition::Key).is_some_and(|key| !key.open)
        && reader.rest().trim_start_matches(is_space).starts_with(':');
    Continuation { closes, continues: is_bracket || is_key }
}

/// Whether what was read is prose between brackets.
fn is_prose(tree: &JsonTree) -> bool {
    let elements = match tree.node(tree.root).map(|node| &node.kind) {
        Some(JsonNodeKind::List(elements)) => elements,
        Some(JsonNodeKind::Unread) => return true,
        _ => return false,
    };
    let kinds = || elements.iter().filter_map(|element| tree.node(*element)).map(|node| &node.kind);
    let words = kinds().any(|kind| matches!(kind, JsonNodeKind::Bare));
    words && kinds().any(|kind| matches!(kind, JsonNodeKind::List(_) | JsonNodeKind::Object(_)))
}

fn judge(text: &str, tree: JsonTree, contract: &Contract) -> Option<ValueCandidate> {
    let span = tree.span(tree.root);
    let fitted = fit(text, &tree, contract.schema());
    let (cut, torn) = (tree.cut, tree.torn);
    let (value, repairs) = tree.into_value(fitted.edits);
    // A torn one counts though none of it can be read: something was meant there.
    let value = value.or(torn.then_some(Json::Null))?;
    let accepted = contract.accepts(&value);
    Some(ValueCandidate { value, span, repairs, accepted, wrong: fitted.wrong, cut, torn })
}

/// The text, number or literal that `body` is, such as a text that holds an object.
fn scalar(text: &str, body: Span, contract: &Contract) -> Option<ValueCandidate> {
    let mut reader = LenientReader::new(text, peeled(text, trim(text, body)));
    let tree = reader.tree().ok().filter(|_| reader.is_at_end())?;
    judge(text, tree, contract)
}
