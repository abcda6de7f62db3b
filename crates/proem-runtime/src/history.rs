//! Reads the history of a repository, as far as its commits and the names of what they touched go.
//!
//! One `git log` tells all, without reading any file's content: `--raw -M100%` compares names and ids alone,
//! so it works in a partial clone too. Its answer is taken apart while git still writes it. A log that ends
//! early is an error, never a shorter history.
//!
//! The history is kept in a folder of the caller's, outside the repository: one file for each repository, with the
//! commit that it was read for. A later reading asks git only for commits that this one doesn't reach, and then drops
//! those that the wanted commit doesn't reach, so that the answer never depends on the kept file. A kept file that is
//! damaged or of another version is left and written anew. It holds identities, so that each mailmap finds its persons
//! in it.

mod cache;
mod fix_claims;
mod log;

use std::path::Path;

use proem_risk::history::{History, HistoryBuilder, HistoryGaps, ObjectId};
use proem_risk::identity::Mailmap;
use proem_risk::path::PathRules;

use crate::{
    Error,
    files::{FileContent, read_regular},
    git::{GitProgram, Repository, Session, filters},
    process::Deadline,
};

pub(crate) use self::cache::cache_file_name as cache_name;
use self::cache::{HistoryCache, HistoryCacheKey};
use self::log::{Log, Parents};

/// The most that other answers than the log, and the files below, may have, in bytes.
const FILE: usize = 4 << 20;

/// The most of a list of commits without parents that is read, in bytes.
const SHALLOW: usize = 64 << 20;

/// The most commits that are read unless the caller says otherwise.
const MOST: u32 = 200_000;

/// The part of the history that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryWanted {
    /// The commits whose ancestors are read. They are part of them.
    pub tips: Vec<ObjectId>,
    /// The commit whose `.mailmap` and `.git-blame-ignore-revs` hold: the base of what is assessed, never the
    /// change itself. Without it neither is read.
    pub base: Option<ObjectId>,
    /// Whether only first parents are followed. A merge represents all that it brought then, and is no merge.
    pub first_parent: bool,
    /// The beginning of the window, in seconds since 1970. `None` for all.
    pub since: Option<i64>,
    /// The most commits that are kept, newest first.
    pub most_commits: u32,
    /// The most commits that are read where none were kept. A history that this cuts is not kept.
    pub most_unkept: u32,
    /// The caller's clock, in seconds since 1970: what is dated later can't be true.
    pub now: i64,
}

impl Default for HistoryWanted {
    /// All of nothing, at the beginning of 1970.
    fn default() -> Self {
        Self {
            tips: Vec::new(),
            base: None,
            first_parent: false,
            since: None,
            most_commits: MOST,
            most_unkept: MOST,
            now: 0,
        }
    }
}

/// How much of a wanted history was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastExtent {
    /// All that is wanted.
    Whole,
    /// The newest commits alone, for none were kept.
    Newest,
}

/// A history and where it came from.
#[derive(Debug, Clone)]
pub struct HistoryReading {
    /// The history, up to the wanted commit.
    pub history: History,
    /// How many of its commits were kept from an earlier reading.
    pub cached: u32,
    /// How many were read from git.
    pub new: u32,
    /// Whether [`HistoryWanted::most_unkept`] cut it.
    pub extent: PastExtent,
    /// Notes for the caller, in our words.
    pub notes: Vec<String>,
}

/// Reads a history. `cache` is the folder that histories are kept in, which must not be the repository's;
/// without it all is read again, and so it is along first parents. `progress` hears how many commits were read
/// from git so far.
///
/// # Errors
///
/// Git's refusals. [`Error::GitAnswer`] if its log can't be understood. [`Error::History`] if the commits don't make a
/// history. [`Error::Assessment`] if the shipped rules are damaged. A problem with the cache is a note.
pub fn read_repository_history(
    git: &GitProgram,
    repository: &Repository,
    wanted: &HistoryWanted,
    cache: Option<&Path>,
    progress: &dyn Fn(u64),
) -> Result<HistoryReading, Error> {
    let session = Session::new(git, repository.folder(), Deadline::after(git.limits().history), FILE);
    let mut notes = Vec::new();
    let mut surroundings = surroundings(&session, repository, wanted.base.as_ref(), &mut notes)?;
    let key = HistoryCacheKey::of(repository, &surroundings.shallow, wanted.most_commits);
    let cache = cache.filter(|_| !wanted.first_parent).map(|folder| HistoryCache::new(folder, &key));
    let kept = cache.as_ref().and_then(|cache| cache.read(&surroundings.mailmap, &mut notes));
    // A commit that was rewritten and swept by git is missing, and git refuses to leave out an unknown commit. The
    // wanted tips are commits, or git refuses the whole.
    let is_there = |tip: &ObjectId| wanted.tips.contains(tip) || is_commit(&session, tip);
    let kept = kept.filter(|kept| kept.heads().iter().all(is_there));
    let before = kept.as_ref().map_or(0, commit_count);
    // A history that was cut stays cut: what was beyond its end is not read later either.
    surroundings.missing.capped = kept.as_ref().is_some_and(|kept| kept.missing().capped);
    // A kept history has all ancestors of its commits, so git needn't be asked for them.
    let is_kept = wanted.tips.is_empty()
        || kept.as_ref().is_some_and(|kept| wanted.tips.iter().all(|tip| kept.find(tip).is_some()));
    let kept_heads = kept.as_ref().map(History::heads).unwrap_or_default();
    let is_same = |kept: &History| {
        is_kept
            && kept_heads.iter().all(|head| wanted.tips.contains(head))
            && commit_count(kept) <= wanted.most_commits
            && kept.holds_at(wanted.now, &surroundings.ignored)
    };
    let most = if kept.is_some() { wanted.most_commits } else { wanted.most_commits.min(wanted.most_unkept) };
    let mut new = 0;
    let mut history = match kept {
        // Nothing would come of putting it together again.
        Some(kept) if is_same(&kept) => kept.with_gaps(surroundings.missing),
        kept => {
            let mut builder = HistoryBuilder::new(kept).tips(wanted.tips.clone()).most(most);
            builder = builder.mailmap(surroundings.mailmap.clone());
            if !is_kept {
                let rules = PathRules::shipped().map_err(Error::Assessment)?;
                let mut log = Log::new(builder, rules, progress);
                log.without_parents(ignored_revisions(&surroundings.shallow));
                read_log(&session, (wanted, most), &kept_heads, &mut log)?;
                (builder, new) = log.end()?;
            }
            builder.finish(wanted.now, &surroundings.ignored, surroundings.missing).map_err(Error::History)?
        }
    };
    let RepositoryFacts { ignored, mailmap, .. } = surroundings;
    let is_cut = most < wanted.most_commits && history.missing().capped;
    let extent = if is_cut { PastExtent::Newest } else { PastExtent::Whole };
    if let Some(cache) = cache.filter(|_| !is_kept && !is_cut)
        && let Err(error) = cache.write(&history)
    {
        notes.push(format!("the history could not be cached: {error}"));
    }
    // The builder drops what the wanted tips don't reach and what is beyond the most.
    let cached = before.min(commit_count(&history).saturating_sub(new));
    // After it was cached: what is kept is whole, so that a later reading may look further back.
    if let Some(since) = wanted.since {
        let missing = history.missing();
        let window = HistoryBuilder::new(Some(history)).mailmap(mailmap).since(since);
        history = window.finish(wanted.now, &ignored, missing).map_err(Error::History)?;
    }
    Ok(HistoryReading { history, cached, new, extent, notes })
}

fn commit_count(history: &History) -> u32 {
    u32::try_from(history.commits().len()).unwrap_or(u32::MAX)
}

/// The facts about a repository besides its commits.
struct RepositoryFacts {
    mailmap: Mailmap,
    /// The commits that `.git-blame-ignore-revs` names.
    ignored: Vec<ObjectId>,
    /// The list of commits whose parents are not here. Empty unless the clone is shallow.
    shallow: Vec<u8>,
    missing: HistoryGaps,
}

fn surroundings(
    session: &Session<'_>,
    repository: &Repository,
    base: Option<&ObjectId>,
    notes: &mut Vec<String>,
) -> Result<RepositoryFacts, Error> {
    let [mailmap, ignored] = [".mailmap", ".git-blame-ignore-revs"]
        .map(|name| base.map_or(Ok(Vec::new()), |base| file_at(session, base, name, notes)));
    let shallow = shallow(repository)?;
    let missing =
        HistoryGaps { shallow: !shallow.is_empty(), partial: filters::is_partial(session)?, ..HistoryGaps::default() };
    Ok(RepositoryFacts { mailmap: Mailmap::read(&mailmap?), ignored: ignored_revisions(&ignored?), shallow, missing })
}

/// The list of commits whose parents a shallow clone left out, an id a line. Empty for any other repository.
pub(crate) fn shallow(repository: &Repository) -> Result<Vec<u8>, Error> {
    Ok(match read_regular(&repository.common_dir.join("shallow"), SHALLOW)? {
        Some(FileContent::Whole(bytes) | FileContent::Cut(bytes)) => bytes,
        None => Vec::new(),
    })
}

/// The content of a regular file at the root of a commit. Empty, with a note where that hides something, if there is
/// none.
pub(crate) fn file_at(
    session: &Session<'_>,
    tip: &ObjectId,
    name: &'static str,
    notes: &mut Vec<String>,
) -> Result<Vec<u8>, Error> {
    let answer = session.ask_about(&["ls-tree", "-z", "--full-tree"], &[&tip.to_string(), "--", name], &[0])?;
    let mut words = answer.stdout.split(|byte| b" \t".contains(byte));
    let (Some(mode), Some(_), Some(id)) = (words.next(), words.next(), words.next()) else { return Ok(Vec::new()) };
    let id = ObjectId::parse(id).ok_or(Error::GitAnswer { command: "ls-tree" })?;
    // The content of a link is a path, which nobody wrote as a list of names or commits.
    if !mode.starts_with(b"100") {
        notes.push(format!("`{name}` is not a regular file and was not read"));
        return Ok(Vec::new());
    }
    match session.ask_about(&["cat-file", "blob"], &[&id.to_string()], &[0]) {
        Ok(answer) => Ok(answer.stdout),
        Err(Error::GitFailed { .. } | Error::TooMuchOutput { .. }) => {
            notes.push(format!("`{name}` is missing or too large and was not read"));
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// The commits that a file of `blame.ignoreRevsFile` lists: an id a line, `#` begins a comment (git-blame(1)).
pub(crate) fn ignored_revisions(text: &[u8]) -> Vec<ObjectId> {
    let lines = text.split(|&byte| byte == b'\n').filter_map(|line| line.split(|&byte| byte == b'#').next());
    lines.filter_map(|line| ObjectId::parse(line.trim_ascii())).collect()
}

/// Whether there is a commit with this id.
fn is_commit(session: &Session<'_>, id: &ObjectId) -> bool {
    session.ask_about(&["cat-file", "-e"], &[&format!("{id}^{{commit}}")], &[0]).is_ok()
}

/// Reads the commits that the wanted tips reach and `kept` don't.
///
/// Each option outranks a setting that the repository's own configuration could have changed. Nothing limits
/// the log by date: git would end it at the first commit with a wrong one.
fn read_log(
    session: &Session<'_>,
    (wanted, most): (&HistoryWanted, u32),
    kept: &[ObjectId],
    log: &mut Log<'_>,
) -> Result<(), Error> {
    let mut more = if wanted.first_parent {
        log.follow(Parents::First);
        vec!["--first-parent".to_owned(), "--diff-merges=first-parent".to_owned()]
    } else {
        vec!["--diff-merges=off".to_owned()]
    };
    // One more than wanted shows that there are more.
    more.push(format!("--max-count={}", most.saturating_add(1)));
    more.extend(wanted.tips.iter().map(ObjectId::to_string));
    more.extend(kept.iter().map(|kept| format!("^{kept}")));
    more.push("--".to_owned());
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    session.stream(&log::LOG, &more, Vec::new(), &mut |piece| log.take(piece))
}
