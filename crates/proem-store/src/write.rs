//! What is written, one file for each, with what asks for it.
//!
//! Each kind of thing says how it is written within a transaction, what is answered and with whom it shares the
//! transaction; the thread that writes knows no more of it.

mod adoption;
mod amount;
mod approvals;
mod booking;
mod burial;
mod call;
mod caps;
mod clearing;
mod clock_reset;
mod content;
mod correction;
pub(crate) mod epochs;
mod evaluation;
mod event;
mod feedback;
mod finish;
mod intent;
mod pause;
mod purge;
mod run;
mod settlement;
mod take_over;

pub use self::clearing::{Clearing, ClearingWay};
pub use self::correction::Correction;
pub use self::intent::BookingOutcome;
pub use self::pause::Pause;
pub use self::purge::{Purge, PurgeCounts};
