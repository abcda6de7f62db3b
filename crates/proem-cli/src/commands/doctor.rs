//! `proem doctor`: what is set up here, what is missing, and what would mend it.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::Style;
use clap::Parser;
use proem_app::doctor::settings::{ConfigSetting, config_settings};
use proem_app::doctor::timers::{BatchTimers, batch_timers};
use proem_app::doctor::{Checkup, CheckupLine, CheckupState, CheckupSubject, examine_installation, reach};
use proem_app::operator::{Consent, Operator};
use proem_app::places::Places;
use proem_app::project::OpenProject;
use proem_app::{Error, records};
use proem_llm::endpoint::Endpoint;
use proem_runtime::Environment;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::hints;
use crate::ui::{self, BOLD, CYAN, DIM, GREEN, RED, YELLOW, cut_to_width, style_text, width};

pub(crate) const DOCTOR_EXAMPLES: &str = "\
Examples:
  proem doctor
  proem doctor --connect          # ask each server with a key for the list of its models
  proem doctor --config           # every setting with its value and where that comes from
  proem doctor --timers           # timers for the weekly `proem feedback batch`, to copy

On a terminal it asks before it connects to anything. Exit code 1: something is there and can't be used.
A missing key is no failure: everything that doesn't need it works.";

#[derive(Debug, Parser)]
pub(crate) struct DoctorArgs {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// List every setting with its value and where that comes from
    #[arg(long)]
    config: bool,
    /// Connect without asking: one request to each server for the list of its models, which costs nothing
    #[arg(long)]
    connect: bool,
    /// Print a systemd user timer, a launchd agent and a cron line for the weekly `proem feedback batch`
    #[arg(long, conflicts_with_all = ["config", "connect", "json"])]
    timers: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The output of `doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorOutput {
    /// The version of Proem.
    version: &'static str,
    /// Whether nothing is wrong.
    ok: bool,
    /// The checks, in the order in which they depend on each other.
    checks: Vec<CheckOutput>,
    /// Every setting, with `--config`.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Vec<ConfigSetting>>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckOutput {
    subject: CheckupSubject,
    /// How it was found.
    state: CheckupState,
    /// The finding.
    text: String,
    /// The remedy, if there is one.
    mend: Option<String>,
}

/// The exit code when something is wrong.
const WRONG: u8 = 1;

/// The cells of a line below which a text is under its head instead of beside it.
const NARROW: usize = 50;
/// The cells that the head of a line takes beside its text.
const HEAD: usize = 24;
/// The longest line.
const WIDEST: usize = 110;

pub(super) fn run_doctor(args: &DoctorArgs) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    if args.timers {
        return print_timers(args, &places);
    }
    let mut checkup = examine_installation(&args.root, &places)?;
    connect_to_servers(args, &mut checkup, &places)?;
    checkup.lines.extend(terminal_lines());
    let settings = match &checkup.project {
        Some(project) if args.config => Some(config_settings(project)?),
        _ => None,
    };
    let is_wrong = checkup.lines.iter().any(|line| line.state == CheckupState::Wrong);
    if args.json {
        let output = DoctorOutput {
            version: env!("CARGO_PKG_VERSION"),
            ok: !is_wrong,
            checks: checkup.lines.iter().map(CheckOutput::new).collect(),
            settings,
        };
        ui::print_published_document(ui::PublishedDocument::Pretty(json!(output)))?;
    } else {
        let room = ui::output_width().min(WIDEST);
        let mut page: String = checkup.lines.iter().map(|line| checkup_line(line, room)).collect();
        if let Some(settings) = settings {
            page.push('\n');
            page.extend(settings.iter().map(|setting| setting_line(setting, room)));
        }
        page.push_str(&format!("\n{}\n", checkup_summary(&checkup.lines)));
        ui::print_listing(&page)?;
    }
    Ok(if is_wrong { ExitCode::from(WRONG) } else { ExitCode::SUCCESS })
}

/// Prints the texts to copy, each below the place where it goes.
fn print_timers(args: &DoctorArgs, places: &Places) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, places)?;
    let Some(root) = &project.root else {
        return Err(CommandFailure::usage("a bare repository has no folder for a timer; name a worktree with --root"));
    };
    let binary = std::env::current_exe()
        .map_err(|error| Error::outside(format!("the path of this program is unknown: {error}")))?;
    let BatchTimers { name, service, timer, plist, cron } = batch_timers(&binary, root, &Environment::inherited())?;
    let units = "~/.config/systemd/user";
    let texts = [
        (format!("{units}/{name}.service"), service),
        (format!("{units}/{name}.timer, then: systemctl --user enable --now {name}.timer"), timer),
        (
            format!("~/Library/LaunchAgents/{name}.plist, then: launchctl load ~/Library/LaunchAgents/{name}.plist"),
            plist,
        ),
        ("or a line for `crontab -e`".to_owned(), cron),
    ];
    let page: Vec<String> =
        texts.iter().map(|(place, text)| format!("{}\n{text}", style_text(BOLD, &format!("# {place}")))).collect();
    ui::print_listing(&page.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Connects to the servers that the person, or the command line, says yes to.
fn connect_to_servers(args: &DoctorArgs, checkup: &mut Checkup, places: &Places) -> Result<(), CommandFailure> {
    // If a program reads the answer, nobody expects a question.
    let asks = !args.connect && !args.json && std::io::stdout().is_terminal();
    let mut operator = if asks { Operator::at_terminal().ok() } else { None };
    for server in std::mem::take(&mut checkup.servers) {
        if !args.connect && !operator.as_mut().is_some_and(|operator| consents(operator, &server.endpoint)) {
            continue;
        }
        let line = records::blocking(async { Ok::<_, Error>(reach(&server, places).await) })?;
        let name = format!("`{}` ", cut_to_width(&server.endpoint.name, 60));
        let is_same =
            |known: &CheckupLine| known.subject == CheckupSubject::Provider && known.message.text.starts_with(&name);
        match checkup.lines.iter_mut().find(|known| is_same(known)) {
            Some(known) => *known = line,
            None => checkup.lines.push(line),
        }
    }
    Ok(())
}

fn consents(operator: &mut Operator, endpoint: &Endpoint) -> bool {
    let address = cut_to_width(&endpoint.base_url, 100);
    let with =
        endpoint.key.variable().map_or(String::new(), |name| format!(" with the key in {}", cut_to_width(name, 60)));
    let question = format!("Ask {address} for its list of models{with}? It costs nothing.");
    operator.confirm(&question).is_ok_and(|consent| consent == Consent::Yes)
}

/// The findings about the terminal.
fn terminal_lines() -> Vec<CheckupLine> {
    let line = |text: String| CheckupLine::new(CheckupSubject::Terminal, CheckupState::Good, text);
    let output = match console::Term::stdout().size_checked() {
        Some((rows, columns)) => format!("output goes to a terminal of {columns} columns and {rows} rows"),
        None => "output goes to a file or another program".to_owned(),
    };
    let colours = match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => "without colours",
        _ => "with colours",
    };
    let asked = match Operator::at_terminal() {
        Ok(_) => line("questions that need a person can be asked here".to_owned()),
        Err(absence) => {
            let text = format!("nobody can be asked: {absence}");
            CheckupLine::new(CheckupSubject::Terminal, CheckupState::Missing, text)
        }
    };
    vec![line(format!("{output}, {colours}")), asked]
}

impl CheckOutput {
    fn new(line: &CheckupLine) -> Self {
        Self { subject: line.subject, state: line.state, text: line.message.text.clone(), mend: mend(line) }
    }
}

/// The remedy, as a sentence of its own.
fn mend(line: &CheckupLine) -> Option<String> {
    let tail = line.message.hint.as_ref().map(hints::remedy_tail)?;
    let words = tail.trim_start_matches([';', ',', ' ', '\n']).to_owned();
    (!words.is_empty()).then_some(words)
}

fn state_mark(state: CheckupState) -> (Style, &'static str) {
    match state {
        CheckupState::Good => (GREEN, "ok"),
        CheckupState::Missing => (YELLOW, "missing"),
        CheckupState::Unknown => (DIM, "unknown"),
        CheckupState::Wrong => (RED, "wrong"),
    }
}

/// A line as a person reads it.
fn checkup_line(line: &CheckupLine, room: usize) -> String {
    let (style, word) = state_mark(line.state);
    let head = format!("{} {}", style_text(style, &format!("{word:8}")), style_text(BOLD, line.subject.as_str()));
    let gap = " ".repeat(HEAD.saturating_sub(9 + line.subject.as_str().len()));
    let mut texts = width::wrap_at_words(&line.message.text.replace('\n', " "), continuation_width(room));
    let mends: Vec<String> = mend(line)
        .iter()
        .flat_map(|words| width::wrap_at_words(&words.replace('\n', " "), continuation_width(room).saturating_sub(2)))
        .map(|words| format!("  {}", style_text(CYAN, &words)))
        .collect();
    let indent = " ".repeat(if room < NARROW { 1 } else { HEAD });
    let mut out = head;
    if room >= NARROW && !texts.is_empty() {
        out.push_str(&format!("{gap}{}", texts.remove(0)));
    }
    out.push('\n');
    for text in texts.iter().chain(&mends) {
        out.push_str(&format!("{indent}{text}\n"));
    }
    out
}

/// The cells for a text beside or below its head.
fn continuation_width(room: usize) -> usize {
    room.saturating_sub(if room < NARROW { 1 } else { HEAD }).max(10)
}

/// A setting as a person reads it.
fn setting_line(setting: &ConfigSetting, room: usize) -> String {
    let value = match &setting.value {
        Some(value) => cut_to_width(&json::compact(value), continuation_width(room).max(20)),
        None => style_text(DIM, "not set"),
    };
    let origin = setting.origin.as_str();
    let key = cut_to_width(&setting.key, 100);
    let origin = if origin == "default" { style_text(DIM, origin) } else { style_text(YELLOW, origin) };
    if room < NARROW { format!("{key}\n {value}\n {origin}\n") } else { format!("{key} = {value}  {origin}\n") }
}

fn checkup_summary(lines: &[CheckupLine]) -> String {
    let of = |state: CheckupState| lines.iter().filter(|line| line.state == state).count();
    let (wrong, missing) = (of(CheckupState::Wrong), of(CheckupState::Missing));
    match (wrong, missing) {
        (0, 0) => style_text(GREEN, "nothing is wrong"),
        (0, missing) => format!("{}; {missing} missing", style_text(GREEN, "nothing is wrong")),
        (wrong, missing) => format!("{}; {missing} missing", style_text(RED, &format!("{wrong} wrong"))),
    }
}
