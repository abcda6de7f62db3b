//! The labels of a kept memory: a table behind the memory, and a mark around each value that has one.
//!
//! A value with the first label is written as `(if ctx/kept-label-1 value nil)`. Reading runs the memory with a true
//! input of that label, so that the language itself puts the label back where it was, also on what functions have
//! captured. A mark without its label is a problem: a value is never read with less than it was kept with.

use crate::{
    context::Inputs,
    error::{Fault, Problem, Reason},
    form::{FormId, FormKind, Forms},
    limits::Limits,
    machine::{Machine, Outcome},
    resolve::{Names, resolve_source},
    value::{Flow, Value},
};
use alloc::{format, string::String, sync::Arc, vec, vec::Vec};
use core::fmt::Write as _;
use proem_text::{Audience, Label, Source, Sources, Span};

/// The name of an input with a label, before its number.
const INPUT: &str = "kept-label-";

/// The labels of a memory that is being written, in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct LabelTable(Vec<Label>);

impl LabelTable {
    /// The mark before a value with this label.
    ///
    /// # Errors
    ///
    /// It is a secret's: a memory is text that others may read.
    pub(super) fn mark(&mut self, flow: &Flow) -> Result<String, Fault> {
        if flow.is_secret() {
            return Err(Fault::eval("it holds a secret, and a memory is text that others may read")
                .help("keep what is derived from a secret out of the memory, or make it an input each time"));
        }
        let label = flow.to_label();
        let known = self.0.iter().position(|known| *known == label);
        let number = known.unwrap_or_else(|| {
            self.0.push(label);
            self.0.len().saturating_sub(1)
        });
        Ok(format!("(if ctx/{INPUT}{} ", number.saturating_add(1)))
    }

    /// The table behind a memory. Empty for one without labels.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for label in &self.0 {
            out.push_str(if out.is_empty() { "\n[" } else { "\n " });
            let sources = match label.sources() {
                Sources::Many => String::from(":many"),
                Sources::Named(named) => {
                    let names: Vec<String> = named.iter().map(|source| format!("\"{source}\"")).collect();
                    format!("[{}]", names.join(" "))
                }
            };
            // Writing to a string never fails.
            _ = write!(out, "{{:sources {sources} :audience :{}}}", label.audience().as_str());
        }
        if !out.is_empty() {
            out.push(']');
        }
        out
    }
}

/// The text behind a value with its mark.
pub(super) const MARK_END: &str = " nil)";

/// The form inside its marks.
pub(super) fn unmarked_form(forms: &Forms, mut id: FormId) -> FormId {
    while let FormKind::List(elements) = forms.kind(id)
        && let [head, test, value, _] = elements.as_slice()
        && forms.symbol(*head).is_some_and(|head| head.as_str() == "if")
        && forms.symbol(*test).is_some_and(|test| mark_number(test.as_str()).is_some())
    {
        id = *value;
    }
    id
}

/// The number of a mark's label.
fn mark_number(symbol: &str) -> Option<usize> {
    symbol.strip_prefix("ctx/")?.strip_prefix(INPUT)?.parse().ok()
}

/// The inputs that a memory is read with: one for each label of its table.
///
/// # Errors
///
/// The table is none, or a mark has no label in it.
pub(super) fn label_inputs(text: &str, forms: &Forms, table: Option<FormId>) -> Result<Inputs, Vec<Problem>> {
    let labels = match table {
        Some(form) => read_label_table(text, forms.span(form))?,
        None => Vec::new(),
    };
    let is_unknown = |number: usize| number == 0 || number > labels.len();
    if let Some(symbol) = forms.symbols().find(|symbol| mark_number(symbol.as_str()).is_some_and(is_unknown)) {
        let message = format!("`{symbol}` has no label behind the memory, so its value would be read without one");
        return Err(vec![Problem::new(Reason::EvalError, Span::new(0, text.len()), message)]);
    }
    let input = |(index, label): (usize, &Label)| {
        let name = format!("{INPUT}{}", index.saturating_add(1));
        (Value::Text(name.into()), Value::bool(true).labelled(label))
    };
    Ok(Inputs { context: Value::map(labels.iter().enumerate().map(input)), ..Inputs::default() })
}

/// Reads the table behind a memory's values: one label for each of its lines, in order.
fn read_label_table(text: &str, span: Span) -> Result<Vec<Label>, Vec<Problem>> {
    let none = || {
        let message = "behind a memory there is the table of its labels, such as \
                       `[{:sources [\"ctx/mail\"] :audience :external}]`";
        vec![Problem::new(Reason::EvalError, span, message)]
    };
    let source = text.get(span.start..span.end).ok_or_else(none)?;
    let limits = Limits::default();
    let program = resolve_source(source, &Names::default(), &limits).map_err(|_| none())?;
    let Outcome::Done(table @ Value::Vector(_)) =
        Machine::new(Arc::new(program), Inputs::default(), limits).run(u64::MAX)
    else {
        return Err(none());
    };
    table.elements().map(|label| read_kept_label(label).ok_or_else(none)).collect()
}

fn read_kept_label(label: &Value) -> Option<Label> {
    let sources = label.field("sources")?;
    let named = match sources {
        Value::Keyword(word) if word.as_str() == "many" => Label::from_many(),
        Value::Vector(_) => sources.elements().try_fold(Label::trusted(), |label, source| {
            Some(label.join(&Label::from_source(Source::parse(source.as_str()?)?)))
        })?,
        _ => return None,
    };
    Some(named.narrowed_to(Audience::parse(label.field("audience")?.as_str()?)?))
}
