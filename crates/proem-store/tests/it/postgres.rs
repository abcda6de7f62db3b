//! The store on PostgreSQL, as the laws see it.

#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use proem_guard::InstallationKey;
use proem_store::laws::{Backend, LawSamples};
use proem_store::{DatabaseAddress, OpenedStore, Store, StoreAccess, StoreOptions};

use crate::skipped::skip;
use crate::test_server::{TestServer, run_statements, search_path, start_somewhere, test_server};

/// A database, and a folder for this machine's files about it.
#[derive(Debug, Clone)]
pub(crate) struct Postgres {
    pub(crate) path: PathBuf,
    socket: PathBuf,
    name: String,
    role: &'static str,
}

/// The ways in which a server comes to be from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descent {
    /// It follows the other one, and is only read.
    Standby,
    /// It recovered what the other one had written, and is its own master.
    Recovery,
}

impl Postgres {
    /// A new database. `None`, said aloud, if there is no server to start.
    pub(crate) fn new(folder: &Path) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = match test_server() {
            Ok(server) => server,
            Err(why) => {
                skip("postgresql", why);
                return None;
            }
        };
        let name = format!("records{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let postgres =
            Self { path: folder.join("state/records.db"), socket: server.folder.clone(), name, role: "postgres" };
        server.run("postgres", &format!("CREATE DATABASE {}", postgres.name)).unwrap();
        Some(postgres)
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres:///{}?host={}&user={}", self.name, self.socket.display(), self.role)
    }

    /// A database by its address, as another process is given it.
    pub(crate) fn at_address(text: &str) -> Self {
        let (name, rest) = text.strip_prefix("postgres:///").unwrap().split_once("?host=").unwrap();
        let (socket, path) = rest.split_once("&user=postgres ").unwrap();
        Self { path: path.into(), socket: socket.into(), name: name.to_owned(), role: "postgres" }
    }

    /// The same database from another machine, which has files of its own.
    pub(crate) fn on_another_machine(&self, folder: &Path) -> Self {
        Self { path: folder.join("elsewhere/records.db"), ..self.clone() }
    }

    /// The same database, of a role that may do nothing else.
    pub(crate) fn as_owner(&self, role: &'static str) -> Self {
        self.run(&format!("CREATE ROLE {role} LOGIN; ALTER DATABASE {} OWNER TO {role}", self.name)).unwrap();
        Self { role, ..self.clone() }
    }

    /// A new database with a restored dump of this one, for the same machine.
    pub(crate) fn restore_elsewhere(&self) -> Self {
        let restored = Self { name: format!("{}_restored", self.name), ..self.clone() };
        let dump = self.path.with_extension("sql");
        let run = |program: &str, database: &str| {
            let mut client = Command::new(program);
            client.args(["-U", "postgres", "-d", database, "-f"]).arg(&dump).arg("-h").arg(&self.socket);
            let done = client.env("PATH", search_path()).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        run("pg_dump", &self.name);
        restored.run_in("postgres", &format!("CREATE DATABASE {}", restored.name)).unwrap();
        run("psql", &restored.name);
        restored
    }

    /// The same database on a copy of its server, which lives as long as what is given beside it.
    pub(crate) fn on_copied_server(&self, descent: Descent) -> (Self, TestServer) {
        let word = if descent == Descent::Recovery { "recovery" } else { "" };
        let server = start_somewhere(&[self.socket.as_os_str(), OsStr::new(word)]).unwrap();
        (Self { socket: server.folder.clone(), ..self.clone() }, server)
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

    pub(crate) async fn try_open(&self, access: StoreAccess) -> Result<OpenedStore, proem_store::Error> {
        Store::open_on_server(self.opening(access), DatabaseAddress::parse(&self.url()).unwrap()).await
    }

    /// Runs statements past the store. Rows are lines of what they print.
    pub(crate) fn run(&self, sql: &str) -> Result<String, String> {
        self.run_in(&self.name, sql)
    }

    fn run_in(&self, database: &str, sql: &str) -> Result<String, String> {
        run_statements(&self.socket, database, sql)
    }
}

impl Backend for Postgres {
    async fn open(&self) -> Store {
        self.try_open(StoreAccess::Write).await.unwrap().store
    }

    async fn numbers(&self, sql: &str) -> Vec<i64> {
        let sql = sql.replace("CAST(bytes AS TEXT)", "encode(bytes, 'escape')");
        let printed = self.run(&sql).unwrap();
        let number = |line: &str| match line {
            "t" => 1,
            "f" => 0,
            line => line.parse().unwrap(),
        };
        printed.lines().map(number).collect()
    }

    async fn execute(&self, sql: &str) -> Result<(), String> {
        self.run(sql).map(drop)
    }
}
