//! `proem book experiment`: versions of a prompt that share its work, and what came of it.

mod page;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use proem_app::book::experiments::measures::{ExperimentMeasures, experiment_measures};
use proem_app::book::experiments::starts::{ExperimentStart, ExperimentStarts, start_experiment, stop_experiment};
use proem_app::book::experiments::status::{
    DifferenceEstimate, ExperimentStatus, ExperimentVerdict, GuardrailReport, GuardrailState, VersionComparison,
    experiment_status,
};
use proem_app::operator::account_name;
use proem_app::project::{BookReading, OpenProject};
use proem_app::trust::sha256_hex;
use proem_app::{records, when};
use proem_engine::run::Time;
use proem_guard::show;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, GREEN, RED, YELLOW, style_text};

/// The share of equal versions that the rule "two points better" promotes at some look within 2,000 subjects, a tenth of
/// them with the other version and nine successes in ten, in percent: `evals/lifecycle/experiments.md`, measured by
/// `cargo lab eval lifecycle`.
const TWO_POINTS_PROMOTES: u32 = 75;

pub(crate) const EXPERIMENT_EXAMPLES: &str = "\
Examples:
  proem book experiment list
  proem book experiment start shorter-rules
  proem book experiment status shorter-rules
  proem book experiment status shorter-rules --html page.html
  proem book experiment stop shorter-rules --because \"the new wording is worse\"

`book.toml` declares an experiment under [experiments.NAME]; see docs/guide/experiments.md.";

#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentCommand {
    /// List the experiments of the book, and whether each runs here
    #[command(after_help = "Example:\n  proem book experiment list --json")]
    List(ExperimentPlace),
    /// Start an experiment: from now on, each subject meets the version that its name chooses
    #[command(after_help = "Example:\n  proem book experiment start shorter-rules")]
    Start {
        /// The experiment's name in `book.toml`
        name: String,
        #[command(flatten)]
        place: ExperimentPlace,
    },
    /// Show the outcomes so far; exit code 1 if a guardrail is broken
    #[command(after_help = "Example:\n  proem book experiment status shorter-rules --html page.html")]
    Status {
        /// The experiment's name
        name: String,
        /// Also write a page without scripts that draws the interval over time
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        #[command(flatten)]
        place: ExperimentPlace,
    },
    /// Stop an experiment: from now on, the version in use answers everybody
    #[command(after_help = "Example:\n  proem book experiment stop shorter-rules --because \"enough subjects\"")]
    Stop {
        /// The experiment's name
        name: String,
        /// Why, for the journal
        #[arg(long, value_name = "TEXT", default_value = "stopped by hand")]
        because: String,
        #[command(flatten)]
        place: ExperimentPlace,
    },
}

#[derive(Debug, Parser)]
pub(crate) struct ExperimentPlace {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An experiment as `list --json` has it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedExperiment {
    /// Its name in `book.toml`.
    name: String,
    /// Whether it runs here, in words: who started it and when, and who stopped it and why.
    state: String,
    /// Why it may not run. `null` if it may.
    problem: Option<String>,
}

/// An experiment that was started.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExperimentStartOutput<'e> {
    /// Its name in `book.toml`.
    name: &'e str,
    /// When it was started, in milliseconds since 1970.
    started: i64,
}

/// An experiment that was stopped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExperimentStopOutput<'e> {
    /// Its name in `book.toml`.
    name: &'e str,
    /// Why, in the words of whoever stopped it.
    stopped: &'e str,
}

impl ExperimentPlace {
    fn project(&self) -> Result<OpenProject, CommandFailure> {
        let project = OpenProject::open(&self.root, &crate::user_places()?, BookReading::Trusted)?;
        ui::print_notes(&project.all_notes());
        Ok(project)
    }
}

pub(super) fn run_book_experiment(command: &ExperimentCommand) -> Result<ExitCode, CommandFailure> {
    match command {
        ExperimentCommand::List(place) => list_experiments(place),
        ExperimentCommand::Start { name, place } => begin_experiment(name, place),
        ExperimentCommand::Status { name, html, place } => show_status(name, html.as_deref(), place),
        ExperimentCommand::Stop { name, because, place } => end_experiment(name, because, place),
    }
}

fn list_experiments(place: &ExperimentPlace) -> Result<ExitCode, CommandFailure> {
    let project = place.project()?;
    let (book, starts) = (project.book()?, ExperimentStarts::load(&project.places)?);
    let mut names = book.experiments();
    names.extend(starts.of(&project.key).map(|start| start.name.clone()));
    names.sort();
    names.dedup();
    let state = |name: &str| match starts.last(&project.key, name) {
        Some(start) => start_in_words(start),
        None => "not started".to_owned(),
    };
    let problem = |name: &str| book.experiment(name).err().map(|error| error.to_string());
    if place.json {
        let listed =
            |name: &String| ListedExperiment { name: name.clone(), state: state(name), problem: problem(name) };
        let all: Vec<ListedExperiment> = names.iter().map(listed).collect();
        ui::print_json_document(&json::pretty(&json!(all)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if names.is_empty() {
        ui::aside(
            "no experiment is declared; write [experiments.NAME] into book.toml, see docs/guide/experiments.md\n",
        );
    }
    let mut out = String::new();
    for name in &names {
        out.push_str(&format!("{}  {}\n", style_text(BOLD, &show::terminal_str(name).into_string()), state(name)));
        for line in problem(name).iter().flat_map(|problem| problem.lines().map(str::to_owned).collect::<Vec<_>>()) {
            out.push_str(&format!("  {}\n", style_text(RED, &show::terminal_str(&line).into_string())));
        }
    }
    ui::print_listing(&out)?;
    Ok(ExitCode::SUCCESS)
}

fn day(milliseconds: i64) -> String {
    when::iso_date(Time(milliseconds), &jiff::tz::TimeZone::UTC)
}

fn start_in_words(start: &ExperimentStart) -> String {
    let begun = format!("started on {} by {}", day(start.begun.at), show::terminal_str(&start.begun.by));
    match &start.stopped {
        Some(stopped) => {
            format!("{begun}, stopped on {}: {}", day(stopped.at), show::terminal_str(&stopped.because))
        }
        None => format!("runs, {begun}"),
    }
}

fn begin_experiment(name: &str, place: &ExperimentPlace) -> Result<ExitCode, CommandFailure> {
    let project = place.project()?;
    let by = account_name();
    let start = records::blocking(async {
        let store = ui::print_notes_of(records::look_at_records(&project).await?);
        let started = start_experiment(&project, &store, name, (&by, when::time_now())).await;
        store.close().await;
        Ok::<_, CommandFailure>(started?)
    })?;
    if place.json {
        ui::print_json_document(&json::pretty(&json!(ExperimentStartOutput {
            name: &start.name,
            started: start.begun.at
        })))?;
        return Ok(ExitCode::SUCCESS);
    }
    let shares = start.declared.versions.iter();
    let shares: Vec<String> =
        shares.map(|(version, share)| format!("{version} answers {:.0} %", share * 100.0)).collect();
    ui::print_listing(&format!(
        "{} runs: of the subjects of {}, {}\n",
        show::terminal_str(&start.name),
        show::terminal_str(&start.declared.prompt),
        shares.join(", ")
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn end_experiment(name: &str, because: &str, place: &ExperimentPlace) -> Result<ExitCode, CommandFailure> {
    let project = place.project()?;
    let stopped = stop_experiment(&project, name, (&account_name(), when::time_now()), because)?;
    if place.json {
        ui::print_json_document(&json::pretty(&json!(ExperimentStopOutput { name: &stopped.name, stopped: because })))?;
    } else {
        ui::print_listing(&format!(
            "{} is stopped; {} answers everybody\n",
            show::terminal_str(&stopped.name),
            stopped.base
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A start with its runs so far.
struct MeasuredExperiment {
    start: ExperimentStart,
    measured: ExperimentMeasures,
    status: ExperimentStatus,
}

/// An experiment's evidence for a version, to be shown before its promotion.
pub(super) struct VersionEvidence {
    /// The status as `proem book experiment status` prints it.
    pub(super) page: String,
    /// SHA-256 of the status.
    pub(super) hash: String,
    /// The experiment, if it still runs.
    pub(super) running: Option<String>,
}

/// The evidence for a version: the last experiment on this machine in which it was compared. `None` if there is none.
pub(super) fn version_evidence(
    project: &OpenProject,
    prompt: &str,
    version: &str,
) -> Result<Option<VersionEvidence>, CommandFailure> {
    let starts = ExperimentStarts::load(&project.places)?;
    let Some(start) = starts.last_with_version(&project.key, prompt, version) else { return Ok(None) };
    let found = measure_start(project, start.clone())?;
    let value = serde_json::to_value(&found.status).map_err(|error| CommandFailure::bug("status", error))?;
    Ok(Some(VersionEvidence {
        page: status_page(&found),
        hash: sha256_hex(json::compact(&value).as_bytes()),
        running: found.start.stopped.is_none().then(|| found.start.name.clone()),
    }))
}

fn measure_experiment(project: &OpenProject, name: &str) -> Result<MeasuredExperiment, CommandFailure> {
    let starts = ExperimentStarts::load(&project.places)?;
    let Some(start) = starts.last(&project.key, name).cloned() else {
        return Err(CommandFailure::usage(format!(
            "the experiment `{name}` was not started in this project; run `proem book experiment start {name}`"
        )));
    };
    measure_start(project, start)
}

fn measure_start(project: &OpenProject, start: ExperimentStart) -> Result<MeasuredExperiment, CommandFailure> {
    let measured = records::blocking(async {
        let store = ui::print_notes_of(records::look_at_records(project).await?);
        let measured = experiment_measures(&store, project, &start).await;
        store.close().await;
        Ok::<_, CommandFailure>(measured?)
    })?;
    let status = experiment_status(&start, &measured);
    Ok(MeasuredExperiment { start, measured, status })
}

fn show_status(
    name: &str,
    html: Option<&std::path::Path>,
    place: &ExperimentPlace,
) -> Result<ExitCode, CommandFailure> {
    let project = place.project()?;
    let found = measure_experiment(&project, name)?;
    if let Some(file) = html {
        ui::write_text_file(file, &page::experiment_page(&found))?;
    }
    if place.json {
        let value = serde_json::to_value(&found.status).map_err(|error| CommandFailure::bug("status", error))?;
        ui::print_json_document(&json::pretty(&value))?;
    } else {
        ui::print_listing(&status_page(&found))?;
    }
    let mut reports = found.status.others.iter().flat_map(|other| &other.guardrails);
    Ok(if reports.any(GuardrailReport::is_broken) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn status_page(found: &MeasuredExperiment) -> String {
    let MeasuredExperiment { start, status, .. } = found;
    let head = format!("{} of {}", status.name, status.prompt);
    let mut out =
        format!("{}  {}\n", style_text(BOLD, &show::terminal_str(&head).into_string()), start_in_words(start));
    let base = &status.base;
    out.push_str(&format!(
        "  {}  {} (in use): {}, {}\n",
        base.version,
        mean_in_words(&status.outcome, base.mean),
        ui::count_with_noun(base.subjects, "subject"),
        ui::count_with_noun(base.runs, "run")
    ));
    for other in &status.others {
        push_comparison(&status.outcome, other, &mut out);
    }
    let unknown = match status.cost.unknown_runs {
        0 => String::new(),
        runs => format!(", and that of {} is unknown", ui::count_with_noun(runs, "run")),
    };
    out.push_str(&format!("  cost so far ${:.4}{unknown}\n", status.cost.dollars));
    out
}

fn push_comparison(outcome: &str, other: &VersionComparison, out: &mut String) {
    let of = &other.of;
    out.push_str(&format!(
        "  {}  {}: {}, {}\n",
        of.version,
        mean_in_words(outcome, of.mean),
        ui::count_with_noun(of.subjects, "subject"),
        ui::count_with_noun(of.runs, "run")
    ));
    let difference = other.difference.map_or_else(
        || "no outcome of both versions yet".to_owned(),
        |difference| difference_in_words(outcome, difference),
    );
    out.push_str(&format!("      {}: {difference}\n", verdict_in_words(other)));
    for guardrail in &other.guardrails {
        out.push_str(&format!("      {}\n", guardrail_in_words(guardrail)));
    }
    if let Some(promotes) = other.two_points {
        let word = if promotes { "yes" } else { "no" };
        let words = format!(
            "the rule `two points better` (no test: at some look it promotes {TWO_POINTS_PROMOTES} % of equal versions) says {word}"
        );
        out.push_str(&format!("      {}\n", style_text(DIM, &words)));
    }
}

fn verdict_in_words(other: &VersionComparison) -> String {
    match (other.verdict, other.more) {
        (ExperimentVerdict::Better, _) => style_text(GREEN, "better"),
        (ExperimentVerdict::Worse, _) => style_text(RED, "worse"),
        (ExperimentVerdict::NoDifference, _) => style_text(YELLOW, "no difference worth having"),
        (ExperimentVerdict::NotYet, Some(more)) => {
            format!("not yet, about {} more", ui::count_with_noun(more, "subject"))
        }
        (ExperimentVerdict::NotYet, None) => "not yet".to_owned(),
    }
}

fn guardrail_in_words(guardrail: &GuardrailReport) -> String {
    let outcome = guardrail.outcome.as_str();
    let words = match guardrail.state {
        GuardrailState::Broken => style_text(RED, "broken"),
        GuardrailState::Kept => style_text(GREEN, "kept"),
        GuardrailState::Open => "not yet known".to_owned(),
    };
    let limit = difference_amount(outcome, guardrail.limit);
    let difference =
        guardrail.difference.map_or_else(String::new, |found| format!(", {}", difference_in_words(outcome, found)));
    format!("guardrail {} (worse by {limit}): {words}{difference}", show::terminal_str(outcome))
}

/// A mean in its unit.
fn mean_in_words(outcome: &str, mean: Option<f64>) -> String {
    mean.map_or_else(|| "no outcome yet".to_owned(), |mean| amount_in_words(outcome, mean))
}

fn amount_in_words(outcome: &str, amount: f64) -> String {
    match outcome {
        "cost" => format!("${amount:.4}"),
        "tokens" => format!("{amount:.0} tokens"),
        "latency" => format!("{amount:.0} ms"),
        _ => format!("{:.1} %", amount * 100.0),
    }
}

/// The size of a difference. That of two shares is in percentage points.
fn difference_amount(outcome: &str, amount: f64) -> String {
    let words = amount_in_words(outcome, amount);
    words.strip_suffix('%').map_or_else(|| words.clone(), |share| format!("{share}points"))
}

/// A difference with its interval, which holds at any look.
fn difference_in_words(outcome: &str, difference: DifferenceEstimate) -> String {
    let signed = |amount: f64| {
        let sign = if amount < 0.0 { "−" } else { "+" };
        format!("{sign}{}", difference_amount(outcome, amount.abs()))
    };
    let DifferenceEstimate { low, mean, high } = difference;
    format!("{} ({} to {})", signed(mean), signed(low), signed(high))
}
