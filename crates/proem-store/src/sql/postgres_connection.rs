//! A connection to PostgreSQL: statements that stay prepared, and errors that say what became of the store.
//!
//! Statements are asked for by threads that wait anyway, as they wait for a file. Each connection has a runtime of its
//! own that runs only then.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection};
use sqlx::{Arguments as _, AssertSqlSafe, Connection as _};
use tokio::runtime::{Builder, Runtime};

use super::dialect::translate_statement;
use super::fault::{SqlFault, SqlResult};
use super::row::{Row, RowSource};
use super::statement::{StatementValues, redacted_value};
use super::value::{BoundValue, ValueKind};

/// How long it is waited for a server to answer a new connection.
const CONNECTING: Duration = Duration::from_secs(10);

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct PostgresConnection {
    connection: RefCell<PgConnection>,
    statements: RefCell<BTreeMap<String, Translation>>,
    /// Whether something failed since the transaction began.
    has_failed: Cell<bool>,
    /// `None` only while the connection is dropped.
    runtime: Option<Runtime>,
}

/// A statement as the server has it, with the kinds of its values.
#[derive(Debug)]
struct Translation {
    sql: Arc<str>,
    kinds: Vec<ValueKind>,
}

impl PostgresConnection {
    pub(super) fn connect(options: &PgConnectOptions) -> SqlResult<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| SqlFault::Postgres(sqlx::Error::Io(error)))?;
        let connected = runtime.block_on(async {
            let late =
                || sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the server did not answer"));
            tokio::time::timeout(CONNECTING, PgConnection::connect_with(options)).await.map_err(|_| late())?
        });
        Ok(Self {
            connection: RefCell::new(connected?),
            statements: RefCell::default(),
            has_failed: Cell::new(false),
            runtime: Some(runtime),
        })
    }

    fn wait_for<T>(&self, work: impl Future<Output = Result<T, sqlx::Error>>) -> SqlResult<T> {
        let runtime = self.runtime.as_ref().ok_or(SqlFault::Postgres(sqlx::Error::WorkerCrashed))?;
        let done = runtime.block_on(work);
        if done.is_err() {
            self.has_failed.set(true);
        }
        Ok(done?)
    }

    /// Begins a transaction that may write, once no other one does, and asks a question that has one answer. The lock's
    /// number spells `proemwrt`. Each statement sees what was committed before it, whatever the server's default is, so the
    /// question sees what others wrote before the lock was free.
    pub(super) fn begin_with(&self, question: &str) -> SqlResult<Option<String>> {
        self.has_failed.set(false);
        let script = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(x'70726f656d777274'::bigint); {question}"
        );
        let rows = {
            let mut connection = self.connection.borrow_mut();
            self.wait_for(sqlx::raw_sql(AssertSqlSafe(script)).fetch_all(&mut *connection))?
        };
        rows.last().map_or(Ok(None), |row| Row(RowSource::Postgres(row)).get(0))
    }

    /// Runs some last statements and commits. The server answers a commit behind a failure with a success, and undoes
    /// everything.
    pub(super) fn commit_with(&self, statements: &str) -> SqlResult<()> {
        if self.has_failed.get() {
            return Err(SqlFault::Mismatch("a statement of the transaction had failed".to_owned()));
        }
        self.script(&format!("{statements}COMMIT"))
    }

    pub(super) fn execute(&self, sql: &str, values: impl StatementValues) -> SqlResult<usize> {
        let (sql, values) = self.prepare(sql, values)?;
        let mut connection = self.connection.borrow_mut();
        let done = self.wait_for(sqlx::query_with(AssertSqlSafe(sql), values).execute(&mut *connection))?;
        Ok(usize::try_from(done.rows_affected()).unwrap_or(usize::MAX))
    }

    /// Adds a line. Its number, in the column `id`, if it was added.
    pub(super) fn insert(&self, sql: &str, values: impl StatementValues) -> SqlResult<Option<i64>> {
        self.first_row(&format!("{sql} RETURNING id"), values, |row| row.get(0))
    }

    pub(super) fn first_row<T, E: From<SqlFault>>(
        &self,
        sql: &str,
        values: impl StatementValues,
        read: impl FnOnce(&Row<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        let (sql, values) = self.prepare(sql, values)?;
        let row = {
            let mut connection = self.connection.borrow_mut();
            self.wait_for(sqlx::query_with(AssertSqlSafe(sql), values).fetch_optional(&mut *connection))?
        };
        row.map(|row| read(&Row(RowSource::Postgres(&row)))).transpose()
    }

    pub(super) fn all_rows<T, E: From<SqlFault>>(
        &self,
        sql: &str,
        values: impl StatementValues,
        mut read: impl FnMut(&Row<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let (sql, values) = self.prepare(sql, values)?;
        let rows = {
            let mut connection = self.connection.borrow_mut();
            self.wait_for(sqlx::query_with(AssertSqlSafe(sql), values).fetch_all(&mut *connection))?
        };
        rows.iter().map(|row| read(&Row(RowSource::Postgres(row)))).collect()
    }

    pub(super) fn script(&self, sql: &str) -> SqlResult<()> {
        let mut connection = self.connection.borrow_mut();
        self.wait_for(sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection)).map(drop)
    }

    /// The statement for the server, and its values without credentials.
    fn prepare(&self, sql: &str, values: impl StatementValues) -> SqlResult<(Arc<str>, PgArguments)> {
        let (mut arguments, mut kinds) = (PgArguments::default(), Vec::new());
        values.bind_each(&mut |value| {
            kinds.push(value.kind());
            add_argument(&mut arguments, redacted_value(value))
        })?;
        let mut statements = self.statements.borrow_mut();
        if let Some(known) = statements.get(sql) {
            // The server reads values as those that the statement was prepared for.
            if known.kinds == kinds {
                return Ok((Arc::clone(&known.sql), arguments));
            }
            return Err(SqlFault::Mismatch(format!("a statement has values of other kinds than before: {sql}")));
        }
        let translated: Arc<str> = translate_statement(sql, &kinds).into();
        statements.insert(sql.to_owned(), Translation { sql: Arc::clone(&translated), kinds });
        Ok((translated, arguments))
    }
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        // A runtime that is dropped waits, which a task must not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn add_argument(arguments: &mut PgArguments, value: BoundValue<'_>) -> SqlResult<()> {
    let added = match value {
        BoundValue::Null(ValueKind::Integer) => arguments.add(None::<i64>),
        BoundValue::Null(ValueKind::Real) => arguments.add(None::<f64>),
        BoundValue::Null(ValueKind::Text) => arguments.add(None::<String>),
        BoundValue::Null(ValueKind::Bytes) => arguments.add(None::<Vec<u8>>),
        BoundValue::Integer(value) => arguments.add(value),
        BoundValue::Real(value) => arguments.add(value),
        BoundValue::Text(text) => arguments.add(&*text),
        BoundValue::Bytes(bytes) => arguments.add(&*bytes),
    };
    added.map_err(|error| SqlFault::Mismatch(error.to_string()))
}
