//! A user with a home of their own, a folder, and the binary run in it.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File, Permissions},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use rusqlite::Connection;
use tempfile::TempDir;

/// Two folders and what holds them: `home` with all that is the user's, and `repo`.
pub(crate) struct Fixture {
    pub(crate) base: PathBuf,
    pub(crate) repo: PathBuf,
    /// The binary to run: today's, unless a test names another.
    pub(crate) binary: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    _held: Held,
}

/// The lock that keeps others out of a fixture's folders.
enum Held {
    Temporary { _folder: TempDir },
    Locked { folder: PathBuf, _lock: File },
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Self::Locked { folder, .. } = self {
            _ = fs::remove_dir_all(folder);
        }
    }
}

/// How often a test that waits for a request looks whether the process that is to send it lives.
pub(crate) const BEAT: Duration = Duration::from_millis(50);

/// Sixty-four digits and a line break: the key of every fixture.
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

/// The work that plain git leaves undone in a fixture: tidying in a process of its own after each commit, and waiting
/// for the disk.
const QUICK: [&str; 4] = ["-c", "maintenance.auto=false", "-c", "core.fsync=none"];

impl Fixture {
    /// A folder that is no repository.
    pub(crate) fn folder() -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        Self::within(base, Held::Temporary { _folder: folder })
    }

    /// A folder that has the same path in every run, so that every byte that depends on it is the same. Others that
    /// want it at the same time wait.
    pub(crate) fn fixed(name: &str) -> Self {
        let all = Path::new("/tmp/proem-golden");
        DirBuilder::new().recursive(true).mode(0o700).create(all).unwrap();
        let lock = File::create(all.join(format!("{name}.lock"))).unwrap();
        lock.lock().unwrap();
        let base = all.join(name);
        _ = fs::remove_dir_all(&base);
        DirBuilder::new().mode(0o700).create(&base).unwrap();
        Self::within(base.clone(), Held::Locked { folder: base, _lock: lock })
    }

    fn within(base: PathBuf, held: Held) -> Self {
        let repo = base.join("repo");
        for folder in ["home", "config", "state", "cache", "repo"] {
            DirBuilder::new().mode(0o700).create(base.join(folder)).unwrap();
        }
        fs::write(base.join("key"), KEY).unwrap();
        fs::set_permissions(base.join("key"), Permissions::from_mode(0o600)).unwrap();
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_proem"));
        let mut fixture = Self { base, repo, binary, variables: BTreeMap::new(), _held: held };
        for (name, folder) in
            [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache")]
        {
            fixture.set(name, fixture.base.join(folder));
        }
        fixture.set("PROEM_KEY_FILE", fixture.base.join("key"));
        fixture.set("GIT_CONFIG_NOSYSTEM", "1");
        fixture.set("GIT_CEILING_DIRECTORIES", fixture.base.clone());
        fixture.set("PATH", std::env::var_os("PATH").unwrap());
        fixture
    }

    /// A repository without a commit, on branch `main`.
    pub(crate) fn unborn(mut self) -> Self {
        self.repo = self.base.join("repo");
        self.git(&["init", "-q", "-b", "main"]);
        self
    }

    /// A repository with one commit of a small program.
    pub(crate) fn committed(self) -> Self {
        let fixture = self.unborn();
        fixture.write("README.md", "# Clock\n\nTells the time.\n");
        fixture.write("src/main.rs", "fn main() {\n    println!(\"noon\");\n}\n");
        fixture.commit("tell the time");
        fixture
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    /// The value of a variable of the environment of every process here.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.repo.join(path), content);
    }

    /// Writes below the user's configuration, `proem` in `XDG_CONFIG_HOME`.
    pub(crate) fn configure(&self, path: &str, content: &str) {
        write(&self.base.join("config/proem").join(path), content);
    }

    /// Runs plain git in `repo`. It must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_with(args, b"")
    }

    pub(crate) fn git_with(&self, args: &[&str], stdin: &[u8]) -> String {
        let output = run(self.git_command().args(args), stdin);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The path of a program by the child's own path. A program that is looked up here can be started without a copy of
    /// this process's page tables, which a search by the child would need.
    fn program(&self, name: &str) -> PathBuf {
        let folders = std::env::split_paths(&self.variables[OsStr::new("PATH")]);
        folders
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
            .unwrap()
    }

    pub(crate) fn git_command(&self) -> Command {
        let mut command = self.command(self.program("git"));
        command.args(QUICK);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ann").env(format!("GIT_{who}_EMAIL"), "ann@example.org");
            command.env(format!("GIT_{who}_DATE"), "2024-01-01T00:00:00Z");
        }
        command
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// The state of another machine of this user: what is trusted and the keys so far, and nothing of what comes.
    pub(crate) fn machine(&self, name: &str) -> PathBuf {
        let state = self.base.join(format!("state-{name}"));
        copy_folder(&self.base.join("state"), &state);
        state
    }

    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.repo).env_clear().envs(&self.variables);
        command
    }

    /// Runs the binary in `repo`.
    pub(crate) fn proem(&self, args: &[&str]) -> Run {
        self.proem_with(args, b"")
    }

    pub(crate) fn proem_with(&self, args: &[&str], stdin: &[u8]) -> Run {
        let output = run(self.command(&self.binary).args(args), stdin);
        let base = self.base.to_str().unwrap().to_owned();
        Run { args: args.iter().map(|&arg| arg.to_owned()).collect(), base, output }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn run(command: &mut Command, stdin: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A process that doesn't read its input may be gone already.
    _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

/// The result of running the binary.
pub(crate) struct Run {
    args: Vec<String>,
    base: String,
    output: Output,
}

impl Run {
    pub(crate) fn code(&self) -> i32 {
        self.output.status.code().unwrap()
    }

    pub(crate) fn stdout(&self) -> &str {
        std::str::from_utf8(&self.output.stdout).unwrap()
    }

    pub(crate) fn stderr(&self) -> &str {
        std::str::from_utf8(&self.output.stderr).unwrap()
    }

    /// Standard output as JSON. The run must have succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code(), 0, "{:?}: {}", self.args, self.stderr());
        serde_json::from_str(self.stdout()).unwrap()
    }

    /// Standard output of a run that succeeded.
    #[track_caller]
    pub(crate) fn answer(&self) -> &str {
        assert_eq!(self.code(), 0, "{:?}: {}", self.args, self.stderr());
        self.stdout()
    }

    /// Command, exit code, standard error and, unless it is long, standard output.
    pub(crate) fn transcript(&self) -> String {
        let (stdout, stderr) = (self.redacted(self.stdout()), self.redacted(self.stderr()));
        let stdout = match stdout.lines().count() {
            0 => "nothing\n".to_owned(),
            1..=25 => stdout,
            n => format!("{n} lines\n"),
        };
        let stderr = if stderr.is_empty() { "nothing\n".to_owned() } else { stderr };
        let words: Vec<String> = self.args.iter().map(|arg| quoted_word(arg)).collect();
        let command = self.redacted(&words.join(" "));
        format!(
            "$ proem {command}\n── exit code {}\n── standard output\n{stdout}── standard error\n{stderr}",
            self.code()
        )
    }

    /// A text with the fixture's folder blanked.
    pub(crate) fn redacted(&self, text: &str) -> String {
        text.replace(&self.base, "[base]")
    }
}

/// The records, which somebody else writes into meanwhile.
pub(crate) struct Locked(Connection);

impl Locked {
    /// Holds the records of a fixture.
    pub(crate) fn of(fixture: &Fixture) -> Self {
        let other = Connection::open(fixture.base.join("state/proem/records.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(other)
    }

    /// Lets them go, unchanged.
    pub(crate) fn let_go(self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}

/// An argument as one types it.
fn quoted_word(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:=".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) { arg.to_owned() } else { format!("'{arg}'") }
}
