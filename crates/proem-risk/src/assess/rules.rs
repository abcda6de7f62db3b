//! The rules that make levels of signals.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{Assessment, FileAssessment, Investigate};
use crate::level::{Level, LevelReason, LevelRules};
use crate::metric::{MetricName, Signal, Tier};
use crate::metrics::decides_level;
use crate::path::FileRole;
use crate::signal::SignalName;

/// The level by how many signals are HIGH.
const fn by_count(high: usize) -> Level {
    match high {
        0 => Level::Low,
        1 => Level::Medium,
        _ => Level::High,
    }
}

fn with_signal(file: &FileAssessment, signal: Signal) -> Vec<MetricName> {
    file.signals().filter(|(_, other)| *other == signal).map(|(name, _)| name).collect()
}

/// Whether none of a file's Tier 1 signals is known, of a file that counts.
pub(super) fn is_unknown_file(file: &FileAssessment) -> bool {
    let tier_one = || file.signals().filter(|(name, _)| name.tier() == Some(Tier::One));
    decides_level(file.class.role) && tier_one().all(|(_, signal)| signal == Signal::Unknown)
}

/// Whether a file speaks for an investigation: it is sensitive, unknown, or has a HIGH signal.
pub(super) fn speaks_up(file: &FileAssessment) -> bool {
    file.class.sensitive.is_some() || is_unknown_file(file) || file.signals().any(|(_, signal)| signal == Signal::High)
}

/// The basis of the levels of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelBasis {
    /// The number of HIGH signals; where nothing is known, MEDIUM.
    Count,
    /// The number of HIGH signals; where nothing is known, nothing.
    KnownCount,
    /// Their kind: the rank decides, and a signal is evidence.
    Kind,
}

impl LevelBasis {
    pub(super) fn of(assessment: &Assessment) -> Self {
        match assessment.rules {
            LevelRules::Seed | LevelRules::RankOrSeed => Self::Count,
            LevelRules::Rank if assessment.score.signal == Signal::Unknown => Self::KnownCount,
            LevelRules::Rank => Self::Kind,
        }
    }
}

/// The level that a file would have with some more HIGH signals.
pub(super) fn level_with_high(file: &FileAssessment, more: usize, by: LevelBasis) -> Level {
    let high = with_signal(file, Signal::High).len().saturating_add(more);
    let is_blind =
        decides_level(file.class.role) && high == 0 && file.signals().all(|(_, signal)| signal == Signal::Unknown);
    let level = match by {
        LevelBasis::Count if is_unknown_file(file) => by_count(high).max(Level::Medium),
        LevelBasis::KnownCount | LevelBasis::Kind if is_blind => Level::Unknown,
        LevelBasis::Count | LevelBasis::KnownCount => by_count(high),
        LevelBasis::Kind => Level::Low,
    };
    if file.class.sensitive.is_some() { level.max(Level::Medium) } else { level }
}

/// Whether a file decides about the level of the change: it counts, or is sensitive whatever it is.
fn decides(file: &FileAssessment) -> bool {
    decides_level(file.class.role) || file.class.sensitive.is_some()
}

/// The percentile among the newest changes below which a place is not outstanding.
const STANDS_OUT: f64 = 80.0;

/// The percentile from which a place alone is worth a word: one change in two hundred. A choice, since a reviewer learns no
/// more from it.
const EXCEPTIONAL: f64 = 99.5;

/// Sets the level and the reasons of a file.
pub(super) fn settle_file(file: &mut FileAssessment, by: LevelBasis) {
    let names = with_signal(file, Signal::High);
    file.level = level_with_high(file, 0, by);
    let tier = by_count(names.len());
    let high = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let is_counted = by != LevelBasis::Kind && tier == file.level && (high > 0 || !is_unknown_file(file));
    let reasons = [
        is_counted.then_some(LevelReason::Tier { high, names }),
        file.class.sensitive.is_some().then_some(LevelReason::Sensitive { file: file.index }),
        (by == LevelBasis::Count && is_unknown_file(file)).then_some(LevelReason::AllUnknown),
        (file.level == Level::Unknown).then_some(LevelReason::NothingKnown),
    ];
    // A signal that would only reach a lower level is no reason.
    let is_reason = |reason: &LevelReason| {
        matches!(reason, LevelReason::Tier { .. } | LevelReason::NothingKnown) || file.level == Level::Medium
    };
    file.reasons = reasons.into_iter().flatten().filter(is_reason).collect();
}

/// How files are ordered: what decides first, then by level, where unknown is no more than LOW, by HIGH and MEDIUM
/// signals, and by place.
pub(super) fn file_order(
    file: &FileAssessment,
) -> (Reverse<bool>, Reverse<Level>, Reverse<usize>, Reverse<usize>, u32) {
    let number = |signal| Reverse(with_signal(file, signal).len());
    let level = if file.level == Level::Unknown { Level::Low } else { file.level };
    (Reverse(decides(file)), Reverse(level), number(Signal::High), number(Signal::Medium), file.index)
}

/// Sets the level, the reasons and the wish for an investigation of a change whose files are settled and in order.
pub(super) fn settle_level(assessment: &mut Assessment) {
    let raised = assessment.reasons.iter().find(|reason| matches!(reason, LevelReason::Raised { .. })).cloned();
    let before = assessment.level;
    (assessment.level, assessment.reasons) = level_with_reasons(assessment);
    if let Some(raised) = raised {
        assessment.level = assessment.level.max(before);
        assessment.reasons.insert(0, raised);
    }
    assessment.investigate = investigate(assessment);
}

fn level_with_reasons(assessment: &Assessment) -> (Level, Vec<LevelReason>) {
    if !anything_runs(assessment) {
        return match other_source_reason(assessment) {
            Some(source) => (Level::Medium, alloc::vec![source]),
            None => (Level::Low, nothing_runs(assessment)),
        };
    }
    if let (LevelRules::Rank, quiet @ [_, ..]) = (assessment.rules, assessment.found.quiet.as_slice()) {
        return (Level::Low, alloc::vec![LevelReason::Quiet { parts: quiet.to_vec() }]);
    }
    let (level, mut reasons) = level_of_rank_and_files(assessment);
    let (raised, why) = raised_by_findings(assessment, level);
    if raised > level {
        reasons.splice(0..0, why);
    }
    (raised.max(level), reasons)
}

/// From how many signals that earned it on a change is HIGH.
const EARNED_HIGH: usize = 3;

/// The level that findings raise a ranked change to: MEDIUM by one that has earned it, by what others import or by code
/// from another source. HIGH by three signals that have earned it, or by two of a change that is not LOW without them.
/// A signal that only names a busy place raises nothing alone: it says nothing of this change.
fn raised_by_findings(assessment: &Assessment, level: Level) -> (Level, Vec<LevelReason>) {
    let source = other_source_reason(assessment);
    if LevelBasis::of(assessment) != LevelBasis::Kind {
        return (if source.is_some() { Level::Medium } else { level }, source.into_iter().collect());
    }
    let findings = &assessment.found.findings;
    let signals: Vec<SignalName> = assessment.found.earned.iter().map(|row| row.signal).collect();
    let is_specific = |signal: &SignalName| {
        *signal != SignalName::FixedOften && findings.iter().any(|finding| finding.signal == *signal)
    };
    let has_specific = signals.iter().any(is_specific);
    let breaks = findings.iter().find(|finding| finding.signal == SignalName::BrokenImporters);
    let strong = signals.len().saturating_add(usize::from(level >= Level::Medium));
    let raised = match signals.as_slice() {
        [_, _, ..] if strong >= EARNED_HIGH => Level::High,
        _ if has_specific || breaks.is_some() || source.is_some() => Level::Medium,
        _ => level,
    };
    let breaks = breaks.map(|finding| LevelReason::BreaksImporters { file: finding.file });
    let earned = (!signals.is_empty()).then_some(LevelReason::Earned { signals });
    (raised, earned.into_iter().chain(source).chain(breaks).collect())
}

/// Code from another source: never LOW, also in a lock file and where there is no rank. The seed's rules don't know it.
fn other_source_reason(assessment: &Assessment) -> Option<LevelReason> {
    let findings = assessment.found.findings.iter().filter(|_| assessment.rules == LevelRules::Rank);
    let source = findings.into_iter().find(|finding| finding.signal == SignalName::OtherSource)?;
    Some(LevelReason::OtherSource { file: source.file })
}

/// The level by the score's place, and why it is not the one of that place. A place says that a change is large. It
/// raises one that stands out among the newest changes too, and of which a finding says where to look.
fn level_by_place(assessment: &Assessment) -> (Option<Level>, Option<LevelReason>) {
    let level = Level::of(assessment.score.signal).filter(|_| assessment.rules != LevelRules::Seed);
    let (Some(rank), Some(recent)) = (assessment.score.rank, assessment.score.recent) else { return (level, None) };
    if level <= Some(Level::Low) || assessment.rules != LevelRules::Rank {
        return (level, None);
    }
    if recent.percentile < STANDS_OUT {
        return (Some(Level::Low), Some(LevelReason::RankOfMany { recent: recent.percentile }));
    }
    match assessment.found.findings.as_slice() {
        [_, ..] => (level, None),
        [] if rank.percentile.min(recent.percentile) >= EXCEPTIONAL => (Some(Level::Medium), None),
        [] => (Some(Level::Low), Some(LevelReason::RankAlone { percentile: rank.percentile })),
    }
}

/// The level by the rank, sensitive files and, without a rank, the worst file.
fn level_of_rank_and_files(assessment: &Assessment) -> (Level, Vec<LevelReason>) {
    let (by_score, why_lower) = level_by_place(assessment);
    let is_known = |file: &&FileAssessment| decides(file) && file.level != Level::Unknown;
    // The files are in order, so the first is the worst.
    let worst = assessment.files.iter().find(is_known);
    let by_file = worst.map(|file| file.level);
    let Some(level) = by_score.max(by_file) else {
        return match assessment.rules {
            LevelRules::Rank => (Level::Unknown, alloc::vec![LevelReason::NothingKnown]),
            LevelRules::Seed | LevelRules::RankOrSeed => (Level::Medium, alloc::vec![LevelReason::AllUnknown]),
        };
    };
    let mut reasons: Vec<LevelReason> = why_lower.filter(|_| level == Level::Low).into_iter().collect();
    if let Some(rank) = assessment.score.rank.filter(|_| by_score == Some(level)) {
        reasons.push(LevelReason::Score { percentile: rank.percentile });
    }
    if let Some(worst) = worst.filter(|file| file.level == level) {
        if level > Level::Low {
            reasons.push(LevelReason::WorstFile { file: worst.index });
        }
        reasons.extend(worst.reasons.iter().cloned());
    }
    if LevelBasis::of(assessment) == LevelBasis::KnownCount {
        reasons.push(LevelReason::Unranked);
    }
    (level, reasons)
}

/// The parts of a change in which nothing runs. Nothing for one without files.
fn nothing_runs(assessment: &Assessment) -> Vec<LevelReason> {
    let roles: BTreeSet<FileRole> = assessment.files.iter().map(|file| file.class.role).collect();
    let roles: Vec<FileRole> = roles.into_iter().collect();
    if roles.is_empty() { Vec::new() } else { alloc::vec![LevelReason::NothingRuns { roles }] }
}

/// Whether anything in the change runs, or is sensitive.
fn anything_runs(assessment: &Assessment) -> bool {
    assessment.files.iter().any(|file| decides(file) || file.class.role == FileRole::Test)
}

fn investigate(assessment: &Assessment) -> Investigate {
    let is_quiet = assessment.rules == LevelRules::Rank && !assessment.found.quiet.is_empty();
    if is_quiet || !anything_runs(assessment) {
        return Investigate::NothingThatRuns;
    }
    let mut deciding = assessment.files.iter().filter(|file| decides(file));
    let is_wanted = match assessment.rules {
        LevelRules::Rank => {
            assessment.level > Level::Low || deciding.any(|file| !with_signal(file, Signal::High).is_empty())
        }
        LevelRules::Seed | LevelRules::RankOrSeed => {
            deciding.any(speaks_up)
                || assessment.score.signal == Signal::High
                || assessment.reasons.contains(&LevelReason::AllUnknown)
        }
    };
    if is_wanted { Investigate::Yes } else { Investigate::NothingHigh }
}

/// Whether code measures Tier 2 of a file.
pub(super) fn wants_tier_two(assessment: &Assessment, file: &FileAssessment) -> bool {
    let is_wanted = match assessment.rules {
        LevelRules::Rank => assessment.investigate == Investigate::Yes,
        LevelRules::Seed | LevelRules::RankOrSeed => speaks_up(file),
    };
    is_wanted && decides_level(file.class.role)
}
