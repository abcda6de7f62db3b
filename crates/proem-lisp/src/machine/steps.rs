//! The steps of a function.

use super::{
    Machine,
    call::{Called, FiberStop},
    frame::{CodeFrame, Fiber, Frame},
};
use crate::{
    builtins::{self, Row, Run, element, lookup, skip, to_sequence},
    code::{Capture, Closure, Op},
    context::Args,
    error::{Fault, Reason},
    limits::{Meter, cost},
    resolve::data_hides_function,
    value::{BuiltinId, Chunk, Map, Set, Value},
};
use alloc::{format, sync::Arc, vec::Vec};

/// The place where a function goes on after a step.
pub(super) enum Next {
    /// With the step behind it.
    Step,
    /// With the one after that.
    Skip,
    /// With this one.
    Jump(u32),
}

/// Why a function's steps stop.
pub(super) enum Exit {
    /// The value is on top.
    Returned,
    /// The fuel of the run is used, or what is alive is to be counted.
    Due,
    /// A call that may need a frame. The function is below its arguments.
    Call(u32),
    Builtin {
        id: BuiltinId,
        count: u32,
    },
}

pub(super) fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Machine {
    /// Runs a function until it returns, calls another, or the fuel of the run is used.
    pub(super) fn run_code(&mut self, fiber: &mut Fiber, mut frame: CodeFrame) -> Result<Option<FiberStop>, Fault> {
        let base = frame.base;
        let exit = self.run_steps(fiber, &mut frame);
        if let Ok(Exit::Returned) = exit {
            let value = fiber.pop();
            fiber.stack.truncate(base);
            fiber.push(value);
            return Ok(None);
        }
        fiber.frames.push(Frame::Code(frame));
        self.leave_steps(fiber, exit)
    }

    /// Does what the steps of the frame on top stopped for.
    pub(super) fn leave_steps(
        &mut self,
        fiber: &mut Fiber,
        exit: Result<Exit, Fault>,
    ) -> Result<Option<FiberStop>, Fault> {
        let called = match exit? {
            Exit::Returned => return Ok(None),
            Exit::Due => {
                self.count_if_due(fiber)?;
                return Ok(None);
            }
            Exit::Call(count) => {
                let count = to_usize(count);
                let place = fiber.stack.len().saturating_sub(count).saturating_sub(1);
                if place >= fiber.stack.len() {
                    return Err(Fault::eval("there is nothing to call"));
                }
                let function = fiber.stack.remove(place);
                self.call(fiber, &function, count)?
            }
            Exit::Builtin { id, count } => self.call_builtin(fiber, id, to_usize(count))?,
        };
        match called {
            Called::Value(value) => fiber.push(value),
            Called::Frame => {}
            Called::Stop(stop) => return Ok(Some(stop)),
        }
        Ok(None)
    }

    /// Runs the steps of a function until it returns, calls another, or the fuel of the run is used.
    #[inline]
    pub(super) fn run_steps(&mut self, fiber: &mut Fiber, frame: &mut CodeFrame) -> Result<Exit, Fault> {
        if self.context.flow.is_on { self.run_labelled_steps(fiber, frame) } else { self.run_open_steps(fiber, frame) }
    }

    /// The most frequent steps are done here. Everything else has a function of its own.
    fn run_open_steps(&mut self, fiber: &mut Fiber, frame: &mut CodeFrame) -> Result<Exit, Fault> {
        let closure = &frame.closure;
        let base = frame.base;
        let mut at = frame.at;
        let ops = closure.function().and_then(|function| function.arities.get(frame.arity));
        let ops = ops.map_or(&[][..], |arity| &arity.ops);
        let exit = loop {
            // Before the step and not behind it: a machine that stops here has done all of the step before and none of
            // the next, so its state can be stored.
            if self.context.meter.is_paused() || self.context.meter.is_count_due() {
                break Ok(Exit::Due);
            }
            let Some(op) = ops.get(at) else { break Err(Fault::eval("the function has no end")) };
            at = at.wrapping_add(1);
            if let Err(fault) = self.context.meter.work(cost::STEP) {
                break Err(fault);
            }
            let next = match *op {
                Op::Local(local) => {
                    fiber.push_local(base.wrapping_add(to_usize(local)));
                    continue;
                }
                Op::TakeLocal(local) => {
                    fiber.take_local(base.wrapping_add(to_usize(local)));
                    continue;
                }
                Op::Const(number) => {
                    let value = closure.program.constants.get(to_usize(number));
                    fiber.push(value.map_or(Value::Nil, Value::clone));
                    continue;
                }
                Op::Jump(to) => {
                    at = to_usize(to);
                    continue;
                }
                Op::JumpIfFalse(to) => {
                    if !fiber.pop().is_truthy() {
                        at = to_usize(to);
                    }
                    continue;
                }
                // Two numbers need no call. All else falls through to the builtin, whose error has the right words.
                Op::Numbers { operation, id } => {
                    if let [.., a, b] = fiber.stack.as_slice()
                        && let Some(result) = operation.apply(a, b)
                    {
                        fiber.stack.pop();
                        if let Some(top) = fiber.stack.last_mut() {
                            *top = result;
                        }
                        continue;
                    }
                    self.native(fiber, id, 2)
                }
                Op::Builtin { id, count } => match builtins::row(id) {
                    Some(Row { run: Run::Native(_), .. }) if !has_stream(fiber, to_usize(count)) => {
                        self.native(fiber, id, to_usize(count))
                    }
                    _ => break Ok(Exit::Builtin { id, count }),
                },
                Op::Call(count) => break Ok(Exit::Call(count)),
                Op::Return => break Ok(Exit::Returned),
                Op::LocalField { local, key } => {
                    self.local_field(fiber, closure, base.wrapping_add(usize::from(local)), key)
                }
                Op::Next(local) => match self.next_element(fiber, base.wrapping_add(to_usize(local))) {
                    Ok(true) => Ok(Next::Skip),
                    Ok(false) => match ops.get(at) {
                        Some(Op::EndOfNext(end)) => Ok(Next::Jump(*end)),
                        _ => Ok(Next::Step),
                    },
                    Err(fault) => Err(fault),
                },
                op => self.step(fiber, closure, base, op),
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

    /// Calls a builtin in Rust, whose number of arguments analysis has checked.
    #[inline]
    fn native(&mut self, fiber: &mut Fiber, id: BuiltinId, count: usize) -> Result<Next, Fault> {
        let base = fiber.stack.len().saturating_sub(count);
        if let Some(row @ Row { run: Run::Native(native), .. }) = builtins::row(id) {
            let mut args = Args(fiber.stack.get_mut(base..).unwrap_or_default());
            let value = native(&mut self.context, &mut args).map_err(|fault| row.explain(fault))?;
            fiber.stack.truncate(base);
            fiber.stack.push(value);
        }
        Ok(Next::Step)
    }

    fn local_field(&mut self, fiber: &mut Fiber, closure: &Closure, place: usize, key: u32) -> Result<Next, Fault> {
        let found = match (fiber.stack.get(place), closure.program.constants.get(to_usize(key))) {
            (Some(coll), Some(key)) => lookup(coll, key, &mut self.context.meter)?,
            _ => None,
        };
        fiber.stack.push(found.unwrap_or_default());
        Ok(Next::Step)
    }

    /// The steps that are run less often.
    pub(super) fn step(
        &mut self,
        fiber: &mut Fiber,
        closure: &Arc<Closure>,
        base: usize,
        op: Op,
    ) -> Result<Next, Fault> {
        let constant = |number: u32| closure.program.constants.get(to_usize(number)).cloned().unwrap_or_default();
        let place = |local: u32| base.saturating_add(to_usize(local));
        match op {
            Op::Nil => fiber.push(Value::Nil),
            Op::Captured(index) => {
                fiber.push(closure.captures.as_slice().get(to_usize(index)).cloned().unwrap_or_default());
            }
            Op::Myself => fiber.push(Value::Closure(Arc::clone(closure))),
            Op::Defined(key) => {
                let value = self.defined(&constant(key))?;
                fiber.push(value);
            }
            Op::Input(key) => {
                let value = lookup(&self.context.inputs.context, &constant(key), &mut self.context.meter)?;
                fiber.push(value.unwrap_or_default());
            }
            Op::Memory(key) => {
                let found = self.context.memory.lookup(&constant(key), &mut self.context.meter)?.cloned();
                fiber.push(found.unwrap_or_default());
            }
            Op::History(index) => {
                fiber.push(self.context.inputs.history.get(to_usize(index)).cloned().unwrap_or_default());
            }
            Op::Store(local) => {
                let value = fiber.pop();
                if let Some(slot) = fiber.stack.get_mut(place(local)) {
                    *slot = value;
                }
            }
            Op::Pop => {
                fiber.pop();
            }
            Op::JumpIfFalseElsePop(to) | Op::JumpIfTrueElsePop(to) => {
                let is_true = fiber.stack.last().is_some_and(Value::is_truthy);
                if is_true == matches!(op, Op::JumpIfTrueElsePop(_)) {
                    return Ok(Next::Jump(to));
                }
                fiber.pop();
            }
            Op::Closure(number) => self.make_closure(fiber, closure, base, number)?,
            Op::Field(key) => {
                let coll = fiber.pop();
                let found = lookup(&coll, &constant(key), &mut self.context.meter)?;
                fiber.push(found.unwrap_or_default());
            }
            Op::Vector(_) | Op::Map(_) | Op::Set(_) => self.make_collection(fiber, op)?,
            Op::Define(key) | Op::DefineFunction(key) => {
                let value = fiber.stack.last().cloned().unwrap_or_default();
                if matches!(op, Op::DefineFunction(_)) && !value.is_function() {
                    return Err(data_hides_function(constant(key).as_str().unwrap_or_default()));
                }
                self.context.remember(constant(key), value)?;
            }
            Op::DefineOnce(key) => {
                // The step behind this one leads to the end. The value's come after it.
                match self.context.memory.get(&constant(key), &mut self.context.meter)?.cloned() {
                    Some(value) => fiber.push(value),
                    None => return Ok(Next::Skip),
                }
            }
            Op::NoClause => {
                let shown = crate::print::print_excerpt(fiber.stack.last().unwrap_or(&Value::Nil), 80);
                return Err(no_clause(&shown));
            }
            other => return self.data_step(fiber, base, other),
        }
        Ok(Next::Step)
    }

    /// The steps that take values apart and put them together.
    fn data_step(&mut self, fiber: &mut Fiber, base: usize, op: Op) -> Result<Next, Fault> {
        match op {
            Op::Sequence => {
                let coll = fiber.pop();
                let sequence = to_sequence(coll, &mut self.context.meter)?;
                fiber.push(sequence);
            }
            Op::Append(local) => {
                let value = fiber.pop();
                if let Some(Value::Vector(out)) = fiber.stack.get_mut(base.saturating_add(to_usize(local))) {
                    Arc::make_mut(out).push(value, &mut self.context.meter)?;
                }
            }
            Op::ToList => {
                if let Value::Vector(vector) = fiber.pop() {
                    fiber.push(Value::from(crate::value::List::view(vector, 0)));
                }
            }
            Op::KeywordArguments => {
                let value = fiber.pop();
                let map = self.keyword_arguments(value)?;
                fiber.push(map);
            }
            Op::Lookup(found) => {
                let (key, coll) = (fiber.pop(), fiber.pop());
                if let Some(value) = lookup(&coll, &key, &mut self.context.meter)? {
                    fiber.push(value);
                    return Ok(Next::Jump(found));
                }
            }
            Op::Skip(count) => {
                let coll = fiber.pop();
                let rest = skip(coll, to_usize(count), &mut self.context.meter)?;
                fiber.push(if rest.stored_len().is_ok_and(|left| left == 0) { Value::Nil } else { rest });
            }
            Op::Element(index) => {
                let coll = fiber.pop();
                fiber.push(destructured(&coll, to_usize(index), &mut self.context.meter)?);
            }
            // All others are done where they are met.
            _ => {}
        }
        Ok(Next::Step)
    }

    fn defined(&mut self, key: &Value) -> Result<Value, Fault> {
        match self.context.memory.lookup(key, &mut self.context.meter)? {
            Some(value) => Ok(value.clone()),
            None => {
                let name = key.as_str().unwrap_or_default();
                Err(Fault::new(Reason::UnboundVar, format!("`{name}` has no value yet"))
                    .help("its `def` comes later in the program; move it up"))
            }
        }
    }

    fn make_closure(
        &mut self,
        fiber: &mut Fiber,
        closure: &Arc<Closure>,
        base: usize,
        number: u32,
    ) -> Result<(), Fault> {
        let program = &closure.program;
        let number = to_usize(number);
        let captures = program.functions.get(number).map_or(&[][..], |function| &function.captures);
        self.context.meter.allocate(captures.len().saturating_mul(cost::SLOT).saturating_add(cost::OBJECT))?;
        let captured = captures.iter().map(|capture| match capture {
            Capture::Local(local) => fiber.stack.get(base.saturating_add(to_usize(*local))).cloned(),
            Capture::Captured(index) => closure.captures.as_slice().get(to_usize(*index)).cloned(),
            Capture::Myself => Some(Value::Closure(Arc::clone(closure))),
        });
        let captures = Chunk::new(captured.map(Option::unwrap_or_default).collect());
        let closure = Closure { program: Arc::clone(program), function: number, captures };
        fiber.push(Value::Closure(Arc::new(closure)));
        Ok(())
    }

    fn make_collection(&mut self, fiber: &mut Fiber, op: Op) -> Result<(), Fault> {
        let meter = &mut self.context.meter;
        let value = match op {
            Op::Vector(count) => {
                let count = to_usize(count);
                meter.allocate(count.saturating_mul(cost::SLOT).saturating_add(cost::OBJECT))?;
                Value::vector(fiber.pop_many(count))
            }
            Op::Map(count) => {
                let pairs = fiber.pop_many(to_usize(count).saturating_mul(2));
                meter.allocate(cost::OBJECT)?;
                let mut map = Map::default();
                let mut pairs = pairs.into_iter();
                while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
                    map.insert(key, value, meter)?;
                }
                Value::from(map)
            }
            Op::Set(count) => {
                meter.allocate(cost::OBJECT)?;
                let mut set = Set::default();
                for element in fiber.pop_many(to_usize(count)) {
                    set.0.insert(element, Value::Nil, meter)?;
                }
                Value::from(set)
            }
            _ => Value::Nil,
        };
        fiber.push(value);
        Ok(())
    }

    /// Pushes the next element of the sequence at a place, whose position is behind it. False at the end.
    fn next_element(&mut self, fiber: &mut Fiber, place: usize) -> Result<bool, Fault> {
        let position = place.saturating_add(1);
        let Some(Value::Int(index)) = fiber.stack.get(position) else { return Ok(false) };
        let index = usize::try_from(*index).unwrap_or(usize::MAX);
        let Some(sequence) = fiber.stack.get(place) else { return Ok(false) };
        let Some((next, value)) = builtins::step(sequence, index, &mut self.context.meter)? else { return Ok(false) };
        if let Some(slot) = fiber.stack.get_mut(position) {
            *slot = Value::from(next);
        }
        fiber.push(value);
        Ok(true)
    }

    /// `:a 1 :b 2`, or `:a 1` and a map of more, as one map. A map and nil as they are.
    fn keyword_arguments(&mut self, value: Value) -> Result<Value, Fault> {
        if !matches!(value, Value::List(_)) {
            return Ok(value);
        }
        let meter = &mut self.context.meter;
        let elements: Vec<Value> = value.elements().cloned().collect();
        meter.elements(elements.len())?;
        if let [only @ Value::Map(_)] = elements.as_slice() {
            return Ok(only.clone());
        }
        let mut map = Map::default();
        let (pairs, rest) = elements.as_chunks::<2>();
        for [key, value] in pairs {
            map.insert(key.clone(), value.clone(), meter)?;
        }
        for [key, value] in rest.iter().flat_map(|last| last.entries()).map(|(key, value)| [key, value]) {
            map.insert(key.clone(), value.clone(), meter)?;
        }
        if rest.first().is_some_and(|last| !matches!(last, Value::Map(_))) {
            return Err(Fault::eval("a keyword argument has no value").help("give keywords and values in turn"));
        }
        Ok(Value::from(map))
    }
}

/// Whether an argument is a stream, which another function may have to go through.
#[inline]
pub(super) fn has_stream(fiber: &Fiber, count: usize) -> bool {
    let args = fiber.stack.get(fiber.stack.len().saturating_sub(count)..).unwrap_or_default();
    args.iter().any(|arg| matches!(arg.unlabelled(), Value::Stream(_)))
}

/// The element at an index as destructuring takes it: nil where there is none.
fn destructured(coll: &Value, index: usize, meter: &mut Meter) -> Result<Value, Fault> {
    builtins::check_stored(coll)?;
    if let Value::Text(text) = coll {
        meter.text(text.len())?;
    }
    match coll {
        Value::Nil | Value::Vector(_) | Value::List(_) | Value::Stream(_) | Value::Text(_) => {
            Ok(element(coll, index).unwrap_or_default())
        }
        other => Err(Fault::of_type(format!("{} can't be taken apart by `[…]`", other.type_phrase()))
            .help("take a map apart by `{:keys [a b]}`, and a set by `seq` first")),
    }
}

/// No clause of `case` or `condp` has this value.
pub(crate) fn no_clause(shown: &str) -> Fault {
    Fault::eval(format!("no clause matches {shown}")).help("add a value for all others at the end")
}
