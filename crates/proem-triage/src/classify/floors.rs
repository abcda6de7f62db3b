//! The floor of a signal's importance by its words. It holds whatever else says less, a model included.
//!
//! Two kinds of words raise it: words of trouble (work is blocked, stops, is late, is cancelled; law, security and
//! outages as trouble), and a decision, a date or money that a sponsor or customer asks for. All words are in
//! `data/triage-floors.tsv`, in the languages of the guard.
//!
//! Context decides whether a word of trouble counts. A negation of the same clause, or a word for the end of the
//! trouble, takes it back, unless that is in the future. A word for something small beside it (a lunch, a button) makes
//! it small. A look-alike letter changes nothing. Quotations in a mail are not read (see `quotes`).
//!
//! Invariants: the answers are closed words. More text around a sentence changes nothing of what the sentence says. The
//! time is linear in the text.

use std::collections::BTreeSet;

use proem_engine::error::{Error, ErrorKind};
use proem_guard::{
    lexicon::{Lexicon, Mention},
    view::{DecodingLimits, ReadingStep, all_readings, folded_view},
};
use proem_text::Span;

use super::clauses::{ClausePlace, Clauses};
use crate::contract::{SignalCategory, SignalImportance};

/// The words that ship.
const WORDS: &str = include_str!("../../data/floors.tsv");
/// How many words may be between a negation and the word that it takes back.
const NEGATION_REACH: u32 = 3;
/// And between a word that says it is over and that of the trouble.
const OVER_REACH: u32 = 8;
/// How many words before `resolved` a `not` or an `until` still counts.
const LATER_REACH: u32 = 3;
/// How many words may be between a small thing and a trouble behind it: `the lunch on Friday is cancelled`.
const SMALL_REACH: u32 = 2;
/// And between two words that are trouble only together.
const PAIR_REACH: u32 = 12;

macro_rules! floor_words {
    ($($variant:ident = $name:literal,)+) => {
        /// The meaning of a word of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum FloorWord { $($variant,)+ }

        impl FloorWord {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $name),)+];
        }
    };
}
floor_words! {
    Block = "block",
    Stop = "stop",
    Delay = "delay",
    Cancel = "cancel",
    Legal = "legal",
    Lawyer = "lawyer",
    Objects = "objects",
    Security = "security",
    Outage = "outage",
    Danger = "danger",
    Grave = "grave",
    Failing = "failing",
    Live = "live",
    Not = "not",
    Without = "without",
    NotAfter = "not_after",
    Sham = "sham",
    Over = "over",
    Later = "later",
    Freed = "freed",
    Quiet = "quiet",
    Joins = "joins",
    But = "but",
    Promised = "promised",
    Little = "little",
    Ask = "ask",
    Decision = "decision",
    Date = "date",
    Money = "money",
    Role = "role",
    OtherRole = "other_role",
    Waiting = "waiting",
    Moving = "moving",
    Routine = "routine",
    Thanks = "thanks",
    Manner = "manner",
    Wrote = "wrote",
    Original = "original",
    SenderLine = "sender_line",
    SentLine = "sent_line",
    Reply = "reply",
    Forward = "forward",
}

/// Why a signal matters at least as much as its floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FloorReason {
    /// Work is blocked.
    Block,
    /// Something must not go on, or not begin.
    Stop,
    /// Something comes later than agreed.
    Delay,
    /// Something ends before it is done.
    Cancel,
    /// Law and contracts, as trouble.
    Legal,
    /// Security, as trouble.
    Security,
    /// A running system has stopped.
    Outage,
    /// A promise for a day may not be kept.
    Danger,
    /// A sponsor or a customer asks for a decision, a date or money.
    Request,
}

impl FloorReason {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Block, Self::Stop, Self::Delay, Self::Cancel, Self::Legal, Self::Security, Self::Outage, Self::Request];

    /// The reason in words of ours.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Block => "work stands still",
            Self::Stop => "something must stop or not begin",
            Self::Delay => "something is late",
            Self::Cancel => "something is cancelled",
            Self::Legal => "law or a contract",
            Self::Security => "security",
            Self::Outage => "an outage",
            Self::Danger => "a promised date is in danger",
            Self::Request => "a sponsor or customer asks for a decision, a date or money",
        }
    }

    /// The category for this reason, if nothing else says more.
    pub(super) const fn category(self) -> SignalCategory {
        match self {
            Self::Block | Self::Stop => SignalCategory::Blocker,
            Self::Delay | Self::Legal | Self::Danger => SignalCategory::Risk,
            Self::Cancel => SignalCategory::Scope,
            Self::Security | Self::Outage => SignalCategory::Quality,
            Self::Request => SignalCategory::Stakeholder,
        }
    }

    const fn of(word: FloorWord) -> Option<Self> {
        Some(match word {
            FloorWord::Block => Self::Block,
            FloorWord::Stop => Self::Stop,
            FloorWord::Delay => Self::Delay,
            FloorWord::Cancel => Self::Cancel,
            FloorWord::Legal => Self::Legal,
            FloorWord::Security => Self::Security,
            FloorWord::Outage => Self::Outage,
            FloorWord::Danger | FloorWord::Grave => Self::Danger,
            _ => return None,
        })
    }
}

/// The floor that the words of a signal's texts set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FloorReading {
    /// Why it matters at least that much.
    pub(super) reasons: BTreeSet<FloorReason>,
    /// Whether something late was promised for a day.
    is_promise_late: bool,
    /// Whether something is late by more than a little.
    is_much_late: bool,
    /// Whether those who use what runs are hit by the outage.
    pub(super) is_live: bool,
    /// Whether there are words of trouble that are all taken back.
    has_trouble_taken_back: bool,
    /// Whether something may go wrong that was not promised for a day: no floor, and no calm either.
    is_wary: bool,
    /// Other categories, in languages that no message was learned from.
    pub(super) topics: BTreeSet<SignalCategory>,
    asks: bool,
    requested: bool,
    thanks: bool,
}

impl FloorReading {
    /// The least that the signal matters.
    pub(super) fn importance(&self) -> SignalImportance {
        let of = |reason: &FloorReason| match reason {
            FloorReason::Delay if !self.is_promise_late => SignalImportance::Medium,
            _ => SignalImportance::High,
        };
        self.reasons.iter().map(of).fold(SignalImportance::Low, SignalImportance::or_higher)
    }

    /// The categories of these reasons. Law that stops something is one of several reasons for blocked work.
    pub(super) fn categories(&self) -> impl Iterator<Item = SignalCategory> {
        let stands = self.reasons.contains(&FloorReason::Stop) || self.reasons.contains(&FloorReason::Block);
        let is_told = move |reason: &&FloorReason| !(stands && **reason == FloorReason::Legal);
        self.reasons.iter().filter(is_told).map(|reason| reason.category())
    }

    /// Whether trouble is named only to say that there is none, or no more.
    pub(super) fn is_calm(&self) -> bool {
        self.has_trouble_taken_back && self.reasons.is_empty() && !self.is_wary
    }

    /// Whether it thanks, and asks and tells nothing that words of the table know.
    pub(super) fn is_thanks(&self) -> bool {
        self.thanks && !self.asks && !self.is_wary && self.reasons.is_empty() && self.topics.is_empty()
    }

    /// Whether all that it says is that something nobody promised for a day is a little late.
    pub(super) fn is_small_delay(&self) -> bool {
        self.reasons.iter().eq([&FloorReason::Delay]) && !self.is_promise_late && !self.is_much_late && !self.is_wary
    }

    /// Counts what a sponsor or customer asks for.
    pub(super) fn ask_by_principal(&mut self) {
        if self.asks && self.requested {
            self.reasons.insert(FloorReason::Request);
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct FloorWords {
    lexicon: Lexicon,
    /// By the number of the concept.
    words: Vec<Option<FloorWord>>,
}

/// A word in its clause.
#[derive(Debug, Clone, Copy)]
struct FloorMention {
    word: FloorWord,
    span: Span,
    start: ClausePlace,
    end: ClausePlace,
}

impl FloorWords {
    /// The words that ship.
    pub(super) fn shipped() -> Result<Self, Error> {
        let invalid = |problem: String| Error::new(ErrorKind::InvalidFile, format!("words of floors: {problem}"));
        let lexicon = Lexicon::parse(WORDS, "block", &[]).map_err(|error| invalid(error.to_string()))?;
        let word = |name: &&str| FloorWord::ALL.iter().find(|(_, known)| known == name).map(|(word, _)| *word);
        let words: Vec<Option<FloorWord>> = lexicon.concepts().iter().map(word).collect();
        if let Some(unknown) = lexicon.concepts().iter().zip(&words).find(|(_, word)| word.is_none()) {
            return Err(invalid(format!("`{}` is no concept of theirs", unknown.0)));
        }
        Ok(Self { lexicon, words })
    }

    /// Adds what a text says.
    pub(super) fn read(&self, text: &str, reading: &mut FloorReading) {
        self.read_one(text, reading);
        // A guess at what is there in look-alike letters, hidden or with spaces between.
        if !text.is_ascii() {
            let limits = DecodingLimits { depth: 1, ..DecodingLimits::for_text(text.len()) };
            let guesses = [ReadingStep::Skeleton, ReadingStep::Parted];
            for guess in all_readings(text, &limits).all {
                if guess.steps.first().is_some_and(|step| guesses.contains(step)) {
                    self.read_one(&guess.view.text, reading);
                }
            }
        }
    }

    fn read_one(&self, text: &str, reading: &mut FloorReading) {
        let mentions = self.mentions(&folded_view(text).text);
        let clauses = ClauseReader { mentions: &mentions };
        let mut negated_before: Option<usize> = None;
        for (at, mention) in mentions.iter().enumerate() {
            if let Some(reason) = clauses.reason(at, mention)
                && !clauses.is_small(at, mention)
            {
                let is_joined = negated_before.is_some_and(|before| clauses.is_joined(before, at));
                let is_negated = is_joined || clauses.is_negated(at, mention);
                negated_before = is_negated.then_some(at);
                let is_taken_back = match mention.word {
                    FloorWord::Freed => !is_negated,
                    _ => is_negated || clauses.is_over(at, mention),
                };
                if is_taken_back {
                    reading.has_trouble_taken_back = true;
                } else {
                    clauses.hold(at, mention, reason, reading);
                }
            }
            reading.topics.extend(topic(mention.word));
            reading.asks |= mention.word == FloorWord::Ask;
            reading.thanks |= mention.word == FloorWord::Thanks;
            reading.requested |= matches!(mention.word, FloorWord::Decision | FloorWord::Date | FloorWord::Money);
        }
        reading.asks |= text.contains(['?', '¿', '？', '؟']);
    }

    /// Whether a role makes somebody a sponsor or customer.
    pub(super) fn is_principal(&self, role: &str) -> bool {
        self.has(role, FloorWord::Role)
    }

    /// Whether such a word is in a short text.
    pub(super) fn has(&self, text: &str, word: FloorWord) -> bool {
        let folded = folded_view(text).text;
        self.mentions(&folded).iter().any(|mention| mention.word == word)
    }

    /// Whether a text begins with such a word.
    pub(super) fn begins_with(&self, text: &str, word: FloorWord) -> bool {
        let folded = folded_view(text.trim_start()).text;
        self.mentions(&folded).iter().take_while(|mention| mention.span.start == 0).any(|mention| mention.word == word)
    }

    /// The words of a folded text in order, without those that are part of a longer one which means something else.
    fn mentions(&self, folded: &str) -> Vec<FloorMention> {
        let clauses = Clauses::new(folded);
        let known = |mention: &Mention| {
            let word = self.words.get(usize::from(mention.concept)).copied().flatten()?;
            let (start, end) = (clauses.at(mention.span.start), clauses.at(mention.span.end));
            Some(FloorMention { word, span: mention.span, start, end })
        };
        let mut all: Vec<FloorMention> = self.lexicon.mentions(folded).iter().filter_map(known).collect();
        // Each `but` begins a clause: those behind it are others than those before.
        let mut buts = 0_u32;
        for mention in &mut all {
            buts = buts.saturating_add(u32::from(mention.word == FloorWord::But));
            mention.start.clause = mention.start.clause.saturating_add(buts);
        }
        without_parts(&all)
    }
}

/// Leaves out what is part of a longer word that means something else: the `not` in `not only`.
fn without_parts(all: &[FloorMention]) -> Vec<FloorMention> {
    let longer: Vec<(Span, FloorWord)> =
        all.iter().filter(|of| of.word.hides_parts()).map(|of| (of.span, of.word)).collect();
    let is_part = |of: &FloorMention| {
        // Those that begin before it ends, the nearest first. No word is longer than the lexicon's longest.
        let behind = longer.partition_point(|(span, _)| span.start <= of.span.start);
        let is_near = |(span, _): &&(Span, FloorWord)| of.span.start.saturating_sub(span.start) <= LONGEST;
        longer.iter().take(behind).rev().take_while(is_near).any(|(span, word)| {
            let length = |span: &Span| span.end.saturating_sub(span.start);
            length(span) > length(&of.span) && span.end >= of.span.end && word.hides(of.word)
        })
    };
    all.iter().filter(|of| !is_part(of)).copied().collect()
}

/// The longest word of the table with its ending, in bytes: what the lexicon allows.
const LONGEST: usize = 200;

impl FloorWord {
    /// Whether shorter words in it mean nothing of their own.
    const fn hides_parts(self) -> bool {
        matches!(self, Self::Sham | Self::Freed | Self::Over | Self::OtherRole | Self::Later)
            || FloorReason::of(self).is_some()
    }

    fn hides(self, part: Self) -> bool {
        match part {
            Self::Not | Self::NotAfter | Self::Without => self != Self::OtherRole,
            Self::Role => self == Self::OtherRole,
            Self::Over => matches!(self, Self::Freed | Self::Sham) || FloorReason::of(self).is_some(),
            _ => matches!(self, Self::Sham | Self::Freed | Self::Over) && FloorReason::of(part).is_some(),
        }
    }
}

const fn topic(word: FloorWord) -> Option<SignalCategory> {
    match word {
        FloorWord::Waiting => Some(SignalCategory::Dependency),
        FloorWord::Moving => Some(SignalCategory::Progress),
        FloorWord::Routine => Some(SignalCategory::Administrative),
        _ => None,
    }
}

/// The surroundings of a word.
struct ClauseReader<'m> {
    mentions: &'m [FloorMention],
}

impl ClauseReader<'_> {
    /// The trouble that a word names, alone or with another of its sentence.
    fn reason(&self, at: usize, mention: &FloorMention) -> Option<FloorReason> {
        match mention.word {
            FloorWord::Objects if self.is_in_sentence(at, FloorWord::Lawyer) => Some(FloorReason::Legal),
            FloorWord::Failing if self.is_in_sentence(at, FloorWord::Live) => Some(FloorReason::Outage),
            // Work that is not free yet is blocked.
            FloorWord::Freed => Some(FloorReason::Block),
            word => FloorReason::of(word),
        }
    }

    /// Holds a reading to what a word of trouble says that nothing takes back.
    fn hold(&self, at: usize, mention: &FloorMention, reason: FloorReason, reading: &mut FloorReading) {
        if mention.word == FloorWord::Danger && !self.is_in_sentence(at, FloorWord::Promised) {
            reading.is_wary = true;
            reading.topics.insert(SignalCategory::Risk);
            return;
        }
        reading.reasons.insert(reason);
        let is_late = reason == FloorReason::Delay;
        reading.is_promise_late |= is_late && self.is_in_sentence(at, FloorWord::Promised);
        reading.is_much_late |= is_late && !self.is_in_sentence(at, FloorWord::Little);
        reading.is_live |= reason == FloorReason::Outage && self.is_in_sentence(at, FloorWord::Live);
    }

    /// The place of a word among all.
    fn place(&self, of: &FloorMention) -> usize {
        let key = |of: &FloorMention| (of.span.start, of.span.end);
        self.mentions.partition_point(|other| key(other) < key(of))
    }

    /// The words before one, the nearest first, with how many words are between.
    fn before(&self, at: usize) -> impl Iterator<Item = (&FloorMention, u32)> {
        let of = self.mentions.get(at);
        let before = self.mentions.get(..at).unwrap_or_default().iter().rev();
        before.filter_map(move |other| {
            let of = of?;
            (other.span.end <= of.span.start).then(|| (other, of.start.word.saturating_sub(other.end.word)))
        })
    }

    /// The words behind one, the nearest first, with how many words are between.
    fn behind(&self, at: usize) -> impl Iterator<Item = (&FloorMention, u32)> {
        let of = self.mentions.get(at);
        let behind = self.mentions.get(at.saturating_add(1)..).unwrap_or_default().iter();
        behind.filter_map(move |other| {
            let of = of?;
            (other.span.start >= of.span.end).then(|| (other, other.start.word.saturating_sub(of.end.word)))
        })
    }

    /// Whether a negation takes the word back: before it, or behind it in languages that put it there.
    fn is_negated(&self, at: usize, mention: &FloorMention) -> bool {
        let is_near =
            |(other, gap): &(&FloorMention, u32)| *gap <= NEGATION_REACH && other.start.clause == mention.start.clause;
        let without = self.before(at).take_while(is_near).find(|(other, _)| other.word == FloorWord::Without);
        if let Some((without, _)) = without {
            // `not without delay` is late.
            let is_near = |(other, gap): &(&FloorMention, u32)| {
                *gap <= NEGATION_REACH && other.start.clause == without.start.clause
            };
            return !self
                .before(self.place(without))
                .take_while(is_near)
                .any(|(other, _)| other.word == FloorWord::Not);
        }
        self.before(at).take_while(is_near).any(|(other, _)| other.word == FloorWord::Not)
            || self.behind(at).take_while(is_near).any(|(other, _)| other.word == FloorWord::NotAfter)
    }

    /// Whether the clause says that it is over, and not only that it is yet to be.
    fn is_over(&self, at: usize, mention: &FloorMention) -> bool {
        let is_near =
            |(other, gap): &(&FloorMention, u32)| *gap <= OVER_REACH && other.start.clause == mention.start.clause;
        let is_past = |other: &FloorMention| {
            let is_yet =
                |(word, gap): &(&FloorMention, u32)| *gap <= LATER_REACH && word.start.clause == other.start.clause;
            let taken_back = [FloorWord::Not, FloorWord::Later];
            other.word == FloorWord::Over
                && !self.before(self.place(other)).take_while(is_yet).any(|(word, _)| taken_back.contains(&word.word))
        };
        self.before(at).take_while(is_near).any(|(other, _)| is_past(other))
            || self.behind(at).take_while(is_near).any(|(other, _)| is_past(other))
    }

    /// Whether a word is about something small: right behind it, or right before.
    fn is_small(&self, at: usize, mention: &FloorMention) -> bool {
        let is_same = |other: &FloorMention| other.start.clause == mention.start.clause;
        let before = self.before(at).take_while(|(other, gap)| *gap <= SMALL_REACH && is_same(other));
        let behind = self.behind(at).take_while(|(other, gap)| *gap == 0 && is_same(other));
        before.chain(behind).any(|(other, _)| other.word == FloorWord::Quiet)
    }

    /// Whether two words of trouble are said in one breath: `no outage or delay`.
    fn is_joined(&self, before: usize, at: usize) -> bool {
        let (Some(first), Some(second)) = (self.mentions.get(before), self.mentions.get(at)) else { return false };
        let between = self.mentions.get(before..at).unwrap_or_default();
        let gap = second.start.word.saturating_sub(first.end.word);
        gap <= 2 && between.iter().any(|other| other.word == FloorWord::Joins && other.span.start >= first.span.end)
    }

    /// Whether another word is in the same sentence, not far away.
    fn is_in_sentence(&self, at: usize, word: FloorWord) -> bool {
        let Some(mention) = self.mentions.get(at) else { return false };
        let is_near =
            |(other, gap): &(&FloorMention, u32)| *gap <= PAIR_REACH && other.start.sentence == mention.start.sentence;
        self.before(at).take_while(is_near).any(|(other, _)| other.word == word)
            || self.behind(at).take_while(is_near).any(|(other, _)| other.word == word)
    }
}
