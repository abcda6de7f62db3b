//! Training and measuring the learned part of the guard.

pub(crate) mod eval;
pub(crate) mod files;
pub(crate) mod labelled_texts;
pub(crate) mod stage;
mod svm;
pub(crate) mod train;
