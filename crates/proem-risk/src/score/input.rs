//! The inputs of trees: the metrics, and values computed from two of them.

use super::feature::{ChangeFeatures, Feature};
use super::scale::Scale;

/// How an input comes from metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputDerivation {
    /// The metric itself.
    Value(Feature),
    /// The metric's place in the project, 0 to 1.
    Place(Feature),
    /// The first over the second plus one, so that nothing is divided by 0.
    Ratio(Feature, Feature),
    /// Both together.
    Sum(Feature, Feature),
}

/// A number that trees may ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input(usize);

const INPUTS: [(&str, InputDerivation); 27] = [
    ("ns", InputDerivation::Value(Feature::Ns)),
    ("nd", InputDerivation::Value(Feature::Nd)),
    ("nf", InputDerivation::Value(Feature::Nf)),
    ("entropy", InputDerivation::Value(Feature::Entropy)),
    ("la", InputDerivation::Value(Feature::La)),
    ("ld", InputDerivation::Value(Feature::Ld)),
    ("lt", InputDerivation::Value(Feature::Lt)),
    ("fix", InputDerivation::Value(Feature::Fix)),
    ("ndev", InputDerivation::Value(Feature::Ndev)),
    ("age", InputDerivation::Value(Feature::Age)),
    ("nuc", InputDerivation::Value(Feature::Nuc)),
    ("place of exp", InputDerivation::Place(Feature::Exp)),
    ("place of rexp", InputDerivation::Place(Feature::Rexp)),
    ("place of sexp", InputDerivation::Place(Feature::Sexp)),
    ("la + ld", InputDerivation::Sum(Feature::La, Feature::Ld)),
    ("la / (nf + 1)", InputDerivation::Ratio(Feature::La, Feature::Nf)),
    ("la / (lt + 1)", InputDerivation::Ratio(Feature::La, Feature::Lt)),
    ("ld / (lt + 1)", InputDerivation::Ratio(Feature::Ld, Feature::Lt)),
    ("lt / (nf + 1)", InputDerivation::Ratio(Feature::Lt, Feature::Nf)),
    ("nuc / (nf + 1)", InputDerivation::Ratio(Feature::Nuc, Feature::Nf)),
    ("ndev / (nf + 1)", InputDerivation::Ratio(Feature::Ndev, Feature::Nf)),
    ("nuc / (ndev + 1)", InputDerivation::Ratio(Feature::Nuc, Feature::Ndev)),
    ("rexp / (exp + 1)", InputDerivation::Ratio(Feature::Rexp, Feature::Exp)),
    ("sexp / (exp + 1)", InputDerivation::Ratio(Feature::Sexp, Feature::Exp)),
    ("age / (nuc + 1)", InputDerivation::Ratio(Feature::Age, Feature::Nuc)),
    ("la / (nuc + 1)", InputDerivation::Ratio(Feature::La, Feature::Nuc)),
    ("lt / (nuc + 1)", InputDerivation::Ratio(Feature::Lt, Feature::Nuc)),
];

impl Input {
    /// How many there are.
    pub const COUNT: usize = INPUTS.len();

    /// All of them, in a fixed order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        (0..Self::COUNT).map(Self)
    }

    /// The input of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        INPUTS.iter().position(|(known, _)| *known == name).map(Self)
    }

    /// Its name, which says how it is computed.
    #[must_use]
    pub fn name(self) -> &'static str {
        INPUTS.get(self.0).map_or("", |(name, _)| *name)
    }

    /// The metrics that it is computed from. One or two.
    pub fn sources(self) -> impl Iterator<Item = Feature> {
        let (first, second) = match INPUTS.get(self.0).map(|(_, kind)| *kind) {
            None => (None, None),
            Some(InputDerivation::Value(one) | InputDerivation::Place(one)) => (Some(one), None),
            Some(InputDerivation::Ratio(one, other) | InputDerivation::Sum(one, other)) => (Some(one), Some(other)),
        };
        first.into_iter().chain(second)
    }

    /// Its value for a change. `None` if a metric that it needs, or the project's scale, is unknown.
    #[must_use]
    pub fn value(self, features: &ChangeFeatures, scale: &Scale) -> Option<f64> {
        let (_, kind) = INPUTS.get(self.0)?;
        let known = |feature: Feature| features.get(feature).filter(|_| !scale.lacks(feature));
        match *kind {
            InputDerivation::Value(one) => known(one),
            InputDerivation::Place(one) => scale.place(one, known(one)?),
            InputDerivation::Ratio(one, other) => Some(known(one)? / (known(other)? + 1.0)),
            InputDerivation::Sum(one, other) => Some(known(one)? + known(other)?),
        }
    }

    /// Its place in the order of [`Input::all`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}
