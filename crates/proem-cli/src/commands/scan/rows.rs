//! `proem scan --jsonl`: rows with a text, scored one by one.
//!
//! Invariant: one line out for each row, in the order of the rows, whatever a row holds.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use proem_guard::{Verdict, show};
use proem_runtime::readers::open_document;
use proem_text::json;
use serde_json::json;

use super::args::{ScanArgs, VerdictThreshold};
use super::{exit_code, is_stdin, listing, report_file_name};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, Printed, RED, group_thousands, style_text};
use proem_app::guarding::GuardSetup;
use proem_app::scan::ScanOptions;
use proem_app::scan::rows::{MAX_TEXT, RowAnswer, RowProblem, Rows, ScoredRow};

/// How many rows are shown without `--json`.
const SHOWN: usize = 10;

pub(super) fn run_scan_rows(
    guarding: &GuardSetup,
    path: &Path,
    args: &ScanArgs,
    options: &ScanOptions,
) -> Result<ExitCode, CommandFailure> {
    let shown = if is_stdin(path) {
        "standard input".to_owned()
    } else {
        format!("`{}`", show::terminal_str(&report_file_name(path)))
    };
    let from: Box<dyn io::Read> = if is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(open_document(path).map_err(|error| CommandFailure::outside(format!("{shown} {error}")))?)
    };
    let mut rows = Rows::new(guarding, from, options);
    let mut summary = RowSummary::new();
    let mut progress = ui::CountLine::new("rows");
    loop {
        let answers = rows.batch(&shown)?;
        if answers.is_empty() {
            break;
        }
        let mut out = String::new();
        for answer in answers {
            match &answer.row {
                Ok(scored) => out.push_str(&format!("{}\n", scored.json)),
                Err(problem) => {
                    let why = row_problem_words(problem);
                    let error = json!({ "error": format!("line {}: {why}", answer.number) });
                    out.push_str(&format!("{}\n", json::compact(&error)));
                    progress.clear();
                    ui::print_failure(&CommandFailure::outside(format!("{shown}, line {}: {why}", answer.number)));
                }
            }
            summary.add(answer);
        }
        if args.json && ui::write_to_stdout(Printed::Document, &out)?.is_break() {
            break;
        }
        progress.tell(summary.all, 0);
    }
    progress.clear();
    if !args.json {
        ui::print_listing(&summary.listing())?;
    }
    Ok(exit_code(summary.worst, args.fail_on.unwrap_or(VerdictThreshold::Flag), summary.refused > 0))
}

/// Why a row was not scored.
fn row_problem_words(problem: &RowProblem) -> &str {
    match problem {
        RowProblem::TooLong => "longer than `--max-bytes`; shorten the line, or raise `--max-bytes`",
        RowProblem::Wrong(why) => why,
    }
}

/// Counts, and the rows with the highest scores.
struct RowSummary {
    all: usize,
    refused: usize,
    /// Rows of each verdict, in the order of [`Verdict::ALL`].
    counts: [usize; Verdict::ALL.len()],
    worst: Verdict,
    /// The highest first. Of equal ones, the earlier.
    highest: Vec<(usize, ScoredRow)>,
}

impl RowSummary {
    const fn new() -> Self {
        Self { all: 0, refused: 0, counts: [0; 4], worst: Verdict::Allow, highest: Vec::new() }
    }

    fn add(&mut self, answer: RowAnswer) {
        self.all = self.all.saturating_add(1);
        let Ok(mut scored) = answer.row else {
            self.refused = self.refused.saturating_add(1);
            return;
        };
        self.worst = self.worst.max(scored.verdict);
        for (verdict, count) in Verdict::ALL.iter().zip(&mut self.counts) {
            *count = count.saturating_add(usize::from(*verdict == scored.verdict));
        }
        scored.json.clear();
        let at = self.highest.partition_point(|(_, other)| other.score >= scored.score);
        if at < SHOWN {
            self.highest.insert(at, (answer.number, scored));
            self.highest.truncate(SHOWN);
        }
    }

    fn listing(&self) -> String {
        let mut counts: Vec<String> = Verdict::ALL
            .iter()
            .zip(self.counts)
            .rev()
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| {
                format!("{} {}", group_thousands(count), style_text(listing::verdict_style(*verdict), verdict.as_str()))
            })
            .collect();
        if self.refused > 0 {
            counts.push(format!("{} {}", group_thousands(self.refused), style_text(RED, "not scanned")));
        }
        let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
        let mut out = format!("{} rows{counts}\n", group_thousands(self.all));
        if !self.highest.is_empty() {
            out.push_str(&format!("{}\n", style_text(BOLD, "the highest scores:")));
        }
        let width = self.highest.iter().map(|(number, _)| group_thousands(*number).len()).max().unwrap_or(0);
        for (number, ScoredRow { verdict, score, start, .. }) in &self.highest {
            let (number, verdict) =
                (group_thousands(*number), style_text(listing::verdict_style(*verdict), verdict.as_str()));
            let text = show::terminal_capped(start, MAX_TEXT);
            out.push_str(&format!("  line {number:>width$}  {score:.2}  {verdict}  {text}\n"));
        }
        out
    }
}
