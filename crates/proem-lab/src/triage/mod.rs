//! Measuring how signals are classified and sanitised without a model.

mod baseline;
mod effects;
pub(crate) mod eval;
mod labelled;
#[cfg(test)]
mod shipped;
