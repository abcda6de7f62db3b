//! `proem triage sources`: the trackers of a project, and the number of an Asana project.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use jiff::tz::TimeZone;
use proem_app::project::OpenProject;
use proem_app::triage::TriageDesk;
use proem_app::triage::sources::{DeliveryCount, TriageSources, find_asana_projects};
use proem_app::{records, when};
use proem_guard::show;
use proem_store::StoreAccess;
use proem_text::json;
use proem_triage::AsanaProject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::failure::CommandFailure;
use crate::ui::{self, DIM, count_with_noun, style_text};

pub(super) const SOURCES_EXAMPLES: &str = "\
Lists the trackers that the project's file names, and what each of them last delivered. No server is
asked. Given the address of an Asana project's page, an export of its tasks or the body of a
webhook, it also finds the project's number and prints the lines that add it to the file.

Examples:
  proem triage sources
  proem triage sources https://app.asana.com/0/1208/list
  proem triage sources tasks.json --json";

/// The most characters of a project's name.
const MAX_NAME: usize = 80;

#[derive(Debug, Parser)]
pub(crate) struct Sources {
    /// Addresses of Asana projects, exports of tasks, or bodies of webhooks
    #[arg(value_name = "ADDRESS|FILE")]
    given: Vec<String>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_triage_sources(args: &Sources) -> Result<ExitCode, CommandFailure> {
    let mut found: Vec<AsanaProject> = Vec::new();
    for given in &args.given {
        found.extend(find_asana_projects(given)?);
    }
    found.sort_by(|one, other| one.gid.cmp(&other.gid));
    found.dedup_by(|one, other| one.gid == other.gid);
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Write).await?);
        let sources = desk.sources().await;
        let shown = sources.map_err(CommandFailure::from).and_then(|sources| {
            let zone = TimeZone::get(&desk.charter.time_zone).unwrap_or(TimeZone::UTC);
            if args.json {
                ui::print_json_document(&json::pretty(&json!(TriageSourcesOutput::new(&desk, &sources, &found))))
            } else {
                ui::print_listing(&format!("{}{}", source_listing(&sources, &zone), additions(&desk, &found)))
            }
        });
        desk.close().await;
        shown
    })?;
    Ok(ExitCode::SUCCESS)
}

fn source_listing(sources: &TriageSources, zone: &TimeZone) -> String {
    let line = |source: &str, project: &str, delivered: &DeliveryCount| {
        let came = match &delivered.last {
            None => "nothing came yet".to_owned(),
            Some((at, kind)) => {
                let kind = show::terminal_str(kind).into_string();
                format!(
                    "{}, the last on {} ({kind})",
                    count_with_noun(delivered.signals, "signal"),
                    when::date_and_clock(*at, zone)
                )
            }
        };
        format!(
            "{}  {project:16}  {came}\n",
            style_text(DIM, &format!("{:7}", show::terminal_str(source).into_string()))
        )
    };
    let mut out = String::new();
    for tracker in &sources.trackers {
        let project = show::terminal_str(&tracker.project).into_string();
        out.push_str(&line(&tracker.source, &project, &tracker.delivered));
    }
    for (source, delivered) in &sources.beside {
        out.push_str(&line(source, "", delivered));
    }
    if !sources.others.is_empty() {
        out.push_str("set aside, since the project's file names them under no `[[trackers]]`:\n");
    }
    for other in &sources.others {
        let project = show::terminal_capped(&other.project, MAX_NAME).into_string();
        out.push_str(&line(&other.source, &project, &other.delivered));
    }
    out
}

/// The projects found in Asana, with the lines that add them to the project's file.
fn additions(desk: &TriageDesk<'_>, found: &[AsanaProject]) -> String {
    let mut out = String::new();
    for project in found {
        let name = project.name.as_ref().map(|name| show::terminal_capped(name, MAX_NAME).into_string());
        let name = name.map_or_else(String::new, |name| format!(" ({name})"));
        if desk.knows_asana(&project.gid) {
            out.push_str(&format!("\nasana {}{name} is in the project's file\n", project.gid));
        } else {
            out.push_str(&format!(
                "\nasana {}{name} is not in the project's file; add these lines to `.proem/triage/project.toml`, and \
                 run `proem trust .proem/triage/project.toml`:\n\n[[trackers]]\nsource = \"asana\"\nproject = \"{}\"\n",
                project.gid, project.gid
            ));
        }
    }
    out
}

/// The sources of signals.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TriageSourcesOutput {
    /// The trackers in the project's file.
    trackers: Vec<SourceOutput>,
    /// Sources that no tracker has, such as mail.
    beside: Vec<UntrackedOutput>,
    /// Projects that signals came from and that the project's file doesn't have.
    others: Vec<SourceOutput>,
    /// Projects that Asana has.
    found: Vec<FoundProjectOutput>,
}

/// A project of a tracker.
#[derive(Debug, Serialize, JsonSchema)]
struct SourceOutput {
    /// The tracker's name.
    source: String,
    /// The project's key there.
    #[schemars(with = "String")]
    project: Json,
    delivered: DeliveredOutput,
}

/// A source that no tracker has.
#[derive(Debug, Serialize, JsonSchema)]
struct UntrackedOutput {
    /// Its name.
    source: String,
    delivered: DeliveredOutput,
}

/// The signals that a source delivered.
#[derive(Debug, Serialize, JsonSchema)]
struct DeliveredOutput {
    /// Their number.
    signals: u64,
    /// When the last of them happened.
    last: Option<String>,
    /// The kind of the last.
    kind: Option<String>,
}

/// A project that Asana has.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundProjectOutput {
    /// The tracker's name.
    source: &'static str,
    /// The project's id there.
    project: String,
    /// Its name there.
    #[schemars(with = "Option<String>")]
    name: Option<Json>,
    /// Whether the project's file has it.
    is_in_file: bool,
}

impl TriageSourcesOutput {
    fn new(desk: &TriageDesk<'_>, sources: &TriageSources, found: &[AsanaProject]) -> Self {
        let trackers = sources.trackers.iter().map(|tracker| SourceOutput {
            source: tracker.source.clone(),
            project: tracker.project.as_str().into(),
            delivered: DeliveredOutput::new(&tracker.delivered),
        });
        let beside = sources.beside.iter();
        let others = sources.others.iter().map(|other| SourceOutput {
            source: other.source.clone(),
            project: show::exact_json(&other.project),
            delivered: DeliveredOutput::new(&other.delivered),
        });
        let found = found.iter().map(|project| FoundProjectOutput {
            source: "asana",
            project: project.gid.clone(),
            name: project.name.as_ref().map(show::exact_json),
            is_in_file: desk.knows_asana(&project.gid),
        });
        Self {
            trackers: trackers.collect(),
            beside: beside
                .map(|(source, count)| UntrackedOutput {
                    source: source.clone(),
                    delivered: DeliveredOutput::new(count),
                })
                .collect(),
            others: others.collect(),
            found: found.collect(),
        }
    }
}

impl DeliveredOutput {
    fn new(delivered: &DeliveryCount) -> Self {
        let last = delivered.last.as_ref();
        Self {
            signals: delivered.signals,
            last: last.map(|(at, _)| when::rfc3339(*at)),
            kind: last.map(|(_, kind)| kind.clone()),
        }
    }
}
