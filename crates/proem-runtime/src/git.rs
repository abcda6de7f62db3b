//! Runs git as a child process, safely for a repository that somebody else made.
//!
//! Every feature through which a hostile repository could make git run something is switched off for every command:
//! hooks, the file system monitor, external diffs and text conversion, the pager, fetching of missing objects,
//! transports, recursion into submodules (which have configurations of their own), and the filters of the repository's
//! own configuration. The user's own configuration stays in force. `safe.directory` is never set: only the user decides
//! whom to trust.
//!
//! Features that could falsify history are switched off too: replacements, grafts and the commit graph, which is a copy
//! of parents and dates that nobody checks. Objects themselves are taken as they are stored, as git takes them. `git
//! fsck` checks those.
//!
//! The exit code is always looked at, output is capped, and every command has a deadline.

mod answers;
pub(crate) mod by_hand;
mod commit_tree;
mod discover;
mod file_listing;
pub(crate) mod filters;
mod limits;
mod numstat;
mod set_up;
mod settings;
pub(crate) mod special;
mod state;
pub(crate) mod status;
mod tracking;

use std::{
    ffi::{OsStr, OsString},
    ops::ControlFlow,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use proem_guard::Untrusted;
use proem_risk::history::ObjectId;
use proem_text::{Label, Source};

use crate::{
    Environment, Error, Extent,
    process::{self, ChildBounds, ChildFailure, Deadline},
};

pub use answers::GitAnswers;
pub(crate) use commit_tree::committed_bytes;
pub use commit_tree::committed_file;
pub use discover::{Repository, RepositoryKind, discover_repository_around};
pub(crate) use file_listing::{INDEX_ENTRIES, UNTRACKED_PATHS};
pub use file_listing::{TrackedKind, count_untracked_below, tracked_below};
pub use limits::GitLimits;
pub use numstat::{NumstatEntry, NumstatListing, parse_numstat};
pub(crate) use set_up::SetUp;
pub(crate) use state::{HEAD_COMMIT, STATUS};
pub use state::{RepositoryState, StateLimits, repository_state};
pub use status::{StatusEntry, StatusKind, StatusListing, Upstream, parse_status};
pub use tracking::tracked_paths;

/// Settings that outrank every configuration file.
///
/// Packs are mapped piece by piece, and few of what deltas are made from is kept: a repository decides how large
/// its packs are, not how much of them is in memory. No mailmap of the work tree's is read.
///
/// `protocol.allow` alone would not do, a repository can allow a single protocol:
/// `GIT_ALLOW_PROTOCOL` below is what no configuration outranks. Files above
/// `core.bigFileThreshold` count as binary, so that no diff loads them.
const SETTINGS: [&str; 20] = [
    "core.commitGraph=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.bigFileThreshold=32m",
    "core.deltaBaseCacheLimit=64m",
    "core.packedGitLimit=256m",
    "core.packedGitWindowSize=32m",
    "credential.helper=",
    "diff.autoRefreshIndex=false",
    "diff.renames=true",
    "diff.renameLimit=400",
    "log.mailmap=false",
    "log.showRoot=true",
    "log.showSignature=false",
    "protocol.allow=never",
    "status.renames=true",
    "status.renameLimit=400",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
];

/// Variables that every command gets.
const VARIABLES: [(&str, &str); 8] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// The most that one command may stream, in bytes: several times the log of the largest public histories.
const STREAM: usize = 16 << 30;

/// The time that git may be silent before the cause is looked for. It is found within another five seconds
/// ([`special::waited_for`]).
const SILENCE: Duration = Duration::from_secs(1);

/// How much of what git said in an error is kept, in characters.
const SAID: usize = 400;

/// The git of this machine, and the environment it runs in.
#[derive(Debug, Clone)]
pub struct GitProgram {
    path: PathBuf,
    environment: Environment,
    limits: GitLimits,
    /// Its earlier answers. `None` if it is asked each time.
    answers: Option<GitAnswers>,
}

impl GitProgram {
    /// Finds git on the `PATH` of `environment`.
    ///
    /// # Errors
    ///
    /// [`Error::GitMissing`] if no absolute folder of `PATH` has an executable file of that name.
    pub fn find(environment: &Environment) -> Result<Self, Error> {
        let path = environment.candidates("git").into_iter().find(|path| is_executable(path));
        Ok(Self {
            path: path.ok_or(Error::GitMissing)?,
            environment: environment.clone(),
            limits: GitLimits::default(),
            answers: None,
        })
    }

    /// It within other limits.
    #[must_use]
    pub const fn within(mut self, limits: GitLimits) -> Self {
        self.limits = limits;
        self
    }

    /// It with what it answered to others that do the same piece of work, and what it answers them from now on.
    #[must_use]
    pub fn remembering(mut self, answers: &GitAnswers) -> Self {
        self.answers = Some(answers.clone());
        self
    }

    /// The executable that is run.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The limits of each that is run.
    #[must_use]
    pub const fn limits(&self) -> GitLimits {
        self.limits
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Commands run in one folder, within one deadline.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    program: &'a GitProgram,
    folder: &'a Path,
    deadline: Deadline,
    /// The most bytes of an answer that is held as a whole.
    cap: usize,
    /// Configuration by key, handed over in the environment: a key may hold any character there.
    overrides: Vec<(OsString, OsString)>,
    /// The tree whose attributes hold, in place of those of the work tree. Git 2.41 or later heeds it.
    attributes: Option<&'static str>,
}

/// How long the ids of a repository are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdLength {
    /// 20 bytes: SHA-1.
    Short,
    /// 32 bytes: SHA-256.
    Long,
}

impl IdLength {
    /// The length of an id.
    pub(crate) fn of(id: &ObjectId) -> Self {
        if id.as_bytes().len() > 20 { Self::Long } else { Self::Short }
    }

    /// The id of the empty tree, which every git knows.
    pub(crate) const fn empty_tree(self) -> &'static str {
        match self {
            Self::Short => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Long => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }
}

/// The output of a command, with an exit code that its caller accepts.
#[derive(Debug)]
pub(crate) struct GitOutput {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) extent: Extent,
}

impl<'a> Session<'a> {
    pub(crate) const fn new(program: &'a GitProgram, folder: &'a Path, deadline: Deadline, cap: usize) -> Self {
        Self { program, folder, deadline, cap, overrides: Vec::new(), attributes: None }
    }

    /// It without the attributes of any file of the repository, which could call sources binary.
    pub(crate) const fn without_attributes(mut self, ids: IdLength) -> Self {
        self.attributes = Some(ids.empty_tree());
        self
    }

    /// Another in the same folder, which nothing was taken out of force for.
    pub(crate) fn without_overrides(&self) -> Self {
        Self::new(self.program, self.folder, self.deadline, self.cap)
    }

    /// How long the ids of this repository are.
    pub(crate) fn id_length(&self) -> Result<IdLength, Error> {
        let answer = self.ask_whole(&["rev-parse", "--show-object-format"], &[0])?;
        match answer.stdout.trim_ascii() {
            b"sha1" => Ok(IdLength::Short),
            b"sha256" => Ok(IdLength::Long),
            _ => Err(Error::GitAnswer { command: "rev-parse" }),
        }
    }

    /// Runs the command whose name and arguments are `args`. Any exit code but those in `accepted` is an error.
    pub(crate) fn ask(&self, args: &[&'static str], accepted: &[i32]) -> Result<GitOutput, Error> {
        match &self.program.answers {
            Some(answers) => answers.or_ask(self, args, accepted, || self.ask_now(args, accepted)),
            None => self.ask_now(args, accepted),
        }
    }

    fn ask_now(&self, args: &[&'static str], accepted: &[i32]) -> Result<GitOutput, Error> {
        let name = args.first().copied().unwrap_or_default();
        let finished = process::run_child(&mut self.command(args), &self.bounds(&|| self.is_stuck()), self.cap);
        let finished = finished.map_err(|failure| self.explain(name, failure))?;
        match (finished.extent, finished.code) {
            (Extent::Cut, _) => Ok(GitOutput { code: 0, stdout: finished.stdout, extent: Extent::Cut }),
            (Extent::Whole, Some(code)) if accepted.contains(&code) => {
                Ok(GitOutput { code, stdout: finished.stdout, extent: Extent::Whole })
            }
            _ => Err(self.refused(name, &finished.stderr, finished.code)),
        }
    }

    /// Like [`Self::ask`], for answers that are of no use in part.
    pub(crate) fn ask_whole(&self, args: &[&'static str], accepted: &[i32]) -> Result<GitOutput, Error> {
        let answer = self.ask(args, accepted)?;
        match answer.extent {
            Extent::Whole => Ok(answer),
            Extent::Cut => {
                Err(Error::TooMuchOutput { command: args.first().copied().unwrap_or_default(), cap: self.cap })
            }
        }
    }

    /// Like [`Self::ask`], with arguments of the caller's behind `args`.
    pub(crate) fn ask_about(&self, args: &[&'static str], more: &[&str], accepted: &[i32]) -> Result<GitOutput, Error> {
        let name = args.first().copied().unwrap_or_default();
        let mut command = self.command(args);
        let finished = process::run_child(command.args(more), &self.bounds(&|| self.is_stuck()), self.cap);
        let finished = finished.map_err(|failure| self.explain(name, failure))?;
        match (finished.extent, finished.code) {
            (Extent::Cut, _) => Err(Error::TooMuchOutput { command: name, cap: self.cap }),
            (Extent::Whole, Some(code)) if accepted.contains(&code) => {
                Ok(GitOutput { code, stdout: finished.stdout, extent: Extent::Whole })
            }
            _ => Err(self.refused(name, &finished.stderr, finished.code)),
        }
    }

    /// Runs a command with `input` and hands its output to `take` while it runs. Any exit code but 0 is an error, so
    /// that a part of an answer is never taken for the whole. An error of `take` ends the command.
    pub(crate) fn stream(
        &self,
        args: &[&'static str],
        more: &[&str],
        input: Vec<u8>,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let name = args.first().copied().unwrap_or_default();
        let (mut taken, mut trouble) = (0_usize, None);
        let mut take = |piece: &[u8]| {
            taken = taken.saturating_add(piece.len());
            let result =
                if taken > STREAM { Err(Error::TooMuchOutput { command: name, cap: STREAM }) } else { take(piece) };
            trouble = result.err();
            if trouble.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut command = self.command(args);
        let streamed = process::stream_child(command.args(more), input, &self.bounds(&|| self.is_stuck()), &mut take);
        let streamed = streamed.map_err(|failure| self.explain(name, failure))?;
        match (trouble, streamed.extent, streamed.code) {
            (Some(trouble), ..) => Err(trouble),
            (None, Extent::Whole, Some(0)) => Ok(()),
            (None, _, code) => Err(self.refused(name, &streamed.stderr, code)),
        }
    }

    /// The whole answer of a command to `input`.
    pub(crate) fn answer(&self, args: &[&'static str], more: &[&str], input: Vec<u8>) -> Result<Vec<u8>, Error> {
        let mut answer = Vec::new();
        self.stream(args, more, input, &mut |piece| {
            answer.extend_from_slice(piece);
            let command = args.first().copied().unwrap_or_default();
            if answer.len() > self.cap { Err(Error::TooMuchOutput { command, cap: self.cap }) } else { Ok(()) }
        })?;
        Ok(answer)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program.path);
        command.current_dir(self.folder).env_clear().envs(self.program.environment.for_git()).envs(VARIABLES);
        command.env("GIT_CONFIG_COUNT", self.overrides.len().to_string());
        for (n, (key, value)) in self.overrides.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        command.envs(self.attributes.map(|tree| ("GIT_ATTR_SOURCE", tree)));
        command.args(["--no-optional-locks", "--no-pager"]);
        for setting in SETTINGS {
            command.args([OsStr::new("-c"), OsStr::new(setting)]);
        }
        command.args(args);
        command
    }

    fn bounds<'s>(&self, silent: &'s dyn Fn() -> ControlFlow<()>) -> ChildBounds<'s> {
        let GitLimits { memory, question, .. } = self.program.limits;
        ChildBounds { deadline: self.deadline, memory, silence: question.min(SILENCE), silent }
    }

    /// Whether git waits for something that never comes.
    fn is_stuck(&self) -> ControlFlow<()> {
        special::waited_for(self.folder, &self.program.environment)
            .map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
    }

    fn explain(&self, command: &'static str, failure: ChildFailure) -> Error {
        match failure {
            ChildFailure::TimedOut => {
                let found = special::waited_for(self.folder, &self.program.environment);
                found.unwrap_or(Error::TimedOut { command, limit: self.deadline.limit() })
            }
            ChildFailure::Io(source) => Error::Io { doing: "run", path: self.program.path.clone(), source },
        }
    }

    fn refused(&self, command: &'static str, stderr: &[u8], code: Option<i32>) -> Error {
        let said = String::from_utf8_lossy(stderr);
        if let Some(path) = dubious(&said) {
            return Error::DubiousOwnership { path };
        }
        // Nothing is damaged where a clone left objects behind on purpose. git says it in several sentences. The
        // configuration is what tells, so its own failure is not asked about.
        if command != "config" && is_missing(&said) && filters::is_partial(self).unwrap_or(false) {
            return Error::NotFetched { command };
        }
        // Advice about settings of ours hides what went wrong.
        let said: Vec<&str> = said.lines().filter(|line| !line.starts_with("hint:")).collect();
        let said = said.join("\n").chars().take(SAID).collect();
        let label = Label::from_source(Source::named("git/error"));
        Error::GitFailed { command, code, said: Untrusted::new(said, label) }
    }
}

/// Whether git says that an object is not here.
fn is_missing(said: &str) -> bool {
    [
        "unable to read tree",
        "could not fetch",
        "lazy fetching disabled",
        "bad tree object",
        "not a tree object",
        "missing",
    ]
    .iter()
    .any(|phrase| said.contains(phrase))
}

/// The repository that git refuses for its owner, if that is what `said` says.
fn dubious(said: &str) -> Option<PathBuf> {
    let (_, rest) = said.split_once("detected dubious ownership in repository at '")?;
    let path = rest.split_once("'\n").map_or(rest, |(path, _)| path);
    Some(PathBuf::from(path))
}

impl Repository {
    /// The folder for commands that read commits: the root of the work tree, or the git folder of a bare repository.
    pub(crate) fn folder(&self) -> &Path {
        match &self.place {
            RepositoryKind::WorkTree(root) => root,
            RepositoryKind::Bare => &self.common_dir,
        }
    }

    /// The root of its work tree, if it has one.
    pub(crate) fn root(&self) -> Option<&Path> {
        match &self.place {
            RepositoryKind::WorkTree(root) => Some(root),
            RepositoryKind::Bare => None,
        }
    }

    /// The files that Proem wrote into its work tree.
    pub(crate) fn set_up(&self) -> SetUp<'_> {
        SetUp::new(self.folder(), &self.set_up)
    }
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

    #[test]
    fn an_object_that_is_not_here_is_told_from_damage() {
        for (said, expected) in [
            ("fatal: unable to read tree (ab32b9469c8332a4c3690cab70f129c724f4a138)", true),
            ("fatal: lazy fetching disabled; some objects may not be available", true),
            ("fatal: could not fetch ab32b946 from promisor remote", true),
            ("fatal: loose object ab32b946 is corrupt", false),
        ] {
            assert_eq!(is_missing(said), expected, "{said}");
        }
    }
}
