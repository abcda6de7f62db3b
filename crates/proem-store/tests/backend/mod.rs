//! The store on SQLite, as the laws see it, and processes that use it.

#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};

use proem_guard::Key;
use proem_store::laws::{Backend, Given};
use proem_store::{Access, Opened, Opening, Store};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, SqliteConnection};

/// A file in a folder.
#[derive(Debug, Clone)]
pub(crate) struct Sqlite {
    pub(crate) path: PathBuf,
}

impl Sqlite {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { path: folder.join("state/records.db") }
    }

    pub(crate) fn opening(&self, access: Access) -> Opening {
        Opening {
            path: self.path.clone(),
            key: Key::new([7; 32]),
            access,
            project: Given.project(),
            actor: Given.actor(),
            zone: jiff::tz::TimeZone::UTC,
        }
    }

    pub(crate) async fn opened(&self, access: Access) -> Opened {
        Store::open(self.opening(access)).await.unwrap()
    }

    /// The one integer that a query gives.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        self.numbers(sql).await.first().copied().unwrap()
    }

    /// A connection past the store.
    pub(crate) async fn connection(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(&self.path).disable_statement_logging().connect().await.unwrap()
    }
}

impl Backend for Sqlite {
    async fn open(&self) -> Store {
        self.opened(Access::Write).await.store
    }

    async fn numbers(&self, sql: &str) -> Vec<i64> {
        let mut connection = self.connection().await;
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        rows.iter().map(|row| row.get::<Option<i64>, _>(0).unwrap_or(-1)).collect()
    }

    async fn execute(&self, sql: &str) -> Result<(), String> {
        let mut connection = self.connection().await;
        let done = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await;
        connection.close().await.unwrap();
        done.map(drop).map_err(|error| error.to_string())
    }
}

/// Draws numbers, so that processes do different things.
#[derive(Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    /// Starts with something that this process has alone.
    pub(crate) fn new() -> Self {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).unwrap();
        Self(u64::from_le_bytes(seed) | 1)
    }

    /// A number below `end`: xorshift64 (Marsaglia, 2003).
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

/// The number of rounds that an environment variable asks for.
pub(crate) fn rounds(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(otherwise)
}

/// Starts this test program again for one of its tests, on the same store.
pub(crate) fn again(test: &str, sqlite: &Sqlite) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env("PROEM_TEST_STORE", &sqlite.path);
    command.stdin(std::process::Stdio::null());
    command
}

/// The store that this process was started for.
pub(crate) fn given() -> Option<Sqlite> {
    std::env::var_os("PROEM_TEST_STORE").map(|path| Sqlite { path: PathBuf::from(path) })
}

/// What SQLite says about the file.
pub(crate) async fn integrity(sqlite: &Sqlite) -> String {
    let mut connection = sqlite.connection().await;
    let row = sqlx::query("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    row.get(0)
}

/// Makes a store of form 1 that this installation created: empty, or with what a store of the newest form
/// keeps, as far as form 1 has a column for it.
pub(crate) async fn older(sqlite: &Sqlite, newest: Option<&Sqlite>) {
    std::fs::create_dir_all(sqlite.path.parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new().filename(&sqlite.path).create_if_missing(true);
    let options = options.journal_mode(sqlx::sqlite::SqliteJournalMode::Wal).disable_statement_logging();
    let mut connection = options.connect().await.unwrap();
    let mut sql = include_str!("../../migrations/0001.sql").to_owned();
    match newest {
        None => {
            let seal = Key::new([7; 32]).seal("proem store", b"0123456789abcdef");
            let seal: String = seal.iter().map(|byte| format!("{byte:02x}")).collect();
            sql.push_str(&format!(
                "INSERT INTO meta VALUES ('store_id', '0123456789abcdef'), ('seal', '{seal}'), ('created', '1'), \
                 ('last_seen', '0');"
            ));
        }
        Some(newest) => {
            sqlx::query("ATTACH ? AS newest")
                .bind(newest.path.to_str().unwrap())
                .execute(&mut connection)
                .await
                .unwrap();
        }
    }
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    if newest.is_some() {
        let tables = "SELECT s.name, group_concat(c.name, ', ') FROM main.sqlite_schema s, pragma_table_info(s.name, 'main') c \
                      WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%' GROUP BY s.name";
        for row in sqlx::query(tables).fetch_all(&mut connection).await.unwrap() {
            let (table, columns): (String, String) = (row.get(0), row.get(1));
            let copy = format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newest.{table}");
            sqlx::query(AssertSqlSafe(copy)).execute(&mut connection).await.unwrap();
        }
    }
    sqlx::query("PRAGMA user_version = 1").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}
