//! `proem catalogue`: what may be selected, and what of it was approved.

mod approve;
mod check;
pub(super) mod fetch;
mod list;
pub(super) mod output;
pub(super) mod refresh;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use proem_select::catalogue::{Approval, Capability, CatalogueEntryKind, EntryConcern};

use crate::failure::CommandFailure;
use proem_app::places::Places;
use proem_app::project::OpenProject;

pub(super) use proem_app::catalogue::{LoadedCatalogue, definition_tokens, exact_text, found_in};

pub(crate) const CATALOGUE_EXAMPLES: &str = "\
Examples:
  proem catalogue list
  proem catalogue show github__create_issue
  proem catalogue check              # exit code 1 if something is wrong
  proem catalogue fetch github       # starts or asks `[mcp.github]`, and saves its tools
  proem catalogue approve github     # shows the whole manifest, asks once
  proem catalogue refresh            # after a file changed; starts no server";

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogueCommand {
    /// List tools and skills
    #[command(after_help = "Example:\n  proem catalogue list --kind skill")]
    List {
        /// Only tools, or only skills
        #[arg(long, value_enum)]
        kind: Option<KindArg>,
        /// Only the tools of one server
        #[arg(long)]
        server: Option<String>,
        #[command(flatten)]
        place: CataloguePlace,
    },
    /// Print one entry with all that is known about it
    #[command(after_help = "Examples:\n  proem catalogue show github__create_issue\n  \
                      proem catalogue show github__create_issue --agent-table >> reader.agent.toml")]
    Show {
        /// The name of the entry, as `proem catalogue list` shows it
        name: String,
        /// Print the table that calls an approved tool of a server from an agent's file
        #[arg(long, conflicts_with = "json")]
        agent_table: bool,
        #[command(flatten)]
        place: CataloguePlace,
    },
    /// Ask the servers of your configuration for their tools, and save them
    #[command(
        after_help = "A server is a program or an address under `[mcp.NAME]`. Its answer goes to `catalogue/NAME.json` \
                      beside your configuration.\n\nExample:\n  proem catalogue fetch github"
    )]
    Fetch {
        /// Servers, by their names in your configuration; all without any
        names: Vec<String>,
        #[command(flatten)]
        place: CataloguePlace,
    },
    /// Read all files again and store the manifest
    #[command(after_help = "Example:\n  proem catalogue refresh --json")]
    Refresh(CataloguePlace),
    /// Check the catalogue for errors; exit code 1 if there are any
    #[command(after_help = "Example:\n  proem catalogue check --json")]
    Check(CataloguePlace),
    /// Review definitions and allow them in prompts
    #[command(after_help = "Example:\n  proem catalogue approve github")]
    Approve {
        /// Servers and names of entries
        #[arg(required = true)]
        names: Vec<String>,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
}

/// The kind of a catalogue's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// Functions that a model may call
    Tool,
    /// Instructions that a model may ask to read
    Skill,
}

#[derive(Debug, Parser)]
pub(crate) struct CataloguePlace {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run_catalogue(command: &CatalogueCommand) -> Result<ExitCode, CommandFailure> {
    match command {
        CatalogueCommand::List { kind, server, place } => list::run_catalogue_list(*kind, server.as_deref(), place),
        CatalogueCommand::Show { name, agent_table: true, place } => show::run_catalogue_show_agent(name, place),
        CatalogueCommand::Show { name, agent_table: false, place } => show::run_catalogue_show(name, place),
        CatalogueCommand::Fetch { names, place } => fetch::run_catalogue_fetch(names, &place.root, place.json),
        CatalogueCommand::Refresh(place) => refresh::run_catalogue_refresh(place),
        CatalogueCommand::Check(place) => check::run_catalogue_check(place),
        CatalogueCommand::Approve { names, root } => approve::run_catalogue_approve(names, root),
    }
}

/// The project around a folder with its catalogue.
pub(super) fn open_catalogue(root: &Path) -> Result<(OpenProject, Places, LoadedCatalogue), CommandFailure> {
    let places = crate::user_places()?;
    let mut said = Vec::new();
    let opened = proem_app::catalogue::open_with_catalogue(root, &places, &mut said);
    crate::ui::print_notes(&said);
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

/// The place of an entry in its file.
fn entry_place(entry: &Capability) -> String {
    use proem_select::catalogue::FilePosition;
    match &entry.origin().at {
        FilePosition::Whole => String::new(),
        FilePosition::Line { line, column } => format!("{line}:{column}"),
        FilePosition::Pointer(pointer) => pointer.clone(),
    }
}

/// The findings about one entry. Findings are sorted by name.
fn concerns_about<'f>(findings: &'f [EntryConcern], entry: &Capability) -> &'f [EntryConcern] {
    let start = findings.partition_point(|finding| finding.name < *entry.name());
    let end = findings.partition_point(|finding| finding.name <= *entry.name());
    findings.get(start..end).unwrap_or_default()
}

/// `1 tool`, `2 skills`.
fn count_of_entries(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", crate::ui::group_thousands(count), if count == 1 { "" } else { "s" })
}

const fn noun(kind: CatalogueEntryKind) -> &'static str {
    kind.as_str()
}
