//! The model: its file, and the score of a change.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use proem_score::linear::logistic;
use proem_text::json;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::{Error, ErrorKind};
use super::feature::{ChangeFeatures, Feature};
use super::input::Input;
use super::scale::Scale;
use super::trees::{DecisionTree, Forest, InputVector, Test};

/// The version of the file.
const VERSION: u32 = 1;

/// The size of a change: known together, or not at all.
const SIZE: [Feature; 3] = [Feature::La, Feature::Ld, Feature::Nf];

/// One metric's contribution to a change's log-odds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// The feature whose part in the score this is.
    pub feature: Feature,
    /// Above 0 where it makes the change riskier than one about which nothing is known.
    pub log_odds: f64,
}

/// How risky a change is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskScore {
    /// The probability that the change needs a fix, 0 to 1: calibrated on the training projects.
    /// Projects differ in how often changes do, so compare it with other changes of the project.
    pub probability: f64,
    /// The same as log-odds, natural logarithm.
    pub log_odds: f64,
    /// The log-odds of a change about which nothing is known.
    pub intercept: f64,
    /// Each metric's contribution, in the order of [`Feature::ALL`]. The intercept and all of them sum to the log-odds,
    /// but for rounding.
    pub contributions: Vec<Contribution>,
    /// The contribution of everything but the size to the log-odds, beyond the size's own prediction. `None` if lines
    /// added, lines deleted or files touched are unknown.
    pub given_size: Option<f64>,
    /// The metrics that the score does without, in the order of [`Feature::ALL`]: unknown ones, and
    /// the author's experience where the [`Scale`] lacks it.
    pub unknown: Vec<Feature>,
    /// How much of what usually decides was known, 0 to 1: the sum of [`RiskModel::importance`] over
    /// the known metrics.
    pub known: f64,
}

/// The numbers of a model as training wrote them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RiskModelParts {
    /// The projects that it was learned from.
    pub projects: Vec<String>,
    /// How many commits it was learned from.
    pub commits: u64,
    /// How many of them needed a fix.
    pub bugs: u64,
    /// See [`RiskModel::expected_calibration_error`].
    pub calibration_error: f64,
    /// The mean absolute contribution of each metric over the training commits, in the order of
    /// [`Feature::ALL`].
    pub importance: [f64; Feature::ALL.len()],
    /// All metrics.
    pub all: Forest,
    /// The size alone.
    pub size: Forest,
}

/// A learned score.
#[derive(Debug, Clone, PartialEq)]
pub struct RiskModel {
    parts: RiskModelParts,
}

impl RiskModel {
    /// The model that ships.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file inside the program is damaged.
    pub fn shipped() -> Result<Self, Error> {
        Self::read(include_str!("../../data/score-1.json"))
    }

    /// A model from its file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Syntax`], [`ErrorKind::Version`] and [`ErrorKind::UnknownInput`] for a file
    /// that isn't one of this program, otherwise as for [`RiskModel::new`].
    pub fn read(text: &str) -> Result<Self, Error> {
        let file: RiskModelForm = serde_json::from_str(text)
            .map_err(|error| Error::new(ErrorKind::Syntax, format!("its file is not readable: {error}")))?;
        if file.version != VERSION {
            let problem = format!("its file has version {}, this program reads {VERSION}", file.version);
            return Err(Error::new(ErrorKind::Version, problem));
        }
        let weight = |feature: Feature| file.importance.get(feature.as_str()).copied();
        let mut importance = [0.0; Feature::ALL.len()];
        for (slot, feature) in importance.iter_mut().zip(Feature::ALL) {
            let missing =
                || Error::new(ErrorKind::Shape, format!("the importance of `{}` is missing", feature.as_str()));
            *slot = weight(feature).ok_or_else(missing)?;
        }
        Self::new(RiskModelParts {
            projects: file.projects,
            commits: file.commits,
            bugs: file.bugs,
            calibration_error: file.calibration_error,
            importance,
            all: file.all.forest()?,
            size: file.size.forest()?,
        })
    }

    /// A model from its parts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`] if the numbers of a tree don't belong together,
    /// [`ErrorKind::Number`] if one is not finite or out of its range.
    pub fn new(parts: RiskModelParts) -> Result<Self, Error> {
        let out_of_range = |what: &str| Err(Error::new(ErrorKind::Number, format!("the {what} is out of range")));
        if !(0.0..=1.0).contains(&parts.calibration_error) {
            return out_of_range("calibration error");
        }
        let total: f64 = parts.importance.iter().sum();
        if !(total.is_finite() && total > 0.0 && parts.importance.iter().all(|importance| *importance >= 0.0)) {
            return out_of_range("importance of metrics");
        }
        parts.all.check()?;
        parts.size.check()?;
        Ok(Self { parts })
    }

    /// The model's file: the same model makes the same bytes.
    #[must_use]
    pub fn write(&self) -> String {
        let RiskModelParts { projects, commits, bugs, calibration_error, importance, all, size } = &self.parts;
        let importance: BTreeMap<&str, f64> =
            Feature::ALL.iter().map(|feature| feature.as_str()).zip(importance.iter().copied()).collect();
        // Line by line and not by a pretty printer, which would put each number on a line of its own: a trained
        // model is reviewed as a difference.
        let fields = [
            ("all", forest_json(all)),
            ("bugs", bugs.to_string()),
            ("calibration_error", json::compact(&json!(calibration_error))),
            ("commits", commits.to_string()),
            ("importance", json::compact(&json!(importance))),
            ("projects", json::compact(&json!(projects))),
            ("size", forest_json(size)),
            ("version", VERSION.to_string()),
        ];
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{\n{}\n}}\n", fields.join(",\n"))
    }

    /// The projects that it was learned from.
    #[must_use]
    pub fn projects(&self) -> &[String] {
        &self.parts.projects
    }

    /// How many commits it was learned from, and how many of them needed a fix.
    #[must_use]
    pub const fn learned_from(&self) -> (u64, u64) {
        (self.parts.commits, self.parts.bugs)
    }

    /// How far probabilities are from the share of changes that needed a fix, 0 to 1: the expected
    /// calibration error (ten bins of equal mass) on projects that the model hadn't seen, the mean
    /// over the training projects, each left out once.
    #[must_use]
    pub const fn expected_calibration_error(&self) -> f64 {
        self.parts.calibration_error
    }

    /// The share of a metric in what decides, 0 to 1. Those of all metrics sum to 1.
    #[must_use]
    pub fn importance(&self, feature: Feature) -> f64 {
        let total: f64 = self.parts.importance.iter().sum();
        self.parts.importance.get(feature as usize).map_or(0.0, |importance| importance / total)
    }

    /// The log-odds of a change: what [`RiskModel::score`] says, without the explanation.
    #[must_use]
    pub fn log_odds(&self, features: &ChangeFeatures, scale: &Scale) -> f64 {
        self.parts.all.log_odds(features, scale)
    }

    /// The score of a change in a project.
    #[must_use]
    pub fn score(&self, features: &ChangeFeatures, scale: &Scale) -> RiskScore {
        let values = InputVector::of(features, scale);
        // Not the intercept with the contributions: those are rounded otherwise, and `log_odds` says the same bits.
        let log_odds = self.parts.all.sum(&values);
        let (intercept, sums) = self.parts.all.explain(&values);
        let is_unknown = |feature: &Feature| features.get(*feature).is_none() || scale.lacks(*feature);
        let unknown: Vec<Feature> = Feature::ALL.into_iter().filter(is_unknown).collect();
        let contributions = Feature::ALL.into_iter().zip(sums);
        // With a part of the size unknown, the small model's mean over both branches is no size to compare with.
        let is_sized = SIZE.into_iter().all(|feature| features.get(feature).is_some());
        let known: f64 = Feature::ALL.into_iter().filter(|f| !unknown.contains(f)).map(|f| self.importance(f)).sum();
        RiskScore {
            probability: logistic(log_odds),
            log_odds,
            intercept,
            contributions: contributions.map(|(feature, log_odds)| Contribution { feature, log_odds }).collect(),
            given_size: is_sized.then(|| log_odds - self.parts.size.sum(&values)),
            unknown,
            known: known.clamp(0.0, 1.0),
        }
    }
}

/// The file's form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RiskModelForm {
    version: u32,
    projects: Vec<String>,
    commits: u64,
    bugs: u64,
    calibration_error: f64,
    importance: BTreeMap<String, f64>,
    all: Trees,
    size: Trees,
}

/// Questions, commits in each leaf, log-odds of each leaf.
type WrittenTree = (Vec<(String, f64)>, Vec<u32>, Vec<f64>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trees {
    intercept: f64,
    trees: Vec<WrittenTree>,
}

impl Trees {
    fn forest(self) -> Result<Forest, Error> {
        let test = |(name, above): (String, f64)| {
            let unknown = || Error::new(ErrorKind::UnknownInput, format!("`{name}` is no input"));
            Ok(Test { input: Input::named(&name).ok_or_else(unknown)?, above })
        };
        let tree = |(tests, cover, leaves): WrittenTree| {
            Ok(DecisionTree { tests: tests.into_iter().map(test).collect::<Result<_, _>>()?, cover, leaves })
        };
        Ok(Forest { intercept: self.intercept, trees: self.trees.into_iter().map(tree).collect::<Result<_, Error>>()? })
    }
}

/// A forest with one tree on each line, so that a difference can be read.
fn forest_json(forest: &Forest) -> String {
    let tree = |tree: &DecisionTree| {
        let tests: Vec<Value> = tree.tests.iter().map(|test| json!([test.input.name(), test.above])).collect();
        json::compact(&json!([tests, tree.cover, tree.leaves]))
    };
    let trees: Vec<String> = forest.trees.iter().map(tree).collect();
    let intercept = json::compact(&json!(forest.intercept));
    format!("{{\"intercept\": {intercept}, \"trees\": [\n{}\n]}}", trees.join(",\n"))
}
