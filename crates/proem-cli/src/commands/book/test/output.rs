//! The results of prompts' tests, on paper.

use proem_app::book::repeats::SuiteRepeats;
use proem_app::book::test::{BookCaseResult, UntestedPrompt};
use proem_guard::show;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::BookTestResults;
use crate::commands::book::count_with_plural;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, GOES_ON, GREEN, LEAD, RED, style_text};

/// The output of `book test --json`, without `--models`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BookTestOutput<'r> {
    /// The cases, prompt by prompt.
    tests: &'r [BookCaseResult],
    /// The prompts whose cases could not be run.
    untested: &'r [UntestedPrompt],
    /// How many cases failed.
    failed: usize,
    /// The repeated answers of the prompts that a model was asked with.
    repeats: &'r [SuiteRepeats],
}

/// Prints the results as JSON.
pub(super) fn print_json(results: &BookTestResults<'_>) -> Result<(), CommandFailure> {
    let BookTestResults { tested: tests, untested, repeats } = results;
    let out = BookTestOutput { tests, untested, failed: results.failed(), repeats };
    ui::print_published_document(ui::PublishedDocument::Pretty(json!(out)))
}

/// Prints the cases, prompt by prompt, and the prompts whose cases could not be run.
pub(super) fn print_book_test(results: &BookTestResults<'_>) -> Result<(), CommandFailure> {
    let BookTestResults { tested, untested, .. } = results;
    let mut out = String::new();
    for (prompt, cases) in results.by_prompt() {
        out.push_str(&format!("{LEAD}{}\n", style_text(BOLD, show::terminal_str(prompt).as_str())));
        cases.iter().for_each(|case| push_case(&mut out, case));
        for line in results.repeat_lines(prompt) {
            out.push_str(&format!("  {}\n", show::terminal_str(&line)));
        }
    }
    for UntestedPrompt { prompt, problem, .. } in *untested {
        let (prompt, not_run) = (show::terminal_str(prompt), style_text(RED, "not run"));
        out.push_str(&format!("{LEAD}{}\n  {not_run}\n", style_text(BOLD, prompt.as_str())));
        problem.lines().for_each(|line| out.push_str(&format!("    {GOES_ON}{}\n", show::terminal_str(line))));
    }
    let not_run = match untested.len() {
        0 => String::new(),
        n => format!("; the cases of {} could not be run", count_with_plural(n, "prompt")),
    };
    let failed = results.failed();
    out.push_str(&format!("{} run, {failed} failed{not_run}\n", count_with_plural(tested.len(), "case")));
    ui::print_listing(&out)
}

fn push_case(out: &mut String, case: &BookCaseResult) {
    let mark = if case.passed { style_text(GREEN, "ok    ") } else { style_text(RED, "failed") };
    let what = match (case.asked, case.tokens) {
        (false, _) => "no model is asked".to_owned(),
        (true, Some(tokens)) => count_with_plural(tokens, "token"),
        (true, None) => "no request".to_owned(),
    };
    out.push_str(&format!("  {mark}  {}  {}\n", show::terminal_str(&case.case), style_text(DIM, &format!("({what})"))));
    if let Some(live) = &case.live {
        out.push_str(&format!("          {}\n", live.in_words()));
    }
    for problem in &case.problems {
        out.push_str(&format!("          {}\n", show::terminal_str(problem)));
    }
}
