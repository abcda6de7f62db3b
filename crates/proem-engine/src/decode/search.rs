//! Finds the values in a text and takes the best.

use std::cmp::Reverse;
use std::collections::VecDeque;

use serde_json::Value as Json;

use proem_text::Span;

use super::around::{describe, peeled, trim};
use super::cursor::LenientReader;
use super::fit::fit;
use super::reader::Stop;
use super::repairs::Repairs;
use super::tree::{JsonNodeKind, JsonTree};
use super::{DecodeFailure, DecodedValue, MAX_CANDIDATES, RepairKind};
use crate::contract::Contract;

/// How often the bytes of a text may be read before a failed attempt costs what it read, and how many
/// bytes are free for short texts.
const READS: usize = 8;
const FREE_BYTES: usize = 64 * 1024;

/// A value and what the contract says to it.
#[derive(Debug)]
struct ValueCandidate {
    value: Json,
    span: Span,
    repairs: Repairs,
    /// What is better comes later.
    rank: (bool, Reverse<usize>),
}

/// The value that all of `body` is, as the contract wants it.
pub(super) fn whole(text: &str, body: Span, contract: &Contract) -> Result<DecodedValue, DecodeFailure> {
    let tree = LenientReader::new(text, body).tree().map_err(|stop| unreadable(text, body, stop))?;
    let judged = judge(text, tree, contract).ok_or(DecodeFailure::NoValue)?;
    Ok(DecodedValue { value: judged.value, repairs: judged.repairs.into_sorted() })
}

/// The best of the values in `body`.
pub(super) fn best(text: &str, body: Span, contract: &Contract) -> Result<DecodedValue, DecodeFailure> {
    let (trees, earlier) = trees(text, body).map_err(|stop| unreadable(text, body, stop))?;
    let mut best: Option<ValueCandidate> = None;
    let mut count = 0_usize;
    for judged in trees.into_iter().filter_map(|tree| judge(text, tree, contract)) {
        count = count.saturating_add(1);
        if best.as_ref().is_none_or(|best| judged.rank >= best.rank) {
            best = Some(judged);
        }
    }
    let best = best.or_else(|| scalar(text, body, contract)).ok_or_else(|| unreadable(text, body, Stop::NoValue))?;
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

/// The last lists and objects of `body`, and where the ones before them are.
fn trees(text: &str, body: Span) -> Result<(VecDeque<JsonTree>, Option<Span>), Stop> {
    let mut trees = VecDeque::new();
    let mut earlier: Option<Span> = None;
    let mut budget = body.len().saturating_mul(READS).saturating_add(FREE_BYTES);
    let mut from = body.start;
    while let Some(at) =
        text.get(from..body.end).and_then(|rest| rest.bytes().position(|byte| matches!(byte, b'{' | b'[')))
    {
        let start = from.saturating_add(at);
        let mut reader = LenientReader::new(text, Span::new(start, body.end));
        let tree = reader.tree();
        let looked = reader.looked.max(reader.at);
        budget = budget.saturating_sub(looked.saturating_sub(start));
        // Something inside of what is no value may be one.
        let mut next = start;
        match tree {
            Err(Stop::TooDeep) => return Err(Stop::TooDeep),
            Ok(tree) if !is_prose(&tree) => {
                next = tree.span(tree.root).end;
                trees.push_back(tree);
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
    let (value, repairs) = tree.into_value(fitted.edits);
    let value = value?;
    let accepted = contract.accepts(&value);
    let rank = (accepted, Reverse(if accepted { repairs.count() } else { fitted.wrong }));
    Some(ValueCandidate { value, span, repairs, rank })
}

/// The text, number or literal that `body` is, such as a text that holds an object.
fn scalar(text: &str, body: Span, contract: &Contract) -> Option<ValueCandidate> {
    let mut reader = LenientReader::new(text, peeled(text, trim(text, body)));
    let tree = reader.tree().ok().filter(|_| reader.is_at_end())?;
    judge(text, tree, contract)
}
