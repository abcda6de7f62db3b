//! SQLite: one file, read by whoever asks and written by one thread of each process in turn.
//!
//! Invariants: everything that belongs together is written in one transaction; what waits at the same
//! time shares one, and so one sync; a transaction that fails leaves nothing. What is written is in
//! [`crate::write`], what is read in [`crate::query`]; nothing here knows of either.

mod apart;
pub(crate) mod form;
mod order;
pub(crate) mod origin;
pub(crate) mod place;
mod queue;
mod site;
mod tables;
mod transaction;
mod values;

pub(crate) use self::apart::run_on_file_thread;
pub(crate) use self::order::{Company, Write};
pub(crate) use self::queue::Queue;
pub(crate) use self::site::{PATIENCE, Site, writing};
pub(crate) use self::tables::{Tables, sqlite_unusable};
pub(crate) use self::transaction::{Scribe, Transaction};
pub(crate) use self::values::{StatementValues, bind};
