//! PostgreSQL: one database that processes on several machines read and write under the laws of [`crate::laws`].
//!
//! Invariants: a transaction that writes holds one lock of the database, so that all of them happen one after the other.
//! A process lives as long as its session at the server, and nothing of a session that has ended is committed.

mod address;
mod form;
mod opening;

pub use self::address::DatabaseAddress;
pub(crate) use self::opening::{connect_for_reading, connect_for_writing};
