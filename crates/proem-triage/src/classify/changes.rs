//! The system's own account of changes to a ticket or a sprint, one change at a time.

use std::collections::BTreeSet;

use proem_guard::LabelTree;

use super::facts::{ChangeEnd, TicketChange, non_empty_text};
use super::floors::FloorWord;
use super::lexicon::{self, SystemWord, TriageLexicon};
use crate::{
    artefact::{SectionStates, TicketProgress},
    date,
};

/// From how many days on a date moved far.
const LONG_MOVE: u64 = 7;
/// From how many letters on a word says something of its own.
const LONG_WORD: usize = 4;
/// From how many times as much on an estimate is another one.
const LARGE_GROWTH: f64 = 2.0;

impl<'s> TicketChange<'s> {
    /// A change as a signal holds it. `None` if that names nothing.
    pub(super) fn of(tree: &'s LabelTree, lexicon: &TriageLexicon) -> Option<Self> {
        let LabelTree::Map(change) = tree else { return None };
        let name = lexicon.system_words(non_empty_text(change.get("field")?)?);
        let of = NAMES.into_iter().find(|word| name.has(*word));
        let end = |end: &str| {
            let text = change.get(end).and_then(non_empty_text)?;
            Some(ChangeEnd { text, words: lexicon.system_words(text) })
        };
        Some(Self { of, name, from: end("from"), to: end("to") })
    }

    /// Whether it says this since.
    pub(super) fn says(&self, word: SystemWord) -> bool {
        self.to.is_some_and(|to| to.words.has(word))
    }

    /// Whether it says this since, and did not before.
    pub(super) fn begins(&self, word: SystemWord) -> bool {
        self.says(word) && !self.from.is_some_and(|from| from.words.has(word))
    }

    /// Whether a status that trackers call done became one that they do not.
    pub(super) fn leaves_done(&self) -> bool {
        let states = SectionStates::default();
        let is_done = |name: &str| states.progress_of(name) == Some(TicketProgress::Done);
        self.of == Some(SystemWord::ChangeStatus) && self.both(|from, to| is_done(from) && !is_done(to))
    }

    /// Whether what was there is there still, with more behind it, as Jira writes the sprints of a ticket that was not
    /// finished in the first.
    pub(super) fn is_continued(&self) -> bool {
        self.both(|from, to| to.starts_with(from))
    }

    /// Whether a date moved by more than can be made up for within a week, to whichever side.
    pub(super) fn is_moved_far(&self) -> bool {
        let is_far = |(from, to): (i64, i64)| to.abs_diff(from) >= LONG_MOVE;
        self.both(|from, to| date::leading_day(from).zip(date::leading_day(to)).is_some_and(is_far))
    }

    /// Whether a text is an earlier one with this many words more or less: the work grows or shrinks. A text that is
    /// only reworded or corrected both lacks words and has others. Words about how it is made count for nothing.
    pub(super) fn is_extended(&self, least: usize, lexicon: &TriageLexicon) -> bool {
        let is_thing =
            |word: &String| word.chars().count() >= LONG_WORD && !lexicon.floors().has(word, FloorWord::Manner);
        let words =
            |text: &str| -> BTreeSet<String> { lexicon::folded_words(text).into_iter().filter(is_thing).collect() };
        self.both(|from, to| {
            let (from, to) = (words(from), words(to));
            (from.is_subset(&to) || to.is_subset(&from)) && from.len().abs_diff(to.len()) >= least
        })
    }

    /// Whether a number is at least twice what it was.
    pub(super) fn is_doubled(&self) -> bool {
        let number = |text: &str| text.trim().parse::<f64>().unwrap_or_default();
        let is_large = |from: f64, to: f64| from > 0.0 && to >= from * LARGE_GROWTH;
        self.both(|from, to| is_large(number(from), number(to)))
    }

    /// Whether something is so of what was and what is since. Not if one of them is nothing.
    fn both(&self, is_so: impl Fn(&str, &str) -> bool) -> bool {
        let both = self.from.zip(self.to);
        both.is_some_and(|(from, to)| from.text.measure(|from| to.text.measure(|to| is_so(from, to))))
    }
}

/// The possible names of a change.
const NAMES: [SystemWord; 16] = [
    SystemWord::ChangeStatus,
    SystemWord::ChangeFlag,
    SystemWord::ChangePriority,
    SystemWord::ChangeGoal,
    SystemWord::ChangeWork,
    SystemWord::ChangeSprint,
    SystemWord::ChangePoints,
    SystemWord::ChangeLink,
    SystemWord::ChangeSummary,
    SystemWord::ChangeText,
    SystemWord::ChangeType,
    SystemWord::ChangeResolution,
    SystemWord::ChangeDue,
    SystemWord::ChangeVersion,
    SystemWord::ChangeLabels,
    SystemWord::ChangeDependency,
];

#[cfg(test)]
mod tests {
    use proem_text::{Label, Source};
    use serde_json::json;

    use super::*;
    use proem_guard::Untrusted;

    fn with<T>(of: &str, from: &str, to: &str, read: impl FnOnce(&TicketChange<'_>) -> T) -> T {
        let lexicon = TriageLexicon::shipped().unwrap();
        let said =
            Untrusted::new(json!({ "field": of, "from": from, "to": to }), Label::from_source(Source::named("signal")));
        let tree = LabelTree::from_outside(&said).unwrap();
        let change = TicketChange::of(&tree, &lexicon).unwrap();
        read(&change)
    }

    #[test]
    fn a_date_moves_far_by_a_week_or_more() {
        let check = |from: &str, to: &str, expected: bool| {
            assert_eq!(with("duedate", from, to, |change| change.is_moved_far()), expected, "{from} to {to}");
        };
        check("2026-12-01 00:00:00.0", "2026-12-22 00:00:00.0", true);
        check("2026-12-01", "2026-12-08", true);
        check("2026-12-01", "2026-12-07", false);
        check("2026-12-22", "2026-12-01", true);
        check("", "2026-12-01", false);
        check("soon", "2026-12-01", false);
    }

    #[test]
    fn a_text_is_extended_or_cut() {
        let check = |from: &str, to: &str, expected: bool| {
            let lexicon = TriageLexicon::shipped().unwrap();
            assert_eq!(with("summary", from, to, |change| change.is_extended(2, &lexicon)), expected, "{from} to {to}");
        };
        check("Repair form", "Repair form with photo and video upload", true);
        check("Planner: autocarro, metro e comboio", "Planner: autocarro", true);
        check("Repair form", "Repair form again", false);
        check("Repair form", "Repair form, make it much faster", false);
        check("Formulaire", "Formulaire, le rendre plus rapide", false);
        check("Notifiy tennant of repairs", "Notify tenant of repairs and visits", false);
        check("Repair form", "Form for repairs with photo and video upload", false);
        check("", "Repair form with photo and video upload", false);
    }

    #[test]
    fn an_estimate_doubles() {
        let check = |from: &str, to: &str, expected: bool| {
            assert_eq!(with("Story Points", from, to, |change| change.is_doubled()), expected, "{from} to {to}");
        };
        check("3", "13", true);
        check("2.5", "5.0", true);
        check("5", "8", false);
        check("5", "2", false);
        check("0", "5", false);
        check("", "5", false);
    }

    #[test]
    fn a_ticket_that_goes_on_in_the_next_sprint_is_carried_over() {
        let check = |from: &str, to: &str, expected: bool| {
            assert_eq!(with("Sprint", from, to, |change| change.is_continued()), expected, "{from} to {to}");
        };
        check("Sprint 12", "Sprint 12, Sprint 13", true);
        check("Sprint 12", "Sprint 13", false);
        check("", "Sprint 13", false);
    }

    #[test]
    fn only_what_is_new_begins() {
        let check = |from: &str, to: &str, expected: bool| {
            let begins = with("labels", from, to, |change| change.begins(SystemWord::TypeRisk));
            assert_eq!(begins, expected, "{from} to {to}");
        };
        check("performance", "at-risk performance", true);
        check("at-risk", "at-risk performance", false);
        check("at-risk", "", false);
    }
}
