//! `proem catalogue check`

use std::process::ExitCode;

use proem_select::catalogue::EntryConcern;
use proem_text::json;
use serde_json::json;

use super::CataloguePlace;
use super::output::{CatalogueCheckOutput, ConcernOutput};
use super::{count_of_entries, found_in, open_catalogue};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, RED, YELLOW, style_text};
use proem_app::catalogue::missing_tools_line;

/// The exit code if something was found.
const FOUND: u8 = 1;

pub(super) fn run_catalogue_check(place: &CataloguePlace) -> Result<ExitCode, CommandFailure> {
    let (_, _, loaded) = open_catalogue(&place.root)?;
    let found = found_in(&loaded.catalogue)?;
    let problems = loaded.catalogue.problems();
    let missing = missing_tools_line(&loaded.servers);
    if place.json {
        let findings = found.iter().map(ConcernOutput::new).collect();
        let output = CatalogueCheckOutput { findings, problems: problems.iter().map(ToString::to_string).collect() };
        ui::print_json_document(&json::pretty(&json!(output)))?;
    } else {
        let mut out: String =
            problems.iter().map(|problem| format!("{} {problem}\n", style_text(YELLOW, "file:"))).collect();
        out.extend(found.iter().map(concern_line));
        ui::print_listing(&out)?;
    }
    if let Some(note) = missing {
        ui::print_note(&note);
    }
    if found.is_empty() && problems.is_empty() {
        ui::aside(&format!(
            "checked {}: no problems found\n",
            count_of_entries(loaded.catalogue.entries().len(), "definition")
        ));
        return Ok(ExitCode::SUCCESS);
    }
    ui::aside(&format!(
        "found {} and {} with files, in {}\n",
        count_of_entries(found.len(), "finding"),
        count_of_entries(problems.len(), "problem"),
        count_of_entries(loaded.catalogue.entries().len(), "definition")
    ));
    Ok(ExitCode::from(FOUND))
}

fn concern_line(finding: &EntryConcern) -> String {
    format!(
        "{} {}: {}\n",
        style_text(RED, "finding:"),
        style_text(BOLD, finding.name.as_str()),
        finding.kind.in_words()
    )
}
