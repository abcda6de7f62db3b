//! `proem lisp agent` and `proem lisp run --agent`: an agent's file, and programs with its tools.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use proem_agents::lisp::{AgentDefinition, ProgramOutcome, ToolDefinition};
use proem_app::lisp::agent::{find_agent, load_agent, read_agent};
use proem_app::lisp::kept_program::CompiledHead;
use proem_app::lisp::models::asks_book;
use proem_app::lisp::running::{ProgramJob, ProgramReport, agent_session};
use proem_app::lisp::{CheckedProgram, LispSession, MemoryFile};
use proem_app::operator::{Operator, OperatorAbsence};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::writing::RecordChoice;
use proem_engine::call::NanoDollars;
use proem_engine::run::{Question, QuestionAnswer, ToolPower};
use proem_text::json;
use serde_json::{Value as Json, json};

use super::mission::{MissionArgs, run_mission};
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun};

const CHECK_EXAMPLES: &str = "\
Examples:
  proem lisp agent check orders.agent.toml
  proem lisp agent check .proem/agents/*.agent.toml --json

Nothing is trusted or called by a check. Exit code 2: a file has problems.";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    command: Option<AgentCommand>,
    #[command(flatten)]
    mission: MissionArgs,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// List what is wrong with agents' files, and what their tools may do
    #[command(after_help = CHECK_EXAMPLES)]
    Check(AgentCheckArgs),
}

#[derive(Debug, Parser)]
struct AgentCheckArgs {
    /// Agents' files, such as `orders.agent.toml`, or names in `.proem/agents` or your own folder of agents
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A folder in the project whose agents are meant by name
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON: the tools of each file
    #[arg(long)]
    json: bool,
}

pub(super) fn run_lisp_agent(args: &AgentArgs) -> Result<ExitCode, CommandFailure> {
    match &args.command {
        Some(AgentCommand::Check(args)) => check_agents(args),
        None => run_mission(&args.mission),
    }
}

fn check_agents(args: &AgentCheckArgs) -> Result<ExitCode, CommandFailure> {
    let (mut checked, mut failures) = (Vec::new(), Vec::new());
    for named in &args.files {
        let path = match named.is_file() {
            true => named.clone(),
            false => {
                let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
                find_agent(&project, named)?
            }
        };
        match read_agent(&path) {
            Ok(agent) => checked.push((named, agent.definition)),
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    if args.json {
        let files: Vec<Json> = checked.iter().map(|(path, agent)| file_json(path, agent)).collect();
        ui::print_json_document(&json::compact(
            &json!({ "ok": failures.is_empty(), "files": files, "problems": failures }),
        ))?;
    } else {
        let page: String = checked.iter().map(|(path, agent)| file_lines(path, agent)).collect();
        ui::print_listing(&page)?;
    }
    match failures.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false if args.json => Ok(ExitCode::from(2)),
        false => Err(CommandFailure::usage(failures.join("\n"))),
    }
}

const fn power_words(power: ToolPower) -> &'static str {
    match power {
        ToolPower::Free => "no effect",
        ToolPower::Idempotent => "an effect, idempotent",
        ToolPower::Effectful => "an effect",
    }
}

fn file_lines(path: &Path, agent: &AgentDefinition) -> String {
    let (file, name) = (ui::terminal_safe(&path.display().to_string()), ui::terminal_safe(&agent.name));
    let number = u64::try_from(agent.tools.len()).unwrap_or(u64::MAX);
    let mut out = format!("{file}: agent {name}, {}\n", count_with_noun(number, "tool"));
    for (name, tool) in &agent.tools {
        let of = format!("{}, {}", tool.kind.as_str(), power_words(tool.power));
        out.push_str(&format!("  {}  {of}\n", ui::terminal_safe(&signature_words(name, tool))));
    }
    out
}

/// A signature under its tool's name.
fn signature_words(name: &str, tool: &ToolDefinition) -> String {
    let text = tool.signature.to_string();
    if tool.signature.name().is_some() { text } else { format!("{name}{text}") }
}

fn file_json(path: &Path, agent: &AgentDefinition) -> Json {
    let tool = |(name, tool): (&String, &ToolDefinition)| {
        json!({
            "name": name, "signature": tool.signature.to_string(), "kind": tool.kind.as_str(),
            "power": tool.power.as_str(), "description": tool.description,
        })
    };
    let tools: Vec<Json> = agent.tools.iter().map(tool).collect();
    json!({ "file": path.display().to_string(), "name": agent.name, "tools": tools })
}

/// An agent that a program is to be run with.
#[derive(Debug)]
pub(super) struct ProgramAgent {
    project: OpenProject,
    path: PathBuf,
}

impl ProgramAgent {
    /// Finds the agent, and gives the session its inputs, its result and its tools.
    pub(super) fn find(named: &Path, root: &Path, session: LispSession) -> Result<(Self, LispSession), CommandFailure> {
        let places = crate::user_places()?;
        let mut project = OpenProject::without_book(root, &places)?;
        let path = find_agent(&project, named)?;
        let definition = load_agent(&project, &path)?.definition;
        if asks_book(&definition) {
            project = OpenProject::open(root, &places, BookReading::Trusted)?;
        }
        ui::print_notes(&project.all_notes());
        project.notes.clear();
        let mut session = agent_session(session, &definition);
        session.limits = definition.narrow_limits(session.limits);
        Ok((Self { project, path }, session))
    }

    /// Whether the agent is what a program was compiled with.
    pub(super) fn check_compiled(&self, head: &CompiledHead) -> Result<(), CommandFailure> {
        Ok(head.check(&load_agent(&self.project, &self.path)?)?)
    }

    /// Runs a program to its end.
    pub(super) fn run(
        &mut self,
        session: &LispSession,
        checked: &CheckedProgram,
        (choice, most, memory): (RecordChoice, Option<NanoDollars>, Option<&MemoryFile>),
    ) -> Result<ProgramOutcome, CommandFailure> {
        let agent = load_agent(&self.project, &self.path)?;
        let job = ProgramJob::new(&mut self.project, agent, session, checked, most)?.with_memory_file(memory);
        ui::print_notes(&self.project.notes);
        let report = calling(async |stop| {
            let (mut notes, waiting) = (Vec::new(), ui::working("running the program"));
            let person = ui::TerminalQuestions { waiting: &waiting, stop: &stop };
            let ask = async |run: &str, asked: &[Question]| answers(&person, run, asked).await;
            let ran = job.run(&self.project, choice, ask, (&stop, &mut notes)).await;
            waiting.finish_and_clear();
            ui::print_notes(&notes);
            Ok(ran?)
        })?;
        name_run(report)
    }
}

/// A person's answers. Nobody's where there is no terminal, so that what needs a person is not done.
pub(crate) async fn answers(
    person: &ui::TerminalQuestions<'_>,
    run: &str,
    questions: &[Question],
) -> Result<Vec<QuestionAnswer>, proem_app::Error> {
    if let Err(absent) = Operator::at_terminal() {
        let asked = questions.iter().map(|question| question.text.as_str()).collect::<Vec<_>>().join(" ");
        let why = match absent {
            OperatorAbsence::NoTerminal => "there is no terminal",
            other => other.in_words(),
        };
        ui::print_note(&format!("{why}, so nobody answered: {}", ui::terminal_safe(&asked)));
        return Ok(vec![QuestionAnswer::default(); questions.len()]);
    }
    person.answers(run, questions).await.map_err(CommandFailure::into_error)
}

/// Names a run that is recorded, and what of it could not be.
pub(crate) fn name_run(report: ProgramReport) -> Result<ProgramOutcome, CommandFailure> {
    if let Some(run) = &report.run {
        ui::print_note(&format!("recorded as run {}; `proem runs show {}` has its calls", run.short(), run.short()));
    }
    match report.trouble {
        Some(trouble) => Err(CommandFailure::outside(trouble)),
        None => Ok(report.outcome),
    }
}
