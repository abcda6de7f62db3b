//! Findings that a person looked at and accepted, in a file that is reviewed like any other.
//!
//! An entry names its findings by ids that hash the rule, its severity and the words of their line, and the file's
//! path from the folder that holds the entries. So it moves with the text, and ends with the first changed word.
//!
//! Invariants: an id accepts one finding, so that a copy of an accepted text is a finding. An entry whose last day is
//! past accepts nothing. An unreadable file is an error, because somebody may rely on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use proem_guard::show;
use serde::{Deserialize, Serialize};

use super::examine::FileScan;
use super::groups::{FindingGroup, finding_groups};
use crate::error::Error;

/// The file's usual name, in the root of a project.
pub const ACCEPTED_FILE: &str = ".proem-accepted.toml";

/// The most of such a file that is read, in bytes.
pub const ACCEPTED_BYTES: usize = 4 << 20;

/// The beginning of the names of rules about agents' files.
const AGENT_FAMILY: &str = "agent/";

/// The first lines of the file.
const HEAD: &str = "# Findings of `proem scan` that somebody looked at. Review a change here like a change of a test.\n\
    # An entry holds while the line keeps its words, until its last day. `proem scan --accept` adds one.\n";

/// An accepted place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedEntry {
    /// The file, from the folder that holds the entries.
    pub path: String,
    /// The worst rule there, for people.
    pub rule: String,
    /// The line that it was on when it was accepted, for people. The text itself would be a finding here.
    pub line: usize,
    /// The reason.
    pub because: String,
    /// The last day that it holds, as 2026-11-30, if it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The ids of the findings.
    pub findings: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntriesFile {
    #[serde(default)]
    accepted: Vec<AcceptedEntry>,
}

/// Why an entry accepts nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryEnd {
    /// Its last day is past.
    Expired,
    /// Its file has no such finding.
    Unmatched,
}

/// The reason for an acceptance, and its last day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptanceTerms {
    /// Why the finding is no problem.
    pub because: String,
    /// The last day that it holds, if it ends.
    pub until: Option<Date>,
}

/// Accepted findings, applied to the files of one scan.
#[derive(Debug, Default)]
pub struct AcceptedFindings {
    entries: Vec<AcceptedEntry>,
    /// The folder that paths start from.
    base: PathBuf,
    today: Date,
    /// How many of each entry's ids are left, by entry and id.
    left: BTreeMap<(usize, String), usize>,
    /// Entries that accepted something.
    used: BTreeSet<usize>,
    /// Paths that were scanned.
    scanned: BTreeSet<String>,
}

impl AcceptedFindings {
    /// Reads entries whose paths start from `base`, a canonical folder. `name` is the file's, for errors.
    ///
    /// # Errors
    ///
    /// If the text is no such file.
    pub fn parse(text: &str, name: &str, base: PathBuf, today: Date) -> Result<Self, Error> {
        let file: EntriesFile = toml::from_str(text).map_err(|error| {
            let shown = show::terminal_str(error.message()).into_string();
            Error::invalid(format!("`{}` can't be read: {shown}", show::terminal_str(name)))
        })?;
        if let Some(entry) = file.accepted.iter().find(|entry| entry.because.trim().is_empty()) {
            let path = show::terminal_str(&entry.path);
            return Err(Error::invalid(format!("the entry for `{path}` has no reason; write `because = \"…\"`")));
        }
        let no_day = |entry: &&AcceptedEntry| entry.until.as_deref().is_some_and(|day| parse_day(day).is_none());
        if let Some(entry) = file.accepted.iter().find(no_day) {
            let path = show::terminal_str(&entry.path);
            return Err(Error::invalid(format!(
                "the entry for `{path}` ends on no day; write `until = \"2026-11-30\"`"
            )));
        }
        let mut left = BTreeMap::new();
        for (number, entry) in file.accepted.iter().enumerate() {
            for id in &entry.findings {
                let count: &mut usize = left.entry((number, id.clone())).or_default();
                *count = count.saturating_add(1);
            }
        }
        let (used, scanned) = (BTreeSet::new(), BTreeSet::new());
        Ok(Self { entries: file.accepted, base, today, left, used, scanned })
    }

    /// Takes the accepted findings out of a file's scan. `at` is the file's canonical path. Returns how many they were.
    pub fn apply(&mut self, at: &Path, file: &mut FileScan) -> u64 {
        let Some(path) = self.relative(at) else { return 0 };
        self.scanned.insert(path.clone());
        let here: Vec<usize> =
            self.entries.iter().enumerate().filter(|(_, e)| e.path == path).map(|(n, _)| n).collect();
        let here: Vec<usize> = here.into_iter().filter(|number| !self.is_expired(*number)).collect();
        if here.is_empty() {
            return 0;
        }
        let mut count = 0_u64;
        file.retain_findings(|found| {
            let taken = here.iter().find(|number| {
                let left = self.left.get_mut(&(**number, found.id.clone())).filter(|left| **left > 0);
                left.map(|left| *left = left.saturating_sub(1)).is_some()
            });
            self.used.extend(taken);
            count = count.saturating_add(u64::from(taken.is_some()));
            taken.is_none()
        });
        self.mark_changed(&here, file);
        count
    }

    /// Marks the findings of agents' files that somebody accepted in another form: a command that was looked at runs
    /// something else today.
    fn mark_changed(&self, here: &[usize], file: &mut FileScan) {
        let unused = here.iter().filter(|number| !self.used.contains(number));
        for entry in unused.filter_map(|number| self.entries.get(*number)) {
            if entry.rule.starts_with(AGENT_FAMILY) {
                file.mark_changed(&entry.rule, entry.line);
            }
        }
    }

    /// The entries that accept nothing any more, of the files that were scanned and of those that are gone.
    #[must_use]
    pub fn ended(&self) -> Vec<(&AcceptedEntry, EntryEnd)> {
        let entries = self.entries.iter().enumerate().filter(|(number, entry)| {
            !self.used.contains(number) && (self.scanned.contains(&entry.path) || !self.base.join(&entry.path).exists())
        });
        let end = |number| if self.is_expired(number) { EntryEnd::Expired } else { EntryEnd::Unmatched };
        entries.map(|(number, entry)| (entry, end(number))).collect()
    }

    /// The entry that accepts the finding `id` of a file, with all that was found at its place. `None` if the file has
    /// no such finding. The first digits of an id are enough.
    #[must_use]
    pub fn entry_for(&self, id: &str, at: &Path, file: &FileScan, terms: &AcceptanceTerms) -> Option<AcceptedEntry> {
        let path = self.relative(at)?;
        let groups = finding_groups(file);
        let group = groups.iter().find(|group| group.worst.id.starts_with(id) && group.is_worth_showing())?;
        Some(accepted_entry(path, group, terms))
    }

    /// The file's text with more entries. An entry replaces an earlier one for the same findings of the same file.
    ///
    /// # Errors
    ///
    /// Never, but for a bug.
    pub fn with_entries(&self, more: Vec<AcceptedEntry>) -> Result<String, Error> {
        let is_replaced = |old: &AcceptedEntry| more.iter().any(|n| n.path == old.path && n.findings == old.findings);
        let mut accepted: Vec<AcceptedEntry> = self.entries.iter().filter(|old| !is_replaced(old)).cloned().collect();
        accepted.extend(more);
        accepted.sort_by(|a, b| (&a.path, &a.findings).cmp(&(&b.path, &b.findings)));
        let text =
            toml::to_string(&EntriesFile { accepted }).map_err(|error| Error::bug("the accepted findings", error))?;
        Ok(format!("{HEAD}\n{text}"))
    }

    /// A file's path from the folder of the entries, `/` between its parts. `None` for a file outside it.
    fn relative(&self, at: &Path) -> Option<String> {
        Some(at.strip_prefix(&self.base).ok()?.to_string_lossy().into_owned())
    }

    fn is_expired(&self, number: usize) -> bool {
        let until = self.entries.get(number).and_then(|entry| entry.until.as_deref());
        until.is_some_and(|day| parse_day(day).is_none_or(|day| day < self.today))
    }
}

/// A day as ISO 8601 writes it.
#[must_use]
pub fn parse_day(text: &str) -> Option<Date> {
    Some(text).filter(|text| text.len() == 10)?.parse().ok()
}

fn accepted_entry(path: String, group: &FindingGroup<'_>, terms: &AcceptanceTerms) -> AcceptedEntry {
    AcceptedEntry {
        path,
        rule: group.worst.finding.rule.to_owned(),
        line: group.worst.spot.line,
        because: terms.because.clone(),
        until: terms.until.map(|day| day.to_string()),
        findings: group.ids.iter().map(|id| (*id).to_owned()).collect(),
    }
}
