//! Searching: all threads of an expression go through the text side by side, so no text is read twice
//! for one match, and each visit of a state is a step that is charged.
//!
//! The engines of `regex` can't say how far they looked beyond a match, so what many searches in one
//! text cost couldn't be bounded with them.

use super::{Regexp, next_state};
use crate::{
    error::{Fault, Reason},
    limits::{Meter, cost},
};
use alloc::{format, vec, vec::Vec};
use core::mem;
use regex_automata::{
    nfa::thompson::{NFA, State},
    util::{look::Look, primitives::StateID},
};

/// A place that isn't set.
const UNSET: usize = usize::MAX;

/// A match: where it and its groups start and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match(Vec<usize>);

impl Match {
    /// The start and end of a group in bytes. Group 0 is the whole.
    pub(crate) fn group(&self, index: usize) -> Option<(usize, usize)> {
        let at = index.checked_mul(2)?;
        match self.0.get(at..at.checked_add(2)?) {
            Some([start, end]) if *start != UNSET && *end != UNSET => Some((*start, *end)),
            _ => None,
        }
    }

    /// The start and end of the whole match.
    pub(crate) fn span(&self) -> (usize, usize) {
        self.group(0).unwrap_or_default()
    }
}

/// The matches of an expression in a text, one after the other.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    pattern: &'a Regexp,
    text: &'a str,
    /// The place where the next match may start. `None` after the last.
    from: Option<usize>,
    /// How many places a match has: two for each group.
    width: usize,
    /// The steps that copying the places of a thread counts as.
    copy_steps: u64,
    steps: u64,
    /// Steps that are charged.
    paid: u64,
    /// The round in which each state was last reached.
    rounds: Vec<u32>,
    round: u32,
    current: Threads,
    next: Threads,
    open: Vec<Todo>,
    places: Vec<usize>,
}

/// Threads in the order of their priority: the state of each, and the places that it has come by.
#[derive(Debug, Default)]
struct Threads {
    states: Vec<StateID>,
    places: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Todo {
    Visit(StateID),
    Restore { slot: usize, place: usize },
}

impl<'a> Search<'a> {
    pub(crate) fn new(pattern: &'a Regexp, text: &'a str, meter: &mut Meter) -> Result<Self, Fault> {
        let states = pattern.program.states().len();
        let width = pattern.program.group_info().slot_len();
        // Both lists of threads at their longest, and the rounds.
        let thread = width.saturating_add(1).saturating_mul(size_of::<usize>()).saturating_mul(2);
        meter.allocate(states.saturating_mul(thread.saturating_add(size_of::<u32>())))?;
        Ok(Self {
            pattern,
            text,
            from: Some(0),
            width,
            copy_steps: u64::try_from(width / 8).unwrap_or(u64::MAX),
            steps: 0,
            paid: 0,
            rounds: vec![0; states],
            round: 0,
            current: Threads::default(),
            next: Threads::default(),
            open: Vec::new(),
            places: vec![UNSET; width],
        })
    }

    /// The next match. As in Java, an empty one may follow directly behind another.
    pub(crate) fn next_match(&mut self, meter: &mut Meter) -> Result<Option<Match>, Fault> {
        let Some(from) = self.from else { return Ok(None) };
        let found = self.run(from, false, meter)?;
        self.from = found.as_ref().and_then(|found| match found.span() {
            (start, end) if start == end => self.boundary_after(end),
            (_, end) => Some(end),
        });
        Ok(found)
    }

    /// The match of the whole text.
    pub(crate) fn whole_match(&mut self, meter: &mut Meter) -> Result<Option<Match>, Fault> {
        self.run(0, true, meter)
    }

    fn boundary_after(&self, at: usize) -> Option<usize> {
        let c = self.text.get(at..)?.chars().next()?;
        at.checked_add(c.len_utf8())
    }

    /// `is_whole` asks for a match from `from` to the end of the text, whatever the first match is.
    fn run(&mut self, from: usize, is_whole: bool, meter: &mut Meter) -> Result<Option<Match>, Fault> {
        let mut found = None;
        let mut at = from;
        self.current.clear();
        self.begin_round();
        loop {
            if found.is_none() && (!is_whole || at == from) {
                if self.current.states.is_empty() && !is_whole {
                    at = self.skip_to_start(at, meter)?;
                }
                if self.text.is_char_boundary(at) {
                    self.places.fill(UNSET);
                    self.steps = self.steps.saturating_add(self.copy_steps);
                    self.open.push(Todo::Visit(self.pattern.program.start_anchored()));
                    // The threads of this place are the next ones of the place before.
                    mem::swap(&mut self.current, &mut self.next);
                    self.follow(at);
                    mem::swap(&mut self.current, &mut self.next);
                }
            }
            if self.current.states.is_empty() && (found.is_some() || is_whole) {
                break;
            }
            if let Some(places) = self.step(at, is_whole) {
                found = Some(Match(places));
            }
            self.spend(meter)?;
            mem::swap(&mut self.current, &mut self.next);
            if at >= self.text.len() {
                break;
            }
            at = at.saturating_add(1);
        }
        Ok(found)
    }

    fn begin_round(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.rounds.fill(0);
            self.round = 1;
        }
    }

    /// The next place at which a match can start, by its first byte.
    fn skip_to_start(&mut self, at: usize, meter: &mut Meter) -> Result<usize, Fault> {
        let Some(first_bytes) = &self.pattern.first_bytes else { return Ok(at) };
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        let is_first = |byte: &u8| first_bytes.get(usize::from(*byte)).copied().unwrap_or(true);
        let skipped = rest.iter().position(is_first).unwrap_or(rest.len());
        self.steps = self.steps.saturating_add(u64::try_from(skipped).unwrap_or(u64::MAX));
        self.spend(meter)?;
        if skipped > 0 {
            self.begin_round();
        }
        Ok(at.saturating_add(skipped))
    }

    /// Moves all threads on by the byte at a place. The places of the thread that has come to its end.
    fn step(&mut self, at: usize, is_whole: bool) -> Option<Vec<usize>> {
        let byte = self.text.as_bytes().get(at).copied();
        let current = mem::take(&mut self.current);
        self.next.clear();
        self.begin_round();
        let mut ended = None;
        for (thread, id) in current.states.iter().enumerate() {
            self.steps = self.steps.saturating_add(1);
            let state = self.pattern.program.state(*id);
            let start = thread.saturating_mul(self.width);
            let places = current.places.get(start..start.saturating_add(self.width)).unwrap_or_default();
            if let State::Match { .. } = state {
                if is_whole && byte.is_some() {
                    continue;
                }
                // The threads behind this one have less priority.
                ended = Some(places.to_vec());
                break;
            }
            if let Some(next) = byte.and_then(|byte| next_state(state, byte)) {
                self.places.clear();
                self.places.extend_from_slice(places);
                self.open.push(Todo::Visit(next));
                self.follow(at.saturating_add(1));
            }
        }
        self.current = current;
        ended
    }

    /// Adds the threads of all states that are reached from the open ones without a byte.
    fn follow(&mut self, at: usize) {
        let program: &NFA = &self.pattern.program;
        while let Some(todo) = self.open.pop() {
            let id = match todo {
                Todo::Visit(id) => id,
                Todo::Restore { slot, place } => {
                    if let Some(old) = self.places.get_mut(slot) {
                        *old = place;
                    }
                    continue;
                }
            };
            self.steps = self.steps.saturating_add(1);
            match self.rounds.get_mut(id.as_usize()) {
                Some(round) if *round != self.round => *round = self.round,
                _ => continue,
            }
            match program.state(id) {
                State::Fail => {}
                State::Look { look, next } => {
                    if holds(*look, self.text, at) {
                        self.open.push(Todo::Visit(*next));
                    }
                }
                State::Capture { next, slot, .. } => {
                    if let Some(old) = self.places.get_mut(slot.as_usize()) {
                        self.open.push(Todo::Restore { slot: slot.as_usize(), place: *old });
                        *old = at;
                    }
                    self.open.push(Todo::Visit(*next));
                }
                State::Union { alternates } => {
                    self.open.extend(alternates.iter().rev().map(|next| Todo::Visit(*next)));
                }
                State::BinaryUnion { alt1, alt2 } => {
                    self.open.push(Todo::Visit(*alt2));
                    self.open.push(Todo::Visit(*alt1));
                }
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } => {
                    self.steps = self.steps.saturating_add(self.copy_steps);
                    self.next.states.push(id);
                    self.next.places.extend_from_slice(&self.places);
                }
            }
        }
    }

    /// Charges the steps since the last time.
    fn spend(&mut self, meter: &mut Meter) -> Result<(), Fault> {
        let units = self.steps.saturating_sub(self.paid) / cost::REGEX_STEPS;
        self.paid = self.paid.saturating_add(units.saturating_mul(cost::REGEX_STEPS));
        meter.work(units)?;
        let most = meter.limits().regex_steps;
        if self.steps > most {
            let message = format!("a regular expression took more than {most} steps");
            return Err(Fault::limit(Reason::FuelExhausted, message, "regex_steps"));
        }
        Ok(())
    }
}

impl Threads {
    fn clear(&mut self) {
        self.states.clear();
        self.places.clear();
    }
}

/// Whether an assertion holds at a place, as Java has it. [`super::translate`] writes Java's `$` as
/// the end of a line with carriage returns, which nothing else uses.
fn holds(look: Look, text: &str, at: usize) -> bool {
    let before = || text.get(..at).unwrap_or_default();
    let behind = || text.get(at..).unwrap_or_default();
    match look {
        Look::Start => at == 0,
        Look::End => at == text.len(),
        Look::StartLF => {
            let is_behind_end = before().ends_with(is_line_end) && !is_inside_line_end(before(), behind());
            at < text.len() && (at == 0 || is_behind_end)
        }
        Look::EndLF => at == text.len() || behind().starts_with(is_line_end) && !is_inside_line_end(before(), behind()),
        Look::EndCRLF => {
            let is_last = behind() == "\r\n" || behind().len() <= 3 && behind().chars().count() == 1;
            at == text.len() || is_last && behind().starts_with(is_line_end) && !is_inside_line_end(before(), behind())
        }
        Look::WordAscii => is_word_boundary(text, at),
        Look::WordAsciiNegate => !is_word_boundary(text, at),
        _ => false,
    }
}

fn is_inside_line_end(before: &str, behind: &str) -> bool {
    before.ends_with('\r') && behind.starts_with('\n')
}

const fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_word_boundary(text: &str, at: usize) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = text.as_bytes();
    is_word(at.checked_sub(1).and_then(|before| bytes.get(before))) != is_word(bytes.get(at))
}
