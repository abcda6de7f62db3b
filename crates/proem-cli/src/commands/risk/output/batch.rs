//! Many changes, in the order of their scores.

use std::cmp::Ordering;

use proem_agents::risk::report::RiskReport;

use super::terminal;
use crate::ui::{DIM, UNKNOWN, cut_to_width, style_text};
use proem_app::words::two_decimals;

/// Cells in front of a subject.
const BEFORE: usize = 47;

/// A row for each change.
pub(super) fn risk_table(reports: &[RiskReport], width: usize) -> String {
    if reports.is_empty() {
        return "no commit to assess\n".to_owned();
    }
    let mut sorted: Vec<&RiskReport> = reports.iter().collect();
    sorted.sort_by(|a, b| riskiest_first(a, b));
    let head = format!("{:7}  {:>5}  {:10}  {:10}  {:>5}  subject", "level", "score", "change", "date", "files");
    let mut out = format!("{}\n", style_text(DIM, &head));
    for report in sorted {
        let change = &report.change;
        let level = report.risk_level;
        let id = change.id.as_deref().map_or(change.kind.as_str(), |id| id.get(..10).unwrap_or(id));
        let score =
            score_percentile(report).map_or_else(|| UNKNOWN.to_owned(), |percentile| two_decimals(percentile.floor()));
        let row = format!(
            "{}  {score:>5}  {id:10}  {:10}  {:>5}  {}",
            style_text(terminal::level_colour(level), &format!("{:7}", level.as_str())),
            terminal::utc_date(change.at),
            report.files.len(),
            cut_to_width(&change.subject, width.saturating_sub(BEFORE))
        );
        out.push_str(row.trim_end());
        out.push('\n');
    }
    let unsampled = reports.iter().filter(|report| report.score.rank.is_none()).count();
    out.push_str(&style_text(DIM, "score: percentage of past commits with a lower score\n"));
    if unsampled > 0 {
        let why = "it changes no code, or there are too few past commits to compare with";
        out.push_str(&style_text(DIM, &format!("{UNKNOWN}: {why}\n")));
    }
    out
}

/// The rank of a score among past commits, in percent.
fn score_percentile(report: &RiskReport) -> Option<f64> {
    report.score.rank.map(|rank| rank.percentile)
}

/// Reports by level, the highest first, since a large change without a finding is LOW whatever its score. Those of one
/// level by the places of their scores, one without a place last, and then the newest first.
pub(in crate::commands::risk) fn riskiest_first(a: &RiskReport, b: &RiskReport) -> Ordering {
    let score = || score_percentile(b).unwrap_or(-1.0).total_cmp(&score_percentile(a).unwrap_or(-1.0));
    b.risk_level.cmp(&a.risk_level).then_with(score).then_with(|| b.change.at.cmp(&a.change.at))
}
