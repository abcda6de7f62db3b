//! The assessed change, as a report has it.

use proem_risk::change::{Change, ChangeKind};
use proem_risk::history::ObjectId;
use schemars::JsonSchema;
use serde::Serialize;

use super::ReportSentence;

/// How many digits of an id a sentence shows.
const SHOWN_DIGITS: usize = 10;

/// The assessed change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeOut {
    /// `commit`, `range`, `staged` or `work-tree`.
    pub kind: String,
    /// The change, and its base.
    pub assessed: ReportSentence,
    /// Why this one, where the choice was left open.
    pub chosen: Option<String>,
    /// The commit that it is or ends with. Null for what is not committed.
    pub id: Option<String>,
    /// The commit that it is on. Null if it begins the history.
    pub base: Option<String>,
    /// How many commits it has; 0 for what is not committed.
    pub commits: u32,
    /// Whether it is a merge, which is compared with its first parent.
    pub merge: bool,
    /// When, in seconds since 1970.
    pub at: i64,
    /// The author's mail address, after the mailmap.
    pub author: Option<String>,
    /// The first line of its message.
    pub subject: String,
    /// How many files it has. Those of a very large change are not all listed.
    pub file_count: usize,
    /// Lines added in files whose lines are counted. Null if there are none such.
    pub lines_added: Option<u64>,
    /// Lines removed in files whose lines are counted. Null if there are none such.
    pub lines_removed: Option<u64>,
    /// Files whose lines are not counted: binary files, links, submodules, missing ones.
    pub uncounted_files: usize,
}

impl ChangeOut {
    pub(super) fn new(change: &Change, chosen: Option<String>) -> Self {
        let lines = counted_lines(change);
        let kind = match change.kind {
            ChangeKind::Commit => "commit",
            ChangeKind::Range => "range",
            ChangeKind::Staged => "staged",
            ChangeKind::WorkTree => "work-tree",
        };
        Self {
            kind: kind.to_owned(),
            assessed: assessed_sentence(change),
            chosen,
            id: change.id.map(|id| id.to_string()),
            base: change.base.map(|id| id.to_string()),
            commits: change.commits,
            merge: change.is_merge,
            at: change.at,
            author: change.author.as_ref().map(|person| person.mail.clone()),
            subject: change.subject.clone(),
            file_count: change.files.len(),
            lines_added: lines.map(|(added, _)| added),
            lines_removed: lines.map(|(_, removed)| removed),
            uncounted_files: change.files.iter().filter(|file| file.lines.is_none()).count(),
        }
    }
}

/// Lines added and removed in files whose lines are counted. `None` if no file's are, though there are files.
pub(super) fn counted_lines(change: &Change) -> Option<(u64, u64)> {
    let mut counted = change.files.iter().filter_map(|file| file.lines).peekable();
    if counted.peek().is_none() && !change.files.is_empty() {
        return None;
    }
    Some(counted.fold((0_u64, 0_u64), |(added, removed), lines| {
        (added.saturating_add(lines.added.into()), removed.saturating_add(lines.removed.into()))
    }))
}

/// A change, and its base.
fn assessed_sentence(change: &Change) -> ReportSentence {
    let short = |id: ObjectId| id.to_string().chars().take(SHOWN_DIGITS).collect::<String>();
    let id = change.id.map(short).unwrap_or_default();
    let base = change.base.map(short);
    ReportSentence::ours(match (change.kind, base) {
        (ChangeKind::Commit, Some(base)) if change.is_merge => format!("merge {id} against its first parent {base}"),
        (ChangeKind::Commit, Some(base)) => format!("commit {id} against its parent {base}"),
        (ChangeKind::Commit, None) => format!("commit {id}, the root commit"),
        (ChangeKind::Range, Some(base)) => match change.commits {
            1 => format!("1 commit up to {id} against {base}"),
            commits => format!("{commits} commits up to {id} against {base}"),
        },
        (ChangeKind::Range, None) => format!("all {} commits up to {id}", change.commits),
        (ChangeKind::Staged, Some(base)) => format!("staged changes, against HEAD {base}"),
        (ChangeKind::Staged, None) => "staged changes for the first commit".to_owned(),
        (ChangeKind::WorkTree, Some(base)) => format!("the work tree with untracked files, against HEAD {base}"),
        (ChangeKind::WorkTree, None) => "the work tree, before the first commit".to_owned(),
    })
}
