//! `proem triage normalise`: signals of one form, a line each.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use proem_app::triage::normalise::{NormaliseOptions, SeenSignals};
use proem_app::when;
use proem_guard::{Untrusted, show};
use proem_text::{json, shorten_text};
use proem_triage::{
    AnswerEnd, MalformedSignal, NormalisedSignals, ProjectSignal, SignalKind, SignalPlace, SignalTime, utc_timestamp,
};

use crate::failure::CommandFailure;
use crate::ui::{self, DIM, LEAD, UNKNOWN, count_with_noun, style_text, table_cell};

pub(super) const NORMALISE_EXAMPLES: &str = "\
Reads Jira's webhooks and search results, messages and notifications of Microsoft Graph, events,
tasks and stories of Asana, mails (.eml), and lines of JSON with `\"signal\":1`. A file of JSON is one
value, a list, a page of an answer, or one of these on each line. What it is, is told by its content.

What can't be read is told on standard error with its place, and stops nothing else: exit code 1.
A file that can't be opened gives 3.

Examples:
  proem triage normalise webhook.json
  proem triage normalise backlog.json events.jsonl --json
  proem triage normalise status.eml --mail-server mx.example.org
  curl -s \"$SEARCH\" | proem triage normalise - --json | jq -r .summary";

#[derive(Debug, Parser)]
pub(crate) struct Normalise {
    /// Files; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Believe this mail server, by its name in `Authentication-Results`, on who sent a mail
    #[arg(long, value_name = "NAME")]
    mail_server: Vec<String>,
    /// Print JSON, one signal on each line
    #[arg(long)]
    json: bool,
}

pub(super) fn run_triage_normalise(args: &Normalise) -> Result<ExitCode, CommandFailure> {
    let options =
        NormaliseOptions { now: when::time_now(), mail_servers: args.mail_server.clone(), audiences: Vec::new() };
    let mut account = NormaliseAccount::default();
    for path in &args.files {
        let name = show::terminal_str(&path.to_string_lossy()).into_string();
        match read_signals(path, &options) {
            Ok(found) => {
                account.print(&found, args.json)?;
                found.malformed.iter().for_each(|malformed| print_malformed(&name, malformed));
                if found.end == AnswerEnd::More {
                    ui::print_note(&format!(
                        "`{name}` is a page of a longer answer; fetch the pages that follow it, too"
                    ));
                }
                account.malformed = account.malformed.saturating_add(found.malformed.len());
            }
            Err(error) => {
                ui::print_failure(&CommandFailure::outside(format!("`{name}` {error}")));
                account.unreadable = true;
            }
        }
    }
    if account.again > 0 {
        ui::print_note(&format!("{} came more than once; printed once", count_with_noun(account.again, "signal")));
    }
    Ok(account.code())
}

fn read_signals(path: &Path, options: &NormaliseOptions) -> Result<NormalisedSignals, proem_app::Error> {
    if path == Path::new("-") { options.read_stream(std::io::stdin().lock()) } else { options.read(path) }
}

fn print_malformed(name: &str, malformed: &MalformedSignal) {
    let MalformedSignal { place, reason, text } = malformed;
    let bytes = count_with_noun(text.len() as u64, "byte");
    let place = if *place == SignalPlace::default() { String::new() } else { format!(", {place}") };
    ui::print_failure(&CommandFailure::finding(format!("`{name}`{place}: {reason} ({bytes})")));
}

/// The totals of all files.
#[derive(Debug, Default)]
struct NormaliseAccount {
    seen: SeenSignals,
    again: u64,
    printed: usize,
    malformed: usize,
    unreadable: bool,
}

impl NormaliseAccount {
    fn print(&mut self, found: &NormalisedSignals, as_json: bool) -> Result<(), CommandFailure> {
        let mut lines = Vec::new();
        for signal in &found.signals {
            if !self.seen.is_first(signal) {
                self.again = self.again.saturating_add(1);
                continue;
            }
            lines.push(if as_json { json::compact(&signal.to_json()) } else { signal_table_row(signal) });
        }
        if lines.is_empty() {
            return Ok(());
        }
        if !as_json && self.printed == 0 {
            lines.insert(0, signal_table_head());
        }
        self.printed = self.printed.saturating_add(lines.len());
        let text = lines.join("\n");
        if as_json { ui::print_json_document(&text) } else { ui::print_listing(&format!("{text}\n")) }
    }

    fn code(&self) -> ExitCode {
        if self.unreadable {
            ExitCode::from(3)
        } else if self.malformed > 0 {
            ExitCode::from(1)
        } else {
            ExitCode::SUCCESS
        }
    }
}

/// The cells of a time, a source, a kind, a ticket and a sender.
const WIDTHS: [usize; 5] = [16, 7, 16, 10, 18];

fn signal_table_head() -> String {
    let titles = ["time (UTC)", "source", "type", "ticket", "sender"];
    let cells: Vec<String> = titles.into_iter().zip(WIDTHS).map(|(title, width)| table_cell(title, width)).collect();
    style_text(DIM, &format!("  {}  summary", cells.join("  ")))
}

fn signal_table_row(signal: &ProjectSignal) -> String {
    let time = match &signal.time {
        SignalTime::Known(time) => {
            utc_timestamp(*time).chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
        }
        SignalTime::Doubtful { fault, .. } => fault.as_str().to_owned(),
        SignalTime::Missing => UNKNOWN.to_owned(),
    };
    let kind = match &signal.kind {
        SignalKind::Unknown(name) => format!("unknown:{}", shown_or_unknown(Some(name))),
        kind => kind.as_str().to_owned(),
    };
    let sender = signal.sender.as_ref();
    let sender = sender.and_then(|sender| sender.name.as_ref().or(sender.address.as_ref()).or(sender.account.as_ref()));
    let texts = [
        time,
        signal.source.as_str().to_owned(),
        kind,
        shown_or_unknown(signal.ticket.as_ref()),
        shown_or_unknown(sender),
    ];
    let cells: Vec<String> = texts.iter().zip(WIDTHS).map(|(text, width)| fit_shown_cell(text, width)).collect();
    let summary = signal.summary.as_ref().map(|summary| show::terminal_capped(summary, 60).into_string());
    format!("{LEAD}{}  {}", cells.join("  "), summary.as_deref().unwrap_or(UNKNOWN))
}

fn shown_or_unknown(text: Option<&Untrusted<String>>) -> String {
    text.map_or_else(|| UNKNOWN.to_owned(), |text| show::terminal_capped(text, 40).into_string())
}

/// The text is fit for a screen already, as one cell. [`ui::table_cell`] would escape it twice.
fn fit_shown_cell(shown: &str, width: usize) -> String {
    format!("{:width$}", shorten_text(shown, width))
}
