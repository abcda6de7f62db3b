//! `proem risk signals`: what each signal has been worth in a repository.

use std::process::ExitCode;

use proem_agents::risk::report::{FractionOut, SignalOut};
use proem_app::project::{BookReading, OpenProject};
use proem_app::risk::assessing::AssessedRepository;
use proem_risk::signal::{Base, RowSource, SignalRow};
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::args::Signals;
use crate::failure::CommandFailure;
use crate::ui;

/// Cells of a signal's words, and of a share with its interval.
const WORDS: usize = 46;
const SHARE: usize = 20;

/// The worth of each signal in a repository.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RiskSignalsOutput {
    /// The past changes that needed a fix, of all that are old enough to tell.
    needed_a_fix: FractionOut,
    signals: Vec<SignalOut>,
}

pub(super) fn run_risk_signals(args: &Signals) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    let options = args.options();
    let found = super::with_reading_progress(|progress| AssessedRepository::begin(&options, &project, progress));
    ui::print_notes(&project.all_notes());
    let found = found?;
    let working = ui::working("measuring the signals of past commits");
    let signals = found.signals();
    working.finish_and_clear();
    let (base, rows) = signals?.unwrap_or_default();
    if args.json {
        let needed_a_fix = FractionOut { numerator: base.fixed, denominator: base.commits };
        let output = RiskSignalsOutput { needed_a_fix, signals: rows.iter().map(SignalOut::from).collect() };
        ui::print_json_document(&json::pretty(&json!(output)))?;
    } else {
        ui::print_listing(&signals_table(base, &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The table, with the base rate above it.
fn signals_table(base: Base, rows: &[SignalRow]) -> String {
    let mut out = match base.share() {
        Some(share) => format!(
            "{} of the last {} changes that are old enough to tell needed a fix ({:.0} %). A signal raises the level at 1.5 times that, and \
             at\n1.5 times the share of changes that add as many lines, if its interval is above the base rate.\n\n",
            base.fixed,
            base.commits,
            share * 100.0
        ),
        None => "No past change is old enough to tell whether it needed a fix.\n\n".to_owned(),
    };
    let head = format!(
        "{:WORDS$} {:>14} {:SHARE$} {:>6} {:>7}  raises",
        "a change that …", "needed a fix", "  share", "× base", "× size"
    );
    out.push_str(&format!("{}\n", ui::style_text(ui::DIM, &head)));
    for row in rows {
        out.push_str(&signal_line(row));
    }
    out
}

fn signal_line(row: &SignalRow) -> String {
    let words = ui::table_cell(row.signal.in_words(), WORDS);
    let of = format!("{} of {}", row.with.fixed, row.with.commits);
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let share = row.with.share().zip(row.between).map_or_else(String::new, |(share, between)| {
        format!("  {} % ({} to {})", percent(share), percent(between.low), percent(between.high))
    });
    let times = |ratio: Option<f64>| ratio.map_or_else(|| ui::UNKNOWN.to_owned(), |ratio| format!("{ratio:.2}"));
    let (ratio, by_size) = (times(row.ratio), times(row.ratio_by_size));
    let verdict = match (row.raises, row.source) {
        (true, RowSource::Here) => "yes",
        (true, _) => "yes, by other projects",
        (false, RowSource::Here) => "no",
        (false, RowSource::Clones) => "no, by other projects",
        (false, RowSource::Unmeasured) => "not measured: past changes would have to be read beyond their changed lines",
    };
    if row.source == RowSource::Unmeasured {
        return format!("{words} {:>14} {:SHARE$} {:>6} {:>7}  {verdict}\n", "", "", "", "");
    }
    format!("{words} {of:>14} {share:SHARE$} {ratio:>6} {by_size:>7}  {verdict}\n")
}
