//! The rules that make levels of signals.

use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{Assessment, FileAssessment, Investigate};
use crate::level::{Level, Reason};
use crate::metric::{Name, Signal, Tier};
use crate::metrics::counts;
use crate::path::Role;

/// The level by how many signals are HIGH.
const fn by_count(high: usize) -> Level {
    match high {
        0 => Level::Low,
        1 => Level::Medium,
        _ => Level::High,
    }
}

fn with_signal(file: &FileAssessment, signal: Signal) -> Vec<Name> {
    file.signals().filter(|(_, other)| *other == signal).map(|(name, _)| name).collect()
}

/// Whether none of a file's Tier 1 signals is known, of a file that counts.
pub(super) fn is_unknown(file: &FileAssessment) -> bool {
    let tier_one = || file.signals().filter(|(name, _)| name.tier() == Some(Tier::One));
    counts(file.class.role) && tier_one().all(|(_, signal)| signal == Signal::Unknown)
}

/// Whether the rules want a file investigated.
pub(super) fn wants_investigation(file: &FileAssessment) -> bool {
    file.class.sensitive.is_some() || is_unknown(file) || file.signals().any(|(_, signal)| signal == Signal::High)
}

/// The level that a file would have with some more HIGH signals.
pub(super) fn level_with_high(file: &FileAssessment, more: usize) -> Level {
    let level = by_count(with_signal(file, Signal::High).len().saturating_add(more));
    if file.class.sensitive.is_some() || is_unknown(file) { level.max(Level::Medium) } else { level }
}

/// Whether a file decides about the level of the change: it counts, or is sensitive whatever it is.
fn decides(file: &FileAssessment) -> bool {
    counts(file.class.role) || file.class.sensitive.is_some()
}

/// Sets the level and the reasons of a file.
pub(super) fn settle_file(file: &mut FileAssessment) {
    let names = with_signal(file, Signal::High);
    file.level = level_with_high(file, 0);
    let tier = by_count(names.len());
    let high = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let reasons = [
        (tier == file.level && (high > 0 || !is_unknown(file))).then_some(Reason::Tier { high, names }),
        file.class.sensitive.is_some().then_some(Reason::Sensitive { file: file.index }),
        is_unknown(file).then_some(Reason::AllUnknown),
    ];
    // What would only reach a lower level is no reason.
    let is_reason = |reason: &Reason| matches!(reason, Reason::Tier { .. }) || file.level == Level::Medium;
    file.reasons = reasons.into_iter().flatten().filter(is_reason).collect();
}

/// How files are ordered: what decides first, then by level, HIGH and MEDIUM signals, and place.
pub(super) fn order(file: &FileAssessment) -> (Reverse<bool>, Reverse<Level>, Reverse<usize>, Reverse<usize>, u32) {
    let number = |signal| Reverse(with_signal(file, signal).len());
    (Reverse(decides(file)), Reverse(file.level), number(Signal::High), number(Signal::Medium), file.index)
}

/// Sets the level, the reasons and the wish for an investigation of a change whose files are settled and in order.
pub(super) fn settle(assessment: &mut Assessment) {
    let raised = assessment.reasons.iter().find(|reason| matches!(reason, Reason::Raised { .. })).cloned();
    let before = assessment.level;
    (assessment.level, assessment.reasons) = level(assessment);
    if let Some(raised) = raised {
        assessment.level = assessment.level.max(before);
        assessment.reasons.insert(0, raised);
    }
    assessment.investigate = investigate(assessment);
}

fn level(assessment: &Assessment) -> (Level, Vec<Reason>) {
    if !runs(assessment) {
        return (Level::Low, Vec::new());
    }
    let by_score = Level::of(assessment.score.signal);
    let worst = assessment.files.first().filter(|file| decides(file));
    let by_file = worst.map(|file| file.level);
    let Some(level) = by_score.max(by_file) else {
        return (Level::Medium, alloc::vec![Reason::AllUnknown]);
    };
    let mut reasons = Vec::new();
    if let Some(rank) = assessment.score.rank.filter(|_| by_score == Some(level)) {
        reasons.push(Reason::Score { percentile: rank.percentile });
    }
    if let Some(worst) = worst.filter(|file| file.level == level) {
        if level > Level::Low {
            reasons.push(Reason::WorstFile { file: worst.index });
        }
        reasons.extend(worst.reasons.iter().cloned());
    }
    (level, reasons)
}

/// Whether anything in the change runs, or is sensitive.
fn runs(assessment: &Assessment) -> bool {
    assessment.files.iter().any(|file| decides(file) || file.class.role == Role::Test)
}

fn investigate(assessment: &Assessment) -> Investigate {
    if !runs(assessment) {
        return Investigate::NothingThatRuns;
    }
    let is_wanted = assessment.files.iter().any(|file| decides(file) && wants_investigation(file));
    let is_high = assessment.score.signal == Signal::High;
    let is_unknown = assessment.reasons.contains(&Reason::AllUnknown);
    if is_wanted || is_high || is_unknown { Investigate::Yes } else { Investigate::NothingHigh }
}
