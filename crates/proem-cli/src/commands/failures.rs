//! `proem failures`: what prompts learn from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use proem_engine::profile::{Completeness, Quality};
use proem_engine::run::Time;
use proem_guard::show;
use proem_store::ClearingWay;
use proem_store::query::{FailureRow, FailureSource};
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui::{self, DIM, style_text};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::{self, failures};

pub(crate) const FAILURES_EXAMPLES: &str = "\
Examples:
  proem failures list
  proem failures clear --agent reviews/triage
  proem failures clear --undo";

#[derive(Debug, Subcommand)]
pub(crate) enum FailuresCommand {
    /// List failures, the newest first
    #[command(after_help = "Example:\n  proem failures list --json")]
    List {
        /// Only the failures of one agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Clear failures, so that prompts no longer learn from them
    #[command(after_help = "Example:\n  proem failures clear --undo")]
    Clear {
        /// Only the failures of one agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Restore the failures that were cleared last
        #[arg(long)]
        undo: bool,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
}

pub(super) fn run_failures(args: &FailuresCommand) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let opened = |root: &Path| OpenProject::open(root, &places, BookReading::Trusted);
    match args {
        FailuresCommand::List { agent, root, json } => {
            let project = opened(root)?;
            let mut notes = Vec::new();
            let rows = records::blocking(failures::list_failures(&project, agent.as_deref(), &mut notes));
            ui::print_notes(&notes);
            let rows = rows?;
            if *json {
                let rows: Vec<FailureOutput<'_>> = rows.iter().map(FailureOutput::new).collect();
                ui::print_json_document(&json::pretty(&json!(rows)))?;
            } else if rows.is_empty() {
                ui::print_note(&format!("no failures{} are recorded for this project", of_agent(agent.as_deref())));
            } else {
                ui::print_listing(&failure_table(&rows))?;
            }
        }
        FailuresCommand::Clear { agent, undo, root } => {
            let project = opened(root)?;
            let way = if *undo { ClearingWay::Undo } else { ClearingWay::Clear };
            let mut notes = Vec::new();
            let count = records::blocking(failures::clear(&project, agent.as_deref(), way, &mut notes));
            ui::print_notes(&notes);
            let count = count?;
            let failures = ui::count_with_noun(count, "failure");
            ui::print_note(&match (count, way) {
                (0, ClearingWay::Clear) => format!("there is no failure{} to clear", of_agent(agent.as_deref())),
                (0, ClearingWay::Undo) => {
                    format!("there are no cleared failures{} to restore", of_agent(agent.as_deref()))
                }
                (_, ClearingWay::Clear) => {
                    format!("{failures} cleared; `proem failures clear --undo` undoes that")
                }
                (1, ClearingWay::Undo) => format!("{failures} counts again"),
                (_, ClearingWay::Undo) => format!("{failures} count again"),
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent of the failures, if it is not all agents.
fn of_agent(agent: Option<&str>) -> String {
    agent.map_or_else(String::new, |agent| format!(" of `{}`", show::terminal_str(agent)))
}

/// A recorded failure. Keys that failures have in logs of other programs keep their names there.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailureOutput<'f> {
    /// The run that it was found in.
    run: &'f str,
    /// The time, in UTC.
    timestamp: String,
    /// The kind of result that failed.
    result_key: &'f str,
    /// The agent that failed.
    subagent: &'f str,
    /// The finding itself.
    issue: IssueOutput<'f>,
    /// How it was found.
    #[schemars(with = "FoundBy")]
    source: FailureSource,
    /// The time since which it counts no more, in UTC. Null if it counts.
    cleared: Option<String>,
}

/// How a failure was found: by code in an answer, or by a person who said so.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "the schema of a value of the store's, which knows of no schemas")]
enum FoundBy {
    Answer,
    Person,
}

/// A result's weaknesses.
#[derive(Debug, Serialize, JsonSchema)]
struct IssueOutput<'f> {
    quality: Quality,
    completeness: Completeness,
    /// The risks, each in words.
    risks: &'f BTreeSet<String>,
}

impl<'f> FailureOutput<'f> {
    fn new(row: &'f FailureRow) -> Self {
        let recorded = &row.recorded;
        Self {
            run: &row.run.0,
            timestamp: utc_second(recorded.at),
            result_key: &recorded.kind,
            subagent: &recorded.agent,
            issue: IssueOutput {
                quality: recorded.issue.quality,
                completeness: recorded.issue.completeness,
                risks: &recorded.issue.risks,
            },
            source: row.found,
            cleared: row.cleared.map(utc_second),
        }
    }
}

fn failure_table(rows: &[FailureRow]) -> String {
    let agent = |row: &FailureRow| show::terminal_str(&row.recorded.agent).into_string();
    let widest = rows.iter().map(|row| agent(row).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let issue = &row.recorded.issue;
        let by_person = row.found == FailureSource::Person;
        let mut what: Vec<String> = issue.risks.iter().map(|risk| show::terminal_str(risk).into_string()).collect();
        if by_person {
            what.push("rated bad by a person".to_owned());
        } else if what.is_empty() {
            what.extend((issue.quality == Quality::Low).then(|| "low quality".to_owned()));
            what.extend((issue.completeness == Completeness::Partial).then(|| "partial".to_owned()));
        }
        let line = format!(
            "{}  {}  {:widest$}  {}",
            utc_second(row.recorded.at),
            row.run.short(),
            agent(row),
            what.join(", ")
        );
        match row.cleared {
            Some(at) => out.push_str(&style_text(DIM, &format!("{line}  (cleared {})", utc_second(at)))),
            None => out.push_str(&line),
        }
        out.push('\n');
    }
    out
}

/// A time in UTC, to the second.
fn utc_second(time: Time) -> String {
    let second = time.0.div_euclid(1_000);
    jiff::Timestamp::from_second(second).map_or_else(|_| format!("{second} s"), |timestamp| timestamp.to_string())
}
