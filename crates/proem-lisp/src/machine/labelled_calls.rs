//! Calls where values have labels: of functions of the table, of what looks things up, and what their labels decide.

use super::{
    Machine,
    call::{Called, FiberStop},
    frame::Fiber,
    steps::has_stream,
};
use crate::{
    builtins::{self, Control, EachResults, Native, Row, Run, lookup, stream_version},
    context::Args,
    error::{Fault, Reason},
    flow::{Reach, Results, Take, Takes, reach_of_value},
    limits::cost,
    value::{BuiltinId, Flow, Value, deep_flow, shown_flow},
};
use alloc::{format, sync::Arc, vec::Vec};
use core::mem;

impl Machine {
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
            // A path decides which element is reached, so all of its labels count, and of the collection only those
            // on the way.
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
                    // Each later `memory-get` tells whether a key was stored, so the memory as a whole takes the label
                    // of the key and of the branch.
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

    /// A value that is put into a map or set becomes a key, so its labels become those of the spine.
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
                // The collection is the argument of a keyword, and in all other cases the function.
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
                let spine = args.get(1).map_or(Flow::NONE, |args| args.flow().clone());
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
                // A value that is passed on was in these collections.
                match &mut control {
                    Control::Call { args, .. } => self.join_all(args, &flow)?,
                    Control::Parallel(branches) => {
                        branches.iter_mut().try_for_each(|(_, args)| self.join_all(args, &flow))?;
                    }
                    // The choice of a tool's arguments is joined to each of them.
                    Control::Tool { args, .. } => *args = self.join(mem::take(args), &spine)?,
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

    /// The reason that a fiber stopped, with the labels of the decision on it.
    pub(super) fn label_stop(&mut self, fiber: &Fiber, stop: FiberStop) -> Result<FiberStop, Fault> {
        let decided = self.context.flow.decided(&fiber.pc);
        // How a program ends is seen, as what it prints is.
        if matches!(stop, FiberStop::Return(_) | FiberStop::Fail(_)) && fiber.pc.is_secret() {
            return Err(Fault::new(Reason::FlowDenied, "something secret decided whether the program ends here")
                .help("end it outside of branches on secrets: `(return (if test a b))`"));
        }
        Ok(match stop {
            FiberStop::Return(value) => FiberStop::Return(self.join(value, &decided)?),
            FiberStop::Fail(value) => FiberStop::Fail(self.join(value, &decided)?),
            stop => stop,
        })
    }
}

/// The message for a problem that secrets had a part in.
pub(super) fn hidden_fault(fault: &Fault) -> Fault {
    // A refusal by labels is worded without any value.
    if fault.reason() == Reason::FlowDenied {
        return fault.clone();
    }
    Fault::new(fault.reason(), format!("{}: a problem with a secret", crate::print::HIDDEN))
        .help("test what is secret before you use it; a second hidden problem ends the run")
}
