//! `proem-lab eval handlebars`: how many of handlebars.js's own assertions plain files render alike.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_engine::prompt::compat::{Dotprompt, RenderData};

use super::spec::{Assertion, read_assertions};

/// Measures how far templates agree with handlebars.js.
#[derive(Debug, Args)]
pub(crate) struct EvalHandlebars {
    /// The folder `spec` of a checkout of handlebars.js.
    #[arg(long, value_name = "DIR")]
    spec: PathBuf,
    /// The version that is checked out, for the table.
    #[arg(long, value_name = "VERSION", default_value = "v4.7.9")]
    version: String,
    /// The workspace's folder, whose `evals/handlebars/results.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

const RESULTS: &str = "evals/handlebars/results.md";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum AssertionOutcome {
    Same,
    /// The text is the same but for HTML's escapes, which a prompt has none of.
    Escaped,
    Differs,
    /// It is refused, with what is said.
    Refused(String),
}

impl AssertionOutcome {
    fn words(&self) -> (&str, &str) {
        match self {
            Self::Same => ("same", ""),
            Self::Escaped => ("differs", "handlebars.js escapes for HTML; a prompt is none"),
            Self::Differs => ("differs", "another text"),
            Self::Refused(why) => ("refused", why),
        }
    }
}

pub(crate) fn run_eval_handlebars(args: &EvalHandlebars) -> Result<String, String> {
    let report = handlebars_results(&args.spec, &args.version)?;
    let path = args.to.join(RESULTS);
    std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    Ok(report)
}

/// The table of results.
fn handlebars_results(spec: &Path, version: &str) -> Result<String, String> {
    let mut results = Vec::new();
    let mut left_out: BTreeMap<&str, usize> = BTreeMap::new();
    for path in javascript_files(spec)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&path).map_err(|error| format!("could not read `{name}`: {error}"))?;
        let read = read_assertions(&name, &source)?;
        for why in read.left_out {
            let count = left_out.entry(why).or_default();
            *count = count.saturating_add(1);
        }
        results.extend(read.assertions.into_iter().map(|one| (one.place.clone(), assertion_outcome(&one))));
    }
    if results.is_empty() {
        return Err(format!("`{}` holds no assertion; give the folder `spec` of handlebars.js", spec.display()));
    }
    Ok(handlebars_report(version, &results, &left_out))
}

fn javascript_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("could not read `{}`: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "js") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Renders an assertion's template as the body of a plain file.
fn assertion_outcome(one: &Assertion) -> AssertionOutcome {
    let partials = one.partials.iter().cloned().collect();
    let data = RenderData { input: one.input.clone(), ..RenderData::default() };
    let file = Dotprompt::parse("template", &one.template, &partials, &BTreeMap::new());
    match file.and_then(|file| file.text(&data)) {
        Err(error) => AssertionOutcome::Refused(error.to_string()),
        Ok(text) if text == one.expected => AssertionOutcome::Same,
        Ok(text) if escape_template(&text) == one.expected || text == unescape_template(&one.expected) => {
            AssertionOutcome::Escaped
        }
        Ok(_) => AssertionOutcome::Differs,
    }
}

/// HTML's escapes, as handlebars.js writes them.
const ESCAPES: [(&str, &str); 7] =
    [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#x27;"), ("`", "&#x60;"), ("=", "&#x3D;")];

fn escape_template(text: &str) -> String {
    ESCAPES.iter().fold(text.to_owned(), |text, (plain, escaped)| text.replace(plain, escaped))
}

fn unescape_template(text: &str) -> String {
    ESCAPES.iter().rev().fold(text.to_owned(), |text, (plain, escaped)| text.replace(escaped, plain))
}

fn handlebars_report(
    version: &str,
    results: &[(String, AssertionOutcome)],
    left_out: &BTreeMap<&str, usize>,
) -> String {
    let count = |test: fn(&AssertionOutcome) -> bool| results.iter().filter(|(_, outcome)| test(outcome)).count();
    let same = count(|outcome| *outcome == AssertionOutcome::Same);
    let escaped = count(|outcome| *outcome == AssertionOutcome::Escaped);
    let differs = count(|outcome| *outcome == AssertionOutcome::Differs);
    let refused = count(|outcome| matches!(outcome, AssertionOutcome::Refused(_)));
    let percent = |part: usize| {
        let tenths = part.saturating_mul(1000).checked_div(results.len()).unwrap_or(0);
        format!("{}.{} %", tenths / 10, tenths % 10)
    };
    let mut report = format!(
        "# Handlebars: results\n\nMade by `cargo lab eval handlebars --spec DIR` from handlebars.js {version}; what is \
         counted says the [rule](README.md).\n\n| | assertions | |\n|---|---|---|\n| the same text | {same} | {} |\n\
         | the same but for HTML's escapes | {escaped} | {} |\n| another text | {differs} | {} |\n\
         | refused | {refused} | {} |\n| all | {} | |\n\nLeft out:\n\n",
        percent(same),
        percent(escaped),
        percent(differs),
        percent(refused),
        results.len()
    );
    for (why, count) in left_out {
        _ = writeln!(report, "- {count}: {why}");
    }
    report.push_str("\n| assertion | outcome | why |\n|---|---|---|\n");
    for (place, outcome) in results {
        let (word, why) = outcome.words();
        _ = writeln!(report, "| {place} | {word} | {} |", why.replace('\n', " ").replace('|', "\\|"));
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipped::skip;
    use proem_engine::ordered_json::OrderedJson;
    use proem_text::OrderedMap;

    #[track_caller]
    fn check(template: &str, expected: &str, outcome_expected: &str) {
        let input: OrderedMap<OrderedJson> = [("a", OrderedJson::from("x & y"))].into_iter().collect();
        let one = Assertion {
            place: "p:1".into(),
            template: template.into(),
            partials: Vec::new(),
            input,
            expected: expected.into(),
        };
        assert_eq!(assertion_outcome(&one).words().0, outcome_expected, "{template}");
    }

    #[test]
    fn the_committed_results_are_those_of_the_specification() {
        let Some(spec) = std::env::var_os("PROEM_HANDLEBARS_SPEC") else {
            skip("handlebars-spec", "`PROEM_HANDLEBARS_SPEC` does not name the folder `spec` of handlebars.js v4.7.9");
            return;
        };
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(RESULTS);
        assert_eq!(
            handlebars_results(Path::new(&spec), "v4.7.9").unwrap(),
            std::fs::read_to_string(committed).unwrap()
        );
    }

    #[test]
    fn assertions_are_told_apart() {
        check("{{a}}", "x & y", "same");
        check("{{a}}", "x &amp; y", "differs");
        check("{{a}}", "y", "differs");
        check("{{a b}}", "", "refused");
    }
}
