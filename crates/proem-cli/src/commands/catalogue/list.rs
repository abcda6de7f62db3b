//! `proem catalogue list`

use std::process::ExitCode;

use proem_select::catalogue::{Approval, Capability, CatalogueEntryKind};
use proem_text::json;
use serde_json::json;

use super::output::CatalogueListOutput;
use super::{CataloguePlace, KindArg};
use super::{approval_word, count_of_entries, definition_tokens, entry_place, found_in, noun, open_catalogue};
use crate::failure::CommandFailure;
use crate::ui::{self, BLUE, DIM, GREEN, LEAD, RED, YELLOW, group_thousands, style_text};

pub(super) fn run_catalogue_list(
    kind: Option<KindArg>,
    server: Option<&str>,
    place: &CataloguePlace,
) -> Result<ExitCode, CommandFailure> {
    let (_, _, loaded) = open_catalogue(&place.root)?;
    let of_kind = |entry: &Capability| match kind {
        None => true,
        Some(KindArg::Tool) => entry.kind() == CatalogueEntryKind::Tool,
        Some(KindArg::Skill) => entry.kind() == CatalogueEntryKind::Skill,
    };
    let of_server =
        |entry: &Capability| server.is_none_or(|server| entry.server().is_some_and(|own| own.as_str() == server));
    let entries: Vec<&Capability> =
        loaded.catalogue.entries().iter().filter(|entry| of_kind(entry) && of_server(entry)).collect();
    if place.json {
        let found = found_in(&loaded.catalogue)?;
        let output = CatalogueListOutput::new(&loaded, &entries, &found);
        ui::print_json_document(&json::pretty(&json!(output)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !entries.is_empty() {
        ui::print_listing(&catalogue_table(&entries))?;
    }
    ui::print_notes(&loaded.notes);
    ui::aside(&format!("{}\n", catalogue_summary(&entries)));
    Ok(ExitCode::SUCCESS)
}

fn catalogue_table(entries: &[&Capability]) -> String {
    let width = |title: &str, of: &dyn Fn(&Capability) -> usize| {
        entries.iter().map(|entry| of(entry)).max().unwrap_or(0).max(title.len())
    };
    let names = width("name", &|entry| entry.name().as_str().len());
    let modes = width("modes", &|entry| entry.definition().modes.in_words().len());
    let head = format!("  {:names$}  {:5}  {:12}  {:modes$}  {:>6}  from", "name", "kind", "state", "modes", "tokens");
    let mut out = format!("{}\n", style_text(DIM, &head));
    for entry in entries {
        let word = approval_word(entry);
        let style = match (entry.approval(), entry.changed()) {
            (Approval::Approved, _) => GREEN,
            (Approval::Outside, true) => RED,
            (Approval::Outside, false) => YELLOW,
        };
        out.push_str(&format!(
            "{LEAD}{:names$}  {}  {}  {:modes$}  {:>6}  {} {}\n",
            entry.name().as_str(),
            style_text(BLUE, &format!("{:5}", noun(entry.kind()))),
            style_text(style, &format!("{word:12}")),
            entry.definition().modes.in_words(),
            group_thousands(definition_tokens(entry)),
            entry.origin().file,
            style_text(DIM, &entry_place(entry)),
        ));
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn catalogue_summary(entries: &[&Capability]) -> String {
    if entries.is_empty() {
        return "no tools or skills; docs/guide/catalogue.md lists the places that are searched".into();
    }
    let of = |kind: CatalogueEntryKind| entries.iter().filter(|entry| entry.kind() == kind).count();
    let outside = entries.iter().filter(|entry| entry.approval() == Approval::Outside).count();
    let all: usize = entries.iter().map(|entry| definition_tokens(entry)).sum();
    let state = match outside {
        0 => "all approved".to_owned(),
        count => format!("{} not approved; review them with `proem catalogue approve NAME`", group_thousands(count)),
    };
    format!(
        "{} and {}, {} tokens (o200k); {state}",
        count_of_entries(of(CatalogueEntryKind::Tool), "tool"),
        count_of_entries(of(CatalogueEntryKind::Skill), "skill"),
        group_thousands(all)
    )
}
