//! SQLite: one file, read by whoever asks and written by one thread of each process in turn.
//!
//! Invariants: lines that belong together are written in one transaction. Writers that wait at the same time share one
//! transaction, and so one sync. A transaction that fails leaves nothing. Writing is in [`crate::write`], reading in
//! [`crate::query`]. Nothing here depends on either.

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
