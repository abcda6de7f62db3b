//! Findings: what is specific and true of one change, each with its evidence.
//!
//! A finding says what a reviewer would want to know, and names it: the partner that is missing, the fix whose lines go
//! away, the importers that a deletion breaks. Names from outside stay apart from our words ([`Sentence`]).

pub(crate) mod scene;

mod earlier;
mod habits;
mod importers;
mod operations;
mod quiet;

pub use self::importers::{CalledFunction, ChangedFunction, functions_changed_by};
pub use self::quiet::QuietPart;
pub(crate) use self::quiet::quiet_parts;

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::metric::{Fraction, Sentence, SentencePart};
use crate::metrics::{AssessmentFacts, time_of};
use crate::patch::{FilePatch, LinePrints};
use crate::score::RiskModel;
use crate::signal::{ENOUGH, KnownFiles, Lessons, RowSource, SignalName, SignalRow, TrainedSignal, Worth};
use crate::tree::FileTree;

use self::scene::{Scene, SceneFile};

/// How many names a sentence has.
const NAMED: usize = 3;

/// Digits of a commit's id in a sentence.
const DIGITS: usize = 12;

/// The facts for findings, beside those of the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct FindingFacts<'f> {
    /// The lessons of the past. `None` if its lines can't be read.
    pub lessons: Option<&'f Lessons>,
    /// Files whatever the commit.
    pub known: Option<&'f KnownFiles>,
    /// The files at the base, if the change deletes or renames any.
    pub base: Option<&'f FileTree>,
    /// Functions with another signature, with who calls them at the base.
    pub called: &'f [CalledFunction],
    /// The shipped figures.
    pub trained: &'f [TrainedSignal],
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The signal that it is an instance of.
    pub signal: SignalName,
    /// The file, by its place in the change.
    pub file: u32,
    /// Whether that file is sensitive.
    #[serde(default)]
    pub is_in_sensitive_file: bool,
    /// The line: after the change, or before it for one that is gone.
    pub line: Option<u32>,
    /// How often, where it is a share.
    pub of: Option<Fraction>,
    /// How many: lines, importers, callers, commits.
    pub count: u32,
    /// The earlier commit.
    pub commit: Option<String>,
    /// Whole days since then.
    pub days: Option<u32>,
    /// It in a sentence.
    pub evidence: Sentence,
    /// The advice about it, with the reason.
    pub advice: Option<Advice>,
    /// The worth of such findings.
    pub worth: SignalRow,
}

/// An advice about a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// The advice, and its reason.
    pub sentence: Sentence,
    /// The command that shows it. Absent where a shell would read a name in it as anything else.
    pub command: Option<String>,
}

/// The findings of a change, with what they rest on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The findings, the most telling first.
    pub findings: Vec<Finding>,
    /// The signals that it has and that earned it, findings or not.
    pub earned: Vec<SignalRow>,
    /// The worth of the score here. `None` with too little of the past.
    pub worth: Option<Worth>,
    /// The kinds of files that make up the whole change, if that is LOW whatever its size.
    pub quiet: Vec<QuietPart>,
}

impl Found {
    /// Whether there is nothing, as in older records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The change with what its findings need.
#[derive(Clone, Copy)]
struct Search<'s> {
    facts: &'s AssessmentFacts<'s>,
    scene: &'s Scene<'s>,
}

/// A finding before its worth is known.
struct Raw {
    signal: SignalName,
    file: u32,
    line: Option<u32>,
    of: Option<Fraction>,
    count: usize,
    commit: Option<(String, u32)>,
    evidence: Sentence,
    advice: Option<Advice>,
}

impl Raw {
    const fn new(signal: SignalName, file: u32, evidence: Sentence) -> Self {
        Self { signal, file, line: None, of: None, count: 0, commit: None, evidence, advice: None }
    }
}

/// Everything specific and true of a change, the gravest first.
#[must_use]
pub fn change_findings(facts: &AssessmentFacts<'_>, model: &RiskModel, percentile: Option<f64>) -> Found {
    let (change, empty_files, empty_lessons) = (facts.change, KnownFiles::default(), Lessons::default());
    let quiet = quiet_parts(change);
    let lessons = facts.finding.lessons.unwrap_or(&empty_lessons);
    let prints: Vec<LinePrints> =
        change.files.iter().map(|file| change.patch(&file.path).map(FilePatch::prints).unwrap_or_default()).collect();
    let scene = Scene {
        past: facts.past,
        at: time_of(facts.past, change),
        author: change.author.as_ref().and_then(|person| facts.past.history().person_with(&person.mail)),
        files: scene_files(facts, &prints),
        known: facts.finding.known.unwrap_or(&empty_files),
        window_days: facts.window_days,
    };
    let search = Search { facts, scene: &scene };
    let row = |signal| lessons.table.row(signal, facts.finding.trained);
    let mut found = importers::importer_findings(search);
    found.extend(earlier::earlier_findings(search, &lessons.memory));
    found.extend(habits::habit_findings(search));
    found.extend(operations::operation_findings(search));
    let mut findings: Vec<Finding> =
        found.into_iter().map(|raw| finding(raw, change, row)).filter(|one| is_worth_a_line(one, percentile)).collect();
    findings.sort_by_key(|one| (!one.worth.raises, one.signal, core::cmp::Reverse(one.count), one.file));
    let signals = scene.signals(&lessons.memory);
    let earned = signals.into_iter().map(row).filter(|row| row.raises).collect();
    Found { findings, earned, worth: lessons.worth(model, percentile), quiet }
}

/// The percentile from which words of lines tell where to look.
const RISKY: f64 = 80.0;

/// Words of lines and a busy file say something only where they have been worth something, and whatever this repository's
/// past shows to be no more than usual says nothing here. In a change of a high rank the lines where errors are no longer
/// handled, and those that change stored data, are where to look.
fn is_worth_a_line(finding: &Finding, percentile: Option<f64>) -> bool {
    let is_risky = percentile.is_some_and(|percentile| percentile >= RISKY);
    let needs_worth = match finding.signal {
        SignalName::ErrorPath | SignalName::StoredData => !is_risky,
        SignalName::Concurrency | SignalName::Permissions | SignalName::FixedOften => true,
        _ => false,
    };
    let is_usual = finding.worth.source == RowSource::Here
        && finding.worth.with.commits >= ENOUGH
        && finding.worth.ratio.is_some_and(|ratio| ratio < 1.0);
    let by_place = finding.is_in_sensitive_file && finding.signal != SignalName::FixedOften;
    finding.worth.raises || by_place || finding.signal == SignalName::OtherSource || (!needs_worth && !is_usual)
}

fn finding(raw: Raw, change: &Change, row: impl Fn(SignalName) -> SignalRow) -> Finding {
    let Raw { signal, file, line, of, count, commit, evidence, advice } = raw;
    let (commit, days) = commit.unzip();
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let changed = usize::try_from(file).ok().and_then(|index| change.files.get(index));
    let is_in_sensitive_file = changed.is_some_and(|file| file.class.sensitive.is_some());
    Finding { signal, file, is_in_sensitive_file, line, of, count, commit, days, evidence, advice, worth: row(signal) }
}

fn scene_files<'s>(facts: &AssessmentFacts<'s>, prints: &'s [LinePrints]) -> Vec<SceneFile<'s>> {
    let numbered = (0_u32..).zip(&facts.change.files).zip(prints);
    let file = |((index, file), prints): ((u32, &crate::change::ChangedFile), &'s LinePrints)| SceneFile {
        index,
        file: facts.past.file(file.base_path()),
        role: file.class.role,
        is_sensitive: file.class.sensitive.is_some(),
        status: file.status,
        prints,
    };
    numbered.map(file).collect()
}

impl Search<'_> {
    /// The path of a file of the change, for a sentence.
    fn path(&self, index: u32) -> String {
        let file = usize::try_from(index).ok().and_then(|index| self.facts.change.files.get(index));
        file.map(|file| file.path.to_text()).unwrap_or_default()
    }

    /// A commit's short id with the days since.
    fn commit(&self, index: crate::history::CommitIndex) -> Option<(String, u32)> {
        let commit = self.facts.past.history().commit(index)?;
        let id: String = commit.id.to_string().chars().take(DIGITS).collect();
        let days = self.scene.at.saturating_sub(commit.at).max(0) / 86_400;
        Some((id, u32::try_from(days).unwrap_or(u32::MAX)))
    }
}

/// A path as one word of a command. `None` if a shell, or git, would read it as anything else.
fn command_word(path: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ',');
    (!path.is_empty() && !path.starts_with('-') && path.chars().all(is_plain)).then_some(path)
}

/// `a, b, c and 28 others`.
fn sentence_with_names(sentence: Sentence, names: &[String]) -> Sentence {
    let shown = names.get(..names.len().min(NAMED)).unwrap_or(names);
    let rest = names.len().saturating_sub(shown.len());
    let mut sentence = sentence;
    for (at, name) in shown.iter().enumerate() {
        let is_last = at.saturating_add(1) == shown.len() && rest == 0;
        let join = match at {
            0 => "",
            _ if is_last => " and ",
            _ => ", ",
        };
        sentence = sentence.and(join).then(SentencePart::Path(name.clone()));
    }
    match rest {
        0 => sentence,
        1 => sentence.and(" and 1 other"),
        rest => sentence.and(format!(" and {rest} others")),
    }
}

/// `1 line`, `2 lines`.
fn counted_noun(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// `today`, `1 day before`, `40 days before`, `3 years before`.
fn age_in_days(days: u32) -> String {
    match days {
        0 => "the same day".to_string(),
        1 => "1 day before".to_string(),
        730.. => format!("{} years before", days / 365),
        _ => format!("{days} days before"),
    }
}

#[cfg(test)]
mod tests;
