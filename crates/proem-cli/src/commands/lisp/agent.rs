//! `proem lisp agent` and `proem lisp run --agent`: an agent's file, and programs with its tools.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use proem_agents::lisp::{ProgramOutcome, ToolDefinition, agent_sources};
use proem_app::lisp::agent::{LoadedAgent, find_agent, load_agent, read_agent};
use proem_app::lisp::kept_program::CompiledHead;
use proem_app::lisp::mission::{PromptFit, prompt_fit};
use proem_app::lisp::models::asks_book;
use proem_app::lisp::running::{ProgramJob, ProgramReport, agent_session};
use proem_app::lisp::{CheckedProgram, LispSession, MemoryFile};
use proem_app::operator::{Operator, OperatorAbsence};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::writing::RecordChoice;
use proem_engine::call::NanoDollars;
use proem_engine::run::{Question, QuestionAnswer, ToolPower};
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::mission::{MissionArgs, run_mission};
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun, group_thousands};

const CHECK_EXAMPLES: &str = "\
Examples:
  proem lisp agent check orders.agent.toml
  proem lisp agent check .proem/agents/*.agent.toml --json

Shows what each tool may do, how large the prompt is without data, and names that lead
nowhere. Nothing is trusted or called by a check. Exit code 1: a name leads nowhere. 2: a file
has problems, or its prompt does not fit.";

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

/// An agent's file that could be read.
struct CheckedAgent<'a> {
    named: &'a Path,
    agent: LoadedAgent,
    /// The size of its prompt. Missing if it has no mission or can't be made.
    fit: Option<PromptFit>,
    /// The names in it that lead nowhere.
    findings: Vec<String>,
}

fn check_agents(args: &AgentCheckArgs) -> Result<ExitCode, CommandFailure> {
    let mut project = OpenProject::open(&args.root, &crate::user_places()?, BookReading::Trusted)?;
    let (mut checked, mut failures) = (Vec::new(), Vec::new());
    for named in &args.files {
        match find_agent(&project, named).and_then(|path| read_agent(&path)) {
            Ok(agent) => checked.push(CheckedAgent { named, agent, fit: None, findings: Vec::new() }),
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    // One of them may call another, which then shows of the caller's sources.
    let sources: BTreeSet<String> = checked.iter().flat_map(|one| agent_sources(&one.agent.definition)).collect();
    for one in &mut checked {
        one.findings = one.agent.findings(&sources);
        // An agent without a mission only lends its tools to programs.
        if one.agent.definition.mission.trim().is_empty() {
            continue;
        }
        match prompt_fit(&mut project, &one.agent) {
            Ok(fit) => one.fit = Some(fit),
            Err(failure) => {
                failures.push(format!("{}: {failure}", ui::terminal_safe(&one.named.display().to_string())));
            }
        }
    }
    ui::print_notes(&project.all_notes());
    let has_findings = checked.iter().any(|one| !one.findings.is_empty());
    if args.json {
        let files = checked.iter().map(CheckedFileOutput::new).collect();
        let output = AgentCheckOutput { ok: failures.is_empty() && !has_findings, files, problems: &failures };
        ui::print_json_document(&json::compact(&json!(output)))?;
    } else {
        ui::print_listing(&checked.iter().map(file_lines).collect::<String>())?;
    }
    match (failures.is_empty(), has_findings) {
        (true, false) => Ok(ExitCode::SUCCESS),
        (true, true) => Ok(ExitCode::FAILURE),
        (false, _) if args.json => Ok(ExitCode::from(2)),
        (false, _) => Err(CommandFailure::usage(failures.join("\n"))),
    }
}

const fn power_words(power: ToolPower) -> &'static str {
    match power {
        ToolPower::Free => "no effect",
        ToolPower::Idempotent => "an effect, idempotent",
        ToolPower::Effectful => "an effect",
    }
}

fn file_lines(checked: &CheckedAgent<'_>) -> String {
    let agent = &checked.agent.definition;
    let (file, name) = (ui::terminal_safe(&checked.named.display().to_string()), ui::terminal_safe(&agent.name));
    let number = u64::try_from(agent.tools.len()).unwrap_or(u64::MAX);
    let mut out = format!("{file}: agent {name}, {}\n", count_with_noun(number, "tool"));
    for (name, tool) in &agent.tools {
        let of = format!("{}, {}", tool.kind.as_str(), power_words(tool.power));
        out.push_str(&format!("  {}  {of}\n", ui::terminal_safe(&signature_words(name, tool))));
    }
    if let Some(fit) = &checked.fit {
        let shrinks = if fit.shrunk.is_empty() { "; nothing has to shrink" } else { "" };
        let (tokens, model) = (group_thousands(fit.tokens), ui::terminal_safe(&fit.model));
        out.push_str(&format!("  prompt without data: {tokens} tokens for {model}{shrinks}\n"));
        for words in &fit.shrunk {
            out.push_str(&format!("    {}\n", ui::terminal_safe(words)));
        }
    }
    checked.findings.iter().for_each(|finding| out.push_str(finding));
    out
}

/// A signature under its tool's name.
fn signature_words(name: &str, tool: &ToolDefinition) -> String {
    let text = tool.signature.to_string();
    if tool.signature.name().is_some() { text } else { format!("{name}{text}") }
}

/// The check of files of agents.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentCheckOutput<'a> {
    /// Whether there are neither findings nor problems.
    ok: bool,
    files: Vec<CheckedFileOutput<'a>>,
    /// Files that can't be read and prompts that can't be made.
    problems: &'a [String],
}

/// A file of an agent.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckedFileOutput<'a> {
    /// The file as it was named.
    file: String,
    /// The agent's name.
    name: &'a str,
    tools: Vec<AgentToolOutput<'a>>,
    /// The size of its prompt without data. Null if it has no mission or can't be made.
    prompt: Option<PromptFitOutput<'a>>,
    /// The names in it that lead nowhere.
    findings: &'a [String],
}

/// A tool that programs may call.
#[derive(Debug, Serialize, JsonSchema)]
struct AgentToolOutput<'a> {
    name: &'a str,
    signature: String,
    /// The kind of tool.
    kind: &'static str,
    /// Its effects: whether it has one, and whether the effect may happen twice.
    power: &'static str,
    /// Its description as the prompt has it.
    description: String,
}

/// The size of a prompt.
#[derive(Debug, Serialize, JsonSchema)]
struct PromptFitOutput<'a> {
    model: &'a str,
    tokens: usize,
    /// The sections that have to shrink, in words.
    shrunk: &'a [String],
}

impl<'a> CheckedFileOutput<'a> {
    fn new(checked: &'a CheckedAgent<'_>) -> Self {
        let agent = &checked.agent.definition;
        let described: BTreeMap<_, _> = checked.fit.iter().flat_map(|fit| fit.descriptions.clone()).collect();
        let tool = |(name, tool): (&'a String, &'a ToolDefinition)| AgentToolOutput {
            name,
            signature: tool.signature.to_string(),
            kind: tool.kind.as_str(),
            power: tool.power.as_str(),
            description: described.get(name).unwrap_or(&tool.description).clone(),
        };
        let fit = |fit: &'a PromptFit| PromptFitOutput { model: &fit.model, tokens: fit.tokens, shrunk: &fit.shrunk };
        Self {
            file: checked.named.display().to_string(),
            name: &agent.name,
            tools: agent.tools.iter().map(tool).collect(),
            prompt: checked.fit.as_ref().map(fit),
            findings: &checked.findings,
        }
    }
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
