//! Regular expressions as values: Java's syntax, without look-around and back-references.
//!
//! A search takes steps that are counted one by one, at most the length of the text times the size
//! of the expression for each match, so no expression can be built to take longer.

mod search;
mod translate;

pub(crate) use search::{Match, Search};

use crate::{
    error::{Fault, Reason},
    limits::{Meter, cost},
};
use alloc::{format, string::String, sync::Arc, vec, vec::Vec};
use core::fmt;
use regex_automata::{
    nfa::thompson::{Config, NFA, State, WhichCaptures},
    util::{primitives::StateID, syntax},
};

/// The largest compiled expression, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// How deep groups and classes may nest: the parser below us calls itself for them.
const MOST_LEVELS: u32 = 100;

/// Bytes of the parsed expression for one byte of its text, at most.
const TREE_BYTES: usize = 256;

/// Work of compiling one byte of an expression.
const BYTE_WORK: u64 = 64;

/// A compiled regular expression with the text it was made of.
#[derive(Clone)]
pub struct Regexp {
    source: String,
    program: NFA,
    /// The bytes that a match can start with, or `None` if it can be empty.
    first_bytes: Option<Arc<[bool; 256]>>,
}

impl Regexp {
    /// Compiles an expression.
    ///
    /// # Errors
    ///
    /// It isn't one, or is too large when compiled.
    pub(crate) fn compile(source: &str, meter: &mut Meter) -> Result<Self, Fault> {
        meter.work(u64::try_from(source.len()).unwrap_or(u64::MAX).saturating_mul(BYTE_WORK))?;
        meter.allocate(source.len().saturating_mul(TREE_BYTES))?;
        let translated = translate::translate(source, meter)?;
        let config = syntax::Config::new().utf8(false).nest_limit(MOST_LEVELS);
        let parsed = syntax::parse_with(&translated, &config).map_err(|error| {
            let text = format!("{error}");
            let reason = text.lines().last().and_then(|line| line.strip_prefix("error: ")).unwrap_or("it is malformed");
            Fault::eval(format!("this isn't a regular expression: {reason}"))
                .help("to match text as it is, escape it with `\\Q…\\E`, or search with `str/includes?`")
        })?;
        let config =
            Config::new().utf8(false).nfa_size_limit(Some(MOST_BYTES)).which_captures(WhichCaptures::All).shrink(false);
        let program = NFA::compiler().configure(config).build_from_hir(&parsed).map_err(|_| {
            Fault::new(
                Reason::MemoryExceeded,
                format!("the regular expression needs more than {MOST_BYTES} bytes when compiled"),
            )
            .help("use smaller repetitions")
        })?;
        meter.allocate(program.memory_usage())?;
        let first_bytes = first_bytes(&program).map(Arc::new);
        Ok(Self { source: String::from(source), program, first_bytes })
    }

    /// The text that it was made of.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The number of groups besides the whole.
    pub(crate) fn group_count(&self) -> usize {
        self.program.group_info().all_group_len().saturating_sub(1)
    }

    /// The number of a named group.
    pub(crate) fn group_of(&self, name: &str) -> Option<usize> {
        self.program.group_info().to_index(regex_automata::PatternID::ZERO, name)
    }

    /// Bytes for counting what is alive.
    pub(crate) fn bytes(&self) -> usize {
        self.source.len().saturating_add(self.program.memory_usage()).saturating_add(cost::OBJECT)
    }
}

impl fmt::Debug for Regexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Regexp").field(&self.source).finish()
    }
}

/// The bytes that a match can start with, as if every assertion held.
fn first_bytes(program: &NFA) -> Option<[bool; 256]> {
    let mut bytes = [false; 256];
    let mut is_seen = vec![false; program.states().len()];
    let mut open: Vec<StateID> = vec![program.start_anchored()];
    while let Some(id) = open.pop() {
        match is_seen.get_mut(id.as_usize()) {
            Some(is_seen) if !*is_seen => *is_seen = true,
            _ => continue,
        }
        match program.state(id) {
            State::Match { .. } => return None,
            State::Fail => {}
            State::Look { next, .. } | State::Capture { next, .. } => open.push(*next),
            State::Union { alternates } => open.extend_from_slice(alternates),
            State::BinaryUnion { alt1, alt2 } => open.extend([*alt1, *alt2]),
            State::ByteRange { trans } => mark(&mut bytes, trans.start, trans.end),
            State::Sparse(sparse) => {
                sparse.transitions.iter().for_each(|trans| mark(&mut bytes, trans.start, trans.end));
            }
            State::Dense(_) => mark(&mut bytes, 0, u8::MAX),
        }
    }
    Some(bytes)
}

fn mark(bytes: &mut [bool; 256], start: u8, end: u8) {
    if let Some(range) = bytes.get_mut(usize::from(start)..=usize::from(end)) {
        range.fill(true);
    }
}

/// The state behind a byte.
fn next_state(state: &State, byte: u8) -> Option<StateID> {
    match state {
        State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
        State::Sparse(transitions) => transitions.matches_byte(byte),
        State::Dense(transitions) => transitions.matches_byte(byte),
        _ => None,
    }
}
