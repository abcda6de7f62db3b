//! The learned score of a change: training and evaluation, and the levels of real clones.

mod blame;
mod boost;
pub(crate) mod data;
pub(crate) mod eval;
mod learn;
pub(crate) mod levels;
mod measure;
mod peers;
pub(crate) mod train;
