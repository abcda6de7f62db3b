//! Learning and measuring which files of a repository a task is about.

mod ablation;
mod cases;
mod definitions;
pub(crate) mod eval;
mod fit;
mod peers;
pub(crate) mod prompts;
pub(crate) mod train;
