//! `proem catalogue check`

use std::process::ExitCode;

use proem_select::catalogue::EntryConcern;
use proem_text::json;
use serde_json::{Value, json};

use super::CataloguePlace;
use super::{counted, finding_json, found_in, open};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, RED, YELLOW, styled};
use proem_app::catalogue::missing_tools_line;

/// The exit code if something was found.
const FOUND: u8 = 1;

pub(super) fn run(place: &CataloguePlace) -> Result<ExitCode, CommandFailure> {
    let (_, _, loaded) = open(&place.root)?;
    let found = found_in(&loaded.catalogue)?;
    let problems = loaded.catalogue.problems();
    let missing = missing_tools_line(&loaded.servers);
    if place.json {
        let all: Vec<Value> = found.iter().map(finding_json).collect();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        ui::document(&json::pretty(&json!({ "findings": all, "problems": problems })))?;
    } else {
        let mut out: String =
            problems.iter().map(|problem| format!("{} {problem}\n", styled(YELLOW, "file:"))).collect();
        out.extend(found.iter().map(line));
        ui::listing(&out)?;
    }
    if let Some(note) = missing {
        ui::note(&note);
    }
    if found.is_empty() && problems.is_empty() {
        ui::aside(&format!("checked {}: no problems found\n", counted(loaded.catalogue.entries().len(), "definition")));
        return Ok(ExitCode::SUCCESS);
    }
    ui::aside(&format!(
        "found {} and {} with files, in {}\n",
        counted(found.len(), "finding"),
        counted(problems.len(), "problem"),
        counted(loaded.catalogue.entries().len(), "definition")
    ));
    Ok(ExitCode::from(FOUND))
}

fn line(finding: &EntryConcern) -> String {
    format!("{} {}: {}\n", styled(RED, "finding:"), styled(BOLD, finding.name.as_str()), finding.kind.in_words())
}
