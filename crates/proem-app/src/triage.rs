//! Triage: signals about a project become artefacts, held actions and questions.
//!
//! [`normalise`] reads signals from files that other systems wrote and needs no project. [`charter`] is the project as
//! its file says, [`init`] writes that file, [`desk`] takes signals in and works on those that are open, cycle by cycle,
//! [`sync`] reads live sources, and [`status`] says what stands and waits. [`watch`] does all of it again and again, from files as they come.
//!
//! Invariants: what came is on the disk before anything is decided. A cycle ends whole or not at all, and what it
//! proposed before its end is the same when it is proposed again. A file that nobody trusted decides nothing.

pub mod artefacts;
mod attempt;
mod broken_off;
pub mod charter;
pub mod consent;
mod cycle;
mod cycle_report;
mod decision_entry;
mod decisions;
pub mod desk;
pub mod digest;
pub mod edit;
pub mod init;
pub mod judge;
mod links;
mod matters;
mod model_calls;
pub mod models;
pub mod monitoring;
pub mod normalise;
mod open_signals;
pub mod output;
mod past;
mod read_signal;
mod set_aside;
pub mod signals;
pub mod sources;
mod standing_artefacts;
pub mod status;
pub mod sync;
mod tape;
mod time_limit;
mod unreadable;
pub mod watch;

pub(crate) use self::decision_entry::DecidedOption;
pub(crate) use self::decisions::is_change_offer;

pub use self::cycle_report::{AskedQuestion, CycleReport, KeptOutCount};
pub use self::desk::{IntakeCounts, TriageDesk};
pub use self::links::SignalLinks;
pub use self::model_calls::{AskedCycle, AskingTerms};
