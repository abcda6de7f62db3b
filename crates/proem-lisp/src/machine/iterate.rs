//! Functions over collections, one call at a time.

use super::{
    Machine,
    call::{Called, FiberStop},
    frame::{EachFrame, Fiber, FoldFrame, Frame},
};
use crate::{
    builtins::{self, EachResults, FoldShape, Native, Row, Run, Stop},
    context::Args,
    error::Fault,
    limits::cost,
    value::Value,
};
use alloc::{boxed::Box, format, sync::Arc};

impl Machine {
    /// Goes on with the frame on top until it calls a function, ends, or the fuel of the run is used.
    pub(super) fn run_each(
        &mut self,
        fiber: &mut Fiber,
        mut frame: Box<EachFrame>,
    ) -> Result<Option<FiberStop>, Fault> {
        let native = native_of(&frame.function, frame.sources.len());
        loop {
            if frame.waits {
                frame.waits = false;
                let result = fiber.pop();
                let stops = match frame.stop {
                    Stop::Never => false,
                    Stop::AtTrue => result.is_truthy(),
                    Stop::AtFalse => !result.is_truthy(),
                };
                // Twice the result: a growing buffer is copied.
                self.context.meter.allocate(cost::SLOT.saturating_mul(2))?;
                self.context.meter.collection(frame.results.len().saturating_add(1))?;
                frame.results.push(result);
                if stops {
                    return self.finish_each(fiber, *frame);
                }
            }
            if self.context.meter.is_paused() {
                fiber.frames.push(Frame::Each(frame));
                return Ok(Some(FiberStop::Paused));
            }
            if self.context.meter.is_count_due() {
                // What the frame holds is alive too.
                fiber.frames.push(Frame::Each(frame));
                self.count_if_due(fiber)?;
                let Some(Frame::Each(back)) = fiber.frames.pop() else { return Ok(None) };
                frame = back;
            }
            self.context.meter.work(cost::ELEMENT)?;
            if let (Some(native), [source]) = (native, frame.sources.as_mut_slice()) {
                let Some(element) = source.next(&mut self.context.meter)? else {
                    return self.finish_each(fiber, *frame);
                };
                let result = self.call_native(native, &mut [element])?;
                fiber.push(result);
                frame.waits = true;
                continue;
            }
            let before = fiber.stack.len();
            for source in &mut frame.sources {
                let Some(element) = source.next(&mut self.context.meter)? else {
                    fiber.stack.truncate(before);
                    return self.finish_each(fiber, *frame);
                };
                fiber.stack.push(element);
            }
            let count = frame.sources.len();
            frame.waits = true;
            if let Value::Closure(closure) = &frame.function {
                let closure = Arc::clone(closure);
                fiber.frames.push(Frame::Each(frame));
                self.enter(fiber, closure, count)?;
                return Ok(None);
            }
            // What is called goes on top of this frame, which is put back only then.
            let place = fiber.frames.len();
            match self.call(fiber, &frame.function, count)? {
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

    fn call_native(&mut self, (row, native): (&Row, Native), args: &mut [Value]) -> Result<Value, Fault> {
        native(&mut self.context, &mut Args(args)).map_err(|fault| row.explain(fault))
    }

    fn finish_each(&mut self, fiber: &mut Fiber, frame: EachFrame) -> Result<Option<FiberStop>, Fault> {
        let results = EachResults { args: frame.args, results: frame.results };
        if let Some(row) = builtins::row(frame.id)
            && let Run::Each { finish, .. } = &row.run
        {
            let value = finish(&mut self.context, results).map_err(|fault| row.explain(fault))?;
            fiber.push(value);
        }
        Ok(None)
    }

    /// As [`Machine::run_each`], for a fold.
    pub(super) fn run_fold(
        &mut self,
        fiber: &mut Fiber,
        mut frame: Box<FoldFrame>,
    ) -> Result<Option<FiberStop>, Fault> {
        let native = native_of(&frame.function, 2);
        loop {
            if frame.waits {
                frame.waits = false;
                let result = fiber.pop();
                if let Value::Reduced(inner) = &result {
                    let inner = inner.as_slice().first().cloned().unwrap_or_default();
                    fiber.push(inner);
                    return Ok(None);
                }
                frame.result = result;
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
            if let (Some(native), FoldShape::Element) = (native, frame.shape) {
                let mut pair = [core::mem::take(&mut frame.result), element];
                let result = self.call_native(native, &mut pair)?;
                if !matches!(result, Value::Reduced(_)) {
                    frame.result = result;
                    continue;
                }
                fiber.push(result);
                frame.waits = true;
                continue;
            }
            // The result moves, so that the function may change it in place.
            fiber.stack.push(core::mem::take(&mut frame.result));
            let count = match frame.shape {
                FoldShape::Element => {
                    fiber.stack.push(element);
                    2
                }
                FoldShape::KeyValue if let Some(index) = frame.source.last_index() => {
                    fiber.stack.extend([Value::from(index), element]);
                    3
                }
                FoldShape::KeyValue => {
                    let Value::Vector(entry) = &element else { return Err(not_an_entry(&element)) };
                    let (Some(key), Some(value), 2) = (entry.get(0), entry.get(1), entry.len()) else {
                        return Err(not_an_entry(&element));
                    };
                    fiber.stack.extend([key.clone(), value.clone()]);
                    3
                }
            };
            frame.waits = true;
            if let Value::Closure(closure) = &frame.function {
                let closure = Arc::clone(closure);
                fiber.frames.push(Frame::Fold(frame));
                self.enter(fiber, closure, count)?;
                return Ok(None);
            }
            let place = fiber.frames.len();
            match self.call(fiber, &frame.function, count)? {
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

fn not_an_entry(element: &Value) -> Fault {
    Fault::of_type(format!("`reduce-kv` takes a map or a vector, not what holds {}", element.type_phrase()))
}

/// The function in Rust that a builtin is, if it takes so many arguments.
fn native_of(function: &Value, count: usize) -> Option<(&'static Row, Native)> {
    let Value::Builtin(id) = function else { return None };
    match builtins::row(*id)? {
        row @ Row { run: Run::Native(native), .. } if row.check_arity(count).is_ok() => Some((row, *native)),
        _ => None,
    }
}
