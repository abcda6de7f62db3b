//! Training and measuring the learned part of the guard.

pub(crate) mod data;
pub(crate) mod eval;
pub(crate) mod files;
pub(crate) mod stage;
mod svm;
pub(crate) mod train;
