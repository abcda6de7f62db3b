//! `proem triage judge`: a person says how much a signal matters, and a cycle works on it again.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use proem_app::operator::Consent;
use proem_app::project::OpenProject;
use proem_app::records;
use proem_app::triage::judge::PlannedJudgement;
use proem_app::triage::models::TriageRun;
use proem_app::triage::signals::SignalEntry;
use proem_app::triage::{AskingTerms, CycleReport, TriageDesk};
use proem_store::StoreAccess;
use proem_triage::contract::SignalImportance;
use tokio_util::sync::CancellationToken;

use super::models::ModelArgs;
use super::{print_cycle, signals};
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui;

pub(super) const JUDGE_EXAMPLES: &str = "\
The signal goes through a cycle again at once: policy, holds and the level of autonomy apply as
they always do. Your reason is kept as a note and shown to people alone. Two judgements of a
stakeholder's signals of one kind raise later ones; nothing that you lower lowers any other
signal.

Examples:
  proem triage judge 3fa9c1d2 --importance high --because \"the sponsor decides this\"
  proem triage judge 3fa9c1d2 --importance low";

#[derive(Debug, Parser)]
pub(crate) struct Judge {
    /// The signal's id, or the beginning of it, as `proem triage signals` shows it
    #[arg(value_name = "SIGNAL")]
    signal: String,
    /// How much the signal matters
    #[arg(long, value_enum)]
    importance: JudgedImportance,
    /// Why, in your own words
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    /// Ask no model, whatever the configuration says
    #[arg(long)]
    no_model: bool,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

/// How much a signal matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum JudgedImportance {
    /// A person has to know at once
    Critical,
    /// A person has to know
    High,
    /// It counts
    Medium,
    /// It is left alone
    Low,
}

impl JudgedImportance {
    const fn importance(self) -> SignalImportance {
        match self {
            Self::Critical => SignalImportance::Critical,
            Self::High => SignalImportance::High,
            Self::Medium => SignalImportance::Medium,
            Self::Low => SignalImportance::Low,
        }
    }
}

pub(super) fn run_triage_judge(args: &Judge) -> Result<ExitCode, CommandFailure> {
    let (project, models) = ModelArgs::as_configured(args.no_model).open(&args.root)?;
    match models {
        None => records::blocking(async { judge_in_project(args, &project, None).await }),
        Some(models) => calling(async |stop| judge_in_project(args, &project, Some((models, stop))).await),
    }
}

async fn judge_in_project(
    args: &Judge,
    project: &OpenProject,
    models: Option<(TriageRun, CancellationToken)>,
) -> Result<ExitCode, CommandFailure> {
    let desk = ui::print_notes_of(TriageDesk::open(project, StoreAccess::Write).await?);
    let done = judge_signal(args, &desk, models).await;
    desk.close().await;
    done
}

async fn judge_signal(
    args: &Judge,
    desk: &TriageDesk<'_>,
    models: Option<(TriageRun, CancellationToken)>,
) -> Result<ExitCode, CommandFailure> {
    let planned = desk.plan_judgement(&args.signal, args.importance.importance()).await?;
    let short = planned.short_id();
    let zone = desk.zone();
    let entry = desk.signal_entry(&short).await?;
    let mut operator = ui::operator("a signal would be judged by you", "leave it as it is")?;
    ui::aside(&signals::entry_lines(&entry, &zone));
    ui::aside(&consequences(&planned, &entry));
    if ui::confirm(&mut operator, "Judge it so, and work on it again?")? == Consent::No {
        return Ok(ExitCode::from(1));
    }
    desk.judge(&operator, &planned, args.because.as_deref()).await?;
    if !desk.is_active() {
        ui::print_note("the project's `status` is not active, so the signal waits for a cycle");
        return Ok(ExitCode::SUCCESS);
    }
    let report = work_on_open_signals(desk, models).await?;
    print_cycle(&report, false)?;
    ui::print_listing(&signals::entry_lines(&desk.signal_entry(&short).await?, &zone))?;
    Ok(ExitCode::SUCCESS)
}

/// One cycle about all that is open, as `proem triage run` works.
async fn work_on_open_signals(
    desk: &TriageDesk<'_>,
    models: Option<(TriageRun, CancellationToken)>,
) -> Result<CycleReport, CommandFailure> {
    let Some((mut run, stop)) = models else { return Ok(desk.work(&mut |_| {}).await?) };
    let options = ModelArgs::as_configured(false).options();
    let mut notes = Vec::new();
    let asking = AskingTerms { run: &mut run, options: &options, stop: &stop };
    let report = desk.work_asking(asking, &mut notes, &mut |_| {}).await;
    ui::print_notes(&notes);
    Ok(report?)
}

/// The changes of the judgement, and the verdict that it overrules.
fn consequences(planned: &PlannedJudgement, entry: &SignalEntry) -> String {
    let (before, after) = (planned.before.as_str(), planned.importance.as_str());
    let mut out =
        if before == after { format!("it stays {after}, by you\n") } else { format!("{before} becomes {after}\n") };
    let questions = entry.questions.iter().map(|id| id.chars().take(8).collect());
    let led: Vec<String> = entry.items.iter().cloned().chain(questions).collect();
    if !planned.importance.is_at_least(planned.before) && !led.is_empty() {
        out.push_str(&format!(
            "its consequences stay: {}; `proem artefacts edit` and `proem escalations decide` end it\n",
            led.join(", ")
        ));
    }
    if planned.is_below_rules() {
        out.push_str(&format!(
            "rules leave this signal at least {}, by its sender, its system or its words; you go below that for this \
             signal alone\n",
            planned.least.as_str()
        ));
    }
    if planned.teaches() {
        let category = planned.category.as_str();
        out.push_str(&format!("it counts for later {category} signals of this sender\n"));
    }
    out
}
