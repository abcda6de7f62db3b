//! `proem book stats`: how each version of a prompt did.

use std::process::ExitCode;

use proem_app::book::version_figures::{FigureUnit, VersionFigure, version_figures};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;
use proem_guard::show;
use proem_text::json;

use super::experiment::ExperimentPlace;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, style_text};

pub(super) fn run_book_stats(prompt: Option<&str>, place: &ExperimentPlace) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::open(&place.root, &crate::user_places()?, BookReading::Trusted)?;
    ui::print_notes(&project.all_notes());
    let found = records::blocking(async {
        let store = ui::print_notes_of(records::look_at_records(&project).await?);
        let found = version_figures(&store, &project, prompt).await;
        store.close().await;
        Ok::<_, CommandFailure>(found?)
    })?;
    if place.json {
        let value = serde_json::to_value(&found).map_err(|error| CommandFailure::bug("book stats", error))?;
        ui::print_json_document(&json::pretty(&value))?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        ui::aside(
            "no run of this project with that prompt is recorded; `proem run` and `proem assemble` record what they do\n",
        );
    }
    let mut out = String::new();
    for version in &found {
        let name = format!("{}@{}", version.prompt, version.version);
        out.push_str(&format!("{}\n", style_text(BOLD, &show::terminal_str(&name).into_string())));
        for figure in version.figures.iter().filter(|figure| figure.n > 0) {
            out.push_str(&format!("  {:30} {}\n", figure.name, figure_in_words(figure)));
        }
    }
    ui::print_listing(&out)?;
    Ok(ExitCode::SUCCESS)
}

fn figure_in_words(figure: &VersionFigure) -> String {
    let number = |value: f64| match figure.unit {
        FigureUnit::Share | FigureUnit::TokenShare => format!("{:.1} %", value * 100.0),
        FigureUnit::Dollars => format!("${value:.6}"),
        FigureUnit::Milliseconds => format!("{value:.0} ms"),
        FigureUnit::Tokens => format!("{value:.0}"),
    };
    let mean = figure.mean.map_or_else(|| ui::UNKNOWN.to_owned(), number);
    let interval = match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", number(low), number(high)),
        _ => String::new(),
    };
    let p95 = figure.p95.map_or_else(String::new, |p95| format!(", 95 of 100 at most {}", number(p95)));
    format!("{mean}{interval}{p95}, n={}", figure.n)
}
