//! The pending calls of a program's run, as they are written down.

use proem_engine::run::{CallLabel, EffectId, Question, ToolOutcome, ToolUse};
use proem_engine::{Error, ErrorKind};
use proem_lisp::{CallId, Machine, StateError, StateKey};
use proem_text::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The most bytes of a program's state. A run's input is in it, of which only the pieces that change are stored again.
const MOST_STATE_BYTES: usize = 4 * Machine::MOST_STATE_BYTES;

/// The pending part of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Phase {
    /// Its start.
    New,
    /// A person's yes or no.
    Consent { question: Box<Question> },
    /// Calls.
    Performing,
    /// A person's knowledge of calls that may have happened.
    Doubts {
        /// The questions, one for each.
        questions: Vec<Question>,
    },
    /// Nothing any more.
    Over,
}

/// A call that the program waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PlannedCall {
    /// Its number within the program.
    pub(super) id: u64,
    /// The call. `None` if the tool is missing, or can't be called like this.
    pub(super) call: Option<Box<ToolUse>>,
    /// How far it is.
    pub(super) stage: CallStage,
}

impl PlannedCall {
    pub(super) const fn call_id(&self) -> CallId {
        CallId(self.id)
    }
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum CallStage {
    /// A person has to say so, for these reasons.
    Waiting {
        /// In our words.
        reasons: Vec<String>,
    },
    /// It may be made.
    Ready,
    /// It is made.
    Begun { effect: EffectId },
    /// It may have happened.
    Doubt {
        effect: EffectId,
        /// How that came to be, in our words.
        message: String,
    },
    /// The program's answer is known.
    Answered { answer: StoredAnswer },
}

/// The program's answer to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum StoredAnswer {
    Outcome {
        /// As it was performed.
        outcome: ToolOutcome,
    },
    /// Its arguments can't be used.
    Invalid {
        /// Why, in our words.
        message: String,
    },
    /// There is no such tool.
    Missing { name: String },
    /// A person said that the program should go on although the call may have happened.
    MayHaveHappened,
}

/// The part of a run outside the language's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ProgramState {
    pub(super) phase: Phase,
    /// How many questions were asked.
    pub(super) questions: u32,
    /// The number of the next effect.
    pub(super) next: u32,
    /// Its printed text.
    pub(super) printed: String,
    /// The calls that it waits for, in its order.
    pub(super) calls: Vec<PlannedCall>,
    /// The label of all that its model was shown.
    #[serde(default)]
    pub(super) shown: CallLabel,
    /// The label of the tools that failed.
    #[serde(default)]
    pub(super) failed: CallLabel,
    /// Whether it ended by `return`.
    #[serde(default)]
    pub(super) is_returned: bool,
    /// Whether the run ends with it.
    #[serde(default)]
    pub(super) is_stopped: bool,
    /// The turns that are left for the agents that it calls.
    #[serde(default)]
    pub(super) turns_left: u32,
}

impl ProgramState {
    pub(super) fn new() -> Self {
        let (phase, printed, calls) = (Phase::New, String::new(), Vec::new());
        let (shown, failed) = (CallLabel::default(), CallLabel::default());
        let (questions, next, turns_left, is_returned, is_stopped) = (0, 0, 0, false, false);
        Self { phase, questions, next, printed, calls, shown, failed, is_returned, is_stopped, turns_left }
    }

    pub(super) fn write(&self, machine: &Machine, key: &StateKey) -> Result<Json, Error> {
        let bytes = machine.to_state(key, MOST_STATE_BYTES).map_err(|error| {
            let kind = match error {
                StateError::TooLarge(_) => ErrorKind::StateLimit,
                _ => ErrorKind::Render,
            };
            Error::new(kind, error.to_string())
        })?;
        let state = serde_json::to_value(self).map_err(|error| Error::new(ErrorKind::Render, error.to_string()))?;
        let pieces: Vec<String> = pieces_of_state(&bytes).into_iter().map(hex::encode_hex).collect();
        Ok(json!({ "program": pieces, "run": state }))
    }

    pub(super) fn read(written: &Json) -> Result<(Self, Vec<u8>), Error> {
        let invalid = |why: &str| Error::new(ErrorKind::InvalidInput, format!("this is no state of a program: {why}"));
        let state = written.get("run").ok_or_else(|| invalid("it has no run"))?;
        let state = Self::deserialize(state).map_err(|error| invalid(&error.to_string()))?;
        let piece = |piece: &Json| hex::decode_hex(piece.as_str()?);
        let pieces: Option<Vec<Vec<u8>>> = match written.get("program") {
            Some(Json::Array(pieces)) => pieces.iter().map(piece).collect(),
            // As states were written before they were in pieces.
            Some(whole) => piece(whole).map(|whole| vec![whole]),
            None => None,
        };
        let bytes = pieces.map(|pieces| pieces.concat());
        Ok((state, bytes.ok_or_else(|| invalid("it has no program"))?))
    }
}

/// The least, the most and, as a power of two, the usual number of bytes of a piece of a state.
const PIECES: (usize, usize, u32) = (8 << 10, 128 << 10, 15);

/// The bytes of a state in pieces whose ends depend on the bytes before them alone: where only some bytes of a large
/// state change, the other pieces stay what they were, wherever they are, and are not stored again.
///
/// The rolling hash is the gear hash of FastCDC (<https://www.usenix.org/conference/atc16/technical-sessions/presentation/xia>).
fn pieces_of_state(bytes: &[u8]) -> Vec<&[u8]> {
    let (least, most, bits) = PIECES;
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    while rest.len() > least {
        let window = rest.get(..rest.len().min(most)).unwrap_or(rest);
        let mut hash = 0_u64;
        let ends = window.iter().zip(1_usize..).find(|(byte, length)| {
            hash = (hash << 1).wrapping_add(gear(**byte));
            *length > least && hash >> u64::BITS.saturating_sub(bits) == 0
        });
        let (piece, after) = rest.split_at(ends.map_or(window.len(), |(_, length)| length));
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// A number for a byte that looks drawn at random: splitmix64 (<https://prng.di.unimi.it/splitmix64.c>).
const fn gear(byte: u8) -> u64 {
    let mut mixed = (byte as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Bytes that look drawn at random, always the same.
    fn bytes(length: usize) -> Vec<u8> {
        let mut mixed = 7_u64;
        let next = |_| {
            mixed = mixed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            mixed.to_be_bytes()[0]
        };
        (0..length).map(next).collect()
    }

    #[test]
    fn a_small_change_leaves_most_pieces_as_they_were() {
        let before = bytes(2 << 20);
        let known: BTreeSet<&[u8]> = pieces_of_state(&before).into_iter().collect();
        assert!((30..200).contains(&known.len()), "{}", known.len());
        let mut after = before.clone();
        after.splice(1_000_000..1_000_000, [1, 2, 3]);
        after[5] ^= 1;
        let changed = pieces_of_state(&after).into_iter().filter(|piece| !known.contains(piece)).count();
        assert!((1..=4).contains(&changed), "{changed}");
    }

    #[test]
    fn bytes_that_are_all_alike_have_pieces_within_the_limit() {
        assert!(pieces_of_state(&vec![0; 1 << 20]).iter().all(|piece| piece.len() <= PIECES.1));
        assert!(pieces_of_state(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn pieces_are_the_bytes(seed in 0_usize..300_000) {
            let all = bytes(seed);
            prop_assert_eq!(pieces_of_state(&all).concat(), all);
        }
    }
}
