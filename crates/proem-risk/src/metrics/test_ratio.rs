//! Test ratio: lines of tests to lines of code, (t + 1) / (s + 1).
//!
//! s are the lines of the file that are neither blank nor tests inside it, t those of the tests that
//! belong to it ([`crate::coverage::tests_of`]). It is not coverage; a report of coverage stands beside it.
//! Where no tests are found the ratio is unknown: they may be where no rule looks.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::words::{count, files, narrow};
use super::{CoChange, DETAILS, RANKED, Survey};
use crate::change::Status;
use crate::coverage::{Found, Tests, tests_of};
use crate::metric::{Fraction, Metric, Name, Piece, Rank, Sentence};
use crate::path::Role;
use crate::tree::{Tree, TreeFile};

/// The metric of a file of the change; `None` for a file that is gone, which needs no tests.
pub(super) fn test_ratio(survey: &Survey<'_>, file: u32, co_change: &CoChange) -> Option<Metric> {
    let changed = survey.file(file)?;
    if changed.status == Status::Deleted {
        return None;
    }
    let unknown = |because: String| {
        let because = Sentence::ours(because + &covered(survey, file).unwrap_or_default());
        Some(Metric::unknown(Name::TestRatio, because))
    };
    let Some(tree) = survey.facts().tree else {
        return unknown("the files of the repository could not be read".to_string());
    };
    let place = survey.tree_index(file);
    let own = place.and_then(|index| tree.files.get(usize::try_from(index).ok()?));
    let Some((index, own, lines)) = place.zip(own).and_then(|(index, own)| Some((index, own, own.lines?))) else {
        return unknown("its lines could not be counted".to_string());
    };
    let changes_with = co_change.partners.iter().filter(|partner| partner.role == Some(Role::Test));
    let usual = changes_with.filter(|partner| partner.low >= super::co_change::USUAL);
    let usual: Vec<u32> = usual.filter_map(|partner| partner.tree).collect();
    let Some(tests) = tests_of(tree, index, &usual) else {
        return unknown("no tests of it were found by name, import or history".to_string());
    };
    let code = lines.saturating_sub(own.inline_tests);
    let ratio = ratio_of(&tests, code);
    let mut words = sentence(&tests, code);
    words.push_str(&covered(survey, file).unwrap_or_default());
    Some(Metric {
        of: Some(Fraction { numerator: u64::from(tests.lines), denominator: u64::from(code) }),
        rank: Rank::among(survey.test_ratios(), ratio),
        signal: survey.facts().thresholds.signal(Name::TestRatio, ratio),
        evidence: Sentence::ours(words),
        details: details(tree, &tests),
        ..Metric::of(Name::TestRatio, ratio)
    })
}

fn ratio_of(tests: &Tests, code: u32) -> f64 {
    (f64::from(tests.lines) + 1.0) / (f64::from(code) + 1.0)
}

/// The ratios of some files of code that have tests by name, import or inside them, ascending. The files are
/// spread evenly over the tree.
pub(super) fn ratios(tree: &Tree) -> Vec<f64> {
    let code = |(index, file): (usize, &TreeFile)| {
        let lines = file.lines.filter(|_| file.class.role == Role::Code)?;
        Some((u32::try_from(index).ok()?, lines.saturating_sub(file.inline_tests)))
    };
    let all: Vec<(u32, u32)> = tree.files.iter().enumerate().filter_map(code).collect();
    let looked_at = all.iter().step_by(all.len().div_ceil(RANKED).max(1));
    let ratio = |(index, code): &(u32, u32)| Some(ratio_of(&tests_of(tree, *index, &[])?, *code));
    let mut ratios: Vec<f64> = looked_at.filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    ratios
}

fn sentence(tests: &Tests, code: u32) -> String {
    let how = match tests.found {
        Found::Inside => "inside it",
        Found::Name => "that have its name",
        Found::Import => "that import it",
        Found::CoChange => "that change with it",
    };
    let number = narrow(tests.files.len());
    let (lines, code) = (count(tests.lines, "line", "lines"), count(code, "line", "lines"));
    if number == 0 {
        format!("{lines} of tests inside it for {code} of code")
    } else {
        format!("{lines} of tests in {} {how} for {code} of code", files(number))
    }
}

fn details(tree: &Tree, tests: &Tests) -> Vec<Sentence> {
    let found = tests.files.iter().filter_map(|&index| tree.files.get(usize::try_from(index).ok()?));
    found.take(DETAILS).map(|file| Sentence(alloc::vec![Piece::Path(file.path.lossy())])).collect()
}

/// What a report of coverage says of the file.
fn covered(survey: &Survey<'_>, file: u32) -> Option<String> {
    let covered = survey.facts().coverage?.of(&survey.file(file)?.path)?;
    let of = Fraction { numerator: u64::from(covered.covered), denominator: u64::from(covered.lines) };
    let percent = of.share()? * 100.0;
    Some(format!("; a report says that {} of {} lines were run ({percent:.0} %)", covered.covered, covered.lines))
}
