//! `proem effects sweep`: performs what is due.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::effects::ActionDesk;
use proem_app::effects::output::SweepOutput;
use proem_app::effects::sweep::{CredentialReading, SweepCourse, SweepReport, SweptAction};
use proem_app::project::OpenProject;
use proem_app::records;
use proem_engine::effect::ActionState;
use proem_store::StoreAccess;
use proem_text::json;
use serde_json::json;

use crate::commands::queue::short_effect_key;
use crate::failure::CommandFailure;
use crate::ui::{self, GREEN, YELLOW, count_with_noun, style_text};

pub(super) const SWEEP_EXAMPLES: &str = "\
Examples:
  proem effects sweep
  proem effects sweep --json
  proem effects sweep --credentials-from-files    # started by another program

Each sweep looks once and ends; a timer that starts it every minute performs holds on time.
The exit code is 1 if effects are not on, if an action could not be performed, or if nobody knows whether one was.";

/// The exit code of a negative answer.
const NO: u8 = 1;

#[derive(Debug, Parser)]
pub(crate) struct Sweep {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Take credentials from the files that your configuration names, and none from the environment
    #[arg(long)]
    credentials_from_files: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_effects_sweep(args: &Sweep) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    let reading =
        if args.credentials_from_files { CredentialReading::FilesAlone } else { CredentialReading::OwnEnvironment };
    let as_json = args.json;
    let report = records::blocking(async {
        let desk = ui::print_notes_of(ActionDesk::open(&project, StoreAccess::Write).await?);
        let mut progress = |change: &SweptAction| {
            if !as_json {
                ui::aside(&swept_action_line(change));
            }
        };
        let swept = desk.sweep(reading, &mut progress).await;
        desk.close().await;
        swept.map_err(CommandFailure::from)
    })?;
    if as_json {
        ui::print_json_document(&json::pretty(&json!(SweepOutput::new(&report))))?;
    } else {
        ui::aside(&sweep_summary(&report));
    }
    let code = if report.obstacles.is_empty() && !report.needs_a_person() { 0 } else { NO };
    Ok(ExitCode::from(code))
}

fn swept_action_line(change: &SweptAction) -> String {
    let state = match change.state {
        ActionState::Executed => style_text(GREEN, change.state.as_str()),
        ActionState::Unknown | ActionState::Failed => style_text(YELLOW, change.state.as_str()),
        state if state == change.row.state => style_text(YELLOW, &format!("is still {}", state.as_str())),
        state => state.as_str().to_owned(),
    };
    let why = if change.why.is_empty() { String::new() } else { format!(": {}", change.why) };
    format!("{}  {}  {state}{why}\n", short_effect_key(&change.row.key), change.row.scope.name)
}

fn sweep_summary(report: &SweepReport) -> String {
    if !report.obstacles.is_empty() {
        let why: Vec<String> = report.obstacles.iter().map(ToString::to_string).collect();
        return format!("nothing was performed: {}; `proem effects status` shows what to do\n", why.join("; "));
    }
    match report.course {
        SweepCourse::Steady => {}
        SweepCourse::Changed => ui::print_note(
            "the policy, the level, what is trusted or the configuration changed during the sweep, so the rest is left to \
             the next one",
        ),
        SweepCourse::Stopped => {
            ui::print_note("effects were switched off during the sweep, so the rest stays as it is");
        }
    }
    let done = report.changes.iter().filter(|change| change.state == ActionState::Executed).count();
    let unknown = report.changes.iter().filter(|change| change.state == ActionState::Unknown).count();
    let as_count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let doubt = match unknown {
        0 => String::new(),
        count => format!(
            "; {} may or may not have happened: look, then `proem queue resolve ID`",
            count_with_noun(as_count(count), "action")
        ),
    };
    let waiting = report.changes.iter().filter(|change| change.state == ActionState::Waiting).count();
    let waiting = match waiting {
        0 => String::new(),
        count => format!("; {} for your yes", waits(as_count(count))),
    };
    match (report.changes.len(), done) {
        (0, _) => "nothing is due\n".to_owned(),
        (_, 0) => format!("nothing was performed{waiting}{doubt}\n"),
        (_, done) => format!("performed {}{waiting}{doubt}\n", count_with_noun(as_count(done), "action")),
    }
}

fn waits(count: u64) -> String {
    format!("{} {}", count_with_noun(count, "action"), if count == 1 { "waits" } else { "wait" })
}
