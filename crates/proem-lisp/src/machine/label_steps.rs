//! The steps of a function where values have labels.
//!
//! Each step takes labels off its operands, does what the step does without labels, and joins them to the result.

use super::{
    Machine,
    frame::{CodeFrame, Fiber},
    steps::{Exit, Next, has_stream, to_usize},
};
use crate::{
    builtins::{self, Row, Run},
    code::{Closure, Op},
    error::Fault,
    flow::{Branches, Take},
    limits::cost,
    value::{Flow, Value, deep_flow, take_all_labels},
};
use alloc::{sync::Arc, vec::Vec};
use core::mem;

/// The needs of one call's steps besides its operands.
struct Place<'a> {
    closure: &'a Arc<Closure>,
    ends: &'a Branches,
    base: usize,
    /// The first open form that is the call's own.
    forms: usize,
    /// The step at hand.
    at: usize,
}

impl Machine {
    /// As [`Machine::run_steps`], minding labels.
    pub(super) fn run_labelled_steps(&mut self, fiber: &mut Fiber, frame: &mut CodeFrame) -> Result<Exit, Fault> {
        let closure = &frame.closure;
        let ends = self.context.flow.ends(&closure.program, closure.function, frame.arity);
        let ops = closure.function().and_then(|function| function.arities.get(frame.arity));
        let ops = ops.map_or(&[][..], |arity| &arity.ops);
        let mut at = frame.at;
        let exit = loop {
            if self.context.meter.is_paused() || self.context.meter.is_count_due() {
                break Ok(Exit::Due);
            }
            // A branch ends where its arms meet, and its label with it. That is looked for before the step, because a
            // jump can land behind the end.
            if fiber.forms.len() > frame.forms
                && let Err(fault) = self.close_forms(fiber, frame.forms, at, frame.base)
            {
                break Err(fault);
            }
            let Some(op) = ops.get(at) else { break Err(Fault::eval("the function has no end")) };
            let place = Place { closure, ends: &ends, base: frame.base, forms: frame.forms, at };
            at = at.wrapping_add(1);
            self.context.flow.at_hand = Flow::NONE;
            if let Err(fault) = self.context.meter.work(cost::STEP) {
                break Err(fault);
            }
            let next = match *op {
                Op::Call(count) => break Ok(Exit::Call(count)),
                Op::Return => break self.close_function(fiber, frame.forms).map(|()| Exit::Returned),
                Op::Builtin { id, count } => match builtins::row(id) {
                    Some(row @ Row { run: Run::Native(native), .. }) if !has_stream(fiber, to_usize(count)) => {
                        self.labelled_native(fiber, (id, row, *native), to_usize(count)).map(|value| {
                            fiber.push(value);
                            Next::Step
                        })
                    }
                    _ => break Ok(Exit::Builtin { id, count }),
                },
                Op::Next(_) => self.labelled_next(fiber, &place, *op).map(|has_more| match ops.get(at) {
                    _ if has_more => Next::Skip,
                    Some(Op::EndOfNext(end)) => Next::Jump(*end),
                    _ => Next::Step,
                }),
                op => self.labelled_step(fiber, &place, op),
            };
            match next {
                Ok(Next::Step) => {}
                Ok(Next::Skip) => at = at.wrapping_add(1),
                Ok(Next::Jump(to)) => at = to_usize(to),
                Err(fault) => break Err(fault),
            }
        };
        frame.at = at;
        exit
    }

    fn labelled_step(&mut self, fiber: &mut Fiber, place: &Place<'_>, op: Op) -> Result<Next, Fault> {
        let local = |local: u32| place.base.wrapping_add(to_usize(local));
        match op {
            Op::Local(number) => fiber.push_local(local(number)),
            Op::TakeLocal(number) => fiber.take_local(local(number)),
            Op::Const(number) => {
                let value = constant(place, number);
                #[cfg(test)]
                let value = crate::flow::tests::label_all(value, &self.context.flow.of_constants);
                fiber.push(value);
            }
            Op::Jump(to) => return Ok(Next::Jump(to)),
            Op::JumpIfFalse(_) | Op::JumpIfFalseElsePop(_) | Op::JumpIfTrueElsePop(_) => {
                return Ok(self.labelled_test(fiber, place, op));
            }
            Op::Numbers { operation, id } => {
                if let [.., a, b] = fiber.stack.as_slice()
                    && let Some(result) = operation.apply(a, b)
                {
                    fiber.pop_many(2);
                    fiber.push(result);
                } else if let Some(row @ Row { run: Run::Native(native), .. }) = builtins::row(id) {
                    let value = self.labelled_native(fiber, (id, row, *native), 2)?;
                    fiber.push(value);
                }
            }
            Op::LocalField { local: number, key } => {
                let slot = fiber.stack.get(local(u32::from(number))).cloned().unwrap_or_default();
                fiber.push(slot);
                return self.on_spine(fiber, place, Op::Field(key));
            }
            Op::Field(_) | Op::Sequence | Op::ToList | Op::KeywordArguments | Op::Skip(_) | Op::Element(_) => {
                return self.on_spine(fiber, place, op);
            }
            Op::Append(number) => self.labelled_append(fiber, local(number))?,
            Op::Map(_) | Op::Set(_) => return self.with_keys(fiber, place, op),
            Op::Lookup(_) => return self.labelled_lookup(fiber, place, op),
            Op::NoClause => {
                let subject = fiber.stack.last().cloned().unwrap_or_default();
                self.context.flow.at_hand = self.deep(&subject)?;
                return self.step(fiber, place.closure, place.base, op);
            }
            Op::Input(key) => {
                let context = self.context.inputs.context.clone();
                fiber.push(context);
                return self.on_spine(fiber, place, Op::Field(key));
            }
            op => return self.labelled_memory_step(fiber, place, op),
        }
        Ok(Next::Step)
    }

    /// The steps that read and change the memory, and all others.
    fn labelled_memory_step(&mut self, fiber: &mut Fiber, place: &Place<'_>, op: Op) -> Result<Next, Fault> {
        match op {
            Op::Defined(_) | Op::Memory(_) => {
                let memory = self.context.flow.memory.clone();
                self.context.flow.at_hand = memory.clone();
                self.step(fiber, place.closure, place.base, op)?;
                self.join_top(fiber, &memory)?;
                Ok(Next::Step)
            }
            Op::DefineOnce(_) => {
                let memory = self.context.flow.memory.clone();
                self.open_form(fiber, place.forms, &memory, (place.ends.end_of(place.at), fiber.stack.len()));
                self.step(fiber, place.closure, place.base, op)
            }
            Op::Define(key) | Op::DefineFunction(key) => {
                let value = fiber.stack.last().cloned().unwrap_or_default();
                if matches!(op, Op::DefineFunction(_)) && !value.unlabelled().is_function() {
                    // The step itself finds the words for it.
                    self.context.flow.at_hand = value.flow().clone();
                    return self.step(fiber, place.closure, place.base, op);
                }
                self.remember(fiber, constant(place, key), value)?;
                Ok(Next::Step)
            }
            op => self.step(fiber, place.closure, place.base, op),
        }
    }

    /// Stores a value in the memory with the labels of what decided on it.
    fn remember(&mut self, fiber: &Fiber, key: Value, value: Value) -> Result<(), Fault> {
        let flow = &mut self.context.flow;
        let decided = flow.decided(&fiber.pc);
        // The presence of a name tells what was decided.
        flow.labels.join_into(&mut flow.memory, &fiber.pc);
        let value = self.join(value, &decided)?;
        self.context.remember(key, value)
    }

    fn join_top(&mut self, fiber: &mut Fiber, flow: &Flow) -> Result<(), Fault> {
        if flow.is_none() {
            return Ok(());
        }
        let value = fiber.pop();
        let value = self.join(value, flow)?;
        fiber.push(value);
        Ok(())
    }

    pub(super) fn join_all(&mut self, values: &mut [Value], flow: &Flow) -> Result<(), Fault> {
        for value in values {
            *value = self.join(mem::take(value), flow)?;
        }
        Ok(())
    }

    pub(super) fn deep(&mut self, value: &Value) -> Result<Flow, Fault> {
        deep_flow(value, &mut self.context.flow.labels, &mut self.context.meter)
    }

    /// Takes labels off an operand.
    pub(super) fn take(&mut self, value: Value, take: Take, joined: &mut Flow) -> Result<Value, Fault> {
        match take {
            Take::Keep => Ok(value),
            Take::Spine => {
                let (value, flow) = value.peel();
                self.context.flow.labels.join_into(joined, &flow);
                Ok(value)
            }
            Take::Deep => {
                let flow = self.deep(&value)?;
                if flow.is_none() {
                    return Ok(value);
                }
                self.context.flow.labels.join_into(joined, &flow);
                take_all_labels(value, &mut self.context.meter)
            }
        }
    }

    pub(super) fn take_in_place(&mut self, slot: &mut Value, take: Take, joined: &mut Flow) -> Result<(), Fault> {
        // Most operands are neither labelled nor collections.
        if take != Take::Keep && !(slot.flow().is_none() && is_atom(slot)) {
            *slot = self.take(mem::take(slot), take, joined)?;
        }
        Ok(())
    }

    /// A test decides on the form that it is in, whichever way it goes.
    fn labelled_test(&mut self, fiber: &mut Fiber, place: &Place<'_>, op: Op) -> Next {
        let test = fiber.stack.last().cloned().unwrap_or_default();
        let is_true = test.unlabelled().is_truthy();
        let operands = fiber.stack.len().saturating_sub(1);
        self.open_form(fiber, place.forms, test.flow(), (place.ends.end_of(place.at), operands));
        match op {
            Op::JumpIfFalseElsePop(to) if !is_true => return Next::Jump(to),
            Op::JumpIfTrueElsePop(to) if is_true => return Next::Jump(to),
            Op::JumpIfFalse(to) if !is_true => {
                fiber.pop();
                return Next::Jump(to);
            }
            _ => {}
        }
        fiber.pop();
        Next::Step
    }

    /// A step that takes the collection on top apart: the label of its spine is joined to what comes of it.
    fn on_spine(&mut self, fiber: &mut Fiber, place: &Place<'_>, op: Op) -> Result<Next, Fault> {
        let (mut value, mut flow) = fiber.pop().peel();
        if op == Op::KeywordArguments
            && let Value::List(list) = &value
        {
            // Every other element becomes a key.
            let mut elements: Vec<Value> = list.iter().cloned().collect();
            self.context.meter.elements(elements.len())?;
            let is_one = elements.len() == 1;
            for element in elements.iter_mut().step_by(2) {
                let take = if is_one { Take::Spine } else { Take::Deep };
                self.take_in_place(element, take, &mut flow)?;
            }
            if let Some(last) = elements.last_mut() {
                // A map of more arguments may be last.
                if matches!(last.unlabelled(), Value::Map(_)) {
                    self.take_in_place(last, Take::Spine, &mut flow)?;
                }
            }
            value = Value::list(elements);
        }
        self.context.flow.at_hand = flow.clone();
        fiber.push(value);
        let next = self.step(fiber, place.closure, place.base, op)?;
        self.join_top(fiber, &flow)?;
        Ok(next)
    }

    /// A step that makes a collection with keys, whose labels become that of the spine.
    fn with_keys(&mut self, fiber: &mut Fiber, place: &Place<'_>, op: Op) -> Result<Next, Fault> {
        let (count, step) = match op {
            Op::Map(count) => (to_usize(count).saturating_mul(2), 2),
            Op::Set(count) => (to_usize(count), 1),
            _ => (0, 1),
        };
        let first = fiber.stack.len().saturating_sub(count);
        let mut flow = Flow::NONE;
        for slot in fiber.stack.get_mut(first..).unwrap_or_default().iter_mut().step_by(step) {
            self.take_in_place(slot, Take::Deep, &mut flow)?;
        }
        self.context.flow.at_hand = flow.clone();
        self.step(fiber, place.closure, place.base, op)?;
        self.join_top(fiber, &flow)?;
        Ok(Next::Step)
    }

    fn labelled_append(&mut self, fiber: &mut Fiber, place: usize) -> Result<(), Fault> {
        let value = fiber.pop();
        let Some(slot) = fiber.stack.get_mut(place) else { return Ok(()) };
        let (out, flow) = mem::take(slot).peel();
        let Value::Vector(mut out) = out else { return Ok(()) };
        Arc::make_mut(&mut out).push(value, &mut self.context.meter)?;
        *slot = self.join(Value::Vector(out), &flow)?;
        Ok(())
    }

    /// Whether a key is there decides on the step that gives its default.
    fn labelled_lookup(&mut self, fiber: &mut Fiber, place: &Place<'_>, op: Op) -> Result<Next, Fault> {
        let mut flow = Flow::NONE;
        let (key, coll) = (fiber.pop(), fiber.pop());
        let key = self.take(key, Take::Deep, &mut flow)?;
        let coll = self.take(coll, Take::Spine, &mut flow)?;
        self.context.flow.at_hand = flow.clone();
        self.open_form(fiber, place.forms, &flow, (place.ends.end_of(place.at), fiber.stack.len()));
        fiber.push(coll);
        fiber.push(key);
        self.step(fiber, place.closure, place.base, op)
    }

    /// As [`Machine::next_element`]: whether there is one more decides on the loop.
    fn labelled_next(&mut self, fiber: &mut Fiber, place: &Place<'_>, op: Op) -> Result<bool, Fault> {
        let Op::Next(local) = op else { return Ok(false) };
        let slot = place.base.wrapping_add(to_usize(local));
        let behind = slot.saturating_add(1);
        let sequence = fiber.stack.get(slot).cloned().unwrap_or_default();
        let position = fiber.stack.get(behind).cloned().unwrap_or_default();
        let mut flow = sequence.flow().clone();
        self.context.flow.labels.join_into(&mut flow, position.flow());
        self.context.flow.at_hand = flow.clone();
        self.open_form(fiber, place.forms, &flow, (place.ends.end_of(place.at), fiber.stack.len()));
        let Value::Int(index) = position.unlabelled() else { return Ok(false) };
        let index = usize::try_from(*index).unwrap_or(usize::MAX);
        let step = builtins::step(sequence.unlabelled(), index, &mut self.context.meter)?;
        let Some((next, element)) = step else { return Ok(false) };
        if let Some(position) = fiber.stack.get_mut(behind) {
            *position = Value::from(next);
        }
        let element = self.join(element, &flow)?;
        fiber.push(element);
        Ok(true)
    }
}

/// Whether a value is never a collection or function, so that it has no labels inside.
const fn is_atom(value: &Value) -> bool {
    matches!(
        value,
        Value::Nil
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Keyword(_)
            | Value::Symbol(_)
    )
}

fn constant(place: &Place<'_>, number: u32) -> Value {
    place.closure.program.constants.get(to_usize(number)).cloned().unwrap_or_default()
}
