//! Steps, labels, constants and locals of the function at hand.

use super::{FormId, FormKind, FunctionState, Label, Op, Resolver, Text, Value, to_u32, to_usize};
use crate::{
    builtins,
    code::NumberOp,
    limits::Meter,
    pattern::Regexp,
    value::{Map, Set},
};
use alloc::{sync::Arc, vec::Vec};
use core::mem;
use proem_text::Span;

impl Resolver {
    pub(super) fn state(&mut self) -> Option<&mut FunctionState> {
        self.stack.last_mut()
    }

    pub(super) fn emit(&mut self, op: Op, span: Span) {
        let op = match op {
            Op::Builtin { id, count: 2 } => {
                let operation = builtins::row(id).and_then(|row| NumberOp::of(row.name));
                operation.map_or(op, |operation| Op::Numbers { operation, id })
            }
            op => op,
        };
        if let Some(value) = self.folded(op) {
            return self.replace_constants(op, value, span);
        }
        let Some(state) = self.state() else { return };
        // A jump to here would miss what is joined with the step before.
        let is_reached = state.last_placed == state.arity.ops.len();
        if let (Op::Field(key), Some(last @ Op::Local(_)), false) = (op, state.arity.ops.last_mut(), is_reached)
            && let Op::Local(local) = *last
            && let Ok(local) = u16::try_from(local)
        {
            *last = Op::LocalField { local, key };
            if let Some(place) = state.arity.spans.last_mut() {
                *place = span;
            }
            return;
        }
        state.arity.ops.push(op);
        state.arity.spans.push(span);
    }

    /// The result of a step that computes with the constants right before it.
    fn folded(&self, op: Op) -> Option<Value> {
        let count = constant_operands(op)?;
        let state = self.stack.last()?;
        let first = state.arity.ops.len().checked_sub(count)?;
        // A jump into the middle would find operands missing.
        if state.last_placed > first {
            return None;
        }
        let operation = match op {
            Op::Numbers { operation, .. } => operation,
            Op::Builtin { id, .. } => NumberOp::of(builtins::row(id)?.name).filter(|operation| operation.is_sum())?,
            _ => return None,
        };
        let mut values = state.arity.ops.get(first..)?.iter().map(|op| match op {
            Op::Const(number) => self.constants.get(to_usize(*number)),
            _ => None,
        });
        let start = values.next()??.clone();
        values.try_fold(start, |result, value| operation.apply(&result, value?))
    }

    fn replace_constants(&mut self, op: Op, value: Value, span: Span) {
        if let (Some(count), Some(state)) = (constant_operands(op), self.state()) {
            let first = state.arity.ops.len().saturating_sub(count);
            state.arity.ops.truncate(first);
            state.arity.spans.truncate(first);
        }
        self.push_constant(value, span);
    }

    pub(super) fn label(&mut self) -> Label {
        let Some(state) = self.state() else { return Label(0) };
        state.labels.push(u32::MAX);
        Label(to_u32(state.labels.len().saturating_sub(1)))
    }

    pub(super) fn place(&mut self, label: Label) {
        if let Some(state) = self.state() {
            state.last_placed = state.arity.ops.len();
            let at = to_u32(state.last_placed);
            if let Some(place) = state.labels.get_mut(to_usize(label.0)) {
                *place = at;
            }
        }
    }

    /// A local that nothing uses.
    pub(super) fn local(&mut self) -> u32 {
        let Some(state) = self.state() else { return 0 };
        let local = state.next_local;
        state.next_local = local.saturating_add(1);
        state.arity.locals = state.arity.locals.max(to_usize(state.next_local));
        local
    }

    pub(super) fn declare(&mut self, name: Text, local: u32) {
        if let Some(state) = self.state() {
            state.scope.push((name, local));
        }
    }

    pub(super) fn open_scope(&mut self) {
        if let Some(state) = self.state() {
            state.marks.push((state.scope.len(), state.next_local));
        }
    }

    pub(super) fn close_scope(&mut self) {
        if let Some(state) = self.state()
            && let Some((scope, next_local)) = state.marks.pop()
        {
            state.scope.truncate(scope);
            state.next_local = next_local;
        }
    }

    /// The number of a constant. Atoms that are used often have one number.
    pub(super) fn constant(&mut self, value: Value) -> u32 {
        let is_name = matches!(value, Value::Keyword(_) | Value::Builtin(_) | Value::Int(_));
        let known = is_name.then(|| self.constants.iter().take(64).position(|other| *other == value)).flatten();
        to_u32(known.unwrap_or_else(|| {
            self.constants.push(value);
            self.constants.len().saturating_sub(1)
        }))
    }

    pub(super) fn push_constant(&mut self, value: Value, span: Span) {
        let op = if value.is_nil() { Op::Nil } else { Op::Const(self.constant(value)) };
        self.emit(op, span);
    }

    /// Labels become the numbers of steps.
    pub(super) fn patch_labels(state: &mut FunctionState) {
        let labels = mem::take(&mut state.labels);
        let find = |label: &mut u32| {
            if let Some(at) = labels.get(to_usize(*label)) {
                *label = *at;
            }
        };
        for op in &mut state.arity.ops {
            match op {
                Op::Jump(label)
                | Op::JumpIfFalse(label)
                | Op::JumpIfFalseElsePop(label)
                | Op::JumpIfTrueElsePop(label)
                | Op::EndOfNext(label)
                | Op::Lookup(label) => find(label),
                _ => {}
            }
        }
    }

    /// The value of a form as data: what quoting it gives.
    pub(super) fn literal(&mut self, id: FormId) -> Value {
        let mut meter = self.meter.clone();
        let value = self.literal_within(id, &mut meter);
        self.meter = meter;
        value
    }

    fn literal_within(&mut self, id: FormId, meter: &mut Meter) -> Value {
        let mut open: Vec<(FormId, Vec<Value>)> = alloc::vec![(id, Vec::new())];
        loop {
            let Some((id, done)) = open.last_mut() else { return Value::Nil };
            let id = *id;
            if let Some(child) = self.forms.children(id).get(done.len()) {
                open.push((*child, Vec::new()));
                continue;
            }
            let Some((id, children)) = open.pop() else { return Value::Nil };
            let value = self.literal_of(id, children, meter);
            match open.last_mut() {
                Some((_, siblings)) => siblings.push(value),
                None => return value,
            }
        }
    }

    fn literal_of(&mut self, id: FormId, children: Vec<Value>, meter: &mut Meter) -> Value {
        match self.forms.kind(id) {
            FormKind::Nil => Value::Nil,
            FormKind::Bool(value) => Value::bool(*value),
            FormKind::Int(value) => Value::Int(*value),
            FormKind::Big(value) => Value::Big(Arc::clone(value)),
            FormKind::Float(value) => Value::float(*value),
            FormKind::Text(text) => Value::Text(text.clone()),
            FormKind::Keyword(name) => Value::Keyword(name.clone()),
            FormKind::Symbol(name) => Value::Symbol(name.clone()),
            FormKind::List(_) | FormKind::ShortFunction { .. } => Value::list(children),
            FormKind::Vector(_) => Value::vector(children),
            FormKind::Map(_) => self.literal_map(id, children, meter),
            FormKind::Set(_) => {
                let mut set = Set::default();
                for element in children {
                    if let Err(fault) = set.0.insert(element, Value::Nil, meter) {
                        self.problems.push(fault.at(self.forms.span(id)));
                        break;
                    }
                }
                Value::from(set)
            }
            FormKind::Regex(text) => match Regexp::compile(text.as_str(), meter) {
                Ok(pattern) => Value::Regex(Arc::new(pattern)),
                Err(fault) => {
                    let mut problem = fault.at(self.forms.span(id));
                    problem.reason = crate::Reason::AnalysisError;
                    self.problems.push(problem);
                    Value::Nil
                }
            },
        }
    }

    fn literal_map(&mut self, id: FormId, children: Vec<Value>, meter: &mut Meter) -> Value {
        let mut map = Map::default();
        let mut children = children.into_iter();
        while let (Some(key), Some(value)) = (children.next(), children.next()) {
            if let Err(fault) = map.insert(key, value, meter) {
                self.problems.push(fault.at(self.forms.span(id)));
                break;
            }
        }
        Value::from(map)
    }
}

/// How many operands a step takes that could be computed before the program runs.
fn constant_operands(op: Op) -> Option<usize> {
    match op {
        Op::Numbers { .. } => Some(2),
        Op::Builtin { count, .. } if count > 2 => Some(to_usize(count)),
        _ => None,
    }
}
