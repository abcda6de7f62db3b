#![doc = include_str!("../README.md")]
//!
//! Keeps every run: what was sent, what came back, what it cost, and what was learned from it.
//!
//! [`Store::open`] opens the file; [`record`] holds what is written, `write` writes it, [`query`] is what is read. The
//! ledger's arithmetic is [`proem_engine::ledger`]; here it is held to it in one transaction with
//! every booking. What any store must keep is in
//! `laws` (feature `laws`), as functions that tests call.
//!
//! Invariants: what is about to be done is written before it is done, and what came of it after; no
//! booking takes a cap beyond its most, whoever books beside it; every line has a project and an
//! actor; events are only added.

pub mod body;
mod clock;
mod epoch;
mod error;
pub mod failpoint;
mod file;
#[cfg(feature = "laws")]
pub mod laws;
mod open;
mod opening;
pub mod query;
pub mod record;
mod sqlite;
mod store;
mod witness;
mod write;

pub use error::{Absence, AbsenceRemedy, Error, Unusable};
pub use open::OpenedStore;
pub use opening::{StoreAccess, StoreCreator, StoreOptions};
pub use sqlite::place::FileSystemKind;
pub use store::Store;
pub use witness::{EffectIntent, EffectOutcome, EffectWitness, IntentRepetition, WitnessedIntent};
pub use write::{
    ActionPurge, ActionPurgeCounts, AdoptionCounts, ArtefactAnswer, BookingOutcome, Clearing, ClearingWay, Correction,
    CycleAnswer, DecisionAnswer, EscalationAnswer, IntakeAnswer, JudgementAnswer, Pause, ProposalAnswer, Purge,
    PurgeCounts, QuarantineAnswer, TransitionAnswer, TriagePurge, TriagePurgeCounts,
};
