//! Measuring how a task's mode is told.

pub(crate) mod eval;
#[cfg(test)]
mod score_table;
