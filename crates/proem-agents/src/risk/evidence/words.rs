//! Values in words.

use proem_guard::credential;
use proem_risk::assess::ChangeScore;
use proem_risk::change::FileStatus;
use proem_risk::metric::{ConfidenceInterval, Metric, MetricUnit, SentencePart};
use proem_risk::path::FileRole;

/// The most characters of a name or a reason.
const MAX_CHARS: usize = 300;

/// A text on one line: what would end the line or be unseen is written out, what is too long is cut, and so
/// is what has the shape of a credential.
pub(super) fn safe_on_one_line(text: &str) -> String {
    let without = credential::redact_credentials(text);
    let text = without.as_deref().unwrap_or(text);
    let mut line = String::new();
    for (n, c) in text.chars().enumerate() {
        if n >= MAX_CHARS {
            line.push('…');
            break;
        }
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// `1 file`, `2 files`.
pub(super) fn count_phrase(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A number with at most two decimals.
pub(super) fn at_most_two_decimals(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A measured value with its unit and, if it is a share, its counts.
pub(super) fn measured_value(metric: &Metric) -> String {
    let Some(value) = metric.value else { return "no value".to_owned() };
    let number = at_most_two_decimals(value);
    let of = metric.of.map_or(String::new(), |of| format!(" ({} of {})", of.numerator, of.denominator));
    let (one, many) = match metric.unit {
        MetricUnit::Share | MetricUnit::Ratio | MetricUnit::Flag => return format!("{number}{of}"),
        MetricUnit::Percentile => return format!("more than {number} % of random past commits"),
        MetricUnit::Files => ("file", "files"),
        MetricUnit::Days => ("day", "days"),
        MetricUnit::Lines => ("line", "lines"),
        MetricUnit::Commits => ("commit", "commits"),
        MetricUnit::Calls => ("call", "calls"),
        MetricUnit::Persons => ("person", "persons"),
        MetricUnit::Count => return number,
    };
    format!("{number} {}{of}", if number == "1" { one } else { many })
}

/// How sure a value is and where it is in the repository, in brackets.
pub(super) fn rank_in_brackets(metric: &Metric) -> String {
    let rank = metric.rank.map(|rank| format!("above {} % of {}", at_most_two_decimals(rank.percentile), rank.among));
    let parts: Vec<String> = metric.between.map(confidence_span).into_iter().chain(rank).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// The range of a value in 95 of 100 repetitions.
pub(super) fn confidence_span(between: ConfidenceInterval) -> String {
    format!("95 % between {} and {}", at_most_two_decimals(between.low), at_most_two_decimals(between.high))
}

/// A score's place.
pub(super) fn score_rank(score: &ChangeScore) -> String {
    let Some(rank) = score.rank else { return "it could not be placed among past commits".to_owned() };
    let between = score.between.map_or(String::new(), |between| format!(" ({})", confidence_span(between)));
    format!("above {} % of {} past commits{between}", at_most_two_decimals(rank.percentile), rank.among)
}

/// The metrics that raise a score most, at most three.
pub(super) fn raised_by(score: &ChangeScore) -> Option<String> {
    let scored = score.scored.as_ref()?;
    let mut raising: Vec<_> = scored.contributions.iter().filter(|part| part.log_odds > 0.0).collect();
    raising.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds));
    let names: Vec<&str> = raising.iter().take(3).map(|part| part.feature.in_words()).collect();
    (!names.is_empty()).then(|| format!("raised most by {}", names.join(", ")))
}

/// A file's purpose, unless it is just code.
pub(super) const fn role_phrase_for_file(role: FileRole) -> Option<&'static str> {
    match role {
        FileRole::Code => None,
        FileRole::Test => Some("a test"),
        FileRole::Documentation => Some("documentation"),
        FileRole::Configuration => Some("configuration"),
        FileRole::Generated => Some("generated"),
        FileRole::Vendored => Some("foreign"),
        FileRole::Lock => Some("a lock file"),
        FileRole::Asset => Some("a picture or the like"),
    }
}

/// How a file changed.
pub(super) const fn change_verb(status: FileStatus) -> &'static str {
    match status {
        FileStatus::Added => "new",
        FileStatus::Modified => "modified",
        FileStatus::Deleted => "deleted",
        FileStatus::Renamed => "renamed",
        FileStatus::TypeChanged => "of another kind",
    }
}

/// A piece with the name that it holds.
pub(super) fn sentence_part_name(piece: &SentencePart) -> &str {
    match piece {
        SentencePart::Ours(text) | SentencePart::Path(text) | SentencePart::Person(text) => text,
        SentencePart::Message(text) => text.lines().next().unwrap_or_default(),
    }
}
