//! Tests that end early without saying so, and would count as passed.
//!
//! A test may `return;` where the same block asserts something, calls `skip(`, calls a function of its crate that does
//! so (by its name, through other functions that give an `Option` or a `bool`), or writes what a reference test
//! compares. It doesn't see a test that has all its assertions in a loop over nothing, one that a macro makes, a
//! value that a property test leaves out by `return Ok(())`, or a function that shares its name with one that skips.

use std::collections::BTreeSet;

use super::{finding::TidyFinding, tree::SourceTree};
use crate::skips::{self, PermittedSkips};

/// Blocks in which a test does another work than testing.
const OTHER_WORK: &[&str] = &["PROEM_UPDATE_REFERENCE", "PROEM_OLDER"];

/// Reads all sources, crate by crate.
pub(crate) fn check_early_returns(tree: &SourceTree) -> Vec<TidyFinding> {
    let sources: Vec<(&str, Vec<&str>)> = tree
        .files()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(path, text)| (path, text.lines().collect()))
        .collect();
    let mut findings = Vec::new();
    let crates: BTreeSet<&str> = sources.iter().map(|(path, _)| crate_of(path)).collect();
    let mut tests = BTreeSet::new();
    for name in crates {
        let files: Vec<&(&str, Vec<&str>)> = sources.iter().filter(|(path, _)| crate_of(path) == name).collect();
        let functions: Vec<SourceFunction<'_>> =
            files.iter().flat_map(|(path, lines)| SourceFunction::all(path, lines)).collect();
        let skipping = skipping_names(&functions);
        for function in functions.iter().filter(|function| function.is_test) {
            tests.insert(format!("{} {}", name.rsplit('/').next().unwrap_or_default(), function.name));
            findings.extend(function.silent_returns(&skipping));
        }
    }
    findings.extend(unknown_permits(tree, &tests));
    findings
}

/// Permitted skips of tests that are not there.
fn unknown_permits(tree: &SourceTree, tests: &BTreeSet<String>) -> Vec<TidyFinding> {
    let Some((_, text)) = tree.files().find(|(path, _)| *path == skips::LIST) else { return Vec::new() };
    let list = match PermittedSkips::parse(text) {
        Ok(list) => list,
        Err(problem) => return vec![TidyFinding::in_file(skips::LIST, problem, "correct it")],
    };
    let is_known = |permitted: &str| {
        let (package, path) = permitted.split_once(' ').unwrap_or_default();
        tests.contains(&format!("{package} {}", path.rsplit("::").next().unwrap_or_default()))
    };
    let unknown = list.tests().filter(|test| !is_known(test));
    unknown.map(|test| TidyFinding::in_file(skips::LIST, format!("there is no test `{test}`"), "take it out")).collect()
}

/// The folder of a file's crate.
fn crate_of(path: &str) -> &str {
    let end = path.match_indices('/').nth(1).map_or(path.len(), |(end, _)| end);
    path.get(..end).unwrap_or(path)
}

/// A function of a source, by its lines.
struct SourceFunction<'s> {
    path: &'s str,
    name: &'s str,
    is_test: bool,
    /// Its lines with their numbers, from its signature on.
    lines: Vec<(usize, &'s str)>,
}

impl<'s> SourceFunction<'s> {
    fn all(path: &'s str, lines: &[&'s str]) -> Vec<Self> {
        let mut functions = Vec::new();
        let mut is_test = false;
        for (index, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            if trimmed.starts_with("#[test]") || trimmed.starts_with("#[tokio::test") {
                is_test = true;
            }
            let Some(name) = name_of_function(trimmed) else { continue };
            let indent = indent_width(line);
            let body = (index.saturating_add(1)..).zip(lines.iter().skip(index).copied());
            let end = body
                .clone()
                .skip(1)
                .position(|(_, line)| line.trim_start().starts_with('}') && self::indent_width(line) == indent);
            let lines = body.take(end.map_or(1, |end| end.saturating_add(2))).collect();
            functions.push(Self { path, name, is_test, lines });
            is_test = false;
        }
        functions
    }

    fn calls(&self, name: &str) -> bool {
        self.lines.iter().skip(1).any(|(_, line)| calls_function(line, name))
    }

    /// Its early ends that say nothing.
    fn silent_returns(&self, skipping: &BTreeSet<&str>) -> Vec<TidyFinding> {
        let ends = self.lines.iter().enumerate().filter(|(_, (_, line))| {
            let line = line.trim();
            line == "return;" || line.ends_with("else { return };") || line.ends_with("{ return; }")
        });
        let own = self.skipping_closures(skipping);
        let silent = ends.filter(|(at, _)| {
            let block = self.block_before(*at);
            let is_told = block.iter().any(|line| {
                line.contains("assert")
                    || OTHER_WORK.iter().any(|work| line.contains(work))
                    || skipping.iter().chain(&own).any(|name| calls_function(line, name))
            });
            !is_told
        });
        silent
            .map(|(_, (number, _))| {
                let problem = format!("`{}` ends early and counts as passed", self.name);
                TidyFinding::in_file(self.path, problem, "call `skip` with what is missing, or assert something")
                    .at(Some(*number))
            })
            .collect()
    }

    /// The names of its closures that call a function that skips.
    fn skipping_closures(&self, skipping: &BTreeSet<&str>) -> Vec<&'s str> {
        let name = |line: &'s str| {
            let (name, rest) = line.trim_start().strip_prefix("let ")?.split_once(" = ")?;
            rest.starts_with(['|', 'm']).then(|| name.trim_start_matches("mut ")).filter(|_| rest.contains('|'))
        };
        let named =
            self.lines.iter().enumerate().filter_map(|(at, (_, line))| Some((at, indent_width(line), name(line)?)));
        let skips = named.filter(|(at, outer, _)| {
            let body = self.lines.iter().skip(at.saturating_add(1)).take_while(|(_, line)| indent_width(line) > *outer);
            body.map(|(_, line)| line).any(|line| skipping.iter().any(|name| calls_function(line, name)))
        });
        skips.map(|(_, _, name)| name).collect()
    }

    /// The lines of the innermost block up to one, with the statement that opens it.
    fn block_before(&self, at: usize) -> Vec<&'s str> {
        let mut block = Vec::new();
        // How far in the statement begins that is looked for. Unknown until the block's opener is found.
        let mut outer = None;
        for (_, line) in self.lines.iter().take(at.saturating_add(1)).rev() {
            block.push(*line);
            let is_end = line.trim() == "return;";
            match outer {
                None if is_end => outer = Some(indent_width(line)),
                None if begins_statement(line) => break,
                None => outer = Some(indent_width(line).saturating_add(1)),
                Some(limit) if indent_width(line) < limit && begins_statement(line) && !line.trim().is_empty() => break,
                Some(_) => {}
            }
        }
        block
    }
}

/// Whether a line begins a statement, instead of going on with one.
fn begins_statement(line: &str) -> bool {
    !line.trim_start().starts_with(['}', ')', ']', '.']) && !line.trim_start().starts_with("else")
}

/// The names of functions that skip, or that hand on that another one did.
fn skipping_names<'s>(functions: &[SourceFunction<'s>]) -> BTreeSet<&'s str> {
    let mut names = BTreeSet::from(["skip"]);
    loop {
        let more: Vec<&str> = functions
            .iter()
            .filter(|function| !function.is_test && !names.contains(function.name))
            .filter(|function| {
                function.lines.iter().take(8).any(|(_, line)| line.contains("-> Option<") || line.contains("-> bool"))
            })
            .filter(|function| names.iter().any(|name| function.calls(name)))
            .map(|function| function.name)
            .collect();
        if more.is_empty() {
            return names;
        }
        names.extend(more);
    }
}

/// The name of the function that a line begins.
pub(crate) fn name_of_function(line: &str) -> Option<&str> {
    let mut rest = line;
    for word in ["pub(crate) ", "pub(super) ", "pub ", "const ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    name.get(..end)
}

fn indent_width(line: &str) -> usize {
    line.len().saturating_sub(line.trim_start().len())
}

/// Whether a line calls a function of that name.
fn calls_function(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at.saturating_add(name.len())..).unwrap_or_default();
        after.starts_with('(') && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::finding_lines;

    fn problems(text: &str) -> Vec<String> {
        finding_lines(&check_early_returns(&SourceTree::from([("crates/a/tests/it/main.rs", text)])))
    }

    #[test]
    fn a_test_that_ends_early_says_so() {
        let silent = [
            "crates/a/tests/it/main.rs:3: `t` ends early and counts as passed; call `skip` with what is missing, or assert something",
        ];
        let found = |body: &str| problems(&format!("#[test]\nfn t() {{\n{body}\n    assert!(true);\n}}\n"));
        assert_eq!(found("    let Some(x) = find() else { return };"), silent);
        assert_eq!(problems("#[test]\nfn t() {\n    return;\n}\n"), silent);
        for told in [
            "    if root {\n        skip(\"root\", \"no\");\n        return;\n    }",
            "    if root {\n        assert!(x);\n        return;\n    }",
            "    if env(\"PROEM_UPDATE_REFERENCE\") {\n        return;\n    }",
        ] {
            assert_eq!(found(told), Vec::<String>::new(), "{told}");
        }
        let closure = "    let open = |x| {\n        skip(\"pty\", x);\n        false\n    };\n    if !open(1) {\n        return;\n    }";
        assert_eq!(found(closure), Vec::<String>::new());
        let printed = "    if root {\n        eprintln!(\"SKIPPED\");\n        return;\n    }";
        assert_eq!(found(printed).len(), 1);
    }

    #[test]
    fn a_permitted_skip_names_a_test() {
        let test = ("crates/a/src/lib.rs", "#[test]\nfn t() {\n    assert!(true);\n}\n");
        let found = |list: &str| finding_lines(&check_early_returns(&SourceTree::from([test, (skips::LIST, list)])));
        let list = |test: &str| format!("[data]\nreason = \"its licence\"\ntests = [\"{test}\"]\n");
        assert_eq!(found(&list("a tests::t")), Vec::<String>::new());
        for gone in ["a tests::u", "b tests::t"] {
            let expected = format!("{}: there is no test `{gone}`; take it out", skips::LIST);
            assert_eq!(found(&list(gone)), [expected]);
        }
        assert_eq!(found("[data]\ntests = []\n").len(), 1);
    }

    #[test]
    fn a_skip_is_handed_on_by_functions() {
        let helpers = "fn open() -> Option<T> {\n    skip(\"pty\", \"no\");\n    None\n}\n\nfn office() -> Option<T> {\n    open()\n}\n\nfn other() -> Option<T> {\n    None\n}\n\n";
        let test =
            |name: &str| format!("{helpers}#[test]\nfn t() {{\n    let Some(x) = {name}() else {{ return }};\n}}\n");
        assert_eq!(problems(&test("office")), Vec::<String>::new());
        assert_eq!(problems(&test("other")).len(), 1);
    }
}
