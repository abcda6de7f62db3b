//! `loop` with `recur`, and `for` with `doseq`.

use super::{FormId, FormKind, Label, Op, Position, Resolver, Target, Task, Value, forms::Call};
use alloc::{format, vec, vec::Vec};
use core::fmt::Write as _;
use proem_text::Span;

/// The progress through the bindings of `for` or `doseq`.
#[derive(Debug, Clone)]
pub(super) struct LoopStep {
    bindings: Vec<[FormId; 2]>,
    body: Vec<FormId>,
    /// The local that collects the body's values, for `for`.
    out: Option<u32>,
    span: Span,
    /// The step that takes the next element of the innermost sequence, and the end of that.
    next: Option<(Label, Label)>,
}

impl Resolver {
    pub(super) fn loop_form(&mut self, call: Call<'_>) {
        let Some((pairs, body)) = self.bindings(&call) else { return };
        self.open_scope();
        let label = self.label();
        let mut locals = Vec::new();
        let mut tasks = Vec::new();
        let mut patterns = Vec::new();
        for [pattern, value] in pairs {
            let local = self.local();
            locals.push(local);
            let span = self.forms.span(pattern);
            tasks.extend([Task::Value(value, Position::Inner), Task::Step(Op::Store(local), span)]);
            if let Some(name) = self.forms.symbol(pattern) {
                tasks.push(Task::Declare(name.clone(), local));
            } else {
                // Later values see the names, and each round gives them anew.
                let bind = [Task::Step(Op::Local(local), span), Task::Bind(pattern)];
                tasks.extend(bind.clone());
                patterns.extend(bind);
            }
        }
        tasks.push(Task::Place(label));
        tasks.extend(patterns);
        tasks.extend([
            Task::OpenTarget(Target { label, locals, name: "loop" }),
            Task::Body(body, Position::Tail),
            Task::CloseTarget,
            Task::CloseScope,
        ]);
        self.schedule(tasks);
    }

    pub(super) fn recur(&mut self, call: Call<'_>) {
        let target = self.stack.last().and_then(|state| state.targets.last()).cloned();
        let Some(target) = target.filter(|_| call.position == Position::Tail) else {
            self.problem(
                call.span,
                "`recur` isn't the last thing that its `loop` or function does",
                "carry what is left to do in an argument, such as a sum so far, or call the function by its name",
            );
            return self.emit(Op::Nil, call.span);
        };
        if target.locals.len() != call.arguments.len() {
            let (given, wanted) = (call.arguments.len(), target.locals.len());
            self.problem(
                call.span,
                format!(
                    "`recur` gives {given} value{} to a {} of {wanted}",
                    if given == 1 { "" } else { "s" },
                    target.name
                ),
                format!("give `recur` {wanted}, one for each name in the {}", target.name),
            );
            return self.emit(Op::Nil, call.span);
        }
        let mut tasks: Vec<Task> = call.arguments.iter().map(|id| Task::Value(*id, Position::Inner)).collect();
        tasks.extend(target.locals.iter().rev().map(|local| Task::Step(Op::Store(*local), call.span)));
        tasks.push(Task::Step(Op::Jump(target.label.0), call.span));
        self.schedule(tasks);
    }

    pub(super) fn for_form(&mut self, call: Call<'_>) {
        let is_for = self.name_of(&call).as_str() == "for";
        let Some((bindings, body)) = self.bindings(&call) else { return };
        if is_for && body.len() != 1 {
            let mut message = alloc::string::String::from("takes one form as its body");
            if body.len() > 1 && write!(message, ", and there are {}", body.len()).is_err() {
                return;
            }
            return self.malformed(&call, &message);
        }
        self.open_scope();
        let out = is_for.then(|| self.local());
        let mut tasks = Vec::new();
        if let Some(out) = out {
            tasks.extend([Task::Step(Op::Vector(0), call.span), Task::Step(Op::Store(out), call.span)]);
        }
        tasks.push(Task::Loop(LoopStep { bindings, body, out, span: call.span, next: None }));
        match out {
            Some(out) => tasks.extend([Task::Step(Op::Local(out), call.span), Task::Step(Op::ToList, call.span)]),
            None => tasks.push(Task::Step(Op::Nil, call.span)),
        }
        tasks.push(Task::CloseScope);
        self.schedule(tasks);
    }

    pub(super) fn loop_step(&mut self, mut step: LoopStep) {
        if step.bindings.is_empty() {
            return self.loop_body(&step);
        }
        let [pattern, value] = step.bindings.remove(0);
        let span = self.forms.span(pattern);
        let modifier = match self.forms.kind(pattern) {
            FormKind::Keyword(word) => Some(word.clone()),
            _ => None,
        };
        let Some(modifier) = modifier else { return self.loop_over(pattern, value, step) };
        let Some((next, end)) = step.next else {
            return self.problem(span, "a modifier comes before the first binding", "write `[x coll :when test]`");
        };
        match modifier.as_str() {
            "when" => self.schedule(vec![
                Task::Value(value, Position::Inner),
                Task::Step(Op::JumpIfFalse(next.0), span),
                Task::Loop(step),
            ]),
            "while" => self.schedule(vec![
                Task::Value(value, Position::Inner),
                Task::Step(Op::JumpIfFalse(end.0), span),
                Task::Loop(step),
            ]),
            "let" => {
                let pairs = self.forms.vector(value).map(|pairs| pairs.as_chunks::<2>().0.to_vec()).unwrap_or_default();
                let mut tasks = Vec::new();
                for [pattern, value] in pairs {
                    tasks.extend([Task::Value(value, Position::Inner), Task::Bind(pattern)]);
                }
                tasks.push(Task::Loop(step));
                self.schedule(tasks);
            }
            other => {
                let message = format!("`:{other}` isn't a modifier");
                self.problem(span, message, "the modifiers are `:when`, `:while` and `:let`");
            }
        }
    }

    fn loop_body(&mut self, step: &LoopStep) {
        let last = match step.out {
            Some(out) => Op::Append(out),
            None => Op::Pop,
        };
        self.schedule(vec![Task::Body(step.body.clone(), Position::Inner), Task::Step(last, step.span)]);
    }

    fn loop_over(&mut self, pattern: FormId, coll: FormId, mut step: LoopStep) {
        let span = self.forms.span(coll);
        let (sequence, position) = (self.local(), self.local());
        let (next, end) = (self.label(), self.label());
        step.next = Some((next, end));
        let zero = self.constant_step(Value::Int(0));
        self.schedule(vec![
            Task::Value(coll, Position::Inner),
            Task::Step(Op::Sequence, span),
            Task::Step(Op::Store(sequence), span),
            Task::Step(zero, span),
            Task::Step(Op::Store(position), span),
            Task::Place(next),
            Task::Step(Op::Next(sequence), span),
            Task::Step(Op::EndOfNext(end.0), span),
            Task::Bind(pattern),
            Task::Loop(step),
            Task::Step(Op::Jump(next.0), span),
            Task::Place(end),
        ]);
    }
}
