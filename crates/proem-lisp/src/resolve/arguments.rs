//! Calls of tools and names of inputs, checked against what is known of them before anything runs.

use super::{FormId, FormKind, Reason, Resolver, suggest};
use crate::{
    builtins,
    error::Problem,
    reader::excerpt,
    signature::{Entry, Signature, SignatureProblem, TypeId},
    value::{BuiltinId, Value},
};
use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString as _},
    sync::Arc,
    vec,
    vec::Vec,
};
use proem_text::Span;

/// `-` and `_` are the same in the names of tools.
fn tool_key(name: &str) -> String {
    name.replace('-', "_")
}

/// A form that is to be of a type, and where it is among the arguments.
struct Argument {
    form: FormId,
    of: TypeId,
    path: String,
}

impl Resolver {
    /// The tool of this name, if there is one.
    pub(super) fn tool_named(&self, name: &str) -> Option<&str> {
        let tools = self.names.tools.iter().flatten();
        tools.map(String::as_str).find(|tool| tool_key(tool) == tool_key(name))
    }

    /// Finds calls of a function that has a tool's name, with the arguments of a tool: either may be meant.
    pub(super) fn check_meant(&mut self, name: &str, arguments: &[FormId], span: Span) {
        let Some(tool) = self.tool_named(name).map(String::from) else { return };
        let is_for_tool = match arguments.first().map(|first| self.forms.kind(*first)) {
            Some(FormKind::Map(_)) => arguments.len() == 1,
            // `(map :k rows)` is usual, so the keyword has to be one of the tool's parameters.
            Some(FormKind::Keyword(key)) if arguments.len().is_multiple_of(2) => {
                let mut signatures = self.names.signatures.iter().filter(|(name, _)| **name == tool);
                signatures
                    .any(|(_, signature)| signature.parameters().any(|known| tool_key(known) == tool_key(key.as_str())))
            }
            _ => false,
        };
        if !is_for_tool {
            return;
        }
        let message = format!("`{name}` is a function, and this program has a tool `{tool}`: either may be meant");
        let help = format!("write `(tool/{tool} …)` for the tool, and `(clojure.core/{name} …)` for the function");
        self.problems.push(Problem::new(Reason::AnalysisError, span, message).help(help));
    }

    /// Finds calls of tools that don't exist, and arguments of another shape than a tool's signature has.
    pub(super) fn check_tool(&mut self, id: BuiltinId, arguments: &[FormId]) {
        let Some(first) = arguments.first().filter(|_| builtins::row(id).is_some_and(|row| row.name == "call")) else {
            return;
        };
        let (FormKind::Text(name) | FormKind::Keyword(name)) = self.forms.kind(*first) else { return };
        let name = String::from(name.as_str());
        let span = self.forms.span(*first);
        if let Some(tools) = &self.names.tools
            && !tools.iter().any(|tool| tool_key(tool) == tool_key(&name))
        {
            let problem = Problem::new(Reason::UnknownTool, span, format!("there is no tool `{}`", excerpt(&name)));
            let nearest = suggest::nearest(&name, tools.iter().map(String::as_str));
            let all = || tools.iter().take(10).map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
            self.problems.push(problem.help(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None if tools.is_empty() => String::from("this program has no tools"),
                None => format!("the tools are {}", all()),
            }));
            return;
        }
        let signature = self.names.signatures.iter().find(|(tool, _)| tool_key(tool) == tool_key(&name));
        let Some(signature) = signature.map(|(_, signature)| Arc::clone(signature)) else { return };
        let call = ToolForm { name: &name, signature: &signature };
        match arguments.get(1) {
            Some(form) => self.check_arguments(&call, *form),
            None => {
                let problems = signature.check_arguments(&Value::map([]));
                problems.iter().for_each(|problem| self.argument_problem(&call, span, &problem.to_string()));
            }
        }
    }

    /// Checks forms as far as they are literal; what only running gives is checked then.
    fn check_arguments(&mut self, call: &ToolForm<'_>, form: FormId) {
        let mut open = vec![Argument { form, of: call.signature.parameters_type(), path: String::new() }];
        while let Some(argument) = open.pop() {
            let form = argument.form;
            if self.forms.is_constant(form) {
                let value = self.literal_once(form);
                for problem in call.signature.check_type(&value, argument.of) {
                    self.argument_problem(call, self.forms.span(form), &problem_below(&argument.path, problem));
                }
                continue;
            }
            match self.forms.kind(form) {
                FormKind::Map(_) => self.check_map(call, &argument, &mut open),
                FormKind::Vector(elements) => match call.signature.element(argument.of) {
                    Some(of) => {
                        let path = |at: usize| format!("{}[{at}]", argument.path);
                        let elements = elements.iter().enumerate();
                        open.extend(elements.map(|(at, form)| Argument { form: *form, of, path: path(at) }));
                    }
                    None => self.check_kind(call, &argument, &Value::vector(Vec::new())),
                },
                FormKind::ShortFunction { .. } => {
                    let problem = format!("{}a function isn't data, which tools take", path_prefix(&argument.path));
                    self.argument_problem(call, self.forms.span(form), &problem);
                }
                _ => {}
            }
        }
    }

    /// Checks that a type takes what a form makes at all. `sample` is an empty one.
    fn check_kind(&mut self, call: &ToolForm<'_>, argument: &Argument, sample: &Value) {
        if !call.signature.is_open(argument.of)
            && let [problem, ..] = call.signature.check_type(sample, argument.of).as_slice()
        {
            let problem = problem_below(&argument.path, problem.clone());
            self.argument_problem(call, self.forms.span(argument.form), &problem);
        }
    }

    fn check_map(&mut self, call: &ToolForm<'_>, argument: &Argument, open: &mut Vec<Argument>) {
        if !call.signature.is_record(argument.of) {
            return self.check_kind(call, argument, &Value::map([]));
        }
        let pairs = self.forms.children(argument.form).to_vec();
        let mut seen = BTreeSet::new();
        let mut has_other_keys = false;
        for [key, value] in pairs.as_chunks::<2>().0 {
            let (FormKind::Keyword(name) | FormKind::Text(name)) = self.forms.kind(*key) else {
                has_other_keys = true;
                continue;
            };
            let span = self.forms.span(*key);
            match call.signature.entry_of(argument.of, name.as_str()) {
                Entry::Field { at, name, of } => {
                    seen.insert(at);
                    let dot = if argument.path.is_empty() { "" } else { "." };
                    open.push(Argument { form: *value, of, path: format!("{}{dot}{name}", argument.path) });
                }
                Entry::Unknown(near) => {
                    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    let name = excerpt(name.as_str());
                    let problem = format!("{}there is no `{name}`{near}", path_prefix(&argument.path));
                    self.argument_problem(call, span, &problem);
                }
                Entry::Free => {}
            }
        }
        if !has_other_keys {
            for (name, expected) in call.signature.missing(argument.of, &seen) {
                let dot = if argument.path.is_empty() { "" } else { "." };
                let problem = format!("{}{dot}{name}: expected {expected}, got nothing", argument.path);
                self.argument_problem(call, self.forms.span(argument.form), &problem);
            }
        }
    }

    fn argument_problem(&mut self, call: &ToolForm<'_>, span: Span, problem: &str) {
        let message = format!("`{}` takes other arguments: {problem}", excerpt(call.name));
        let help = format!("it is called as {}", call.signature.call_text(call.name));
        self.problems.push(Problem::new(Reason::ValidationError, span, message).help(help));
    }

    /// The value of a literal, whose own problems are found when it is compiled.
    fn literal_once(&mut self, form: FormId) -> Value {
        let (problems, meter) = (self.problems.len(), self.meter.clone());
        let value = self.literal(form);
        self.problems.truncate(problems);
        self.meter = meter;
        value
    }

    /// Finds names of inputs that there aren't.
    pub(super) fn check_input(&mut self, key: &str, span: Span) {
        let Some(inputs) = &self.names.inputs else { return };
        if inputs.contains(key) {
            return;
        }
        let help = match suggest::nearest(key, inputs.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `ctx/{near}`?"),
            None if inputs.is_empty() => String::from("the signature has no parameters"),
            None => {
                let all: Vec<String> = inputs.iter().take(10).map(|name| format!("`ctx/{name}`")).collect();
                format!("the inputs are {}", all.join(", "))
            }
        };
        let message = format!("there is no input `{}`", excerpt(key));
        self.problems.push(Problem::new(Reason::UnboundVar, span, message).help(help));
    }
}

/// A tool that is called.
struct ToolForm<'a> {
    name: &'a str,
    signature: &'a Signature,
}

fn path_prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// A problem with the path of the form that it is in.
fn problem_below(path: &str, mut problem: SignatureProblem) -> String {
    let dot = if path.is_empty() || problem.path.is_empty() || problem.path.starts_with('[') { "" } else { "." };
    problem.path = format!("{path}{dot}{}", problem.path);
    problem.to_string()
}
