//! Symmetric decision trees that add up, and what each metric contributes to their sum.

use alloc::{format, string::String, vec::Vec};

use super::error::{Error, ErrorKind};
use super::feature::{ChangeFeatures, Feature};
use super::input::Input;
use super::scale::Scale;

/// The most questions of one tree.
pub(super) const DEEPEST: usize = 3;
/// The most trees of one forest.
const MOST_TREES: usize = 2_000;

/// A question: is an input above a threshold?
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The figure that is compared.
    pub input: Input,
    /// The threshold, in the input's unit.
    pub above: f64,
}

/// A tree whose questions are the same on every branch.
///
/// Leaf `Σ 2ⁱ` over the questions `i` that are answered with yes holds the log-odds.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionTree {
    /// One to three questions.
    pub tests: Vec<Test>,
    /// How many commits of the training sets each leaf represents.
    pub cover: Vec<u32>,
    /// Each leaf's contribution to the log-odds.
    pub leaves: Vec<f64>,
}

/// Trees whose leaves are added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forest {
    /// The log-odds before any tree.
    pub intercept: f64,
    /// The trees, at most 2,000.
    pub trees: Vec<DecisionTree>,
}

/// The inputs of one change.
#[derive(Debug, Clone)]
pub(super) struct InputVector([Option<f64>; Input::COUNT]);

impl InputVector {
    pub(super) fn of(features: &ChangeFeatures, scale: &Scale) -> Self {
        let mut values = [None; Input::COUNT];
        for (slot, input) in values.iter_mut().zip(Input::all()) {
            *slot = input.value(features, scale);
        }
        Self(values)
    }

    /// The answer to a question. `None` if the input is unknown.
    fn answer(&self, test: &Test) -> Option<bool> {
        self.0.get(test.input.index()).copied().flatten().map(|value| value > test.above)
    }
}

impl DecisionTree {
    /// Refuses a tree whose numbers don't belong together.
    fn check(&self) -> Result<(), Error> {
        let problem = |kind, problem: &str| Err(Error::new(kind, String::from(problem)));
        let leaves = 1_usize << self.tests.len().min(DEEPEST);
        if self.tests.is_empty() || self.tests.len() > DEEPEST {
            return problem(ErrorKind::Shape, "a tree has to ask one to three questions");
        }
        if self.leaves.len() != leaves || self.cover.len() != leaves {
            return problem(ErrorKind::Shape, "a tree of n questions has to have 2ⁿ leaves and as many counts");
        }
        if self.cover.iter().all(|cover| *cover == 0) {
            return problem(ErrorKind::Shape, "no commit reaches a tree");
        }
        let numbers = self.leaves.iter().copied().chain(self.tests.iter().map(|test| test.above));
        if !numbers.into_iter().all(|number| number.is_finite() && number.abs() <= 1e9) {
            return problem(ErrorKind::Number, "a leaf or threshold is out of range");
        }
        Ok(())
    }

    /// The mean of the leaves that the answers leave open, weighted by their commits.
    fn expected(&self, answers: &[Option<bool>]) -> f64 {
        let is_open = |leaf: usize| {
            let agrees =
                |(place, answer): (usize, &Option<bool>)| answer.is_none_or(|yes| (leaf >> place & 1 == 1) == yes);
            answers.iter().enumerate().all(agrees)
        };
        let (mut sum, mut weight, mut plain, mut open) = (0.0, 0.0, 0.0, 0.0);
        for ((leaf, value), cover) in self.leaves.iter().enumerate().zip(&self.cover) {
            if is_open(leaf) {
                sum += f64::from(*cover) * value;
                weight += f64::from(*cover);
                plain += value;
                open += 1.0;
            }
        }
        // If no commit went there, nothing makes either branch likelier.
        if weight > 0.0 { sum / weight } else { plain / open }
    }

    fn value(&self, values: &InputVector) -> f64 {
        let mut answers = [None; DEEPEST];
        for (answer, test) in answers.iter_mut().zip(&self.tests) {
            *answer = values.answer(test);
        }
        self.expected(answers.get(..self.tests.len()).unwrap_or_default())
    }

    /// Adds each metric's Shapley value to its sum. Gives the value without any knowledge.
    ///
    /// The players are the metrics that the questions need and that are known. A coalition's worth
    /// is the tree's value when only the metrics in it are known (Shapley, *A Value for n-Person
    /// Games*, 1953; for trees Lundberg et al., *From Local Explanations to Global Understanding
    /// with Explainable AI for Trees*, 2020, whose path-dependent worth this is).
    fn explain(&self, values: &InputVector, sums: &mut [f64; Feature::ALL.len()]) -> f64 {
        let answers: Vec<Option<bool>> = self.tests.iter().map(|test| values.answer(test)).collect();
        // An unknown metric is no player: it is unknown in every coalition and so adds nothing to any.
        let known = self.tests.iter().zip(&answers).filter(|(_, answer)| answer.is_some());
        let mut players: Vec<Feature> = known.flat_map(|(test, _)| test.input.sources()).collect();
        players.sort_unstable();
        players.dedup();
        // A question is answered when all its metrics are in the coalition.
        let needs: Vec<usize> = self
            .tests
            .iter()
            .map(|test| test.input.sources().fold(0, |mask, source| mask | player_bit(&players, source)))
            .collect();
        let worth = |coalition: usize| {
            let told = |(answer, need): (&Option<bool>, &usize)| answer.filter(|_| need & !coalition == 0);
            let answers: Vec<Option<bool>> = answers.iter().zip(&needs).map(told).collect();
            self.expected(&answers)
        };
        // Three questions need six metrics at most: all coalitions are 64, few enough to need no estimate.
        let worths: Vec<f64> = (0..1_usize << players.len()).map(worth).collect();
        for player in &players {
            let own = player_bit(&players, *player);
            let mut value = 0.0;
            for (coalition, without) in worths.iter().enumerate().filter(|(coalition, _)| coalition & own == 0) {
                let with = worths.get(coalition | own).unwrap_or(without);
                value += coalition_weight(coalition.count_ones(), players.len()) * (with - without);
            }
            if let Some(sum) = sums.get_mut(*player as usize) {
                *sum += value;
            }
        }
        // The empty coalition: what the tree says of a change about which nothing is known.
        worths.first().copied().unwrap_or_default()
    }
}

/// A player's bit in a coalition; 0 for a metric that doesn't play.
fn player_bit(players: &[Feature], feature: Feature) -> usize {
    players.iter().position(|player| *player == feature).map_or(0, |place| 1 << place)
}

/// The share of orders of `players` in which a given player comes right after a given coalition
/// of `before`: `before! (players − before − 1)! / players!`.
fn coalition_weight(before: u32, players: usize) -> f64 {
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    let players = u32::try_from(players).unwrap_or(u32::MAX);
    factorial(before) * factorial(players.saturating_sub(before).saturating_sub(1)) / factorial(players)
}

impl Forest {
    /// The log-odds of a change.
    #[must_use]
    pub fn log_odds(&self, features: &ChangeFeatures, scale: &Scale) -> f64 {
        self.sum(&InputVector::of(features, scale))
    }

    pub(super) fn sum(&self, values: &InputVector) -> f64 {
        self.trees.iter().fold(self.intercept, |sum, tree| sum + tree.value(values))
    }

    /// The log-odds when nothing is known, and what each metric adds, in the order of
    /// [`Feature::ALL`].
    pub(super) fn explain(&self, values: &InputVector) -> (f64, [f64; Feature::ALL.len()]) {
        let mut sums = [0.0; Feature::ALL.len()];
        let intercept = self.trees.iter().fold(self.intercept, |sum, tree| sum + tree.explain(values, &mut sums));
        (intercept, sums)
    }

    /// Refuses a forest that can't be used.
    pub(super) fn check(&self) -> Result<(), Error> {
        if !(self.intercept.is_finite() && self.intercept.abs() <= 1e9) {
            return Err(Error::new(ErrorKind::Number, String::from("the intercept is out of range")));
        }
        if self.trees.len() > MOST_TREES {
            return Err(Error::new(ErrorKind::Shape, format!("there are more than {MOST_TREES} trees")));
        }
        self.trees.iter().try_for_each(DecisionTree::check)
    }
}
