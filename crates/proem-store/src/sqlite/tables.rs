//! A connection: statements that stay prepared, and errors that say what became of the store.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row};

use super::values::{StatementValues, bind};
use crate::error::{Error, Unusable};

/// How many statements stay prepared: more than there are.
const STATEMENTS: usize = 200;

/// The tables of a store, as one connection sees them.
#[derive(Debug)]
pub(crate) struct Tables {
    connection: Connection,
    path: PathBuf,
}

impl Tables {
    /// Those of a connection. `path` is for errors.
    pub(crate) fn new(connection: Connection, path: PathBuf) -> Self {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Self { connection, path }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The connection, for who tells errors apart by himself.
    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Runs a statement that gives no rows. How many it changed.
    pub(crate) fn execute(&self, sql: &str, values: impl StatementValues) -> Result<usize, Error> {
        self.told(self.connection.prepare_cached(sql).and_then(|mut statement| {
            bind(&mut statement, values)?;
            statement.raw_execute()
        }))
    }

    /// Adds a line that has a number of its own. `None` if there was nothing to add. `RETURNING` would say the number
    /// too, by way of a temporary table.
    pub(crate) fn insert(&self, sql: &str, values: impl StatementValues) -> Result<Option<i64>, Error> {
        let added = self.execute(sql, values)?;
        Ok((added > 0).then(|| self.connection.last_insert_rowid()))
    }

    /// The first row of a query, if there is one.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        values: impl StatementValues,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            bind(&mut statement, values)?;
            statement.raw_query().next()?.map(read).transpose()
        });
        self.told(found)
    }

    /// All rows of a query.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: impl StatementValues,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            bind(&mut statement, values)?;
            statement.raw_query().mapped(read).collect::<rusqlite::Result<Vec<T>>>()
        });
        self.told(found)
    }

    /// Runs statements without values, each to its first row: what has to be stepped through is asked for with
    /// [`Self::rows`].
    pub(crate) fn script(&self, sql: &str) -> Result<(), Error> {
        self.told(self.connection.execute_batch(sql))
    }

    /// Does something in a transaction that may write, or leaves no trace of it.
    pub(crate) fn atomically<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.execute("BEGIN IMMEDIATE", [])?;
        let done = work().and_then(|done| self.execute("COMMIT", []).map(|_| done));
        if done.is_err() {
            // SQLite has undone it by itself where the disk is full; that there is nothing to undo is as well.
            _ = self.execute("ROLLBACK", []);
        }
        done
    }

    /// Closes the file. The last one to close it removes the log.
    pub(crate) fn close(self) -> Result<(), Error> {
        let Self { connection, path } = self;
        connection.close().map_err(|(_connection, error)| sqlite_unusable(&path, &error))
    }

    fn told<T>(&self, done: rusqlite::Result<T>) -> Result<T, Error> {
        done.map_err(|error| sqlite_unusable(&self.path, &error))
    }
}

/// The meaning of an SQLite error for the store, by its primary result code, which is the lowest byte of the extended
/// one (<https://www.sqlite.org/rescode.html>).
pub(crate) fn sqlite_unusable(path: &Path, error: &rusqlite::Error) -> Error {
    let path = path.to_owned();
    let why = match error {
        rusqlite::Error::SqliteFailure(_, Some(said)) | rusqlite::Error::SqlInputError { msg: said, .. } => {
            said.clone()
        }
        other => other.to_string(),
    };
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    Error::Unusable(match code & 0xff {
        // SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE: readers need room beside the file as well.
        10 if [4618, 4874].contains(&code) => {
            Unusable::Unwritable { path, why: "there is no space left in its folder; the disk may be full".to_owned() }
        }
        // SQLITE_BUSY, SQLITE_LOCKED.
        5 | 6 => Unusable::Busy { path },
        // SQLITE_PERM, SQLITE_READONLY, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_AUTH.
        3 | 8 | 13 | 14 | 23 => Unusable::Unwritable { path, why },
        // SQLITE_CORRUPT, SQLITE_NOTADB.
        11 | 26 => Unusable::Corrupt { path, why },
        // SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH.
        18..=20 => Unusable::Refused { path, why },
        _ => Unusable::Other { path, why },
    })
}
