//! The worth of each kind of signal: left out, with all others learned anew.
//!
//! Each clone is ranked by weights that were learned on the others.

use std::fmt::Write as _;

use proem_select::context::{SIGNAL_NAMES, SIGNALS};

use super::fit::{ContextChoice, fit_conditional_logit};
use super::train::{Lesson, Lessons, eprint_line, with_hand};

/// Groups of signals for the ablation, by the beginnings of their names.
const GROUPS: [(&str, &[&str]); 13] = [
    ("similar past commits", &["similar commits", "most similar commit", "commit alike in meaning"]),
    ("of that the meaning of subjects", &["commit alike in meaning"]),
    ("who asks", &["own files", "own folders", "own recency"]),
    ("recency and frequency", &["recency", "frequency", "decayed frequency"]),
    ("co-change with the best", &["co-change"]),
    (
        "words of path and name",
        &["words of the path", "words of the name", "coverage of the path", "neighbours in the path"],
    ),
    ("comments and texts apart", &["words of comments"]),
    ("definitions", &["words of definitions", "names that it defines", "whole names"]),
    ("folder", &["folder"]),
    ("size", &["size"]),
    ("words of its tests", &["words of its tests"]),
    ("imports", &["imports"]),
    ("part of the project in front", &["part of the project"]),
];

/// How often the right files were among the first ten, and the first. Sums over cases.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    cases: f64,
    ten: f64,
    one: f64,
}

impl Found {
    fn add(&mut self, lesson: &Lesson, weights: &[f32]) {
        let score = |signals: &[f32; SIGNALS]| weights.iter().zip(signals).map(|(w, s)| w * s).sum::<f32>();
        let mut order: Vec<(f32, bool)> =
            lesson.choice.rows.iter().map(|(signals, is_right)| (score(signals), *is_right)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let among = |most: usize| order.iter().take(most).filter(|(_, is_right)| *is_right).count();
        #[expect(clippy::cast_precision_loss, reason = "at most ten")]
        let share = |found: usize, of: usize| found as f64 / of.max(1) as f64;
        self.cases += 1.0;
        self.ten += share(among(10), lesson.answers);
        self.one += share(among(1), 1);
    }
}

/// Recall in per cent of whole tasks and of short ones: the mean over clones.
#[derive(Debug, Clone, Copy, Default)]
struct Means {
    whole: (f64, f64),
    short: (f64, f64),
}

/// The table, as a document.
pub(super) fn ablation_table(lessons: &[Lessons], learned: &[usize], weights: &[f32]) -> Result<String, String> {
    let mut out = String::new();
    let mut line = |text: &str| writeln!(out, "{text}").map_err(|error| error.to_string());
    line("# Context: what each kind of signal is worth\n")?;
    line(&format!(
        "Written by `cargo lab train context --ablation`. A kind of signal is left out and all others are learned anew; each \
         repository is ranked by what was learned on the others. Recall of the changed sources among the first ten in per \
         cent, and in brackets how often the first file was one of them: the mean of the {} repositories that are learned \
         from ({}), {} cases as they were put and {} in few words.\n",
        lessons.len(),
        lessons.iter().map(|of| of.clone.as_str()).collect::<Vec<_>>().join(", "),
        count_lessons(lessons, false),
        count_lessons(lessons, true),
    ))?;
    line("| without | as it was put | in few words |")?;
    line("|---|---:|---:|")?;
    let groups = std::iter::once(("nothing", &[] as &[&str])).chain(GROUPS);
    for (name, beginnings) in groups {
        eprint_line(&format!("without {name}"));
        let means = cross_validate_clones(lessons, &signals_without(learned, beginnings), weights)?;
        let cell = |(ten, one): (f64, f64)| format!("{ten:.1} ({one:.1})");
        line(&format!("| {name} | {} | {} |", cell(means.whole), cell(means.short)))?;
    }
    Ok(out)
}

fn count_lessons(lessons: &[Lessons], is_short: bool) -> usize {
    lessons.iter().flat_map(|of| &of.cases).filter(|lesson| lesson.is_short == is_short).count()
}

/// The signals whose names have none of these beginnings.
fn signals_without(learned: &[usize], beginnings: &[&str]) -> Vec<usize> {
    let is_left_out = |signal: &usize| {
        SIGNAL_NAMES.get(*signal).is_some_and(|name| beginnings.iter().any(|beginning| name.starts_with(beginning)))
    };
    learned.iter().copied().filter(|signal| !is_left_out(signal)).collect()
}

/// Each clone by what the others teach.
fn cross_validate_clones(lessons: &[Lessons], used: &[usize], from: &[f32]) -> Result<Means, String> {
    let mut sums = Means::default();
    for (number, clone) in lessons.iter().enumerate() {
        let others: Vec<&ContextChoice<SIGNALS>> = lessons
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number)
            .flat_map(|(_, of)| of.cases.iter().map(|lesson| &lesson.choice))
            .collect();
        let weights = with_hand(fit_conditional_logit(&others, used, from)?);
        for (is_short, sum) in [(false, &mut sums.whole), (true, &mut sums.short)] {
            let mut found = Found::default();
            for lesson in clone.cases.iter().filter(|lesson| lesson.is_short == is_short) {
                found.add(lesson, &weights);
            }
            #[expect(clippy::cast_precision_loss, reason = "a dozen clones")]
            let share = 100.0 / (found.cases.max(1.0) * lessons.len() as f64);
            sum.0 += share * found.ten;
            sum.1 += share * found.one;
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::train::BY_HAND;

    #[test]
    fn every_group_leaves_out_signals_that_are_learned() {
        let learned: Vec<usize> =
            (0..SIGNALS).filter(|signal| BY_HAND.iter().all(|(hand, _)| hand != signal)).collect();
        for (name, beginnings) in GROUPS {
            let left = learned.len() - signals_without(&learned, beginnings).len();
            assert!(left >= beginnings.len(), "{name}: {left}");
        }
    }
}
