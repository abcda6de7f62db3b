//! The learned score of a change: training and evaluation.

mod boost;
pub(crate) mod data;
pub(crate) mod eval;
mod learn;
mod measure;
mod peers;
pub(crate) mod train;
