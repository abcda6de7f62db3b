//! `proem triage signals`: every signal with what became of it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use jiff::tz::TimeZone;
use proem_app::project::OpenProject;
use proem_app::triage::TriageDesk;
use proem_app::triage::output::TriageSignalsOutput;
use proem_app::triage::signals::{SignalEntry, SignalFate, SignalJudge, period_start};
use proem_app::{records, when};
use proem_engine::run::Time;
use proem_guard::show;
use proem_store::StoreAccess;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, YELLOW, count_with_noun, style_text};

pub(super) const SIGNALS_EXAMPLES: &str = "\
Each signal has one of seven outcomes: acted, held, asked, refused, left (with the reason),
set-aside, or open. Times are in the project's zone. `proem triage judge ID --importance high`
overrules a judgement.

Examples:
  proem triage signals
  proem triage signals --since yesterday
  proem triage signals --since 2026-11-01 --json";

/// How long ago signals came that are listed without `--since`.
const SINCE: &str = "7d";

#[derive(Debug, Parser)]
pub(crate) struct Signals {
    /// Those that came since then: today, yesterday, a date, or an age such as 7d
    #[arg(long, value_name = "TIME", default_value = SINCE)]
    since: String,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_triage_signals(args: &Signals) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Read).await?);
        let zone = desk.zone();
        let found = async {
            let since = period_start(&args.since, when::time_now(), &zone)?;
            Ok::<_, CommandFailure>((since, desk.signal_entries(since).await?))
        };
        let found = found.await;
        desk.close().await;
        let (since, entries) = found?;
        if args.json {
            return ui::print_published_document(ui::PublishedDocument::Pretty(json!(TriageSignalsOutput::new(
                since, &entries
            ))));
        }
        if entries.is_empty() {
            ui::aside(&format!(
                "no signal came since {}; `proem triage run FILE…` takes signals in\n",
                when::date_and_clock(since, &zone)
            ));
            return Ok(());
        }
        ui::print_listing(&signals_page(&entries, since, &zone))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The signals by the day on which they came, after a line that counts what became of them.
fn signals_page(entries: &[SignalEntry], since: Time, zone: &TimeZone) -> String {
    let all = u64::try_from(entries.len()).unwrap_or(u64::MAX);
    let since: String = when::date_and_clock(since, zone).chars().take(16).collect();
    let mut out = format!("{} since {since}: {}\n", count_with_noun(all, "signal"), fate_counts(entries));
    let mut last = String::new();
    for entry in entries {
        let day = when::iso_date(entry.came, zone);
        if day != last {
            out.push_str(&format!("\n{}\n", style_text(BOLD, &format!("came {day}"))));
            last = day;
        }
        out.push_str(&entry_lines(entry, zone));
    }
    out
}

/// How many signals had which outcome.
fn fate_counts(entries: &[SignalEntry]) -> String {
    let fates = [
        SignalFate::Asked,
        SignalFate::Refused,
        SignalFate::Held,
        SignalFate::Acted,
        SignalFate::Left,
        SignalFate::SetAside,
        SignalFate::Open,
    ];
    let count = |fate: SignalFate| entries.iter().filter(|entry| entry.fate == fate).count();
    let counts = fates.into_iter().map(|fate| (count(fate), fate.as_str()));
    let counts: Vec<String> =
        counts.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    counts.join(", ")
}

/// A signal in two lines, and a third for what the person who judged it noted.
pub(super) fn entry_lines(entry: &SignalEntry, zone: &TimeZone) -> String {
    let (sender, subject) = (ui::on_line(&entry.sender, 60), ui::on_line(&entry.subject, 100));
    let importance = entry.importance.as_deref().unwrap_or("–");
    let strong =
        if matches!(importance, "critical" | "high") { style_text(YELLOW, importance) } else { importance.to_owned() };
    let gap = " ".repeat(8_usize.saturating_sub(importance.chars().count()));
    let time = when::brief_time(entry.time, zone);
    let mut out = format!("{}  {time}  {strong}{gap}  {sender}: {subject}\n", entry.handle);
    let judged = match (entry.judge, &entry.category) {
        (Some(SignalJudge::Person), Some(category)) => format!("{category}, {}; ", entry.why),
        (Some(judge), Some(category)) => format!("{category}, by {}: {}; ", judge_words(judge), entry.why),
        _ => String::new(),
    };
    let kind = signal_kind_words(&entry.kind);
    out.push_str(&format!("{:10}{}\n", "", style_text(DIM, &format!("{kind}; {judged}{}", entry.outcome))));
    if let Some(note) = &entry.note {
        let note: String = show::terminal_str(note).into_string().chars().take(200).collect();
        out.push_str(&format!("{:10}{}\n", "", style_text(DIM, &format!("noted: {note}"))));
    }
    out
}

const fn judge_words(judge: SignalJudge) -> &'static str {
    match judge {
        SignalJudge::Rules => "rules",
        SignalJudge::Model => "a model",
        SignalJudge::Person => "a person",
        SignalJudge::Learned => "your earlier judgements",
    }
}

/// The event, in people's words.
fn signal_kind_words(kind: &str) -> String {
    match kind {
        "email_received" => "mail".to_owned(),
        "email_announced" => "notice of a mail".to_owned(),
        "comment_created" => "comment".to_owned(),
        other => other.replace('_', " "),
    }
}
