//! `proem catalogue show`

use std::fmt::Write as _;
use std::process::ExitCode;

use proem_app::catalogue::agent_tool_table;
use proem_guard::show as door;
use proem_select::catalogue::{Capability, signature};
use proem_text::json;
use serde_json::{Value, json};

use super::output::EntryOutput;
use super::{CataloguePlace, LoadedCatalogue};
use super::{
    approval_word, concerns_about, definition_tokens, entry_place as place_of, exact_text, found_in, open_catalogue,
};
use crate::commands::trust::review::diff_rows;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, LEAD, RED, group_thousands, style_text};

/// Prints the table that calls a tool from an agent's file.
pub(super) fn run_catalogue_show_agent(name: &str, place: &CataloguePlace) -> Result<ExitCode, CommandFailure> {
    let (_, _, loaded) = open_catalogue(&place.root)?;
    ui::data(&agent_tool_table(entry_of_name(&loaded, name)?)?)?;
    Ok(ExitCode::SUCCESS)
}

fn entry_of_name<'l>(loaded: &'l LoadedCatalogue, name: &str) -> Result<&'l Capability, CommandFailure> {
    loaded.catalogue.get(name).ok_or_else(|| {
        let shown = door::terminal_str(name);
        CommandFailure::usage(format!("no entry is called `{shown}`; `proem catalogue list` shows the names"))
    })
}

pub(super) fn run_catalogue_show(name: &str, place: &CataloguePlace) -> Result<ExitCode, CommandFailure> {
    let (_, _, loaded) = open_catalogue(&place.root)?;
    let entry = entry_of_name(&loaded, name)?;
    let all = found_in(&loaded.catalogue)?;
    let found = concerns_about(&all, entry);
    if place.json {
        ui::print_json_document(&json::pretty(&json!(EntryOutput::new(entry, found))))?;
        return Ok(ExitCode::SUCCESS);
    }
    ui::print_listing(&format!("{LEAD}{}{}", entry_facts(entry), author_text(entry, usize::MAX)))?;
    for finding in found {
        ui::aside(&format!("{} {}\n", style_text(RED, "finding:"), finding.kind.in_words()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The facts that code knows about an entry.
pub(super) fn entry_facts(entry: &Capability) -> String {
    let definition = entry.definition();
    let server = entry.server().map(|server| format!(" of server {server}")).unwrap_or_default();
    let tags: Vec<&str> = definition.tags.iter().map(proem_select::catalogue::CatalogueName::as_str).collect();
    let mut out = format!("{}\n", style_text(BOLD, entry.name().as_str()));
    let mut row = |key: &str, value: &str| _ = writeln!(out, "  {}  {value}", style_text(DIM, &format!("{key:9}")));
    row(
        "what",
        &format!("{}{server}, {} tokens (o200k)", entry.kind().as_str(), group_thousands(definition_tokens(entry))),
    );
    row("from", format!("{} {}", entry.origin().file, place_of(entry)).trim_end());
    row("state", approval_word(entry));
    row("modes", &definition.modes.in_words());
    if !tags.is_empty() {
        row("tags", &tags.join(", "));
    }
    row("sha256", &entry.hash().to_string());
    row("signature", door::terminal_text(&signature(entry)).as_str());
    out
}

/// The author's words, every line behind a mark, at most `most` rows.
pub(super) fn author_text(entry: &Capability, most: usize) -> String {
    let definition = entry.definition();
    let mut lines: Vec<String> = Vec::new();
    let description = exact_text(&definition.description);
    lines.extend(description.lines().flat_map(|line| diff_rows("", line, None)));
    if let Some(value) = entry.parameters_text().and_then(|text| serde_json::from_str::<Value>(&exact_text(&text)).ok())
    {
        lines.extend(json::pretty(&value).lines().flat_map(|line| diff_rows("", line, None)));
    }
    lines.extend(definition.examples.iter().flat_map(|example| diff_rows("e.g. ", &exact_text(example), None)));
    cap_rows(&lines, most, entry)
}

/// At most `most` rows, and how many are not shown.
pub(super) fn cap_rows(rows: &[String], most: usize, entry: &Capability) -> String {
    let mut out: String = rows.iter().take(most).map(|row| format!("{row}\n")).collect();
    let cut = rows.len().saturating_sub(most);
    if cut > 0 {
        let text = format!(
            "NOT SHOWN: {} more lines; `proem catalogue show {}` prints all",
            group_thousands(cut),
            entry.name()
        );
        _ = writeln!(out, "  {}", style_text(RED, &text));
    }
    out
}
