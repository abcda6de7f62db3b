//! The past of a repository beside its files: what is ranked, and which commits it knows.
//!
//! Invariant: how many commits are read of a history that is not kept is bounded, so that what is known of it depends on
//! the history and on whether it is kept, never on a clock.

use std::collections::BTreeMap;
use std::path::Path;

use proem_risk::change::FileStatus;
use proem_risk::history::{CommitIndex, History, ObjectId, PersonId, Touch};
use proem_risk::identity::Mailmap;
use proem_risk::path::RepoPath;
use proem_select::context::words::distinct_words;
use proem_select::context::{Corpus, CorpusCommit, CorpusFile, FilePurpose, MOST_TOUCHED};

use super::ContextTree;
use crate::Error;
use crate::change::git_user;
use crate::git::{GitProgram, HEAD_COMMIT, Repository, Session};
pub use crate::history::PastExtent;
use crate::history::{HistoryWanted, read_repository_history};
use crate::parallel::{join_thread, map_on_all};
use crate::process::Deadline;

/// The most commits that are looked at: what is older says little of what is changed next.
const MOST_COMMITS: u32 = 8_000;

/// The most of them that are read at once where none are kept: git writes about 5,000 a second.
const MOST_NEW_COMMITS: u32 = 2_000;

impl ContextTree {
    /// The tree with the commits before and at the past's tip, to be ranked.
    #[must_use]
    pub fn corpus<'t>(&'t self, past: Option<CorpusPast<'t>>) -> ContextCorpus<'t> {
        let files = self.files.iter().map(|file| CorpusFile {
            path: &file.path,
            used_for: match &file.record {
                // A generated file is changed at its source.
                Some(record) if record.is_machine_made() && file.used_for == FilePurpose::Code => FilePurpose::Foreign,
                _ => file.used_for,
            },
            record: file.record.as_ref(),
            changed: file.changed,
        });
        let corpus = Corpus { files: files.collect(), ..Corpus::default() };
        let mut corpus = ContextCorpus { corpus, ids: Vec::new() };
        let Some(CorpusPast { history, tip, asker }) = past else { return corpus };
        let past = history.past(tip);
        let mut places = FilePlaces::default();
        let known = map_on_all(&self.files, |file| past.file(&RepoPath::new(file.raw_path.clone())));
        for (place, id) in (0_u32..).zip(known) {
            if let Some(id) = id {
                places.insert(id.0, place);
            }
        }
        let most = usize::try_from(MOST_COMMITS).unwrap_or(usize::MAX);
        let commits: Vec<CommitIndex> = past.commits().take(most).map(|(index, _)| index).collect();
        let subjects = map_on_all(&commits, |index| distinct_words(history.subject(*index)));
        for (index, terms) in commits.into_iter().zip(subjects) {
            let touches = history.touches(index);
            follow_moves(history, touches, &mut places);
            if touches.len() > MOST_TOUCHED {
                continue;
            }
            let mut files: Vec<u32> = touches.iter().filter_map(|touch| places.get(touch.file.0)).collect();
            files.sort_unstable();
            files.dedup();
            if !files.is_empty() {
                let author = history.commit(index).map(|commit| commit.author);
                let is_own = asker.is_some() && author == asker;
                let subject = history.subject(index);
                corpus.corpus.commits.push(CorpusCommit { subject, terms, files, is_own });
                corpus.ids.push(index);
            }
        }
        corpus
    }
}

/// Lets what is known of a file that a commit added speak for the one of the same name that it deleted: git's exact
/// renames are one file already, but a file that moves to another package usually changes on the way.
fn follow_moves(history: &History, touches: &[Touch], places: &mut FilePlaces) {
    let is = |status: FileStatus| touches.iter().filter(move |touch| touch.status == status);
    if is(FileStatus::Added).next().is_none() || is(FileStatus::Deleted).next().is_none() {
        return;
    }
    let name = |touch: &Touch| {
        let path = history.path(touch.path).as_bytes();
        path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_vec()
    };
    // A name that comes or goes twice says nothing.
    let once = |status: FileStatus| {
        let mut found: BTreeMap<Vec<u8>, Option<u32>> = BTreeMap::new();
        for touch in is(status) {
            found.entry(name(touch)).and_modify(|file| *file = None).or_insert(Some(touch.file.0));
        }
        found
    };
    let deleted = once(FileStatus::Deleted);
    for (name, added) in once(FileStatus::Added) {
        let from = deleted.get(&name).copied().flatten();
        let Some((added, from)) = added.zip(from) else { continue };
        if let Some(place) = places.get(added)
            && places.get(from).is_none()
        {
            places.insert(from, place);
        }
    }
}

/// The places of a history's files in the tree: a list, for their numbers are those of a list.
#[derive(Debug, Default)]
struct FilePlaces(Vec<Option<u32>>);

impl FilePlaces {
    fn get(&self, file: u32) -> Option<u32> {
        self.0.get(usize::try_from(file).ok()?).copied().flatten()
    }

    fn insert(&mut self, file: u32, place: u32) {
        let Ok(file) = usize::try_from(file) else { return };
        if self.0.len() <= file {
            self.0.resize(file.saturating_add(1), None);
        }
        if let Some(slot) = self.0.get_mut(file) {
            *slot = Some(place);
        }
    }
}

/// The corpus to rank, with the commits that it knows.
#[derive(Debug, Clone)]
pub struct ContextCorpus<'t> {
    /// Files and commits.
    pub corpus: Corpus<'t>,
    /// The commit behind each of the corpus' commits.
    pub ids: Vec<CommitIndex>,
}

/// The past that ranking looks back on.
#[derive(Debug, Clone, Copy)]
pub struct CorpusPast<'h> {
    /// The commits.
    pub history: &'h History,
    /// The newest one that counts.
    pub tip: CommitIndex,
    /// The person who asks, if that person wrote any of them.
    pub asker: Option<PersonId>,
}

/// The past of a repository, as [`context_history`] reads it.
#[derive(Debug)]
pub struct ContextPast {
    history: History,
    tip: CommitIndex,
    asker: Option<PersonId>,
    extent: PastExtent,
}

impl ContextPast {
    /// How much of it is known.
    #[must_use]
    pub const fn extent(&self) -> PastExtent {
        self.extent
    }

    /// The commits.
    #[must_use]
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// All of it.
    #[must_use]
    pub const fn view(&self) -> CorpusPast<'_> {
        CorpusPast { history: &self.history, tip: self.tip, asker: self.asker }
    }
}

/// The past of `HEAD` as far as ranking looks back. `None` if there is no commit. The person who asks is the one whom
/// git would name as the author of a commit made here. A note gives the reason for anything unknown.
/// [`PastExtent::Newest`] reads fewer commits if none are kept.
///
/// # Errors
///
/// Git's refusals.
pub fn context_history(
    git: &GitProgram,
    repository: &Repository,
    (cache, extent): (Option<&Path>, PastExtent),
    now: i64,
    notes: &mut Vec<String>,
) -> Result<Option<ContextPast>, Error> {
    let session = Session::new(git, repository.folder(), Deadline::after(git.limits().question), 4096);
    let head = match session.ask(&HEAD_COMMIT, &[0, 1, 128]) {
        Ok(answer) => ObjectId::parse(answer.stdout.trim_ascii()),
        Err(Error::GitFailed { .. }) => None,
        Err(error) => return Err(error),
    };
    let Some(head) = head else { return Ok(None) };
    let most_unkept = match extent {
        PastExtent::Whole => MOST_COMMITS,
        PastExtent::Newest => MOST_NEW_COMMITS,
    };
    let wanted =
        HistoryWanted { tips: vec![head], most_commits: MOST_COMMITS, most_unkept, now, ..HistoryWanted::default() };
    let (reading, names) = std::thread::scope(|scope| {
        let names = scope.spawn(|| git_user(&session));
        (read_repository_history(git, repository, &wanted, cache, &|_| ()), join_thread(names))
    });
    let reading = reading?;
    notes.extend(reading.notes);
    let Some(tip) = reading.history.find(&head) else { return Ok(None) };
    let person = names.map(|(name, mail)| Mailmap::default().person(&name, &mail));
    let asker = person.and_then(|person| reading.history.person_with(&person.mail));
    Ok(Some(ContextPast { history: reading.history, tip, asker, extent: reading.extent }))
}
