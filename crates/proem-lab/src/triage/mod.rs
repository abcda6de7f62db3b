//! Measuring how signals are classified and sanitised without a model, and what becomes of a model's answers.

mod asked;
mod baseline;
mod daily;
mod effects;
pub(crate) mod eval;
mod examples;
mod floors;
mod labelled;
mod left_out;
mod modelled;
mod scenarios;
mod scripts;
#[cfg(test)]
mod shipped;
mod tempers;
pub(crate) mod train;
