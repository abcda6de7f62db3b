//! The steps of a function, the calls of the table and what looks things up, where values have labels.
//!
//! Each step takes labels off its operands, does what the step does without labels, and joins them to the result.

use super::{
    Machine,
    call::{Called, FiberStop},
    frame::{CodeFrame, Fiber},
    steps::{Exit, Next, has_stream, to_usize},
};
use crate::{
    builtins::{self, Control, EachResults, Native, Row, Run, lookup, stream_version},
    code::{Closure, Op},
    context::Args,
    error::{Fault, Reason},
    flow::{Branches, Reach, Results, Take, Takes, reach_of_value},
    limits::cost,
    value::{BuiltinId, Flow, Value, deep_flow, shown_flow, take_all_labels},
};
use alloc::{format, sync::Arc, vec::Vec};
use core::mem;

/// What the steps of one call need besides its operands.
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
            Op::Map(count) => {
                let first = fiber.stack.len().saturating_sub(to_usize(count).saturating_mul(2));
                return self.with_keys(fiber, place, op, first, 2);
            }
            Op::Set(count) => {
                let first = fiber.stack.len().saturating_sub(to_usize(count));
                return self.with_keys(fiber, place, op, first, 1);
            }
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
                self.open_form(fiber, place.forms, &memory, place.ends.end_of(place.at), fiber.stack.len());
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
        // Which names there are tells what was decided.
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

    fn join_all(&mut self, values: &mut [Value], flow: &Flow) -> Result<(), Fault> {
        for value in values {
            *value = self.join(mem::take(value), flow)?;
        }
        Ok(())
    }

    pub(super) fn deep(&mut self, value: &Value) -> Result<Flow, Fault> {
        deep_flow(value, &mut self.context.flow.labels, &mut self.context.meter)
    }

    /// Takes labels off an operand.
    fn take(&mut self, value: Value, take: Take, joined: &mut Flow) -> Result<Value, Fault> {
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

    fn take_in_place(&mut self, slot: &mut Value, take: Take, joined: &mut Flow) -> Result<(), Fault> {
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
        self.open_form(fiber, place.forms, test.flow(), place.ends.end_of(place.at), operands);
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
                // A map of more arguments may stand last.
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

    /// A step that makes a collection with keys of every `step`th operand from `first` on.
    fn with_keys(
        &mut self,
        fiber: &mut Fiber,
        place: &Place<'_>,
        op: Op,
        first: usize,
        step: usize,
    ) -> Result<Next, Fault> {
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
        self.open_form(fiber, place.forms, &flow, place.ends.end_of(place.at), fiber.stack.len());
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
        self.open_form(fiber, place.forms, &flow, place.ends.end_of(place.at), fiber.stack.len());
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

    /// Calls a function in Rust with the top operands, which it takes away.
    pub(super) fn labelled_native(
        &mut self,
        fiber: &mut Fiber,
        (id, row, native): (BuiltinId, &Row, Native),
        count: usize,
    ) -> Result<Value, Fault> {
        let mut args = fiber.pop_many(count);
        let takes = self.context.flow.rule(id).takes;
        let mut flow = self.take_labels(fiber, &mut args, takes)?;
        self.context.flow.at_hand = flow.clone();
        if takes == Takes::Path {
            let value = self.value_at(args, &mut flow)?;
            return self.join(value, &flow);
        }
        self.context.flow.pc = fiber.pc.clone();
        let value = native(&mut self.context, &mut Args(&mut args)).map_err(|fault| row.explain(fault))?;
        self.join(value, &flow)
    }

    /// Takes labels off arguments as a rule says, and does what else it says.
    pub(super) fn take_labels(&mut self, fiber: &Fiber, args: &mut [Value], takes: Takes) -> Result<Flow, Fault> {
        let mut flow = Flow::NONE;
        match takes {
            Takes::Listed(first, rest) => {
                let turns = first.iter().chain(rest.iter().cycle()).copied();
                for (slot, take) in args.iter_mut().zip(turns) {
                    self.take_in_place(slot, take, &mut flow)?;
                }
            }
            Takes::Last(before, last) => {
                if let Some((end, others)) = args.split_last_mut() {
                    for slot in others {
                        self.take_in_place(slot, before, &mut flow)?;
                    }
                    self.take_in_place(end, last, &mut flow)?;
                }
            }
            Takes::Conj => {
                if let Some((coll, others)) = args.split_first_mut() {
                    self.take_in_place(coll, Take::Spine, &mut flow)?;
                    for slot in others {
                        self.take_entry(coll, slot, &mut flow)?;
                    }
                }
            }
            Takes::Into => {
                if let [to, from] = args {
                    self.take_in_place(to, Take::Spine, &mut flow)?;
                    self.take_in_place(from, Take::Spine, &mut flow)?;
                    self.take_entries(to, from, &mut flow)?;
                }
            }
            Takes::Path => {
                if let [coll, path, ..] = args {
                    self.take_in_place(coll, Take::Spine, &mut flow)?;
                    self.take_in_place(path, Take::Deep, &mut flow)?;
                }
            }
            Takes::MemoryGet => {
                if let Some(key) = args.first_mut() {
                    self.take_in_place(key, Take::Deep, &mut flow)?;
                }
                let state = &mut self.context.flow;
                state.labels.join_into(&mut flow, &state.memory);
            }
            Takes::MemoryPut => {
                if let [key, value] = args {
                    self.take_in_place(key, Take::Deep, &mut flow)?;
                    let state = &mut self.context.flow;
                    state.labels.join_into(&mut state.memory, &flow);
                    state.labels.join_into(&mut state.memory, &fiber.pc);
                    let mut decided = state.decided(&fiber.pc);
                    state.labels.join_into(&mut decided, &flow);
                    *value = self.join(mem::take(value), &decided)?;
                }
            }
            Takes::Print | Takes::PrintTemplate => self.check_print(fiber, args, takes)?,
            Takes::Budget => {
                let state = &mut self.context.flow;
                flow = state.decided(&fiber.pc);
            }
        }
        Ok(flow)
    }

    /// What is put into a map or set becomes a key, so its labels become those of the spine.
    fn take_entry(&mut self, coll: &Value, slot: &mut Value, flow: &mut Flow) -> Result<(), Fault> {
        match coll {
            Value::Set(_) => self.take_in_place(slot, Take::Deep, flow),
            Value::Map(_) => {
                self.take_in_place(slot, Take::Spine, flow)?;
                if let Value::Vector(pair) = slot
                    && let (Some(key), Some(value), 2) = (pair.get(0), pair.get(1), pair.len())
                {
                    let key = self.take(key.clone(), Take::Deep, flow)?;
                    *slot = Value::vector(alloc::vec![key, value.clone()]);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_entries(&mut self, to: &Value, from: &mut Value, flow: &mut Flow) -> Result<(), Fault> {
        if !matches!(to, Value::Map(_) | Value::Set(_)) || !matches!(from, Value::Vector(_) | Value::List(_)) {
            return Ok(());
        }
        let mut elements: Vec<Value> = from.elements().cloned().collect();
        self.context.meter.elements(elements.len())?;
        self.context.meter.allocate(elements.len().saturating_mul(cost::SLOT))?;
        for element in &mut elements {
            self.take_entry(to, element, flow)?;
        }
        *from = Value::vector(elements);
        Ok(())
    }

    /// The value at the end of a path: each collection on the way counts by its spine.
    fn value_at(&mut self, args: Vec<Value>, flow: &mut Flow) -> Result<Value, Fault> {
        let mut args = args.into_iter();
        let (Some(mut value), Some(path)) = (args.next(), args.next()) else { return Ok(Value::Nil) };
        let path = builtins::checked_path(path)?;
        let path = builtins::elements_of(path, &mut self.context.meter)?;
        for key in path {
            value = self.take(value, Take::Spine, flow)?;
            match lookup(&value, &key, &mut self.context.meter)? {
                Some(found) => value = found,
                None => return Ok(args.next().unwrap_or_default()),
            }
        }
        Ok(value)
    }

    /// Printing is seen, so nothing secret may decide on it.
    fn check_print(&mut self, fiber: &Fiber, args: &mut [Value], takes: Takes) -> Result<(), Fault> {
        let decided = self.context.flow.decided(&fiber.pc);
        if decided.is_secret() {
            return Err(Fault::new(Reason::FlowDenied, "something secret decided whether this is printed")
                .help("print outside of branches on secrets, and before them"));
        }
        let (labels, meter) = (&mut self.context.flow.labels, &mut self.context.meter);
        let mut flow = decided;
        for value in &mut *args {
            let shown = match takes {
                Takes::PrintTemplate => deep_flow(value, labels, meter)?,
                _ => shown_flow(value, labels, meter)?,
            };
            labels.join_into(&mut flow, &shown);
        }
        if flow.is_secret() {
            return Err(Fault::new(Reason::FlowDenied, "a template can't show a secret")
                .help("print it with `println`, which shows `[Hidden]` in its place"));
        }
        labels.join_into(&mut self.context.flow.output, &flow);
        if takes == Takes::PrintTemplate {
            let mut taken = Flow::NONE;
            for value in args {
                self.take_in_place(value, Take::Deep, &mut taken)?;
            }
        }
        Ok(())
    }

    /// As [`Machine::call`]: a function that was chosen by its label runs under it.
    pub(super) fn call_labelled(&mut self, fiber: &mut Fiber, function: Value, count: usize) -> Result<Called, Fault> {
        let (function, flow) = function.peel();
        self.context.flow.at_hand = flow.clone();
        if flow.is_none() {
            return self.call_peeled(fiber, &function, count);
        }
        self.begin_scope(fiber, &flow, Reach::CALLS);
        let called = self.call_peeled(fiber, &function, count)?;
        self.end_call(fiber, called)
    }

    fn call_peeled(&mut self, fiber: &mut Fiber, function: &Value, count: usize) -> Result<Called, Fault> {
        match function {
            Value::Closure(closure) => {
                self.enter(fiber, Arc::clone(closure), count)?;
                Ok(Called::Frame)
            }
            Value::Builtin(id) => self.call_builtin(fiber, id.get(), count),
            function => {
                let mut args = fiber.pop_many(count);
                let mut flow = Flow::NONE;
                // What is looked up is in the argument of a keyword, and in the function for all else.
                let take = if function.as_str().is_some() { Take::Spine } else { Take::Deep };
                if let Some(first) = args.first_mut() {
                    self.take_in_place(first, take, &mut flow)?;
                }
                self.context.flow.labels.join_into(&mut self.context.flow.at_hand, &flow);
                let value = self.look_up(function, &args)?;
                self.join(value, &flow).map(Called::Value)
            }
        }
    }

    /// As the rest of [`Machine::call_builtin`], once the number of arguments is checked.
    pub(super) fn start_labelled(
        &mut self,
        fiber: &mut Fiber,
        (id, row): (BuiltinId, &'static Row),
        count: usize,
    ) -> Result<Called, Fault> {
        let base = fiber.stack.len().saturating_sub(count);
        if has_stream(fiber, count) {
            let args: Vec<Value> =
                fiber.stack.get(base..).unwrap_or_default().iter().map(Value::unlabelled).cloned().collect();
            if let Some(id) = stream_version(row.name, &args)
                && let Some(Run::Lisp(source)) = builtins::row(id).map(|row| &row.run)
            {
                let closure = self.prelude_function(id, source)?;
                self.enter(fiber, closure, count)?;
                return Ok(Called::Frame);
            }
        }
        let takes = self.context.flow.rule(id).takes;
        match &row.run {
            Run::Native(native) => self.labelled_native(fiber, (id, row, *native), count).map(Called::Value),
            Run::Lisp(source) => {
                let closure = self.prelude_function(id, source)?;
                self.enter(fiber, closure, count)?;
                Ok(Called::Frame)
            }
            Run::Control(control) => {
                let mut args = fiber.pop_many(count);
                let flow = self.take_labels(fiber, &mut args, takes)?;
                // Of these only `pmap` calls a function once for each element.
                let reach = match args.first() {
                    Some(function) if row.name == "pmap" => reach_of_value(function),
                    _ => Reach::NOTHING,
                };
                self.begin_scope(fiber, &flow, reach);
                self.context.flow.at_hand = flow.clone();
                let mut control = control(&mut self.context, &mut Args(&mut args))?;
                drop(args);
                // What is passed on was in these collections.
                match &mut control {
                    Control::Call { args, .. } => self.join_all(args, &flow)?,
                    Control::Parallel(branches) => {
                        branches.iter_mut().try_for_each(|(_, args)| self.join_all(args, &flow))?;
                    }
                    _ => {}
                }
                let called = self.obey(fiber, control)?;
                self.end_call(fiber, called)
            }
            Run::Each { plan, .. } => {
                let mut args = fiber.pop_many(count);
                let flow = self.take_labels(fiber, &mut args, takes)?;
                let plan = plan(&args);
                self.begin_scope(fiber, &flow, reach_of_value(&plan.function));
                self.context.flow.at_hand = flow;
                self.begin_each(fiber, (id, row), args, plan)
            }
            Run::Fold(plan) => {
                let mut args = fiber.pop_many(count);
                let mut flow = self.take_labels(fiber, &mut args, takes)?;
                if let Some(function) = args.first_mut() {
                    self.take_in_place(function, Take::Spine, &mut flow)?;
                }
                let plan = plan(&args);
                drop(args);
                self.begin_scope(fiber, &flow, reach_of_value(&plan.function));
                self.context.flow.at_hand = flow;
                let called = self.begin_fold(fiber, row.name, plan)?;
                self.end_call(fiber, called)
            }
        }
    }

    /// Takes labels off the results of a function that was called for elements. Their join belongs to what comes of them.
    pub(super) fn take_results(&mut self, id: BuiltinId, results: &mut EachResults) -> Result<Flow, Fault> {
        let take = match self.context.flow.rule(id).results {
            Results::Elements => return Ok(Flow::NONE),
            Results::Tested => Take::Spine,
            Results::Keys => Take::Deep,
        };
        let mut flow = Flow::NONE;
        self.context.meter.elements(results.results.len())?;
        for result in &mut results.results {
            self.take_in_place(result, take, &mut flow)?;
        }
        self.context.flow.at_hand = flow.clone();
        Ok(flow)
    }

    /// A result that decides whether a function is called for more elements.
    pub(super) fn decide_by(&mut self, fiber: &mut Fiber, function: &Value, result: &Value) {
        let flow = result.flow().clone();
        if !flow.is_none() {
            self.context.flow.decide(&flow, reach_of_value(function));
            self.join_pc(fiber, &flow);
        }
    }

    /// What a fiber stopped for, with the labels of what decided on it.
    pub(super) fn label_stop(&mut self, fiber: &Fiber, stop: FiberStop) -> Result<FiberStop, Fault> {
        let decided = self.context.flow.decided(&fiber.pc);
        Ok(match stop {
            FiberStop::Return(value) => FiberStop::Return(self.join(value, &decided)?),
            FiberStop::Fail(value) => FiberStop::Fail(self.join(value, &decided)?),
            stop => stop,
        })
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

/// The message for a problem that secrets had a part in.
pub(super) fn hidden_fault(fault: &Fault) -> Fault {
    // What labels forbid is said in words that hold no value.
    if fault.reason() == Reason::FlowDenied {
        return fault.clone();
    }
    Fault::new(fault.reason(), format!("{}: a problem with a secret", crate::print::HIDDEN))
        .help("test what is secret before you use it; a second hidden problem ends the run")
}
