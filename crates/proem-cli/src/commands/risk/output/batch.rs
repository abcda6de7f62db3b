//! Many changes, the riskiest first.

use proem_agents::risk::report::Report;

use super::{lines, terminal};
use crate::ui::{DIM, UNKNOWN, cut, styled};

/// Cells in front of a subject.
const BEFORE: usize = 46;

/// A row for each change; those of one level by the place of their scores.
pub(super) fn table(reports: &[Report], width: usize) -> String {
    if reports.is_empty() {
        return "no commit to assess\n".to_owned();
    }
    let mut sorted: Vec<&Report> = reports.iter().collect();
    let place = |report: &Report| report.score.rank.map(|rank| rank.percentile);
    sorted.sort_by(|a, b| {
        let score = || place(b).unwrap_or(-1.0).total_cmp(&place(a).unwrap_or(-1.0));
        b.risk_level.cmp(&a.risk_level).then_with(score).then_with(|| b.change.at.cmp(&a.change.at))
    });
    let head = format!("{:6}  {:>5}  {:10}  {:10}  {:>5}  subject", "level", "score", "change", "date", "files");
    let mut out = format!("{}\n", styled(DIM, &head));
    for report in sorted {
        let change = &report.change;
        let level = report.risk_level;
        let id = change.id.as_deref().map_or(change.kind.as_str(), |id| id.get(..10).unwrap_or(id));
        let score = place(report).map_or_else(|| UNKNOWN.to_owned(), |percentile| lines::number(percentile.floor()));
        let row = format!(
            "{}  {score:>5}  {id:10}  {:10}  {:>5}  {}",
            styled(terminal::colour(level), &format!("{:6}", level.as_str())),
            terminal::date(change.at),
            report.files.len(),
            cut(&change.subject, width.saturating_sub(BEFORE))
        );
        out.push_str(row.trim_end());
        out.push('\n');
    }
    let unsampled = reports.iter().filter(|report| report.score.rank.is_none()).count();
    out.push_str(&styled(DIM, "score: the share of past commits that it is above, in percent\n"));
    if unsampled > 0 {
        out.push_str(&styled(DIM, &format!("{UNKNOWN}: too few past commits to compare with\n")));
    }
    out
}
