//! `proem triage watch`: files as they come, cycle by cycle.

pub(in crate::commands) mod output;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use jiff::tz::TimeZone;
use proem_app::project::OpenProject;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_app::triage::CycleReport;
use proem_app::triage::charter;
use proem_app::triage::models::TriageModelOptions;
use proem_app::triage::watch::{ENDINGS, SweepAccount, WatchEvent, WatchOptions, WatchWork, watch};
use proem_app::{records, when};
use proem_engine::call::NanoDollars;
use proem_guard::show;
use proem_runtime::schedule::inbox::LeftAlone;
use proem_runtime::schedule::own_process::OwnProgram;
use proem_text::json;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::output::{WatchEventOutput, WatchLineOutput};
use super::run::{came, left_lines, waiting_lines};
use crate::commands::interrupt;
use crate::failure::CommandFailure;
use crate::ui::{self, DIM, YELLOW, count_with_noun, style_text};

pub(super) const WATCH_EXAMPLES: &str = "\
Files that end in .json, .jsonl, .ndjson or .eml are taken in once they have stayed as they are
for two seconds; they are never changed, moved or deleted, and the same signals a second time
change nothing. One that ends in the middle of a value is waited for, up to a minute. Each cycle
works on what came; without anything new it is one line. Models are asked as by `proem triage
run`, under the same conditions; as the day's budget goes, cycles come less often. Due actions are
performed by `proem effects sweep`, a process of its own that takes credentials from files alone.
One process watches for a project.

^C, or `kill`, ends it when the cycle in hand is done; a second ^C ends it at once, and loses
nothing.

Examples:
  proem triage watch ~/project-inbox
  proem triage watch ~/project-inbox --cycle 1m
  proem triage watch ~/project-inbox --json >> triage.jsonl";

/// The message while the end is waited for.
const STOPPING: &str = "stopping when the cycle in hand is done; a second ^C stops at once, and loses nothing";

#[derive(Debug, Parser)]
pub(crate) struct Watch {
    /// The folder that files come to
    folder: PathBuf,
    /// The time between two cycles: 90s, 15m or 2h
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_period)]
    cycle: Duration,
    /// The time between two looks at what is due
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_period)]
    sweep: Duration,
    /// Ask no model, whatever the configuration says
    #[arg(long)]
    no_model: bool,
    /// Maximum cost of the calls of one cycle, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = proem_app::config::parse_dollars)]
    max_cost: Option<NanoDollars>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON, one event on each line
    #[arg(long)]
    json: bool,
}

/// The most signals left alone that a cycle's lines name.
const MOST_LEFT: usize = 5;

/// A time between two beginnings, of a second at least and a day at most.
fn parse_period(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).unwrap_or((text, ""));
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => 0,
    };
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = number.parse::<u64>().ok().filter(|_| digits).and_then(|number| number.checked_mul(unit));
    match seconds {
        Some(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err("write a number and s, m or h, from 1s to 24h".to_owned()),
    }
}

pub(super) fn run_triage_watch(args: &Watch) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let options = WatchOptions {
        root: args.root.clone(),
        folder: args.folder.clone(),
        cycle: args.cycle,
        sweep: args.sweep,
        models: (!args.no_model).then(|| TriageModelOptions {
            carriage: Carriage::Network,
            most: args.max_cost,
            adapting: Adapting::default(),
            record: RecordChoice::AsConfigured,
        }),
        sweeper: sweeper(&args.root)?,
    };
    let zone = charter::project_zone(&OpenProject::without_book(&args.root, &places)?)?;
    let mut failed = None;
    let mut tell = |event: &WatchEvent<'_>| {
        let told = if args.json { print_watch_json(event) } else { print_event(event, &zone) };
        // Nobody listens any more, which the next event finds out again.
        failed = told.err().or(failed.take());
    };
    records::blocking(async {
        let stop = CancellationToken::new();
        let listening = tokio::spawn(interrupt::stop_on_interrupt(stop.clone(), STOPPING));
        let watched = watch(&options, &places, &stop, &mut tell).await;
        listening.abort();
        watched.map_err(CommandFailure::from)
    })?;
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// `proem effects sweep`, of this same program.
fn sweeper(root: &Path) -> Result<OwnProgram, CommandFailure> {
    let program = std::env::current_exe().map_err(|error| {
        CommandFailure::outside(format!("this program can't be found: {error}; give its full path"))
    })?;
    let mut arguments: Vec<OsString> =
        ["effects", "sweep", "--json", "--credentials-from-files", "--root"].map(OsString::from).to_vec();
    arguments.push(root.into());
    Ok(OwnProgram { program, arguments })
}

fn print_event(event: &WatchEvent<'_>, zone: &TimeZone) -> Result<(), CommandFailure> {
    let name = |path: &Path| show::terminal_str(&path.to_string_lossy()).into_string();
    let line = match event {
        WatchEvent::Noted(notes) => {
            ui::print_notes(*notes);
            return Ok(());
        }
        WatchEvent::Problem { work, error } => {
            let what = match work {
                WatchWork::Look => "taking files in",
                WatchWork::Cycle => "a cycle",
                WatchWork::Sweep => "performing what is due",
            };
            ui::print_note(&format!("{what} did not work and is tried again: {error}"));
            return Ok(());
        }
        WatchEvent::Unread { file, error } => {
            ui::print_note(&format!("`{}` {error}; it is read when it changes", name(file)));
            return Ok(());
        }
        WatchEvent::Left { path, why } => {
            ui::print_note(&format!("`{}` is left alone: {}", name(path), why_left(*why)));
            return Ok(());
        }
        WatchEvent::Unfinished { file } => {
            ui::print_note(&format!(
                "`{}` ends in the middle of a value; waiting up to a minute for the rest",
                name(file)
            ));
            return Ok(());
        }
        WatchEvent::Began { project } => {
            let project = show::terminal_str(project).into_string();
            format!("watching for {project}; ^C ends it")
        }
        WatchEvent::Taken { file, counts, malformed } => {
            for malformed in *malformed {
                let file = name(file);
                ui::print_note(&format!(
                    "`{file}`, {}: {}; kept for you to look at",
                    malformed.place, malformed.reason
                ));
            }
            format!("{}: {}", name(file), came(*counts))
        }
        WatchEvent::Cycle { report, missed, took } => watched_cycle_line(report, *missed, *took),
        WatchEvent::Swept(account) => watched_sweep_line(account),
        WatchEvent::Ended { still_performing } => match still_performing {
            None => "ended; nothing is under way".to_owned(),
            Some(id) => format!("ended; process {id} still performs what was due, and ends by itself"),
        },
    };
    let clock = when::date_and_clock(when::time_now(), zone);
    ui::print_listing(&format!("{}  {line}\n", style_text(DIM, &clock)))
}

fn watched_cycle_line(report: &CycleReport, missed: u64, took: Duration) -> String {
    let numbers: Vec<String> = report.cycles.iter().map(u64::to_string).collect();
    let signals = u64::try_from(report.outcomes.len()).unwrap_or(u64::MAX);
    let mut line = format!("cycle {}: ", numbers.join(", "));
    if signals == 0 {
        line.push_str("nothing new");
    } else {
        let changed: usize = report.changes.iter().map(|change| change.entry.changes.len()).sum();
        let parts = [
            (signals, "signal"),
            (u64::try_from(changed).unwrap_or(u64::MAX), "change"),
            (report.kept_out.iter().map(|count| count.fields).sum(), "text kept out"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, what)| match *what {
                "text kept out" => format!("{} kept out", count_with_noun(*count, "text")),
                what => count_with_noun(*count, what),
            })
            .collect();
        line.push_str(&format!("{} in {} ms", parts.join(", "), took.as_millis()));
    }
    if missed > 0 {
        line.push_str(&format!("; {} missed", count_with_noun(missed, "cycle")));
    }
    for waits in waiting_lines(report) {
        line.push_str(&format!("\n  {waits}"));
    }
    let left = left_lines(report);
    for left in left.iter().take(MOST_LEFT) {
        line.push_str(&format!("\n  left alone: {left}"));
    }
    if left.len() > MOST_LEFT {
        let more = left.len().saturating_sub(MOST_LEFT);
        line.push_str(&format!("\n  left alone: {more} more, see `proem triage signals`"));
    }
    if let Some(place) = report.budget.and_then(|place| place.in_words()) {
        line.push_str(&format!("\n  {place}"));
    }
    for problem in &report.problems {
        line.push_str(&format!("\n  {}: {problem}", style_text(YELLOW, "problem")));
    }
    line
}

fn watched_sweep_line(account: &SweepAccount) -> String {
    if !account.obstacles.is_empty() {
        return "nothing is performed; `proem effects status` shows why".to_owned();
    }
    if account.changes.is_empty() {
        return "due actions are performed from now on".to_owned();
    }
    let lines: Vec<String> = account
        .changes
        .iter()
        .map(|change| {
            let why = if change.why.is_empty() { String::new() } else { format!(": {}", change.why) };
            let id = change.id.get(..8).unwrap_or(&change.id);
            format!("{id}  {}  {}{why}", change.action, change.state)
        })
        .collect();
    lines.join("\n  ")
}

fn why_left(why: LeftAlone) -> String {
    match why {
        LeftAlone::Link => "it is a link; move the file itself here".to_owned(),
        LeftAlone::NoFile => "it is no file".to_owned(),
        LeftAlone::OtherEnding => {
            let endings: Vec<String> = ENDINGS.iter().map(|ending| format!(".{ending}")).collect();
            format!("only files that end in {} are read", endings.join(", "))
        }
        LeftAlone::TooMany => "it has more files than are looked at; move those that were read elsewhere".to_owned(),
    }
}

fn print_watch_json(event: &WatchEvent<'_>) -> Result<(), CommandFailure> {
    if let WatchEvent::Noted(notes) = event {
        ui::print_notes(*notes);
    }
    let Some(event) = WatchEventOutput::new(event) else { return Ok(()) };
    let line = WatchLineOutput { at: when::rfc3339(when::time_now()), event };
    ui::print_json_document(&json::compact(&json!(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_number_with_its_unit() {
        for (text, seconds) in [("1s", 1), ("90s", 90), ("15m", 900), ("24h", 86_400)] {
            assert_eq!(parse_period(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "m", "0s", "25h", "1.5m", "-1s", "+1s", "15", "1d", "18446744073709551615h", "1µ", "é"] {
            assert!(parse_period(text).is_err(), "{text}");
        }
    }
}
