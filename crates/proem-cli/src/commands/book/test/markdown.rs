//! The results as Markdown.

use proem_app::book::test::UntestedPrompt;

use super::BookTestResults;
use crate::commands::book::count_with_plural;
use crate::ui::code_in_table;

/// The most cases that failed in a table, so that a comment stays readable.
const ROWS: usize = 100;

/// The failed cases as a table, and what the repeated answers show below each prompt.
pub(super) fn results_table(results: &BookTestResults<'_>) -> String {
    let (all, failed) = (count_with_plural(results.tested.len(), "case"), results.failed());
    let mut out = format!("### Prompt tests: {failed} of {all} failed\n\n");
    let failures: Vec<String> = results
        .tested
        .iter()
        .filter(|case| !case.passed)
        .map(|case| {
            let problems: Vec<String> = case.problems.iter().map(|problem| code_in_table(problem)).collect();
            format!("| {} | {} | {} |\n", code_in_table(&case.prompt), code_in_table(&case.case), problems.join("<br>"))
        })
        .collect();
    if !failures.is_empty() {
        out.push_str("| prompt | case | problem |\n|---|---|---|\n");
        failures.iter().take(ROWS).for_each(|row| out.push_str(row));
        if let more @ 1.. = failures.len().saturating_sub(ROWS) {
            out.push_str(&format!("\nand {more} more\n"));
        }
        out.push('\n');
    }
    for repeats in results.repeats {
        out.push_str(&format!("{}\n\n", code_in_table(&repeats.prompt)));
        repeats.lines().iter().for_each(|line| out.push_str(&format!("- {}\n", code_in_table(line))));
        out.push('\n');
    }
    for UntestedPrompt { prompt, problem, .. } in results.untested {
        let problem: Vec<&str> = problem.lines().collect();
        out.push_str(&format!("- not run: {}: {}\n", code_in_table(prompt), code_in_table(&problem.join(" "))));
    }
    out
}
