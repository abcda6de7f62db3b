//! The thresholds of signals.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::metric::{MetricName, Signal};
use crate::{Error, ErrorKind};

/// The thresholds of a metric's signals. `data/thresholds.json` has the defaults with their sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Coupling, in files: MEDIUM above the first, HIGH above the second (5, 10).
    pub coupling: Steps,
    /// Co-change, a share: MEDIUM above 0.3, HIGH above 0.7. Of the lower bound of Wilson's interval.
    pub co_change: Steps,
    /// Test lines to code lines: LOW from the first on, MEDIUM from the second on (0.8, 0.3).
    pub test_ratio: Steps,
    /// Days since the owner changed: LOW above the first, MEDIUM from the second on (90, 30).
    pub ownership_churn: Steps,
    /// Percentile of the similarity to incidents among random past commits: MEDIUM from the first on, HIGH
    /// from the second on.
    pub incident_similarity: Steps,
    /// The percentile of the score among past commits: MEDIUM from 80, HIGH from 95.
    pub score: Steps,
    /// The fewest sampled commits for a level by percentile: 50.
    pub sample: u32,
}

/// Two thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Between LOW and MEDIUM.
    pub first: f64,
    /// Between MEDIUM and HIGH.
    pub second: f64,
}

/// The file's form. A missing value keeps its default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThresholdsForm {
    coupling: Option<Steps>,
    co_change: Option<Steps>,
    test_ratio: Option<Steps>,
    ownership_churn: Option<Steps>,
    incident_similarity: Option<Steps>,
    score: Option<Steps>,
    sample: Option<u32>,
    /// The source of each; for readers only.
    #[serde(default, rename = "sources")]
    _sources: BTreeMap<String, String>,
}

/// In which direction a metric gets worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worse {
    /// When it grows.
    Up,
    /// When it falls.
    Down,
}

impl Thresholds {
    /// The shipped ones.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unreadable`] if the shipped file is damaged, which a test excludes.
    pub fn shipped() -> Result<Self, Error> {
        let file = parse_thresholds(include_str!("../../data/thresholds.json"))?;
        let missing = || Error::new(ErrorKind::Unreadable, "the shipped thresholds are not complete");
        let thresholds = Self {
            coupling: file.coupling.ok_or_else(missing)?,
            co_change: file.co_change.ok_or_else(missing)?,
            test_ratio: file.test_ratio.ok_or_else(missing)?,
            ownership_churn: file.ownership_churn.ok_or_else(missing)?,
            incident_similarity: file.incident_similarity.ok_or_else(missing)?,
            score: file.score.ok_or_else(missing)?,
            sample: file.sample.ok_or_else(missing)?,
        };
        thresholds.check()?;
        Ok(thresholds)
    }

    /// Thresholds of a user's own, in the form of `data/thresholds.json`; what is missing keeps its default.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unreadable`] for what is no such file, and as for [`Thresholds::check`].
    pub fn read(json: &str) -> Result<Self, Error> {
        let (file, shipped) = (parse_thresholds(json)?, Self::shipped()?);
        let thresholds = Self {
            coupling: file.coupling.unwrap_or(shipped.coupling),
            co_change: file.co_change.unwrap_or(shipped.co_change),
            test_ratio: file.test_ratio.unwrap_or(shipped.test_ratio),
            ownership_churn: file.ownership_churn.unwrap_or(shipped.ownership_churn),
            incident_similarity: file.incident_similarity.unwrap_or(shipped.incident_similarity),
            score: file.score.unwrap_or(shipped.score),
            sample: file.sample.unwrap_or(shipped.sample),
        };
        thresholds.check()?;
        Ok(thresholds)
    }

    /// Whether every threshold is a number in its range and the two of each metric are in order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfRange`] with the name of the first that is not.
    pub fn check(&self) -> Result<(), Error> {
        check_steps_in_order("coupling", self.coupling, Worse::Up, f64::MAX)?;
        check_steps_in_order("co_change", self.co_change, Worse::Up, 1.0)?;
        check_steps_in_order("test_ratio", self.test_ratio, Worse::Down, f64::MAX)?;
        check_steps_in_order("ownership_churn", self.ownership_churn, Worse::Down, f64::MAX)?;
        check_steps_in_order("incident_similarity", self.incident_similarity, Worse::Up, 100.0)?;
        check_steps_in_order("score", self.score, Worse::Up, 100.0)?;
        if self.sample == 0 {
            return Err(Error::new(ErrorKind::OutOfRange, "threshold `sample` must be at least 1"));
        }
        Ok(())
    }

    /// The rules' signal for a value of a metric. [`Signal::None`] for a metric without thresholds, [`Signal::Unknown`]
    /// for a value that is no number. For co-change the value is the lower bound of the share.
    #[must_use]
    pub fn signal(&self, name: MetricName, value: f64) -> Signal {
        let (is_high, is_medium) = match name {
            MetricName::Coupling => (value > self.coupling.second, value > self.coupling.first),
            MetricName::CoChange => (value > self.co_change.second, value > self.co_change.first),
            MetricName::TestRatio => (value < self.test_ratio.second, value < self.test_ratio.first),
            MetricName::OwnershipChurn => (value < self.ownership_churn.second, value <= self.ownership_churn.first),
            MetricName::IncidentSimilarity => {
                (value >= self.incident_similarity.second, value >= self.incident_similarity.first)
            }
            _ => return Signal::None,
        };
        step_signal(value, is_high, is_medium)
    }

    /// The rules' signal for the score's percentile among `sampled` commits.
    #[must_use]
    pub fn score_signal(&self, percentile: f64, sampled: u32) -> Signal {
        if sampled < self.sample {
            return Signal::Unknown;
        }
        step_signal(percentile, percentile >= self.score.second, percentile >= self.score.first)
    }
}

fn step_signal(value: f64, is_high: bool, is_medium: bool) -> Signal {
    if value.is_nan() {
        Signal::Unknown
    } else if is_high {
        Signal::High
    } else if is_medium {
        Signal::Medium
    } else {
        Signal::Low
    }
}

fn parse_thresholds(json: &str) -> Result<ThresholdsForm, Error> {
    serde_json::from_str(json).map_err(|error| {
        let hint = "each metric takes `{\"first\": …, \"second\": …}`";
        Error::new(ErrorKind::Unreadable, format!("the thresholds are not readable: {error}; {hint}"))
    })
}

fn check_steps_in_order(name: &str, steps: Steps, worse: Worse, most: f64) -> Result<(), Error> {
    let in_range = |value: f64| value.is_finite() && (0.0..=most).contains(&value);
    if !in_range(steps.first) || !in_range(steps.second) {
        let range = if most < f64::MAX { format!("from 0 to {most}") } else { String::from("of 0 or more") };
        return Err(Error::new(ErrorKind::OutOfRange, format!("thresholds of `{name}` must be numbers {range}")));
    }
    let (is_ordered, order) = match worse {
        Worse::Up => (steps.first <= steps.second, "at most"),
        Worse::Down => (steps.first >= steps.second, "at least"),
    };
    if !is_ordered {
        let problem = format!("threshold `first` of `{name}` must be {order} its `second`");
        return Err(Error::new(ErrorKind::OutOfRange, problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: MetricName, value: f64, expected: Signal) {
        assert_eq!(Thresholds::shipped().unwrap().signal(name, value), expected, "{name:?} {value}");
    }

    #[test]
    fn signals_begin_where_the_thresholds_say() {
        use Signal::{High, Low, Medium};
        for (value, expected) in [(0.0, Low), (5.0, Low), (6.0, Medium), (10.0, Medium), (11.0, High)] {
            check(MetricName::Coupling, value, expected);
        }
        for (value, expected) in [(0.3, Low), (0.300_001, Medium), (0.7, Medium), (0.700_001, High), (1.0, High)] {
            check(MetricName::CoChange, value, expected);
        }
        for (value, expected) in [(0.8, Low), (0.799, Medium), (0.3, Medium), (0.299, High), (0.0, High)] {
            check(MetricName::TestRatio, value, expected);
        }
        for (value, expected) in [(91.0, Low), (90.0, Medium), (30.0, Medium), (29.0, High), (0.0, High)] {
            check(MetricName::OwnershipChurn, value, expected);
        }
        for (value, expected) in [(79.9, Low), (80.0, Medium), (94.9, Medium), (95.0, High), (100.0, High)] {
            check(MetricName::IncidentSimilarity, value, expected);
        }
        check(MetricName::LinesAdded, 1e9, Signal::None);
        check(MetricName::Coupling, f64::NAN, Signal::Unknown);
    }

    #[test]
    fn a_percentile_needs_a_sample() {
        let thresholds = Thresholds::shipped().unwrap();
        assert_eq!(thresholds.score_signal(99.0, 49), Signal::Unknown);
        assert_eq!(thresholds.score_signal(99.0, 50), Signal::High);
        assert_eq!(thresholds.score_signal(95.0, 500), Signal::High);
        assert_eq!(thresholds.score_signal(94.9, 500), Signal::Medium);
        assert_eq!(thresholds.score_signal(79.9, 500), Signal::Low);
    }

    #[test]
    fn an_override_changes_what_it_names() {
        let thresholds = Thresholds::read(r#"{"coupling": {"first": 8, "second": 20}}"#).unwrap();
        assert_eq!(thresholds.coupling, Steps { first: 8.0, second: 20.0 });
        let shipped = Thresholds::shipped().unwrap();
        assert_eq!(Thresholds { coupling: shipped.coupling, ..thresholds }, shipped);
        let written = serde_json::to_string(&shipped).unwrap();
        assert_eq!(Thresholds::read(&written).unwrap(), shipped);
    }

    #[test]
    fn an_override_that_cannot_be_meant_is_refused() {
        let check = |json: &str, expected: &str| {
            let error = Thresholds::read(json).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("[]", "the thresholds are not readable: ");
        check(r#"{"couplng": {"first": 1, "second": 2}}"#, "the thresholds are not readable: unknown field `couplng`");
        check(
            r#"{"coupling": {"first": 3, "second": 2}}"#,
            "threshold `first` of `coupling` must be at most its `second`",
        );
        check(
            r#"{"test_ratio": {"first": 0.1, "second": 0.2}}"#,
            "threshold `first` of `test_ratio` must be at least its `second`",
        );
        check(
            r#"{"co_change": {"first": 0.1, "second": 1.2}}"#,
            "thresholds of `co_change` must be numbers from 0 to 1",
        );
        check(r#"{"coupling": {"first": -1, "second": 2}}"#, "thresholds of `coupling` must be numbers of 0 or more");
        check(r#"{"coupling": {"first": 1, "second": 1e999}}"#, "the thresholds are not readable: ");
        check(r#"{"sample": 0}"#, "threshold `sample` must be at least 1");
    }
}
