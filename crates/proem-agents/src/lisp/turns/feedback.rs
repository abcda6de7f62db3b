//! What a model reads about the turn before: in our words, with what programs printed and problems said.
//!
//! Invariants: nothing of data from outside is in it unless the agent's file permits its source, and then its label
//! is part of what the model was shown. Nothing secret is in it.

use proem_engine::run::CallLabel;
use proem_lisp::Value;
use proem_text::Label;

use super::TurnsMachine;

/// The most characters of printed text that a model reads.
pub(super) const PRINTED_CHARACTERS: usize = 512;
/// The most names that a model reads.
const MAX_NAMES: usize = 40;
/// The most characters of a message about a problem.
const MESSAGE_CHARACTERS: usize = 1_000;

/// The words about an answer without a program.
pub(super) const NO_CODE: &str =
    "there was no program in your answer. Answer with exactly one ```clojure block and nothing else";
/// The words about an answer with several programs.
pub(super) const SEVERAL_BLOCKS: &str =
    "there were several programs in your answer, and none of them was run. Answer with exactly one ```clojure block";
/// The words about an answer that was cut off.
pub(super) const CUT_OFF: &str =
    "your answer reached the most that it may have, and nothing of it was run. Write a shorter program";
/// The words about a refusal.
pub(super) const REFUSED: &str =
    "you refused, and nothing was run. If the mission can't be completed, call `fail` with a reason";

/// A text for the model, with the label of what it tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToldText {
    pub(super) text: String,
    pub(super) label: Label,
}

impl TurnsMachine<'_> {
    /// Text with a label, or words in its place where the model may not see it.
    pub(super) fn tell(&self, text: &str, label: &Label, most: usize) -> ToldText {
        if self.terms.agent.may_show(label) {
            return ToldText { text: first_characters(text, most), label: label.clone() };
        }
        let text = match label.is_secret() {
            true => "(not shown: it is secret)".to_owned(),
            false => format!("(not shown: it has text from {})", CallLabel::from(label).in_words()),
        };
        ToldText { text, label: Label::trusted() }
    }

    /// What a program printed.
    pub(super) fn printed_lines(&self, printed: &str, label: &Label) -> ToldText {
        if printed.trim().is_empty() {
            return ToldText { text: String::new(), label: Label::trusted() };
        }
        let told = self.tell(printed, label, PRINTED_CHARACTERS);
        ToldText { text: format!("Printed:\n{}\n", told.text.trim_end()), label: told.label }
    }

    /// The names that are stored.
    pub(super) fn name_lines(&self, memory: &Value) -> ToldText {
        let mut names: Vec<&str> = memory.unlabelled().entries().filter_map(|(key, _)| key.as_str()).collect();
        names.sort_unstable();
        if names.is_empty() {
            return ToldText { text: String::new(), label: Label::trusted() };
        }
        let more = names.len().saturating_sub(MAX_NAMES);
        names.truncate(MAX_NAMES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let list = names.iter().map(|name| format!("memory/{name}")).collect::<Vec<_>>().join(", ");
        let told = self.tell(&format!("{list}{more}"), &memory.own_label(), usize::MAX);
        ToldText { text: format!("Stored: {}\n", told.text), label: told.label }
    }

    /// How many turns are left, with a warning before the last one.
    pub(super) fn left_lines(&self) -> String {
        let left = self.terms.agent.turns.max_turns.saturating_sub(self.state.used);
        match (left, self.state.is_retry) {
            (0, true) => "One turn is left, to correct the result: call `return` or `fail`.\n".to_owned(),
            (0 | 1, _) => "This is the last turn: call `return` or `fail`, and no tool.\n".to_owned(),
            (2, _) => {
                "Turns left: 2. In the last one only `return` and `fail` can be called, so call tools now.\n".to_owned()
            }
            _ => format!("Turns left: {left}\n"),
        }
    }
}

/// The seed's block about a turn that failed.
pub(super) fn error_block(reason: &str, message: &str) -> String {
    format!(
        "# Previous Turn Error\n\nYour previous program failed with:\n- **Error**: {reason}\n- **Message**: {message}\n\
         - **Context**: `ctx/fail` contains the full error details\n\nPlease fix the issue and try again.\n",
        message = first_characters(message, MESSAGE_CHARACTERS)
    )
}

/// The start of a text.
pub(super) fn first_characters(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
