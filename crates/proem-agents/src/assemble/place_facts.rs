//! The known facts about the place of a task, as data.
//!
//! Names and contents from the repository are [`Untrusted`]. Counts, states and object ids that code computed are not.
//! A fact that could not be found out is a [`Gap`], never a zero.

use proem_guard::Untrusted;

use super::manifest::CommandPurpose;

/// Everything that was found out about one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceFacts {
    /// The git repository around the place. `None` outside one.
    pub git: Option<Git>,
    /// The machine and folder.
    pub env: Env,
    /// The rule files at the root, `AGENTS.md` first, as far as they exist.
    pub rule_files: Vec<RuleFile>,
    /// How the repository says that it is built, tested and checked, in a stable order.
    pub commands: Vec<CommandFact>,
    /// The repository's folders with counts and languages, sorted.
    pub outline: Vec<Untrusted<String>>,
    /// Entries of `.proem/private/memory.jsonl`, as they are in the file.
    pub memories: Vec<RememberedEntry>,
    /// Entries of `.proem/private/activity.jsonl`, as they are in the file.
    pub activity: Vec<RememberedEntry>,
    /// The gaps and cuts, in the order met.
    pub gaps: Vec<Gap>,
}

/// A command that a file of the repository says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFact {
    /// One of the usual steps of a project.
    pub purpose: CommandPurpose,
    /// The command, on one line.
    pub command: Untrusted<String>,
    /// The file and line that say it: `Makefile:12`.
    pub place: Untrusted<String>,
}

/// The machine and folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Env {
    /// The folder. Its name may have been chosen by whoever made the archive or repository.
    pub cwd: Untrusted<String>,
    /// The operating system's name, as Rust's `std::env::consts::OS` has it.
    pub os: String,
}

/// The state of a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// The checked-out commit.
    pub head: GitHead,
    /// The commit that HEAD names, 40 or 64 hexadecimal digits. `None` before the first commit.
    pub commit: Option<String>,
    /// Commits that HEAD and its upstream don't share. `None` without an upstream.
    pub upstream: Option<Divergence>,
    /// The work tree. `None` in a bare repository.
    pub work_tree: Option<WorkTree>,
}

/// The checked-out commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHead {
    /// The branch of this name.
    Branch(Untrusted<String>),
    /// A commit, no branch.
    Detached,
    /// A branch without a commit.
    Unborn(Untrusted<String>),
}

/// How far HEAD and its upstream are apart, in commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divergence {
    /// Commits on HEAD only.
    pub ahead: u64,
    /// Commits on the upstream only.
    pub behind: u64,
}

/// The uncommitted state. A `None` could not be found out and has a [`Gap`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkTree {
    /// The staged changes, against HEAD.
    pub staged: Option<DiffStat>,
    /// The unstaged changes.
    pub unstaged: Option<DiffStat>,
    /// Untracked files that git doesn't ignore.
    pub untracked: Option<u64>,
    /// The changed and untracked paths, sorted by bytes. Capped, with a gap that says so.
    pub changes: Option<Vec<ChangedPath>>,
}

/// Sums over a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiffStat {
    /// Files changed.
    pub files: u64,
    /// Lines added, binary files not counted.
    pub insertions: u64,
    /// Lines removed, binary files not counted.
    pub deletions: u64,
    /// Files that have no lines to count.
    pub binary: u64,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path, relative to the repository's root, invalid UTF-8 replaced.
    pub path: Untrusted<String>,
    /// The change.
    pub status: PathStatus,
    /// Lines added and removed, staged and unstaged together. `None` where git counts none.
    pub lines: Option<(u64, u64)>,
}

/// The change of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathStatus {
    /// New in the index.
    Added,
    /// Content or mode changed.
    Modified,
    /// The file is not there any more.
    Deleted,
    /// Renamed or copied.
    Renamed,
    /// Type changed, such as a file that became a link.
    TypeChanged,
    /// In conflict: a merge left it to be resolved.
    Unmerged,
    /// Git doesn't track it, although it may.
    Untracked,
}

proem_text::word_table! {
    /// One word for prompts and reports.
    pub PathStatus {
        Added = "added",
        Modified = "modified",
        Deleted = "deleted",
        Renamed = "renamed",
        TypeChanged = "type changed",
        Unmerged = "in conflict",
        Untracked = "untracked",
    }
}

/// A file that asks to be read as rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    /// Its path below the root, `/` between folders. Somebody else may have named it: it goes into a prompt as text
    /// from outside unless the file is approved.
    pub name: String,
    /// SHA-256 of its bytes, hexadecimal.
    pub hash: String,
    /// Its text, as far as this user vouches for it.
    pub text: RuleText,
}

/// The text of a rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleText {
    /// This user trusts exactly these bytes.
    Trusted(String),
    /// Nobody did: it is context.
    Outside(Untrusted<String>),
}

/// One remembered thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedEntry {
    /// The memory.
    pub text: Untrusted<String>,
    /// Seconds since 1970-01-01T00:00:00Z, if the entry says.
    pub time: Option<i64>,
    /// The kind of entry that it claims to be.
    pub kind: Untrusted<String>,
    /// The line in its file, from 1.
    pub line: usize,
}

/// Something that could not be found out, or was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The missing fact, in our words, such as `changed files`.
    pub what: String,
    /// Why, in our words, with what to do about it.
    pub why: String,
    /// The path or text it concerns, if that came from outside.
    pub about: Option<Untrusted<String>>,
}
