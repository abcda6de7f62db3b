//! Something like this that happened before, with what came of it.
//!
//! Invariants: how alike two things are depends on them alone; what is told of the past keeps its labels, and what was
//! suspected then is told to nobody.

use std::collections::BTreeSet;

use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted};
use proem_text::words::search_words;

use super::terms::StageSignal;
use crate::blocks::SimilarSituation;

/// The most characters that are told of one.
const MAX_WORDS: usize = 300;
/// Words of fewer characters say nothing about what a text is about.
const SHORTEST_WORD: usize = 4;
/// The weight of a common ticket, of the same kind of signal, and of the same words.
const TICKET: u64 = 500;
const KIND: u64 = 100;
const WORDS: u64 = 400;
/// Two texts have something in common from this share of their words on, in thousandths.
const LEAST_SHARE: u64 = 100;

/// Something that is over: a signal came, something was done, and this came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSituation {
    /// When it was over.
    pub at: Time,
    /// The kind of signal, as a word of ours.
    pub kind: String,
    /// The ticket that it was about.
    pub ticket: Option<Untrusted<String>>,
    /// The readable part of the signal.
    pub words: Untrusted<String>,
    /// The action that followed.
    pub action: LabelTree,
    /// The consequence of that action.
    pub outcome: LabelTree,
}

/// The situation to compare with.
#[derive(Debug, Clone, Copy)]
pub struct SituationQuery<'s> {
    /// The word for the kind of a signal.
    pub kind: &'s str,
    /// Its ticket, unless that is kept out.
    pub ticket: Option<&'s Untrusted<String>>,
    /// The readable part of it.
    pub words: &'s Untrusted<String>,
}

impl<'s> From<&StageSignal<'s>> for SituationQuery<'s> {
    fn from(told: &StageSignal<'s>) -> Self {
        Self { kind: told.signal.kind.as_str(), ticket: told.ticket, words: told.content }
    }
}

impl PastSituation {
    /// The situation with no more words than are told.
    #[must_use]
    pub fn cut(self) -> Self {
        let words = self.words.map(|words| words.chars().take(MAX_WORDS).collect());
        Self { words, ..self }
    }

    /// How alike it is to a signal, in thousandths; 0 if they have neither a ticket nor words in common.
    #[must_use]
    pub fn likeness(&self, signal: SituationQuery<'_>) -> u64 {
        let same_ticket = self.ticket.as_ref().zip(signal.ticket);
        let same_ticket =
            same_ticket.is_some_and(|(one, other)| one.measure(|one| other.measure(|other| one == other)));
        let share = self.words.measure(|one| signal.words.measure(|other| common_words(one, other)));
        let share = if share < LEAST_SHARE { 0 } else { share };
        if !same_ticket && share == 0 {
            return 0;
        }
        let of = |holds: bool, worth: u64| if holds { worth } else { 0 };
        of(same_ticket, TICKET)
            .saturating_add(of(self.kind == signal.kind, KIND))
            .saturating_add(share.saturating_mul(WORDS) / 1_000)
    }

    fn told(&self) -> SimilarSituation {
        let parts: Vec<&Untrusted<String>> = self.ticket.iter().chain([&self.words]).collect();
        SimilarSituation {
            at: self.at,
            situation: Untrusted::join(&parts, ": ").0.into(),
            action: self.action.clone(),
            outcome: self.outcome.clone(),
        }
    }

    /// As the inputs of a run have it.
    pub(super) fn tree(&self) -> LabelTree {
        let ticket = self.ticket.clone().map_or(LabelTree::Null, LabelTree::from);
        LabelTree::map([
            ("at", LabelTree::Number(self.at.0.into())),
            ("kind", self.kind.as_str().into()),
            ("ticket", ticket),
            ("words", self.words.clone().into()),
            ("action", self.action.clone()),
            ("outcome", self.outcome.clone()),
        ])
    }

    /// Reads what [`Self::tree`] made.
    pub(super) fn of_tree(tree: &LabelTree) -> Option<Self> {
        let LabelTree::Map(fields) = tree else { return None };
        let outside = |name: &str| match fields.get(name) {
            Some(LabelTree::Outside(text)) => Some(text.clone()),
            _ => None,
        };
        let (Some(LabelTree::Number(at)), Some(LabelTree::Text(kind))) = (fields.get("at"), fields.get("kind")) else {
            return None;
        };
        Some(Self {
            at: Time(at.as_i64()?),
            kind: kind.clone(),
            ticket: outside("ticket"),
            words: outside("words")?,
            action: fields.get("action")?.clone(),
            outcome: fields.get("outcome")?.clone(),
        })
    }
}

/// The share of words that two texts have in common, of all that one of them has, in thousandths.
fn common_words(one: &str, other: &str) -> u64 {
    let of = |text: &str| -> BTreeSet<String> {
        search_words(text).filter(|word| word.chars().nth(SHORTEST_WORD.saturating_sub(1)).is_some()).collect()
    };
    let (one, other) = (of(one), of(other));
    let common = one.intersection(&other).count();
    let all = one.union(&other).count();
    let thousandths = common.saturating_mul(1_000).checked_div(all).unwrap_or(0);
    u64::try_from(thousandths).unwrap_or(u64::MAX)
}

/// The situations that are most alike to one of these signals, the most alike first, of equal ones the newest. No more
/// than `most`, and none that has nothing in common with any.
#[must_use]
pub fn most_alike<'p>(
    past: &'p [PastSituation],
    signals: &[SituationQuery<'_>],
    most: usize,
) -> Vec<&'p PastSituation> {
    let likeness = |past: &PastSituation| signals.iter().map(|signal| past.likeness(*signal)).max().unwrap_or(0);
    let mut found: Vec<(u64, &PastSituation)> = past.iter().map(|past| (likeness(past), past)).collect();
    found.retain(|(alike, _)| *alike > 0);
    // The sort is stable: of equal ones the order given decides.
    found.sort_by_key(|(alike, past)| (core::cmp::Reverse(*alike), core::cmp::Reverse(past.at)));
    found.into_iter().take(most).map(|(_, past)| past).collect()
}

/// The past situations that a prompt shows because of these signals.
pub(super) fn similar_situations(past: &[PastSituation], signals: &[StageSignal<'_>]) -> Vec<SimilarSituation> {
    let signals: Vec<SituationQuery<'_>> = signals.iter().map(SituationQuery::from).collect();
    most_alike(past, &signals, crate::blocks::MOST_SITUATIONS).into_iter().map(PastSituation::told).collect()
}

#[cfg(test)]
mod tests {
    use proem_text::{Label, Source};

    use super::*;

    fn outside(text: &str) -> Untrusted<String> {
        Untrusted::new(text.to_owned(), Label::from_source(Source::named("jira")))
    }

    fn past(at: i64, kind: &str, ticket: &str, words: &str) -> PastSituation {
        PastSituation {
            at: Time(at),
            kind: kind.to_owned(),
            ticket: (!ticket.is_empty()).then(|| outside(ticket)),
            words: outside(words),
            action: "jira_comment".into(),
            outcome: "executed".into(),
        }
    }

    #[test]
    fn ticket_kind_and_words_say_what_is_alike() {
        const COMMENT: &str = "comment_created";
        let all = [
            past(1, COMMENT, "PAY-1", "the supplier moved the release of refunds"),
            past(2, "ticket_updated", "PAY-1", "nothing in common"),
            past(3, COMMENT, "", "the supplier moved the release once more"),
            past(4, COMMENT, "PAY-9", "lunch on Friday"),
            past(5, COMMENT, "", "the supplier moved the release once more"),
        ];
        let (ticket, words) = (outside("PAY-1"), outside("Has the supplier moved the release of the refunds?"));
        let query = SituationQuery { kind: COMMENT, ticket: Some(&ticket), words: &words };
        let found = |most| most_alike(&all, &[query], most).iter().map(|past| past.at.0).collect::<Vec<_>>();
        assert_eq!(found(9), [1, 2, 5, 3]);
        assert_eq!(found(3), [1, 2, 5]);
        let nothing = outside("");
        assert!(most_alike(&all, &[SituationQuery { ticket: None, words: &nothing, ..query }], 9).is_empty());
        assert!(most_alike(&all, &[], 9).is_empty());
    }

    #[test]
    fn a_situation_is_read_as_it_was_written() {
        let whole = past(7, "comment_created", "PAY-1", "words").cut();
        let written = whole.tree().write().unwrap();
        assert_eq!(PastSituation::of_tree(&LabelTree::read(&written).unwrap()), Some(whole.clone()));
        assert!(PastSituation::of_tree(&LabelTree::Null).is_none());
        assert!(!whole.told().situation.label().is_trusted());
    }
}
