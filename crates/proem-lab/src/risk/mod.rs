//! The learned score of a change: training and evaluation, and the levels of real clones.

mod blame;
mod boost;
pub(crate) mod eval;
pub(crate) mod labelled_commits;
mod learn;
pub(crate) mod levels;
mod measure;
mod peers;
pub(crate) mod train;
pub(crate) mod training;
