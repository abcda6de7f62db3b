//! Statements that go to SQLite together: each trip to its thread costs more than most statements.

use std::path::{Path, PathBuf};

use proem_engine::run::Time;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use crate::error::{Error, Unusable};

/// The most that one number of an attempt counts: a million dollars or a quadrillion tokens, so that
/// eight thousand of them still add up to what SQLite's integers hold.
pub(super) const MOST: i64 = 1 << 50;

/// A number as it is stored: at most [`MOST`].
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).map_or(MOST, |value| value.min(MOST))
}

/// A number as it was stored. Negative ones are not stored.
pub(super) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A value that is bound to a statement.
#[derive(Debug, Clone)]
pub(super) enum Value<'v> {
    Null,
    Number(i64),
    Text(&'v str),
    Own(String),
    Bytes(&'v [u8]),
    OwnBytes(Vec<u8>),
}

impl Value<'_> {
    /// The same for as long as it is wanted.
    fn owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Number(number) => Value::Number(number),
            Self::Text(text) => Value::Own(text.to_owned()),
            Self::Own(text) => Value::Own(text),
            Self::Bytes(bytes) => Value::OwnBytes(bytes.to_vec()),
            Self::OwnBytes(bytes) => Value::OwnBytes(bytes),
        }
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(value: &'v str) -> Self {
        Self::Text(value)
    }
}

impl<'v> From<&'v String> for Value<'v> {
    fn from(value: &'v String) -> Self {
        Self::Text(value)
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Self::Own(value)
    }
}

impl<'v> From<&'v [u8]> for Value<'v> {
    fn from(value: &'v [u8]) -> Self {
        Self::Bytes(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Number(value)
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Number(number(value))
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<Time> for Value<'_> {
    fn from(value: Time) -> Self {
        Self::Number(value.0)
    }
}

impl<'v, T: Into<Self>> From<Option<T>> for Value<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Statements with their values, in order.
#[derive(Debug, Default)]
pub(super) struct Script<'v> {
    sql: String,
    values: Vec<Value<'v>>,
    /// Contents with their hashes; they refer to nothing, so they come first, in one statement.
    contents: Vec<(&'v str, &'v [u8])>,
}

/// The most contents of one statement: SQLite takes 32,766 values
/// (<https://www.sqlite.org/limits.html>), and few lengths of a statement mean few to prepare.
const MOST_CONTENTS: usize = 64;

impl<'v> Script<'v> {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a statement; its values follow, one for each `?`.
    pub(super) fn add(&mut self, sql: &str) -> &mut Self {
        if !self.sql.is_empty() {
            self.sql.push_str(";\n");
        }
        self.sql.push_str(sql);
        self
    }

    /// Adds a content that may be there already.
    pub(super) fn content(&mut self, hash: &'v str, bytes: &'v [u8]) {
        self.contents.push((hash, bytes));
    }

    /// Adds that there is a row; without it the script breaks off, and [`Link::is_refuted`] says why. `row`
    /// is what follows `SELECT 1`.
    pub(super) fn suppose(&mut self, row: &str) -> &mut Self {
        self.add(&format!("INSERT INTO refuted SELECT 0 WHERE NOT EXISTS (SELECT 1 {row})"))
    }

    /// Adds the value of the next `?`.
    pub(super) fn with(&mut self, value: impl Into<Value<'v>>) -> &mut Self {
        self.values.push(value.into());
        self
    }
}

/// A connection, with the path for its errors.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) connection: SqliteConnection,
    pub(super) path: PathBuf,
    /// What goes along with the next script.
    deferred: Statements,
    /// Whether something that was supposed is not so.
    refuted: bool,
}

/// Lets a script break off where something is not as it was supposed to be: whatever is put into this view
/// is an error.
pub(super) const SUPPOSITIONS: &str = "CREATE TEMP VIEW refuted AS SELECT 0 AS what;
    CREATE TEMP TRIGGER supposed INSTEAD OF INSERT ON refuted BEGIN
        SELECT RAISE(ABORT, 'it is not as it was supposed to be');
    END";

/// A script that breaks off: what it would have to suppose is not known.
pub(super) fn refuted() -> Script<'static> {
    let mut script = Script::new();
    script.suppose("WHERE FALSE");
    script
}

/// What that error says.
const REFUTED: &str = "it is not as it was supposed to be";

/// Statements with their values, as they go to SQLite.
#[derive(Debug, Default)]
struct Statements {
    sql: String,
    values: Vec<Value<'static>>,
}

impl Statements {
    fn append(&mut self, script: Script<'_>) {
        let Script { sql, values, contents } = script;
        for together in contents.chunks(MOST_CONTENTS) {
            let places = vec!["(?, ?)"; together.len()].join(", ");
            self.add(&format!("INSERT OR IGNORE INTO contents (hash, bytes) VALUES {places}"));
            let values = together.iter().flat_map(|(hash, bytes)| [Value::Text(hash), Value::Bytes(bytes)]);
            self.values.extend(values.map(Value::owned));
        }
        self.add(&sql);
        self.values.extend(values.into_iter().map(Value::owned));
    }

    fn add(&mut self, sql: &str) {
        if !self.sql.is_empty() && !sql.is_empty() {
            self.sql.push_str(";\n");
        }
        self.sql.push_str(sql);
    }
}

impl Link {
    pub(super) fn new(connection: SqliteConnection, path: PathBuf) -> Self {
        Self { connection, path, deferred: Statements::default(), refuted: false }
    }

    /// Runs a script together with the next one, in the same transaction: one trip for both. Its
    /// statements give no rows.
    pub(super) fn defer(&mut self, script: Script<'_>) {
        self.deferred.append(script);
    }

    /// Forgets what was put off.
    pub(super) fn forget(&mut self) {
        self.deferred = Statements::default();
    }

    /// Runs a script, behind what was put off, and gives the rows of all its statements.
    pub(super) async fn run(&mut self, script: Script<'_>) -> Result<Vec<SqliteRow>, Error> {
        let mut statements = std::mem::take(&mut self.deferred);
        statements.append(script);
        if statements.sql.is_empty() {
            return Ok(Vec::new());
        }
        let mut query = sqlx::query(AssertSqlSafe(statements.sql));
        for value in statements.values {
            query = match value {
                Value::Null => query.bind(None::<i64>),
                Value::Number(number) => query.bind(number),
                Value::Text(text) => query.bind(text),
                Value::Own(text) => query.bind(text),
                Value::Bytes(bytes) => query.bind(bytes),
                Value::OwnBytes(bytes) => query.bind(bytes),
            };
        }
        query.fetch_all(&mut self.connection).await.map_err(|error| {
            self.refuted |= error.as_database_error().is_some_and(|error| error.message() == REFUTED);
            unusable(&self.path, &error)
        })
    }

    /// Whether a supposition failed since this was asked last.
    pub(super) fn is_refuted(&mut self) -> bool {
        std::mem::take(&mut self.refuted)
    }

    /// A column of a row.
    pub(super) fn get<'r, T>(&self, row: &'r SqliteRow, column: usize) -> Result<T, Error>
    where
        T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        row.try_get(column).map_err(|error| unusable(&self.path, &error))
    }
}

/// What an error of SQLite's says about the store: by its primary result code, which is the lowest
/// byte of the extended one (<https://www.sqlite.org/rescode.html>).
pub(crate) fn unusable(path: &Path, error: &sqlx::Error) -> Error {
    let path = path.to_owned();
    let why = match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    };
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i64>().ok()).unwrap_or(0);
    Error::Unusable(match code & 0xff {
        // SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE: readers need room beside the file as well.
        10 if [4618, 4874].contains(&code) => {
            Unusable::Unwritable { path, why: "there is no room beside it; the disk may be full".to_owned() }
        }
        // SQLITE_BUSY, SQLITE_LOCKED.
        5 | 6 => Unusable::Busy { path },
        // SQLITE_PERM, SQLITE_READONLY, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_AUTH.
        3 | 8 | 13 | 14 | 23 => Unusable::Unwritable { path, why },
        // SQLITE_CORRUPT, SQLITE_NOTADB.
        11 | 26 => Unusable::Corrupt { path, why },
        _ => Unusable::Other { path, why },
    })
}
