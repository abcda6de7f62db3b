//! `proem catalogue`: what may be selected, and what of it was approved.

mod approve;
mod check;
mod list;
pub(super) mod refresh;
mod show;

use std::path::Path;
use std::process::ExitCode;

use proem_guard::show as door;
use proem_select::catalogue::{Approval, Capability, Finding, Kind, Modes, Name, signature};
use proem_select::mode::Mode;
use serde_json::{Value, json};

use crate::args::CatalogueCommand;
use crate::failure::Failure;
use proem_app::places::Places;
use proem_app::project::Project;

pub(super) use proem_app::catalogue::{Loaded, found_in, plain, tokens};

pub(super) fn run(command: &CatalogueCommand) -> Result<ExitCode, Failure> {
    match command {
        CatalogueCommand::List { kind, server, place } => list::run(*kind, server.as_deref(), place),
        CatalogueCommand::Show { name, place } => show::run(name, place),
        CatalogueCommand::Refresh(place) => refresh::run(place),
        CatalogueCommand::Check(place) => check::run(place),
        CatalogueCommand::Approve { names, root } => approve::run(names, root),
    }
}

/// The project around a folder with its catalogue.
pub(super) fn open(root: &Path) -> Result<(Project, Places, Loaded), Failure> {
    let places = crate::places()?;
    let mut said = Vec::new();
    let opened = proem_app::catalogue::open(root, &places, &mut said);
    crate::ui::notes(&said);
    let (project, loaded) = opened?;
    Ok((project, places, loaded))
}

pub(super) const fn approval_word(entry: &Capability) -> &'static str {
    match (entry.approval(), entry.changed()) {
        (Approval::Approved, _) => "approved",
        (Approval::Outside, true) => "changed",
        (Approval::Outside, false) => "not approved",
    }
}

fn modes_json(modes: Modes) -> Vec<&'static str> {
    modes.iter().map(Mode::as_str).collect()
}

/// What `list --json` says of an entry.
fn summary_json(entry: &Capability, findings: &[Finding]) -> Value {
    let definition = entry.definition();
    let tags: Vec<&str> = definition.tags.iter().map(Name::as_str).collect();
    let own: Vec<Value> = about(findings, entry).iter().map(finding_json).collect();
    json!({
        "name": entry.name().as_str(),
        "kind": entry.kind().as_str(),
        "server": entry.server().map(Name::as_str),
        "state": approval_word(entry),
        "hash": entry.hash().to_string(),
        "modes": modes_json(definition.modes),
        "tags": tags,
        "signature": door::json(&signature(entry)),
        "origin": { "file": entry.origin().file, "place": place(entry) },
        "tokens": tokens(entry),
        "findings": own,
    })
}

/// Where in its file an entry stands.
fn place(entry: &Capability) -> String {
    use proem_select::catalogue::At;
    match &entry.origin().at {
        At::Whole => String::new(),
        At::Line { line, column } => format!("{line}:{column}"),
        At::Pointer(pointer) => pointer.clone(),
    }
}

/// What was found about one entry; findings are sorted by name.
fn about<'f>(findings: &'f [Finding], entry: &Capability) -> &'f [Finding] {
    let start = findings.partition_point(|finding| finding.name < *entry.name());
    let end = findings.partition_point(|finding| finding.name <= *entry.name());
    findings.get(start..end).unwrap_or_default()
}

fn finding_json(finding: &Finding) -> Value {
    json!({ "name": finding.name.as_str(), "kind": finding.kind.as_str(), "text": finding.kind.in_words() })
}

/// `1 tool`, `2 skills`.
fn counted(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", crate::ui::grouped(count), if count == 1 { "" } else { "s" })
}

const fn noun(kind: Kind) -> &'static str {
    kind.as_str()
}
