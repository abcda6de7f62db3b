//! Fibers: running them, their branches and their tools.

use super::{
    Machine, PendingCall, ToolAnswer,
    call::{Called, FiberStop},
    frame::{Fiber, Frame},
};
use crate::{
    CallId, Outcome,
    error::{Fault, Reason},
    limits::cost,
    value::{Flow, Value},
};
use alloc::{format, vec, vec::Vec};

impl Machine {
    /// Runs a fiber until it ends, waits, or the fuel of the run is used.
    pub(super) fn run_fiber(&mut self, fiber: &mut Fiber) -> Result<FiberStop, Fault> {
        self.context.flow.at_hand = Flow::NONE;
        if let Some(answer) = fiber.answer.take() {
            match answer {
                ToolAnswer::Value(value) => fiber.push(value),
                ToolAnswer::Problem(fault) => return Err(fault),
            }
        }
        loop {
            if self.context.meter.is_paused() {
                return Ok(FiberStop::Paused);
            }
            let Some(frame) = fiber.frames.pop() else {
                let value = fiber.pop();
                return Ok(FiberStop::Finished(value));
            };
            let stop = match frame {
                Frame::Code(frame) => self.run_code(fiber, frame)?,
                Frame::Each(frame) => self.run_each(fiber, frame)?,
                Frame::Fold(frame) => self.run_fold(fiber, frame)?,
                Frame::Call { function, args } => {
                    self.context.meter.work(cost::STEP)?;
                    let count = args.len();
                    fiber.stack.extend(args);
                    match self.call(fiber, &function, count)? {
                        Called::Value(value) => {
                            fiber.push(value);
                            None
                        }
                        Called::Frame => None,
                        Called::Stop(stop) => Some(stop),
                    }
                }
                Frame::Scope { before, flow } => {
                    let value = fiber.pop();
                    fiber.pc = before;
                    let value = self.join(value, &flow)?;
                    fiber.push(value);
                    None
                }
                Frame::Parallel { results, .. } => {
                    self.context.meter.elements(results.len())?;
                    fiber.push(Value::list(results));
                    None
                }
            };
            if let Some(stop) = stop {
                return Ok(stop);
            }
        }
    }

    /// Does what a fiber stopped for. An outcome ends the program.
    pub(super) fn after_run(
        &mut self,
        at: usize,
        fiber: &mut Fiber,
        stop: FiberStop,
    ) -> Result<Option<Outcome>, Fault> {
        let stop = if self.context.flow.is_on { self.label_stop(fiber, stop)? } else { stop };
        match stop {
            FiberStop::Paused => {}
            FiberStop::Return(value) => return self.commit_return(value).map(Some),
            FiberStop::Fail(value) => return Ok(Some(Outcome::Fail(value))),
            FiberStop::Finished(value) => match fiber.parent {
                None => return self.commit_value(value).map(Some),
                Some((parent, branch)) => {
                    self.ready.pop_front();
                    fiber.has_ended = true;
                    self.finish_branch(parent, branch, value);
                }
            },
            FiberStop::Tool { name, args } => {
                self.ready.pop_front();
                let most = self.context.meter.limits().tool_calls;
                self.context.tool_calls = self.context.tool_calls.saturating_add(1);
                if self.context.tool_calls > most {
                    let message = format!("the program called tools more than {most} times");
                    return Err(Fault::limit(Reason::ToolCallLimit, message, "tool_calls"));
                }
                let id = CallId(self.next_call);
                self.next_call = self.next_call.saturating_add(1);
                self.exchanged.push(args.clone());
                let (pc, floor) = (fiber.pc.clone(), self.context.flow.floor.clone());
                self.calls.push(PendingCall { id, name, args, pc, floor, fiber: at, answer: None });
            }
            FiberStop::Parallel(branches) => {
                self.ready.pop_front();
                self.begin_branches(at, fiber, branches)?;
            }
        }
        Ok(None)
    }

    fn begin_branches(
        &mut self,
        at: usize,
        fiber: &mut Fiber,
        branches: Vec<(Value, Vec<Value>)>,
    ) -> Result<(), Fault> {
        let open = self.fibers.iter().flatten().filter(|fiber| fiber.parent.is_some()).count();
        let most = self.context.meter.limits().parallel_branches;
        if open.saturating_add(branches.len()) > most {
            let message = format!("more than {most} branches are open at one time");
            return Err(Fault::limit(Reason::MemoryExceeded, message, "parallel_branches")
                .help("raise `lisp.parallel_branches`, or take fewer with `partition-all` and `mapcat`"));
        }
        let count = branches.len();
        self.context.meter.allocate(count.saturating_mul(cost::OBJECT.saturating_add(cost::SLOT)))?;
        fiber.frames.push(Frame::Parallel { results: vec![Value::Nil; count], missing: count });
        if count == 0 {
            self.ready.push_front(at);
            return Ok(());
        }
        for (branch, (function, args)) in branches.into_iter().enumerate().rev() {
            let frames = vec![Frame::Call { function, args }];
            let child = Fiber { frames, parent: Some((at, branch)), pc: fiber.pc.clone(), ..Fiber::default() };
            let place = self.fibers.len();
            self.fibers.push(Some(child));
            self.ready.push_front(place);
        }
        Ok(())
    }

    fn finish_branch(&mut self, parent: usize, branch: usize, value: Value) {
        let Some(Some(fiber)) = self.fibers.get_mut(parent) else { return };
        let Some(Frame::Parallel { results, missing }) = fiber.frames.last_mut() else { return };
        if let Some(place) = results.get_mut(branch) {
            *place = value;
        }
        *missing = missing.saturating_sub(1);
        if *missing == 0 {
            self.ready.push_front(parent);
        }
        while let Some(None) = self.fibers.last() {
            self.fibers.pop();
        }
    }
}
