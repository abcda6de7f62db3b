//! Runs git as a child process, safely for a repository that somebody else made.
//!
//! What a hostile repository could make git run is switched off for every command: hooks, the
//! file system monitor, external diffs and text conversion, the pager, fetching of missing
//! objects, transports, recursion into submodules (which have configurations of their own), and
//! the filters of the repository's own configuration. The user's own configuration stays in
//! force. `safe.directory` is never set: whom to trust is for the user to say.
//!
//! The exit code is always looked at, output is capped, and every command has a deadline.

mod discover;
mod filters;
mod numstat;
mod state;
mod status;
mod tracked;

use std::{
    ffi::{OsStr, OsString},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use proem_guard::Untrusted;
use proem_text::{Label, Source};

use crate::{
    Environment, Error, Extent,
    process::{self, Deadline, Failure, Finished},
};

pub use discover::{Place, Repository, discover};
pub use numstat::{NumstatEntry, NumstatListing, parse_numstat};
pub use state::{State, StateLimits, state};
pub use status::{StatusEntry, StatusKind, StatusListing, Upstream, parse_status};
pub use tracked::tracked;

/// Settings that outrank every configuration file.
///
/// `protocol.allow` alone would not do, a repository can allow a single protocol:
/// `GIT_ALLOW_PROTOCOL` below is what no configuration outranks. Files above
/// `core.bigFileThreshold` count as binary, so that no diff loads them.
const SETTINGS: [&str; 14] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.bigFileThreshold=32m",
    "credential.helper=",
    "diff.autoRefreshIndex=false",
    "diff.renames=true",
    "diff.renameLimit=400",
    "log.showSignature=false",
    "protocol.allow=never",
    "status.renames=true",
    "status.renameLimit=400",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
];

/// Variables that every command gets.
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// How much of what git said in an error is kept, in characters.
const SAID: usize = 400;

/// The git of this machine, and the environment it runs in.
#[derive(Debug, Clone)]
pub struct GitProgram {
    path: PathBuf,
    environment: Environment,
}

impl GitProgram {
    /// Finds git on the `PATH` of `environment`.
    ///
    /// # Errors
    ///
    /// [`Error::GitMissing`] if no absolute folder of `PATH` has an executable file of that name.
    pub fn find(environment: &Environment) -> Result<Self, Error> {
        let path = environment.candidates("git").into_iter().find(|path| is_executable(path));
        Ok(Self { path: path.ok_or(Error::GitMissing)?, environment: environment.clone() })
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Commands run in one folder, within one deadline.
#[derive(Debug)]
struct Session<'a> {
    program: &'a GitProgram,
    folder: &'a Path,
    deadline: Deadline,
    cap: usize,
    /// Configuration by key, handed over in the environment: a key may hold any character there.
    overrides: Vec<(OsString, OsString)>,
}

/// What a command answered, with an exit code that its caller accepts.
#[derive(Debug)]
struct Answer {
    code: i32,
    stdout: Vec<u8>,
    extent: Extent,
}

impl<'a> Session<'a> {
    const fn new(program: &'a GitProgram, folder: &'a Path, deadline: Deadline, cap: usize) -> Self {
        Self { program, folder, deadline, cap, overrides: Vec::new() }
    }

    /// Runs the command whose name and arguments are `args`; any exit code but those in `accepted` is an error.
    fn ask(&self, args: &[&'static str], accepted: &[i32]) -> Result<Answer, Error> {
        let name = args.first().copied().unwrap_or_default();
        let finished = process::run(&mut self.command(args), self.deadline, self.cap);
        let finished = finished.map_err(|failure| self.explain(name, failure))?;
        match (finished.extent, finished.code) {
            (Extent::Cut, _) => Ok(Answer { code: 0, stdout: finished.stdout, extent: Extent::Cut }),
            (Extent::Whole, Some(code)) if accepted.contains(&code) => {
                Ok(Answer { code, stdout: finished.stdout, extent: Extent::Whole })
            }
            _ => Err(self.refused(name, &finished)),
        }
    }

    /// Like [`Self::ask`], for answers that are of no use in part.
    fn ask_whole(&self, args: &[&'static str], accepted: &[i32]) -> Result<Answer, Error> {
        let answer = self.ask(args, accepted)?;
        match answer.extent {
            Extent::Whole => Ok(answer),
            Extent::Cut => {
                Err(Error::TooMuchOutput { command: args.first().copied().unwrap_or_default(), cap: self.cap })
            }
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program.path);
        command.current_dir(self.folder).env_clear().envs(self.program.environment.for_git()).envs(VARIABLES);
        command.env("GIT_CONFIG_COUNT", self.overrides.len().to_string());
        for (n, (key, value)) in self.overrides.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        command.args(["--no-optional-locks", "--no-pager"]);
        for setting in SETTINGS {
            command.args([OsStr::new("-c"), OsStr::new(setting)]);
        }
        command.args(args);
        command
    }

    fn explain(&self, command: &'static str, failure: Failure) -> Error {
        match failure {
            Failure::TimedOut => Error::TimedOut { command, limit: self.deadline.limit() },
            Failure::Io(source) => Error::Io { doing: "run", path: self.program.path.clone(), source },
        }
    }

    fn refused(&self, command: &'static str, finished: &Finished) -> Error {
        let said = String::from_utf8_lossy(&finished.stderr);
        if let Some(path) = dubious(&said) {
            return Error::DubiousOwnership { path };
        }
        let said = said.chars().take(SAID).collect();
        let label = Label::from_source(Source::named("git/error"));
        Error::GitFailed { command, code: finished.code, said: Untrusted::new(said, label) }
    }
}

/// The repository that git refuses for its owner, if that is what `said` says.
fn dubious(said: &str) -> Option<PathBuf> {
    let (_, rest) = said.split_once("detected dubious ownership in repository at '")?;
    let path = rest.split_once("'\n").map_or(rest, |(path, _)| path);
    Some(PathBuf::from(path))
}

/// The path that a command printed before its final newline.
fn printed_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(OsStr::from_bytes(bytes.strip_suffix(b"\n").unwrap_or(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_refusal_of_an_owner_is_dubious() {
        let said = "fatal: detected dubious ownership in repository at '/tmp/a b'\nTo add an exception…";
        assert_eq!(dubious(said), Some(PathBuf::from("/tmp/a b")));
        assert_eq!(dubious("fatal: not a git repository"), None);
    }
}
