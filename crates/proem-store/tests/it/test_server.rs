//! A server of PostgreSQL's that a test program starts for itself.

#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock};

/// A server of this program's own: in a folder that it may lose, and on no port.
#[derive(Debug)]
pub(crate) struct TestServer {
    /// The folder of its socket.
    pub(crate) folder: PathBuf,
    /// The server ends when this closes, which it does however the program ends.
    _life: Mutex<ChildStdin>,
}

/// Starts a server, in which the role `locked` needs a password, says `ready`, and ends it when nobody holds the input any
/// more. With a second folder it is the copy of the server there: a standby, or one that recovered what was written until
/// now (`recovery`). PostgreSQL refuses to run as root.
const SCRIPT: &str = r#"
trap '' INT TERM
cd "$1"
as() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
if [ "$(id -u)" = 0 ]; then chown postgres . || exit 1; fi
if [ -n "$2" ]; then
    as pg_basebackup -D data -h "$2" -U postgres -R -X stream -c fast --no-sync >log 2>&1 || exit 1
    if [ "$3" = recovery ]; then
        as mv data/standby.signal data/recovery.signal || exit 1
        echo "restore_command = 'false'" >>data/postgresql.conf || exit 1
        echo "primary_conninfo = ''" >>data/postgresql.auto.conf || exit 1
    fi
else
    as initdb -D data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >log 2>&1 || exit 1
    sed -i "1i local all locked scram-sha-256" data/pg_hba.conf || exit 1
fi
as pg_ctl -D data -w -l "$1/server.log" -o "-k $1 -c listen_addresses= -c fsync=off -c max_connections=400" start >>log 2>&1 || exit 1
echo ready
cat >/dev/null
as pg_ctl -D data -m immediate stop >>log 2>&1
rm -rf "$1"
"#;

/// The server of this program, if the machine has one to start. The reason if not.
pub(crate) fn test_server() -> Result<&'static TestServer, &'static str> {
    static SERVER: OnceLock<Result<TestServer, String>> = OnceLock::new();
    SERVER.get_or_init(start_server).as_ref().map_err(String::as_str)
}

/// The folders that programs are looked for in: Debian keeps those of a server beside its version.
pub(crate) fn search_path() -> String {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = debian.map(|version| version.path().join("bin").display().to_string());
    let usual = std::env::var("PATH").unwrap_or_default();
    debian.fold(usual, |path, folder| format!("{path}:{folder}"))
}

fn start_server() -> Result<TestServer, String> {
    let found = Command::new("initdb").arg("--version").env("PATH", search_path()).output();
    if !found.is_ok_and(|found| found.status.success()) {
        return Err("PostgreSQL is not installed".to_owned());
    }
    start_somewhere(&[])
}

/// Starts a server wherever its user may go, with these further arguments of the script.
pub(crate) fn start_somewhere(arguments: &[&OsStr]) -> Result<TestServer, String> {
    // The server's user may not enter the folder for temporary files of the user who tests.
    let places = [std::env::temp_dir(), PathBuf::from("/var/tmp")];
    let mut reason = String::new();
    for place in places {
        match start_in(&place, arguments) {
            Ok(server) => return Ok(server),
            Err(why) => reason = why,
        }
    }
    Err(reason)
}

#[expect(clippy::zombie_processes, reason = "the script lives as long as the test program, which ends it by its input")]
fn start_in(place: &Path, arguments: &[&OsStr]) -> Result<TestServer, String> {
    let folder = tempfile::Builder::new().prefix("proem-pg-").tempdir_in(place).map_err(|error| error.to_string())?;
    let folder = folder.keep();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut script = Command::new("sh");
    script.args(["-c", SCRIPT, "sh"]).arg(&folder).args(arguments).env("PATH", search_path()).current_dir(&folder);
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (life, said) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line).unwrap();
    if line.trim() == "ready" {
        return Ok(TestServer { folder, _life: Mutex::new(life) });
    }
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let _ = fs::remove_dir_all(&folder);
    Err(format!("a server does not start here: {}", log.lines().last().unwrap_or("no reason is given")))
}

impl TestServer {
    /// Runs statements in a database. Rows are lines of what they print.
    pub(crate) fn run(&self, database: &str, sql: &str) -> Result<String, String> {
        run_statements(&self.folder, database, sql)
    }
}

/// Runs statements in a database of the server whose socket is in a folder. Rows are lines of what they print.
pub(crate) fn run_statements(socket: &Path, database: &str, sql: &str) -> Result<String, String> {
    let mut client = Command::new("psql");
    client.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-P", "null=-1", "-U", "postgres", "-d", database, "-c", sql]);
    client.arg("-h").arg(socket).env("PATH", search_path());
    client.env("PGOPTIONS", "-c search_path=proem,pg_catalog").stdin(Stdio::null());
    let done = client.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
}
