//! A connection to a store's tables, in whichever database they are.

use std::path::{Path, PathBuf};

use super::fault::{SqlFault, SqlResult};
#[cfg(feature = "postgres")]
use super::postgres_connection::PostgresConnection;
use super::row::Row;
use super::sqlite_connection::SqliteConnection;
use super::statement::StatementValues;
use crate::error::Error;

/// The tables of a store, as one connection sees them.
#[derive(Debug)]
pub(crate) struct Tables {
    database: Database,
    path: PathBuf,
}

#[derive(Debug)]
enum Database {
    Sqlite(SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresConnection>),
}

/// The kinds of databases, for the little that is done in one of them only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseKind {
    /// A file on this machine.
    File,
    /// A server's, which other machines may use as well.
    Server,
}

impl Tables {
    /// Those of a connection to SQLite. `path` is for errors.
    pub(crate) fn new(connection: rusqlite::Connection, path: PathBuf) -> Self {
        Self { database: Database::Sqlite(SqliteConnection::new(connection)), path }
    }

    /// Those of a connection to a server. `label` is its address for errors.
    #[cfg(feature = "postgres")]
    pub(crate) fn of_server(options: &sqlx::postgres::PgConnectOptions, label: PathBuf) -> Result<Self, Error> {
        match PostgresConnection::connect(options) {
            Ok(connection) => Ok(Self { database: Database::Postgres(Box::new(connection)), path: label }),
            Err(fault) => Err(fault.into_error(&label)),
        }
    }

    /// The kind of the database.
    pub(crate) const fn kind(&self) -> DatabaseKind {
        match &self.database {
            Database::Sqlite(_) => DatabaseKind::File,
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => DatabaseKind::Server,
        }
    }

    /// The place of the store, for errors: the file's path, or the server's address without its password.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a statement that gives no rows. How many it changed.
    pub(crate) fn execute(&self, sql: &str, values: impl StatementValues) -> Result<usize, Error> {
        self.name_database(match &self.database {
            Database::Sqlite(connection) => connection.execute(sql, values),
            #[cfg(feature = "postgres")]
            Database::Postgres(connection) => connection.execute(sql, values),
        })
    }

    /// Adds a line that has a number of its own, in the column `id`. `None` if there was nothing to add. `RETURNING` would say the number
    /// too, by way of a temporary table.
    pub(crate) fn insert(&self, sql: &str, values: impl StatementValues) -> Result<Option<i64>, Error> {
        match &self.database {
            Database::Sqlite(connection) => {
                let added = self.name_database(connection.execute(sql, values))?;
                Ok((added > 0).then(|| connection.last_number()))
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(connection) => self.name_database(connection.insert(sql, values)),
        }
    }

    /// The first row of a query, if there is one.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        values: impl StatementValues,
        read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
    ) -> Result<Option<T>, Error> {
        self.name_database(self.first_row(sql, values, read))
    }

    /// All rows of a query.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: impl StatementValues,
        read: impl FnMut(&Row<'_>) -> SqlResult<T>,
    ) -> Result<Vec<T>, Error> {
        self.name_database(self.all_rows(sql, values, read))
    }

    /// The first row of a query, if there is one, for callers with an error of their own.
    pub(crate) fn first_row<T, E: From<SqlFault>>(
        &self,
        sql: &str,
        values: impl StatementValues,
        read: impl FnOnce(&Row<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        match &self.database {
            Database::Sqlite(connection) => connection.first_row(sql, values, read),
            #[cfg(feature = "postgres")]
            Database::Postgres(connection) => connection.first_row(sql, values, read),
        }
    }

    /// All rows of a query, for callers with an error of their own.
    pub(crate) fn all_rows<T, E: From<SqlFault>>(
        &self,
        sql: &str,
        values: impl StatementValues,
        read: impl FnMut(&Row<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        match &self.database {
            Database::Sqlite(connection) => connection.all_rows(sql, values, read),
            #[cfg(feature = "postgres")]
            Database::Postgres(connection) => connection.all_rows(sql, values, read),
        }
    }

    /// Runs statements without values, each to its first row: what has to be stepped through is asked for with
    /// [`Self::rows`].
    pub(crate) fn script(&self, sql: &str) -> Result<(), Error> {
        self.name_database(self.run_script(sql))
    }

    fn run_script(&self, sql: &str) -> SqlResult<()> {
        match &self.database {
            Database::Sqlite(connection) => connection.script(sql),
            #[cfg(feature = "postgres")]
            Database::Postgres(connection) => connection.script(sql),
        }
    }

    /// Does something in a transaction that may write, or leaves no trace of it.
    pub(crate) fn atomically<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.atomically_between("SELECT ''", |_| Ok((work()?, String::new())))
    }

    /// The same for work that begins with a question, which has one answer, and ends with statements, each closed by a
    /// semicolon. To a server both travel with the beginning and the end of the transaction.
    pub(crate) fn atomically_between<T>(
        &self,
        question: &str,
        work: impl FnOnce(Option<String>) -> Result<(T, String), Error>,
    ) -> Result<T, Error> {
        let done = self.begin_with(question).and_then(work);
        let done = done.and_then(|(done, statements)| self.commit_with(&statements).map(|()| done));
        if done.is_err() {
            // SQLite has undone it by itself where the disk is full; that there is nothing to undo is as well.
            _ = self.execute("ROLLBACK", []);
        }
        done
    }

    fn begin_with(&self, question: &str) -> Result<Option<String>, Error> {
        match &self.database {
            Database::Sqlite(_) => {
                self.execute("BEGIN IMMEDIATE", [])?;
                self.row(question, [], |row| row.get(0)).map(Option::flatten)
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(connection) => self.name_database(connection.begin_with(question)),
        }
    }

    fn commit_with(&self, statements: &str) -> Result<(), Error> {
        match &self.database {
            Database::Sqlite(_) => {
                if !statements.is_empty() {
                    self.script(statements)?;
                }
                self.execute("COMMIT", []).map(drop)
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(connection) => self.name_database(connection.commit_with(statements)),
        }
    }

    /// Reads everything as it was at one moment.
    pub(crate) fn at_one_moment<T, E: From<SqlFault>>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.run_script(match &self.database {
            Database::Sqlite(_) => "BEGIN DEFERRED",
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        })?;
        let found = read();
        // There is nothing to undo. A connection on which this fails serves no other reading.
        let ended = self.run_script("ROLLBACK");
        let found = found?;
        ended?;
        Ok(found)
    }

    /// Closes the connection. The last one to close a file removes its log.
    pub(crate) fn close(self) -> Result<(), Error> {
        let Self { database, path } = self;
        let closed = match database {
            Database::Sqlite(connection) => connection.close(),
            // Locks of the session go before this returns, and not whenever the server sees that nobody is there.
            #[cfg(feature = "postgres")]
            Database::Postgres(connection) => connection.script("SELECT pg_advisory_unlock_all()"),
        };
        closed.map_err(|fault| fault.into_error(&path))
    }

    fn name_database<T>(&self, done: SqlResult<T>) -> Result<T, Error> {
        done.map_err(|fault| fault.into_error(&self.path))
    }
}
