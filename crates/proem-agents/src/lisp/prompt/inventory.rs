//! The data inventory: what a program finds under `ctx/`.

use std::borrow::Cow;

use proem_guard::{LabelTree, Untrusted};
use proem_lisp::{Limits, Meter, Value, label_secret_fields, print_readable};
use proem_text::shorten_text;

use super::super::definition::PromptLimits;
use super::facts::{OutsideText, PromptFacts};

/// The type of `ctx/fail`, the error of the program before.
const FAIL_TYPE: &str = "{reason :keyword, message :string, op :string?, details :map?, line :int?}?";
/// The deepest part of a value that a sample shows.
const SAMPLE_DEPTH: usize = 6;
/// The most characters of a sample that had to shrink.
const EXCERPT_CHARACTERS: u32 = 80;
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
        let words = "nil, or the error of the program before";
        inventory.rows.push(inventory_row("ctx/fail", FAIL_TYPE, &Sample::of_words(words)));
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
                Sample::of_words("[Hidden]")
            }
            None => Sample::of_words("nil"),
            Some(value) => {
                let value = label_secret_fields(value.clone());
                if label.is_trusted() {
                    self.has_hidden |= value.label().is_secret();
                    Sample::of_value(&value, facts.agent.prompt)
                } else if facts.agent.may_show(&label) {
                    self.has_hidden |= value.label().is_secret();
                    let text = Untrusted::new(sample_text(&value, facts.agent.prompt), label);
                    self.samples.push(OutsideText { name: key.clone(), text });
                    Sample::of_words("see the samples below")
                } else {
                    Sample::of_words("(from outside, not shown)")
                }
            }
        };
        self.rows.push(inventory_row(&key, &of, &sample));
    }
}

/// A sample in a cell of the table, and shorter ones.
#[derive(Debug)]
struct Sample {
    full: String,
    excerpt: Option<String>,
    named: Option<String>,
}

impl Sample {
    fn of_words(words: &str) -> Self {
        Self { full: words.to_owned(), excerpt: None, named: None }
    }

    fn of_value(value: &Value, limits: PromptLimits) -> Self {
        let short = PromptLimits { list_sample: 1, string_truncate: EXCERPT_CHARACTERS, ..limits };
        let items = item_count(value);
        Self {
            full: inventory_cell(&sample_text(value, limits)),
            excerpt: Some(inventory_cell(&cut_sample(&sample_text(value, short), EXCERPT_CHARACTERS))),
            named: Some(if items.is_empty() { "…".to_owned() } else { items }),
        }
    }
}

fn inventory_row(key: &str, of: &str, sample: &Sample) -> LabelTree {
    let shorter = [("excerpt", &sample.excerpt), ("named", &sample.named)];
    let shorter = shorter.into_iter().filter_map(|(rung, text)| Some((rung, LabelTree::from(text.as_deref()?))));
    let fields = [("key", key), ("type", of), ("full", &sample.full)].map(|(name, text)| (name, LabelTree::from(text)));
    LabelTree::map(fields.into_iter().chain(shorter))
}

/// The start of a sample from outside.
pub(super) fn sample_excerpt(full: &LabelTree) -> LabelTree {
    match full {
        LabelTree::Outside(text) | LabelTree::Flagged(text) => {
            full.with_outside(text.clone().map(|text| cut_sample(&text, EXCERPT_CHARACTERS).into_owned()))
        }
        _ => LabelTree::Null,
    }
}

fn cut_sample(text: &str, most: u32) -> Cow<'_, str> {
    shorten_text(text, usize::try_from(most).unwrap_or(usize::MAX))
}

/// A text for a cell of a table.
fn inventory_cell(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace('|', "\\|").replace(['\n', '\r'], " "))
}

/// The start of a value, and how many items a list has. Secrets are hidden.
fn sample_text(value: &Value, limits: PromptLimits) -> String {
    let mut out = String::new();
    write_sample(&mut out, value, limits, SAMPLE_DEPTH);
    let items = item_count(value);
    if !items.is_empty() {
        out.push_str(&format!(" {items}"));
    }
    out
}

/// How many items a list has, in words. Nothing for what is no list.
fn item_count(value: &Value) -> String {
    let items = value.unlabelled().elements().count();
    let s = if items == 1 { "" } else { "s" };
    if value.unlabelled().is_sequential() { format!("({items} item{s})") } else { String::new() }
}

/// Whether a key can be written as a keyword, which finds a string as well.
fn is_bare_key(name: &str) -> bool {
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
            out.push_str(&proem_text::json::quote_json(&cut_sample(text.as_str(), limits.string_truncate)));
        }
        inner if inner.is_map() && depth > 0 => {
            let entries = inner.entries().take(SAMPLE_ENTRIES);
            out.push('{');
            for (at, (key, value)) in entries.enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                match key.as_str().filter(|name| is_bare_key(name)) {
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
