//! `proem lisp agent A --then B`, and `--compile`: what follows on a mission.

use std::process::ExitCode;

use proem_agents::lisp::turns::record::MissionEnd;
use proem_app::lisp::agent::{LoadedAgent, find_agent, load_agent};
use proem_app::lisp::chain::{chained_caller, chained_failure, chained_input, check_chain};
use proem_app::lisp::kept_program::MissionProgram;
use proem_app::lisp::mission::{Mission, MissionOptions, MissionReport};
use proem_app::operator::{Consent, Operator};
use proem_app::project::OpenProject;
use proem_app::records::writing::OpenRecords;

use super::mission::{MissionArgs, NO_ANSWER, account_line, drive_mission, print_mission, print_mission_failure};
use super::step::LispAgentOutput;
use crate::failure::CommandFailure;
use crate::ui;

/// The agents that follow, as far as their signatures let them.
pub(super) fn ready_followers(
    args: &MissionArgs,
    project: &OpenProject,
    first: &LoadedAgent,
) -> Result<Vec<LoadedAgent>, CommandFailure> {
    let mut followers: Vec<LoadedAgent> = Vec::new();
    for named in &args.then {
        let agent = load_agent(project, &find_agent(project, named)?)?;
        check_chain(&followers.last().unwrap_or(first).definition, &agent.definition)?;
        followers.push(agent);
    }
    Ok(followers)
}

/// Runs the agents that follow, each with the result before it, and prints the last one's.
pub(super) fn follow(
    args: &MissionArgs,
    project: &mut OpenProject,
    followers: Vec<LoadedAgent>,
    first: (Mission, MissionReport),
) -> Result<ExitCode, CommandFailure> {
    let (mut mission, mut report) = first;
    for agent in followers {
        ui::aside(&format!("{}: {}\n", ui::terminal_safe(&mission.definition().name), account_line(&report)));
        let MissionEnd::Return { value, .. } = &report.outcome.end else {
            return print_chained_failure(args, &mission, &report);
        };
        let (input, passed) = chained_input(value, &agent.definition)?;
        let options = MissionOptions { passed, ..args.options() };
        let mut next = Mission::new(project, &agent, input, &options)?;
        if let Some(run) = &report.run {
            next = next.with_call(Some((OpenRecords::id()?, chained_caller(run))));
        }
        (mission, report) = drive_mission(args, project, next)?;
    }
    let code = print_mission(&mission, &report, args.json)?;
    match report.trouble {
        Some(trouble) => Err(CommandFailure::outside(trouble)),
        None => Ok(code),
    }
}

fn print_chained_failure(
    args: &MissionArgs,
    mission: &Mission,
    report: &MissionReport,
) -> Result<ExitCode, CommandFailure> {
    let Some(failure) = chained_failure(&mission.definition().name, report) else {
        return Err(CommandFailure::bug("the next agent can't begin", "the one before it has no end"));
    };
    if args.json {
        let output = LispAgentOutput::unbegun(&failure.reason, failure.message.clone(), Vec::new());
        ui::print_published_document(output.document())?;
    }
    Ok(print_mission_failure(&failure, "the mission has no answer", args.json, ExitCode::from(NO_ANSWER)))
}

/// Keeps the program of a mission in a file, if the user wants that.
pub(super) fn keep_program(
    args: &MissionArgs,
    agent: &LoadedAgent,
    (mission, report): (&Mission, &MissionReport),
) -> Result<(), CommandFailure> {
    let Some(out) = &args.compile else { return Ok(()) };
    let program = MissionProgram::of_mission(report, agent, *mission.limits())?;
    if program.has_shown {
        accept_literals(&program)?;
    }
    program.write(agent, out)?;
    let shown = ui::terminal_safe(&out.display().to_string());
    ui::print_note(&format!("compiled into {shown}; `proem lisp run {shown}` runs it without a model"));
    Ok(())
}

/// Asks a person whether the literals of a program are what it is to go on with.
fn accept_literals(program: &MissionProgram) -> Result<(), CommandFailure> {
    let lines: String = program.literals.iter().map(|literal| format!("  {}\n", ui::terminal_safe(literal))).collect();
    let why = "the model was shown data from outside before it wrote the program, and may have copied some of it";
    let mut operator = Operator::at_terminal().map_err(|absent| {
        let absent = absent.in_words();
        CommandFailure::finding(format!(
            "nothing is compiled: {why}, and {absent}; compile at a terminal, where you can accept its literals:\n{lines}"
        ))
    })?;
    ui::aside(&format!("{why}. These are its literals:\n{lines}"));
    match ui::confirm(&mut operator, "Are all of them yours to keep?")? {
        Consent::Yes => Ok(()),
        Consent::No => Err(CommandFailure::finding("nothing is compiled: you did not accept the program's literals")),
    }
}
