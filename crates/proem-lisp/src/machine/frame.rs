//! Frames and fibers: the state of a program, as plain data.

use super::{ToolAnswer, scopes::OpenForm};
use crate::{
    builtins::{Cursor, FoldShape, Stop},
    code::{Arity, Closure, Program},
    value::{BuiltinId, Flow, Value},
};
use alloc::{boxed::Box, sync::Arc, vec::Vec};
use proem_text::Span;

/// A line of execution.
#[derive(Debug, Default)]
pub(super) struct Fiber {
    pub(super) stack: Vec<Value>,
    pub(super) frames: Vec<Frame>,
    /// The label of what decided that it is where it is.
    pub(super) pc: Flow,
    /// Forms whose test had a label, the innermost last.
    pub(super) forms: Vec<OpenForm>,
    /// The fiber that waits for this one's value, and the branch's number there.
    pub(super) parent: Option<(usize, usize)>,
    /// The answer to the tool call that it waited for.
    pub(super) answer: Option<ToolAnswer>,
    pub(super) has_ended: bool,
    /// The most bytes that its operands and frames took at one time.
    pub(super) deepest: usize,
}

/// The current work.
#[derive(Debug)]
pub(super) enum Frame {
    Code(CodeFrame),
    Each(Box<EachFrame>),
    Fold(Box<FoldFrame>),
    /// A call in place of the frame.
    Call {
        function: Value,
        args: Vec<Value>,
    },
    /// Ends a call that a label decided on: its value is on top, and pc is as before.
    Scope {
        before: Flow,
        flow: Flow,
    },
    /// Waits for branches: their values as they come, and how many are missing.
    Parallel {
        results: Vec<Value>,
        missing: usize,
    },
}

/// A function of the language at one of its steps.
#[derive(Debug)]
pub(super) struct CodeFrame {
    pub(super) closure: Arc<Closure>,
    pub(super) arity: usize,
    /// The step to be done next.
    pub(super) at: usize,
    /// The beginning of its locals among the operands.
    pub(super) base: usize,
    /// The first open form that is its own.
    pub(super) forms: usize,
}

/// A builtin that calls a function for elements.
#[derive(Debug)]
pub(super) struct EachFrame {
    pub(super) id: BuiltinId,
    pub(super) args: Vec<Value>,
    pub(super) function: Value,
    pub(super) sources: Vec<Cursor>,
    pub(super) results: Vec<Value>,
    pub(super) stop: Stop,
    /// Whether the top operand is a result that was called for.
    pub(super) waits: bool,
}

/// A builtin that reduces.
#[derive(Debug)]
pub(super) struct FoldFrame {
    pub(super) function: Value,
    pub(super) result: Value,
    pub(super) source: Cursor,
    pub(super) shape: FoldShape,
    pub(super) waits: bool,
}

impl Frame {
    pub(super) const fn code(closure: Arc<Closure>, arity: usize, base: usize) -> Self {
        Self::Code(CodeFrame { closure, arity, at: 0, base, forms: 0 })
    }

    /// The function that a frame of steps is in.
    pub(super) const fn closure(&self) -> Option<&Arc<Closure>> {
        if let Self::Code(frame) = self { Some(&frame.closure) } else { None }
    }

    /// The place of the step that the frame is at, if it is one of this program.
    pub(super) fn place_in(&self, program: &Arc<Program>) -> Option<Span> {
        let Self::Code(frame) = self else { return None };
        if !Arc::ptr_eq(&frame.closure.program, program) {
            return None;
        }
        frame.steps()?.spans.get(frame.at.saturating_sub(1)).copied()
    }
}

impl CodeFrame {
    pub(super) fn steps(&self) -> Option<&Arity> {
        self.closure.function()?.arities.get(self.arity)
    }
}

impl Fiber {
    pub(super) fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    /// Pushes the value at a place.
    #[inline]
    pub(super) fn push_local(&mut self, place: usize) {
        let value = self.stack.get(place).map_or(Value::Nil, Value::clone);
        self.stack.push(value);
    }

    /// Pushes the value at a place, and leaves nil there.
    #[inline]
    pub(super) fn take_local(&mut self, place: usize) {
        let value = self.stack.get_mut(place).map_or(Value::Nil, core::mem::take);
        self.stack.push(value);
    }

    pub(super) fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or_default()
    }

    /// Takes the top `count` operands.
    pub(super) fn pop_many(&mut self, count: usize) -> Vec<Value> {
        self.stack.split_off(self.stack.len().saturating_sub(count))
    }

    /// Calls `visit` for every value that the fiber holds.
    pub(super) fn visit_values(&self, visit: &mut dyn FnMut(&Value)) {
        self.stack.iter().for_each(&mut *visit);
        for frame in &self.frames {
            match frame {
                Frame::Code(frame) => visit(&Value::Closure(Arc::clone(&frame.closure))),
                Frame::Each(frame) => {
                    frame.args.iter().chain(&frame.results).for_each(&mut *visit);
                    visit(&frame.function);
                    frame.sources.iter().for_each(|source| visit(source.sequence()));
                }
                Frame::Fold(frame) => {
                    visit(&frame.function);
                    visit(&frame.result);
                    visit(frame.source.sequence());
                }
                Frame::Call { function, args } => {
                    visit(function);
                    args.iter().for_each(&mut *visit);
                }
                Frame::Parallel { results, .. } => results.iter().for_each(&mut *visit),
                Frame::Scope { .. } => {}
            }
        }
    }
}
