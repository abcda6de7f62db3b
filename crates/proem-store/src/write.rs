//! Writes, one file each, with the functions that ask for them.
//!
//! Each kind of thing says how it is written within a transaction, what is answered and with whom it shares the
//! transaction. The thread that writes knows no more of it.

mod action_correction;
mod action_purge;
mod action_standing;
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
mod credit;
mod cycle;
mod disposal;
mod effects_switch;
pub(crate) mod epochs;
mod escalation;
mod evaluation;
mod event;
mod feedback;
mod finish;
mod intent;
mod judgement;
mod parking;
mod pause;
mod performer;
mod person;
mod proposal;
mod purge;
mod quarantine;
mod run;
mod settlement;
mod signal_intake;
mod sync_progress;
mod take_over;
mod tool;
mod transition;
mod triage_purge;
mod work;

pub use self::action_purge::{ActionPurge, ActionPurgeCounts};
pub use self::adoption::AdoptionCounts;
pub use self::clearing::{Clearing, ClearingWay};
pub use self::correction::Correction;
pub use self::cycle::{ArtefactAnswer, CycleAnswer};
pub use self::escalation::{DecisionAnswer, EscalationAnswer};
pub use self::intent::BookingOutcome;
pub use self::judgement::JudgementAnswer;
pub(crate) use self::parking::{WitnessFinding, set_meta};
pub use self::pause::Pause;
pub use self::proposal::ProposalAnswer;
pub use self::purge::{Purge, PurgeCounts};
pub use self::quarantine::QuarantineAnswer;
pub use self::signal_intake::IntakeAnswer;
pub use self::sync_progress::{SyncEnd, SyncProgress};
pub use self::transition::TransitionAnswer;
pub use self::triage_purge::{TriagePurge, TriagePurgeCounts};
pub use self::work::{HoldAnswer, MOST_ATTEMPTS, WorkAnswer};
