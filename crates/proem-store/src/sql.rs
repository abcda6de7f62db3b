//! The seam below reading and writing: one copy of every statement, whatever database runs it.
//!
//! Invariants: lines that belong together are written in one transaction. Writers that wait at the same time share one
//! transaction, and so one sync. A transaction that fails leaves nothing. Writing is in [`crate::write`], reading in
//! [`crate::query`]. Nothing here depends on either.

mod apart;
#[cfg(feature = "postgres")]
mod dialect;
mod fault;
mod lines;
mod order;
#[cfg(feature = "postgres")]
mod postgres_connection;
#[cfg(feature = "postgres")]
mod postgres_row;
mod queue;
mod row;
mod sqlite_connection;
mod statement;
mod tables;
mod transaction;
mod value;

pub(crate) use self::apart::run_on_file_thread;
pub(crate) use self::fault::{SqlFault, SqlResult, sqlite_unusable};
pub(crate) use self::lines::TableLine;
pub(crate) use self::order::{Company, Write};
pub(crate) use self::queue::Queue;
pub(crate) use self::row::Row;
pub(crate) use self::statement::{StatementValues, params, redacted_value};
pub(crate) use self::tables::{DatabaseKind, Tables};
pub(crate) use self::transaction::{Scribe, Transaction};
pub(crate) use self::value::{AnyBound, BoundValue, FromColumn, ToBound, ValueKind};
