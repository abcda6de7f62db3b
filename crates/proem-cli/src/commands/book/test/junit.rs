//! The results as JUnit XML, as CI servers read it.
//!
//! Source of the form: <https://github.com/testmoapp/junitxml>, which describes the common part of its dialects.

use proem_app::book::test::{BookCaseResult, UntestedPrompt};
use proem_guard::show;

use super::BookTestResults;

/// The document: a suite for each prompt, a test for each case.
pub(super) fn results_document(results: &BookTestResults<'_>) -> String {
    let (all, failed, not_run) = (results.tested.len(), results.failed(), results.untested.len());
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"proem book test\" tests=\"{all}\" \
         failures=\"{failed}\" errors=\"{not_run}\">\n"
    );
    for (prompt, cases) in results.by_prompt() {
        let failed = cases.iter().filter(|case| !case.passed).count();
        let name = escape_xml(prompt);
        out.push_str(&format!("  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\">\n", cases.len()));
        push_properties(&mut out, results, prompt);
        cases.iter().for_each(|case| push_test(&mut out, case));
        out.push_str("  </testsuite>\n");
    }
    for UntestedPrompt { prompt, problem, .. } in results.untested {
        let (name, problem) = (escape_xml(prompt), escape_xml(problem));
        out.push_str(&format!(
            "  <testsuite name=\"{name}\" tests=\"1\" errors=\"1\">\n    <testcase name=\"cases\" \
             classname=\"{name}\">\n      <error message=\"{problem}\"/>\n    </testcase>\n  </testsuite>\n"
        ));
    }
    out.push_str("</testsuites>\n");
    out
}

/// The estimates over repeated answers, and the graders.
fn push_properties(out: &mut String, results: &BookTestResults<'_>, prompt: &str) {
    let Some(repeats) = results.repeats.iter().find(|repeats| repeats.prompt == prompt) else { return };
    out.push_str("    <properties>\n");
    let mut push = |name: &str, value: &str| {
        out.push_str(&format!("      <property name=\"{}\" value=\"{}\"/>\n", escape_xml(name), escape_xml(value)));
    };
    for (name, share) in repeats.estimates() {
        if let Some(share) = share {
            push(&name, &format!("{:.4} ({:.4} to {:.4})", share.mean, share.low, share.high));
        }
    }
    for grader in &repeats.graders {
        push("grader", &format!("{} {}", grader.prompt, grader.closure.as_deref().unwrap_or("outside the book")));
    }
    out.push_str("    </properties>\n");
}

fn push_test(out: &mut String, case: &BookCaseResult) {
    let (name, class) = (escape_xml(&case.case), escape_xml(&case.prompt));
    out.push_str(&format!("    <testcase name=\"{name}\" classname=\"{class}\">\n"));
    if !case.passed {
        let problems = escape_xml(&case.problems.join("; "));
        out.push_str(&format!("      <failure message=\"{problems}\"/>\n"));
    }
    if let Some(live) = &case.live {
        out.push_str(&format!("      <system-out>{}</system-out>\n", escape_xml(&live.in_words())));
    }
    out.push_str("    </testcase>\n");
}

/// Text for an attribute or an element. Control characters, which XML 1.0 forbids, are shown as on a terminal.
fn escape_xml(text: &str) -> String {
    show::terminal_str(text).as_str().chars().fold(String::new(), |mut out, c| {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_ends_no_attribute_and_holds_no_control() {
        assert_eq!(escape_xml("a\"/><b>&"), "a&quot;/&gt;&lt;b&gt;&amp;");
        assert!(!escape_xml("a\u{1b}[31m\u{0}").contains(['\u{1b}', '\u{0}']));
    }
}
