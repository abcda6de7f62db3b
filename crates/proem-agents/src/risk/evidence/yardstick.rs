//! The measures that a model reads signals by: from which value each is HIGH, and how often past changes that had it
//! needed no fix.
//!
//! Invariants: each rate is counted, in this repository or in the clones of the shipped figures, or it is called
//! unknown. Nothing that the change or the project's files say is in here.

use std::collections::BTreeSet;

use proem_risk::assess::Assessment;
use proem_risk::level::Thresholds;
use proem_risk::metric::{MetricName, Signal};
use proem_risk::signal::{Base, RowSource, SignalName, SignalRow, SignalTable, TrainedSignal};
use serde::{Deserialize, Serialize};

use super::is_judged;
use crate::risk::feedback::Meter;

/// The thresholds in force, and the measured worth of signals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Yardsticks {
    /// The thresholds in force.
    pub thresholds: Thresholds,
    /// How many past changes of this repository needed a fix.
    pub base: Base,
    /// The worth of each signal.
    pub signals: Vec<SignalRow>,
}

impl Yardsticks {
    /// The shipped thresholds and figures, for a repository without a past.
    ///
    /// # Errors
    ///
    /// If the shipped files are damaged, which a test excludes.
    pub fn shipped() -> Result<Self, proem_risk::Error> {
        let signals = SignalTable::default().rows(&TrainedSignal::shipped()?);
        Ok(Self { thresholds: Thresholds::shipped()?, base: Base::default(), signals })
    }

    /// A line for each kind of signal that an assessment has, after the base rate.
    #[must_use]
    pub fn lines(&self, assessment: &Assessment) -> Vec<String> {
        let mut lines = vec![self.base_line()];
        let files = || assessment.files.iter().filter(|file| is_judged(file));
        let measured: BTreeSet<MetricName> = files()
            .flat_map(|file| &file.metrics)
            .filter(|metric| metric.signal != Signal::Unknown)
            .map(|metric| metric.name)
            .collect();
        for meter in Meter::ALL {
            let is_there = match meter {
                Meter::Score => assessment.score.rank.is_some(),
                _ => measured.iter().any(|name| Meter::of(*name) == Some(meter)),
            };
            if is_there {
                let rate = match (meter, self.signal_of(meter)) {
                    (Meter::Score, _) => score_rate(assessment),
                    (_, Some(signal)) => self.rate(signal),
                    (_, None) => UNKNOWN_RATE.to_owned(),
                };
                lines.push(format!("{}: {}; {rate}", meter.as_str(), meter.threshold_words(&self.thresholds)));
            }
        }
        let sensitive = files().any(|file| file.class.sensitive.is_some()).then_some(SignalName::Sensitive);
        let partner = (!assessment.partners.is_empty()).then_some(SignalName::MissingPartner);
        let found = assessment.found.findings.iter().map(|finding| finding.signal);
        let others: BTreeSet<SignalName> = found.chain(sensitive).chain(partner).collect();
        lines.extend(others.into_iter().map(|signal| format!("{}: {}", signal.as_str(), self.rate(signal))));
        lines
    }

    fn base_line(&self) -> String {
        let Base { fixed, commits } = self.base;
        match commits.checked_sub(fixed) {
            Some(calm) if commits > 0 => format!("any change: {calm} of {commits} past changes here needed no fix"),
            _ => "any change: how many needed a fix here is unknown".to_owned(),
        }
    }

    /// The measured signal that a meter's HIGH is at the shipped thresholds. Beyond others nothing was counted.
    fn signal_of(&self, meter: Meter) -> Option<SignalName> {
        let signal = match meter {
            Meter::Coupling => SignalName::HighCoupling,
            Meter::CoChange => SignalName::HighCoChange,
            Meter::Score | Meter::TestRatio | Meter::OwnershipChurn | Meter::IncidentSimilarity => return None,
        };
        let shipped = Thresholds::shipped().ok()?;
        (meter.steps(&shipped) == meter.steps(&self.thresholds)).then_some(signal)
    }

    /// How many past changes with a signal needed no fix.
    fn rate(&self, signal: SignalName) -> String {
        let row = self.signals.iter().find(|row| row.signal == signal);
        let counted = row.filter(|row| row.source != RowSource::Unmeasured && row.with.commits > 0);
        let counted = counted.and_then(|row| Some((row, row.with.commits.checked_sub(row.with.fixed)?)));
        let Some((row, calm)) = counted else { return UNKNOWN_RATE.to_owned() };
        let place = if row.source == RowSource::Here { "past changes here" } else { "changes of other projects" };
        format!("false alarm in {calm} of {} {place}", row.with.commits)
    }
}

/// The words for a rate that nobody counted.
const UNKNOWN_RATE: &str = "how often it is a false alarm is unknown";

/// How many past changes of like rank needed no fix.
fn score_rate(assessment: &Assessment) -> String {
    let like_this = assessment.found.worth.and_then(|worth| worth.like_this).filter(|base| base.commits > 0);
    match like_this.and_then(|base| Some((base.commits.checked_sub(base.fixed)?, base.commits))) {
        Some((calm, commits)) => format!("false alarm in {calm} of {commits} past changes here of like rank"),
        None => UNKNOWN_RATE.to_owned(),
    }
}
