//! The metrics as evidence, each with its place among the sampled commits.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::super::{AssessmentFacts, words};
use crate::change::Change;
use crate::metric::{Exclusion, Metric, MetricName, PercentileRank, Sentence};
use crate::score::{ChangeFeatures, Feature};

/// All fourteen, in the order of the paper.
pub(crate) fn kamei_metrics(facts: &AssessmentFacts<'_>, features: &ChangeFeatures) -> Vec<Metric> {
    let excluded = kamei_exclusions(facts.change);
    Feature::ALL.into_iter().map(|feature| kamei_metric(facts, features, feature, &excluded)).collect()
}

const fn kamei_metric_name(feature: Feature) -> MetricName {
    match feature {
        Feature::Ns => MetricName::Subsystems,
        Feature::Nd => MetricName::Directories,
        Feature::Nf => MetricName::Files,
        Feature::Entropy => MetricName::Entropy,
        Feature::La => MetricName::LinesAdded,
        Feature::Ld => MetricName::LinesDeleted,
        Feature::Lt => MetricName::LinesBefore,
        Feature::Fix => MetricName::Fix,
        Feature::Ndev => MetricName::Developers,
        Feature::Age => MetricName::Age,
        Feature::Nuc => MetricName::UniqueChanges,
        Feature::Exp => MetricName::Experience,
        Feature::Rexp => MetricName::RecentExperience,
        Feature::Sexp => MetricName::SubsystemExperience,
    }
}

fn kamei_metric(
    facts: &AssessmentFacts<'_>,
    features: &ChangeFeatures,
    feature: Feature,
    excluded: &[Exclusion],
) -> Metric {
    let Some(value) = features.get(feature) else {
        return Metric::unknown(kamei_metric_name(feature), Sentence::ours(why_not(facts, features, feature)));
    };
    let mut others: Vec<f64> =
        facts.sample.commits.iter().filter_map(|sampled| sampled.features.get(feature)).collect();
    others.sort_by(f64::total_cmp);
    Metric {
        rank: PercentileRank::among(&others, value).filter(|_| feature != Feature::Fix),
        excluded: excluded.to_vec(),
        evidence: Sentence::ours(kamei_sentence(feature, value)),
        ..Metric::of(kamei_metric_name(feature), value)
    }
}

fn kamei_sentence(feature: Feature, value: f64) -> String {
    let count = |one: &str, many: &str| {
        if (value - 1.0).abs() < f64::EPSILON { format!("1 {one}") } else { format!("{value:.0} {many}") }
    };
    match feature {
        Feature::Ns => format!("it touches {}", count("first folder", "first folders")),
        Feature::Nd => format!("it touches {}", count("folder", "folders")),
        Feature::Nf => format!("it touches {}", count("file", "files")),
        Feature::Entropy => format!("its lines are spread over the files to {:.0} % of evenly", value * 100.0),
        Feature::La => format!("it adds {}", count("line", "lines")),
        Feature::Ld => format!("it removes {}", count("line", "lines")),
        Feature::Lt => format!("its files had {} before", count("line", "lines")),
        Feature::Fix if value > 0.0 => "its message says that it fixes something".to_string(),
        Feature::Fix => "its message doesn't say that it mends something".to_string(),
        Feature::Ndev => format!("{} changed its files so far, the author included", count("person", "persons")),
        Feature::Age => format!("its files last changed {value:.1} days before, on average"),
        Feature::Nuc => format!("its files changed {} so far, this one included", count("time", "times")),
        Feature::Exp => format!("its author changed files {} so far, these included", count("time", "times")),
        Feature::Rexp => format!("its author's changes, each divided by its age in days plus one, sum to {value:.1}"),
        Feature::Sexp => format!("its author changed {} in these first folders so far", count("file", "files")),
    }
}

fn why_not(facts: &AssessmentFacts<'_>, features: &ChangeFeatures, feature: Feature) -> &'static str {
    match feature {
        _ if features.nf.is_none() => "none of its files counts",
        Feature::Fix => "it has no message of one commit",
        Feature::La | Feature::Ld | Feature::Lt | Feature::Entropy => "lines of a file are not known",
        _ if !super::is_whole_history(facts.past) => "the history doesn't go back to its beginning",
        _ => "its author is not known",
    }
}

fn kamei_exclusions(change: &Change) -> Vec<Exclusion> {
    let files = &change.files;
    let not_counted = files.iter().filter(|file| !super::counts_in_kamei(file.class.role)).count();
    let without_lines =
        files.iter().filter(|file| super::counts_in_kamei(file.class.role) && file.lines.is_none()).count();
    let named = [
        ("files that are documentation, generated, vendored, locks or assets", not_counted),
        ("files without lines", without_lines),
    ];
    let some = named.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(what, count)| Exclusion { what: what.to_string(), count: u64::from(words::saturating_u32(count)) })
        .collect()
}
