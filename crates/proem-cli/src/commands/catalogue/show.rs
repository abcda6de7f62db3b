//! `proem catalogue show`

use std::fmt::Write as _;
use std::process::ExitCode;

use proem_guard::show as door;
use proem_select::catalogue::{Capability, signature};
use proem_text::json;
use serde_json::Value;

use super::CataloguePlace;
use super::{about, approval_word, definition_tokens, exact_text, found_in, open, place as place_of, summary_json};
use crate::commands::trust::review::rows;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, LEAD, RED, group_thousands, styled};

pub(super) fn run(name: &str, place: &CataloguePlace) -> Result<ExitCode, CommandFailure> {
    let (_, _, loaded) = open(&place.root)?;
    let Some(entry) = loaded.catalogue.get(name) else {
        let shown = door::terminal_str(name);
        return Err(CommandFailure::usage(format!(
            "no entry is called `{shown}`; `proem catalogue list` shows the names"
        )));
    };
    let all = found_in(&loaded.catalogue)?;
    let found = about(&all, entry);
    if place.json {
        let mut out = summary_json(entry, found);
        if let Some(fields) = out.as_object_mut() {
            let definition = entry.definition();
            let parameters = entry.parameters_text().and_then(|text| serde_json::from_str(&exact_text(&text)).ok());
            fields.insert("ownName".into(), door::json(entry.own_name()));
            fields.insert("description".into(), door::json(&definition.description));
            fields.insert("examples".into(), definition.examples.iter().map(door::json).collect());
            fields.insert("parameters".into(), parameters.unwrap_or(Value::Null));
        }
        ui::document(&json::pretty(&out))?;
        return Ok(ExitCode::SUCCESS);
    }
    ui::listing(&format!("{LEAD}{}{}", facts(entry), text(entry, usize::MAX)))?;
    for finding in found {
        ui::aside(&format!("{} {}\n", styled(RED, "finding:"), finding.kind.in_words()));
    }
    Ok(ExitCode::SUCCESS)
}

/// What code knows about an entry.
pub(super) fn facts(entry: &Capability) -> String {
    let definition = entry.definition();
    let server = entry.server().map(|server| format!(" of server {server}")).unwrap_or_default();
    let tags: Vec<&str> = definition.tags.iter().map(proem_select::catalogue::CatalogueName::as_str).collect();
    let mut out = format!("{}\n", styled(BOLD, entry.name().as_str()));
    let mut row = |key: &str, value: &str| _ = writeln!(out, "  {}  {value}", styled(DIM, &format!("{key:9}")));
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
    row("signature", door::terminal(&signature(entry)).as_str());
    out
}

/// What its author says, every line behind a mark, at most `most` rows.
pub(super) fn text(entry: &Capability, most: usize) -> String {
    let definition = entry.definition();
    let mut lines: Vec<String> = Vec::new();
    let description = exact_text(&definition.description);
    lines.extend(description.lines().flat_map(|line| rows("", line, None)));
    if let Some(value) = entry.parameters_text().and_then(|text| serde_json::from_str::<Value>(&exact_text(&text)).ok())
    {
        lines.extend(json::pretty(&value).lines().flat_map(|line| rows("", line, None)));
    }
    lines.extend(definition.examples.iter().flat_map(|example| rows("e.g. ", &exact_text(example), None)));
    capped(&lines, most, entry)
}

/// At most `most` rows, and how many are not shown.
pub(super) fn capped(rows: &[String], most: usize, entry: &Capability) -> String {
    let mut out: String = rows.iter().take(most).map(|row| format!("{row}\n")).collect();
    let cut = rows.len().saturating_sub(most);
    if cut > 0 {
        let text = format!(
            "NOT SHOWN: {} more lines; `proem catalogue show {}` prints all",
            group_thousands(cut),
            entry.name()
        );
        _ = writeln!(out, "  {}", styled(RED, &text));
    }
    out
}
