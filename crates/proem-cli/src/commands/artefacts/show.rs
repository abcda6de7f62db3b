//! `proem artefacts show` and `export`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use proem_app::project::OpenProject;
use proem_app::records;
use proem_app::triage::TriageDesk;
use proem_app::triage::artefacts::ArtefactReport;
use proem_app::triage::output::{ArtefactOut, ArtefactsOutput};
use proem_runtime::files::{self, FileAccess};
use proem_store::StoreAccess;
use proem_text::json;
use serde_json::{Value as Json, json};

use super::{ArtefactName, kinds};
use crate::failure::CommandFailure;
use crate::ui;

#[derive(Debug, Parser)]
pub(crate) struct Show {
    /// The artefact; without one, all of them
    artefact: Option<ArtefactName>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Parser)]
pub(crate) struct Export {
    /// The artefact; without one, all of them
    artefact: Option<ArtefactName>,
    /// As what
    #[arg(long, value_enum, default_value = "markdown")]
    format: ExportFormat,
    /// Write into this file, which is not there yet, instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// For a report
    Markdown,
    /// For a program
    Json,
}

fn read_artefacts(root: &Path, name: Option<ArtefactName>) -> Result<ArtefactReport, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Read).await?);
        let found = desk.artefact_report(&kinds(name)).await;
        desk.close().await;
        Ok(found?)
    })
}

fn artefacts_json(standing: &ArtefactReport) -> Json {
    let artefacts = standing.artefacts.iter();
    let artefacts = artefacts.map(|artefact| ArtefactOut(artefact.to_json(Some(&standing.figures))));
    json!(ArtefactsOutput { artefacts: artefacts.collect() })
}

pub(super) fn run_artefact_show(args: &Show) -> Result<ExitCode, CommandFailure> {
    let standing = read_artefacts(&args.root, args.artefact)?;
    if args.json {
        ui::print_published_document(ui::PublishedDocument::Pretty(artefacts_json(&standing)))?;
    } else if standing.artefacts.iter().all(|artefact| artefact.version() == 0) {
        ui::aside("no signal has changed anything yet; `proem triage run FILE…` takes signals in\n");
    } else {
        ui::print_listing(&standing.to_markdown())?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run_artefact_export(args: &Export) -> Result<ExitCode, CommandFailure> {
    let standing = read_artefacts(&args.root, args.artefact)?;
    let text = match args.format {
        ExportFormat::Markdown => standing.to_markdown(),
        ExportFormat::Json => format!("{}\n", json::pretty(&artefacts_json(&standing))),
    };
    match &args.output {
        None if args.format == ExportFormat::Json => ui::print_json_document(text.trim_end())?,
        None => ui::print_listing(&text)?,
        Some(path) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let name = path.file_name().map(Path::new);
            let Some(name) = name else {
                return Err(CommandFailure::usage("--output names no file; name one that is not there yet"));
            };
            files::write_new(folder, name, text.as_bytes(), FileAccess::Shared)?;
            ui::aside(&format!("written to {}\n", proem_guard::show::terminal_str(&path.display().to_string())));
        }
    }
    Ok(ExitCode::SUCCESS)
}
