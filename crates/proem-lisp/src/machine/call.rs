//! Calls: of functions of the program, of the table, and of what looks things up.

use super::{
    Machine,
    frame::{CodeFrame, EachFrame, Fiber, FoldFrame, Frame},
};
use crate::{
    builtins::{self, Control, Cursor, Row, Run, lookup, nth},
    code::Closure,
    context::Args,
    error::{Fault, Reason},
    limits::cost,
    value::{BuiltinId, Text, Value},
};
use alloc::{boxed::Box, format, string::String, sync::Arc, vec::Vec};

/// The result of a call.
pub(super) enum Called {
    /// The value, at once.
    Value(Value),
    /// A frame, which will leave the value on top of the operands.
    Frame,
    /// The fiber stops here.
    Stop(FiberStop),
}

/// Why a fiber stopped.
pub(super) enum FiberStop {
    Finished(Value),
    Paused,
    Return(Value),
    Fail(Value),
    /// It waits for a tool.
    Tool {
        name: Text,
        args: Value,
    },
    /// It waits for branches.
    Parallel(Vec<(Value, Vec<Value>)>),
}

impl Machine {
    /// Calls a function with the top `count` operands, which it takes away.
    pub(super) fn call(&mut self, fiber: &mut Fiber, function: &Value, count: usize) -> Result<Called, Fault> {
        if self.context.flow.is_on {
            return self.call_labelled(fiber, function.clone(), count);
        }
        match function {
            Value::Closure(closure) => {
                self.enter(fiber, Arc::clone(closure), count)?;
                Ok(Called::Frame)
            }
            Value::Builtin(id) => self.call_builtin(fiber, id.get(), count),
            function => {
                let args = fiber.pop_many(count);
                self.look_up(function, &args).map(Called::Value)
            }
        }
    }

    /// Calls a builtin with the top `count` operands.
    pub(super) fn call_builtin(&mut self, fiber: &mut Fiber, id: BuiltinId, count: usize) -> Result<Called, Fault> {
        let Some(row) = builtins::row(id) else { return Err(Fault::eval("there is no such function")) };
        self.start_builtin(fiber, (id, row), count).map_err(|fault| row.explain(fault))
    }

    fn start_builtin(
        &mut self,
        fiber: &mut Fiber,
        (id, row): (BuiltinId, &'static Row),
        count: usize,
    ) -> Result<Called, Fault> {
        row.check_arity(count).map_err(|message| Fault::new(Reason::ArityError, message))?;
        if self.context.flow.is_on {
            return self.start_labelled(fiber, (id, row), count);
        }
        let base = fiber.stack.len().saturating_sub(count);
        let args = fiber.stack.get(base..).unwrap_or_default();
        if args.iter().any(|arg| matches!(arg, Value::Stream(_)))
            && let Some(id) = builtins::stream_version(row.name, args)
            && let Some(Run::Lisp(source)) = builtins::row(id).map(|row| &row.run)
        {
            let closure = self.prelude_function(id, source)?;
            self.enter(fiber, closure, count)?;
            return Ok(Called::Frame);
        }
        match &row.run {
            Run::Native(native) => {
                let mut args = Args(fiber.stack.get_mut(base..).unwrap_or_default());
                let value = native(&mut self.context, &mut args)?;
                fiber.stack.truncate(base);
                Ok(Called::Value(value))
            }
            Run::Each { plan, .. } => {
                let args = fiber.stack.split_off(base);
                let plan = plan(&args);
                self.begin_each(fiber, (id, row), args, plan)
            }
            Run::Fold(plan) => {
                let args = fiber.stack.split_off(base);
                let plan = plan(&args);
                drop(args);
                self.begin_fold(fiber, row.name, plan)
            }
            Run::Control(control) => {
                let mut args = Args(fiber.stack.get_mut(base..).unwrap_or_default());
                let control = control(&mut self.context, &mut args)?;
                fiber.stack.truncate(base);
                self.obey(fiber, control)
            }
            Run::Lisp(source) => {
                let closure = self.prelude_function(id, source)?;
                self.enter(fiber, closure, count)?;
                Ok(Called::Frame)
            }
        }
    }

    pub(super) fn obey(&mut self, fiber: &mut Fiber, control: Control) -> Result<Called, Fault> {
        Ok(match control {
            Control::Value(value) => Called::Value(value),
            Control::Return(value) => Called::Stop(FiberStop::Return(value)),
            Control::Fail(value) => Called::Stop(FiberStop::Fail(value)),
            Control::Tool { name, args } => Called::Stop(FiberStop::Tool { name, args }),
            Control::Parallel(branches) => Called::Stop(FiberStop::Parallel(branches)),
            Control::Call { function, args } => {
                // A call of `apply` by `apply` would go one deeper here, so it begins as a frame.
                fiber.frames.push(Frame::Call { function, args });
                Called::Frame
            }
        })
    }

    pub(super) fn begin_each(
        &mut self,
        fiber: &mut Fiber,
        (id, row): (BuiltinId, &Row),
        args: Vec<Value>,
        plan: builtins::EachPlan,
    ) -> Result<Called, Fault> {
        check_function(&plan.function, row.name)?;
        let mut sources = Vec::with_capacity(plan.sources.len());
        for source in plan.sources {
            sources.push(Cursor::over(source, &mut self.context.meter)?);
        }
        let frame = EachFrame {
            id,
            args,
            function: plan.function,
            sources,
            results: Vec::new(),
            stop: plan.stop,
            waits: false,
        };
        fiber.frames.push(Frame::Each(Box::new(frame)));
        Ok(Called::Frame)
    }

    pub(super) fn begin_fold(
        &mut self,
        fiber: &mut Fiber,
        name: &str,
        plan: builtins::FoldPlan,
    ) -> Result<Called, Fault> {
        check_function(&plan.function, name)?;
        let mut source = Cursor::over(plan.source, &mut self.context.meter)?;
        let result = match plan.start {
            Some(start) => start,
            None => match source.next(&mut self.context.meter)? {
                Some(first) => first,
                // Without elements the function gives the result for none.
                None => return self.obey(fiber, Control::Call { function: plan.function, args: Vec::new() }),
            },
        };
        let frame = FoldFrame { function: plan.function, result, source, shape: plan.shape, waits: false };
        fiber.frames.push(Frame::Fold(Box::new(frame)));
        Ok(Called::Frame)
    }

    /// Begins a function of a program with the top `count` operands as its arguments.
    pub(super) fn enter(&mut self, fiber: &mut Fiber, closure: Arc<Closure>, count: usize) -> Result<(), Fault> {
        let frame = self.begin_call(fiber, closure, count, fiber.frames.len())?;
        fiber.frames.push(Frame::Code(frame));
        Ok(())
    }

    /// The frame of a function of a program with the top `count` operands as its arguments. `frames` are below it.
    pub(super) fn begin_call(
        &mut self,
        fiber: &mut Fiber,
        closure: Arc<Closure>,
        count: usize,
        frames: usize,
    ) -> Result<CodeFrame, Fault> {
        self.context.meter.work(cost::CALL)?;
        let Some(function) = closure.function() else { return Err(Fault::eval("this function has no program")) };
        let Some((number, arity)) = function.arity(count) else { return Err(wrong_arity(function, count)) };
        let base = fiber.stack.len().saturating_sub(count);
        if arity.takes_rest {
            let rest = fiber.pop_many(count.saturating_sub(arity.required));
            self.context.meter.allocate(rest.len().saturating_mul(cost::SLOT))?;
            fiber.push(if rest.is_empty() { Value::Nil } else { Value::list(rest) });
        }
        let top = base.saturating_add(arity.locals);
        self.make_room(fiber, top, frames)?;
        Ok(CodeFrame { closure, arity: number, at: 0, base, forms: fiber.forms.len() })
    }

    /// Begins the call of a frame anew with the top operands, as [`Machine::begin_call`] began it.
    #[inline]
    pub(super) fn begin_again(&mut self, fiber: &mut Fiber, frame: &mut CodeFrame, frames: usize) -> Result<(), Fault> {
        self.context.meter.work(cost::CALL)?;
        frame.at = 0;
        frame.forms = fiber.forms.len();
        let locals = frame.steps().map_or(0, |arity| arity.locals);
        self.make_room(fiber, frame.base.saturating_add(locals), frames)
    }

    /// Makes room for the locals of a call up to `top`, with so many frames below it.
    #[inline]
    fn make_room(&mut self, fiber: &mut Fiber, top: usize, frames: usize) -> Result<(), Fault> {
        // Operands beyond the locals are few: a step pushes one.
        let depth = top.saturating_mul(cost::SLOT).saturating_add(frames.saturating_mul(cost::OBJECT));
        if depth > fiber.deepest {
            self.context.meter.allocate(depth.saturating_sub(fiber.deepest))?;
            fiber.deepest = depth;
        }
        if fiber.stack.len() < top {
            fiber.stack.resize(top, Value::Nil);
        }
        Ok(())
    }

    /// Calls what looks things up: keywords, maps, sets, vectors.
    pub(super) fn look_up(&mut self, function: &Value, args: &[Value]) -> Result<Value, Fault> {
        let meter = &mut self.context.meter;
        let found = match (function, args) {
            (Value::Keyword(_) | Value::Symbol(_), [coll] | [coll, _]) => lookup(coll, function, meter)?,
            (Value::Map(_), [key] | [key, _]) | (Value::Set(_), [key]) => lookup(function, key, meter)?,
            (Value::Vector(_), [index]) if !matches!(index, Value::Int(_)) => {
                let message = format!("a vector called as a function takes an index, not {}", index.type_phrase());
                return Err(Fault::of_type(message).help(
                    "for the values of several keys write `(juxt :a :b)`, and for a path `(get-in map [:a :b])`",
                ));
            }
            (Value::Vector(_), [index]) => match nth(&mut self.context, function, index)? {
                Some(element) => Some(element),
                None => {
                    return Err(Fault::eval("this vector has no element at that index")
                        .help("use `get`, which gives nil or a default"));
                }
            },
            (Value::Keyword(_) | Value::Symbol(_) | Value::Map(_) | Value::Set(_) | Value::Vector(_), _) => {
                let message =
                    format!("{} called as a function doesn't take {} arguments", function.type_phrase(), args.len());
                let usage = if matches!(function, Value::Keyword(_) | Value::Symbol(_)) {
                    format!("call it with a map, and a default if you want: `({function:?} map default)`")
                } else {
                    String::from("call it with one key: `(coll key)`; for several keys use `select-keys` or `juxt`")
                };
                return Err(Fault::new(Reason::ArityError, message).help(usage));
            }
            (other, _) => return Err(not_a_function(other)),
        };
        Ok(found.unwrap_or_else(|| args.get(1).cloned().unwrap_or_default()))
    }
}

fn not_a_function(value: &Value) -> Fault {
    Fault::of_type(format!("{} is called like a function", value.type_phrase()))
        .help("the first element of a list in round brackets is called; write data as a vector, `[…]`")
}

/// `name` is the function that is given another one to call.
fn check_function(function: &Value, name: &str) -> Result<(), Fault> {
    if function.is_callable() {
        return Ok(());
    }
    Err(Fault::of_type(format!("`{name}` takes a function, not {}", function.type_phrase())))
}

fn wrong_arity(function: &crate::code::Function, count: usize) -> Fault {
    let name = function.name.as_ref().map_or_else(|| String::from("this function"), |name| format!("`{name}`"));
    let mut takes = Vec::new();
    for arity in &function.arities {
        let more = if arity.takes_rest { " or more" } else { "" };
        takes.push(format!("{}{more}", arity.required));
    }
    let plural = if takes.len() == 1 && takes.first().is_some_and(|only| only == "1") { "" } else { "s" };
    let help = match (function.arities.as_slice(), count) {
        ([only], _) if function.is_short && only.required == 0 => {
            String::from("`%` is its argument; write `#(f %)`, or `(fn [_] …)` if the argument doesn't matter")
        }
        ([only], 1) if only.required == 2 && !function.is_short => {
            String::from("take a pair, such as a map's entry, apart in the parameters: `(fn [[key value]] …)`")
        }
        ([only], 2) if only.required == 1 => {
            String::from("`reduce` and its like give it the result so far and the next element: `(fn [result x] …)`")
        }
        _ => String::from("call it with as many arguments as it has parameters; `[a & more]` takes one or more"),
    };
    let message = format!("{name} takes {} argument{plural}, not {count}", takes.join(" or "));
    Fault::new(Reason::ArityError, message).help(help)
}
