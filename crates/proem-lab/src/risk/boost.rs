//! Learns symmetric trees by gradient boosting.
//!
//! Each round fits one tree to the derivatives of the log-loss (Friedman, *Greedy Function Approximation*, 2001, with
//! Newton steps as Chen and Guestrin, *XGBoost*, 2016, section 2.2) on a random part of the commits and inputs. All
//! branches of a level ask the same question (Prokhorenkova et al., *CatBoost*, 2018). The same lessons give the same
//! bits.

use proem_risk::score::{DecisionTree, Forest, Input, Test};
use proem_score::linear::logistic;

use crate::selection::public_sets::Dice;

/// A commit to learn from.
#[derive(Debug, Clone)]
pub(crate) struct Lesson {
    /// A value for each of [`Input::all`].
    pub(crate) values: [f64; Input::COUNT],
    pub(crate) is_bug: bool,
    /// How much it counts.
    pub(crate) weight: f64,
    /// Log-odds that are known before, such as those of its project.
    pub(crate) offset: f64,
}

/// How trees are grown, and how many.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoostOptions<'a> {
    /// The inputs that may be asked about.
    pub(crate) inputs: &'a [Input],
    /// How many trees are grown, each from what the ones before got wrong.
    pub(crate) rounds: usize,
    /// The part of each step that is taken.
    pub(crate) rate: f64,
    /// Questions of each tree, 1 to 3.
    pub(crate) depth: usize,
    /// The addition to the curvature of each leaf, which pulls it towards 0. A commit at even odds has a curvature of a
    /// quarter.
    pub(crate) penalty: f64,
    /// The least curvature on either side of a question.
    pub(crate) smallest: f64,
    /// The part of commits, and of inputs, that a tree sees. Each above 0 and at most 1.
    pub(crate) sees: (f64, f64),
    pub(crate) seed: u64,
}

/// The most thresholds of one input.
const THRESHOLDS: usize = 48;

/// One input of all lessons, as the number of thresholds below each value.
struct BinnedColumn {
    input: Input,
    thresholds: Vec<f64>,
    bins: Vec<u8>,
}

impl BinnedColumn {
    fn of(lessons: &[Lesson], input: Input) -> Self {
        let values: Vec<f64> =
            lessons.iter().map(|lesson| lesson.values.get(input.index()).copied().unwrap_or_default()).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let mut thresholds: Vec<f64> = Vec::new();
        for part in 1..=THRESHOLDS {
            let place = sorted.len().saturating_mul(part) / (THRESHOLDS + 1);
            let Some(value) = sorted.get(place).copied() else { continue };
            // Halfway to the next larger number, so that a threshold is on no value.
            let next = sorted.get(sorted.partition_point(|other| *other <= value)).copied();
            let threshold = next.and_then(|next| shortest_number_between(value, next));
            thresholds.extend(threshold.filter(|number| thresholds.last().is_none_or(|last| last < number)));
        }
        let bin =
            |value: &f64| u8::try_from(thresholds.partition_point(|threshold| threshold < value)).unwrap_or(u8::MAX);
        let bins = values.iter().map(bin).collect();
        Self { input, thresholds, bins }
    }
}

/// A number between two others with as few digits as possible, so that the model reads well and reads back exactly.
/// `None` if ten are too few.
fn shortest_number_between(low: f64, high: f64) -> Option<f64> {
    let middle = low + (high - low) / 2.0;
    let size = libm::ceil(libm::log10(middle.abs().max(1e-9)));
    let with = |digits: f64| {
        let power = libm::pow(10.0, digits - size);
        libm::round(middle * power) / power
    };
    [3.0, 4.0, 6.0, 8.0, 10.0].into_iter().map(with).find(|number| low < *number && *number < high)
}

/// Slope and curvature of the loss in some place, added up.
#[derive(Debug, Clone, Copy, Default)]
struct Pull {
    slope: f64,
    curvature: f64,
}

impl Pull {
    fn add(&mut self, other: Self) {
        self.slope += other.slope;
        self.curvature += other.curvature;
    }

    fn without(self, other: Self) -> Self {
        Self { slope: self.slope - other.slope, curvature: self.curvature - other.curvature }
    }

    /// The step that lowers the loss most.
    fn step(self, penalty: f64) -> f64 {
        -self.slope / (self.curvature + penalty)
    }

    /// Twice how much that step lowers it.
    fn gain(self, penalty: f64) -> f64 {
        self.slope * self.slope / (self.curvature + penalty)
    }
}

/// Learns a forest. Its trees are zero on the mean, so the intercept is what is known without
/// any answer.
pub(crate) fn fit_forest(lessons: &[Lesson], options: &BoostOptions<'_>) -> Forest {
    let columns: Vec<BinnedColumn> = options.inputs.iter().map(|input| BinnedColumn::of(lessons, *input)).collect();
    let mut intercept = intercept(lessons);
    let mut odds: Vec<f64> = lessons.iter().map(|lesson| lesson.offset + intercept).collect();
    let mut dice = Dice(options.seed);
    let mut trees = Vec::new();
    for _ in 0..options.rounds {
        let grown = Grower { lessons, columns: &columns, options }.grow(&odds, &mut dice);
        let Some((mut tree, nodes)) = grown else { continue };
        let all: f64 = tree.cover.iter().copied().map(f64::from).sum();
        let mean = tree.leaves.iter().zip(&tree.cover).map(|(leaf, cover)| leaf * f64::from(*cover)).sum::<f64>()
            / all.max(1.0);
        tree.leaves.iter_mut().for_each(|leaf| *leaf = round_to_five(*leaf - mean));
        intercept += mean;
        for (odds, node) in odds.iter_mut().zip(&nodes) {
            *odds += mean + tree.leaves.get(usize::from(*node)).copied().unwrap_or_default();
        }
        trees.push(tree);
    }
    Forest { intercept: round_to_five(intercept), trees }
}

/// Five decimals: more than the data can tell, and short in the file.
pub(crate) fn round_to_five(value: f64) -> f64 {
    libm::round(value * 1e5) / 1e5
}

/// The log-odds that, added to each lesson's own, give the share of bugs.
fn intercept(lessons: &[Lesson]) -> f64 {
    let mut intercept = 0.0;
    for _ in 0..20 {
        let mut pull = Pull::default();
        lessons.iter().for_each(|lesson| pull.add(derivative(lesson, lesson.offset + intercept)));
        intercept += pull.step(1e-9);
    }
    intercept
}

fn derivative(lesson: &Lesson, odds: f64) -> Pull {
    let probability = logistic(odds);
    let label = f64::from(u8::from(lesson.is_bug));
    Pull { slope: lesson.weight * (probability - label), curvature: lesson.weight * probability * (1.0 - probability) }
}

/// Grows one tree.
struct Grower<'a> {
    lessons: &'a [Lesson],
    columns: &'a [BinnedColumn],
    options: &'a BoostOptions<'a>,
}

/// A question with what it wins.
#[derive(Clone, Copy)]
struct SplitChoice<'a> {
    column: &'a BinnedColumn,
    /// Yes for bins above this.
    bin: u8,
    gain: f64,
}

impl Grower<'_> {
    /// A tree and the leaf of each lesson. `None` if no question helps.
    fn grow(&self, odds: &[f64], dice: &mut Dice) -> Option<(DecisionTree, Vec<u8>)> {
        let (rows, inputs) = self.options.sees;
        let pulls: Vec<Pull> = self
            .lessons
            .iter()
            .zip(odds)
            .map(|(lesson, odds)| if random_chance(dice) < rows { derivative(lesson, *odds) } else { Pull::default() })
            .collect();
        let seen: Vec<&BinnedColumn> = self.columns.iter().filter(|_| random_chance(dice) < inputs).collect();
        let mut nodes = vec![0_u8; self.lessons.len()];
        let mut tests = Vec::new();
        for level in 0..self.options.depth {
            let Some(choice) = self.best(&seen, &pulls, &nodes, 1 << level) else { break };
            let threshold = choice.column.thresholds.get(usize::from(choice.bin)).copied()?;
            for (node, bin) in nodes.iter_mut().zip(&choice.column.bins) {
                *node |= u8::from(*bin > choice.bin) << level;
            }
            tests.push(Test { input: choice.column.input, above: threshold });
        }
        if tests.is_empty() {
            return None;
        }
        let (leaves, cover) = self.leaves(&pulls, &nodes, 1 << tests.len());
        Some((DecisionTree { tests, cover, leaves }, nodes))
    }

    fn best<'c>(
        &self,
        seen: &[&'c BinnedColumn],
        pulls: &[Pull],
        nodes: &[u8],
        count: usize,
    ) -> Option<SplitChoice<'c>> {
        let mut best: Option<SplitChoice<'c>> = None;
        for column in seen {
            let width = column.thresholds.len().saturating_add(1);
            let mut sums = vec![Pull::default(); width.saturating_mul(count)];
            for ((pull, node), bin) in pulls.iter().zip(nodes).zip(&column.bins) {
                if let Some(sum) = sums.get_mut(usize::from(*node) * width + usize::from(*bin)) {
                    sum.add(*pull);
                }
            }
            let gains = self.gains(column, &sums, width);
            for (bin, gain) in (0_u8..).zip(gains) {
                if gain > 1e-9 && best.is_none_or(|best| gain > best.gain) {
                    best = Some(SplitChoice { column, bin, gain });
                }
            }
        }
        best
    }

    /// The gain of asking at each threshold, over all nodes.
    fn gains(&self, column: &BinnedColumn, sums: &[Pull], width: usize) -> Vec<f64> {
        let BoostOptions { penalty, smallest, .. } = *self.options;
        let mut gains = vec![0.0; column.thresholds.len()];
        for node in sums.chunks(width) {
            let mut all = Pull::default();
            node.iter().for_each(|pull| all.add(*pull));
            let mut no = Pull::default();
            for (gain, pull) in gains.iter_mut().zip(node) {
                no.add(*pull);
                let yes = all.without(no);
                if no.curvature >= smallest && yes.curvature >= smallest {
                    *gain += no.gain(penalty) + yes.gain(penalty) - all.gain(penalty);
                }
            }
        }
        gains
    }

    /// The log-odds of each leaf and the commits in it.
    fn leaves(&self, pulls: &[Pull], nodes: &[u8], count: usize) -> (Vec<f64>, Vec<u32>) {
        let (mut sums, mut weights) = (vec![Pull::default(); count], vec![0.0; count]);
        for ((pull, node), lesson) in pulls.iter().zip(nodes).zip(self.lessons) {
            if let (Some(sum), Some(weight)) = (sums.get_mut(usize::from(*node)), weights.get_mut(usize::from(*node))) {
                sum.add(*pull);
                *weight += lesson.weight;
            }
        }
        let leaves = sums.iter().map(|sum| self.options.rate * sum.step(self.options.penalty)).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of commits")]
        let cover = weights.iter().map(|weight| libm::round(*weight) as u32).collect();
        (leaves, cover)
    }
}

/// A number from 0 to below 1.
fn random_chance(dice: &mut Dice) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    let chance = (dice.next() >> 11) as f64 / 9_007_199_254_740_992.0;
    chance
}

#[cfg(test)]
mod tests {
    use proem_risk::score::{ChangeFeatures, Scale};

    use super::*;

    fn options(inputs: &[Input]) -> BoostOptions<'_> {
        BoostOptions { inputs, rounds: 60, rate: 0.2, depth: 2, penalty: 1.0, smallest: 1.0, sees: (1.0, 1.0), seed: 1 }
    }

    /// Commits whose label depends on lines added and on being a fix together, and on neither alone.
    fn lessons() -> Vec<Lesson> {
        let lesson = |n: u32| {
            let (la, fix) = (f64::from(n % 10), (n / 10).is_multiple_of(2));
            let features = ChangeFeatures { la: Some(la), fix: Some(fix), ..ChangeFeatures::default() };
            let mut values = [0.0; Input::COUNT];
            for (slot, input) in values.iter_mut().zip(Input::all()) {
                *slot = input.value(&features, &Scale::default()).unwrap_or_default();
            }
            // Not quite even, so that the first question has a reason.
            Lesson { values, is_bug: (la > 5.0) == fix, weight: if fix { 1.0 } else { 0.9 }, offset: 0.0 }
        };
        (0..400).map(lesson).collect()
    }

    #[test]
    fn pairs_of_metrics_are_learned() {
        let inputs: Vec<Input> = ["la", "fix"].into_iter().filter_map(Input::named).collect();
        let forest = fit_forest(&lessons(), &options(&inputs));
        let odds = |la: f64, fix: bool| {
            forest.log_odds(
                &ChangeFeatures { la: Some(la), fix: Some(fix), ..ChangeFeatures::default() },
                &Scale::default(),
            )
        };
        assert!(odds(9.0, true) > 2.0 && odds(1.0, false) > 2.0, "{} {}", odds(9.0, true), odds(1.0, false));
        assert!(odds(1.0, true) < -2.0 && odds(9.0, false) < -2.0, "{} {}", odds(1.0, true), odds(9.0, false));
        assert!(forest == fit_forest(&lessons(), &options(&inputs)));
    }

    #[test]
    fn without_questions_the_share_of_labels_is_left() {
        let mut lessons = lessons();
        lessons.iter_mut().zip(0..).for_each(|(lesson, n)| (lesson.is_bug, lesson.weight) = (n % 4 == 0, 1.0));
        let forest = fit_forest(&lessons, &options(&[]));
        assert_eq!((forest.trees.len(), forest.intercept), (0, round_to_five((1.0_f64 / 3.0).ln())));
    }

    #[test]
    fn a_threshold_lies_between_and_is_short() {
        for (low, high, expected) in [
            (1.0, 2.0, Some(1.5)),
            (0.0, 1e-3, Some(5e-4)),
            (0.123_456, 0.123_457, Some(0.123_456_5)),
            (1.0, 1.0, None),
        ] {
            assert_eq!(shortest_number_between(low, high), expected);
        }
    }
}
