//! Finds out what is known about a folder: its repository, its rule files, what is remembered.
//!
//! Invariants: nothing of the repository is run. No file outside it is read. A rule file is approved only for exactly
//! the bytes that were read; what could not be found out is a gap. No text holds a credential that is told by its
//! shape.

mod credentials;
mod entries;
mod manifests;
pub(crate) mod rules;
pub(crate) mod task_change;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use proem_agents::assemble::place_facts::{Env, Gap, Git, PlaceFacts, RememberedEntry};
use proem_guard::Untrusted;
use proem_text::{Label, Source};

use self::manifests::OutlineOf;
use crate::{
    Environment, Error,
    files::TrustedFile,
    gaps::{gap, gap_of},
    git::{
        GitAnswers, GitLimits, GitProgram, Repository, RepositoryKind, StateLimits, discover_repository_around,
        repository_state, tracked_paths,
    },
};

/// How to gather.
#[derive(Debug, Clone)]
pub struct GatherOptions {
    /// The environment, for git and the user's configuration of it.
    pub environment: Environment,
    /// The rule files that this user approved.
    pub trusted: BTreeSet<TrustedFile>,
    /// Files that Proem wrote, with the bytes it wrote: as long as they are not committed they are no changes.
    pub set_up: BTreeSet<TrustedFile>,
    /// Bounds on the work.
    pub limits: GatherLimits,
    /// Git's answers, shared by everything that belongs to one piece of work. `None` if nothing else does.
    pub answers: Option<GitAnswers>,
}

impl GatherOptions {
    /// Nothing approved, the default limits, and nobody to share answers with.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            trusted: BTreeSet::new(),
            set_up: BTreeSet::new(),
            limits: GatherLimits::default(),
            answers: None,
        }
    }

    /// The git that is asked.
    fn git(&self) -> Result<GitProgram, Error> {
        let answers = self.answers.clone().unwrap_or_default();
        Ok(GitProgram::find(&self.environment)?.within(self.limits.git).remembering(&answers))
    }
}

/// Bounds on gathering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatherLimits {
    /// On each git that is run.
    pub git: GitLimits,
    /// Time for each of: finding the repository, what HEAD is, which files are tracked.
    pub repository_time: Duration,
    /// Time for all uncommitted changes together.
    pub changes_time: Duration,
    /// Bytes read from one git command.
    pub output_bytes: usize,
    /// Bytes kept of one rule file.
    pub rule_file_bytes: usize,
    /// Bytes read of each of `memory.jsonl` and `activity.jsonl`.
    pub entries_bytes: usize,
    /// The most changed paths that are kept, untracked ones among them.
    pub paths: usize,
}

impl GatherLimits {
    /// They with other bounds on git.
    #[must_use]
    pub const fn with_git(self, git: GitLimits) -> Self {
        Self { git, repository_time: git.question, changes_time: git.question, ..self }
    }
}

impl Default for GatherLimits {
    /// A question's time each, 32 MiB of output, 256 KiB of rules, 4 MiB of entries, 200 paths.
    fn default() -> Self {
        let usual = GitLimits::default();
        Self {
            git: usual,
            repository_time: usual.question,
            changes_time: usual.question,
            output_bytes: 32 * 1024 * 1024,
            rule_file_bytes: 256 * 1024,
            entries_bytes: 4 * 1024 * 1024,
            paths: 200,
        }
    }
}

/// Finds out what is known about `folder`, which may be anywhere in a repository or outside one.
///
/// Rule files and entries are those of the repository's root. Outside a repository, of `folder` itself. A bare
/// repository has none. If the root can't be found out, none are read.
///
/// # Errors
///
/// [`Error::DubiousOwnership`] if git refuses the repository for its owner. [`Error::GitMissing`] or
/// [`Error::GitTooOld`] if there is no git to ask. [`Error::Io`] if there is no such folder. Anything else that goes
/// wrong is a gap.
pub fn gather_facts(folder: &Path, options: &GatherOptions) -> Result<PlaceFacts, Error> {
    let folder = fs::canonicalize(folder).map_err(Error::io("open", folder))?;
    let git = options.git()?;
    let mut gaps = Vec::new();
    let root = match discover_repository_around(&git, &folder, options.limits.repository_time) {
        Ok(Some(repository)) => Root::Repository(Repository { set_up: options.set_up.clone(), ..repository }),
        Ok(None) => Root::Folder(folder.clone()),
        Err(error) if stops_gathering(&error) => return Err(error),
        Err(error) => {
            gaps.push(gap_of("repository, rule files and memories", &error));
            Root::Unknown
        }
    };
    let git_state = git_state(&git, &root, options, &mut gaps)?;
    let rule_files = root.files().map(|root| rules::rule_files(root, options, &mut gaps)).unwrap_or_default();
    let commands = root.files().map(|root| manifests::commands_of(root, &mut gaps)).unwrap_or_default();
    let outline_of = match &root {
        Root::Repository(Repository { place: RepositoryKind::WorkTree(root), .. }) => {
            Some(OutlineOf::Tracked(&git, root, options.limits.repository_time))
        }
        Root::Folder(root) => Some(OutlineOf::Folder(root)),
        Root::Repository(_) | Root::Unknown => None,
    };
    let outline = outline_of.map(|of| manifests::outline_of(&of, &mut gaps)).unwrap_or_default();
    let [memories, activity] = entries_of(&git, &root, options, &mut gaps);
    let cwd = folder.to_string_lossy().into_owned();
    let env = Env {
        cwd: Untrusted::new(cwd, Label::from_source(Source::named("env/cwd"))),
        os: std::env::consts::OS.to_owned(),
    };
    let mut gathered = PlaceFacts { git: git_state, env, rule_files, commands, outline, memories, activity, gaps };
    credentials::cut_credentials(&mut gathered);
    Ok(gathered)
}

/// The root of the folder's files.
enum Root {
    Repository(Repository),
    Folder(PathBuf),
    Unknown,
}

impl Root {
    fn files(&self) -> Option<&Path> {
        match self {
            Self::Repository(Repository { place: RepositoryKind::WorkTree(root), .. }) | Self::Folder(root) => {
                Some(root)
            }
            Self::Repository(_) | Self::Unknown => None,
        }
    }
}

/// Whether nothing useful can be said after `error`.
const fn stops_gathering(error: &Error) -> bool {
    matches!(error, Error::DubiousOwnership { .. } | Error::GitMissing | Error::GitTooOld | Error::NotRegular { .. })
}

fn git_state(
    git: &GitProgram,
    root: &Root,
    options: &GatherOptions,
    gaps: &mut Vec<Gap>,
) -> Result<Option<Git>, Error> {
    let Root::Repository(repository) = root else { return Ok(None) };
    let limits = StateLimits {
        head: options.limits.repository_time,
        changes: options.limits.changes_time,
        bytes: options.limits.output_bytes,
        paths: options.limits.paths,
    };
    match repository_state(git, repository, &limits) {
        Ok(state) => {
            gaps.extend(state.gaps);
            Ok(Some(state.git))
        }
        Err(error) if stops_gathering(&error) => Err(error),
        Err(error) => {
            gaps.push(gap_of("state of the repository", &error));
            Ok(None)
        }
    }
}

/// Memories and activity, unless they came with the repository.
fn entries_of(
    git: &GitProgram,
    root: &Root,
    options: &GatherOptions,
    gaps: &mut Vec<Gap>,
) -> [Vec<RememberedEntry>; 2] {
    let Some(folder) = root.files() else { return [Vec::new(), Vec::new()] };
    let files = entries::FILES;
    // Git is not asked where there is nothing to read. All of the files are below this folder.
    if fs::symlink_metadata(folder.join(".proem")).is_err() {
        return [Vec::new(), Vec::new()];
    }
    let shipped = match root {
        Root::Repository(_) => tracked_paths(git, folder, &files.map(|file| file.path), options.limits.repository_time),
        _ => Ok(vec![false; files.len()]),
    };
    let shipped = match shipped {
        Ok(shipped) => shipped,
        Err(error) => {
            gaps.push(gap_of("memories and activity", &error));
            return [Vec::new(), Vec::new()];
        }
    };
    let mut shipped = shipped.into_iter();
    files.map(|file| {
        if shipped.next() == Some(false) {
            return entries::read_entries(folder, file, options.limits.entries_bytes, gaps);
        }
        let why = "it is tracked by git, so anybody may have written it, and it is ignored; untrack it, and add its \
                   folder to `.gitignore`";
        gaps.push(gap(file.path, why));
        Vec::new()
    })
}
