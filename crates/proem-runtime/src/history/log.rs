//! Takes the answer of `git log --raw -z` apart, piece by piece.
//!
//! With `-z` and the format below, a commit is seven fields that end in NUL, the last of them empty. Then come its
//! files, each a field that begins with a colon (behind a line feed, for the first) and one or two paths. No field can
//! hold a NUL, so nothing that a commit says can be taken for something else.

use std::collections::BTreeSet;

use proem_risk::change::FileStatus;
use proem_risk::history::{HistoryBuilder, ListedCommit, ListedTouch, Mends, ObjectId};
use proem_risk::identity::Person;
use proem_risk::path::{PathRules, RepoPath};
use proem_text::legacy_text;

use super::fix_claims::{is_described, mends};
use crate::Error;

/// The command and its options; who, when and what touches what, without looking into any file.
pub(super) const LOG: [&str; 15] = [
    "log",
    "--raw",
    "-z",
    "-M100%",
    "--no-abbrev",
    "--no-color",
    "--no-relative",
    "--no-ext-diff",
    "--no-textconv",
    "--no-notes",
    "--ignore-submodules=none",
    "--encoding=UTF-8",
    "--root",
    "-O/dev/null",
    "--format=tformat:%H%x00%P%x00%ct%x00%an%x00%ae%x00%B%x00",
];

/// How many fields a commit has, without the empty one.
const FIELDS: usize = 6;

/// The most that is kept of a field, in bytes. The rest of a longer message is not looked at. Anything else that is
/// longer is an error.
const LONGEST: usize = 1 << 20;

/// How many commits are read between two reports of progress.
const STEP: u64 = 1000;

/// The parents that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    /// Every one: a merge has several.
    All,
    /// The first: a merge represents all that it brought.
    First,
}

/// The kind of the next field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// So many fields of a commit have been read.
    Field(usize),
    /// The empty one that ends a commit's own fields.
    Empty,
    /// A file's raw line, or the id of the next commit.
    FileOrCommit,
    /// A path of a touched file.
    Path(FileStatus),
    /// The path before a rename. The one after it follows.
    From,
}

/// A log that is being read.
pub(super) struct Log<'p> {
    builder: HistoryBuilder,
    /// The rules that distinguish documentation from the product.
    rules: PathRules,
    progress: &'p dyn Fn(u64),
    parents: Parents,
    /// Commits whose parents are not here.
    alone: BTreeSet<ObjectId>,
    expected: Expected,
    /// The beginning of a field whose end has not come yet.
    begun: Vec<u8>,
    fields: [Vec<u8>; FIELDS],
    from: Option<RepoPath>,
    touches: Vec<ListedTouch>,
    commits: u64,
}

impl<'p> Log<'p> {
    /// A log whose commits go to `builder`.
    pub(super) fn new(builder: HistoryBuilder, rules: PathRules, progress: &'p dyn Fn(u64)) -> Self {
        Self {
            builder,
            rules,
            progress,
            parents: Parents::All,
            alone: BTreeSet::new(),
            expected: Expected::Field(0),
            begun: Vec::new(),
            fields: Default::default(),
            from: None,
            touches: Vec::new(),
            commits: 0,
        }
    }

    /// Says which parents count.
    pub(super) const fn follow(&mut self, parents: Parents) {
        self.parents = parents;
    }

    /// Names the commits whose parents a shallow clone left out. Git compares them with nothing, as if they had
    /// made all that was there; what they touched is unknown and counts for nothing.
    pub(super) fn without_parents(&mut self, commits: Vec<ObjectId>) {
        self.alone = commits.into_iter().collect();
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<(), Error> {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|&byte| byte == 0) {
            let (field, after) = rest.split_at_checked(end).ok_or_else(unreadable_log)?;
            rest = after.get(1..).unwrap_or_default();
            if self.begun.is_empty() {
                self.field(field)?;
            } else {
                self.begin(field)?;
                // Taken out and put back empty, so that one allocation serves all fields that are cut.
                let mut field = std::mem::take(&mut self.begun);
                self.field(&field)?;
                field.clear();
                self.begun = field;
            }
        }
        self.begin(rest)
    }

    /// The builder with all commits, and how many were read.
    pub(super) fn end(mut self) -> Result<(HistoryBuilder, u32), Error> {
        if !self.begun.is_empty() {
            return Err(unreadable_log());
        }
        match self.expected {
            Expected::Field(0) => {}
            // Nothing follows the last commit that would show that its files are over.
            Expected::FileOrCommit => self.commit()?,
            _ => return Err(unreadable_log()),
        }
        (self.progress)(self.commits);
        Ok((self.builder, u32::try_from(self.commits).unwrap_or(u32::MAX)))
    }

    /// Keeps the beginning of a field.
    fn begin(&mut self, part: &[u8]) -> Result<(), Error> {
        let room = LONGEST.saturating_sub(self.begun.len());
        let is_message = self.expected == Expected::Field(FIELDS - 1);
        if part.len() > room && !is_message {
            return Err(unreadable_log());
        }
        self.begun.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
        Ok(())
    }

    fn field(&mut self, field: &[u8]) -> Result<(), Error> {
        self.expected = match self.expected {
            Expected::Field(at) => self.own(at, field)?,
            Expected::Empty if field.is_empty() => Expected::FileOrCommit,
            Expected::Empty => return Err(unreadable_log()),
            Expected::FileOrCommit => match field.strip_prefix(b"\n").unwrap_or(field) {
                [b':', file @ ..] => what(file)?,
                _ => {
                    self.commit()?;
                    self.own(0, field)?
                }
            },
            Expected::From => {
                self.from = Some(repo_path(field)?);
                Expected::Path(FileStatus::Renamed)
            }
            Expected::Path(status) => {
                self.touches.push(ListedTouch { path: repo_path(field)?, from: self.from.take(), status });
                Expected::FileOrCommit
            }
        };
        Ok(())
    }

    /// Keeps a field of the commit itself.
    fn own(&mut self, at: usize, field: &[u8]) -> Result<Expected, Error> {
        let place = self.fields.get_mut(at).ok_or_else(unreadable_log)?;
        place.clear();
        place.extend_from_slice(field.get(..field.len().min(LONGEST)).unwrap_or_default());
        Ok(if at + 1 == FIELDS { Expected::Empty } else { Expected::Field(at + 1) })
    }

    /// Hands the commit over whose fields and files have all come.
    fn commit(&mut self) -> Result<(), Error> {
        let [id, parents, date, name, mail, message] = &self.fields;
        let id = ObjectId::parse(id).ok_or_else(unreadable_log)?;
        let parents = parents.split(|&byte| byte == b' ').filter(|digits| !digits.is_empty());
        let parents = parents.map(|digits| ObjectId::parse(digits).ok_or_else(unreadable_log));
        let mut parents: Vec<ObjectId> = parents.collect::<Result<_, _>>()?;
        if self.parents == Parents::First {
            parents.truncate(1);
        }
        if self.alone.contains(&id) {
            self.touches.clear();
        }
        // A date that is no number is one that can't be true, and corrected as such.
        let at = std::str::from_utf8(date).ok().and_then(|date| date.parse().ok()).unwrap_or(0);
        let message = legacy_text(message);
        let subject = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let mends = mends(&message);
        // The message is asked first: most commits mend nothing, and telling what their files are takes longer.
        let is_nothing = mends != Mends::Nothing && is_described(&self.touches, &self.rules);
        self.builder.add(ListedCommit {
            id,
            parents,
            at,
            author: Person { mail: legacy_text(mail).into_owned(), name: legacy_text(name).into_owned() },
            subject: subject.to_owned(),
            mends: if is_nothing { Mends::Nothing } else { mends },
            touches: std::mem::take(&mut self.touches),
        });
        self.commits = self.commits.saturating_add(1);
        if self.commits.is_multiple_of(STEP) {
            (self.progress)(self.commits);
        }
        Ok(())
    }
}

/// The field behind the modes and ids of a file: `:100644 100644 ID ID M` (git-diff(1), "Raw output format").
fn what(file: &[u8]) -> Result<Expected, Error> {
    let letter = file.rsplit(|&byte| byte == b' ').next().and_then(|word| word.first());
    Ok(match letter {
        Some(b'A') => Expected::Path(FileStatus::Added),
        Some(b'M' | b'U' | b'X') => Expected::Path(FileStatus::Modified),
        Some(b'D') => Expected::Path(FileStatus::Deleted),
        Some(b'T') => Expected::Path(FileStatus::TypeChanged),
        Some(b'R') => Expected::From,
        _ => return Err(unreadable_log()),
    })
}

fn repo_path(field: &[u8]) -> Result<RepoPath, Error> {
    if field.is_empty() { Err(unreadable_log()) } else { Ok(RepoPath::new(field)) }
}

fn unreadable_log() -> Error {
    Error::GitAnswer { command: "log" }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proem_risk::history::{CommitIndex, HistoryGaps};

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn log() -> Vec<u8> {
        format!(
            "{TWO}|{ONE}|1600000001|Ann|Ann@X.org|fix: it\n\nbody\n||\n:100644 100644 {ONE} {TWO} R100|a|b\nc|\
             :000000 100644 {ONE} {TWO} A|:new||{ONE}||1600000000|Bob||first||"
        )
        .replace("b\nc||", "b\nc|")
        .replace(":new||", ":new|")
        .replace('|', "\0")
        .into_bytes()
    }

    fn read_log(pieces: &[&[u8]]) -> Result<(HistoryBuilder, u32), Error> {
        let mut log = Log::new(HistoryBuilder::new(None), PathRules::shipped().unwrap(), &|_| ());
        pieces.iter().try_for_each(|piece| log.take(piece))?;
        log.end()
    }

    #[test]
    fn a_log_may_be_cut_anywhere() {
        let log = log();
        for cut in 0..=log.len() {
            let (first, second) = log.split_at(cut);
            let (builder, count) = read_log(&[first, second]).unwrap();
            assert_eq!(count, 2, "{cut}");
            let history = builder.finish(1_700_000_000, &[], HistoryGaps::default()).unwrap();
            let names = |index| {
                let touches = history.touches(CommitIndex(index)).iter();
                touches.map(|touch| history.path(touch.path).to_text()).collect::<Vec<_>>()
            };
            assert_eq!(names(1), ["b\nc", ":new"], "{cut}");
            assert!(names(0).is_empty() && history.subject(CommitIndex(1)) == "fix: it");
            assert!(history.person_with("ann@x.org").is_some());
        }
    }

    #[test]
    fn a_log_that_ends_early_is_refused() {
        let log = log();
        let ends: Vec<usize> = (0..=log.len()).filter(|&end| read_log(&[&log[..end]]).is_ok()).collect();
        // Only between files and commits can it end; that git ended well is what its exit code says.
        assert_eq!(ends.len(), 5, "{ends:?}");
    }

    #[test]
    fn what_is_no_log_is_refused() {
        for text in ["x", "x\0", "x\0\0", "\0\0\0\0\0\0\0", "a\0b\0c\0d\0e\0f\0g\0"] {
            assert!(read_log(&[text.as_bytes()]).is_err(), "{text:?}");
        }
        let huge = vec![b'1'; LONGEST + 1];
        assert!(read_log(&[&huge]).is_err());
    }

    #[test]
    fn a_message_of_any_length_is_read_and_cut() {
        let message = "y".repeat(3 * LONGEST);
        let text = format!("{ONE}|||||{message}||").replace('|', "\0");
        let heard = Cell::new(0);
        let progress = |count| heard.set(count);
        let mut log = Log::new(HistoryBuilder::new(None), PathRules::shipped().unwrap(), &progress);
        text.as_bytes().chunks(1000).for_each(|piece| log.take(piece).unwrap());
        assert_eq!(log.end().unwrap().1, 1);
        assert_eq!(heard.get(), 1);
    }
}
