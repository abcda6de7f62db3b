//! Verdicts, counted by metric and reason.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proem_risk::level::Level;
use proem_risk::metric::Signal;
use proem_score::interval::{Z95, wilson};
use schemars::JsonSchema;
use serde::Serialize;

use super::meter::Direction;
use super::{AssessmentOpinion, FeedbackVerdict, Meter, SignalAt};
use crate::risk::report::IntervalOut;

/// The most characters of a reason that count.
const REASON: usize = 120;
/// The most reasons that are told for all metrics together.
const REASONS: usize = 10;
/// The most reasons that are told for one metric.
const REASONS_OF_METRIC: usize = 3;

/// The opinions of a period.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FeedbackTally {
    /// Runs that somebody said something of. The last verdict of a run counts.
    pub runs: u64,
    /// Those that were said to be false alarms.
    pub false_positives: u64,
    /// Those that were said to be right.
    pub caught: u64,
    /// Each metric.
    pub metrics: Vec<MetricTally>,
    /// Why alarms were called false, the most frequent reason first.
    pub reasons: Vec<ReasonTally>,
    /// How many other reasons were given.
    pub other_reasons: u64,
    #[serde(skip)]
    pub(super) values: BTreeMap<Meter, Vec<(f64, AssessmentOpinion)>>,
}

/// The opinions of assessments of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LevelTally {
    /// The level by the rules. Null for records that don't say it.
    #[schemars(with = "Option<String>")]
    pub level: Option<Level>,
    /// How many assessments somebody said something of.
    pub n: u64,
    /// Those of them that were said to be false alarms.
    pub false_positives: u64,
    /// Those of them that were said to be risky.
    pub caught: u64,
}

/// The opinions of one metric.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricTally {
    /// The metric whose signals are counted.
    pub metric: Meter,
    /// Judged runs in which it was HIGH.
    pub n: u64,
    /// Those of them that were said to be false alarms.
    pub false_positives: u64,
    /// Their share. Null without any.
    pub rate: Option<f64>,
    /// The range of that share in 95 of 100 repetitions (Wilson 1927). Null without any.
    pub interval: Option<IntervalOut>,
    /// Why, the most frequent reason first. At most three.
    pub reasons: Vec<ReasonTally>,
}

/// A reason that was given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ReasonTally {
    /// In people's words, in lower case on one line. From outside.
    pub reason: String,
    /// How often.
    pub count: u64,
}

/// Counts what was said. Of several verdicts on a run the last counts. Of several files of a run the one whose value is
/// worst.
#[must_use]
pub fn tally_verdicts(verdicts: &[FeedbackVerdict]) -> FeedbackTally {
    let runs: Vec<&FeedbackVerdict> = last_verdicts(verdicts).into_values().collect();
    let (reasons, other_reasons) = false_alarm_reasons(runs.iter().copied(), REASONS);
    let of = |said: AssessmentOpinion| usize_as_u64(runs.iter().filter(|verdict| verdict.said == said).count());
    FeedbackTally {
        runs: usize_as_u64(runs.len()),
        false_positives: of(AssessmentOpinion::FalsePositive),
        caught: of(AssessmentOpinion::Caught),
        metrics: Meter::ALL.into_iter().map(|meter| of_metric(meter, &runs)).collect(),
        reasons,
        other_reasons,
        values: Meter::ALL.into_iter().map(|meter| (meter, judged_values(meter, &runs))).collect(),
    }
}

/// The last verdict of each run, by the run's id.
#[must_use]
pub fn last_verdicts(verdicts: &[FeedbackVerdict]) -> BTreeMap<&str, &FeedbackVerdict> {
    last_of_each_run(verdicts.iter())
}

fn last_of_each_run<'v>(verdicts: impl Iterator<Item = &'v FeedbackVerdict>) -> BTreeMap<&'v str, &'v FeedbackVerdict> {
    let mut last: BTreeMap<&str, &FeedbackVerdict> = BTreeMap::new();
    for verdict in verdicts {
        let known = last.entry(&verdict.run).or_insert(verdict);
        if verdict.at >= known.at {
            *known = verdict;
        }
    }
    last
}

/// Counts what was said of each level by the rules, the highest first. Levels that nobody spoke of have no row.
#[must_use]
pub fn tally_levels(verdicts: &[FeedbackVerdict]) -> Vec<LevelTally> {
    let mut levels: BTreeMap<Reverse<Option<Level>>, LevelTally> = BTreeMap::new();
    for verdict in last_verdicts(verdicts).into_values() {
        let none = LevelTally { level: verdict.level, n: 0, false_positives: 0, caught: 0 };
        let tally = levels.entry(Reverse(verdict.level)).or_insert(none);
        tally.n = tally.n.saturating_add(1);
        let said = match verdict.said {
            AssessmentOpinion::FalsePositive => &mut tally.false_positives,
            AssessmentOpinion::Caught => &mut tally.caught,
        };
        *said = said.saturating_add(1);
    }
    levels.into_values().collect()
}

/// Whether a verdict speaks of a meter: it was HIGH, and no other one was named.
fn concerns(verdict: &FeedbackVerdict, meter: Meter) -> bool {
    let is_named = verdict.meters.is_empty() || verdict.meters.contains(&meter);
    is_named && high_signals(verdict, meter).next().is_some()
}

fn high_signals(verdict: &FeedbackVerdict, meter: Meter) -> impl Iterator<Item = &SignalAt> {
    verdict.signals.iter().filter(move |signal| signal.meter == meter && signal.signal == Signal::High)
}

fn of_metric(meter: Meter, runs: &[&FeedbackVerdict]) -> MetricTally {
    let judged = || runs.iter().copied().filter(|verdict| concerns(verdict, meter));
    let (n, false_positives) = (
        usize_as_u64(judged().count()),
        usize_as_u64(judged().filter(|verdict| verdict.said == AssessmentOpinion::FalsePositive).count()),
    );
    #[expect(clippy::cast_precision_loss, reason = "counts above 2⁵³ lose a part in 10¹⁶")]
    let rate = (n > 0).then(|| false_positives as f64 / n as f64);
    let interval = wilson(false_positives, n, Z95).filter(|_| n > 0);
    let interval = interval.map(|interval| IntervalOut { low: interval.low, high: interval.high });
    let (reasons, _) = false_alarm_reasons(judged(), REASONS_OF_METRIC);
    MetricTally { metric: meter, n, false_positives, rate, interval, reasons }
}

impl FeedbackTally {
    /// The opinions of one metric.
    #[must_use]
    pub fn of(&self, meter: Meter) -> Option<&MetricTally> {
        self.metrics.iter().find(|metric| metric.metric == meter)
    }
}

/// The worst value of each run in which a meter was HIGH and which was judged for it.
fn judged_values(meter: Meter, runs: &[&FeedbackVerdict]) -> Vec<(f64, AssessmentOpinion)> {
    runs.iter().filter(|verdict| concerns(verdict, meter)).filter_map(|verdict| worst_value(meter, verdict)).collect()
}

fn worst_value(meter: Meter, verdict: &FeedbackVerdict) -> Option<(f64, AssessmentOpinion)> {
    let values = high_signals(verdict, meter).filter_map(|signal| signal.value);
    let worst = match meter.direction() {
        Direction::Above => values.reduce(f64::max),
        Direction::Below => values.reduce(f64::min),
    };
    Some((worst?, verdict.said))
}

/// The verdicts on a meter in the order in which they were given, each with the worst value of its run. Of several
/// verdicts on a run the last counts.
pub(super) fn judged_by_time<'v>(
    meter: Meter,
    verdicts: impl Iterator<Item = &'v FeedbackVerdict>,
) -> Vec<(&'v FeedbackVerdict, f64)> {
    let mut runs: Vec<&FeedbackVerdict> = last_of_each_run(verdicts).into_values().collect();
    runs.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.run.cmp(&b.run)));
    let of_meter = runs.into_iter().filter(|verdict| concerns(verdict, meter));
    of_meter.filter_map(|verdict| Some((verdict, worst_value(meter, verdict)?.0))).collect()
}

/// The reasons of false alarms, most frequent first, and how many others there are.
fn false_alarm_reasons<'v>(
    verdicts: impl Iterator<Item = &'v FeedbackVerdict>,
    most: usize,
) -> (Vec<ReasonTally>, u64) {
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    for verdict in verdicts.filter(|verdict| verdict.said == AssessmentOpinion::FalsePositive) {
        let reason = normalise_reason(&verdict.reason);
        if !reason.is_empty() {
            let known = counted.entry(reason).or_default();
            *known = known.saturating_add(1);
        }
    }
    let mut all: Vec<ReasonTally> = counted.into_iter().map(|(reason, count)| ReasonTally { reason, count }).collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    let others = all.iter().skip(most).fold(0_u64, |sum, reason| sum.saturating_add(reason.count));
    all.truncate(most);
    (all, others)
}

/// A reason by which equal ones are found: lower case, one line, without hidden characters and full stop.
fn normalise_reason(reason: &str) -> String {
    let visible: String = reason.chars().map(|c| if proem_text::character::is_hidden(c) { ' ' } else { c }).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let text = words.join(" ").to_lowercase();
    text.trim_end_matches(['.', '!', ' ']).chars().take(REASON).collect()
}

fn usize_as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
