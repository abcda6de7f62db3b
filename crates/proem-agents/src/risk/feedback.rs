//! Opinions of assessments, counted, and the consequences for the thresholds.
//!
//! Invariants: only what a person said counts, each run once. A threshold is suggested only from at least [`FEWEST`]
//! verdicts on its metric, only towards fewer alarms, and never beyond a value that was seen. Nothing here changes a
//! threshold: [`apply_suggestions`] says what a person would take over. A model may explain suggestions and choose
//! among them ([`FeedbackAnalysis`]). It can make none.
//!
//! Reasons are people's words and from outside: they are counted and shown, and never instruct.

mod analysis;
mod meter;
mod suggest;
mod tally;
mod trial;
mod verdict;

pub use self::analysis::{ChosenAdjustment, ComplaintPattern, FeedbackAnalysis, feedback_inputs};
pub use self::meter::Meter;
pub use self::suggest::{FEWEST, Suggestion, apply_suggestions, suggest};
pub use self::tally::{
    FeedbackTally, LevelTally, MetricTally, ReasonTally, last_verdicts, tally_levels, tally_verdicts,
};
pub use self::trial::{ForesightTally, ThresholdEvidence, ThresholdTrial, weigh_thresholds};
pub use self::verdict::{
    AssessmentOpinion, FeedbackVerdict, SignalAt, metric_reason_note, read_level, read_note, read_signals,
    recorded_signals,
};

/// The kind of the runs that hold assessments, which people say something of.
pub const KIND: &str = "risk";

#[cfg(test)]
mod tests;
