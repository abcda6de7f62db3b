//! The output of `proem risk`: one function for each form, from reports to text.

mod batch;
mod explain;
mod lines;
mod markdown;
mod page;
mod picture;
mod sarif;
mod terminal;
mod treemap;

#[cfg(test)]
mod tests;

pub(super) use self::batch::riskiest_first;
pub(super) use self::lines::metric_words;
pub(super) use self::page::risk_page;
pub(super) use self::picture::risk_picture;

use proem_agents::risk::report::RiskReport;
use proem_text::json;
use serde_json::Value as Json;

use super::args::Risk;
use crate::failure::CommandFailure;
use crate::ui;

/// Cells of a line of a report.
const WIDTH: usize = 100;

/// How reports are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RiskFormat {
    /// One report on one screen. A table for several.
    Terminal,
    /// All there is, for a person.
    Explain,
    /// The published JSON: an object for one change, a list for several.
    Json(ReportCount),
    /// SARIF 2.1.0.
    Sarif,
    /// A comment on a pull request.
    Markdown,
}

/// Whether one change was asked for, or any number of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportCount {
    /// One.
    One,
    /// A list, whatever its length.
    List,
}

impl RiskFormat {
    /// The form that was asked for.
    pub(super) const fn of(args: &Risk) -> Self {
        let form = args.form;
        let many = args.each || args.since.is_some() || args.revisions.len() > 1;
        match form {
            _ if form.json => Self::Json(if many { ReportCount::List } else { ReportCount::One }),
            _ if form.sarif => Self::Sarif,
            _ if form.markdown => Self::Markdown,
            _ if form.explain => Self::Explain,
            _ => Self::Terminal,
        }
    }
}

/// Prints reports to standard output.
pub(super) fn print_risk_reports(reports: &[RiskReport], form: RiskFormat) -> Result<(), CommandFailure> {
    match form {
        RiskFormat::Terminal => ui::print_listing(&match reports {
            [report] => terminal::risk_screen(report, WIDTH),
            reports => batch::risk_table(reports, WIDTH),
        }),
        RiskFormat::Explain => {
            let pages: Vec<String> = reports.iter().map(|report| explain::explained_report(report, WIDTH)).collect();
            ui::print_listing(&pages.join("\n"))
        }
        RiskFormat::Json(many) => ui::print_json_document(&json::pretty(&risk_json(reports, many)?)),
        RiskFormat::Sarif => ui::print_json_document(&json::pretty(&sarif::log(reports))),
        RiskFormat::Markdown => ui::print_report(&markdown::risk_comment(reports)),
    }
}

/// The published JSON.
fn risk_json(reports: &[RiskReport], many: ReportCount) -> Result<Json, CommandFailure> {
    let value = match (many, reports) {
        (ReportCount::One, [report]) => serde_json::to_value(report),
        _ => serde_json::to_value(reports),
    };
    value.map_err(|error| CommandFailure::bug("a report as JSON", error))
}
