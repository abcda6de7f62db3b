//! Asks git what differs between a base and what is on it.

use std::collections::{BTreeMap, BTreeSet};

use proem_risk::change::{FileStatus, LineCounts};
use proem_risk::history::ObjectId;

use super::listing::{self, RawDiff, RawDiffEntry};
use super::{Blobs, ChangeListing, ResolvedChange, work_tree};
use crate::{
    Error,
    git::{IdLength, Session},
};

/// The most added and deleted files, multiplied, that are compared with each other for renames. Git's own
/// limit is the square of the option's number.
pub(super) const RENAMES: usize = 400 * 400;

/// The most pairs of blobs that are compared one by one, where others are missing.
const PAIRS: usize = 200;

/// The side to compare with the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparisonTarget {
    /// A commit's tree, without the work tree.
    Trees,
    /// The index: what is staged.
    Index,
    /// The tracked files of the work tree as they are.
    WorkTree,
}

/// How renames are looked for.
#[derive(Debug, Clone, Copy)]
enum Renames {
    /// By equal contents.
    Exact,
    /// By contents of which half is equal.
    Similar,
}

/// Two states that are compared.
#[derive(Debug)]
pub(super) struct Comparison {
    side: ComparisonTarget,
    base: String,
    end: Option<String>,
    renames: Renames,
}

/// The options of every comparison: no other program takes part, and no setting decides about the form.
const OPTIONS: [&str; 9] = [
    "-r",
    "-z",
    "--no-abbrev",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--ignore-submodules=dirty",
    "-O/dev/null",
];

impl Comparison {
    pub(super) fn of(resolved: &ResolvedChange, ids: IdLength) -> Self {
        Self {
            side: resolved.kind.into(),
            base: resolved.base.map_or_else(|| ids.empty_tree().to_owned(), |base| base.to_string()),
            end: resolved.id.map(|id| id.to_string()),
            renames: Renames::Exact,
        }
    }

    /// The changed files with their lines.
    pub(super) fn find(&mut self, session: &Session<'_>) -> Result<ChangeListing, Error> {
        let mut gaps = Vec::new();
        // By ids alone at first, which needs no content: what is similar is only asked for if all contents are here.
        let mut raw = self.raw(session)?;
        let blobs = Blobs::look(session, raw.entries.iter().flat_map(RawDiffEntry::blobs))?;
        let count = |status| raw.entries.iter().filter(|entry| entry.status == status).count();
        let (added, deleted) = (count(FileStatus::Added), count(FileStatus::Deleted));
        if added > 0 && deleted > 0 {
            // Beyond its limit git compares no contents at all, and its answer doesn't say so.
            if blobs.any_missing() || added.saturating_mul(deleted) > RENAMES {
                gaps.push(
                    "rename_incomplete: too many files, or missing file contents; some added and deleted files \
                           may be renames"
                        .to_owned(),
                );
            } else {
                self.renames = Renames::Similar;
                raw = self.raw(session)?;
            }
        }
        let mut unmerged = BTreeSet::new();
        if self.side == ComparisonTarget::WorkTree {
            unmerged = work_tree::drop_untouched(session, &mut raw.entries)?;
        }
        if let count @ 1.. = raw.unmerged.max(unmerged.len()) {
            gaps.push(format!("{count} paths are in conflict; resolve them to have them assessed"));
        }
        let mut lines = if blobs.any_missing() {
            gaps.push("lines: the contents of some files are not in this clone".to_owned());
            one_by_one(session, &raw.entries, &blobs, &mut gaps)?
        } else {
            let args = self.args("--numstat");
            let answer = session.ask_about(&[self.command()], &refs(&args), &[0])?;
            let lines = listing::parse_numstat_lines(&answer.stdout, self.command())?;
            // A path that was staged and taken back differs from the index and not from the base.
            let differs = |entry: &RawDiffEntry| lines.contains_key(entry.path.as_bytes());
            raw.entries.retain(|entry| self.side != ComparisonTarget::WorkTree || differs(entry));
            lines
        };
        // Their lines are those of both sides with marks in between, which nobody will commit.
        lines.retain(|path, _| !unmerged.contains(path));
        Ok(ChangeListing { entries: raw.entries, lines, blobs, gaps })
    }

    fn raw(&self, session: &Session<'_>) -> Result<RawDiff, Error> {
        let args = self.args("--raw");
        let answer = session.ask_about(&[self.command()], &refs(&args), &[0])?;
        listing::parse_raw_diff(&answer.stdout, self.command())
    }

    /// Hands the changed lines over, until `take` has enough and returns false.
    pub(super) fn patch(&self, session: &Session<'_>, take: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Error> {
        let mut args = ["--src-prefix=a/", "--dst-prefix=b/", "--no-indent-heuristic"].map(str::to_owned).to_vec();
        // A patch is cut at line feeds, and without `-z` git quotes a path that has one.
        args.extend(
            self.args(&format!("--unified={}", proem_risk::patch::AROUND)).into_iter().filter(|arg| arg != "-z"),
        );
        let mut is_enough = false;
        let result = session.stream(&[self.command()], &refs(&args), Vec::new(), &mut |piece| {
            is_enough = !take(piece);
            if is_enough { Err(Error::TooMuchOutput { command: "diff", cap: 0 }) } else { Ok(()) }
        });
        // Then the error is the one above, which only ends git.
        if is_enough { Ok(()) } else { result }
    }

    const fn command(&self) -> &'static str {
        match self.side {
            ComparisonTarget::Trees => "diff-tree",
            ComparisonTarget::Index | ComparisonTarget::WorkTree => "diff-index",
        }
    }

    fn args(&self, form: &str) -> Vec<String> {
        let mut args: Vec<String> = OPTIONS.iter().map(|&option| option.to_owned()).collect();
        args.push(form.to_owned());
        args.push(match self.renames {
            Renames::Exact => "--find-renames=100%".to_owned(),
            Renames::Similar => "--find-renames=50%".to_owned(),
        });
        args.push("-l400".to_owned());
        if self.side == ComparisonTarget::Index {
            // A path that is only intended to be added has no content that could be committed.
            args.extend(["--cached", "--ita-invisible-in-index"].map(str::to_owned));
        }
        args.push(self.base.clone());
        args.extend(self.end.clone());
        args.push("--".to_owned());
        args
    }
}

fn refs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// Counts the lines of each file on its own, where some blobs are missing: a comparison of all would fail.
fn one_by_one(
    session: &Session<'_>,
    entries: &[RawDiffEntry],
    blobs: &Blobs,
    gaps: &mut Vec<String>,
) -> Result<BTreeMap<Vec<u8>, Option<LineCounts>>, Error> {
    let here = |id: &Option<ObjectId>| id.filter(|id| blobs.has(id));
    let alone = entries.iter().filter_map(|entry| match entry.status {
        FileStatus::Added => here(&entry.new),
        FileStatus::Deleted => here(&entry.old),
        _ => None,
    });
    let counted = blobs.count_lines(session, alone)?;
    let mut pairs = 0_usize;
    let mut lines_of = |entry: &RawDiffEntry| match (entry.status, here(&entry.old), here(&entry.new)) {
        (FileStatus::Added, _, Some(new)) => {
            Some(LineCounts { added: counted.get(&new).copied().flatten()?, removed: 0 })
        }
        (FileStatus::Deleted, Some(old), _) => {
            Some(LineCounts { added: 0, removed: counted.get(&old).copied().flatten()? })
        }
        (_, Some(old), Some(new)) if old == new => Some(LineCounts::default()),
        (FileStatus::Modified | FileStatus::Renamed, Some(old), Some(new)) => {
            pairs = pairs.saturating_add(1);
            if pairs > PAIRS { None } else { blob_pair_lines(session, &old, &new) }
        }
        _ => None,
    };
    let lines = entries.iter().map(|entry| (entry.path.as_bytes().to_vec(), lines_of(entry))).collect();
    if pairs > PAIRS {
        gaps.push(format!("lines: only the first {PAIRS} files were compared"));
    }
    Ok(lines)
}

fn blob_pair_lines(session: &Session<'_>, old: &ObjectId, new: &ObjectId) -> Option<LineCounts> {
    let args = ["diff", "--numstat", "-z", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"];
    let answer = session.ask_about(&args, &[&old.to_string(), &new.to_string(), "--"], &[0]).ok()?;
    listing::parse_numstat_lines(&answer.stdout, "diff").ok()?.into_values().next().flatten()
}
