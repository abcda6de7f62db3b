//! Finds missing parts that usually go along with the changed files, and files that nobody active knows.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::scene::{Habit, SceneFile};
use super::{Advice, Raw, Search, age_in_days, command_word, counted_noun};
use crate::change::FileStatus;
use crate::history::FileId;
use crate::metric::{Sentence, SentencePart};
use crate::signal::SignalName;

pub(super) fn habit_findings(search: Search<'_>) -> Vec<Raw> {
    let is_there = |file: &&SceneFile<'_>| file.status != FileStatus::Deleted;
    let mut found: Vec<Raw> = partner_findings(search);
    // A habit of tests is one of the change: the file with the firmest says it for all.
    let files = || search.scene.files.iter().filter(is_there);
    let tests = files().filter_map(|file| Some((file, search.scene.missing_tests(file)?)));
    let firmest = tests.max_by(|(_, one), (_, other)| one.low.total_cmp(&other.low));
    found.extend(firmest.map(|(file, habit)| missing_tests_finding(search, file, &habit)));
    found.extend(files().filter_map(|file| strangers(search, file)));
    found
}

/// Each partner once, for the file that it goes with most.
fn partner_findings(search: Search<'_>) -> Vec<Raw> {
    let mut most: BTreeMap<FileId, (u32, Habit)> = BTreeMap::new();
    for file in search.scene.files.iter().filter(|file| file.status != FileStatus::Deleted) {
        if let (Some(habit), _) = search.scene.missing_partner(file) {
            let known = most.get(&habit.other).is_some_and(|(_, known)| known.low >= habit.low);
            if !known {
                most.insert(habit.other, (file.index, habit));
            }
        }
    }
    most.into_values().map(|(file, habit)| missing_partner(search, file, &habit)).collect()
}

fn missing_partner(search: Search<'_>, file: u32, habit: &Habit) -> Raw {
    let partner = search.facts.past.history().last_path(habit.other).to_text();
    let own = search.path(file);
    let times = times_in_words(habit);
    let evidence = Sentence::default()
        .then(SentencePart::Path(partner.clone()))
        .and(" is missing: it changed with ")
        .then(SentencePart::Path(own.clone()))
        .and(format!(" {times}"));
    let advice = Advice {
        sentence: Sentence::ours("change ")
            .then(SentencePart::Path(partner.clone()))
            .and(" too, or say why not: the two changed together ")
            .and(times),
        command: command_word(&partner).map(|partner| format!("git log -3 --stat -- {partner}")),
    };
    let count = usize::try_from(habit.together.numerator).unwrap_or(usize::MAX);
    Raw {
        of: Some(habit.together),
        count,
        advice: Some(advice),
        ..Raw::new(SignalName::MissingPartner, file, evidence)
    }
}

fn missing_tests_finding(search: Search<'_>, file: &SceneFile<'_>, habit: &Habit) -> Raw {
    let test = search.facts.past.history().last_path(habit.other).to_text();
    let times = times_in_words(habit);
    let evidence = Sentence::ours("no test changes here, but tests changed with ")
        .then(SentencePart::Path(search.path(file.index)))
        .and(format!(" {times}, most often "))
        .then(SentencePart::Path(test.clone()));
    let advice = Advice {
        sentence: Sentence::ours("extend ")
            .then(SentencePart::Path(test.clone()))
            .and(format!(", or say why not: tests changed along {times}")),
        command: command_word(&test).map(|test| format!("git log -3 --stat -- {test}")),
    };
    let count = usize::try_from(habit.together.numerator).unwrap_or(usize::MAX);
    let raw = Raw::new(SignalName::WithoutTests, file.index, evidence);
    Raw { of: Some(habit.together), count, advice: Some(advice), ..raw }
}

/// `17 of the last 18 times`.
fn times_in_words(habit: &Habit) -> String {
    format!("{} of the last {} times", habit.together.numerator, habit.together.denominator)
}

fn strangers(search: Search<'_>, file: &SceneFile<'_>) -> Option<Raw> {
    let unknown = search.scene.nobody_knows(file)?;
    let days = u32::try_from(search.scene.at.saturating_sub(unknown.last_seen).max(0) / 86_400).unwrap_or(u32::MAX);
    let path = search.path(file.index);
    let evidence = Sentence::ours("nobody who knows ").then(SentencePart::Path(path.clone())).and(format!(
        " is active: the last author of its {} committed {} for the last time",
        counted_noun(unknown.commits, "commit"),
        age_in_days(days)
    ));
    let advice = Advice {
        sentence: Sentence::ours("read why ")
            .then(SentencePart::Path(path.clone()))
            .and(" is as it is before it changes: nobody is left to ask"),
        command: command_word(&path).map(|path| format!("git log -- {path}")),
    };
    Some(Raw { count: unknown.commits, advice: Some(advice), ..Raw::new(SignalName::Strangers, file.index, evidence) })
}
