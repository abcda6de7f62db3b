//! Functions: their arities, parameters and captures.

use super::{
    FormId, FormKind, Function, FunctionState, Op, Position, Resolver, Target, Task, Text, bindings::first_locals,
    forms::Call, liveness, to_u32,
};
use alloc::{format, vec, vec::Vec};
use core::mem;
use proem_text::Span;

/// One arity of a function as it is written.
#[derive(Debug, Clone)]
pub(super) struct ArityForm {
    span: Span,
    parameters: Vec<FormId>,
    body: Vec<FormId>,
}

impl Resolver {
    pub(super) fn defn(&mut self, call: Call<'_>) {
        let Some((name, rest)) = call.arguments.split_first() else { return self.malformed(&call, "takes a name") };
        if self.forms.symbol(*name).is_none() {
            return self.malformed(&call, "takes a name first");
        }
        // A docstring and a map of attributes may be before the parameters.
        let rest = match rest {
            [doc, rest @ ..] if matches!(self.forms.kind(*doc), FormKind::Text(_)) => rest,
            rest => rest,
        };
        let rest = match rest {
            [attributes, rest @ ..] if matches!(self.forms.kind(*attributes), FormKind::Map(_)) => rest,
            rest => rest,
        };
        let mut arguments = vec![*name];
        arguments.extend(rest);
        let function = self.our_call("fn", &arguments, call.span);
        let rewritten = self.our_call("def", &[*name, function], call.span);
        self.schedule(vec![Task::Value(rewritten, call.position)]);
    }

    pub(super) fn function_form(&mut self, call: Call<'_>) {
        let (name, rest) = match call.arguments {
            [first, rest @ ..] if self.forms.symbol(*first).is_some() => (self.forms.symbol(*first).cloned(), rest),
            rest => (None, rest),
        };
        let arities = match rest {
            [parameters, body @ ..] if self.forms.vector(*parameters).is_some() => {
                let parameters = self.forms.children(*parameters).to_vec();
                vec![ArityForm { span: call.span, parameters, body: body.to_vec() }]
            }
            [] => return self.malformed(&call, "takes its parameters in a vector"),
            forms => {
                let mut arities = Vec::new();
                for form in forms {
                    let Some([parameters, body @ ..]) = self.forms.list(*form) else {
                        return self.malformed(&call, "takes its parameters in a vector");
                    };
                    let (parameters, body) = (*parameters, body.to_vec());
                    let Some(parameters) = self.forms.vector(parameters).map(<[FormId]>::to_vec) else {
                        return self.malformed(&call, "takes its parameters in a vector");
                    };
                    arities.push(ArityForm { span: self.forms.span(*form), parameters, body });
                }
                arities
            }
        };
        // The part behind the name, so that the function can be written as source.
        let (first, last) = (rest.first().copied(), rest.last().copied());
        let start = first.map_or(call.span.start, |first| self.forms.span(first).start);
        let end = last.map_or(call.span.end, |last| self.forms.span(last).end);
        self.begin_function(name, arities, (Span::new(start, end), call.span));
    }

    pub(super) fn short_function(&mut self, body: FormId, parameters: usize, takes_rest: bool, span: Span) {
        let mut names: Vec<FormId> = Vec::new();
        for n in 1..=parameters {
            names.push(self.forms.add(FormKind::Symbol(Text::from(format!("%{n}"))), span));
        }
        if takes_rest {
            for name in ["&", "%&"] {
                names.push(self.forms.add(FormKind::Symbol(Text::from(name)), span));
            }
        }
        self.begin_function(None, vec![ArityForm { span, parameters: names, body: vec![body] }], (span, span));
        if let Some(state) = self.state() {
            state.function.is_short = true;
        }
    }

    /// `written` is the part of the source that says what the function does.
    fn begin_function(&mut self, name: Option<Text>, arities: Vec<ArityForm>, (written, span): (Span, Span)) {
        let name = name.filter(|name| !name.as_str().contains(super::names::OURS));
        let function = Function { name, span: written, ..Function::default() };
        self.stack.push(FunctionState { function, ..FunctionState::default() });
        let mut tasks = Vec::new();
        for arity in arities {
            tasks.extend([Task::BeginArity(arity), Task::EndArity]);
        }
        tasks.push(Task::EndFunction(span));
        self.schedule(tasks);
    }

    pub(super) fn begin_arity(&mut self, form: ArityForm) {
        let is_rest = |id: &FormId| self.forms.symbol(*id).is_some_and(|name| name.as_str() == "&");
        let (required, rest) = match form.parameters.iter().position(is_rest) {
            Some(at) => {
                let (before, after) = form.parameters.split_at_checked(at).unwrap_or_default();
                (before.to_vec(), after.get(1..).map(<[FormId]>::to_vec))
            }
            None => (form.parameters.clone(), None),
        };
        if rest.as_ref().is_some_and(|rest| rest.len() != 1) {
            self.problem(form.span, "one name belongs after `&`", "write `[a & more]`");
        }
        let rest = rest.and_then(|rest| rest.first().copied());
        let Some(state) = self.state() else { return };
        state.scope.clear();
        state.marks.clear();
        state.next_local = 0;
        state.last_placed = 0;
        state.arity.required = required.len();
        state.arity.takes_rest = rest.is_some();
        let parameters: Vec<FormId> = required.into_iter().chain(rest).collect();
        for _ in &parameters {
            self.local();
        }
        self.check_same_arity(form.span);
        let label = self.label();
        let name = if self.stack.len() > 1 { "function" } else { "program" };
        let target = Target { label, locals: first_locals(parameters.len()), name };
        let mut tasks = vec![Task::OpenTarget(target)];
        for (local, parameter) in parameters.iter().enumerate() {
            let local = to_u32(local);
            if let Some(name) = self.forms.symbol(*parameter) {
                tasks.push(Task::Declare(name.clone(), local));
            }
        }
        tasks.push(Task::Place(label));
        let is_rest_place = |local: usize| rest.is_some() && local.saturating_add(1) == parameters.len();
        for (local, parameter) in parameters.iter().enumerate() {
            if self.forms.symbol(*parameter).is_none() {
                let span = self.forms.span(*parameter);
                tasks.push(Task::Step(Op::Local(to_u32(local)), span));
                if is_rest_place(local) && matches!(self.forms.kind(*parameter), FormKind::Map(_)) {
                    tasks.push(Task::Step(Op::KeywordArguments, span));
                }
                tasks.push(Task::Bind(*parameter));
            }
        }
        tasks.extend([Task::Body(form.body, Position::Tail), Task::Step(Op::Return, form.span), Task::CloseTarget]);
        self.schedule(tasks);
    }

    fn check_same_arity(&mut self, span: Span) {
        let Some(state) = self.stack.last() else { return };
        let (required, takes_rest) = (state.arity.required, state.arity.takes_rest);
        let arities = &state.function.arities;
        let is_there =
            |arity: &crate::code::Arity| arity.takes_rest == takes_rest && (takes_rest || arity.required == required);
        if arities.iter().any(is_there) {
            self.problem(span, "two arities take the same number of arguments", "keep one of them");
        }
    }

    pub(super) fn end_arity(&mut self) {
        let Some(state) = self.stack.last_mut() else { return };
        Self::patch_labels(state);
        let mut arity = mem::take(&mut state.arity);
        liveness::take_last_reads(&mut arity.ops, &self.functions);
        state.function.arities.push(arity);
    }

    pub(super) fn end_function(&mut self, span: Span) {
        let Some(state) = self.stack.pop() else { return };
        let number = to_u32(self.functions.len());
        self.functions.push(state.function);
        self.emit(Op::Closure(number), span);
    }
}
