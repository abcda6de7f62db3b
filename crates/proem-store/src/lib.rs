//! Keeps every run: what was sent, what came back, what it cost, and what was learned from it.
//!
//! [`Store::open`] opens the file; [`record`] holds what is written, [`query`] what is read. The
//! ledger's arithmetic is [`proem_engine::ledger`]; here it is held to it in one transaction with
//! every booking. What any store must keep is in
//! `laws` (feature `laws`), as functions that tests call.
//!
//! Invariants: what is about to be done is written before it is done, and what came of it after; no
//! booking takes a cap beyond its most, whoever books beside it; every line has a project and an
//! actor; events are only added.

pub mod body;
mod epoch;
mod error;
pub mod failpoint;
mod file;
#[cfg(feature = "laws")]
pub mod laws;
pub mod query;
pub mod record;
mod sqlite;
mod store;

pub use error::{Error, Unusable};
pub use store::{
    Access, Booked, Clearing, ClearingWay, Correction, Opened, Opening, Origin, Pause, Purge, Purged, Store,
};
