//! The data inventory: what a program finds under `ctx/`.

use proem_guard::{LabelTree, Untrusted};
use proem_lisp::{Limits, Meter, Value, label_secret_fields, print_readable};
use serde_json::json;

use super::super::definition::PromptLimits;
use super::{OutsideText, PromptFacts, trusted_tree};

/// The type of `ctx/fail`, the error of the program before.
const FAIL_TYPE: &str = "{reason :keyword, message :string, op :string?, details :map?, span :map?}?";
/// The deepest part of a value that a sample shows.
const SAMPLE_DEPTH: usize = 6;
/// The most entries of a map that a sample shows.
const SAMPLE_ENTRIES: usize = 24;

/// The data of a run.
#[derive(Debug)]
pub(super) struct Inventory {
    /// The rows of its table.
    pub(super) rows: Vec<LabelTree>,
    /// Whether a value is hidden from the model.
    pub(super) has_hidden: bool,
    /// Samples of data from outside.
    pub(super) samples: Vec<OutsideText>,
}

impl Inventory {
    /// The inventory of an agent's inputs, in the order of its signature.
    pub(super) fn of(facts: &PromptFacts<'_>) -> Self {
        let mut inventory = Self { rows: Vec::new(), has_hidden: false, samples: Vec::new() };
        for name in facts.agent.signature.parameters() {
            inventory.add(facts, name);
        }
        inventory.push_row("ctx/fail", FAIL_TYPE, "nil, or the error of the program before");
        inventory
    }

    fn add(&mut self, facts: &PromptFacts<'_>, name: &str) {
        let key = format!("ctx/{name}");
        let of = facts.agent.signature.parameter_type(name).unwrap_or_else(|| ":any".to_owned());
        let label = facts.agent.input_label(name);
        let value = facts.context.field(name).filter(|value| !value.unlabelled().is_nil());
        let sample = match value {
            _ if label.is_secret() => {
                self.has_hidden = true;
                "[Hidden]".to_owned()
            }
            None => "nil".to_owned(),
            Some(value) => {
                let value = label_secret_fields(value.clone());
                if label.is_trusted() {
                    let sample = sample_text(&value, facts.agent.prompt);
                    self.has_hidden |= value.label().is_secret();
                    table_cell(&sample)
                } else if facts.agent.may_show(&label) {
                    self.has_hidden |= value.label().is_secret();
                    let text = Untrusted::new(sample_text(&value, facts.agent.prompt), label);
                    self.samples.push(OutsideText { name: key.clone(), text });
                    "see the samples below".to_owned()
                } else {
                    "(from outside, not shown)".to_owned()
                }
            }
        };
        self.push_row(&key, &of, &sample);
    }

    fn push_row(&mut self, key: &str, of: &str, sample: &str) {
        self.rows.push(trusted_tree(&json!({ "key": key, "type": of, "sample": sample })));
    }
}

/// A text for a cell of a table.
fn table_cell(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace('|', "\\|").replace(['\n', '\r'], " "))
}

/// The start of a value, and how many items a list has. Secrets are hidden.
fn sample_text(value: &Value, limits: PromptLimits) -> String {
    let mut out = String::new();
    write_sample(&mut out, value, limits, SAMPLE_DEPTH);
    let items = value.unlabelled().elements().count();
    if value.unlabelled().is_sequential() {
        out.push_str(&format!(" ({items} item{})", if items == 1 { "" } else { "s" }));
    }
    out
}

/// Whether a key can be written as a keyword, which finds a string as well.
fn is_plain_word(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn write_sample(out: &mut String, value: &Value, limits: PromptLimits, depth: usize) {
    if value.own_label().is_secret() {
        return out.push_str("[Hidden]");
    }
    let most = usize::try_from(limits.list_sample).unwrap_or(usize::MAX);
    match value.unlabelled() {
        Value::Text(text) => {
            let most = usize::try_from(limits.string_truncate).unwrap_or(usize::MAX);
            let start: String = text.as_str().chars().take(most).collect();
            let cut = if start.len() < text.len() { "…" } else { "" };
            out.push_str(&proem_text::json::quote_json(&format!("{start}{cut}")));
        }
        inner if inner.is_map() && depth > 0 => {
            let entries = inner.entries().take(SAMPLE_ENTRIES);
            out.push('{');
            for (at, (key, value)) in entries.enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                match key.as_str().filter(|name| is_plain_word(name)) {
                    Some(name) => out.push_str(&format!(":{name}")),
                    None => write_sample(out, key, limits, 0),
                }
                out.push(' ');
                write_sample(out, value, limits, depth.saturating_sub(1));
            }
            let is_cut = inner.entries().count() > SAMPLE_ENTRIES;
            out.push_str(if is_cut { ", ...}" } else { "}" });
        }
        inner if inner.is_sequential() && depth > 0 => {
            out.push('[');
            for (at, element) in inner.elements().take(most).enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_sample(out, element, limits, depth.saturating_sub(1));
            }
            let shown = inner.elements().count().min(most);
            let more = if shown == inner.elements().count() {
                ""
            } else if shown == 0 {
                "..."
            } else {
                ", ..."
            };
            out.push_str(&format!("{more}]"));
        }
        inner if inner.is_map() => out.push_str("{...}"),
        inner if inner.is_sequential() => out.push_str("[...]"),
        other => {
            let printed = print_readable(other, &mut Meter::new(Limits::default()));
            out.push_str(&printed.unwrap_or_else(|_| "...".to_owned()));
        }
    }
}
