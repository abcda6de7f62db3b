//! The words to a model about the turn before: ours, with the texts that programs printed and problems named.
//!
//! Invariants: nothing of data from outside is in it unless the agent's file permits its source, and then its label
//! is part of what the model was shown. Nothing secret is in it.

use proem_engine::run::CallLabel;
use proem_lisp::Value;
use proem_text::Label;

use super::TurnsMachine;
use super::record::TurnProblem;
use super::state::ToldPart;

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

/// The words to the model about a turn, with the label of all that they tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Feedback {
    pub(super) parts: Vec<ToldPart>,
    pub(super) label: CallLabel,
}

impl Feedback {
    /// Adds words of ours.
    pub(super) fn say(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(ToldPart::Ours { text: before }) => before.push_str(text),
            _ => self.parts.push(ToldPart::Ours { text: text.to_owned() }),
        }
    }

    /// Takes note of a label that it tells of without showing a text.
    pub(super) fn join(&mut self, label: &Label) {
        // Nothing secret is told, so a label has only sources here.
        self.label = self.label.join(&CallLabel { secret: false, ..CallLabel::from(label) });
    }
}

impl TurnsMachine<'_> {
    /// Adds a text with a label: as it is if that is trusted, contained where the agent's file permits its sources,
    /// and otherwise words in its place.
    pub(super) fn tell(&self, told: &mut Feedback, text: &str, label: &Label) {
        if label.is_secret() {
            told.say("(not shown: it is secret)");
        } else if label.is_trusted() {
            told.say(text);
        } else if self.terms.agent.may_show(label) {
            told.join(label);
            told.parts.push(ToldPart::Outside { text: text.to_owned(), label: CallLabel::from(label) });
        } else {
            told.say(&format!("(not shown: it has text from {})", CallLabel::from(label).in_words()));
        }
    }

    /// Adds what a program printed.
    pub(super) fn tell_printed(&self, told: &mut Feedback, printed: &str, label: &Label) {
        if printed.trim().is_empty() {
            return;
        }
        told.say("Printed:\n");
        self.tell(told, cut_after_characters(printed, PRINTED_CHARACTERS).trim_end(), label);
        told.say("\n");
    }

    /// Adds the names that are stored.
    pub(super) fn tell_names(&self, told: &mut Feedback, memory: &Value) {
        let mut names: Vec<&str> = memory.unlabelled().entries().filter_map(|(key, _)| key.as_str()).collect();
        names.sort_unstable();
        if names.is_empty() {
            return;
        }
        let more = names.len().saturating_sub(MAX_NAMES);
        names.truncate(MAX_NAMES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let list = names.iter().map(|name| format!("memory/{name}")).collect::<Vec<_>>().join(", ");
        told.say("Stored: ");
        self.tell(told, &format!("{list}{more}"), &memory.own_label());
        told.say("\n");
    }

    /// Adds the seed's block about a turn that failed.
    pub(super) fn tell_error(&self, told: &mut Feedback, problem: &TurnProblem, label: &Label) {
        told.say(&format!(
            "# Previous Turn Error\n\nYour previous program failed with:\n- **Error**: {}\n- **Message**: ",
            problem.reason
        ));
        if let Some((line, _)) = problem.place {
            told.say(&format!("in line {line}: "));
        }
        self.tell(told, &cut_after_characters(&problem.message, MESSAGE_CHARACTERS), label);
        told.say(
            "\n- **Context**: `ctx/fail` contains the full error details\n\nPlease fix the issue and try again.\n",
        );
        // The kind and the place of a problem tell of the data too.
        told.join(label);
    }

    /// How many turns are left, with a warning before the last one.
    pub(super) fn left_line(&self) -> String {
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

/// The start of a text.
pub(super) fn cut_after_characters(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
