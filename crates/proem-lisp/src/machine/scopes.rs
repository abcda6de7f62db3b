//! The decisions that lead to a place: open forms, and calls that a label decides on.

use super::{
    Machine,
    call::Called,
    frame::{Fiber, Frame},
};
use crate::{
    error::Fault,
    flow::{FormEnd, Reach},
    value::{Flow, Value},
};

/// A form whose test had a label, until it ends.
#[derive(Debug, Clone)]
pub(super) struct OpenForm {
    /// The step of its function at which it ends.
    pub(super) end: usize,
    /// The operands below it. Those above are what it gave.
    pub(super) operands: usize,
    /// pc before it.
    pub(super) before: Flow,
    pub(super) flow: Flow,
    /// The locals that it may have stored.
    pub(super) locals: u64,
    pub(super) has_more: bool,
}

impl Machine {
    /// The value with a label joined.
    pub(super) fn join(&mut self, value: Value, flow: &Flow) -> Result<Value, Fault> {
        value.with_flow(flow, &mut self.context.flow.labels, &mut self.context.meter)
    }

    /// Joins a label to the operands from a place on.
    pub(super) fn join_operands(&mut self, fiber: &mut Fiber, from: usize, flow: &Flow) -> Result<(), Fault> {
        for slot in fiber.stack.get_mut(from..).unwrap_or_default() {
            *slot = self.join(core::mem::take(slot), flow)?;
        }
        Ok(())
    }

    /// Joins a label to pc.
    pub(super) fn join_pc(&mut self, fiber: &mut Fiber, flow: &Flow) {
        self.context.flow.labels.join_into(&mut fiber.pc, flow);
    }

    /// A test with this label was made by the function whose forms are those from `first` on. The form is given with
    /// the number of operands above which lies what it gives.
    pub(super) fn open_form(
        &mut self,
        fiber: &mut Fiber,
        first: usize,
        flow: &Flow,
        (form, operands): (FormEnd, usize),
    ) {
        if flow.is_none() {
            return;
        }
        self.context.flow.decide(flow, form.reach);
        let labels = &mut self.context.flow.labels;
        let open = fiber.forms.get_mut(first..).unwrap_or_default();
        // A loop makes its test again and again, and stays one form.
        match open.iter().position(|other| other.end == form.at) {
            Some(place) => {
                let mut is_inside = false;
                for other in open.iter_mut().skip(place) {
                    if is_inside {
                        labels.join_into(&mut other.before, flow);
                    } else {
                        labels.join_into(&mut other.flow, flow);
                        other.operands = other.operands.min(operands);
                        other.locals |= form.locals;
                        other.has_more |= form.has_more;
                    }
                    is_inside = true;
                }
            }
            None => fiber.forms.push(OpenForm {
                end: form.at,
                operands,
                before: fiber.pc.clone(),
                flow: flow.clone(),
                locals: form.locals,
                has_more: form.has_more,
            }),
        }
        self.join_pc(fiber, flow);
    }

    /// Leaves the forms of a function that end at a step. Their values and stored ones get their label.
    pub(super) fn close_forms(&mut self, fiber: &mut Fiber, first: usize, at: usize, base: usize) -> Result<(), Fault> {
        let open = fiber.forms.get(first..).unwrap_or_default();
        let Some(place) = open.iter().position(|form| form.end == at) else { return Ok(()) };
        // Forms are in each other, so those behind it end here or have ended.
        let closed = fiber.forms.split_off(first.saturating_add(place));
        for form in closed.into_iter().rev() {
            fiber.pc = form.before;
            let above = form.operands..fiber.stack.len();
            let below = base..base.saturating_add(64);
            let marked = below.zip(0..64_u32).filter(|(_, bit)| form.locals >> bit & 1 == 1).map(|(place, _)| place);
            let more = if form.has_more { base.saturating_add(64)..form.operands } else { 0..0 };
            for place in above.chain(marked).chain(more) {
                if let Some(slot) = fiber.stack.get_mut(place) {
                    let value = core::mem::take(slot);
                    *slot = value.with_flow(&form.flow, &mut self.context.flow.labels, &mut self.context.meter)?;
                }
            }
        }
        Ok(())
    }

    /// Leaves all forms of a function that returns, and joins their label to its value on top.
    pub(super) fn close_function(&mut self, fiber: &mut Fiber, first: usize) -> Result<(), Fault> {
        for form in fiber.forms.split_off(first.min(fiber.forms.len())).into_iter().rev() {
            fiber.pc = form.before;
            let value = fiber.pop();
            let value = self.join(value, &form.flow)?;
            fiber.push(value);
        }
        Ok(())
    }

    /// Begins a call that a label decides on. [`Frame::Scope`] ends it, or [`Machine::end_call`].
    pub(super) fn begin_scope(&mut self, fiber: &mut Fiber, flow: &Flow, reach: Reach) {
        self.context.flow.decide(flow, reach);
        fiber.frames.push(Frame::Scope { before: fiber.pc.clone(), flow: flow.clone() });
        self.join_pc(fiber, flow);
    }

    /// The label that decided on the call whose frame is taken off: also that of the spine whose elements it goes through.
    pub(super) fn scope_flow(&self, fiber: &Fiber) -> Flow {
        match fiber.frames.last() {
            Some(Frame::Scope { flow, .. }) if self.context.flow.is_on => flow.clone(),
            _ => Flow::NONE,
        }
    }

    /// Ends it if the call is done at once; else its frame does that later.
    pub(super) fn end_call(&mut self, fiber: &mut Fiber, called: Called) -> Result<Called, Fault> {
        match called {
            Called::Value(value) => {
                let value = match fiber.frames.pop() {
                    Some(Frame::Scope { before, flow }) => {
                        fiber.pc = before;
                        self.join(value, &flow)?
                    }
                    Some(other) => {
                        fiber.frames.push(other);
                        value
                    }
                    None => value,
                };
                Ok(Called::Value(value))
            }
            called => Ok(called),
        }
    }
}
