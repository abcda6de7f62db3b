//! A learned score: how often changes like this one needed a fix.
//!
//! The evidence is the fourteen change metrics of Kamei et al. (*A Large-Scale Empirical Study of
//! Just-in-Time Quality Assurance*, 2013) and ratios of them. The model is a sum of small
//! symmetric decision trees: every tree asks at most three questions, the same ones on each
//! branch, and adds log-odds. How it was learned and how well it does says `evals/risk/README.md`.
//!
//! Three properties decide the form:
//!
//! - **It adds up.** Each metric's contribution is its Shapley value, computed exactly, so that the intercept and the
//!   contributions sum to the log-odds.
//! - **Unknown is not zero.** A question about an unknown metric is answered by both branches,
//!   weighted by how many commits of the training sets that passed the answered questions took
//!   each. Its metric contributes nothing and is named in [`RiskScore::unknown`].
//! - **Size comes first and apart.** A second, smaller model knows the size alone. [`RiskScore::given_size`] is what
//!   everything else adds to it.
//!
//! Nothing here reads a clock or a file. The same metrics give the same bits on every machine.

mod error;
mod feature;
mod input;
mod model;
mod scale;
mod trees;

pub use error::{Error, ErrorKind};
pub use feature::{ChangeFeatures, Feature};
pub use input::Input;
pub use model::{Contribution, RiskModel, RiskModelParts, RiskScore};
pub use scale::Scale;
pub use trees::{DecisionTree, Forest, Test};

#[cfg(test)]
mod tests;
