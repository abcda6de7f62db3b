//! The store on PostgreSQL, as the laws see it, on a server that this program starts for itself.

#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use proem_guard::InstallationKey;
use proem_store::laws::{Backend, LawSamples};
use proem_store::{DatabaseAddress, OpenedStore, Store, StoreAccess, StoreOptions};

use crate::skipped::skip;

/// A server of this program's own: in a folder that it may lose, and on no port.
#[derive(Debug)]
struct Server {
    folder: PathBuf,
    /// The server ends when this closes, which it does however the program ends.
    _life: Mutex<ChildStdin>,
}

/// Starts a server, says `ready`, and ends it when nobody holds the input any more. PostgreSQL refuses to run as root.
const SCRIPT: &str = r#"
trap '' INT TERM
cd "$1"
as() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
if [ "$(id -u)" = 0 ]; then chown postgres . || exit 1; fi
as initdb -D data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >log 2>&1 || exit 1
as pg_ctl -D data -w -l "$1/server.log" -o "-k $1 -c listen_addresses= -c fsync=off -c max_connections=400" start >>log 2>&1 || exit 1
echo ready
cat >/dev/null
as pg_ctl -D data -m immediate stop >>log 2>&1
rm -rf "$1"
"#;

/// The server of this program, if the machine has one to start. The reason if not.
fn server() -> Result<&'static Server, &'static str> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    SERVER.get_or_init(start).as_ref().map_err(String::as_str)
}

/// The folders that programs are looked for in: Debian keeps those of a server beside its version.
fn search_path() -> String {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = debian.map(|version| version.path().join("bin").display().to_string());
    let usual = std::env::var("PATH").unwrap_or_default();
    debian.fold(usual, |path, folder| format!("{path}:{folder}"))
}

fn start() -> Result<Server, String> {
    let found = Command::new("initdb").arg("--version").env("PATH", search_path()).output();
    if !found.is_ok_and(|found| found.status.success()) {
        return Err("PostgreSQL is not installed".to_owned());
    }
    // The server's user may not enter the folder for temporary files of the user who tests.
    let places = [std::env::temp_dir(), PathBuf::from("/var/tmp")];
    let mut reason = String::new();
    for place in places {
        match start_in(&place) {
            Ok(server) => return Ok(server),
            Err(why) => reason = why,
        }
    }
    Err(reason)
}

#[expect(clippy::zombie_processes, reason = "the script lives as long as the test program, which ends it by its input")]
fn start_in(place: &Path) -> Result<Server, String> {
    let folder = tempfile::Builder::new().prefix("proem-pg-").tempdir_in(place).map_err(|error| error.to_string())?;
    let folder = folder.keep();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut script = Command::new("sh");
    script.args(["-c", SCRIPT, "sh"]).arg(&folder).env("PATH", search_path()).current_dir(&folder);
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (life, said) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line).unwrap();
    if line.trim() == "ready" {
        return Ok(Server { folder, _life: Mutex::new(life) });
    }
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let _ = fs::remove_dir_all(&folder);
    Err(format!("a server does not start here: {}", log.lines().last().unwrap_or("no reason is given")))
}

/// A database, and a folder for this machine's files about it.
#[derive(Debug, Clone)]
pub(crate) struct Postgres {
    pub(crate) path: PathBuf,
    socket: PathBuf,
    name: String,
}

impl Postgres {
    /// A new database. `None`, said aloud, if there is no server to start.
    pub(crate) fn new(folder: &Path) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = match server() {
            Ok(server) => server,
            Err(why) => {
                skip("postgresql", why);
                return None;
            }
        };
        let name = format!("records{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let postgres = Self { path: folder.join("state/records.db"), socket: server.folder.clone(), name };
        postgres.run_in("postgres", &format!("CREATE DATABASE {}", postgres.name)).unwrap();
        Some(postgres)
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres:///{}?host={}&user=postgres", self.name, self.socket.display())
    }

    /// A database by its address, as another process is given it.
    pub(crate) fn at_address(text: &str) -> Self {
        let (name, rest) = text.strip_prefix("postgres:///").unwrap().split_once("?host=").unwrap();
        let (socket, path) = rest.split_once("&user=postgres ").unwrap();
        Self { path: path.into(), socket: socket.into(), name: name.to_owned() }
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
        let mut client = Command::new("psql");
        client.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-P", "null=-1", "-U", "postgres", "-d", database, "-c", sql]);
        client.arg("-h").arg(&self.socket).env("PATH", search_path());
        client.env("PGOPTIONS", "-c search_path=proem,pg_catalog").stdin(Stdio::null());
        let done = client.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
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
