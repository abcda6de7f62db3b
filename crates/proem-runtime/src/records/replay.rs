//! Runs once more, without sending: from the record alone, to the first difference.
//!
//! Invariants: nothing is performed and no gate is passed. The machine sees the recorded events and nothing else. The
//! first difference ends the replay.

mod questions;

use std::collections::BTreeMap;

use proem_engine::cache::plan_request;
use proem_engine::call::{FailureKind, Request};
use proem_engine::providers::Model;
use proem_engine::run::{
    Effect, EffectId, EffectResult, Event, EventKind, Machine, Outcome, Step, ToolOutcome, ToolUse,
};
use proem_engine::versions::{VersionChange, version_change_words};
use proem_llm::codec::encode_request;
use proem_store::Store;
use proem_store::body::unfold;
use proem_store::query::{CallRow, RunDetail, RunState, ToolCallRow};
use proem_store::record::{HashedContent, RunId, RunOutcome};
use proem_text::json;
use serde::Serialize;
use serde_json::Value as Json;

use super::recording::replayed_end;
use crate::Error;
use crate::tools::ToolQuestions;

/// How many bytes are shown before and after the first one that differs.
const AROUND: usize = 40;

/// The longest line of forks that is followed back.
const MOST_PARENTS: usize = 100;

/// The difference between a replay and the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// At which call, from 0. The number of calls for what comes after the last.
    pub call: u32,
    /// In what: `section NAME`, `body`, `request`, `event`, `outcome`.
    pub what: String,
    /// The first byte that differs, in the section's text, the body, or the value.
    pub byte: Option<usize>,
    /// The record's value there, shortened. A JSON string, so that it is safe to look at. It is the versions that the
    /// record was made with, if others are the reason.
    pub recorded: String,
    /// Today's value there.
    pub found: String,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayReport {
    /// How many calls were rebuilt.
    pub calls: u32,
    /// How many bytes of requests are the same.
    pub bytes: u64,
    /// The first difference. `None` if there is none.
    pub difference: Option<Difference>,
    /// The end of the run, this time, as a record has it.
    pub outcome: Option<Outcome>,
}

/// The means by which a replay makes its requests.
#[derive(Debug, Clone, Copy)]
pub struct ReplayMeans<'r> {
    /// The recorded models, the run's own first.
    pub models: &'r [&'r Model],
    /// The recorded questions of its tools to models. Without them, their requests are not made.
    pub questions: Option<ToolQuestions<'r>>,
}

impl<'r> ReplayMeans<'r> {
    /// For a run whose tools ask no model.
    #[must_use]
    pub const fn of_models(models: &'r [&'r Model]) -> Self {
        Self { models, questions: None }
    }
}

/// Feeds a run's recorded events to its machine, and compares every request and the end with the record, byte for byte.
/// A run that has not ended is replayed as far as it came. A fork with what its parents did before.
///
/// `machine` is made today from the recorded inputs, prompts, profile and settings, and has taken no event. `as_kept`
/// says what a record has of the machine's outcome.
///
/// # Errors
///
/// [`Error::Records`] if the record can't be read, [`Error::NotReplayable`] if something of it is
/// missing or damaged.
pub async fn replay<M: Machine>(
    store: &Store,
    detail: &RunDetail,
    means: ReplayMeans<'_>,
    machine: &mut M,
    as_kept: impl Fn(&M::Outcome) -> Outcome,
) -> Result<ReplayReport, Error> {
    let record = RunRecord::of(store, detail).await?;
    let mut replayed = ReplayReport { calls: 0, bytes: 0, difference: None, outcome: None };
    let mut events = record.events.iter().peekable();
    while let Some(event) = events.next() {
        let step = match machine.step(event.clone()) {
            Ok(step) => step,
            Err(error) => {
                replayed.differs(Difference {
                    call: replayed.calls,
                    what: "event".to_owned(),
                    byte: None,
                    recorded: event_kind(event),
                    found: json::quote_json(&error.to_string()),
                });
                return Ok(replayed);
            }
        };
        match step {
            Step::Do(effects) => {
                for (id, effect) in effects {
                    let next = events.peek().copied();
                    match effect {
                        Effect::Call { request } => {
                            let replaying = ReplayedCall { effect: id, request: &request, next };
                            record.compare(&mut replayed, &replaying, means.models)?;
                        }
                        Effect::Tool { call } => {
                            record.compare_tool(&mut replayed, id, &call, next);
                            if let (None, Some(asking)) = (&replayed.difference, means.questions) {
                                record.compare_question(&mut replayed, asking, (id, &call), next)?;
                            }
                        }
                        _ => {}
                    }
                }
            }
            Step::Done(outcome) => {
                let outcome = as_kept(&outcome);
                let difference = match events.peek() {
                    None => record.end(&replayed, &outcome, detail),
                    Some(next) => Some(replayed.at_the_end(event_kind(next), "the end of the run".to_owned())),
                };
                replayed.outcome = Some(outcome);
                replayed.difference = replayed.difference.or(difference);
            }
            // A person's answer and the end of the time are events of the record themselves.
            Step::Ask(_) | Step::Wait { .. } => {}
        }
        if replayed.difference.is_some() || replayed.outcome.is_some() {
            return Ok(replayed);
        }
    }
    if let RunState::Ended(outcome) = detail.row.state {
        let difference = replayed.at_the_end(outcome.as_str().to_owned(), "a run that has not ended".to_owned());
        replayed.differs(difference);
    }
    Ok(replayed)
}

impl ReplayReport {
    /// Names the versions of what made the requests, where those have changed since: then that is the difference,
    /// whichever byte it shows in first. How a run ended is no matter of theirs.
    #[must_use]
    pub fn between(mut self, changed: &[VersionChange]) -> Self {
        let Some(difference) = self.difference.as_mut().filter(|difference| difference.what != "outcome") else {
            return self;
        };
        if !changed.is_empty() {
            let (recorded, found) = version_change_words(changed);
            (difference.byte, difference.recorded, difference.found) = (None, recorded, found);
        }
        self
    }

    fn differs(&mut self, difference: Difference) {
        self.difference = Some(difference);
    }

    fn at_the_end(&self, recorded: String, found: String) -> Difference {
        Difference { call: self.calls, what: "outcome".to_owned(), byte: None, recorded, found }
    }
}

/// The kind of an event: `performed`.
fn event_kind(event: &Event) -> String {
    let what = serde_json::to_value(&event.what).unwrap_or_default();
    what.get("kind").and_then(Json::as_str).unwrap_or("an event").to_owned()
}

/// Why a fork can't be replayed whose parent is unreadable.
fn unreadable_parent(fork: &RunId, parent: &RunId, error: proem_store::Error) -> Error {
    match error {
        proem_store::Error::NotFound(_) => Error::NotReplayable {
            run: fork.short().to_owned(),
            why: format!("it is a fork of run `{}`, which held its first events and was deleted", parent.short()),
        },
        error => error.into(),
    }
}

/// A call that the machine asks for in a replay.
struct ReplayedCall<'r> {
    effect: EffectId,
    request: &'r Request,
    /// The recorded event after it, which says what came of the call. `None` where the record ends.
    next: Option<&'r Event>,
}

/// The record of a run and its parents.
struct RunRecord {
    run: String,
    events: Vec<Event>,
    calls: BTreeMap<EffectId, CallRow>,
    tools: BTreeMap<EffectId, ToolCallRow>,
    texts: BTreeMap<String, Vec<u8>>,
}

impl RunRecord {
    async fn of(store: &Store, detail: &RunDetail) -> Result<Self, Error> {
        let mut steps: BTreeMap<u32, String> = BTreeMap::new();
        let mut calls: BTreeMap<EffectId, CallRow> = BTreeMap::new();
        let mut tools: BTreeMap<EffectId, ToolCallRow> = BTreeMap::new();
        let (mut run, mut before) = (detail.clone(), u32::MAX);
        for _ in 0..MOST_PARENTS {
            // A fork has the events from its beginning on. Earlier ones are its parent's, or that one's parent's.
            // Events of a parent after the fork began are none of the fork's.
            let first = run.steps.iter().map(|(step, ..)| *step).min().unwrap_or(before).min(before);
            steps.extend(run.steps.into_iter().filter(|(step, ..)| *step < before).map(|(step, _, hash)| (step, hash)));
            for call in run.calls.into_iter().filter(|call| !call.body.is_empty()) {
                // The fork's own first: it may have asked again what its parent had asked.
                calls.entry(call.effect).or_insert(call);
            }
            for call in run.tools {
                tools.entry(call.effect).or_insert(call);
            }
            match run.row.parent {
                Some(parent) if first > 0 => {
                    run =
                        store.run(&parent).await.map_err(|error| unreadable_parent(&detail.row.id, &parent, error))?;
                }
                _ => break,
            }
            before = first;
        }
        let mut hashes: Vec<String> = steps.values().cloned().collect();
        for call in calls.values() {
            hashes.extend(call.sections.iter().map(|section| section.text.clone()));
            hashes_in_pieces(&call.pieces, &mut hashes);
            // The answers to a run's own requests are in its events.
            hashes.extend(call.result.clone().filter(|_| call.effect.caller().is_some()));
        }
        hashes.extend(tools.values().map(|call| call.arguments.clone()));
        hashes.sort();
        hashes.dedup();
        let texts = store.contents(&hashes).await?;
        let mut record = Self { run: detail.row.id.short().to_owned(), events: Vec::new(), calls, tools, texts };
        for (place, (step, hash)) in steps.iter().enumerate() {
            // A gap would feed the machine an event that it doesn't wait for, which is no difference of today's.
            if u32::try_from(place) != Ok(*step) {
                return Err(record.missing("an event"));
            }
            let bytes = record.texts.get(hash).ok_or_else(|| record.missing("an event"))?;
            let event = serde_json::from_slice(bytes).map_err(|_| record.missing("an event in a known format"))?;
            record.events.push(event);
        }
        Ok(record)
    }

    fn missing(&self, what: &str) -> Error {
        Error::NotReplayable { run: self.run.clone(), why: format!("{what} is missing from its record") }
    }

    fn text(&self, hash: &str) -> Option<String> {
        self.texts.get(hash).and_then(|bytes| String::from_utf8(bytes.clone()).ok())
    }

    /// Compares a call's request with the recorded one.
    fn compare(
        &self,
        replayed: &mut ReplayReport,
        replaying: &ReplayedCall<'_>,
        models: &[&Model],
    ) -> Result<(), Error> {
        let &ReplayedCall { effect, request, next } = replaying;
        let named = models.iter().find(|model| model.name == request.model).or_else(|| models.first());
        let Some(model) = named.copied() else { return Err(self.missing("the model of a request")) };
        let plan = plan_request(request, model, model.counter().as_ref());
        let encoded = encode_request(request, model, &plan);
        let Some(call) = self.calls.get(&effect) else {
            // A call that never came to be sent is in the events alone.
            if encoded.is_ok() && !was_unsent(effect, next) {
                replayed.differs(Difference {
                    call: replayed.calls,
                    what: "request".to_owned(),
                    byte: None,
                    recorded: "nothing".to_owned(),
                    found: format!("a request to {}", model.name),
                });
            }
            return Ok(());
        };
        let body = unfold(&call.pieces, &|hash| self.text(hash)).ok_or_else(|| self.missing("a text of a request"))?;
        let recorded = json::compact_in_order(&body);
        if HashedContent::new(recorded.as_str()).hash != call.body {
            return Err(Error::NotReplayable {
                run: self.run.clone(),
                why: "the hash of a request differs from that of the bytes sent".to_owned(),
            });
        }
        let number = replayed.calls;
        replayed.calls = number.saturating_add(1);
        let found = match encoded {
            Ok(encoded) => json::compact_in_order(&encoded.wire.body),
            Err(error) => {
                let (recorded, found) = (format!("{} bytes", recorded.len()), json::quote_json(&error.to_string()));
                replayed.differs(Difference { call: number, what: "body".to_owned(), byte: None, recorded, found });
                return Ok(());
            }
        };
        if found == recorded {
            replayed.bytes = replayed.bytes.saturating_add(u64::try_from(found.len()).unwrap_or(u64::MAX));
            return Ok(());
        }
        let difference = self.section(number, call, request).unwrap_or_else(|| {
            let (byte, recorded, found) = first_difference(&recorded, &found);
            Difference { call: number, what: "body".to_owned(), byte: Some(byte), recorded, found }
        });
        replayed.differs(difference);
        Ok(())
    }

    /// Compares a call of a tool with the recorded one. It is not made.
    fn compare_tool(&self, replayed: &mut ReplayReport, effect: EffectId, call: &ToolUse, next: Option<&Event>) {
        let number = replayed.calls;
        replayed.calls = number.saturating_add(1);
        let Some(recorded) = self.tools.get(&effect) else {
            // A call that was never begun is in the events alone.
            if !was_unsent(effect, next) {
                let (recorded, found) = ("nothing".to_owned(), format!("a call of {}", call.tool));
                replayed.differs(Difference { call: number, what: "tool".to_owned(), byte: None, recorded, found });
            }
            return;
        };
        if recorded.tool != call.tool {
            let (recorded, found) = (json::quote_json(&recorded.tool), json::quote_json(&call.tool));
            replayed.differs(Difference { call: number, what: "tool".to_owned(), byte: None, recorded, found });
            return;
        }
        if HashedContent::new(call.arguments.as_str()).hash != recorded.arguments {
            let text = self.text(&recorded.arguments).unwrap_or_default();
            let (byte, recorded, found) = first_difference(&text, &call.arguments);
            let what = format!("arguments of {}", call.tool);
            replayed.differs(Difference { call: number, what, byte: Some(byte), recorded, found });
            return;
        }
        replayed.bytes = replayed.bytes.saturating_add(u64::try_from(call.arguments.len()).unwrap_or(u64::MAX));
    }

    /// The first section that differs.
    fn section(&self, number: u32, call: &CallRow, request: &Request) -> Option<Difference> {
        let (recorded, found) = (&call.sections, &request.assembly.sections);
        for place in 0..recorded.len().max(found.len()) {
            let (before, today) = (recorded.get(place), found.get(place));
            if before.is_some_and(|row| {
                today.is_some_and(|section| {
                    row.name == section.name && row.text == HashedContent::new(section.text.as_str()).hash
                })
            }) {
                continue;
            }
            let name = before.map(|row| row.name.as_str()).or(today.map(|section| section.name.as_str()));
            let what = format!("section {}", name.unwrap_or_default());
            let other = |name: &str| format!("section {name}");
            return Some(match (before, today) {
                (Some(row), Some(section)) if row.name == section.name => {
                    let text = self.text(&row.text).unwrap_or_default();
                    let (byte, recorded, found) = first_difference(&text, &section.text);
                    Difference { call: number, what, byte: Some(byte), recorded, found }
                }
                (before, today) => Difference {
                    call: number,
                    what,
                    byte: None,
                    recorded: before.map_or_else(|| "nothing".to_owned(), |row| other(&row.name)),
                    found: today.map_or_else(|| "nothing".to_owned(), |section| other(&section.name)),
                },
            });
        }
        None
    }

    /// Compares the end.
    fn end(&self, replayed: &ReplayReport, outcome: &Outcome, detail: &RunDetail) -> Option<Difference> {
        let RunState::Ended(recorded) = detail.row.state else { return None };
        let (how, because, value) = replayed_end(outcome);
        // Whether it was the budget that nobody was asked for is in the record alone.
        let may_be_refused = matches!(how, RunOutcome::Failed | RunOutcome::FellBack);
        let how = if recorded == RunOutcome::Refused && may_be_refused { recorded } else { how };
        if how != recorded {
            return Some(replayed.at_the_end(recorded.as_str().to_owned(), how.as_str().to_owned()));
        }
        let words = |because: &Option<Json>| because.as_ref().map_or_else(|| "nothing".to_owned(), json::compact);
        if because != detail.because {
            return Some(replayed.at_the_end(words(&detail.because), words(&because)));
        }
        let hash = value.as_ref().map(|value| value.hash.clone());
        if hash == detail.value {
            return None;
        }
        let short = |hash: Option<&String>| {
            hash.map_or_else(|| "no value".to_owned(), |hash| format!("a value with hash {hash}"))
        };
        Some(replayed.at_the_end(short(detail.value.as_ref()), short(hash.as_ref())))
    }
}

/// Whether an effect's result is a failure before anything was sent, or the call or the run was given up, which
/// may have been before that.
fn was_unsent(id: EffectId, next: Option<&Event>) -> bool {
    match next.map(|event| &event.what) {
        Some(EventKind::Performed { results }) => results.iter().any(|(effect, performed)| {
            *effect == id
                && match performed {
                    EffectResult::Failed { failure } => failure.kind.is_unsent() || is_given_up(failure.kind),
                    EffectResult::Tool { outcome } => matches!(outcome, ToolOutcome::Denied { .. }),
                    _ => false,
                }
        }),
        // The record ends here, or the run was given up.
        None | Some(EventKind::Cancelled { .. }) => true,
        Some(_) => false,
    }
}

const fn is_given_up(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Cancelled | FailureKind::TimedOut)
}

/// The hashes in a body's pieces, whatever form they have: every text of 64 hexadecimal digits.
fn hashes_in_pieces(pieces: &Json, hashes: &mut Vec<String>) {
    match pieces {
        Json::String(text) if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            hashes.push(text.clone());
        }
        Json::Array(items) => items.iter().for_each(|item| hashes_in_pieces(item, hashes)),
        Json::Object(fields) => fields.values().for_each(|value| hashes_in_pieces(value, hashes)),
        _ => {}
    }
}

/// The first byte in which two texts differ, with what is around it in each.
fn first_difference(recorded: &str, found: &str) -> (usize, String, String) {
    let same = recorded.bytes().zip(found.bytes()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| {
        let from = text.floor_char_boundary(same.saturating_sub(AROUND));
        let to = text.ceil_char_boundary(same.saturating_add(AROUND).min(text.len()));
        json::quote_json(text.get(from..to).unwrap_or_default())
    };
    (same, around(recorded), around(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_changed_stand_for_the_bytes() {
        let check = |what: &str, changed: &[VersionChange], expected: (Option<usize>, &str, &str)| {
            let (recorded, found) = ("\"a\"".to_owned(), "\"b\"".to_owned());
            let difference = Some(Difference { call: 1, what: what.to_owned(), byte: Some(3), recorded, found });
            let replayed = ReplayReport { calls: 2, bytes: 9, difference, outcome: None }.between(changed);
            let Difference { byte, recorded, found, .. } = replayed.difference.unwrap();
            assert_eq!((byte, recorded.as_str(), found.as_str()), expected, "{what}");
        };
        let changed = [VersionChange { what: "containment", recorded: 1, today: 2 }];
        check("section report", &[], (Some(3), "\"a\"", "\"b\""));
        check("section report", &changed, (None, "containment 1", "containment 2"));
        check("body", &changed, (None, "containment 1", "containment 2"));
        check("outcome", &changed, (Some(3), "\"a\"", "\"b\""));
    }

    #[test]
    fn the_first_byte_that_differs() {
        let check = |recorded: &str, found: &str, expected: (usize, &str, &str)| {
            let (byte, recorded, found) = first_difference(recorded, found);
            assert_eq!((byte, recorded.as_str(), found.as_str()), expected);
        };
        check("abc", "abd", (2, "\"abc\"", "\"abd\""));
        check("abc", "ab", (2, "\"abc\"", "\"ab\""));
        check("", "a", (0, "\"\"", "\"a\""));
        // In the middle of a character, and far from either end.
        check("é", "è", (1, "\"é\"", "\"è\""));
        let (long, other) = (format!("{}x{}", "a".repeat(50), "b".repeat(50)), format!("{}\u{1b}", "a".repeat(50)));
        let (before, after) = ("a".repeat(40), "b".repeat(39));
        check(&long, &other, (50, &format!("\"{before}x{after}\""), &format!("\"{before}\\u001b\"")));
    }
}
