//! Test ratio: lines of tests to lines of code, (t + 1) / (s + 1).
//!
//! s are the lines of the file that are neither blank nor tests inside it, t those of the tests that belong to it
//! ([`crate::coverage::find_tests`]) and those that the change adds to other tests: changing code and tests together
//! declares that they belong together. It is not coverage. A report of coverage is beside it. If no tests are found,
//! the ratio is unknown: they may be in a place where no rule looks.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::words::{count_words, file_count_words, saturating_u32};
use super::{CoChange, DETAILS, RANKED, Survey};
use crate::change::FileStatus;
use crate::coverage::{TestLink, Tests, find_tests};
use crate::metric::{Fraction, Metric, MetricName, PercentileRank, Sentence, SentencePart};
use crate::path::FileRole;
use crate::tree::{FileTree, TreeFile};

/// The metric of a file of the change. `None` for a file that is gone, which needs no tests.
pub(super) fn test_ratio(survey: &Survey<'_>, file: u32, co_change: &CoChange) -> Option<Metric> {
    let changed = survey.file(file)?;
    if changed.status == FileStatus::Deleted {
        return None;
    }
    let unknown = |because: String| {
        let because = Sentence::ours(because + &coverage_words(survey, file).unwrap_or_default());
        Some(Metric::unknown(MetricName::TestRatio, because))
    };
    let Some(tree) = survey.facts().tree else {
        return unknown("the files of the repository could not be read".to_string());
    };
    let place = survey.tree_index(file);
    let own = place.and_then(|index| tree.files.get(usize::try_from(index).ok()?));
    let Some((index, own, lines)) = place.zip(own).and_then(|(index, own)| Some((index, own, own.lines?))) else {
        return unknown("its lines could not be counted".to_string());
    };
    let changes_with = co_change.partners.iter().filter(|partner| partner.role == Some(FileRole::Test));
    let usual = changes_with.filter(|partner| partner.low >= super::co_change::USUAL);
    let usual: Vec<u32> = usual.filter_map(|partner| partner.tree).collect();
    let tests = find_tests(tree, index, &usual);
    let added = survey.added_tests().beside(tests.as_ref());
    if tests.is_none() && added == 0 {
        return unknown("no tests of it were found by name, import or history".to_string());
    }
    let code = lines.saturating_sub(own.inline_tests);
    let all = tests.as_ref().map_or(0, |tests| tests.lines).saturating_add(added);
    let ratio = ratio_of(all, code);
    let words = test_ratio_sentence(tests.as_ref(), added, code) + &coverage_words(survey, file).unwrap_or_default();
    let (details, total) =
        tests.as_ref().map_or((Vec::new(), 0), |tests| (test_file_details(tree, tests), tests.files.len()));
    Some(Metric {
        of: Some(Fraction { numerator: u64::from(all), denominator: u64::from(code) }),
        rank: PercentileRank::among(survey.test_ratios(), ratio),
        signal: survey.facts().thresholds.signal(MetricName::TestRatio, ratio),
        evidence: Sentence::ours(words),
        details,
        total: Some(saturating_u32(total)),
        ..Metric::of(MetricName::TestRatio, ratio)
    })
}

/// The lines that a change adds to tests.
#[derive(Debug)]
pub(super) struct AddedTests {
    all: u64,
    /// Those of each test that the tree has, by its index.
    of_files: BTreeMap<u32, u64>,
}

impl AddedTests {
    pub(super) fn new(survey: &Survey<'_>) -> Self {
        let mut added = Self { all: 0, of_files: BTreeMap::new() };
        for file in survey.facts().change.files.iter().filter(|file| file.class.role == FileRole::Test) {
            let lines = file.lines.map_or(0, |lines| u64::from(lines.added));
            added.all = added.all.saturating_add(lines);
            if let Some(index) = survey.facts().tree.and_then(|tree| tree.find(&file.path)) {
                added.of_files.insert(index, lines);
            }
        }
        added
    }

    /// Those of the tests that don't belong to a file otherwise.
    fn beside(&self, tests: Option<&Tests>) -> u32 {
        let belonging = tests.into_iter().flat_map(|tests| &tests.files).filter_map(|index| self.of_files.get(index));
        u32::try_from(self.all.saturating_sub(belonging.sum())).unwrap_or(u32::MAX)
    }
}

fn ratio_of(tests: u32, code: u32) -> f64 {
    (f64::from(tests) + 1.0) / (f64::from(code) + 1.0)
}

/// The ratios of some files of code that have tests by name, import or inside them, ascending. The files are
/// spread evenly over the tree.
pub(super) fn ratios(tree: &FileTree) -> Vec<f64> {
    let code = |(index, file): (usize, &TreeFile)| {
        let lines = file.lines.filter(|_| file.class.role == FileRole::Code)?;
        Some((u32::try_from(index).ok()?, lines.saturating_sub(file.inline_tests)))
    };
    let all: Vec<(u32, u32)> = tree.files.iter().enumerate().filter_map(code).collect();
    let looked_at = all.iter().step_by(all.len().div_ceil(RANKED).max(1));
    let ratio = |(index, code): &(u32, u32)| Some(ratio_of(find_tests(tree, *index, &[])?.lines, *code));
    let mut ratios: Vec<f64> = looked_at.filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    ratios
}

fn test_ratio_sentence(tests: Option<&Tests>, added: u32, code: u32) -> String {
    let code = count_words(code, "line", "lines");
    let Some(tests) = tests else {
        return format!("{} of tests added along with it for {code} of code", count_words(added, "line", "lines"));
    };
    let along = if added > 0 { format!(" and {added} added along with it") } else { String::new() };
    let how = match tests.found {
        TestLink::Inside => "inside it",
        TestLink::Name => "that have its name",
        TestLink::Import => "that import it",
        TestLink::CoChange => "that change with it",
    };
    let number = saturating_u32(tests.files.len());
    let lines = count_words(tests.lines, "line", "lines");
    if number == 0 {
        format!("{lines} of tests inside it{along} for {code} of code")
    } else {
        format!("{lines} of tests in {} {how}{along} for {code} of code", file_count_words(number))
    }
}

fn test_file_details(tree: &FileTree, tests: &Tests) -> Vec<Sentence> {
    let found = tests.files.iter().filter_map(|&index| tree.files.get(usize::try_from(index).ok()?));
    found.take(DETAILS).map(|file| Sentence(alloc::vec![SentencePart::Path(file.path.to_text())])).collect()
}

/// The file in a report of coverage.
fn coverage_words(survey: &Survey<'_>, file: u32) -> Option<String> {
    let covered = survey.facts().coverage?.of(&survey.file(file)?.path)?;
    let of = Fraction { numerator: u64::from(covered.covered), denominator: u64::from(covered.lines) };
    let percent = of.share()? * 100.0;
    Some(format!("; a report says that {} of {} lines were run ({percent:.0} %)", covered.covered, covered.lines))
}
