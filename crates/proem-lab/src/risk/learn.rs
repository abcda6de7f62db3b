//! From labelled commits to a calibrated model.
//!
//! A model of one project is calibrated on its later commits. One of several on projects that it hadn't seen.
//! Calibration is a straight line through the log-odds (Platt 1999), so that it can be multiplied into the leaves and
//! the contributions still add up.

use proem_risk::score::{Feature, Forest, Input, RiskModel, RiskModelParts, Scale};
use proem_score::calibrate::Platt;
use proem_score::linear::{self, logistic};
use proem_score::measure;

use super::boost::{BoostOptions, Lesson, fit_forest, round_to_five};
use super::labelled_commits::{LabelledCommit, check_label_counts, enough, scale};

/// The inputs that are nothing but size.
const SIZE: [&str; 5] = ["nf", "la", "ld", "la + ld", "la / (nf + 1)"];
/// A commit counts half as much as one that is this much newer, in days: projects change, and
/// models lose power within a year (McIntosh and Kamei, *Are Fix-Inducing Changes a Moving
/// Target?*, 2018).
const HALF_LIFE: f64 = 365.0;
const DAY: f64 = 86_400.0;
/// The bins of the calibration error.
const BINS: usize = 10;
const SEED: u64 = 7;

/// How one project teaches. Tuned as `evals/risk/README.md` says.
const OWN: BoostOptions<'_> = BoostOptions {
    inputs: &[],
    rounds: 600,
    rate: 0.03,
    depth: 3,
    penalty: 20.0,
    smallest: 5.0,
    sees: (0.6, 0.5),
    seed: SEED,
};
/// How several do: with fewer and smaller trees, which carry over better and read better.
const POOLED: BoostOptions<'_> = BoostOptions { rounds: 250, rate: 0.04, depth: 2, ..OWN };

/// Some commits of one project, oldest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProjectSlice<'a> {
    pub(crate) name: &'a str,
    pub(crate) commits: &'a [LabelledCommit],
}

/// A model of one project, to be used on its later commits.
pub(crate) fn learn_own_model(part: ProjectSlice<'_>) -> Result<RiskModel, String> {
    check_label_counts(part.name, part.commits)?;
    let (earlier, later) = part.commits.split_at_checked(part.commits.len() * 3 / 4).unwrap_or_default();
    check_label_counts(&format!("the first three quarters of {}", part.name), earlier)?;
    check_label_counts(&format!("the last quarter of {}", part.name), later)?;
    let forest = |inputs: &[Input]| own_forest(part, earlier, later, &BoostOptions { inputs, ..OWN });
    let (size, _) = forest(&sizes())?;
    let (all, error) = forest(&Input::all().collect::<Vec<_>>())?;
    finish_model(&[part], all, size, error)
}

/// A forest of one project, and its calibration error on the later commits, which calibrate it.
fn own_forest(
    part: ProjectSlice<'_>,
    earlier: &[LabelledCommit],
    later: &[LabelledCommit],
    options: &BoostOptions<'_>,
) -> Result<(Forest, f64), String> {
    let seen = scale(earlier);
    let forest = fit_forest(&recent(part.name, earlier, &seen)?, options);
    let scores: Vec<f64> = later.iter().map(|commit| forest.log_odds(&commit.features, &seen)).collect();
    let labels: Vec<bool> = later.iter().map(|commit| commit.is_bug).collect();
    let curve = Platt::fit(&single_precision(&scores), &labels).map_err(|error| format!("{}: {error}", part.name))?;
    let odds: Vec<f64> = scores.iter().map(|score| -(curve.slope * score + curve.offset)).collect();
    let forest = fit_forest(&recent(part.name, part.commits, &scale(part.commits))?, options);
    Ok((calibrate_forest(forest, -curve.slope, -curve.offset), calibration_error(&odds, &labels)))
}

/// A model of several projects, to be used on others.
pub(crate) fn learn_pooled_model(parts: &[ProjectSlice<'_>]) -> Result<RiskModel, String> {
    for part in parts {
        check_label_counts(part.name, part.commits)?;
    }
    let (all, error) = pooled_forest(parts, &Input::all().collect::<Vec<_>>())?;
    let (size, _) = pooled_forest(parts, &sizes())?;
    finish_model(parts, all, size, error)
}

/// A calibrated forest and its calibration error on projects that it hadn't seen.
fn pooled_forest(parts: &[ProjectSlice<'_>], inputs: &[Input]) -> Result<(Forest, f64), String> {
    let options = BoostOptions { inputs, ..POOLED };
    let lessons: Vec<Vec<Lesson>> = parts.iter().map(base_rate_offset).collect::<Result<_, _>>()?;
    let (mut rows, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for (left_out, part) in parts.iter().enumerate() {
        let others = lessons.iter().enumerate().filter(|(place, _)| *place != left_out);
        let forest = fit_forest(&balance_lessons(others.flat_map(|(_, lessons)| lessons)), &options);
        let scale = scale(part.commits);
        for commit in part.commits {
            // One column for the score, one for each project but the first: projects differ in how
            // often their changes need a fix.
            let mut row = vec![0.0; parts.len()];
            if let Some(slot) = row.get_mut(left_out).filter(|_| left_out > 0) {
                *slot = 1.0;
            }
            let score = forest.log_odds(&commit.features, &scale);
            row.first_mut()
                .into_iter()
                .for_each(|slot| *slot = single_precision(&[score]).first().copied().unwrap_or_default());
            rows.push(row);
            labels.push(commit.is_bug);
            weights.push(part_weight(part));
        }
    }
    let line = linear::fit_logistic(
        &rows,
        &labels,
        &single_precision(&weights),
        linear::TrainingOptions { l2: 1e-3, ..linear::TrainingOptions::default() },
    )
    .map_err(|error| error.to_string())?
    .model;
    let slope = line.weights.first().copied().map_or(1.0, f64::from);
    let bias = f64::from(line.bias);
    let biases: Vec<f64> = (0..parts.len())
        .map(|place| line.weights.get(place).filter(|_| place > 0).map_or(bias, |weight| bias + f64::from(*weight)))
        .collect();
    let mut errors = Vec::new();
    let mut rest = rows.as_slice();
    for (left_out, part) in parts.iter().enumerate() {
        let (own, after) = rest.split_at_checked(part.commits.len()).unwrap_or_default();
        rest = after;
        let others = biases.iter().enumerate().filter(|(place, _)| *place != left_out).map(|(_, bias)| *bias);
        let expected = mean_of_values(&others.collect::<Vec<f64>>());
        let odds = own.iter().map(|row| slope * row.first().copied().map_or(0.0, f64::from) + expected);
        let labels: Vec<bool> = part.commits.iter().map(|commit| commit.is_bug).collect();
        errors.push(calibration_error(&odds.collect::<Vec<f64>>(), &labels));
    }
    let forest = fit_forest(&balance_lessons(lessons.iter().flatten()), &options);
    Ok((calibrate_forest(forest, slope, mean_of_values(&biases)), mean_of_values(&errors)))
}

/// The parts of a model, with what each metric usually adds.
fn finish_model(parts: &[ProjectSlice<'_>], all: Forest, size: Forest, error: f64) -> Result<RiskModel, String> {
    let commits = parts.iter().flat_map(|part| part.commits);
    let mut parts_of_model = RiskModelParts {
        projects: parts.iter().map(|part| part.name.to_owned()).collect(),
        commits: commits.clone().count() as u64,
        bugs: commits.filter(|commit| commit.is_bug).count() as u64,
        calibration_error: libm::round(error * 1e4) / 1e4,
        importance: [1.0; Feature::ALL.len()],
        all,
        size,
    };
    let model = RiskModel::new(parts_of_model.clone()).map_err(|error| error.to_string())?;
    let mut sums = [0.0; Feature::ALL.len()];
    for part in parts {
        let scale = scale(part.commits);
        let step = part.commits.len().div_ceil(500).max(1);
        let sample: Vec<&LabelledCommit> = part.commits.iter().step_by(step).collect();
        for commit in &sample {
            let contributions = model.score(&commit.features, &scale).contributions;
            for (sum, contribution) in sums.iter_mut().zip(contributions) {
                #[expect(clippy::cast_precision_loss, reason = "at most 500")]
                let share = 1.0 / (sample.len() * parts.len()) as f64;
                *sum += contribution.log_odds.abs() * share;
            }
        }
    }
    parts_of_model.importance = sums.map(|sum| libm::round(sum * 1e4) / 1e4);
    RiskModel::new(parts_of_model).map_err(|error| error.to_string())
}

fn sizes() -> Vec<Input> {
    SIZE.into_iter().filter_map(Input::named).collect()
}

/// The lesson of each commit. One with an unknown metric teaches nothing.
fn commit_lessons(
    part: &ProjectSlice<'_>,
    scale: &Scale,
    weight: &dyn Fn(&LabelledCommit) -> f64,
    offset: f64,
) -> Result<Vec<Lesson>, String> {
    let lesson = |commit: &LabelledCommit| {
        let mut values = [0.0; Input::COUNT];
        for (slot, input) in values.iter_mut().zip(Input::all()) {
            *slot = input.value(&commit.features, scale)?;
        }
        Some(Lesson { values, is_bug: commit.is_bug, weight: weight(commit), offset })
    };
    let lessons: Vec<Lesson> = part.commits.iter().filter_map(lesson).collect();
    let bugs = lessons.iter().filter(|lesson| lesson.is_bug).count();
    enough(&format!("{}, where all metrics are known,", part.name), bugs, lessons.len() - bugs)?;
    Ok(lessons)
}

/// The lessons of one project, the newest commits with the weight 1.
fn recent(name: &str, commits: &[LabelledCommit], scale: &Scale) -> Result<Vec<Lesson>, String> {
    let newest = commits.last().map_or(0, |commit| commit.date);
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970")]
    let weight = |commit: &LabelledCommit| libm::exp2(-((newest - commit.date) as f64) / DAY / HALF_LIFE);
    commit_lessons(&ProjectSlice { name, commits }, scale, &weight, 0.0)
}

/// The lessons of one project among others: how often its changes need a fix is known before.
fn base_rate_offset(part: &ProjectSlice<'_>) -> Result<Vec<Lesson>, String> {
    let bugs = part.commits.iter().filter(|commit| commit.is_bug).count();
    #[expect(clippy::cast_precision_loss, reason = "counts of commits")]
    let odds = bugs as f64 / (part.commits.len() - bugs) as f64;
    commit_lessons(part, &scale(part.commits), &|_| part_weight(part), libm::log(odds))
}

/// A large project counts more than a small one, but not as many times as it has commits.
fn part_weight(part: &ProjectSlice<'_>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count of commits")]
    let count = part.commits.len() as f64;
    1.0 / libm::sqrt(count.max(1.0))
}

/// The same lessons with the mean weight 1.
fn balance_lessons<'a>(lessons: impl Iterator<Item = &'a Lesson>) -> Vec<Lesson> {
    let mut lessons: Vec<Lesson> = lessons.cloned().collect();
    let mean = mean_of_values(&lessons.iter().map(|lesson| lesson.weight).collect::<Vec<f64>>());
    lessons.iter_mut().for_each(|lesson| lesson.weight /= mean);
    lessons
}

/// A forest whose log-odds are `slope · x + bias` of what they were.
fn calibrate_forest(mut forest: Forest, slope: f64, bias: f64) -> Forest {
    forest.intercept = round_to_five(slope * forest.intercept + bias);
    for leaf in forest.trees.iter_mut().flat_map(|tree| &mut tree.leaves) {
        *leaf = round_to_five(slope * *leaf);
    }
    forest
}

fn calibration_error(log_odds: &[f64], labels: &[bool]) -> f64 {
    let probabilities: Vec<f64> = log_odds.iter().map(|odds| logistic(*odds)).collect();
    measure::expected_calibration_error(&single_precision(&probabilities), labels, BINS).unwrap_or(1.0)
}

/// In single precision, as measures take them.
pub(crate) fn single_precision(values: &[f64]) -> Vec<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "moderate numbers")]
    let single = |value: &f64| *value as f32;
    values.iter().map(single).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a count")]
fn mean_of_values(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
