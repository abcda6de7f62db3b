//! The record of an assessment, and a person's opinion of it.

use proem_risk::assess::Assessment;
use proem_risk::level::Level;
use proem_risk::metric::{Metric, Signal};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Meter;

/// The most signals that are recorded of an assessment, the strongest first.
const MOST: usize = 1_000;

/// A person's opinion of an assessment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AssessmentOpinion {
    /// The alarm was false: the change was no risk.
    FalsePositive,
    /// The alarm was right: the change was a risk.
    Caught,
}

proem_text::word_table! {
    /// The word in the records.
    pub AssessmentOpinion {
        FalsePositive = "false-positive",
        Caught = "caught",
    }
}

/// A signal as it was when a change was assessed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignalAt {
    /// Of which file, by its place in the change. `None` for the change.
    pub file: Option<u32>,
    /// The meter of a metric, or of the score.
    pub meter: Meter,
    /// The rules' signal.
    pub signal: Signal,
    /// Its basis: the value, or the lower bound of its interval if that decides.
    pub value: Option<f64>,
}

/// A verdict with the signals that it speaks of.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedbackVerdict {
    /// The id of the run that is judged.
    pub run: String,
    /// When it was judged, in milliseconds since 1970.
    pub at: i64,
    /// The opinion.
    pub said: AssessmentOpinion,
    /// Its subject. Empty for everything that was HIGH.
    pub meters: Vec<Meter>,
    /// Why, in the person's words. From outside.
    pub reason: String,
    /// The level of the run, by the rules. `None` if its record doesn't say it.
    pub level: Option<Level>,
    /// The signals of the run.
    pub signals: Vec<SignalAt>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SignalRecord {
    file: Option<u32>,
    metric: String,
    signal: Signal,
    value: Option<f64>,
}

/// The record of an assessment for feedback: its level, and its HIGH and MEDIUM signals.
#[must_use]
pub fn recorded_signals(assessment: &Assessment) -> Json {
    let kept = |file: Option<u32>, meter: Meter, signal: Signal, value: Option<f64>| SignalRecord {
        file,
        metric: meter.as_str().to_owned(),
        signal,
        value,
    };
    let percentile = assessment.score.rank.map(|rank| rank.percentile);
    let score = kept(None, Meter::Score, assessment.score.signal, percentile);
    let files = assessment.files.iter().flat_map(|file| {
        let measured = file.metrics.iter().filter_map(|metric| Some((Meter::of(metric.name)?, metric)));
        measured.map(|(meter, metric)| kept(Some(file.index), meter, metric.signal, deciding(meter, metric)))
    });
    let mut all: Vec<SignalRecord> = std::iter::once(score)
        .chain(files)
        .filter(|kept| matches!(kept.signal, Signal::High | Signal::Medium))
        .collect();
    all.sort_by_key(|kept| kept.signal != Signal::High);
    all.truncate(MOST);
    json!({ "level": assessment.level, "signals": all })
}

/// The number that a signal is made of.
fn deciding(meter: Meter, metric: &Metric) -> Option<f64> {
    match meter {
        Meter::CoChange => metric.between.map(|between| between.low),
        _ => metric.value,
    }
}

/// The signals that [`recorded_signals`] recorded. Those of a name that is no longer known are left out, and so is
/// everything that is none.
#[must_use]
pub fn read_signals(recorded: &Json) -> Vec<SignalAt> {
    let read = |signal: &Json| {
        let SignalRecord { file, metric, signal, value } = SignalRecord::deserialize(signal).ok()?;
        Some(SignalAt { file, meter: Meter::parse(&metric)?, signal, value: value.filter(|value| value.is_finite()) })
    };
    recorded.get("signals").and_then(Json::as_array).into_iter().flatten().filter_map(read).collect()
}

/// The level that [`recorded_signals`] recorded.
#[must_use]
pub fn read_level(recorded: &Json) -> Option<Level> {
    Level::parse(recorded.get("level")?.as_str()?)
}

/// How a reason is recorded that is about some metrics only: `[coupling, co_change] why`.
#[must_use]
pub fn metric_reason_note(meters: &[Meter], reason: &str) -> String {
    if meters.is_empty() {
        return reason.to_owned();
    }
    let names: Vec<&str> = meters.iter().map(|meter| meter.as_str()).collect();
    format!("[{}] {reason}", names.join(", "))
}

/// Reads the output of [`metric_reason_note`].
#[must_use]
pub fn read_note(note: &str) -> (Vec<Meter>, &str) {
    let read = || {
        let (names, reason) = note.strip_prefix('[')?.split_once(']')?;
        let meters: Option<Vec<Meter>> = names.split(',').map(|name| Meter::parse(name.trim())).collect();
        Some((meters?, reason.trim_start()))
    };
    read().unwrap_or((Vec::new(), note))
}
