//! `#(…)` and its parameters `%`, `%1` to `%20` and `%&`.

use super::Reader;
use crate::{
    form::{FormId, FormKind},
    value::Text,
};
use alloc::{format, vec::Vec};
use proem_text::Span;

/// A parameter's name.
enum Parameter {
    Numbered(usize),
    Rest,
    /// `%` with something that isn't a number, or one that is too long for any.
    Unknown,
}

fn parameter(name: &str) -> Option<Parameter> {
    Some(match name.strip_prefix('%')? {
        "" => Parameter::Numbered(1),
        "&" => Parameter::Rest,
        digits => digits.parse().ok().filter(|n| *n > 0).map_or(Parameter::Unknown, Parameter::Numbered),
    })
}

impl Reader<'_> {
    /// Makes a short function of its elements. The parameters are found by going through them.
    pub(super) fn finish_short_function(&mut self, elements: Vec<FormId>, span: Span) {
        let mut highest: usize = 0;
        let mut takes_rest = false;
        let mut open = elements.clone();
        let mut unknown = Vec::new();
        while let Some(id) = open.pop() {
            match self.reading.forms.kind(id) {
                FormKind::Symbol(name) => match parameter(name.as_str()) {
                    Some(Parameter::Numbered(n)) if n <= self.limits.short_function_arity => highest = highest.max(n),
                    Some(Parameter::Numbered(_) | Parameter::Unknown) => unknown.push(id),
                    Some(Parameter::Rest) => takes_rest = true,
                    None => {}
                },
                FormKind::ShortFunction { .. } => {
                    let inner = self.reading.forms.span(id);
                    self.problem(inner, "`#(…)` can't be inside another", "write one of them as `(fn [x] …)`");
                }
                _ => open.extend(self.reading.forms.children(id)),
            }
        }
        for id in unknown {
            let message =
                format!("a short function has at most {} parameters, `%1` on", self.limits.short_function_arity);
            let at = self.reading.forms.span(id);
            self.problem(at, message, "raise `lisp.short_function_arity`, or use `(fn [a b] …)`");
        }
        let body = self.reading.forms.add(FormKind::List(elements), span);
        self.add(FormKind::ShortFunction { body, parameters: highest, takes_rest }, span);
    }

    /// `%` is the name of the first parameter.
    pub(super) fn symbol(name: &str) -> FormKind {
        FormKind::Symbol(Text::from(if name == "%" { "%1" } else { name }))
    }
}
