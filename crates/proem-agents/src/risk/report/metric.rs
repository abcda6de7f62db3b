//! Metrics, the score and files as a report has them.

use std::collections::BTreeMap;

use proem_risk::assess::{ChangeScore, Partner};
use proem_risk::metric::{ConfidenceInterval, Metric, MetricName, PercentileRank, Signal, Tier};
use schemars::JsonSchema;
use serde::Serialize;

use crate::risk::feedback::Meter;

use super::{Rate, ReportSentence, schema, six_decimal_places};

/// A measured metric.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricOut {
    /// The metric's name, such as `coupling`.
    #[schemars(with = "String")]
    pub name: MetricName,
    /// 1 if it is always measured, 2 if it is measured where it is asked for, null if no rule speaks of it.
    pub tier: Option<u8>,
    /// The value. Null if it is unknown, and then `evidence` says why.
    pub value: Option<f64>,
    /// Its unit: `files`, `share`, `days` …
    pub unit: String,
    /// The counts that it was made from, where it is a share.
    pub of: Option<FractionOut>,
    /// Its range in 95 of 100 repetitions.
    pub interval: Option<IntervalOut>,
    /// Its place among the others of the repository.
    pub rank: Option<RankOut>,
    /// The rules' signal.
    #[schemars(schema_with = "schema::signal_schema")]
    pub signal: Signal,
    /// How often this metric's HIGH was said to be a false alarm. Null if nobody ever judged one.
    pub false_positives: Option<Rate>,
    /// The uncounted parts.
    pub excluded: Vec<ExcludedOut>,
    /// One sentence about it.
    pub evidence: ReportSentence,
    /// Further names: importers, partners, incidents. At most 20.
    pub details: Vec<ReportSentence>,
    /// How many there are of what `details` names. Null where that is not counted.
    pub details_total: Option<u32>,
}

/// A part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FractionOut {
    /// How many.
    pub numerator: u64,
    /// Out of how many.
    pub denominator: u64,
}

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct IntervalOut {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A place among others of the same repository.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RankOut {
    /// The share of them that are below, in percent.
    #[schemars(schema_with = "schema::percentile_schema")]
    pub percentile: f64,
    /// How many there are.
    pub among: u32,
}

/// Something that was not counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExcludedOut {
    /// The omission, as people write it.
    pub what: String,
    /// How many.
    pub count: u64,
}

/// The score: how often changes like this one needed a fix.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ScoreOut {
    /// The calibrated probability, by the projects that it was learned from. Compare it within a repository only. Null
    /// if too little is known.
    #[schemars(schema_with = "schema::share_schema")]
    pub probability: Option<f64>,
    /// Its place among past commits of the repository. Null if there are none to compare with.
    pub rank: Option<RankOut>,
    /// The range of that place in 95 of 100 samples, in percent.
    pub interval: Option<IntervalOut>,
    /// The rules' signal for the place.
    #[schemars(schema_with = "schema::signal_schema")]
    pub signal: Signal,
    /// How often its HIGH was said to be a false alarm. Null if nobody ever judged one.
    pub false_positives: Option<Rate>,
    /// The contribution of everything but the size, beyond the size's own prediction, in log-odds. Null if unknown.
    pub given_size: Option<f64>,
    /// The score before any metric is known, in log-odds.
    pub intercept: Option<f64>,
    /// Each metric's contribution, in log-odds, the weightiest first. Intercept and all of them sum to the score.
    pub contributions: Vec<ContributionOut>,
    /// The metrics that it does without.
    pub unknown: Vec<String>,
}

/// One metric's contribution to the score.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ContributionOut {
    /// The metric's short name in the literature, such as `la`.
    pub feature: String,
    /// Its meaning.
    pub meaning: String,
    /// How much it adds, in log-odds. Negative where it makes the change less risky.
    pub log_odds: f64,
}

/// A file that usually changes with a changed one, and didn't.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PartnerOut {
    /// Its path.
    pub path: String,
    /// The changed file.
    pub of: String,
    /// Commits that touched both, out of those that touched the changed file.
    pub together: FractionOut,
    /// The lower bound of that share, with 95 % confidence.
    pub low: f64,
    /// Whether an import explains it. Null if that is unknown.
    pub imported: Option<bool>,
}

impl From<ConfidenceInterval> for IntervalOut {
    fn from(between: ConfidenceInterval) -> Self {
        Self { low: six_decimal_places(between.low), high: six_decimal_places(between.high) }
    }
}

impl From<PercentileRank> for RankOut {
    fn from(rank: PercentileRank) -> Self {
        Self { percentile: six_decimal_places(rank.percentile), among: rank.among }
    }
}

impl From<proem_risk::metric::Fraction> for FractionOut {
    fn from(fraction: proem_risk::metric::Fraction) -> Self {
        Self { numerator: fraction.numerator, denominator: fraction.denominator }
    }
}

impl MetricOut {
    pub(super) fn new(metric: &Metric, rates: &BTreeMap<Meter, Rate>) -> Self {
        let tier = metric.name.tier().map(|tier| match tier {
            Tier::One => 1,
            Tier::Two => 2,
        });
        let excluded = |excluded: &proem_risk::metric::Exclusion| ExcludedOut {
            what: excluded.what.clone(),
            count: excluded.count,
        };
        Self {
            name: metric.name,
            tier,
            value: metric.value.map(six_decimal_places),
            unit: unit_word(metric).to_owned(),
            of: metric.of.map(FractionOut::from),
            interval: metric.between.map(IntervalOut::from),
            rank: metric.rank.map(RankOut::from),
            signal: metric.signal,
            false_positives: Meter::of(metric.name).and_then(|meter| rates.get(&meter).copied()),
            excluded: metric.excluded.iter().map(excluded).collect(),
            evidence: ReportSentence::from(&metric.evidence),
            details: metric.details.iter().map(ReportSentence::from).collect(),
            details_total: metric.total,
        }
    }
}

/// The word for a unit, as the metric itself is written.
const fn unit_word(metric: &Metric) -> &'static str {
    use proem_risk::metric::MetricUnit;
    match metric.unit {
        MetricUnit::Files => "files",
        MetricUnit::Share => "share",
        MetricUnit::Ratio => "ratio",
        MetricUnit::Days => "days",
        MetricUnit::Lines => "lines",
        MetricUnit::Commits => "commits",
        MetricUnit::Calls => "calls",
        MetricUnit::Persons => "persons",
        MetricUnit::Count => "count",
        MetricUnit::Percentile => "percentile",
        MetricUnit::Flag => "flag",
    }
}

impl ScoreOut {
    pub(super) fn new(score: &ChangeScore, false_positives: Option<Rate>) -> Self {
        let scored = score.scored.as_ref();
        let mut contributions: Vec<ContributionOut> = scored
            .into_iter()
            .flat_map(|scored| &scored.contributions)
            .map(|contribution| ContributionOut {
                feature: contribution.feature.as_str().to_owned(),
                meaning: contribution.feature.in_words().to_owned(),
                log_odds: six_decimal_places(contribution.log_odds),
            })
            .collect();
        contributions.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()));
        let unknown = scored.into_iter().flat_map(|scored| &scored.unknown);
        Self {
            probability: scored.map(|scored| six_decimal_places(scored.probability)),
            rank: score.rank.map(RankOut::from),
            interval: score.between.map(IntervalOut::from),
            signal: score.signal,
            false_positives,
            given_size: scored.and_then(|scored| scored.given_size).map(six_decimal_places),
            intercept: scored.map(|scored| six_decimal_places(scored.intercept)),
            contributions,
            unknown: unknown.map(|feature| feature.in_words().to_owned()).collect(),
        }
    }
}

impl PartnerOut {
    pub(super) fn new(partner: &Partner, of: String) -> Self {
        Self {
            path: partner.path.clone(),
            of,
            together: partner.together.into(),
            low: six_decimal_places(partner.low),
            imported: partner.imported,
        }
    }
}
