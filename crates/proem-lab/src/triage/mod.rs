//! Measuring how signals are classified and sanitised without a model, and what becomes of a model's answers.

mod baseline;
mod daily;
mod effects;
pub(crate) mod eval;
mod examples;
mod floors;
mod labelled_signals;
mod left_out;
mod model_report;
mod scenarios;
#[cfg(test)]
mod score_table;
mod scripts;
mod stage_bench;
mod tempers;
pub(crate) mod train;
