#![doc = include_str!("../README.md")]
//!
//! Keeps every run: what was sent, what came back, what it cost, and what was learned from it.
//!
//! [`Store::open`] opens the file, [`record`] holds the lines to write, `write` writes them, and [`query`] reads them.
//! The ledger's arithmetic is [`proem_engine::ledger`]. The store applies it in one transaction with every booking. The
//! laws that any store must keep are functions in `laws` (feature `laws`), for tests to call.
//!
//! Invariants: what is about to be done is written before it is done, and what came of it after. No booking takes a cap
//! beyond its most, whoever books beside it. Every line has a project and an actor. Events are only added.

pub mod body;
mod clock;
mod copy;
mod epoch;
mod error;
pub mod failpoint;
mod file;
#[cfg(feature = "laws")]
pub mod laws;
mod open;
mod opening;
#[cfg(feature = "postgres")]
mod postgres;
pub mod query;
pub mod record;
mod sql;
mod sqlite;
mod store;
mod witness;
mod write;

pub use copy::{CopiedEffects, CopyProgress, CopySummary, StoreCopy, StorePlace};
pub use error::{Absence, AbsenceRemedy, Error, Unusable};
pub use open::OpenedStore;
pub use opening::{StoreAccess, StoreCreator, StoreOptions};
#[cfg(feature = "postgres")]
pub use postgres::DatabaseAddress;
pub use sqlite::form::newest_form;
pub use sqlite::place::FileSystemKind;
pub use store::Store;
pub use witness::{EffectIntent, EffectOutcome, EffectWitness, IntentRepetition, WitnessedIntent};
pub use write::{
    ActionPurge, ActionPurgeCounts, AdoptionCounts, ArtefactAnswer, BookingOutcome, Clearing, ClearingWay, Correction,
    CycleAnswer, DecisionAnswer, EscalationAnswer, HoldAnswer, IntakeAnswer, JudgementAnswer, MOST_ATTEMPTS, Pause,
    ProposalAnswer, Purge, PurgeCounts, QuarantineAnswer, SyncEnd, SyncProgress, TransitionAnswer, TriagePurge,
    TriagePurgeCounts, WorkAnswer,
};
