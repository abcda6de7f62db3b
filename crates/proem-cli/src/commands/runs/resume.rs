//! `proem runs resume`: continues a run that a crash or a question stopped. It asks the run's questions at the
//! terminal.
//!
//! An investigation goes on only if its change is still what it was.

use std::any::Any;
use std::process::ExitCode;

use proem_agents::lisp::ProgramEnd as MachineEnd;
use proem_agents::risk::report::RiskReport;
use proem_app::agents::running::Resumption;
use proem_app::agents::{AgentRun, RunResult};
use proem_app::lisp::ProgramEnd;
use proem_app::lisp::mission::{MissionReport, as_mission};
use proem_app::lisp::running::{self, RecordedProgram, ResumedProgram};
use proem_app::records::blocking;
use proem_app::run::agent::PromptRun;
use proem_app::run::course::FinishedRun;
use proem_app::runs::resume::StoppedRun;
use proem_app::shipped_agents;
use proem_app::triage::models::TriageRun;
use proem_app::triage::{AskedCycle, TriageDesk};
use proem_engine::run::{Outcome, Question};
use proem_runtime::records::ResumeIdentity as Way;
use proem_store::StoreAccess;
use proem_store::query::{RunDetail, RunState};

use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::commands::lisp::agent;
use crate::commands::lisp::mission::print_mission;
use crate::commands::lisp::run::print_end;
use crate::commands::run::single::waiting_bar;
use crate::commands::run::{calling, single};
use crate::commands::{risk, triage};
use crate::ui;

pub(super) fn run_runs_resume(
    project: &mut OpenProject,
    run: &str,
    fork: bool,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    ui::print_notes(&project.all_notes());
    let mut notes = Vec::new();
    let found = blocking(StoppedRun::find(&shipped_agents::agents(), project, run, place.whose(), &mut notes));
    ui::print_notes(&notes);
    let found = found?;
    if found.detail.row.kind == running::KIND {
        return resume_program(project, found.detail, if fork { Way::Apart } else { Way::On });
    }
    let project = &*project;
    if found.detail.row.state == RunState::Asking {
        // Before the run is taken over: it stays as it is.
        ui::answerer(found.detail.row.id.short())?;
    }
    let (detail, read) = found.read_back()?;
    let way = if fork { Way::Apart } else { Way::On };
    let working = ui::working("reading the record");
    let resuming = Resumption::new(project, detail, read, &place.root, &|progress| working.set_message(progress));
    working.finish_and_clear();
    let mut resuming = resuming?;
    calling(async |stop| {
        let mut notes = Vec::new();
        let begun = resuming.begin(project, &mut notes).await;
        ui::print_notes(&notes);
        begun?;
        let waiting = waiting_bar(resuming.run().access());
        let person = ui::TerminalQuestions { waiting: &waiting, stop: &stop };
        let ask = async |run: &str, asked: &[Question]| person.answers(run, asked).await;
        let ran: Result<_, CommandFailure> = resuming.to_the_end(project, way, ask, &stop).await;
        waiting.finish_and_clear();
        let done = match ran {
            Ok(ran) if (resuming.run() as &dyn Any).is::<TriageRun>() => {
                finish_triage_cycle(project, resuming.run(), ran, place.json).await
            }
            Ok(ran) => print_resumed_run(resuming.run(), ran, place.json),
            Err(failure) => Err(failure),
        };
        ui::print_notes(&resuming.end().await);
        done
    })
}

/// Goes on with a program and prints its value.
fn resume_program(project: &mut OpenProject, detail: RunDetail, way: Way) -> Result<ExitCode, CommandFailure> {
    let (resumed, report) = calling(async |stop| {
        let (mut notes, waiting) = (Vec::new(), ui::working("going on with the program"));
        let person = ui::TerminalQuestions { waiting: &waiting, stop: &stop };
        let ask = async |run: &str, asked: &[Question]| agent::answers(&person, run, asked).await;
        let resumed = ResumedProgram::new(project, detail, &mut notes).await;
        let ran = match &resumed {
            Ok(resumed) => Some(resumed.run(project, way, ask, (&stop, &mut notes)).await),
            Err(_) => None,
        };
        waiting.finish_and_clear();
        ui::print_notes(&notes);
        let resumed = resumed?;
        Ok((resumed, ran.transpose()?))
    })?;
    let Some(report) = report else { return Err(CommandFailure::bug("the run can't go on", "it has no end")) };
    let outcome = agent::name_run(report)?;
    ui::aside(&ui::terminal_safe(&outcome.printed));
    let is_value = matches!(outcome.end, MachineEnd::Value(_));
    // Before the session takes the new memory: the file has to have the one that the run began with.
    let memory = match way {
        Way::On if is_value => resumed.memory_file(),
        _ => Ok(None),
    };
    let RecordedProgram { mut session, checked, .. } = resumed.recorded;
    let run = session.take_outcome(outcome, &checked);
    let code = print_end(&run)?;
    if let (Some(mut file), ProgramEnd::Value(_)) = (memory?, &run.end) {
        file.store(session.memory())?;
    }
    Ok(code)
}

/// Works on the signals that a run of triage asked about, and prints what came of them.
async fn finish_triage_cycle(
    project: &OpenProject,
    run: &dyn AgentRun,
    ran: RunResult,
    json: bool,
) -> Result<ExitCode, CommandFailure> {
    let asked = AskedCycle::of_run(run, ran)
        .ok_or_else(|| CommandFailure::bug("the run can't be gone on with", "its output is none of triage"))?;
    let desk = ui::print_notes_of(TriageDesk::open(project, StoreAccess::Write).await?);
    let done = desk.go_on_with(asked).await;
    desk.close().await;
    triage::print_cycle(&done?, json)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what came of a run: as its agent's own command does, or its value.
fn print_resumed_run(run: &dyn AgentRun, ran: RunResult, json: bool) -> Result<ExitCode, CommandFailure> {
    let RunResult { output, trouble, .. } = ran;
    let output = match (output.downcast::<FinishedRun>(), (run as &dyn Any).downcast_ref::<PromptRun>()) {
        // Its own trouble is told with it.
        (Ok(finished), Some(run)) => return single::print_run(&run.setting, &finished, json),
        (Ok(_), None) => return Err(CommandFailure::bug("the run can't be printed", "it is none of a prompt's")),
        (Err(output), _) => output,
    };
    let output = match (output.downcast::<MissionReport>(), as_mission(run)) {
        (Ok(report), Some(mission)) => {
            let code = print_mission(mission, &report, json)?;
            return match report.trouble {
                Some(trouble) => Err(CommandFailure::outside(trouble)),
                None => Ok(code),
            };
        }
        (Ok(_), None) => return Err(CommandFailure::bug("the run can't be printed", "it is none of a mission")),
        (Err(output), _) => output,
    };
    let printed = match output.downcast::<RiskReport>() {
        Ok(report) => risk::print_one(*report, json),
        Err(output) => match output.downcast::<Outcome>() {
            Ok(outcome) => single::print_outcome(&outcome),
            Err(_) => Err(CommandFailure::bug("the run can't be printed", "its output is unknown to this command")),
        },
    };
    match trouble {
        None => printed,
        Some(trouble) => printed.and(Err(CommandFailure::outside(trouble))),
    }
}
