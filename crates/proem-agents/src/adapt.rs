//! The lessons that prompts take from another program's files: a history of failures, signals, and names that may be
//! shown.
//!
//! Invariants: everything that is wrong with a file is listed at once; what is not known counts as bad, so a failure is
//! never taken for a success. No text of a file reaches a message but escaped and cut.

mod foreign_json;
mod history;
mod lessons;
mod registry;
mod signals;

pub use self::foreign_json::quote_json_name;
pub use self::history::read_failure_history;
pub use self::lessons::{Lessons, TaughtBy};
pub use self::registry::registry;
pub use self::signals::read_adaptation_signals;

/// The reading of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdaptReading<T> {
    /// The readable part.
    pub value: T,
    /// The parts that were changed or ignored, in our words.
    pub notes: Vec<String>,
}
