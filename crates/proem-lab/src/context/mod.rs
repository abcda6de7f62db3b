//! Learning and measuring which files of a repository a task is about.

mod ablation;
pub(crate) mod abstention;
mod assistant;
mod cases;
pub(crate) mod cold;
mod definitions;
pub(crate) mod eval;
mod fit;
mod held_back;
mod peers;
pub(crate) mod prompts;
mod software;
pub(crate) mod train;
mod written_tasks;
