//! The store on SQLite, as the laws see it, and processes that use it.

#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::path::{Path, PathBuf};

use proem_guard::InstallationKey;
use proem_store::laws::{Backend, LawSamples};
use proem_store::{OpenedStore, Store, StoreAccess, StoreOptions};
use rusqlite::Connection;

/// A file in a folder.
#[derive(Debug, Clone)]
pub(crate) struct Sqlite {
    pub(crate) path: PathBuf,
}

impl Sqlite {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { path: folder.join("state/records.db") }
    }

    pub(crate) fn opening(&self, access: StoreAccess) -> StoreOptions {
        StoreOptions {
            path: self.path.clone(),
            key: InstallationKey::new([7; 32]),
            access,
            project: LawSamples.project(),
            actor: LawSamples.actor(),
            zone: jiff::tz::TimeZone::UTC,
        }
    }

    pub(crate) async fn opened(&self, access: StoreAccess) -> OpenedStore {
        Store::open(self.opening(access)).await.unwrap()
    }

    /// The one integer that a query gives.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        self.numbers(sql).await.first().copied().unwrap()
    }

    /// A connection past the store.
    pub(crate) fn connection(&self) -> Connection {
        Connection::open(&self.path).unwrap()
    }
}

impl Backend for Sqlite {
    async fn open(&self) -> Store {
        self.opened(StoreAccess::Write).await.store
    }

    async fn numbers(&self, sql: &str) -> Vec<i64> {
        let connection = self.connection();
        let mut query = connection.prepare(sql).unwrap();
        let rows = query.query_map([], |row| Ok(row.get::<_, Option<i64>>(0)?.unwrap_or(-1))).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    async fn execute(&self, sql: &str) -> Result<(), String> {
        self.connection().execute_batch(sql).map_err(|error| error.to_string())
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

/// Starts this test program again for one of its tests, given by its module and name, on the same store.
pub(crate) fn again(test: &str, sqlite: &Sqlite) -> std::process::Command {
    again_as(&std::env::current_exe().unwrap(), test, sqlite)
}

/// The same with a copy of the program.
pub(crate) fn again_as(program: &Path, test: &str, sqlite: &Sqlite) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env("PROEM_TEST_STORE", &sqlite.path);
    command.stdin(std::process::Stdio::null());
    command
}

/// The store that this process was started for.
pub(crate) fn given() -> Option<Sqlite> {
    std::env::var_os("PROEM_TEST_STORE").map(|path| Sqlite { path: PathBuf::from(path) })
}

/// SQLite's report on the file.
pub(crate) fn integrity(sqlite: &Sqlite) -> String {
    sqlite.connection().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// Makes a store of form 1 that this installation created: empty, or with what a store of the newest form
/// keeps, as far as form 1 has a column for it.
pub(crate) fn older_store(sqlite: &Sqlite, newest: Option<&Sqlite>) {
    of_forms(sqlite, newest, &[include_str!("../../migrations/0001.sql")]);
}

/// Makes a store of an older form, by the statements of its forms.
pub(crate) fn of_forms(sqlite: &Sqlite, newest: Option<&Sqlite>, forms: &[&str]) {
    std::fs::create_dir_all(sqlite.path.parent().unwrap()).unwrap();
    let connection = sqlite.connection();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    forms.iter().for_each(|form| connection.execute_batch(form).unwrap());
    match newest {
        None => {
            let seal = InstallationKey::new([7; 32]).seal("proem store", b"0123456789abcdef");
            let seal: String = seal.iter().map(|byte| format!("{byte:02x}")).collect();
            let meta = format!(
                "INSERT INTO meta VALUES ('store_id', '0123456789abcdef'), ('seal', '{seal}'), ('created', '1'), \
                 ('last_seen', '0')"
            );
            connection.execute_batch(&meta).unwrap();
        }
        Some(newest) => copy_rows(&connection, newest),
    }
    connection.execute_batch(&format!("PRAGMA user_version = {}", forms.len())).unwrap();
}

/// Copies what another store keeps, as far as there is a column for it.
fn copy_rows(connection: &Connection, newest: &Sqlite) {
    connection.execute("ATTACH ? AS newest", [newest.path.to_str().unwrap()]).unwrap();
    let tables = "SELECT s.name, group_concat(c.name, ', ') FROM main.sqlite_schema s, pragma_table_info(s.name, 'main') c \
                  WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%' GROUP BY s.name";
    let mut query = connection.prepare(tables).unwrap();
    let tables = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let tables: Vec<(String, String)> = tables.collect::<rusqlite::Result<_>>().unwrap();
    for (table, columns) in tables {
        let copy = format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newest.{table}");
        connection.execute_batch(&copy).unwrap();
    }
}
