//! `proem triage run`: signals in, and what came of them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use proem_app::effects::escalations;
use proem_app::project::OpenProject;
use proem_app::triage::models::TriageRun;
use proem_app::triage::normalise::{NormaliseOptions, SignalFile};
use proem_app::triage::output::TriageOutput;
use proem_app::triage::signals::{LeftSignal, short_signal_id};
use proem_app::triage::{AskingTerms, CycleReport, IntakeCounts, TriageDesk};
use proem_app::{records, when};
use proem_engine::effect::key::SignalRevision;
use proem_engine::ledger::ModelMix;
use proem_guard::show;
use proem_store::StoreAccess;
use proem_text::json;
use proem_triage::artefact::{ArtefactField, ItemChangeKind};
use proem_triage::pipeline::PipelineSubject;
use proem_triage::{AnswerEnd, SearchExtent, SignalKind};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::models::ModelArgs;
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, YELLOW, count_with_noun, cut_to_width, style_text};

pub(super) const RUN_EXAMPLES: &str = "\
Without a model: signals are read by rules and a lexicon, nothing is drafted, and everything is
labelled `degraded`. With `triage.models = true` in your configuration, which `proem triage init`
asks about, the models of the roles `small` and `large` sanitise, classify, weigh and draft; rules
check every answer, and replace a missing one. A signal's words are shown as somebody else's; a
suspected attack is kept out and waits in `proem queue quarantine`. The same file a second time
changes nothing.

--fail-on gives exit code 1: `waiting` if something waits for you, `critical` if something critical came,
`quarantine` if something was kept out.

Examples:
  proem triage run backlog.json webhooks.jsonl status.eml
  proem triage run - < webhook.json
  proem triage run                                      # what webhooks delivered
  proem triage run status.eml --dry-run                 # what would be sent to a model
  proem triage run events.jsonl --max-cost 0.05 --explain jira:comment:10042
  proem triage run events.jsonl --json --fail-on critical";

/// The most lines of each part of the summary.
const MOST_LINES: usize = 5;

#[derive(Debug, Parser)]
pub(crate) struct Run {
    /// Files; `-` is standard input; without one, what is stored already is worked on
    #[arg(required_if_eq_any([("dry_run", "true"), ("whole_backlog", "true")]))]
    files: Vec<PathBuf>,
    /// Count the files as the whole answer of a search, so that figures of the backlog are known
    #[arg(long)]
    whole_backlog: bool,
    #[command(flatten)]
    models: ModelArgs,
    /// Exit with 1 in these cases
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The outcome that makes a run fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Something waits for a person
    Waiting,
    /// Something critical came
    Critical,
    /// Something was kept out
    Quarantine,
}

pub(super) fn run_triage_run(args: &Run) -> Result<ExitCode, CommandFailure> {
    let (project, models) = args.models.open(&args.root)?;
    if args.models.dry_run {
        return dry_run(args, &project, models);
    }
    match models {
        None => records::blocking(async { work_and_print(args, &project, None).await }),
        Some(models) => calling(async |stop| work_and_print(args, &project, Some((models, stop))).await),
    }
}

async fn work_and_print(
    args: &Run,
    project: &OpenProject,
    models: Option<(TriageRun, CancellationToken)>,
) -> Result<ExitCode, CommandFailure> {
    let desk = ui::print_notes_of(TriageDesk::open(project, StoreAccess::Write).await?);
    let done = match models {
        None => intake_and_work(args, &desk, None).await,
        Some((mut run, stop)) => {
            let options = args.models.options();
            intake_and_work(args, &desk, Some(AskingTerms { run: &mut run, options: &options, stop: &stop })).await
        }
    };
    desk.close().await;
    let (counts, report, unreadable) = done?;
    print_cycles((!args.files.is_empty()).then_some(counts), &report, args.json)?;
    if let Some(id) = &args.models.explain {
        ui::aside(&way(id, &report));
    }
    Ok(triage_exit_code(args, counts, &report, unreadable))
}

/// Prints what came of cycles, and of files if any were taken in.
pub(super) fn print_cycles(
    counts: Option<IntakeCounts>,
    report: &CycleReport,
    json: bool,
) -> Result<(), CommandFailure> {
    if json {
        ui::print_published_document(ui::PublishedDocument::Pretty(json!(TriageOutput::new(counts, report))))
    } else {
        ui::print_listing(&cycle_page(counts, report))
    }
}

/// Prints what each stage would send first, as far as that can be known. Nothing is taken in.
fn dry_run(args: &Run, project: &OpenProject, models: Option<TriageRun>) -> Result<ExitCode, CommandFailure> {
    let Some(mut models) = models else {
        return Err(CommandFailure::usage("no model would be asked; nothing would be sent"));
    };
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(project, StoreAccess::Read).await?);
        let options = NormaliseOptions::of_project(&desk.charter, when::time_now());
        let mut signals = Vec::new();
        for path in &args.files {
            let name = show::terminal_str(&path.to_string_lossy()).into_string();
            let mut opened = open_signal_file(path, &options)
                .map_err(|error| CommandFailure::outside(format!("`{name}` {error}")))?;
            for part in opened.parts()? {
                signals.extend(part.signals);
            }
        }
        let subject = desk.subject(ModelMix::default()).await;
        desk.close().await;
        models.about(PipelineSubject { signals, ..subject? })?;
        let (requests, silent) = models.forecast()?;
        for request in requests {
            ui::print_json_document(&json::pretty(&request))?;
        }
        for stage in silent {
            ui::print_note(&format!("{} would ask nobody if models say what rules say", stage.as_str()));
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// A signal's way through the stages.
fn way(id: &str, report: &CycleReport) -> String {
    // A short id is one of a revision that was worked on.
    let of_short =
        report.outcomes.iter().find(|outcome| short_signal_id(&outcome.id) == id).map(|outcome| outcome.id.id.as_str());
    let id = of_short.unwrap_or(id);
    let Some((_, stages)) = report.ways.iter().find(|(known, _)| known == id) else {
        return "no stage asked a model about this signal; rules alone said what it is about\n".to_owned();
    };
    let mut out = String::new();
    for stage in stages {
        out.push_str(&format!("{:16} {}\n", stage.stage.as_str(), stage.came));
        if let Some(said) = &stage.said {
            let said = show::terminal_capped(said, 300).into_string();
            out.push_str(&format!("{:16} it says: {said}\n", ""));
        }
    }
    out
}

async fn intake_and_work(
    args: &Run,
    desk: &TriageDesk<'_>,
    models: Option<AskingTerms<'_>>,
) -> Result<(IntakeCounts, CycleReport, bool), CommandFailure> {
    let options = NormaliseOptions::of_project(&desk.charter, when::time_now());
    let mut counts = IntakeCounts::default();
    let mut unreadable = false;
    let mut listed = Vec::new();
    for path in &args.files {
        let name = show::terminal_str(&path.to_string_lossy()).into_string();
        match open_signal_file(path, &options) {
            Ok(mut opened) => {
                let (mut end, mut search) = (AnswerEnd::Whole, None);
                for part in opened.parts()? {
                    for malformed in &part.malformed {
                        ui::print_note(&format!(
                            "`{name}`, {}: {}; kept for you to look at",
                            malformed.place, malformed.reason
                        ));
                    }
                    counts = counts.and(desk.take_in(&part).await?);
                    (end, search) = (part.end, part.search);
                    let tickets = part.signals.iter().filter(|signal| signal.kind == SignalKind::TicketListed);
                    listed.extend(tickets.map(SignalRevision::from));
                }
                if search == Some(SearchExtent::Part) && end == AnswerEnd::Whole && !args.whole_backlog {
                    ui::print_note(&format!(
                        "`{name}` doesn't say whether it is the first page of its search, so figures of the backlog stay \
                         unknown; with all pages in one command, --whole-backlog makes them known"
                    ));
                }
                if end == AnswerEnd::More {
                    ui::print_note(&format!(
                        "`{name}` is a page of a longer answer; fetch the pages that follow it, too"
                    ));
                }
            }
            Err(error) => {
                ui::print_failure(&CommandFailure::outside(format!("`{name}` {error}")));
                unreadable = true;
            }
        }
    }
    if args.whole_backlog {
        desk.backlog_is_whole(&listed).await?;
    }
    if !desk.is_active() {
        ui::print_note("the project's `status` is not active, so signals are taken in and wait");
    }
    let bar = ui::working("reading signals");
    let mut progress = |handled| bar.set_message(format!("{handled} signals handled"));
    let mut notes = Vec::new();
    let report = match models {
        None => desk.work(&mut progress).await,
        Some(models) => desk.work_asking(models, &mut notes, &mut progress).await,
    };
    bar.finish_and_clear();
    ui::print_notes(&notes);
    Ok((counts, report?, unreadable))
}

fn open_signal_file<'o>(path: &Path, options: &'o NormaliseOptions) -> Result<SignalFile<'o>, proem_app::Error> {
    if path == Path::new("-") { options.open_stream(std::io::stdin().lock()) } else { options.open(path) }
}

fn triage_exit_code(args: &Run, counts: IntakeCounts, report: &CycleReport, unreadable: bool) -> ExitCode {
    let fails = args.fail_on.iter().any(|case| match case {
        FailOn::Waiting => report.is_waited_for(),
        FailOn::Critical => report.has_critical(),
        FailOn::Quarantine => !report.kept_out.is_empty() || counts.malformed > 0,
    });
    if unreadable {
        ExitCode::from(3)
    } else if fails {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    }
}

fn count_as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The summary: what came, what changed, what waits, what was kept out.
fn cycle_page(counts: Option<IntakeCounts>, report: &CycleReport) -> String {
    let mut out =
        counts.map_or_else(String::new, |counts| format!("{}  {}\n", style_text(BOLD, "came    "), came(counts)));
    let changes = item_change_lines(report);
    let head =
        if changes.is_empty() { "nothing".to_owned() } else { count_with_noun(count_as_u64(changes.len()), "item") };
    out.push_str(&format!("{}  {head}\n", style_text(BOLD, "changed ")));
    push_capped_list(&mut out, &changes, "proem artefacts show");
    let waits = waiting_lines(report);
    let more = if report.asked_before > 0 {
        format!("; {} asked before", count_with_noun(report.asked_before, "question"))
    } else {
        String::new()
    };
    let head =
        if waits.is_empty() { "nothing new".to_owned() } else { count_with_noun(count_as_u64(waits.len()), "thing") };
    out.push_str(&format!("{}  {head}{more}\n", style_text(BOLD, "waits   ")));
    push_capped_list(&mut out, &waits, "proem escalations list");
    let fields: u64 = report.kept_out.iter().map(|count| count.fields).sum();
    let fields = fields.saturating_add(counts.unwrap_or_default().malformed);
    let head = if fields == 0 { "nothing".to_owned() } else { count_with_noun(fields, "text") };
    out.push_str(&format!("{}  {head}\n", style_text(BOLD, "kept out")));
    let kept: Vec<String> = report
        .kept_out
        .iter()
        .map(|count| format!("{} of {}", count_with_noun(count.fields, "text"), cut_to_width(&count.sender, 60)))
        .collect();
    push_capped_list(&mut out, &kept, "proem queue quarantine");
    if !report.left.is_empty() {
        let head = count_with_noun(count_as_u64(report.left.len()), "signal");
        out.push_str(&format!("{}  {head}\n", style_text(BOLD, "left    ")));
    }
    push_capped_list(&mut out, &left_lines(report), "proem triage signals");
    for problem in &report.problems {
        out.push_str(&format!("{}  {problem}\n", style_text(YELLOW, "problem ")));
    }
    let by_rules = report.outcomes.iter().filter(|outcome| outcome.is_degraded).count();
    let asked = report.runs.join(", ");
    let note = match by_rules {
        _ if report.ways.is_empty() => "degraded: read by rules and a lexicon, without a model".to_owned(),
        0 => format!("models were asked: run {asked}"),
        some => {
            format!(
                "models were asked: run {asked}; degraded: rules alone read {}",
                count_with_noun(count_as_u64(some), "signal")
            )
        }
    };
    if let Some(place) = report.budget.and_then(|place| place.in_words()) {
        out.push_str(&format!("{}  {place}\n", style_text(BOLD, "budget  ")));
    }
    out.push_str(&format!("{}\n", style_text(DIM, &note)));
    out
}

/// The questions and actions that came of it, a line each.
pub(super) fn waiting_lines(report: &CycleReport) -> Vec<String> {
    let questions = report.questions.iter();
    let questions = questions.map(|asked| {
        let heading = ui::on_line(&asked.heading, 100);
        let heading = if heading.is_empty() { heading } else { format!("{heading}\n            ") };
        format!("{}  {heading}{}", style_text(DIM, escalations::short_escalation_id(&asked.id)), asked.title)
    });
    questions.chain(report.actions.iter().map(|(name, fate)| format!("{name}: {}", fate.as_str()))).collect()
}

/// The signals that were read and left alone, a line each, with the reason.
pub(super) fn left_lines(report: &CycleReport) -> Vec<String> {
    let line = |left: &LeftSignal| {
        let (sender, subject) = (ui::on_line(&left.sender, 40), ui::on_line(&left.subject, 80));
        format!("{}  {sender}: {subject} ({})", style_text(DIM, &left.handle), left.why)
    };
    report.left.iter().map(line).collect()
}

/// The intake.
pub(super) fn came(counts: IntakeCounts) -> String {
    let mut parts = vec![format!("{} new", count_with_noun(counts.new, "signal"))];
    for (count, what) in [
        (counts.revised, "revised"),
        (counts.same, "known already"),
        (counts.set_aside, "of other projects, set aside"),
        (counts.malformed, "unreadable"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.join(", ")
}

/// One line for each item that changed, with its title where it has one.
fn item_change_lines(report: &CycleReport) -> Vec<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for change in &report.changes {
        for item in &change.entry.changes {
            let what = match &item.kind {
                ItemChangeKind::Added(_) => "new",
                ItemChangeKind::Modified { .. } => "changed",
                ItemChangeKind::Status { to, .. } => to.as_str(),
            };
            let id = item.item.to_string();
            match lines.iter_mut().find(|(known, _)| *known == id) {
                Some((_, line)) if !line.contains(what) => *line = format!("{line}, {what}"),
                Some(_) => {}
                None => lines.push((id, what.to_owned())),
            }
        }
    }
    let found = |id: &str| {
        let items = report.changes.iter().rev().flat_map(|change| change.artefact.items());
        items.into_iter().find(|(known, _)| known.to_string() == id).map(|(_, item)| item)
    };
    let title = |id: &str| found(id)?.heading().map(|words| ui::on_line(words.words(), 140));
    // The most important come first. Those without a severity come last.
    lines.sort_by_key(|(id, _)| {
        let severity = found(id).and_then(|item| item.word(ArtefactField::Severity));
        ["critical", "high", "medium", "low"].iter().position(|word| severity == Some(word)).unwrap_or(4)
    });
    lines
        .into_iter()
        .map(|(id, what)| {
            let title = title(&id).map_or_else(String::new, |title| format!("  {title}"));
            format!("{id:9} {what}{title}")
        })
        .collect()
}

fn push_capped_list(out: &mut String, lines: &[String], command: &str) {
    for line in lines.iter().take(MOST_LINES) {
        out.push_str(&format!("  {line}\n"));
    }
    if lines.len() > MOST_LINES {
        let more = lines.len().saturating_sub(MOST_LINES);
        out.push_str(&format!("  {}\n", style_text(DIM, &format!("and {more} more: `{command}`"))));
    }
}
