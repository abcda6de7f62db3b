//! The meaning of a name: a local, a definition, a builtin, an input, or a mistake.

use super::{Capture, FormKind, Op, Resolver, Text, Value, forms, suggest, to_u32};
use crate::{
    builtins,
    error::{Fault, Problem, Reason},
    reader::{QUOTE_HELP, excerpt},
};
use alloc::{format, string::String, vec::Vec};
use proem_text::Span;

/// Starts the names that rewriting puts into forms: they mean forms and builtins whatever is in scope.
/// No source has this character in a name.
pub(super) const OURS: char = '\0';

/// The names of the last results.
const HISTORY: [&str; 3] = ["*1", "*2", "*3"];

/// Whether a name without a namespace is that of a function of the language.
pub(crate) fn is_builtin(name: &str) -> bool {
    (name == "/" || !name.contains('/')) && builtins::id_of(name).is_some()
}

/// Data can't be defined under the name of a function of the language: in the next program the name is the function's.
pub(crate) fn data_hides_function(name: &str) -> Fault {
    let fault = Fault::eval(format!("`{name}` is a function of the language, so a later program would not find this"));
    fault.help(format!("choose another name, such as `my-{name}`, or use `let` if only this program needs it"))
}

/// The place of a name's value in the current function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Local(u32),
    Captured(u32),
    Myself,
}

impl Resolver {
    /// Finds all names that the program defines anywhere, so that functions can use each other.
    pub(super) fn collect_definitions(&mut self) {
        let mut names = Vec::new();
        for at in 0..self.forms.len() {
            let Some([head, name, rest @ ..]) = self.forms.list_at(at) else { continue };
            let Some(head) = self.forms.symbol(*head) else { continue };
            let all: &[_] = match head.as_str() {
                "def" | "defn" | "defn-" | "defonce" => core::slice::from_ref(name),
                "declare" => {
                    names.extend(rest.iter().filter_map(|id| self.forms.symbol(*id)).cloned());
                    core::slice::from_ref(name)
                }
                _ => continue,
            };
            names.extend(all.iter().filter_map(|id| self.forms.symbol(*id)).cloned());
        }
        self.defined.extend(names);
    }

    /// The place of a local name, captured through the functions in between.
    pub(super) fn find(&mut self, name: &Text) -> Option<Place> {
        let (level, mut place) = self.stack.iter().enumerate().rev().find_map(|(level, state)| {
            let local = state.scope.iter().rev().find(|(other, _)| other == name);
            let place = match local {
                Some((_, local)) => Place::Local(*local),
                None if state.function.name.as_ref() == Some(name) => Place::Myself,
                None => return None,
            };
            Some((level, place))
        })?;
        for state in self.stack.iter_mut().skip(level.saturating_add(1)) {
            let capture = match place {
                Place::Local(local) => Capture::Local(local),
                Place::Captured(index) => Capture::Captured(index),
                Place::Myself => Capture::Myself,
            };
            let captures = &mut state.function.captures;
            let index = captures
                .iter()
                .zip(&state.function.capture_names)
                .position(|(other, named)| *other == capture && named == name)
                .unwrap_or_else(|| {
                    captures.push(capture);
                    state.function.capture_names.push(name.clone());
                    captures.len().saturating_sub(1)
                });
            place = Place::Captured(to_u32(index));
        }
        Some(place)
    }

    /// Whether a name is defined in this program, or has a function in memory.
    pub(super) fn is_defined(&self, name: &Text) -> bool {
        let is_kept = || self.names.functions.contains(name.as_str()) && is_builtin(name.as_str());
        self.defined.contains(name) || is_kept()
    }

    /// Whether `def` may use a name. A problem if its meaning is fixed.
    pub(super) fn check_definable(&mut self, name: &str, span: Span) {
        let what = if HISTORY.contains(&name) {
            "one of the last results"
        } else if forms::form_row(name).is_some() {
            "a form of the language"
        } else {
            return;
        };
        let message = format!("`{name}` can't be defined, since it is {what}");
        self.problem(span, message, format!("choose another name, such as `my-{}`", name.trim_start_matches('*')));
    }

    pub(super) fn symbol(&mut self, name: &Text, span: Span) {
        if let Some(place) = self.find(name) {
            let op = match place {
                Place::Local(local) => Op::Local(local),
                Place::Captured(index) => Op::Captured(index),
                Place::Myself => Op::Myself,
            };
            self.emit(op, span);
            return;
        }
        if self.is_defined(name) {
            self.emit_keyed(Op::Defined, name.as_str(), span);
            return;
        }
        if let Some((namespace, key)) = name.as_str().split_once('/')
            && !key.is_empty()
            && self.namespaced(namespace, key, span)
        {
            return;
        }
        if let Some(index) = HISTORY.iter().position(|other| *other == name.as_str()) {
            self.emit(Op::History(to_u32(index)), span);
        } else if let Some(value) = builtins::constant(name.as_str()) {
            self.push_constant(value, span);
        } else if let Some(id) = builtins::id_of(name.as_str()) {
            self.push_constant(Value::builtin(id), span);
        } else if self.names.memory.contains(name.as_str()) {
            self.emit_keyed(Op::Defined, name.as_str(), span);
        } else {
            let problem = self.unknown_name(name.as_str(), span);
            self.problems.push(problem);
            self.emit(Op::Nil, span);
        }
    }

    /// `ctx/x`, `data/x`, `memory/x`, `tool/x`. False for any other namespace.
    fn namespaced(&mut self, namespace: &str, key: &str, span: Span) -> bool {
        match namespace {
            "ctx" | "data" => {
                self.check_input(key, span);
                self.emit_keyed(Op::Input, key, span);
            }
            "memory" if builtins::id_of(&format!("memory/{key}")).is_none() => self.emit_keyed(Op::Memory, key, span),
            "tool" => {
                self.problem(
                    span,
                    format!("`tool/{}` is a tool, not a value", excerpt(key)),
                    "call it as `(tool/name {…})`, or wrap it as `(fn [arguments] (tool/name arguments))`",
                );
            }
            _ => return false,
        }
        true
    }

    fn emit_keyed(&mut self, op: fn(u32) -> Op, key: &str, span: Span) {
        let key = self.constant(Value::keyword(key));
        self.emit(op(key), span);
    }

    fn unknown_name(&self, name: &str, span: Span) -> Problem {
        if let Some(alternative) = suggest::missing_feature(name) {
            return Problem::new(Reason::AnalysisError, span, format!("`{name}` doesn't exist here")).help(alternative);
        }
        if forms::form_row(name).is_some() {
            let problem = Problem::new(Reason::AnalysisError, span, format!("`{name}` is a form, not a value"));
            return problem.help(format!("wrap it in a function, such as `#({name} %)`"));
        }
        let problem = Problem::new(Reason::UnboundVar, span, format!("`{}` has no value", excerpt(name)));
        if self.letfn_names.iter().any(|other| other.as_str() == name) {
            let help =
                format!("a function of `letfn` knows those before it; define `{name}` and what calls it with `defn`");
            return problem.help(help);
        }
        if name.ends_with('\'') {
            return problem.help(QUOTE_HELP);
        }
        if let Some(tool) = self.tool_named(name) {
            return problem.help(format!("`{tool}` is a tool: call it as `(tool/{tool} {{…}})`"));
        }
        match self.nearest(name) {
            Some(nearest) => problem.help(format!("did you mean `{nearest}`?")),
            None => {
                problem.help("define it with `def`, `defn` or `let`; inputs are `ctx/name` and memory is `memory/name`")
            }
        }
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let locals = self.stack.iter().flat_map(|state| &state.scope).map(|(name, _)| name.as_str());
        let defined = self.defined.iter().map(Text::as_str);
        let memory = self.names.memory.iter().map(String::as_str);
        let rows = builtins::rows().map(|(_, row)| row.name);
        let forms = forms::FORMS.iter().map(|row| row.name);
        suggest::nearest(name, locals.chain(defined).chain(memory).chain(forms).chain(rows)).map(String::from)
    }

    /// A name that only this rewriting knows.
    pub(super) fn hidden_symbol(&mut self, span: Span) -> super::FormId {
        self.hidden = self.hidden.saturating_add(1);
        let name = Text::from(format!("{OURS}{OURS}{}", self.hidden));
        self.forms.add(FormKind::Symbol(name), span)
    }
}
