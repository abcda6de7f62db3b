//! The assistant for typing an expression: names to complete, and lines that go on until it ends.

use std::collections::BTreeSet;

use proem_lisp::documentation::entries;
use proem_lisp::{Limits, is_unfinished};
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

/// The commands.
const COMMANDS: [&str; 5] = [":doc", ":fuel", ":help", ":memory", ":reset"];

/// Knows the names of the language and of the memory.
#[derive(Debug)]
pub(super) struct LineAssistant {
    language: BTreeSet<String>,
    memory: BTreeSet<String>,
}

impl Default for LineAssistant {
    fn default() -> Self {
        let language = entries().map(|entry| entry.name.to_owned());
        Self { language: language.chain(COMMANDS.map(str::to_owned)).collect(), memory: BTreeSet::new() }
    }
}

impl LineAssistant {
    /// Replaces the names of the memory by these. Those that could not be typed are left out.
    pub(super) fn learn_names(&mut self, names: BTreeSet<String>) {
        let is_typed = |c: char| c.is_alphanumeric() || "-_+*/!?<>=.&%|'".contains(c);
        self.memory = names.into_iter().filter(|name| !name.is_empty() && name.chars().all(is_typed)).collect();
    }

    /// The start of the name at the end of a text, and the names that go on from there.
    fn names_for(&self, before: &str) -> (usize, Vec<String>) {
        let is_end = |c: char| c.is_whitespace() || "()[]{}\"'`,;@^#".contains(c);
        let start = before.rfind(is_end).map_or(0, |at| {
            at.saturating_add(before.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8))
        });
        let begun = before.get(start..).unwrap_or_default();
        if begun.is_empty() {
            return (start, Vec::new());
        }
        let all = self.language.union(&self.memory);
        (start, all.filter(|name| name.starts_with(begun)).cloned().collect())
    }
}

impl Completer for LineAssistant {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.names_for(line.get(..at).unwrap_or_default()))
    }
}

impl Validator for LineAssistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let is_open = is_unfinished(context.input(), &Limits::default());
        Ok(if is_open { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for LineAssistant {
    type Hint = String;
}

impl Highlighter for LineAssistant {}

impl Helper for LineAssistant {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_language_and_the_memory_complete_what_is_begun() {
        let mut assistant = LineAssistant::default();
        assistant.learn_names(["group-ages", "a b", "\u{1b}[2J", ""].map(str::to_owned).into());
        for (before, start, expected) in [
            ("(group-", 1, &["group-ages", "group-by"][..]),
            (":he", 0, &[":help"]),
            ("(map str/upp", 5, &["str/upper-case"]),
            ("é (mapv", 4, &["mapv"]),
            ("", 0, &[]),
            ("(", 1, &[]),
        ] {
            let (found, names) = assistant.names_for(before);
            assert_eq!(
                (found, names.iter().map(String::as_str).collect::<Vec<_>>()),
                (start, expected.to_vec()),
                "{before}"
            );
        }
    }
}
