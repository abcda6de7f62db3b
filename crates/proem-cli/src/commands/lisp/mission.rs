//! `proem lisp agent FILE`: a mission, with a model that writes programs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use proem_agents::lisp::agent_sources;
use proem_agents::lisp::turns::record::{MissionEnd, StepFailure, reason};
use proem_app::Error;
use proem_app::agents::access::unused_cassettes_note;
use proem_app::agents::running::start_run;
use proem_app::agents::{AgentRun as _, RunResult};
use proem_app::lisp::agent::{LoadedAgent, find_agent, load_agent};
use proem_app::lisp::mission::{Mission, MissionInput, MissionOptions, MissionReport, mission_input};
use proem_app::lisp::{MemoryFile, read_input_text};
use proem_app::message::{Hint, Note, NoteKind};
use proem_app::operator::Operator;
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_engine::run::Question;
use proem_lisp::Value;
use proem_llm::endpoint::EndpointKey;

use super::agent::answers;
use super::chain::{follow, keep_program, ready_followers};
use super::preview::print_preview;
use super::step::{LispAgentOutput, step_document, step_value_text};
use crate::args::wishes::AnswerWishes;
use crate::commands::run::calling;
use crate::commands::run::single::waiting_bar;
use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun, group_thousands};

/// The exit code where there is no answer.
pub(super) const NO_ANSWER: u8 = 3;

#[derive(Debug, Args)]
pub(crate) struct MissionArgs {
    /// An agent's file, such as `orders.agent.toml`, or a name in `.proem/agents` or your own folder of agents
    #[arg(value_name = "FILE", required = true)]
    agent: Option<PathBuf>,
    /// One input; JSON where its parameter is no text; overrides the file; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::commands::run::name_and_text)]
    set: Vec<(String, String)>,
    /// One input as the content of a file: a text, or JSON where its parameter is no text; may be given several times
    #[arg(long, value_name = "NAME=FILE", value_parser = crate::commands::run::name_and_file)]
    file: Vec<(String, PathBuf)>,
    /// A JSON object with the agent's inputs
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// A file that keeps the agent's memory from one run to the next
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
    /// The model or role that writes the programs, instead of the configured one
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The provider to ask: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Use at most N units of fuel in each program
    #[arg(long, value_name = "N")]
    fuel: Option<u64>,
    /// Maximum cost of the mission, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = proem_app::config::parse_dollars)]
    max_cost: Option<proem_engine::call::NanoDollars>,
    /// Record requests and answers in a folder, without API keys
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Take answers from a folder made with --record, if the requests are the same; tools with effects are not called
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    replay: Option<PathBuf>,
    /// Print what the model would be asked, with the tokens of each part, and ask nobody
    #[arg(long)]
    preview: bool,
    /// Keep the program of the last turn in a new file, which `proem lisp run FILE` runs again without a model
    #[arg(long, value_name = "FILE", conflicts_with = "then")]
    pub(super) compile: Option<PathBuf>,
    /// Give the result to this agent as its inputs; may be given several times
    #[arg(long, value_name = "AGENT", conflicts_with = "memory")]
    pub(super) then: Vec<PathBuf>,
    #[command(flatten)]
    wishes: AnswerWishes,
    /// Keep no record of it; only tools without effects are called then
    #[arg(long)]
    no_record: bool,
    /// Print JSON: the value or the failure, memory, usage and every turn
    #[arg(long)]
    pub(super) json: bool,
    /// A folder in the project whose book, configuration and records are used
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

impl MissionArgs {
    pub(super) fn options(&self) -> MissionOptions {
        MissionOptions {
            model: self.model.clone(),
            provider: self.provider.clone(),
            carriage: Carriage::taped(self.record.clone(), self.replay.clone()),
            most: self.max_cost,
            fuel: self.fuel,
            ..MissionOptions::default()
        }
    }

    const fn recording(&self) -> RecordChoice {
        if self.no_record { RecordChoice::No } else { RecordChoice::AsConfigured }
    }
}

/// An agent that is about to be run, with what it begins with.
struct ReadyAgent {
    agent: LoadedAgent,
    input: MissionInput,
    memory: Option<MemoryFile>,
}

/// Why a mission did not begin, under the specification's reason for it.
struct Unbegun(&'static str, CommandFailure);

pub(super) fn run_mission(args: &MissionArgs) -> Result<ExitCode, CommandFailure> {
    let mut project = OpenProject::open(&args.root, &crate::user_places()?, BookReading::Trusted)?;
    let begun = ready_agent(args, &project).map_err(|failure| Unbegun(reason::INVALID_CONFIG, failure));
    let begun = begun.and_then(|ReadyAgent { agent, input, memory }| {
        let mission = Mission::new(&mut project, &agent, input, &args.options()).map_err(|error| {
            let of_template = error.to_string().contains(reason::TEMPLATE_ERROR);
            Unbegun(if of_template { reason::TEMPLATE_ERROR } else { reason::INVALID_CONFIG }, error.into())
        })?;
        // Before anything is asked, and also where nobody can be.
        let followers =
            ready_followers(args, &project, &agent).map_err(|failure| Unbegun(reason::INVALID_CONFIG, failure))?;
        Ok((mission, agent, memory, followers))
    });
    ui::print_notes(&project.all_notes());
    if let Ok((_, agent, _, followers)) = &begun {
        print_findings(agent, followers);
    }
    match begun {
        Ok((mission, ..)) if args.preview => print_preview(&mission, args.json),
        Ok((mission, agent, memory, followers)) => match missing_key(&mission, args) {
            Some(variable) => tell_degraded(args, &variable),
            None => run_ready(args, &mut project, (mission, agent, followers), memory),
        },
        Err(Unbegun(reason, failure)) => {
            if args.json {
                ui::print_published_document(
                    LispAgentOutput::unbegun(reason, failure.to_string(), Vec::new()).document(),
                )?;
            }
            Err(failure)
        }
    }
}

fn ready_agent(args: &MissionArgs, project: &OpenProject) -> Result<ReadyAgent, CommandFailure> {
    let named = args.agent.as_deref().ok_or_else(|| CommandFailure::usage("name an agent's file"))?;
    let agent = load_agent(project, &find_agent(project, named)?)?;
    let limits = agent.definition.narrow_limits(project.config.lisp.limits());
    let contents = args.file.iter().map(|(name, path)| Ok((name.clone(), read_input_text(path, &limits)?)));
    let contents = contents.collect::<Result<Vec<_>, Error>>()?;
    let single = [args.set.as_slice(), &contents].concat();
    let (context, corrected) = mission_input(&agent.definition, args.input.as_deref(), &single, &limits)?;
    corrected.iter().for_each(|line| ui::print_note(&format!("input {line}")));
    let opened = args.memory.as_deref().map(|path| MemoryFile::open(path, &limits)).transpose()?;
    let (memory, kept) = opened.unzip();
    let input = MissionInput { context, memory: kept.unwrap_or_else(|| Value::map([])) };
    Ok(ReadyAgent { agent, input, memory })
}

/// The variable of a key that is missing, if the model can't be asked for its lack.
fn missing_key(mission: &Mission, args: &MissionArgs) -> Option<String> {
    match &mission.access().asked.endpoint.key {
        EndpointKey::Missing { variable } if args.replay.is_none() => Some(variable.clone()),
        _ => None,
    }
}

/// Says what can be done without a model.
fn tell_degraded(args: &MissionArgs, variable: &str) -> Result<ExitCode, CommandFailure> {
    let file = args.agent.as_deref().map(|file| ui::terminal_safe(&file.display().to_string())).unwrap_or_default();
    let message = format!("no model can be asked: {variable} is not set");
    let degraded = vec![
        format!("proem lisp agent {file} --preview prints what the model would be asked"),
        format!("proem lisp agent check {file} lists what is wrong with the file"),
        format!("proem lisp run PROGRAM --agent {file} runs a program of yours, or a compiled one, with its tools"),
    ];
    if args.json {
        ui::print_published_document(LispAgentOutput::unbegun(reason::LLM_REQUIRED, message, degraded).document())?;
    } else {
        ui::print_failure(&CommandFailure::outside(message));
        degraded.iter().for_each(|line| ui::print_note(&format!("degraded: {line}")));
    }
    Ok(ExitCode::from(NO_ANSWER))
}

/// Warns of names in agents' files that lead nowhere.
fn print_findings(agent: &LoadedAgent, followers: &[LoadedAgent]) {
    let mut sources = BTreeSet::new();
    for agent in std::iter::once(agent).chain(followers) {
        agent.findings(&sources).iter().for_each(|finding| ui::aside(finding));
        sources.extend(agent_sources(&agent.definition));
    }
}

fn run_ready(
    args: &MissionArgs,
    project: &mut OpenProject,
    (mission, agent, followers): (Mission, LoadedAgent, Vec<LoadedAgent>),
    memory: Option<MemoryFile>,
) -> Result<ExitCode, CommandFailure> {
    let (mission, report) = drive_mission(args, project, mission)?;
    if !followers.is_empty() {
        return follow(args, project, followers, (mission, report));
    }
    let code = print_mission(&mission, &report, args.json)?;
    keep_memory(memory, &report)?;
    keep_program(args, &agent, (&mission, &report))?;
    match report.trouble {
        Some(trouble) => Err(CommandFailure::outside(trouble)),
        None => Ok(code),
    }
}

/// Drives a mission to its end.
pub(super) fn drive_mission(
    args: &MissionArgs,
    project: &OpenProject,
    mut mission: Mission,
) -> Result<(Mission, MissionReport), CommandFailure> {
    let (mission, report) = calling(async |stop| {
        let mut notes = Vec::new();
        let booking = mission.begin(project, &args.wishes.adapting(), args.recording(), &mut notes).await;
        ui::print_notes(&notes);
        let booking = booking?;
        let waiting = waiting_bar(mission.access());
        let person = ui::TerminalQuestions { waiting: &waiting, stop: &stop };
        let is_recorded = booking.records().is_some();
        let ask = async |run: &str, asked: &[Question]| {
            // A run that is recorded waits for a person; in another, nobody answers.
            if is_recorded && Operator::at_terminal().is_err() {
                let why = Error::outside(format!("run {run} has a question and waits for an answer"));
                return Err(why.hinting(Hint::AnswerRun { run: run.to_owned() }));
            }
            answers(&person, run, asked).await
        };
        let ran: Result<RunResult, proem_app::Error> = start_run(&mission, 1, &booking, ask, &stop).await;
        waiting.finish_and_clear();
        ui::print_notes(&mission.access().take_news());
        ui::print_notes(&booking.end().await);
        let ran = ran?;
        let report = ran.output.downcast::<MissionReport>();
        let report =
            report.map_err(|_| CommandFailure::bug("the mission failed", "its report is none of a mission"))?;
        Ok((mission, *report))
    })?;
    ui::print_notes(&unused_cassettes_note(mission.access().replayer()));
    Ok((mission, report))
}

/// Writes the memory into its file, if it has one.
fn keep_memory(file: Option<MemoryFile>, report: &MissionReport) -> Result<(), CommandFailure> {
    let Some(mut file) = file else { return Ok(()) };
    let memory = &report.outcome.memory;
    if memory.label().is_secret() {
        return Err(CommandFailure::finding("the memory is not kept: something of it must stay hidden"));
    }
    // A file has no labels: at the next run, all of it counts as untrusted.
    Ok(file.store(&memory.without_labels())?)
}

/// Prints the value and one line of what it took, or the failure.
pub(crate) fn print_mission(mission: &Mission, report: &MissionReport, json: bool) -> Result<ExitCode, CommandFailure> {
    report.noted.iter().for_each(|words| ui::print_notes(&[Note::new(NoteKind::Guard, format!("guard: {words}"))]));
    if json {
        ui::print_published_document(step_document(mission, report)?)?;
    }
    let code = match &report.outcome.end {
        MissionEnd::Return { value, .. } => {
            if !json {
                ui::print_lisp_value(&step_value_text(value, mission.limits()))?;
            }
            ExitCode::SUCCESS
        }
        MissionEnd::Fail(failure) => print_mission_failure(failure, "the mission failed", json, ExitCode::FAILURE),
        MissionEnd::NoAnswer(failure) => {
            print_mission_failure(failure, "the mission has no answer", json, ExitCode::from(NO_ANSWER))
        }
    };
    if !json {
        ui::aside(&format!("{}\n", account_line(report)));
    }
    Ok(code)
}

pub(super) fn print_mission_failure(failure: &StepFailure, what: &str, json: bool, code: ExitCode) -> ExitCode {
    if !json {
        let StepFailure { reason, message, op, details } = failure;
        let of = |name: &str, words: &Option<String>| {
            words.as_ref().map_or_else(String::new, |words| format!("\n  {name}: {words}"))
        };
        let text = format!("{what}: {reason}: {message}{}{}", of("op", op), of("details", details));
        ui::print_failure(&CommandFailure::finding(text));
    }
    code
}

/// The resources that a mission used, in one line.
pub(super) fn account_line(report: &MissionReport) -> String {
    let outcome = &report.outcome;
    let tokens = |count: Option<u64>| {
        count
            .map_or_else(|| "unknown".to_owned(), |count| group_thousands(usize::try_from(count).unwrap_or(usize::MAX)))
    };
    let usage = report.usage.as_ref();
    let cached = usage.and_then(|usage| usage.cache_read).filter(|read| *read > 0);
    let cached = cached.map_or_else(String::new, |read| format!(" ({} from the cache)", tokens(Some(read))));
    let cost = report.cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string());
    let mut line = format!(
        "{}, {}, {} tokens in{cached}, {} out, {cost}",
        count_with_noun(u64::from(outcome.usage.turns), "turn"),
        count_with_noun(u64::from(outcome.usage.tool_calls), "call"),
        tokens(usage.and_then(|usage| usage.input)),
        tokens(usage.and_then(|usage| usage.output)),
    );
    if matches!(outcome.end, MissionEnd::Return { is_fallback: true, .. }) {
        line.push_str("; the value is a fallback: no program returned it");
    }
    if let Some(run) = &report.run {
        line.push_str(&format!("; `proem runs show {}` has the turns", run.short()));
    }
    line
}
