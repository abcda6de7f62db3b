//! Tests that could not run on this machine: counted, named, and an error in CI unless they are listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{TaskFailure, print_to_stderr, print_to_stdout};

/// The list of the permitted ones.
pub(crate) const LIST: &str = "crates/xtask/permitted-skips.toml";

/// The beginning of a line by which a test reports that it is skipped.
const MARK: &str = "SKIPPED ";

/// A test that said that it is skipped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SkippedTest {
    /// The missing part of this machine.
    lacking: String,
    /// The crate and the test's path in it.
    test: String,
    /// The test's own words.
    why: String,
}

impl SkippedTest {
    /// Those that the tests of a crate named on standard error.
    pub(crate) fn read<'t>(package: &'t str, stderr: &'t str) -> impl Iterator<Item = Self> + 't {
        stderr.lines().filter_map(move |line| {
            let (head, why) = line.strip_prefix(MARK)?.split_once(": ")?;
            let (lacking, test) = head.split_once(' ')?;
            Some(Self { lacking: lacking.to_owned(), test: format!("{package} {test}"), why: why.to_owned() })
        })
    }
}

/// Whether this is where everything has to run that is not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// A developer's machine: skips are shown.
    Show,
    /// CI: an unlisted skip is a finding.
    Refuse,
}

/// The skips that are permitted: for what may be missing, the tests that may be skipped, each with its crate.
#[derive(Debug, Default)]
pub(crate) struct PermittedSkips(BTreeMap<String, BTreeSet<String>>);

impl PermittedSkips {
    /// Reads the list: a table for each thing that may be missing, with a `reason` and `tests`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("can't be read: {error}"))?;
        let entry = |(lacking, entry): (String, toml::Value)| {
            let text = |value: &toml::Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            let tests = entry.get("tests").and_then(toml::Value::as_array);
            let tests = tests.and_then(|tests| tests.iter().map(text).collect::<Option<BTreeSet<String>>>());
            match (entry.get("reason").and_then(text), tests) {
                (Some(_), Some(tests)) => Ok((lacking, tests)),
                _ => Err(format!("`{lacking}` has no `reason` or no list of `tests`")),
            }
        };
        Ok(Self(table.into_iter().map(entry).collect::<Result<_, String>>()?))
    }

    /// The listed tests.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &str> {
        self.0.values().flatten().map(String::as_str)
    }

    fn holds(&self, skipped: &SkippedTest) -> bool {
        self.0.get(&skipped.lacking).is_some_and(|tests| tests.contains(&skipped.test))
    }
}

/// Prints how many tests were skipped and why. In CI an unlisted one is a finding.
pub(crate) fn report_skips(
    root: &Path,
    skipped: &BTreeSet<SkippedTest>,
    strictness: Strictness,
) -> Result<(), TaskFailure> {
    let text = std::fs::read_to_string(root.join(LIST))
        .map_err(|error| TaskFailure::Outside(format!("could not read {LIST}: {error}")))?;
    let permitted =
        PermittedSkips::parse(&text).map_err(|problem| TaskFailure::Outside(format!("{LIST}: {problem}")))?;
    print_to_stdout(&skip_summary(skipped));
    let unlisted: Vec<String> = skipped
        .iter()
        .filter(|skipped| !permitted.holds(skipped))
        .map(|skipped| format!("  {} lacks {}: {}\n", skipped.test, skipped.lacking, skipped.why))
        .collect();
    if unlisted.is_empty() || strictness == Strictness::Show {
        return Ok(());
    }
    print_to_stderr(&format!("these tests were skipped and are not listed in {LIST}:\n{}", unlisted.concat()));
    Err(TaskFailure::Found)
}

/// The number of skipped tests, grouped by what is missing.
fn skip_summary(skipped: &BTreeSet<SkippedTest>) -> String {
    let tests: BTreeSet<&str> = skipped.iter().map(|skipped| skipped.test.as_str()).collect();
    let mut out = match tests.len() {
        0 => return "skipped: no test\n".to_owned(),
        1 => "skipped: 1 test\n".to_owned(),
        number => format!("skipped: {number} tests\n"),
    };
    let mut by_reason: BTreeMap<&str, Vec<&SkippedTest>> = BTreeMap::new();
    for skipped in skipped {
        by_reason.entry(&skipped.lacking).or_default().push(skipped);
    }
    for (lacking, group) in by_reason {
        let why = group.first().map_or("", |skipped| skipped.why.as_str());
        let tests: BTreeSet<&str> = group.iter().map(|skipped| skipped.test.as_str()).collect();
        out.push_str(&format!("  {lacking} ({}): {why}\n", tests.len()));
        out.extend(tests.iter().map(|test| format!("    {test}\n")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(stderr: &str) -> BTreeSet<SkippedTest> {
        SkippedTest::read("proem-a", stderr).collect()
    }

    #[test]
    fn skips_are_read_from_what_tests_write() {
        let text = "noise\nSKIPPED browser a::b: none is here\nSKIPPED: an older form\nSKIPPED data c: no `x`: y\n";
        let expected =
            "skipped: 2 tests\n  browser (1): none is here\n    proem-a a::b\n  data (1): no `x`: y\n    proem-a c\n";
        assert_eq!(skip_summary(&skipped(text)), expected);
        assert_eq!(skip_summary(&BTreeSet::new()), "skipped: no test\n");
        // A loop that skips in each round is one test.
        assert_eq!(skipped("SKIPPED data c: x\nSKIPPED data c: x\n").len(), 1);
    }

    #[test]
    fn an_unlisted_skip_fails_in_ci_alone() {
        let folder = std::env::temp_dir().join(format!("xtask-skips-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("crates/xtask")).unwrap();
        let list = "[data]\nreason = \"its licence\"\ntests = [\"proem-a c\"]\n";
        std::fs::write(folder.join(LIST), list).unwrap();
        let check = |stderr: &str, strictness| report_skips(&folder, &skipped(stderr), strictness).is_ok();
        assert!(check("SKIPPED data c: x\n", Strictness::Refuse));
        for unlisted in ["SKIPPED data d: x\n", "SKIPPED browser c: x\n"] {
            assert!(check(unlisted, Strictness::Show) && !check(unlisted, Strictness::Refuse), "{unlisted}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_committed_list_can_be_read() {
        let list = PermittedSkips::parse(include_str!("../permitted-skips.toml")).unwrap();
        assert!(list.tests().count() > 0);
    }
}
