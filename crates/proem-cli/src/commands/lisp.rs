//! `proem lisp`: programs of PTC-Lisp, run, checked and looked up without a model; and agents' files.

pub(super) mod agent;
mod chain;
mod check;
mod doc;
pub(super) mod mission;
pub(super) mod output;
pub(super) mod preview;
mod repl;
pub(super) mod run;
pub(super) mod step;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use proem_app::lisp::{
    LispSession, LispSource, MemoryFile, SourceRefusal, limits_in, parse_signature, read_input, read_value,
};
use proem_app::places::Places;
use proem_lisp::{Limits, SignatureProblem, Value};
use proem_text::{Label, Source};

use crate::failure::CommandFailure;
use crate::ui;

pub(crate) const LISP_EXAMPLES: &str = "\
Examples:
  proem lisp run -e '(+ 1 2)'
  proem lisp run orders.clj --input orders.json
  proem lisp check *.clj
  proem lisp doc group-by
  proem lisp run report.clj --agent orders.agent.toml
  proem lisp agent orders.agent.toml --input orders.json
  proem lisp agent check orders.agent.toml
  proem lisp repl

A program reads its input, `ctx/name`, and its memory, and nothing else: no file, no clock, no network. With --agent
it also calls the tools of that agent's file.";

const RUN_EXAMPLES: &str = "\
Examples:
  proem lisp run -e '(sum-by :total ctx/orders)' --input orders.json
  proem lisp run report.clj --memory report.memory   # what it keeps is there at the next run
  generate | proem lisp run - --repair --json
  proem lisp run urgent.clj --label mail=inbox.json --secret token=token.json --trace
  proem lisp run open.clj --input orders.json --signature '(orders [:map]) -> [{customer :string, open :number}]'
  proem lisp run report.clj --agent orders.agent.toml   # with the tools of this agent, recorded

Prints the value so that it reads back; what `println` prints goes to standard error.
Exit code 1: the program failed, or the signature doesn't fit. 2: `proem lisp check` would refuse it.";

const CHECK_EXAMPLES: &str = "\
Examples:
  proem lisp check report.clj
  proem lisp check *.clj --memory report.memory      # names in this memory are known
  proem lisp check report.clj --json                 # for scripts and editors
  proem lisp check report.clj --signature '(orders [:map]) -> :number' --tools tools.toml

A file of tools has their signatures: [tools] and lines such as search = '(query :string, limit :int?) -> [:map]'.

Exit code 1: there are problems.";

const AGENT_EXAMPLES: &str = "\
Examples:
  proem lisp agent orders.agent.toml --input orders.json
  proem lisp agent orders --set day=monday --json      # an agent of this project or of yours
  proem lisp agent totals --file csv=orders.csv        # the input `csv` is the file's text
  proem lisp agent orders --set day=monday --preview   # what the model would be asked
  proem lisp agent notes.agent.toml --memory notes.memory
  proem lisp agent check orders.agent.toml

A model writes a program in each turn. It sees what programs print, and of untrusted data
types only, unless `shows` of the agent's file permits more. Prints the value that a program
returns. Exit code 1: a program called `fail`. 2: the file or an input is wrong. 3: there is
no answer.";

const DOC_EXAMPLES: &str = "\
Examples:
  proem lisp doc                  # all forms and functions by subject
  proem lisp doc group-by
  proem lisp doc --search date
  proem lisp doc --prompt lean    # what a prompt tells a model about the language

Exit code 1: nothing has that name.";

const REPL_EXAMPLES: &str = "\
Examples:
  proem lisp repl --input orders.json
  proem lisp repl --memory notes.memory

Tab completes names, ^C ends the expression, ^D the session; `:help` lists the commands.";

#[derive(Debug, Subcommand)]
pub(crate) enum LispCommand {
    /// Run a program and print its value
    #[command(after_help = RUN_EXAMPLES)]
    Run(run::LispRunArgs),
    /// List what is wrong with programs, without running them
    #[command(after_help = CHECK_EXAMPLES)]
    Check(check::LispCheckArgs),
    /// Look up forms and functions
    #[command(after_help = DOC_EXAMPLES)]
    Doc(doc::LispDocArgs),
    /// Accomplish the mission of an agent's file with a model that writes programs, or check such files
    #[command(after_help = AGENT_EXAMPLES)]
    Agent(Box<agent::AgentArgs>),
    /// Evaluate expressions as you type them
    #[command(after_help = REPL_EXAMPLES)]
    Repl(repl::LispReplArgs),
}

/// The inputs and limits of programs.
#[derive(Debug, Args)]
struct ProgramArgs {
    /// A JSON object whose names the program reads as `ctx/name`
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Read an input from a file with any JSON, as text from the source NAME: `ctx/NAME`
    #[arg(long, value_name = "NAME=FILE")]
    label: Vec<String>,
    /// Read an input from a file with any JSON as a secret, which is printed as `[Hidden]`
    #[arg(long, value_name = "NAME=FILE")]
    secret: Vec<String>,
    /// A file that keeps the program's memory from one run to the next
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
    /// Use at most N units of fuel, about one for each step
    #[arg(long, value_name = "N")]
    fuel: Option<u64>,
    /// A folder in the project whose configuration applies
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

/// A session with the file that its memory is kept in.
struct KeptSession {
    session: LispSession,
    memory: Option<MemoryFile>,
}

impl ProgramArgs {
    fn session(&self, places: &Places) -> Result<KeptSession, CommandFailure> {
        let limits = configured_limits(&self.root, self.fuel, places)?;
        let input = self.input.as_deref().map(|path| read_input(path, &limits)).transpose()?;
        let opened = self.memory.as_deref().map(|path| MemoryFile::open(path, &limits)).transpose()?;
        let (memory, kept) = opened.unzip();
        let empty = || Value::map([]);
        let mut session = LispSession::new(limits, input.unwrap_or_else(empty), kept.unwrap_or_else(empty));
        for text in &self.label {
            let (name, path) = named_file("--label", text)?;
            let source = Source::parse(name).ok_or_else(|| {
                let form = "a source's name has lower-case letters, digits and `/_.-`";
                CommandFailure::usage(format!("`--label {}`: {form}", ui::terminal_safe(text)))
            })?;
            session.add_input(name, read_value(path, &limits)?, Label::from_source(source))?;
        }
        for text in &self.secret {
            let (name, path) = named_file("--secret", text)?;
            session.add_input(name, read_value(path, &limits)?, Label::trusted().made_secret())?;
        }
        Ok(KeptSession { session, memory })
    }
}

/// `NAME=FILE` of an option.
fn named_file<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a Path), CommandFailure> {
    let parts = text.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty());
    let (name, path) = parts.ok_or_else(|| {
        let text = ui::terminal_safe(text);
        CommandFailure::usage(format!("`{option} {text}` takes a name and a file, such as `{option} mail=inbox.json`"))
    })?;
    Ok((name, Path::new(path)))
}

impl KeptSession {
    /// Writes the memory into its file, if it has one.
    fn store(&mut self) -> Result<(), CommandFailure> {
        let Some(file) = &mut self.memory else { return Ok(()) };
        Ok(file.store(self.session.memory())?)
    }
}

/// The limits that are configured. Notes on the project go to standard error.
fn configured_limits(root: &Path, fuel: Option<u64>, places: &Places) -> Result<Limits, CommandFailure> {
    let mut said = Vec::new();
    let limits = limits_in(root, fuel, places, &mut said);
    ui::print_notes(&said);
    Ok(limits?)
}

/// The source in a file. `-` is standard input.
fn read_lisp_source(path: &Path, limits: &Limits) -> Result<LispSource, proem_app::Error> {
    if path == Path::new("-") {
        LispSource::from_reader("standard input", std::io::stdin().lock(), limits)
    } else {
        LispSource::of_file(path, limits)
    }
}

/// Everything that speaks against a source, with the repair of its brackets if there is one.
fn refusal_text(refusal: &SourceRefusal) -> String {
    let mut out = refusal.warnings.concat();
    refusal.problems.iter().for_each(|problem| out.push_str(&problem.excerpt));
    if let Some(repair) = &refusal.repair {
        out.push_str(&format!("these brackets fit the indentation: {}\n", repair.changes.join(", ")));
        for line in repair.text.lines() {
            out.push_str(&format!("{}\n", format!("  | {}", ui::terminal_safe(line)).trim_end()));
        }
    }
    out
}

/// Says which brackets were corrected, if any were.
fn note_repairs(repairs: &[String]) {
    if !repairs.is_empty() {
        ui::print_note(&format!("brackets were corrected: {}", repairs.join(", ")));
    }
}

/// A program's printed text, written to standard error line by line: half a line could be the half of something that a
/// CI runner obeys.
#[derive(Debug, Default)]
struct PrintedLines {
    begun: String,
}

impl PrintedLines {
    fn push(&mut self, text: &str) {
        self.begun.push_str(text);
        if let Some((whole, rest)) = self.begun.rsplit_once('\n') {
            whole.split('\n').for_each(|line| ui::aside(&format!("{}\n", ui::terminal_safe(line))));
            self.begun = rest.to_owned();
        }
    }

    /// Writes the last line, which has no end.
    fn finish(self) {
        if !self.begun.is_empty() {
            ui::aside(&format!("{}\n", ui::terminal_safe(&self.begun)));
        }
    }
}

/// The session with a signature that was typed, if one was.
fn declare_signature(session: LispSession, text: Option<&str>) -> Result<LispSession, CommandFailure> {
    let Some(text) = text else { return Ok(session) };
    let signature = parse_signature(text, &session.limits)?;
    Ok(session.with_signature(signature))
}

/// A line for each place that isn't what a signature says. Values in them come from outside.
fn mismatch_lines(problems: &[SignatureProblem]) -> Vec<String> {
    problems.iter().map(|problem| ui::terminal_safe(&problem.to_string())).collect()
}

/// Goes on whatever was printed.
const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

pub(super) fn run_lisp(command: &LispCommand) -> Result<ExitCode, CommandFailure> {
    match command {
        LispCommand::Run(args) => run::run_lisp_program(args),
        LispCommand::Check(args) => check::run_lisp_check(args),
        LispCommand::Doc(args) => doc::run_lisp_doc(args),
        LispCommand::Agent(args) => agent::run_lisp_agent(args),
        LispCommand::Repl(args) => repl::run_lisp_repl(args),
    }
}
