//! `proem risk`: how risky changes of a repository are.
//!
//! Standard output holds the report, everything else goes to standard error. The level is the code's. A model explains
//! it or raises it, if there is a key for one. With `--fail-on` the exit code is 1 when a change reaches the level, or
//! is UNKNOWN and that is to fail. Otherwise it passes, and that is said.

pub(crate) mod args;
pub(super) mod feedback;
mod output;
pub(super) mod signals;

use std::process::ExitCode;

use indicatif::ProgressBar;
use proem_agents::risk::report::RiskReport;
use proem_app::agents::access::ModelAccess;
use proem_app::calling::ModelEndpoint;
use proem_app::project::{BookReading, OpenProject};
use proem_app::risk::assessing::AssessedRepository;
use proem_app::risk::investigating::Reports;
use proem_app::risk::setting::RiskSetting;
use proem_risk::level::Level;
use proem_runtime::risk::AssessorProgress;

use self::args::{Risk, RiskCommand};
use self::output::{ReportCount, RiskFormat};
use super::run::calling;
use super::run::single::note_unused_cassettes;
use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn run_risk(args: &Risk) -> Result<ExitCode, CommandFailure> {
    match &args.command {
        Some(RiskCommand::Feedback(args)) => return feedback::run_risk_feedback(args),
        Some(RiskCommand::Signals(args)) => return signals::run_risk_signals(args),
        None => {}
    }
    let places = crate::user_places()?;
    let mut project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    let reports = assess_and_record(args, &mut project);
    // An untrusted file may be the reason that it failed.
    ui::print_notes(&project.all_notes());
    let Reports { mut reports, trouble } = reports?;
    if args.since.is_some() {
        reports.sort_by(output::riskiest_first);
    }
    if let Some(file) = &args.svg {
        ui::write_text_file(file, &output::risk_picture(&reports))?;
    }
    if let Some(file) = &args.html {
        ui::write_text_file(file, &output::risk_page(&reports))?;
    }
    output::print_risk_reports(&reports, RiskFormat::of(args))?;
    if let Some(trouble) = trouble {
        return Err(CommandFailure::outside(trouble));
    }
    Ok(risk_exit_code(args, &reports))
}

/// The reports, and what could not be recorded after a model was asked.
fn assess_and_record(args: &Risk, project: &mut OpenProject) -> Result<Reports, CommandFailure> {
    let options = args.options()?;
    let assessing = with_reading_progress(|progress| AssessedRepository::begin(&options, project, progress))?;
    let working = ui::working(&format!("assessing {}", ui::count_with_noun(assessing.count() as u64, "change")));
    let mut notes = Vec::new();
    let looked = assessing.look(options.concurrency, &mut notes);
    working.finish_and_clear();
    ui::print_notes(&notes);
    let looked = looked?;
    let setting = RiskSetting::new(&options, project)?;
    calling(async |stop| {
        let mut notes = Vec::new();
        let begun = async {
            let open = setting.begin(&options, project, &mut notes).await?;
            open.with_change_versions((&assessing, &looked), &options, project, &mut notes).await
        };
        let begun = begun.await;
        ui::print_notes(&notes);
        let investigations = begun?;
        assessing.left_out.iter().for_each(|left_out| ui::print_note(left_out));
        let bar = match investigations.investigator() {
            Some(investigator) => asking_bar(&investigator.asked),
            None => ui::working(&format!("reporting {}", ui::count_with_noun(looked.len() as u64, "change"))),
        };
        let mut notes = Vec::new();
        let reports = investigations.reports(&assessing, &looked, &stop, &mut notes).await;
        bar.finish_and_clear();
        note_unused_cassettes(investigations.investigator().and_then(ModelAccess::replayer));
        ui::print_notes(&notes);
        ui::print_notes(&investigations.end().await);
        Ok(reports?)
    })
}

/// Says on a terminal how far a repository is read.
fn with_reading_progress<T, E>(work: impl FnOnce(&dyn Fn(AssessorProgress)) -> Result<T, E>) -> Result<T, E> {
    let working = ui::working("reading the history");
    let read = work(&|progress| working.set_message(progress.in_words()));
    working.finish_and_clear();
    read
}

/// Says on a terminal who is asked.
fn asking_bar(asked: &ModelEndpoint) -> ProgressBar {
    ui::working(&format!("asking {}/{}", asked.endpoint.name, asked.model.name))
}

/// Prints the report of an investigation that was gone on with.
pub(super) fn print_one(report: RiskReport, json: bool) -> Result<ExitCode, CommandFailure> {
    let format = if json { RiskFormat::Json(ReportCount::One) } else { RiskFormat::Terminal };
    output::print_risk_reports(&[report], format)?;
    Ok(ExitCode::SUCCESS)
}

fn risk_exit_code(args: &Risk, reports: &[RiskReport]) -> ExitCode {
    let limits = || args.fail_on.iter().map(|fail_on| fail_on.level());
    let limit = limits().filter(|limit| *limit != Level::Unknown).min();
    let fails_unknown = limits().any(|limit| limit == Level::Unknown);
    let count = |is_one: &dyn Fn(Level) -> bool| {
        let number = reports.iter().filter(|report| is_one(report.risk_level)).count();
        (number > 0).then(|| ui::count_with_noun(u64::try_from(number).unwrap_or(u64::MAX), "change"))
    };
    let unknown = count(&|level| level == Level::Unknown).filter(|_| !args.fail_on.is_empty());
    let reached = limit.and_then(|limit| Some((limit, count(&|level| level >= limit)?)));
    match &unknown {
        Some(changes) if fails_unknown => ui::print_note(&format!("{changes} at UNKNOWN (--fail-on unknown)")),
        Some(changes) => {
            ui::print_note(&format!("{changes} at UNKNOWN, which passes; --fail-on unknown fails on it"));
        }
        None => {}
    }
    if let Some((limit, changes)) = &reached {
        let highest = reports.iter().map(|report| report.risk_level).max().unwrap_or(*limit);
        let limit = limit.as_str().to_lowercase();
        ui::print_note(&format!("{changes} at {} or above (--fail-on {limit})", highest.as_str()));
    }
    let fails = reached.is_some() || (fails_unknown && unknown.is_some());
    if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
