//! Functions over collections, one call at a time.

use super::{
    Machine,
    call::{Called, FiberStop},
    frame::{CodeFrame, EachFrame, Fiber, FoldFrame, Frame},
    steps::{Exit, has_stream},
};
use crate::{
    builtins::{self, EachResults, FoldShape, Native, Row, Run, Stop, lookup},
    code::{Closure, NumberOp},
    context::Args,
    error::Fault,
    flow::reach_of_value,
    limits::cost,
    value::{Flow, Value},
};
use alloc::{boxed::Box, format, sync::Arc};

impl Machine {
    /// Goes on with the frame on top until it calls a function, ends, or the fuel of the run is used.
    pub(super) fn run_each(
        &mut self,
        fiber: &mut Fiber,
        mut frame: Box<EachFrame>,
    ) -> Result<Option<FiberStop>, Fault> {
        let mut callee = self.callee(&frame.function, frame.sources.len());
        let spine = self.scope_flow(fiber);
        loop {
            if frame.waits {
                frame.waits = false;
                let result = fiber.pop();
                if self.keep_result(fiber, &mut frame, result)? {
                    return self.finish_each(fiber, *frame);
                }
            }
            if self.context.meter.is_paused() {
                fiber.frames.push(Frame::Each(frame));
                return Ok(Some(FiberStop::Paused));
            }
            if self.context.meter.is_count_due() {
                // The frame's contents are alive too.
                fiber.frames.push(Frame::Each(frame));
                self.count_if_due(fiber)?;
                let Some(Frame::Each(back)) = fiber.frames.pop() else { return Ok(None) };
                frame = back;
            }
            self.context.meter.work(cost::ELEMENT)?;
            // A key is looked up where the element is stored.
            if let (Callee::Keyword(key), [source]) = (&callee, frame.sources.as_mut_slice())
                && let Some(element) = source.next_stored()
            {
                let found = lookup(element, key, &mut self.context.meter)?.unwrap_or_default();
                if self.keep_result(fiber, &mut frame, found)? {
                    return self.finish_each(fiber, *frame);
                }
                continue;
            }
            let before = fiber.stack.len();
            for source in &mut frame.sources {
                let Some(element) = source.next(&mut self.context.meter)? else {
                    fiber.stack.truncate(before);
                    return self.finish_each(fiber, *frame);
                };
                let element = if spine.is_none() { element } else { self.join(element, &spine)? };
                fiber.stack.push(element);
            }
            match self.call_once(fiber, &mut callee, before)? {
                Once::Value(result) => {
                    if self.keep_result(fiber, &mut frame, result)? {
                        return self.finish_each(fiber, *frame);
                    }
                }
                Once::Left(exit, code) => {
                    frame.waits = true;
                    fiber.frames.push(Frame::Each(frame));
                    fiber.frames.push(Frame::Code(code));
                    return self.leave_steps(fiber, exit);
                }
                Once::Called(function, count) => {
                    frame.waits = true;
                    // The callee goes on top of this frame, which is put back only then.
                    let place = fiber.frames.len();
                    match self.call(fiber, &function, count)? {
                        Called::Value(value) => fiber.push(value),
                        Called::Frame => {
                            fiber.frames.insert(place, Frame::Each(frame));
                            return Ok(None);
                        }
                        Called::Stop(stop) => {
                            fiber.frames.insert(place, Frame::Each(frame));
                            return Ok(Some(stop));
                        }
                    }
                }
            }
        }
    }

    fn finish_each(&mut self, fiber: &mut Fiber, frame: EachFrame) -> Result<Option<FiberStop>, Fault> {
        let mut results = EachResults { args: frame.args, results: frame.results };
        let is_labelled = self.context.flow.is_on;
        let flow = if is_labelled { self.take_results(frame.id, &mut results)? } else { Flow::NONE };
        if let Some(row) = builtins::row(frame.id)
            && let Run::Each { finish, .. } = &row.run
        {
            let value = finish(&mut self.context, results).map_err(|fault| row.explain(fault))?;
            let value = if flow.is_none() { value } else { self.join(value, &flow)? };
            fiber.push(value);
        }
        Ok(None)
    }

    /// Keeps what was called for. True if no more elements are to be gone through.
    #[inline]
    fn keep_result(&mut self, fiber: &mut Fiber, frame: &mut EachFrame, result: Value) -> Result<bool, Fault> {
        let value = result.unlabelled();
        let stops = match frame.stop {
            Stop::Never => false,
            Stop::AtTrue => value.is_truthy(),
            Stop::AtFalse => !value.is_truthy(),
        };
        if frame.stop != Stop::Never && self.context.flow.is_on {
            self.decide_by(fiber, &frame.function, &result);
        }
        // Twice the result: a growing buffer is copied.
        self.context.meter.allocate(cost::SLOT.saturating_mul(2))?;
        self.context.meter.collection(frame.results.len().saturating_add(1))?;
        frame.results.push(result);
        Ok(stops)
    }

    /// As [`Machine::run_each`], for a fold.
    pub(super) fn run_fold(
        &mut self,
        fiber: &mut Fiber,
        mut frame: Box<FoldFrame>,
    ) -> Result<Option<FiberStop>, Fault> {
        let mut callee = self.callee(&frame.function, if frame.shape == FoldShape::Element { 2 } else { 3 });
        let is_labelled = self.context.flow.is_on;
        let spine = self.scope_flow(fiber);
        loop {
            if frame.waits {
                frame.waits = false;
                frame.result = fiber.pop();
                if is_labelled && let Some(end) = self.labelled_end(fiber, &mut frame)? {
                    fiber.push(end);
                    return Ok(None);
                }
                if let Value::Reduced(inner) = &frame.result {
                    let inner = inner.as_slice().first().cloned().unwrap_or_default();
                    fiber.push(inner);
                    return Ok(None);
                }
            }
            if self.context.meter.is_paused() {
                fiber.frames.push(Frame::Fold(frame));
                return Ok(Some(FiberStop::Paused));
            }
            if self.context.meter.is_count_due() {
                fiber.frames.push(Frame::Fold(frame));
                self.count_if_due(fiber)?;
                let Some(Frame::Fold(back)) = fiber.frames.pop() else { return Ok(None) };
                frame = back;
            }
            self.context.meter.work(cost::ELEMENT)?;
            let Some(element) = frame.source.next(&mut self.context.meter)? else {
                fiber.push(frame.result);
                return Ok(None);
            };
            if let (Callee::Native { numbers: Some(operation), .. }, FoldShape::Element) = (&callee, frame.shape)
                && let Some(result) = operation.apply(&frame.result, &element)
            {
                frame.result = result;
                continue;
            }
            let before = fiber.stack.len();
            // The result moves, so that the function may change it in place.
            fiber.stack.push(core::mem::take(&mut frame.result));
            push_element(fiber, &frame, element)?;
            if !spine.is_none() {
                self.join_operands(fiber, before.saturating_add(1), &spine)?;
            }
            match self.call_once(fiber, &mut callee, before)? {
                Once::Value(result @ (Value::Reduced(_) | Value::Labelled(_))) => {
                    fiber.push(result);
                    frame.waits = true;
                }
                Once::Value(result) => frame.result = result,
                Once::Left(exit, code) => {
                    frame.waits = true;
                    fiber.frames.push(Frame::Fold(frame));
                    fiber.frames.push(Frame::Code(code));
                    return self.leave_steps(fiber, exit);
                }
                Once::Called(function, count) => {
                    frame.waits = true;
                    let place = fiber.frames.len();
                    match self.call(fiber, &function, count)? {
                        Called::Value(value) => fiber.push(value),
                        Called::Frame => {
                            fiber.frames.insert(place, Frame::Fold(frame));
                            return Ok(None);
                        }
                        Called::Stop(stop) => {
                            fiber.frames.insert(place, Frame::Fold(frame));
                            return Ok(Some(stop));
                        }
                    }
                }
            }
        }
    }

    /// The callee for each element. If values have labels, all but functions of a program are called in the usual way,
    /// which minds them.
    fn callee(&self, function: &Value, count: usize) -> Callee {
        match function {
            Value::Closure(closure) => Callee::Closure(Arc::clone(closure), None),
            function if self.context.flow.is_on => Callee::Other(function.clone()),
            function => Callee::of(function, count),
        }
    }

    /// The end of a fold by `reduced`, with the label of what decided on it. A function that may end it so decides
    /// with each result whether it is called again.
    fn labelled_end(&mut self, fiber: &mut Fiber, frame: &mut FoldFrame) -> Result<Option<Value>, Fault> {
        if reach_of_value(&frame.function).join(self.context.flow.calls).reduces {
            let result = frame.result.clone();
            self.decide_by(fiber, &frame.function, &result);
        }
        let Value::Reduced(inner) = frame.result.unlabelled() else { return Ok(None) };
        let inner = inner.as_slice().first().cloned().unwrap_or_default();
        let flow = frame.result.flow().clone();
        self.join(inner, &flow).map(Some)
    }

    /// Calls a function with the operands from `before` on, which it takes away, as far as that needs no frame.
    #[inline]
    fn call_once(&mut self, fiber: &mut Fiber, callee: &mut Callee, before: usize) -> Result<Once, Fault> {
        let count = fiber.stack.len().saturating_sub(before);
        match callee {
            // A stream may need a function of the language in place of this one.
            Callee::Native { function, .. } if has_stream(fiber, count) => Ok(Once::Called(function.clone(), count)),
            Callee::Native { row, native, .. } => {
                let operands = fiber.stack.get_mut(before..).unwrap_or_default();
                let value = native(&mut self.context, &mut Args(operands)).map_err(|fault| row.explain(fault))?;
                fiber.stack.truncate(before);
                Ok(Once::Value(value))
            }
            Callee::Keyword(key) => {
                let coll = fiber.pop();
                Ok(Once::Value(lookup(&coll, key, &mut self.context.meter)?.unwrap_or_default()))
            }
            Callee::Closure(closure, kept) => {
                // With the frame of what goes through the elements.
                let frames = fiber.frames.len().saturating_add(1);
                let mut code = match kept.take() {
                    Some(mut code) => {
                        code.base = before;
                        self.begin_again(fiber, &mut code, frames)?;
                        code
                    }
                    None => self.begin_call(fiber, Arc::clone(closure), count, frames)?,
                };
                let exit = self.run_steps(fiber, &mut code);
                let Ok(Exit::Returned) = exit else { return Ok(Once::Left(exit, code)) };
                let value = fiber.pop();
                fiber.stack.truncate(code.base);
                // More arguments than are named become a list, which only a new call makes.
                *kept = code.steps().is_some_and(|arity| !arity.takes_rest).then_some(code);
                Ok(Once::Value(value))
            }
            Callee::Other(function) => Ok(Once::Called(function.clone(), count)),
        }
    }
}

/// Pushes what the function of a fold gets besides the result so far.
#[inline]
fn push_element(fiber: &mut Fiber, frame: &FoldFrame, element: Value) -> Result<(), Fault> {
    match frame.shape {
        FoldShape::Element => fiber.stack.push(element),
        FoldShape::KeyValue if let Some(index) = frame.source.last_index() => {
            fiber.stack.extend([Value::from(index), element]);
        }
        FoldShape::KeyValue => {
            let Value::Vector(entry) = &element else { return Err(not_an_entry(&element)) };
            let (Some(key), Some(value), 2) = (entry.get(0), entry.get(1), entry.len()) else {
                return Err(not_an_entry(&element));
            };
            fiber.stack.extend([key.clone(), value.clone()]);
        }
    }
    Ok(())
}

/// The callee for each element, found out once.
enum Callee {
    /// A function in Rust, and what it does with two numbers if that is most of it.
    Native {
        function: Value,
        row: &'static Row,
        native: Native,
        numbers: Option<NumberOp>,
    },
    /// A keyword, with one argument.
    Keyword(Value),
    /// A function of a program, and its frame after the last call.
    Closure(Arc<Closure>, Option<CodeFrame>),
    Other(Value),
}

/// The result of calling a [`Callee`].
enum Once {
    Value(Value),
    /// Steps that stopped before their end, with their frame.
    Left(Result<Exit, Fault>, CodeFrame),
    /// A function to call in the usual way, with this many operands.
    Called(Value, usize),
}

impl Callee {
    fn of(function: &Value, count: usize) -> Self {
        match function {
            Value::Keyword(_) if count == 1 => Self::Keyword(function.clone()),
            Value::Builtin(id) => match builtins::row(id.get()) {
                Some(row @ Row { run: Run::Native(native), .. }) if row.check_arity(count).is_ok() => {
                    let numbers = NumberOp::of(row.name).filter(|_| count == 2);
                    Self::Native { function: function.clone(), row, native: *native, numbers }
                }
                _ => Self::Other(function.clone()),
            },
            _ => Self::Other(function.clone()),
        }
    }
}

fn not_an_entry(element: &Value) -> Fault {
    Fault::of_type(format!("`reduce-kv` takes a map or a vector, not what holds {}", element.type_phrase()))
}
