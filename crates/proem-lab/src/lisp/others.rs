//! Other people's statements about the language: results in a specification, and assertions of a test suite.

use std::path::{Path, PathBuf};
use std::process::Command;

use proem_lisp::documentation::entry;

use super::answers::{Answer, EXCEPTION, evaluate_expression, has_foreign_literal};
use super::clojure::ask_clojure;

/// Prints the assertions of files. The first lines of the script say how.
const SCRIPT: &str = include_str!("assertions.clj");

/// How statements came out.
#[derive(Debug, Default)]
pub(super) struct Statements {
    pub(super) same: usize,
    pub(super) left_out: usize,
    /// The expression, our value and the stated one where they differ.
    pub(super) differing: Vec<[String; 3]>,
}

impl Statements {
    fn add(&mut self, source: &str, ours: Option<String>, stated: &str) {
        match ours {
            None => self.same += 1,
            Some(ours) => self.differing.push([source.to_owned(), ours, stated.to_owned()]),
        }
    }
}

/// The lines of a specification in Markdown that state a result behind `; =>`.
///
/// A statement is the code since the last one in its block; if that alone differs, the whole block up to there. Left
/// out are prose instead of a value, and programs with tools, data or memory of a host.
pub(super) fn check_specification(text: &str) -> Statements {
    let mut statements = Statements::default();
    for block in text.split("```clojure\n").skip(1) {
        let block = block.split("```").next().unwrap_or(block);
        let (mut all, mut own) = (String::new(), String::new());
        for line in block.lines() {
            let (code, stated) = match line.split_once("; =>") {
                Some((code, stated)) => (code.trim_end_matches(';'), Some(stated.trim())),
                None => (line, None),
            };
            own += &format!("{code}\n");
            all += &format!("{code}\n");
            let Some(stated) = stated else { continue };
            match stated_value(stated).filter(|_| !needs_host(&all)) {
                None => statements.left_out += 1,
                Some(value) => {
                    let differs = |source: &str| {
                        // The implementation has vectors for sequences, which are equal to them.
                        let equal = evaluate_expression(&format!("(= (do {source}\n) '{value})"));
                        let answer = Answer { source: source.to_owned(), answer: value.clone(), divergence: None };
                        answer.disagreement().filter(|_| !equal.is_ok_and(|equal| equal == "true"))
                    };
                    let ours = differs(&own).and_then(|ours| differs(&all).map(|_| ours));
                    statements.add(own.trim(), ours, &value);
                }
            }
            own.clear();
        }
    }
    statements
}

fn needs_host(source: &str) -> bool {
    ["tool/", "data/", "ctx/", "memory/", "budget/", "catalog/"].iter().any(|namespace| source.contains(namespace))
}

/// The value that a remark begins with. `None` for prose.
fn stated_value(remark: &str) -> Option<String> {
    if ["error", "ERROR", "TYPE ERROR", "type error"].iter().any(|word| remark.starts_with(word)) {
        return Some(EXCEPTION.to_owned());
    }
    let literals = ["nil", "true", "false", "##", "#{", "\"", ":", "[", "{", "(", "'"];
    let is_number = remark.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    if !is_number && !literals.iter().any(|start| remark.starts_with(start)) || remark.contains("...") {
        return None;
    }
    // The remark goes on after its first value, with prose that may not read.
    let ends = remark.char_indices().filter(|(_, c)| *c == ' ').map(|(place, _)| place).chain([remark.len()]);
    let starts = ends.filter_map(|end| remark.get(..end)).map(|start| start.trim_end_matches([',', ';']));
    starts
        .filter(|start| !has_foreign_literal(start))
        .find(|start| evaluate_expression(&format!("'{start}")).is_ok())
        .map(str::to_owned)
}

/// The assertions of a folder of Clojure's tests that are about a function of ours and hold in Clojure by themselves.
pub(super) fn check_suite(folder: &Path, temporary: &Path) -> Result<Statements, String> {
    let failed = |error: std::io::Error| format!("could not read `{}`: {error}", folder.display());
    let script = temporary.join("assertions.clj");
    std::fs::write(&script, SCRIPT).map_err(failed)?;
    let files = test_files(folder).map_err(failed)?;
    let output = Command::new("clojure").arg(&script).args(&files).output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let assertions: Vec<[&str; 3]> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            Some([fields.next()?, fields.next()?, fields.next()?])
        })
        .collect();
    if assertions.is_empty() {
        return Err(format!("`{}` holds no assertion: {}", folder.display(), String::from_utf8_lossy(&output.stderr)));
    }
    let sources: Vec<String> = assertions.iter().map(|[_, source, _]| (*source).to_owned()).collect();
    let mut statements = Statements::default();
    for ([subject, source, expected], answer) in assertions.into_iter().zip(ask_clojure(&sources, temporary)?) {
        let is_error = expected == EXCEPTION;
        let holds = answer.is_some_and(|answer| {
            if is_error { answer == EXCEPTION } else { !["nil", "false", EXCEPTION].contains(&answer.as_str()) }
        });
        if !holds || entry(subject).is_none() {
            statements.left_out += 1;
            continue;
        }
        let ours = match evaluate_expression(source) {
            Ok(value) if is_error || value == "nil" || value == "false" => Some(value),
            Err(problem) if !is_error => Some(format!("error: {problem}")),
            _ => None,
        };
        statements.add(source, ours, expected);
    }
    Ok(statements)
}

fn test_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut open = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "clj" || extension == "cljc") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_behind_code_are_compared_and_prose_is_left_out() {
        let text = "```clojure\n(def x 2)\n(+ x\n  1) ; => 3, a sum\n(inc x) ; => 4\n(tool/a {}) ; => 1\n```\n\
                    ```clojure\n(inc 1) ; => 2 (more\n(f) ; => what f gives\n(inc nil) ; => TYPE ERROR\n```\n";
        let statements = check_specification(text);
        assert_eq!((statements.same, statements.left_out), (3, 2));
        assert_eq!(statements.differing, [["(inc x)".to_owned(), "error: `x` has no value".into(), "4".into()]]);
    }
}
