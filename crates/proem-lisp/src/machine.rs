//! Runs programs in counted steps, with a state that is plain data.
//!
//! A *fiber* has its own list of frames and its own operands. A program begins with one, and each branch of `pmap` is
//! another. A function that calls functions is a frame of its own ([`frame::EachFrame`], [`frame::FoldFrame`]), so
//! nothing here calls itself. Fibers run one after the other, each until it ends or waits for a tool. When none can
//! run, all calls go to the host.

mod call;
mod commit;
mod frame;
mod iterate;
mod label_steps;
mod labelled_calls;
mod parallel;
mod scopes;
mod snapshot;
mod steps;

use crate::{
    builtins::{self, Row},
    code::{Closure, Program},
    context::{Context, Inputs},
    error::{Fault, Problem, Reason},
    limits::Limits,
    print::print_excerpt,
    resolve::{Names, resolve_source},
    signature::Signature,
    value::{BuiltinId, Census, Flow, Text, Value},
};
use alloc::{
    collections::{BTreeMap, VecDeque},
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};
use frame::{Fiber, Frame};
use proem_text::{Label, Span};
pub use snapshot::{StateError, StateKey};
pub(crate) use steps::no_clause;

/// The number of a tool call, counted from 0 in each program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// A call that the host is asked to make.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// What the answer is given under.
    pub id: CallId,
    /// The tool's name as the program wrote it.
    pub name: Text,
    /// A map of arguments, with their labels: what is secret in them prints as `[Hidden]`. The tool gets what
    /// [`ToolCall::open_arguments`] gives.
    pub args: Value,
    /// The label of each argument, joined over all of it and with that of the map.
    pub labels: BTreeMap<String, Label>,
    /// The label of what decided that the call is made here: branches, loops, and the tool's name.
    pub pc: Label,
    /// The label of all that has decided so far what the program does to the world.
    pub floor: Label,
}

impl ToolCall {
    /// The label of a sink for an argument: its own, of what decided on the call, and of what decided on earlier
    /// effects. A name that isn't there has the label of the call itself.
    #[must_use]
    pub fn sink_label(&self, argument: &str) -> Label {
        let decided = self.pc.join(&self.floor);
        self.labels.get(argument).map_or_else(|| decided.clone(), |label| label.join(&decided))
    }

    /// The arguments without labels, if secrets among them may go to a tool of this signature.
    ///
    /// A secret goes only to a parameter whose name begins with `_`. Where something secret decided on the call, the
    /// tool must have such a parameter at all. A tool without a signature has none.
    ///
    /// # Errors
    ///
    /// [`Reason::FlowDenied`], which names the argument unless its name is secret.
    pub fn open_arguments(&self, signature: Option<&Signature>) -> Result<Value, Fault> {
        let declared = || signature.into_iter().flat_map(Signature::parameters).filter(|name| name.starts_with('_'));
        // Names may be made of secrets too.
        let tool = if self.pc.is_secret() { String::from("a tool") } else { format!("the tool `{}`", self.name) };
        let has_secret_names = self.args.own_label().is_secret();
        for (name, label) in &self.labels {
            if label.is_secret() && !declared().any(|parameter| parameter == name) {
                let which =
                    if has_secret_names { String::from("an argument") } else { format!("the argument `{name}`") };
                return Err(Fault::new(Reason::FlowDenied, format!("{which} of {tool} is secret"))
                    .help("secrets go only to parameters whose name begins with `_`; leave it out"));
            }
        }
        if (self.pc.is_secret() || self.floor.is_secret()) && declared().next().is_none() {
            let help = "call it before and outside of branches on secrets; \
                        there only tools with a parameter whose name begins with `_` are called";
            return Err(
                Fault::new(Reason::FlowDenied, format!("something secret decided whether {tool} is called")).help(help)
            );
        }
        Ok(self.args.without_labels())
    }
}

/// What came of a tool call.
#[derive(Debug, Clone)]
pub enum ToolAnswer {
    /// The tool's result.
    Value(Value),
    /// The program ends with this problem: an unknown tool or one that failed.
    Problem(Fault),
}

impl ToolAnswer {
    /// There is no such tool. `help` says what may have been meant.
    #[must_use]
    pub fn unknown_tool(name: &str, help: &str) -> Self {
        Self::Problem(Fault::new(Reason::UnknownTool, format!("there is no tool `{name}`")).help(help))
    }

    /// The tool failed.
    #[must_use]
    pub fn tool_error(name: &str, message: &str) -> Self {
        Self::Problem(Fault::new(Reason::ToolError, format!("the tool `{name}` failed: {message}")))
    }

    /// The call has no result for another reason.
    #[must_use]
    pub fn refused(reason: Reason, message: &str) -> Self {
        Self::Problem(Fault::new(reason, message))
    }
}

/// Why the machine stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The program's value, after what a map of `:return` says.
    Done(Value),
    /// The program ended by `return`.
    Return(Value),
    /// The program ended by `fail`.
    Fail(Value),
    /// The host is to make these calls and answer all of them.
    CallTools(Vec<ToolCall>),
    /// The fuel of this run is used, that of the program isn't.
    OutOfFuel,
    /// The program can't go on.
    Error(Problem),
}

/// A program that runs.
#[derive(Debug)]
pub struct Machine {
    program: Arc<Program>,
    context: Context,
    fibers: Vec<Option<Fiber>>,
    /// Fibers that can run, the next one first.
    ready: VecDeque<usize>,
    calls: Vec<PendingCall>,
    next_call: u64,
    /// All arguments and answers of tools, so that whether a value changes in place never depends on what the host keeps.
    exchanged: Vec<Value>,
    /// Functions of the table that are written in the language, compiled when first called.
    prelude: BTreeMap<BuiltinId, Arc<Closure>>,
    committed: Value,
    end: Option<Outcome>,
    /// The label of the problem that ended it.
    end_flow: Flow,
}

/// A call that the host was asked to make.
#[derive(Debug)]
struct PendingCall {
    id: CallId,
    name: Text,
    args: Value,
    /// The labels at the call: of what decided on it, and of the floor.
    pc: Flow,
    floor: Flow,
    fiber: usize,
    answer: Option<ToolAnswer>,
}

impl PendingCall {
    fn to_call(&self) -> ToolCall {
        let spine = self.args.flow().to_label();
        let entries = self.args.unlabelled().entries();
        let labels = entries.map(|(name, value)| (argument_name(name), value.label().join(&spine))).collect();
        let (pc, floor) = (self.pc.to_label(), self.floor.to_label());
        ToolCall { id: self.id, name: self.name.clone(), args: self.args.clone(), labels, pc, floor }
    }
}

/// The name of an argument as a host has it. Of a key that is none its text.
fn argument_name(key: &Value) -> String {
    key.as_str().map_or_else(|| print_excerpt(key, 80), String::from)
}

impl Machine {
    /// A machine at the start of a program.
    #[must_use]
    pub fn new(program: Arc<Program>, inputs: Inputs, limits: Limits) -> Self {
        let committed = inputs.memory.clone();
        let main = Frame::code(Arc::new(Closure::main(Arc::clone(&program))), 0, 0);
        let mut fiber = Fiber::default();
        let locals = program.functions.get(program.main).and_then(|main| main.arities.first());
        fiber.stack.resize(locals.map_or(0, |arity| arity.locals), Value::Nil);
        fiber.frames.push(main);
        let mut machine = Self {
            program,
            context: Context::new(inputs, limits),
            fibers: alloc::vec![Some(fiber)],
            ready: VecDeque::from([0]),
            calls: Vec::new(),
            next_call: 0,
            exchanged: Vec::new(),
            prelude: BTreeMap::new(),
            committed,
            end: None,
            end_flow: Flow::NONE,
        };
        machine.meet_inputs();
        machine
    }

    #[cfg(test)]
    pub(crate) fn set_label_of_constants(&mut self, label: &Label) {
        self.context.flow.of_constants = Flow::of(label);
    }

    /// Takes note of the labels of what the host gave at the start.
    fn meet_inputs(&mut self) {
        let Inputs { context, memory, history, budget } = &self.context.inputs;
        for value in [context, memory, budget].into_iter().chain(history) {
            self.context.flow.meet(value);
        }
        self.mind_labels();
    }

    /// Minds labels from now on if any were met.
    fn mind_labels(&mut self) {
        let Inputs { context, memory, history, budget } = &self.context.inputs;
        let given: Vec<&Value> = [context, memory, budget].into_iter().chain(history).collect();
        self.context.flow.turn_on_if_met(&self.program, &given);
    }

    /// Runs until the program ends, needs tools, or has used `fuel` more units.
    ///
    /// Running in pieces gives what running at once gives. After the end the same outcome is given again.
    pub fn run(&mut self, fuel: u64) -> Outcome {
        if let Some(end) = &self.end {
            return end.clone();
        }
        self.context.meter.allow(fuel);
        loop {
            let Some(at) = self.ready.front().copied() else {
                return self.unanswered_calls();
            };
            if self.context.meter.is_paused() {
                return Outcome::OutOfFuel;
            }
            let Some(mut fiber) = self.fibers.get_mut(at).and_then(Option::take) else {
                self.ready.pop_front();
                continue;
            };
            let stop = self.run_fiber(&mut fiber);
            let stop = stop.and_then(|stop| self.after_run(at, &mut fiber, stop));
            match stop {
                Ok(None) => {}
                Ok(Some(end)) => {
                    self.end = Some(end.clone());
                    return end;
                }
                Err(fault) => {
                    let fault = match self.prelude_caller(&fiber) {
                        Some(row) => row.explain(fault),
                        None => fault,
                    };
                    let end = Outcome::Error(self.problem(&fiber, fault));
                    self.end = Some(end.clone());
                    return end;
                }
            }
            if let Some(place) = self.fibers.get_mut(at)
                && !fiber.has_ended
            {
                *place = Some(fiber);
            }
        }
    }

    fn unanswered_calls(&mut self) -> Outcome {
        let open = self.calls.iter().filter(|call| call.answer.is_none()).map(PendingCall::to_call);
        Outcome::CallTools(open.collect())
    }

    /// Gives the answer to a call. When all are there, `run` goes on. An id that isn't open is ignored.
    ///
    /// A replay gives values in which the same parts are shared, as reading the same JSON does.
    pub fn answer(&mut self, id: CallId, answer: ToolAnswer) {
        if let Some(pending) = self.calls.iter_mut().find(|pending| pending.id == id) {
            pending.answer.get_or_insert(answer);
        }
        if self.calls.iter().any(|pending| pending.answer.is_none()) {
            return;
        }
        for mut pending in core::mem::take(&mut self.calls) {
            // What a tool answers depends on what it was asked, and on whether it was.
            let is_unknown =
                matches!(&pending.answer, Some(ToolAnswer::Problem(fault)) if fault.reason() == Reason::UnknownTool);
            let args = if is_unknown { Label::trusted() } else { pending.args.label() };
            let asked = args.join(&pending.pc.to_label());
            if let Some(ToolAnswer::Value(value)) = &mut pending.answer {
                *value = core::mem::take(value).labelled(&asked);
                self.exchanged.push(value.clone());
                self.context.flow.meet(value);
            }
            if let Some(Some(fiber)) = self.fibers.get_mut(pending.fiber) {
                if let Some(ToolAnswer::Problem(_)) = &pending.answer {
                    let asked = Flow::of(&asked);
                    self.context.flow.labels.meet(&asked);
                    self.context.flow.labels.join_into(&mut fiber.pc, &asked);
                }
                fiber.answer = pending.answer;
                self.ready.push_back(pending.fiber);
            }
        }
        self.mind_labels();
    }

    /// The label of what the program ended with: of its value at any depth, or of what its problem tells.
    #[must_use]
    pub fn end_label(&self) -> Label {
        match &self.end {
            Some(Outcome::Done(value) | Outcome::Return(value) | Outcome::Fail(value)) => value.label(),
            _ => self.end_flow.to_label(),
        }
    }

    /// The label of all that the program has printed so far, and of what decided on it.
    #[must_use]
    pub fn output_label(&self) -> Label {
        self.context.flow.output.to_label()
    }

    /// The label of all that came in. Fuel, bytes and time used depend on all of it, so they are shown to nobody once it
    /// is secret.
    #[must_use]
    pub fn work_label(&self) -> Label {
        self.context.flow.met.to_label()
    }

    /// The label of all tests that have decided on forms which may act.
    #[must_use]
    pub fn floor(&self) -> Label {
        self.context.flow.floor.to_label()
    }

    /// A fault as a problem at its place. If secrets had a part in it, only its kind and the outermost line are told.
    fn problem(&mut self, fiber: &Fiber, fault: Fault) -> Problem {
        let state = &mut self.context.flow;
        let decided = state.decided(&fiber.pc);
        self.end_flow = state.labels.join(&decided, &state.at_hand);
        if !self.end_flow.is_secret() {
            return fault.at(self.place_of(fiber));
        }
        let mut problem = labelled_calls::hidden_fault(&fault).at(self.outermost_line(fiber));
        problem.is_hidden = true;
        problem
    }

    /// The line of the program itself that a fiber, or the one that it belongs to, has come to.
    fn outermost_line(&self, fiber: &Fiber) -> Span {
        let main = if fiber.parent.is_none() { Some(fiber) } else { self.fibers.first().and_then(Option::as_ref) };
        let frames = main.map_or(&[][..], |fiber| &fiber.frames);
        let place = frames.iter().find_map(|frame| frame.place_in(&self.program)).unwrap_or_default();
        let source = self.program.source();
        let before = source.get(..place.start).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let rest = source.get(start..).unwrap_or_default();
        Span::new(start, start.saturating_add(rest.find('\n').unwrap_or(rest.len())))
    }

    /// Where in the program an unanswered call is.
    #[must_use]
    pub fn call_place(&self, id: CallId) -> Option<Span> {
        let pending = self.calls.iter().find(|pending| pending.id == id)?;
        self.fibers.get(pending.fiber)?.as_ref().map(|fiber| self.place_of(fiber))
    }

    /// What the program printed since this was last asked.
    pub fn take_output(&mut self) -> String {
        self.context.take_output()
    }

    /// The source of the program, to which the places of its problems refer.
    #[must_use]
    pub fn source(&self) -> &str {
        self.program.source()
    }

    /// The memory: as given until the program succeeds, then as it left it.
    #[must_use]
    pub const fn memory(&self) -> &Value {
        &self.committed
    }

    /// Units of fuel used so far.
    #[must_use]
    pub const fn fuel_used(&self) -> u64 {
        self.context.meter.fuel_used()
    }

    /// Bytes of values alive, or allocated since they were last counted.
    #[must_use]
    pub const fn bytes_used(&self) -> usize {
        self.context.meter.bytes_used()
    }

    /// Tool calls made so far.
    #[must_use]
    pub const fn tool_calls(&self) -> usize {
        self.context.tool_calls
    }

    /// The place in the program that a fiber has come to, or that its parent has.
    fn place_of(&self, fiber: &Fiber) -> Span {
        let mut fiber = Some(fiber);
        while let Some(current) = fiber {
            if let Some(span) = current.frames.iter().rev().find_map(|frame| frame.place_in(&self.program)) {
                return span;
            }
            fiber = current.parent.and_then(|(parent, _)| self.fibers.get(parent)).and_then(Option::as_ref);
        }
        Span::new(0, 0)
    }

    /// The function written in the language that a program called and that the fiber is in.
    fn prelude_caller(&self, fiber: &Fiber) -> Option<&'static Row> {
        let closures = fiber.frames.iter().rev().filter_map(Frame::closure);
        let called = closures.take_while(|closure| closure.program.prelude.is_some()).last()?;
        let (id, _) = self.prelude.iter().find(|(_, closure)| Arc::ptr_eq(closure, called))?;
        builtins::row(*id)
    }

    /// Counts what is alive if so much was allocated that it is worth it.
    fn count_if_due(&mut self, fiber: &Fiber) -> Result<(), Fault> {
        if !self.context.meter.is_count_due() {
            return Ok(());
        }
        let mut census = Census::default();
        let inputs = &self.context.inputs;
        for value in [&inputs.context, &inputs.memory, &inputs.budget, &self.committed] {
            census.add(value);
        }
        inputs.history.iter().chain(&self.exchanged).for_each(|value| census.add(value));
        census.add(&Value::Map(Arc::clone(&self.context.memory)));
        let mut stacks: usize = 0;
        for fiber in self.fibers.iter().flatten().chain(core::iter::once(fiber)) {
            fiber.visit_values(&mut |value| census.add(value));
            stacks = stacks.saturating_add(fiber.deepest);
        }
        let visited = census.visited();
        let alive = census.bytes().saturating_add(stacks);
        self.context.meter.set_bytes_alive(alive);
        self.context.meter.elements(visited)
    }

    /// A function of the table that is written in the language.
    fn prelude_function(&mut self, id: BuiltinId, source: &str) -> Result<Arc<Closure>, Fault> {
        if let Some(closure) = self.prelude.get(&id) {
            return Ok(Arc::clone(closure));
        }
        let closure = prelude_closure(id, source)?;
        self.prelude.insert(id, Arc::clone(&closure));
        Ok(closure)
    }
}

/// A function of the table from its source.
fn prelude_closure(id: BuiltinId, source: &str) -> Result<Arc<Closure>, Fault> {
    let resolved = resolve_source(source, &Names::default(), &Limits::default());
    // The tests compile every row, so this doesn't happen.
    let mut program = resolved.map_err(|problems| {
        let first = problems.first().map(|problem| problem.diagnostic.message.clone());
        Fault::eval(first.unwrap_or_default())
    })?;
    program.prelude = Some(id);
    // The source is one `fn` form, made before the program's own function.
    let function = program.main.saturating_sub(1);
    let captures = crate::value::Chunk::new(Vec::new());
    Ok(Arc::new(Closure { program: Arc::new(program), function, captures }))
}
