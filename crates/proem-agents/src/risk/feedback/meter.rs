//! The subjects of feedback: everything that has thresholds.

use proem_risk::level::{Steps, Thresholds};
use proem_risk::metric::MetricName;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Something with thresholds: the score, or a metric of Tier 1 or Tier 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meter {
    /// The score's percentile.
    Score,
    /// Tier 1: how many files import a file.
    Coupling,
    /// Tier 1: judged by the lower bound of its interval.
    CoChange,
    /// Tier 1: HIGH where it is low.
    TestRatio,
    /// Tier 2: HIGH where it is low.
    OwnershipChurn,
    /// Tier 2: how like a past incident the change is.
    IncidentSimilarity,
}

/// The direction of a meter's HIGH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// Beyond the second threshold, or at it.
    Above,
    /// Below the second threshold.
    Below,
}

impl Meter {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Score, Self::Coupling, Self::CoChange, Self::TestRatio, Self::OwnershipChurn, Self::IncidentSimilarity];

    /// The word used in reports and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Coupling => MetricName::Coupling.as_str(),
            Self::CoChange => MetricName::CoChange.as_str(),
            Self::TestRatio => MetricName::TestRatio.as_str(),
            Self::OwnershipChurn => MetricName::OwnershipChurn.as_str(),
            Self::IncidentSimilarity => MetricName::IncidentSimilarity.as_str(),
        }
    }

    /// The meter of that name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|meter| meter.as_str() == word)
    }

    /// The meter of a metric. `None` for one without thresholds.
    #[must_use]
    pub const fn of(name: MetricName) -> Option<Self> {
        match name {
            MetricName::Coupling => Some(Self::Coupling),
            MetricName::CoChange => Some(Self::CoChange),
            MetricName::TestRatio => Some(Self::TestRatio),
            MetricName::OwnershipChurn => Some(Self::OwnershipChurn),
            MetricName::IncidentSimilarity => Some(Self::IncidentSimilarity),
            _ => None,
        }
    }

    /// Its thresholds among all.
    #[must_use]
    pub const fn steps(self, thresholds: &Thresholds) -> Steps {
        match self {
            Self::Score => thresholds.score,
            Self::Coupling => thresholds.coupling,
            Self::CoChange => thresholds.co_change,
            Self::TestRatio => thresholds.test_ratio,
            Self::OwnershipChurn => thresholds.ownership_churn,
            Self::IncidentSimilarity => thresholds.incident_similarity,
        }
    }

    /// Sets the threshold between MEDIUM and HIGH.
    pub const fn set_second(self, thresholds: &mut Thresholds, second: f64) {
        self.steps_mut(thresholds).second = second;
    }

    /// From which value it is MEDIUM and HIGH, for a prompt.
    pub(in crate::risk) fn threshold_words(self, thresholds: &Thresholds) -> String {
        let Steps { first, second } = self.steps(thresholds);
        match self {
            Self::Score | Self::IncidentSimilarity => format!("HIGH from {second} %, MEDIUM from {first} %"),
            Self::Coupling => format!("HIGH above {second}, MEDIUM above {first}"),
            Self::CoChange => format!("HIGH above {second}, MEDIUM above {first}, by the lower bound"),
            Self::TestRatio | Self::OwnershipChurn => format!("HIGH below {second}, MEDIUM below {first}"),
        }
    }

    pub(super) const fn steps_mut(self, thresholds: &mut Thresholds) -> &mut Steps {
        match self {
            Self::Score => &mut thresholds.score,
            Self::Coupling => &mut thresholds.coupling,
            Self::CoChange => &mut thresholds.co_change,
            Self::TestRatio => &mut thresholds.test_ratio,
            Self::OwnershipChurn => &mut thresholds.ownership_churn,
            Self::IncidentSimilarity => &mut thresholds.incident_similarity,
        }
    }

    pub(super) const fn direction(self) -> Direction {
        match self {
            Self::TestRatio | Self::OwnershipChurn => Direction::Below,
            Self::Score | Self::Coupling | Self::CoChange | Self::IncidentSimilarity => Direction::Above,
        }
    }

    /// Whether a value is HIGH by a second threshold. Percentiles are HIGH from it on, the others beyond
    /// it, as [`Thresholds`] says.
    pub(super) fn is_high(self, value: f64, second: f64) -> bool {
        match self {
            Self::Score | Self::IncidentSimilarity => value >= second,
            Self::Coupling | Self::CoChange => value > second,
            Self::TestRatio | Self::OwnershipChurn => value < second,
        }
    }
}

impl Serialize for Meter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl JsonSchema for Meter {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Meter".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}
