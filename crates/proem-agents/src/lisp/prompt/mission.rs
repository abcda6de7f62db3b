//! The mission, with its placeholders filled.

use std::collections::BTreeMap;

use proem_engine::{Error, ErrorKind};
use proem_guard::Untrusted;
use proem_lisp::{Limits, Meter, Value, print_display};

use super::super::definition::AgentDefinition;
use super::facts::{OutsideText, PromptFacts};

/// A mission that is ready to be read.
#[derive(Debug)]
pub(super) struct Mission {
    /// Its text. A value from outside is named and not in it.
    pub(super) text: String,
    /// The values from outside that it names and the model may read.
    pub(super) values: Vec<OutsideText>,
}

/// Words of the file, or a place for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissionPiece<'m> {
    /// Text as it is.
    Text(&'m str),
    /// The value at a path, such as `user.name`.
    Placeholder(&'m str),
}

/// The paths that a mission's placeholders name. One without an end is a path, too, that no signature has.
pub(in crate::lisp) fn mission_placeholders(mission: &str) -> Vec<&str> {
    let path = |piece| match piece {
        MissionPiece::Placeholder(path) => Some(path),
        MissionPiece::Text(text) => text.split_once("{{").map(|(_, rest)| rest),
    };
    mission_pieces(mission).into_iter().filter_map(path).collect()
}

/// Cuts a mission at its placeholders.
fn mission_pieces(mission: &str) -> Vec<MissionPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = mission;
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((path, after)) = behind.split_once("}}") else { break };
        if !before.is_empty() {
            pieces.push(MissionPiece::Text(before));
        }
        pieces.push(MissionPiece::Placeholder(path.trim()));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(MissionPiece::Text(rest));
    }
    pieces
}

/// An input for an agent's prompt without data: each value that the mission names is an ellipsis.
#[must_use]
pub fn blank_input(agent: &AgentDefinition) -> Value {
    let paths = mission_placeholders(&agent.mission).into_iter();
    nested_blanks(&paths.map(|path| path.split('.').collect()).collect::<Vec<_>>())
}

/// The map that has an ellipsis at each of these paths. An ellipsis where a path ends.
fn nested_blanks(paths: &[Vec<&str>]) -> Value {
    let mut inner: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for path in paths {
        if let Some((first, rest)) = path.split_first() {
            inner.entry(first).or_default().push(rest.to_vec());
        }
    }
    let blank = |paths: Vec<Vec<&str>>| match paths.iter().all(Vec::is_empty) {
        true => Value::text("…"),
        false => nested_blanks(&paths),
    };
    Value::map(inner.into_iter().map(|(name, paths)| (Value::text(name), blank(paths))))
}

impl Mission {
    /// The mission of an agent with these inputs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] with each placeholder that has no value.
    pub(super) fn of(facts: &PromptFacts<'_>) -> Result<Self, Error> {
        let (mut text, mut values, mut problems) = (String::new(), Vec::<OutsideText>::new(), Vec::new());
        for piece in mission_pieces(&facts.agent.mission) {
            let path = match piece {
                MissionPiece::Text(piece) => {
                    text.push_str(piece);
                    continue;
                }
                MissionPiece::Placeholder(path) => path,
            };
            let Some(value) = value_at(facts.context, path) else {
                problems.push(format!(
                    "template_error: the mission has `{{{{{path}}}}}`, and no input has this value; give it with `--set \
                     {path}=…` or in the file of `--input`"
                ));
                continue;
            };
            let label = placeholder_label(facts.agent, path);
            if label.is_secret() {
                text.push_str("[Hidden]");
            } else if label.is_trusted() {
                text.push_str(&placeholder_text(value));
            } else {
                text.push_str(&access(path));
                if facts.agent.may_show(&label) && !values.iter().any(|known| known.name == path) {
                    values.push(OutsideText {
                        name: path.to_owned(),
                        text: Untrusted::new(placeholder_text(value), label),
                    });
                }
            }
        }
        if problems.is_empty() { Ok(Self { text, values }) } else { Err(Error::all(ErrorKind::InvalidInput, problems)) }
    }
}

/// The label of the value at a path.
fn placeholder_label(agent: &AgentDefinition, path: &str) -> proem_text::Label {
    let mut parts = path.split('.');
    let label = agent.input_label(parts.next().unwrap_or_default());
    if parts.any(|part| part.starts_with('_')) { label.made_secret() } else { label }
}

/// How a program reads the value at a path, in backticks.
fn access(path: &str) -> String {
    let mut parts = path.split('.');
    let first = format!("ctx/{}", parts.next().unwrap_or_default());
    let whole = parts.fold(first, |inner, part| format!("(:{part} {inner})"));
    format!("`{whole}`")
}

/// The value at a path of the inputs, if it is there and not nil.
fn value_at<'v>(context: &'v Value, path: &str) -> Option<&'v Value> {
    let value = path.split('.').try_fold(context, |value, part| value.unlabelled().field(part))?;
    (!value.unlabelled().is_nil()).then_some(value)
}

/// A value as words of a sentence.
fn placeholder_text(value: &Value) -> String {
    let mut meter = Meter::new(Limits::default());
    print_display(&value.without_labels(), &mut meter).unwrap_or_else(|_| "(a value that is too large)".to_owned())
}
