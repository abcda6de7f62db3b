//! `proem risk --svg`: the assessed changes by their rank in the repository's past, and by level.
//!
//! Invariants: the same reports, the same bytes. A change without a rank has a column of its own and is never at zero.

use proem_agents::risk::report::RiskReport;
use proem_risk::level::Level;

use crate::ui;
use crate::ui::drawing::{MARGIN, WIDTH, begin_picture, push_box, push_svg_text};

/// The height of the drawing.
const HEIGHT: usize = 332;
/// The top of the columns, and their height.
const COLUMNS: (usize, usize) = (92, 170);
/// How many columns divide the percentiles.
const BINS: usize = 20;
/// The distance from one column to the next.
const STEP: usize = 38;
/// The levels from the bottom of a column to its top, with their colours.
const LEVELS: [(Level, &str); 4] =
    [(Level::Low, "rules"), (Level::Medium, "untrusted"), (Level::High, "bad"), (Level::Unknown, "empty")];

/// The picture.
pub(in crate::commands::risk) fn risk_picture(reports: &[RiskReport]) -> String {
    let count = |count: usize| ui::count_with_noun(u64::try_from(count).unwrap_or(u64::MAX), "change");
    let title = format!("{} by rank in the repository's past", count(reports.len()));
    let mut out = begin_picture(&title, HEIGHT);
    push_svg_text(&mut out, "title", (MARGIN, 38), &title);
    push_legend(reports, &mut out);
    let most = (0..=BINS).map(|bin| in_column(reports, bin).count()).max().unwrap_or(0).max(1);
    let bottom = COLUMNS.0.saturating_add(COLUMNS.1);
    for bin in 0..=BINS {
        push_column(reports, (bin, most), bottom, &mut out);
    }
    for (percentile, name) in [(0_usize, "0 %"), (80, "80 %"), (95, "95 %")] {
        let x = MARGIN.saturating_add(percentile.saturating_mul(BINS * STEP) / 100);
        out.push_str(&format!("<path class=\"line\" d=\"M{x} {}V{}\"/>\n", COLUMNS.0, bottom.saturating_add(6)));
        push_svg_text(&mut out, "dim", (x, bottom.saturating_add(22)), name);
    }
    let unranked = MARGIN.saturating_add(BINS * STEP).saturating_add(STEP / 2);
    push_svg_text(&mut out, "dim", (unranked, bottom.saturating_add(22)), "no rank");
    let words = "left to right: riskier than so many percent of the latest changes; behind a dashed line a finding makes MEDIUM or HIGH";
    push_svg_text(&mut out, "dim", (MARGIN, HEIGHT.saturating_sub(18)), words);
    out.push_str("</svg>\n");
    out
}

/// The column of a report: one of [`BINS`], or the one behind them without a rank.
fn column(report: &RiskReport) -> usize {
    let Some(rank) = report.score.rank else { return BINS };
    let is_reached = |bin: &usize| rank.percentile * BINS as f64 >= *bin as f64 * 100.0;
    (1..BINS).rev().find(is_reached).unwrap_or(0)
}

fn in_column(reports: &[RiskReport], bin: usize) -> impl Iterator<Item = &RiskReport> {
    reports.iter().filter(move |report| column(report) == bin)
}

/// The changes of a column, those of the lowest level at the bottom.
fn push_column(reports: &[RiskReport], (bin, most): (usize, usize), bottom: usize, out: &mut String) {
    let gap = if bin == BINS { STEP / 2 } else { 0 };
    let x = MARGIN.saturating_add(bin.saturating_mul(STEP)).saturating_add(gap).saturating_add(4);
    let height = |count: usize| count.saturating_mul(COLUMNS.1) / most;
    let mut below = 0_usize;
    for (level, class) in LEVELS {
        let of_level = in_column(reports, bin).filter(|report| report.risk_level == level).count();
        let above = below.saturating_add(of_level);
        let (from, to) = (height(below), height(above));
        if of_level > 0 {
            let words = format!("{}: {of_level}", level.as_str());
            let size = to.saturating_sub(from).saturating_sub(1).max(1);
            push_box(out, class, [x, bottom.saturating_sub(to), STEP - 8, size], Some(&words));
        }
        below = above;
    }
}

fn push_legend(reports: &[RiskReport], out: &mut String) {
    for (index, (level, class)) in LEVELS.into_iter().enumerate() {
        let x = MARGIN.saturating_add(index.saturating_mul((WIDTH - 2 * MARGIN) / LEVELS.len()));
        let number = reports.iter().filter(|report| report.risk_level == level).count();
        push_box(out, class, [x, 54, 13, 13], None);
        push_svg_text(out, "dim", (x.saturating_add(20), 65), &format!("{} {number}", level.as_str()));
    }
}
