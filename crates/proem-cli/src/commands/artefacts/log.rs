//! `proem artefacts log`: what changed, and why.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use jiff::tz::TimeZone;
use proem_app::project::OpenProject;
use proem_app::triage::TriageDesk;
use proem_app::triage::artefacts::VersionEntry;
use proem_app::{records, when};
use proem_store::StoreAccess;
use proem_text::json;
use proem_triage::artefact::{ArtefactLogEntry, ItemChange, ItemChangeKind};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{ArtefactName, kinds};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, count_with_noun, cut_to_width, style_text};

#[derive(Debug, Parser)]
pub(crate) struct Log {
    /// The artefact; without one, all of them
    artefact: Option<ArtefactName>,
    /// At most so many versions
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: u64,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_artefact_log(args: &Log) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Read).await?);
        let changes = desk.changes(&kinds(args.artefact), args.limit).await;
        let zone = TimeZone::get(&desk.charter.time_zone).unwrap_or(TimeZone::UTC);
        desk.close().await;
        let changes = changes?;
        if args.json {
            let versions = changes.iter().map(ArtefactVersionOutput::new).collect();
            return ui::print_json_document(&json::pretty(&json!(ArtefactLogOutput { versions })));
        }
        if changes.is_empty() {
            ui::aside("nothing has changed yet; `proem triage run FILE…` takes signals in\n");
            return Ok(());
        }
        ui::print_listing(&changes.iter().map(|change| version_text(change, &zone)).collect::<String>())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The versions of artefacts, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArtefactLogOutput {
    versions: Vec<ArtefactVersionOutput>,
}

/// A version of an artefact. Its texts are null if its entry can't be read.
#[derive(Debug, Serialize, JsonSchema)]
struct ArtefactVersionOutput {
    /// The artefact's name.
    artefact: &'static str,
    /// Its number.
    version: u64,
    /// When it was made.
    at: Option<String>,
    actor: Option<ArtefactActorOutput>,
    /// The signals because of which it was made.
    causes: Option<Vec<ArtefactCauseOutput>>,
    changes: Option<Vec<ItemChangeOutput>>,
}

/// The actor that changed an artefact.
#[derive(Debug, Serialize, JsonSchema)]
struct ArtefactActorOutput {
    /// The kind of actor.
    kind: &'static str,
    /// The actor's name.
    id: String,
}

/// A signal because of which an artefact changed.
#[derive(Debug, Serialize, JsonSchema)]
struct ArtefactCauseOutput {
    /// The signal's id.
    id: String,
    /// The hash of the signal's content.
    revision: String,
}

/// One row of an artefact that is not as before.
#[derive(Debug, Serialize, JsonSchema)]
struct ItemChangeOutput {
    /// The item's id.
    item: String,
    /// The change, in words.
    what: String,
}

impl ArtefactVersionOutput {
    fn new(change: &VersionEntry) -> Self {
        let entry = change.entry.as_ref();
        let cause = |entry: &ArtefactLogEntry| {
            let causes = entry.causes.iter();
            causes.map(|cause| ArtefactCauseOutput { id: cause.id.clone(), revision: cause.revision.clone() }).collect()
        };
        let item =
            |change: &ItemChange| ItemChangeOutput { item: change.item.to_string(), what: item_change_words(change) };
        Self {
            artefact: change.kind.as_str(),
            version: change.version,
            at: entry.map(|entry| when::rfc3339(entry.at)),
            actor: entry
                .map(|entry| ArtefactActorOutput { kind: entry.actor.as_str(), id: entry.actor.id().to_owned() }),
            causes: entry.map(cause),
            changes: entry.map(|entry| entry.changes.iter().map(item).collect()),
        }
    }
}

fn item_change_words(change: &ItemChange) -> String {
    match &change.kind {
        ItemChangeKind::Added(status) => format!("added as {status}"),
        ItemChangeKind::Modified { field, .. } => format!("{} changed", field.as_str()),
        ItemChangeKind::Status { from, to, .. } => format!("{from} to {to}"),
    }
}

/// Why, in the words of whoever changed it.
fn item_change_reason(change: &ItemChange) -> String {
    match &change.kind {
        ItemChangeKind::Added(_) => String::new(),
        ItemChangeKind::Modified { reason, .. } | ItemChangeKind::Status { reason, .. } => {
            format!("  {}", style_text(DIM, &ui::on_line(reason.words(), 100)))
        }
    }
}

fn version_text(change: &VersionEntry, zone: &TimeZone) -> String {
    let head = style_text(BOLD, &format!("{} {}", change.kind.as_str(), change.version));
    let Some(entry) = &change.entry else {
        return format!("{head}  its text is gone\n");
    };
    let ArtefactLogEntry { at, actor, causes, changes, .. } = entry;
    let causes = count_with_noun(u64::try_from(causes.len()).unwrap_or(u64::MAX), "signal");
    let mut out = format!(
        "{head}  {}  {} {}, {causes}\n",
        when::date_and_clock(*at, zone),
        actor.as_str(),
        cut_to_width(actor.id(), 40)
    );
    for change in changes {
        out.push_str(&format!(
            "  {:10} {}{}\n",
            change.item.to_string(),
            item_change_words(change),
            item_change_reason(change)
        ));
    }
    out
}
