//! `proem-lab eval risk-training`: whether a score that is learned from what `proem risk` measures on clones tells more
//! than the lines added, in clones that it didn't see.
//!
//! Each metric is taken as its place among the latest 500 changes before the commit, beside the signals of its findings.
//! So nothing is known of a commit that its own past does not say. Two ways of learning are compared with the shipped
//! score and with lines added.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_risk::metric::MetricName;
use proem_risk::signal::SignalName;
use proem_score::linear::{Logistic, TrainingOptions, fit_logistic};
use proem_score::measure;
use serde_json::Value as Json;

use super::blame;
use super::learn::single_precision;
use super::levels::name_of_clone;
use super::measure::{QUINTILES, ScoredCommit, area_under_curve, area_within_size};
use crate::selection::public_sets::Dice;

/// Learns scores from clones and measures them on others.
#[derive(Debug, Args)]
pub(crate) struct EvalTraining {
    /// A folder with the answers of `proem risk REV... --no-model --json`, one `NAME.json` for each clone `NAME`.
    #[arg(long, value_name = "DIR")]
    reports: PathBuf,
    /// A clone to learn from, with its newest revision, as in `../ripgrep@3fce3b5bb023`. Give it once for each clone.
    #[arg(long, value_name = "DIR@REV", required = true)]
    train: Vec<String>,
    /// A clone to measure on. Give it once for each clone.
    #[arg(long, value_name = "DIR@REV", required = true)]
    measure: Vec<String>,
    /// A file that the table is written to.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The metrics that are taken as places.
const PLACES: [MetricName; 13] = [
    MetricName::LinesAdded,
    MetricName::LinesDeleted,
    MetricName::Files,
    MetricName::Directories,
    MetricName::Subsystems,
    MetricName::Entropy,
    MetricName::LinesBefore,
    MetricName::Developers,
    MetricName::Age,
    MetricName::UniqueChanges,
    MetricName::Experience,
    MetricName::RecentExperience,
    MetricName::SubsystemExperience,
];

/// The features: the places, whether it is a fix, and the signals.
const FEATURES: usize = PLACES.len() + 1 + SignalName::ALL.len();

/// The signals of a place alone, which say nothing of the change.
const OF_PLACES: [SignalName; 4] =
    [SignalName::FixedOften, SignalName::Sensitive, SignalName::HighCoupling, SignalName::HighCoChange];

/// The weight of the place of lines added beside what is learned within a size. Of 0, 2, 4, 6 and 10 it was the best where
/// each training clone was left out once.
const SIZE_WEIGHT: f32 = 2.0;

/// Draws of the interval.
const DRAWS: usize = 1_000;

/// A commit that counts: one in which something runs differently.
struct AssessedCommit {
    features: [f32; FEATURES],
    /// By the shipped score.
    percentile: f64,
    added: f64,
    lines: f64,
    is_bug: bool,
    /// Whether a finding names something of the change itself.
    is_found: bool,
}

struct AssessedClone {
    name: String,
    commits: Vec<AssessedCommit>,
}

pub(crate) fn run_eval_training(args: &EvalTraining) -> Result<String, String> {
    let assess = |clone: &String| assess_clone(clone, args);
    let train = args.train.iter().map(assess).collect::<Result<Vec<_>, _>>()?;
    let measured = args.measure.iter().map(assess).collect::<Result<Vec<_>, _>>()?;
    let (pooled, within_size) = (fit_pooled(&train)?, fit_within_size(&train)?);
    let out = training_text(&train, &measured, &[&pooled, &within_size]);
    if let Some(path) = &args.out {
        std::fs::write(path, &out).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    }
    Ok(out)
}

fn assess_clone(clone: &str, args: &EvalTraining) -> Result<AssessedClone, String> {
    let place = clone.rsplit_once('@').ok_or_else(|| format!("`{clone}` names no revision; write DIR@REV"));
    let (folder, revision) = place?;
    let name = name_of_clone(folder);
    let path = args.reports.join(format!("{name}.json"));
    let words = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let text = std::fs::read(&path).map_err(|error| words(&error))?;
    let reports: Vec<Json> = serde_json::from_slice(&text).map_err(|error| words(&error))?;
    let id = |report: &Json| report.pointer("/change/id").and_then(Json::as_str).map(str::to_owned);
    let known: BTreeSet<String> = reports.iter().filter_map(id).collect();
    // In the order of history: labels are asked of those behind the newest.
    let listed = blame::commits(Path::new(folder), revision, 0, usize::from(u16::MAX))?;
    let ids: Vec<String> = listed.into_iter().filter(|id| known.contains(id)).collect();
    let buggy = blame::needed_a_fix(Path::new(folder), revision, &ids)?;
    let one = |report: &Json| assessed_commit(report, id(report).is_some_and(|id| buggy.contains(&id)));
    Ok(AssessedClone { name: format!("{name} at {revision}"), commits: reports.iter().filter_map(one).collect() })
}

/// The features of a commit by its report. `None` if nothing in it runs differently, or its past is too short.
fn assessed_commit(report: &Json, is_bug: bool) -> Option<AssessedCommit> {
    let percentile = report.pointer("/score/rank/percentile")?.as_f64()?;
    let metrics = report.get("metrics")?.as_array()?;
    let metric =
        |name: MetricName| metrics.iter().find(|one| one.get("name").and_then(Json::as_str) == Some(name.as_str()));
    let value = |name: MetricName| metric(name).and_then(|one| one.get("value")?.as_f64()).unwrap_or(0.0);
    let place = |name: MetricName| metric(name)?.pointer("/rank/percentile")?.as_f64();
    let places = PLACES.map(|name| place(name).map_or(0.5, |percentile| percentile / 100.0));
    let findings = report.get("findings")?.as_array()?;
    let found: BTreeSet<&str> = findings.iter().filter_map(|one| one.get("signal")?.as_str()).collect();
    let signals = SignalName::ALL.map(|signal| f64::from(u8::from(found.contains(signal.as_str()))));
    let all: Vec<f64> = places.into_iter().chain([value(MetricName::Fix)]).chain(signals).collect();
    let mut features = [0.0; FEATURES];
    features.iter_mut().zip(single_precision(&all)).for_each(|(slot, feature)| *slot = feature);
    let is_of_change = |signal: &SignalName| found.contains(signal.as_str()) && !OF_PLACES.contains(signal);
    Some(AssessedCommit {
        features,
        percentile,
        added: value(MetricName::LinesAdded),
        lines: value(MetricName::LinesAdded) + value(MetricName::LinesDeleted),
        is_bug,
        is_found: SignalName::ALL.iter().any(is_of_change),
    })
}

/// A regression over all commits. Each clone, and each label within it, counts the same, so that habits of writing "fix"
/// teach nothing.
fn fit_pooled(clones: &[AssessedClone]) -> Result<Logistic, String> {
    let (mut rows, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for clone in clones {
        let bugs = clone.commits.iter().filter(|commit| commit.is_bug).count();
        for commit in &clone.commits {
            let alike = if commit.is_bug { bugs } else { clone.commits.len().saturating_sub(bugs) };
            rows.push(commit.features);
            labels.push(commit.is_bug);
            weights.push(100.0 / count_in_weights(alike));
        }
    }
    let fitted = fit_logistic(&rows, &labels, &weights, TrainingOptions { l2: 3.0, ..TrainingOptions::default() });
    fitted.map(|fitted| fitted.model).map_err(|error| error.to_string())
}

/// A regression over pairs of like size, so that it learns what size does not say. Size is added with a fixed weight.
fn fit_within_size(clones: &[AssessedClone]) -> Result<Logistic, String> {
    let (mut rows, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for clone in clones {
        let pairs = pairs_of_like_size(&clone.commits);
        let weight = 100.0 / count_in_weights(pairs.len());
        for pair in pairs {
            // Both ways round, so that there is no bias.
            rows.push(pair);
            rows.push(pair.map(|difference| -difference));
            labels.extend([true, false]);
            weights.extend([weight, weight]);
        }
    }
    let fitted = fit_logistic(&rows, &labels, &weights, TrainingOptions { l2: 5.0, ..TrainingOptions::default() });
    let mut model = fitted.map_err(|error| error.to_string())?.model;
    model.weights.iter_mut().take(1).for_each(|of_lines_added| *of_lines_added += SIZE_WEIGHT);
    Ok(model)
}

/// The differences of features between a commit that needed a fix and one of its quintile of lines added that didn't.
fn pairs_of_like_size(commits: &[AssessedCommit]) -> Vec<[f32; FEATURES]> {
    let mut sorted: Vec<&AssessedCommit> = commits.iter().collect();
    sorted.sort_by(|a, b| a.added.total_cmp(&b.added));
    let mut pairs = Vec::new();
    for quintile in sorted.chunks(sorted.len().div_ceil(QUINTILES).max(1)) {
        for bug in quintile.iter().filter(|commit| commit.is_bug) {
            for other in quintile.iter().filter(|commit| !commit.is_bug) {
                let mut pair = bug.features;
                pair.iter_mut().zip(other.features).for_each(|(slot, feature)| *slot -= feature);
                pairs.push(pair);
            }
        }
    }
    pairs
}

#[expect(clippy::cast_precision_loss, reason = "a count of commits or of their pairs")]
fn count_in_weights(count: usize) -> f32 {
    count.max(1) as f32
}

/// The 95 % interval of how far the AUC of a score is above that of lines added, by drawing the commits anew.
fn interval_above_size(scored: &[ScoredCommit]) -> Option<(f64, f64)> {
    let mut dice = Dice(1);
    let mut above: Vec<f64> = (0..DRAWS)
        .filter_map(|_| {
            let drawn = (0..scored.len()).filter_map(|_| scored.get(dice.below(scored.len())).copied());
            area_above_size(&drawn.collect::<Vec<_>>())
        })
        .collect();
    above.sort_by(f64::total_cmp);
    let at = |part: usize| above.get(above.len().saturating_mul(part) / 1_000).copied();
    Some((at(25)?, at(975)?))
}

fn area_above_size(scored: &[ScoredCommit]) -> Option<f64> {
    let labels: Vec<bool> = scored.iter().map(|one| one.is_bug).collect();
    let area = |value: fn(&ScoredCommit) -> f64| {
        measure::auc(&single_precision(&scored.iter().map(value).collect::<Vec<_>>()), &labels)
    };
    Some(area(|one| one.score)? - area(|one| one.added)?)
}

/// The ways that are compared.
const WAYS: [&str; 4] = ["lines added", "the shipped score", "learned from all", "learned within sizes"];

fn scores_of_ways(commit: &AssessedCommit, models: &[&Logistic; 2]) -> [f64; WAYS.len()] {
    let [pooled, within_size] = models.map(|model| f64::from(model.score(&commit.features)));
    [commit.added, commit.percentile, pooled, within_size]
}

fn training_text(train: &[AssessedClone], measured: &[AssessedClone], models: &[&Logistic; 2]) -> String {
    let names: Vec<String> = train.iter().map(|clone| format!("{} ({})", clone.name, clone.commits.len())).collect();
    let mut out = format!(
        "# Risk: scores learned from clones\n\nMade by `cargo lab eval risk-training`; what it measures says [design \
         55](../../docs/design/0055-what-training-buys.md). Each cell has the AUC, with the 95 % interval of how far it is \
         above that of lines added, and the AUC within quintiles of lines added.\n\nLearned from {}.\n\n| | needed a fix \
         | of those with a finding, × base |",
        names.join(", ")
    );
    WAYS.iter().for_each(|way| _ = write!(out, " {way} |"));
    out.push_str("\n|---|---:|---:|---:|---:|---:|---:|\n");
    let mut sums = [[0.0; 2]; WAYS.len()];
    for clone in measured {
        let bugs = clone.commits.iter().filter(|commit| commit.is_bug).count();
        _ = write!(out, "| {} | {bugs} of {} | {} |", clone.name, clone.commits.len(), findings_cell(&clone.commits));
        for (way, sum) in sums.iter_mut().enumerate() {
            let score = |commit: &AssessedCommit| scores_of_ways(commit, models).get(way).copied().unwrap_or_default();
            let scored: Vec<ScoredCommit> = clone.commits.iter().map(|commit| scored_commit(commit, score)).collect();
            let areas = [area_under_curve(&scored).map(|area| area.area), area_within_size(&scored)];
            sum.iter_mut().zip(areas).for_each(|(sum, area)| *sum += area.unwrap_or_default());
            let [area, within] = areas.map(|area| area.map_or_else(|| "–".to_owned(), |area| format!("{area:.3}")));
            let interval = interval_above_size(&scored).filter(|_| way > 0);
            let interval = interval.map(|(low, high)| format!(" ({low:+.3} to {high:+.3})")).unwrap_or_default();
            _ = write!(out, " {area}{interval}, {within} |");
        }
        out.push('\n');
    }
    out.push_str("| mean | | |");
    for [area, within] in sums {
        let clones = f64::from(count_in_weights(measured.len()));
        _ = write!(out, " {:.3}, {:.3} |", area / clones, within / clones);
    }
    out.push('\n');
    out
}

fn scored_commit(commit: &AssessedCommit, score: impl Fn(&AssessedCommit) -> f64) -> ScoredCommit {
    ScoredCommit { score: score(commit), is_bug: commit.is_bug, added: commit.added, lines: commit.lines }
}

/// The share of the commits with a finding that needed a fix, over the share of all.
fn findings_cell(commits: &[AssessedCommit]) -> String {
    let share = |wanted: &dyn Fn(&AssessedCommit) -> bool| {
        let all: Vec<bool> = commits.iter().filter(|one| wanted(one)).map(|one| one.is_bug).collect();
        let bugs = all.iter().filter(|is_bug| **is_bug).count();
        (bugs, all.len(), f64::from(count_in_weights(bugs)) / f64::from(count_in_weights(all.len())))
    };
    let (bugs, all, with) = share(&|commit| commit.is_found);
    let (_, _, base) = share(&|_| true);
    if bugs == 0 { format!("0 of {all}") } else { format!("{bugs} of {all}, {:.2}", with / base) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A commit of a size, whose second feature is the one that tells.
    fn telling_commit(added: f32, tells: f32, is_bug: bool) -> AssessedCommit {
        let mut features = [0.0; FEATURES];
        features[0] = added;
        features[1] = tells;
        let added = f64::from(added);
        AssessedCommit { features, percentile: 0.0, added, lines: added, is_bug, is_found: is_bug }
    }

    fn clone_with_a_telling_feature() -> AssessedClone {
        let one = |n: u8| {
            let is_bug = n % 10 < 2;
            telling_commit(f32::from(n / 10), if is_bug || n % 10 == 2 { 1.0 } else { 0.0 }, is_bug)
        };
        AssessedClone { name: "a".to_owned(), commits: (0..100).map(one).collect() }
    }

    #[test]
    fn both_ways_learn_what_size_does_not_say() {
        let clones = [clone_with_a_telling_feature()];
        for model in [fit_pooled(&clones).unwrap(), fit_within_size(&clones).unwrap()] {
            let score = |commit: &AssessedCommit| f64::from(model.score(&commit.features));
            let scored: Vec<ScoredCommit> = clones[0].commits.iter().map(|one| scored_commit(one, score)).collect();
            assert!(area_within_size(&scored).unwrap() > 0.9);
            let (low, high) = interval_above_size(&scored).unwrap();
            assert!(0.0 < low && low < high, "{low} {high}");
        }
    }

    #[test]
    fn a_pair_is_of_one_quintile_and_both_labels() {
        // Each quintile of twenty has four that needed a fix and sixteen that didn't.
        assert_eq!(pairs_of_like_size(&clone_with_a_telling_feature().commits).len(), 5 * 4 * 16);
        assert!(pairs_of_like_size(&[telling_commit(1.0, 1.0, true)]).is_empty());
    }

    #[test]
    fn findings_are_compared_with_the_base_rate() {
        assert_eq!(findings_cell(&clone_with_a_telling_feature().commits), "20 of 20, 5.00");
        assert_eq!(findings_cell(&[telling_commit(1.0, 1.0, false)]), "0 of 0");
    }

    #[test]
    fn lines_added_are_not_above_themselves() {
        let clone = clone_with_a_telling_feature();
        let scored: Vec<ScoredCommit> =
            clone.commits.iter().map(|one| scored_commit(one, |commit| commit.added)).collect();
        assert_eq!(interval_above_size(&scored), Some((0.0, 0.0)));
    }
}
