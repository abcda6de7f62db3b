//! What `proem risk` prints: one function for each form, from reports to text.

mod batch;
mod explain;
mod lines;
mod markdown;
mod sarif;
mod terminal;

#[cfg(test)]
mod tests;

pub(super) use self::batch::by_rank;
pub(super) use self::lines::named;

use proem_agents::risk::report::Report;
use proem_text::json;
use serde_json::Value as Json;

use crate::args::risk::Risk;
use crate::failure::Failure;
use crate::ui;

/// Cells of a line of a report.
const WIDTH: usize = 100;

/// How reports are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One report on one screen; a table for several.
    Terminal,
    /// All there is, for a person.
    Explain,
    /// The published JSON: an object for one change, a list for several.
    Json(Many),
    /// SARIF 2.1.0.
    Sarif,
    /// A comment on a pull request.
    Markdown,
}

/// Whether one change was asked for, or any number of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Many {
    /// One.
    One,
    /// A list, whatever its length.
    List,
}

impl Form {
    /// The form that was asked for.
    pub(super) const fn of(args: &Risk) -> Self {
        let form = args.form;
        let many = args.each || args.since.is_some() || args.revisions.len() > 1;
        match form {
            _ if form.json => Self::Json(if many { Many::List } else { Many::One }),
            _ if form.sarif => Self::Sarif,
            _ if form.markdown => Self::Markdown,
            _ if form.explain => Self::Explain,
            _ => Self::Terminal,
        }
    }
}

/// Prints reports to standard output.
pub(super) fn print(reports: &[Report], form: Form) -> Result<(), Failure> {
    match form {
        Form::Terminal => ui::listing(&match reports {
            [report] => terminal::report(report, WIDTH),
            reports => batch::table(reports, WIDTH),
        }),
        Form::Explain => {
            let pages: Vec<String> = reports.iter().map(|report| explain::report(report, WIDTH)).collect();
            ui::listing(&pages.join("\n"))
        }
        Form::Json(many) => ui::document(&json::pretty(&as_json(reports, many)?)),
        Form::Sarif => ui::document(&json::pretty(&sarif::log(reports))),
        Form::Markdown => ui::report(&markdown::comment(reports)),
    }
}

/// The published JSON.
fn as_json(reports: &[Report], many: Many) -> Result<Json, Failure> {
    let value = match (many, reports) {
        (Many::One, [report]) => serde_json::to_value(report),
        _ => serde_json::to_value(reports),
    };
    value.map_err(|error| Failure::bug("a report as JSON", error))
}
