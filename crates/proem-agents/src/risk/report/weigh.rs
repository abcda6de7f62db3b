//! Orders pieces of evidence.

use crate::words::number_of;
use std::collections::BTreeMap;

use proem_risk::assess::{Assessment, FileAssessment, Investigate};
use proem_risk::change::Change;
use proem_risk::level::{LevelReason, percent_words};
use proem_risk::metric::{Metric, MetricName, Signal};

use super::ReportSentence;
use super::change::counted_lines;
use crate::risk::evidence::is_judged;

/// How many pieces of evidence a report by the rules begins with.
const MOST: usize = 3;

/// Metrics in the order in which they are told where their signals are equal: what went wrong before, who
/// knows the place, what belongs together, what depends on it, what tests it.
const ORDER: [MetricName; 6] = [
    MetricName::IncidentSimilarity,
    MetricName::OwnershipChurn,
    MetricName::CoChange,
    MetricName::CoChangeGap,
    MetricName::Coupling,
    MetricName::TestRatio,
];

/// The most important evidence of a change: the score if it decides, then signals by strength, each metric once before
/// any of them a second time. Without a signal, the score and the size.
pub(super) fn change_evidence(change: &Change, assessment: &Assessment) -> Vec<ReportSentence> {
    let has_more = change.files.len() > 1;
    let judged = assessment.files.iter().filter(|file| is_judged(file));
    let files = judged.flat_map(|file| file.metrics.iter().map(move |metric| (file, metric)));
    let mut words: Vec<ReportSentence> = strongest_first(files.collect())
        .into_iter()
        .map(|(file, metric)| metric_sentence(file, metric, has_more))
        .collect();
    let decides = assessment.reasons.iter().any(|reason| matches!(reason, LevelReason::Score { .. }));
    if decides || words.is_empty() {
        words.insert(0, score_sentence(change, assessment));
    }
    words.truncate(MOST);
    words
}

/// The most important evidence of a file.
pub(super) fn file_key_evidence(file: &FileAssessment) -> Vec<ReportSentence> {
    let metrics = file.metrics.iter().map(|metric| (file, metric)).collect();
    strongest_first(metrics).into_iter().take(MOST).map(|(file, metric)| metric_sentence(file, metric, false)).collect()
}

/// HIGH signals before MEDIUM ones. Among equals the first of each metric before the second.
fn strongest_first<'a>(mut all: Vec<(&'a FileAssessment, &'a Metric)>) -> Vec<(&'a FileAssessment, &'a Metric)> {
    all.retain(|(_, metric)| matches!(metric.signal, Signal::High | Signal::Medium));
    let mut seen: BTreeMap<(bool, MetricName), usize> = BTreeMap::new();
    let mut keyed = Vec::new();
    for (index, (_, metric)) in all.iter().enumerate() {
        let is_milder = metric.signal != Signal::High;
        let nth = seen.entry((is_milder, metric.name)).or_default();
        keyed.push((is_milder, *nth, metric_order(metric.name), index));
        *nth = nth.saturating_add(1);
    }
    keyed.sort_unstable();
    keyed.into_iter().filter_map(|(.., index)| all.get(index).copied()).collect()
}

fn metric_order(name: MetricName) -> usize {
    ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len())
}

/// A metric's sentence, with the file that it speaks of unless that is clear.
fn metric_sentence(file: &FileAssessment, metric: &Metric, has_more: bool) -> ReportSentence {
    let words = ReportSentence::from(&metric.evidence);
    if has_more && !words.names(&file.path) {
        ReportSentence::default().path(&file.path).and(": ").join(words)
    } else {
        words
    }
}

/// How large the change is and where its score is.
pub(super) fn score_sentence(change: &Change, assessment: &Assessment) -> ReportSentence {
    let files = number_of(change.files.len(), "file");
    let size = match counted_lines(change) {
        Some((added, removed)) => format!("{} added and {removed} removed in {files}", number_of(added, "line")),
        None => format!("{files} whose lines are unknown"),
    };
    let Some(rank) = assessment.score.rank else {
        let why = match (assessment.investigate, &assessment.score.scored) {
            (Investigate::NothingThatRuns, _) => "it changes no code",
            (_, None) => "none of its files has a score",
            (_, Some(_)) => "there are too few past commits to compare it with",
        };
        return ReportSentence::ours(format!("{size}; {why}"));
    };
    let weighty = weighty(assessment);
    let decides = matches!(assessment.score.signal, Signal::High | Signal::Medium);
    let mostly =
        if weighty.is_empty() || !decides { String::new() } else { format!(", mostly by {}", weighty.join(" and ")) };
    let percent = percent_words(rank.percentile);
    ReportSentence::ours(format!("{size}: scored above {percent} % of {} past commits{mostly}", rank.among))
}

/// The subjects of the two metrics that raise the score most.
fn weighty(assessment: &Assessment) -> Vec<&'static str> {
    let scored = assessment.score.scored.as_ref();
    let mut raising: Vec<_> =
        scored.into_iter().flat_map(|scored| &scored.contributions).filter(|one| one.log_odds > 0.0).collect();
    raising.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds));
    raising.iter().take(2).map(|one| one.feature.in_words()).collect()
}
