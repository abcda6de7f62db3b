//! `proem catalogue approve`: shows definitions, asks once, and keeps the answer.
//!
//! Invariants: nothing is approved without a person at a terminal; what was shown is what becomes
//! approved, since both come from one reading of the files.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use proem_select::catalogue::{Approval, Capability, CatalogueEntryKind, EntryConcern};
use proem_text::json;
use serde_json::Value;

use super::show::{author_text, cap_rows, entry_facts};
use super::{concerns_about, count_of_entries, exact_text, found_in, open_catalogue};
use crate::commands::trust::review::{Inside, unified_difference};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, RED, group_thousands, style_text};
use proem_app::catalogue::{Approving, wanted_entries};
use proem_app::operator::Consent;
use proem_app::trust::Before;

/// The exit code of a negative answer.
const NO: u8 = 1;
/// The most rows of one definition that are shown.
const MAX_ROWS: usize = 80;

pub(super) fn run_catalogue_approve(names: &[String], root: &Path) -> Result<ExitCode, CommandFailure> {
    let (project, _places, loaded) = open_catalogue(root)?;
    let wanted = wanted_entries(names, &loaded.catalogue)?;
    let open: Vec<&Capability> = wanted.iter().copied().filter(|entry| entry.approval() == Approval::Outside).collect();
    if open.is_empty() {
        let state = if wanted.len() == 1 {
            "is already approved in its current version"
        } else {
            "are already approved in their current versions"
        };
        ui::aside(&format!("nothing to do: {} {state}\n", count_of_entries(wanted.len(), "definition")));
        return Ok(ExitCode::SUCCESS);
    }
    let listed: Vec<&str> = open.iter().take(6).map(|entry| entry.name().as_str()).collect();
    let more = open.len().saturating_sub(listed.len());
    let and = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut operator = ui::operator(
        &format!("not approved: {}{and}", listed.join(", ")),
        "describe the tool in your own words in catalogue.toml of your configuration",
    )?;
    let approving = Approving::open(&project)?;
    let found = found_in(&loaded.catalogue)?;
    for (index, entry) in open.iter().enumerate() {
        let of = format!("{} of {}: ", index.saturating_add(1), open.len());
        ui::aside(&definition_review(&of, entry, &found, &approving));
    }
    let flagged = open.iter().filter(|entry| !concerns_about(&found, entry).is_empty()).count();
    let consequence = "If you approve: prompts include these descriptions and parameters as trusted text, and agents may call these tools.";
    ui::aside(&format!("{consequence}\n"));
    if flagged > 0 {
        ui::aside(&format!("{}\n", style_text(RED, &format!("{} of them with findings", group_thousands(flagged)))));
    }
    let question = match open.len() {
        1 => "Approve this definition?".to_owned(),
        count => format!("Approve these {} definitions?", group_thousands(count)),
    };
    if ui::confirm(&mut operator, &question)? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    approving.approve(&operator, &open)?;
    ui::aside(&format!("approved {}\n", count_of_entries(open.len(), "definition")));
    Ok(ExitCode::SUCCESS)
}

/// One definition as a person sees it before deciding. Its author's words are behind marks.
fn definition_review(of: &str, entry: &Capability, found: &[EntryConcern], approving: &Approving) -> String {
    let mut out = format!("{}{}", style_text(BOLD, of), entry_facts(entry));
    match approving.before(entry) {
        Before::Trusted(before) => {
            out.push_str("  changed since you approved it:\n");
            let rows = unified_difference(
                &unescape_lines(&before),
                &unescape_lines(&exact_text(entry.written())),
                Inside::Plain,
            );
            out.push_str(&cap_rows(&rows, MAX_ROWS, entry));
        }
        Before::Lost => {
            out.push_str(
                "  changed since you approved it; the earlier version is no longer stored, so all of it is shown\n",
            );
            out.push_str(&author_text(entry, MAX_ROWS));
        }
        Before::New => {
            out.push_str("  new: you never approved it\n");
            out.push_str(&author_text(entry, MAX_ROWS));
        }
    }
    if entry.kind() == CatalogueEntryKind::Skill {
        _ = writeln!(out, "  you approve its body too, which is not shown here; read it in {}", entry.origin().file);
    }
    for finding in concerns_about(found, entry) {
        _ = writeln!(out, "  {} {}", style_text(RED, "finding:"), finding.kind.in_words());
    }
    out.push('\n');
    out
}

/// An author's text, with the description's lines as lines.
fn unescape_lines(written: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(written) else { return written.to_owned() };
    let description = fields.remove("description");
    let description = description.as_ref().and_then(Value::as_str).unwrap_or_default();
    format!("{description}\n{}\n", json::pretty(&Value::Object(fields)))
}
