//! Finds the values in a text.

use std::collections::VecDeque;

use serde_json::Value as Json;

use proem_text::Span;

use super::around::{describe, is_space_between_values, peel_wrappers, trim_span};
use super::choice::{ValueCandidate, choose_value, is_unfilled};
use super::cursor::LenientReader;
use super::envelope::open_envelope;
use super::fit::align_with_schema;
use super::place::place_repairs;
use super::reader::Stop;
use super::reasoning::{FoundReasoning, Reasoning, next_reasoning};
use super::repairs::Repairs;
use super::strict;
use super::strings::StringPosition;
use super::tree::{JsonNodeKind, JsonTree};
use super::turns::{TurnMark, next_turn};
use super::{DecodeFailure, DecodedValue, MAX_CANDIDATES, RepairKind};
use crate::contract::Contract;

/// How often the bytes of a text may be read before a failed attempt costs what it read, and how many
/// bytes are free for short texts.
const READS: usize = 8;
const FREE_BYTES: usize = 64 * 1024;

/// How much behind a value is looked at for a key.
const MAX_KEY_BYTES: usize = 256;

/// How far a line may be indented whose first word may open a turn.
const MAX_INDENT_BYTES: usize = 64;

/// The value that all of `body` is, as the contract wants it.
pub(super) fn whole_value(text: &str, body: Span, contract: &Contract) -> Result<DecodedValue, DecodeFailure> {
    let tree = LenientReader::new(text, body).tree().map_err(|stop| decode_failure(text, body, stop))?;
    let judged = choose_value(text, judge_candidate(text, tree, contract).into_iter().collect(), contract)?;
    let judged = judged.ok_or(DecodeFailure::NoValue)?;
    let repairs = place_repairs(text, body, contract.schema(), judged.repairs.into_sorted());
    Ok(DecodedValue { value: judged.value, repairs })
}

/// The value of a body whose every quote is escaped, as if it was in a text.
pub(super) fn escaped(text: &str, body: Span, contract: &Contract) -> Option<DecodedValue> {
    let span = peel_wrappers(text, body);
    let inner = text.get(span.start..span.end)?;
    if !inner.starts_with(['{', '[']) || !inner.contains("\\\"") {
        return None;
    }
    let inner: String = serde_json::from_str(&format!("\"{inner}\"")).ok()?;
    let value = strict::read_strict(&inner).filter(|read| !read.duplicates)?.value;
    let mut repairs = Repairs::default();
    repairs.push(RepairKind::Encoded, span);
    let repairs = place_repairs(text, body, contract.schema(), repairs.into_sorted());
    (contract.accepts(&value) && !is_unfilled(&value)).then_some(DecodedValue { value, repairs })
}

/// The best of the values in `body`.
pub(super) fn best_value(text: &str, body: Span, contract: &Contract) -> Result<DecodedValue, DecodeFailure> {
    let (trees, earlier) = trees(text, body).map_err(|stop| decode_failure(text, body, stop))?;
    let mut candidates: Vec<ValueCandidate> =
        trees.into_iter().filter_map(|tree| judge_candidate(text, tree, contract)).collect();
    // The turn that holds an answer is the model's; what follows it was invented.
    if let Some(turn) = candidates.iter().find(|one| one.is_attempt(text, contract)).map(|one| one.turn) {
        candidates.retain(|candidate| candidate.turn <= turn);
    }
    let count = candidates.len();
    let best = match choose_value(text, candidates, contract)? {
        Some(chosen) => Some(chosen),
        None => choose_value(text, scalar_candidate(text, body, contract).into_iter().collect(), contract)?,
    };
    let best = best.ok_or_else(|| decode_failure(text, body, Stop::NoValue))?;
    let mut repairs = best.repairs;
    if count > 1 {
        repairs.push(RepairKind::Candidates, best.span);
    }
    if let Some(earlier) = earlier {
        repairs.push(RepairKind::CandidatesUnread, earlier);
    }
    describe(text, best.span, &mut repairs);
    let read = Span::new(best.span.start, body.end);
    let repairs = place_repairs(text, read, contract.schema(), repairs.into_sorted());
    Ok(DecodedValue { value: best.value, repairs })
}

fn decode_failure(text: &str, body: Span, stop: Stop) -> DecodeFailure {
    match stop {
        Stop::TooDeep => DecodeFailure::TooDeep,
        Stop::NoValue if trim_span(text, body).is_empty() => DecodeFailure::Empty,
        Stop::NoValue => DecodeFailure::NoValue,
    }
}

/// The last lists and objects of the model's own turn outside of its reasoning, and where the ones before them are.
fn trees(text: &str, body: Span) -> Result<(VecDeque<JsonTree>, Option<Span>), Stop> {
    let mut search = TreeSearch {
        text,
        body,
        from: body.start,
        budget: body.len().saturating_mul(READS).saturating_add(FREE_BYTES),
        trees: VecDeque::new(),
        earlier: None,
        turn: 0,
        lead: body.start,
        has_spoken: false,
        is_foreign: false,
        stretch_end: body.start,
        reasoning: None,
    };
    while let Some(bracket) = search.next_bracket() {
        search.read_tree(bracket)?;
        if search.trees.len() <= MAX_CANDIDATES {
            continue;
        }
        // An answer is not pushed out by the turns that were invented behind it.
        if search.turn > search.trees.front().map_or(0, |tree| tree.turn) {
            break;
        }
        if let Some(tree) = search.trees.pop_front() {
            let span = tree.span(tree.root);
            search.earlier = Some(Span::new(search.earlier.map_or(span.start, |earlier| earlier.start), span.end));
        }
    }
    Ok((search.trees, search.earlier))
}

/// A search for lists and objects.
struct TreeSearch<'t> {
    text: &'t str,
    body: Span,
    from: usize,
    budget: usize,
    trees: VecDeque<JsonTree>,
    /// The span of the values that are no longer considered.
    earlier: Option<Span>,
    /// How many words were passed that may open somebody else's turn.
    turn: usize,
    /// The start of the words that may lead to the next value.
    lead: usize,
    /// Whether something of the model's own was found.
    has_spoken: bool,
    /// Whether what is here is not the model's answer.
    is_foreign: bool,
    /// The place of the next bracket, or the end of the body.
    stretch_end: usize,
    /// The reasoning before that, with its places in the whole text.
    reasoning: Option<FoundReasoning>,
}

impl TreeSearch<'_> {
    /// The place of the next bracket in the model's turn. `None` if the turn ends before one.
    fn next_bracket(&mut self) -> Option<usize> {
        loop {
            let rest = self.text.get(self.from..self.body.end)?;
            self.look_ahead(rest);
            let at = self.stretch_end.saturating_sub(self.from);
            let reasoning = self.reasoning.as_ref().map(|found| FoundReasoning {
                kind: found.kind,
                start: found.start.saturating_sub(self.from),
                end: found.end.saturating_sub(self.from),
            });
            let until = reasoning.as_ref().map_or(at, |reasoning| reasoning.start);
            let turn = next_turn(rest, until, is_near_line_start(self.text, self.from));
            let turn = turn.filter(|turn| reasoning.as_ref().is_none_or(|reasoning| turn.start < reasoning.start));
            let (start, end) = match (&turn, &reasoning) {
                (Some(turn), _) => (turn.start, turn.end),
                (None, Some(reasoning)) => (reasoning.start, reasoning.end),
                (None, None) => {
                    self.note_words(rest.get(..at).unwrap_or_default());
                    return (at < rest.len()).then(|| self.from.saturating_add(at));
                }
            };
            self.note_words(rest.get(..start).unwrap_or_default());
            match (turn.map(|turn| turn.kind), reasoning.map(|reasoning| reasoning.kind)) {
                // Everything behind the end of its own turn, and behind another's, was invented.
                (Some(TurnMark::End), _) if self.has_spoken => return None,
                (Some(TurnMark::End), _) => {}
                (Some(TurnMark::Own | TurnMark::Foreign), _) if !self.trees.is_empty() => return None,
                (Some(TurnMark::Own), _) => (self.is_foreign, self.has_spoken) = (false, false),
                (Some(TurnMark::Foreign), _) if self.has_spoken => return None,
                (Some(TurnMark::Foreign), _) => self.is_foreign = true,
                (Some(TurnMark::Label), _) => self.turn = self.turn.saturating_add(1),
                // A server may keep the opening tag to itself. Everything before the closing one is reasoning.
                (None, Some(Reasoning::End)) => {
                    self.trees.clear();
                    self.earlier = None;
                    self.has_spoken = false;
                }
                (None, _) => {}
            }
            self.from = self.from.saturating_add(end);
            self.lead = self.from;
        }
    }

    /// Finds the next bracket and the reasoning before it, unless they are known: a text of nothing but marks would be
    /// searched to its end behind each of them.
    fn look_ahead(&mut self, rest: &str) {
        let is_passed = self.stretch_end < self.from || self.from == self.body.start;
        if is_passed {
            let at = rest.bytes().position(|byte| matches!(byte, b'{' | b'[')).unwrap_or(rest.len());
            self.stretch_end = self.from.saturating_add(at);
        }
        if is_passed || self.reasoning.as_ref().is_some_and(|found| found.start < self.from) {
            let found = next_reasoning(rest, self.stretch_end.saturating_sub(self.from));
            self.reasoning = found.map(|found| FoundReasoning {
                kind: found.kind,
                start: found.start.saturating_add(self.from),
                end: found.end.saturating_add(self.from),
            });
        }
    }

    fn note_words(&mut self, words: &str) {
        self.has_spoken |= !self.is_foreign && words.chars().any(char::is_alphanumeric);
    }

    /// Reads what starts at a bracket.
    fn read_tree(&mut self, start: usize) -> Result<(), Stop> {
        let mut reader = LenientReader::new(self.text, Span::new(start, self.body.end));
        let tree = reader.tree();
        let looked = reader.looked.max(reader.at);
        self.budget = self.budget.saturating_sub(looked.saturating_sub(start));
        // Something inside of what is no value may be one.
        let mut next = start;
        match tree {
            Err(Stop::TooDeep) => return Err(Stop::TooDeep),
            Ok(mut tree) if tree.torn || !is_prose(&tree) => {
                next = tree.span(tree.root).end;
                (tree.turn, tree.lead) = (self.turn, self.lead);
                if !self.is_foreign {
                    self.has_spoken = true;
                    self.trees.push_back(tree);
                    join_neighbours(self.text, self.body, &mut self.trees);
                }
            }
            _ => {}
        }
        // Looking at the same bytes again and again has an end.
        self.from = if self.budget > 0 { next } else { next.max(looked) }.max(start.saturating_add(1));
        Ok(())
    }
}

/// Whether only a few spaces are before `at` in its line.
fn is_near_line_start(text: &str, at: usize) -> bool {
    let from = text.floor_char_boundary(at.saturating_sub(MAX_INDENT_BYTES));
    let before = text.get(from..at).unwrap_or_default().trim_end_matches([' ', '\t', '#', '*']);
    before.ends_with('\n') || (from == 0 && before.is_empty())
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
        let adjoins = between.trim_matches(|c| c == ',' || is_space_between_values(c)).is_empty();
        if adjoins && (follows.closes || previous.torn) {
            previous.torn = true;
            last.torn = true;
        }
    }
    trees.push_back(last);
}

/// The text after a value.
struct Continuation {
    /// Whether brackets follow that it did not open.
    closes: bool,
    /// Whether members or elements follow behind a comma or such brackets.
    continues: bool,
}

fn continuation(text: &str, rest: Span) -> Continuation {
    let after = text.get(rest.start..rest.end).unwrap_or_default().trim_start_matches(is_space_between_values);
    let open = after.trim_start_matches(|c| matches!(c, '}' | ']') || is_space_between_values(c));
    let closes = after.starts_with(['}', ']']);
    let comma = open.strip_prefix(',').map(|rest| rest.trim_start_matches(is_space_between_values));
    let next = comma.unwrap_or(open);
    let is_bracket = comma.is_some() && next.starts_with(['{', '[']);
    // A key is short, so that looking for one behind each value costs little.
    let start = rest.end.saturating_sub(next.len());
    let end = start.saturating_add(next.floor_char_boundary(MAX_KEY_BYTES));
    let mut reader = LenientReader::new(text, Span::new(start, end));
    let is_key = next.starts_with('"')
        && reader.quoted(StringPosition::Key).is_some_and(|key| !key.open)
        && reader.rest().trim_start_matches(is_space_between_values).starts_with(':');
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

fn judge_candidate(text: &str, mut tree: JsonTree, contract: &Contract) -> Option<ValueCandidate> {
    let span = tree.span(tree.root);
    open_envelope(text, &mut tree, contract.schema());
    let fitted = align_with_schema(text, &tree, contract.schema());
    let (cut, torn, turn, lead) = (tree.cut, tree.torn, tree.turn, tree.lead);
    let (value, repairs) = tree.into_value(fitted.edits);
    // A torn one counts though none of it can be read: something was meant there.
    let value = value.or(torn.then_some(Json::Null))?;
    let accepted = contract.accepts(&value);
    Some(ValueCandidate { value, span, repairs, accepted, wrong: fitted.wrong, cut, torn, turn, lead })
}

/// The text, number or literal that `body` is, such as a text that holds an object.
fn scalar_candidate(text: &str, body: Span, contract: &Contract) -> Option<ValueCandidate> {
    let mut reader = LenientReader::new(text, peel_wrappers(text, trim_span(text, body)));
    let tree = reader.tree().ok().filter(|_| reader.is_at_end())?;
    judge_candidate(text, tree, contract)
}
