//! The test of a threshold on alarms that were judged after it was chosen.
//!
//! A threshold that is chosen among judged alarms always fits these alarms. So each alarm is counted by the threshold
//! that the alarms before it suggest: before anybody's verdict on it, it is silenced or kept. If the value says nothing
//! about the verdict, false alarms are equally frequent on both sides, and [`DifferenceTest`] bounds the chance of ever
//! concluding otherwise, however often somebody looks.

use proem_risk::level::{Steps, Thresholds};
use proem_score::interval::{Z95, wilson};
use proem_score::sequential::{ArmTally, DifferenceTest, DifferenceVerdict};

use super::suggest::{FEWEST, Suggestion, best_threshold, suggestion};
use super::tally::judged_by_time;
use super::{AssessmentOpinion, FeedbackVerdict, Meter};

/// The fewest judged alarms from which a threshold is chosen to be tested.
const FIRST_CHOICE: usize = 12;
/// The choice is renewed whenever the alarms grew by this part of their number.
const RENEWAL: usize = 8;
/// The lower end of the interval of the right alarms that are kept must not be below this share.
const KEPT_AT_LEAST: f64 = 0.75;

/// Alarms that were judged after a threshold was chosen, by what it would have done to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForesightTally {
    /// False alarms that it would not have raised.
    pub silenced_false: u64,
    /// Right alarms that it would not have raised.
    pub silenced_right: u64,
    /// False alarms that it would have raised still.
    pub kept_false: u64,
    /// Right alarms that it would have raised still.
    pub kept_right: u64,
}

impl ForesightTally {
    /// All alarms.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.silenced_false
            .saturating_add(self.silenced_right)
            .saturating_add(self.kept_false)
            .saturating_add(self.kept_right)
    }
}

/// A growing series of judged alarms of one meter, in the order of their verdicts.
#[derive(Debug, Clone)]
pub struct ThresholdTrial {
    meter: Meter,
    from: Steps,
    test: DifferenceTest,
    values: Vec<(f64, AssessmentOpinion)>,
    candidate: Option<f64>,
    next_choice: usize,
    tallies: TrialTallies,
}

/// The judged alarms that a candidate keeps, those that it silences, and both with their verdicts.
#[derive(Debug, Clone, Default)]
struct TrialTallies {
    kept: ArmTally,
    silenced: ArmTally,
    foresight: ForesightTally,
}

/// The evidence about a meter's threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdEvidence {
    /// The kind of alarm that is on trial.
    pub meter: Meter,
    /// How many of its HIGH signals people judged.
    pub judged: u64,
    /// The time of the newest of these verdicts, in milliseconds since 1970.
    pub newest: Option<i64>,
    /// Those that were judged after a threshold was chosen.
    pub foresight: ForesightTally,
    /// The change that is shown to be better. `None` as long as there is none.
    pub proven: Option<Suggestion>,
    /// About how many more verdicts decide, if those to come are like those so far. `None` if that is unknown.
    pub missing: Option<u64>,
}

impl ThresholdTrial {
    /// An empty series that is judged by thresholds `from`. Its conclusion is wrong with a probability of `error` at
    /// most. `None` if that is not strictly between 0 and 1.
    #[must_use]
    pub fn new(meter: Meter, from: Steps, error: f64) -> Option<Self> {
        Some(Self {
            meter,
            from,
            test: DifferenceTest::new(error, 0.5)?,
            values: Vec::new(),
            candidate: None,
            next_choice: FIRST_CHOICE,
            tallies: TrialTallies::default(),
        })
    }

    /// Adds a judged alarm. A value that the present threshold does not call HIGH is no evidence about it.
    pub fn add(&mut self, value: f64, said: AssessmentOpinion) {
        if !self.meter.is_high(value, self.from.second) {
            return;
        }
        if let Some(second) = self.candidate {
            let is_kept = self.meter.is_high(value, second);
            let tally = &mut self.tallies.foresight;
            let (count, false_alarm) = match (is_kept, said) {
                (true, AssessmentOpinion::FalsePositive) => (&mut tally.kept_false, 1.0),
                (true, AssessmentOpinion::Caught) => (&mut tally.kept_right, 0.0),
                (false, AssessmentOpinion::FalsePositive) => (&mut tally.silenced_false, 1.0),
                (false, AssessmentOpinion::Caught) => (&mut tally.silenced_right, 0.0),
            };
            *count = count.saturating_add(1);
            let _counted =
                if is_kept { self.tallies.kept.add(false_alarm) } else { self.tallies.silenced.add(false_alarm) };
        }
        self.values.push((value, said));
        if self.values.len() >= self.next_choice {
            self.candidate = best_threshold(self.meter, &self.values, self.from).map(|best| best.second);
            self.next_choice = self.values.len().saturating_add((self.values.len() / RENEWAL).max(1));
        }
    }

    /// The change that all alarms together suggest, if the test on later alarms shows that such changes are better.
    #[must_use]
    pub fn proven(&self) -> Option<Suggestion> {
        let ForesightTally { silenced_right, kept_right, .. } = self.tallies.foresight;
        let keeps = wilson(kept_right, kept_right.saturating_add(silenced_right), Z95)
            .is_some_and(|interval| interval.low >= KEPT_AT_LEAST);
        let is_better = self.test.verdict(&self.tallies.kept, &self.tallies.silenced, 0.0) == DifferenceVerdict::Better;
        (keeps && is_better).then(|| suggestion(self.meter, &self.values, self.from)).flatten()
    }

    /// The change that the same alarms suggest without any test.
    #[must_use]
    pub fn untested(&self) -> Option<Suggestion> {
        suggestion(self.meter, &self.values, self.from)
    }

    fn evidence(&self, newest: Option<i64>) -> ThresholdEvidence {
        let judged = u64::try_from(self.values.len()).unwrap_or(u64::MAX);
        let missing = if judged < FEWEST {
            Some(FEWEST.saturating_sub(judged))
        } else {
            self.test.outcomes_missing(&self.tallies.kept, &self.tallies.silenced, 0.0)
        };
        let (meter, foresight) = (self.meter, self.tallies.foresight);
        ThresholdEvidence { meter, judged, newest, foresight, proven: self.proven(), missing }
    }
}

/// The evidence about each meter's threshold. The conclusions about all meters together are wrong with a probability of
/// `error` at most. `since` is the time, in milliseconds since 1970, after which verdicts on a meter count.
#[must_use]
pub fn weigh_thresholds(
    verdicts: &[FeedbackVerdict],
    thresholds: &Thresholds,
    error: f64,
    since: impl Fn(Meter) -> i64,
) -> Vec<ThresholdEvidence> {
    #[expect(clippy::cast_precision_loss, reason = "there are six")]
    let own = error / Meter::ALL.len() as f64;
    let weigh = |meter: Meter| {
        let mut trial = ThresholdTrial::new(meter, meter.steps(thresholds), own)?;
        let first = since(meter);
        let judged = judged_by_time(meter, verdicts.iter().filter(|verdict| verdict.at > first));
        for (verdict, value) in &judged {
            trial.add(*value, verdict.said);
        }
        Some(trial.evidence(judged.last().map(|(verdict, _)| verdict.at)))
    };
    Meter::ALL.into_iter().filter_map(weigh).collect()
}
