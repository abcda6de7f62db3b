//! The files before a change, where it deletes, renames or calls for other arguments.

use std::time::Duration;

use proem_risk::change::{Change, FileStatus};
use proem_risk::finding::{CalledFunction, ChangedFunction, functions_changed_by};
use proem_risk::history::ObjectId;
use proem_risk::metrics::kamei::counts_in_kamei;
use proem_risk::path::{PathRules, RepoPath};
use proem_risk::tree::FileTree;

use super::ground::GroundReader;
use crate::Error;
use crate::git::Session;
use crate::process::Deadline;

/// The time for all searches of callers of a change, and the most bytes of an answer.
const SEARCHES: Duration = Duration::from_secs(10);
const ANSWER: usize = 1 << 20;

/// The files before a change, as far as its findings need them.
#[derive(Debug, Default)]
pub(super) struct BeforeChange {
    /// `None` if nothing is deleted, renamed or called with other arguments.
    pub(super) tree: Option<FileTree>,
    pub(super) called: Vec<CalledFunction>,
    /// The gaps, in our words.
    pub(super) notes: Vec<String>,
}

impl BeforeChange {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// If git can't tell the attributes of the base.
    pub(super) fn read(grounds: &GroundReader, change: &Change, rules: &PathRules) -> Result<Self, Error> {
        let mut before = Self::default();
        let Some(base) = &change.base else { return Ok(before) };
        let mut files = change.files.iter().filter(|file| counts_in_kamei(file.class.role));
        let moves = files.any(|file| matches!(file.status, FileStatus::Deleted | FileStatus::Renamed));
        let functions = functions_changed_by(change);
        if moves || !functions.is_empty() {
            before.tree = grounds.base_tree(base, rules, &mut before.notes)?;
            before.find_callers(grounds, (base, change), functions);
        }
        Ok(before)
    }

    fn find_callers(
        &mut self,
        grounds: &GroundReader,
        (base, change): (&ObjectId, &Change),
        functions: Vec<ChangedFunction>,
    ) {
        let session = Session::new(&grounds.git, grounds.repository.folder(), Deadline::after(SEARCHES), ANSWER);
        for function in functions {
            let file = usize::try_from(function.file).ok().and_then(|index| change.files.get(index));
            let importers = self.tree.as_ref().zip(file).map(|(tree, file)| importers_of(tree, file.base_path()));
            // Only who imports the file calls its functions, and the contents of all others need not be read.
            let callers = match importers.as_deref() {
                Some([]) | None => Ok(Vec::new()),
                Some(importers) => files_with_word(&session, base, &function.name, importers),
            };
            match callers {
                Ok(callers) => self.called.push(CalledFunction { function, callers }),
                Err(error) => {
                    self.notes.push(format!("callers of changed functions could not be looked for: {error}"));
                    return;
                }
            }
        }
    }
}

/// The most files that are named to git. Of more, all are searched.
const NAMED: usize = 500;

/// The files that import a file of a tree.
fn importers_of(tree: &FileTree, path: &RepoPath) -> Vec<RepoPath> {
    let edges = tree.find(path).map(|index| tree.graph.importers(index)).unwrap_or_default();
    let file = |index: u32| usize::try_from(index).ok().and_then(|index| tree.files.get(index));
    edges.iter().filter_map(|edge| file(edge.file)).map(|file| file.path.clone()).collect()
}

/// The files among `within` that have a word in a commit, or all that have it if those are many.
fn files_with_word(
    session: &Session<'_>,
    commit: &ObjectId,
    word: &str,
    within: &[RepoPath],
) -> Result<Vec<RepoPath>, Error> {
    const OPTIONS: [&str; 9] = [
        "grep",
        "--files-with-matches",
        "--null",
        "--word-regexp",
        "--fixed-strings",
        "-I",
        "--full-name",
        "--no-textconv",
        "--no-recurse-submodules",
    ];
    let commit = commit.to_string();
    let literal = |path: &RepoPath| Some(format!(":(top,literal){}", std::str::from_utf8(path.as_bytes()).ok()?));
    let named = if within.len() > NAMED { None } else { within.iter().map(literal).collect::<Option<Vec<String>>>() };
    let named = named.unwrap_or_default();
    let more = ["-e", word, &commit, "--"].into_iter().chain(named.iter().map(String::as_str));
    // 1 means that no file has it.
    let answer = session.ask_about(&OPTIONS, &more.collect::<Vec<&str>>(), &[0, 1])?;
    let paths = answer.stdout.split(|&byte| byte == 0).filter_map(|line| {
        let (_, path) = line.split_at_checked(commit.len().checked_add(1)?)?;
        (!path.is_empty()).then(|| RepoPath::new(path))
    });
    Ok(paths.collect())
}
