//! The machine around the objects: inputs, counts, fibers and calls.

use super::{
    StateError, TABLE_SUM,
    input::Input,
    limit_numbers,
    objects::{Objects, read_array, read_builtin, read_labels, tag},
    programs::Programs,
};
use crate::{
    builtins::{self, Cursor, FoldShape, Run},
    context::{Context, Inputs},
    error::{Fault, Reason},
    flow::FlowState,
    limits::{Limits, Meter},
    machine::{
        CallId, Machine, PendingCall, ToolAnswer,
        frame::{CodeFrame, EachFrame, Fiber, FoldFrame, Frame},
        scopes::OpenForm,
    },
    value::{Flow, Labels, Value},
};
use alloc::{
    boxed::Box,
    collections::{BTreeSet, VecDeque},
    string::String,
    sync::Arc,
    vec,
    vec::Vec,
};

type Read<T> = Result<T, StateError>;

const NO_FIBERS: StateError = StateError::Malformed("the running parts do not fit together");
const NO_FRAME: StateError = StateError::Malformed("a frame isn't one of its function");

pub(super) fn read_machine(body: &[u8], limits: &Limits) -> Read<Machine> {
    let mut input = Input::new(body);
    if u64::from_le_bytes(read_array(&mut input)?) != TABLE_SUM {
        return Err(StateError::OtherVersion);
    }
    for number in limit_numbers(limits) {
        if input.number()? != number {
            return Err(StateError::OtherLimits);
        }
    }
    let labels = read_labels(&mut input)?;
    let programs = Programs::read(&mut input, limits)?;
    let mut objects = Objects::of_programs(&programs, *limits, body.len(), labels.flows());
    objects.read(&mut input)?;
    let mut reader = Reader { input, objects };
    let context = reader.context(limits, labels)?;
    let next_call = reader.input.number()?;
    let exchanged = reader.values()?;
    let fibers = reader.fibers()?;
    let ready: Vec<usize> = reader.input.list(Input::size)?;
    let calls = reader.calls()?;
    if !reader.input.is_empty() {
        return Err(StateError::Malformed("it goes on after its end"));
    }
    drop(reader);
    check_fibers(&fibers, &ready, &calls, limits)?;
    if calls.iter().any(|pending| pending.id.0 >= next_call) {
        return Err(NO_FIBERS);
    }
    let program = Arc::clone(programs.main().ok_or(NO_FIBERS)?);
    let mut machine = Machine {
        program,
        committed: context.inputs.memory.clone(),
        context,
        fibers,
        ready: VecDeque::from(ready),
        calls,
        next_call,
        exchanged,
        prelude: programs.prelude,
        end: None,
        end_flow: Flow::NONE,
    };
    machine.mind_labels();
    Ok(machine)
}

struct Reader<'a, 'p> {
    input: Input<'a>,
    objects: Objects<'p>,
}

impl Reader<'_, '_> {
    fn value(&mut self) -> Read<Value> {
        self.objects.value(&mut self.input)
    }

    fn flow(&mut self) -> Read<Flow> {
        self.objects.flow(&mut self.input)
    }

    fn values(&mut self) -> Read<Vec<Value>> {
        self.objects.values(&mut self.input)
    }

    fn context(&mut self, limits: &Limits, labels: Labels) -> Read<Context> {
        let [context, memory, budget] = [self.value()?, self.value()?, self.value()?];
        let history = [self.value()?, self.value()?, self.value()?];
        let inputs = Inputs { context, memory, history, budget };
        let memory = self.objects.map(&mut self.input)?;
        let counts = (self.input.number()?, self.input.size()?, self.input.size()?);
        let (tool_calls, printed) = (self.input.size()?, self.input.size()?);
        let output = String::from(self.input.text()?);
        let meter = Meter::with_counts(*limits, counts);
        let [met, floor, spine, shown] = [self.flow()?, self.flow()?, self.flow()?, self.flow()?];
        let flow = FlowState { labels, met, floor, memory: spine, output: shown, ..FlowState::default() };
        Ok(Context { meter, inputs, memory, tool_calls, output, printed, flow })
    }

    fn fibers(&mut self) -> Read<Vec<Option<Fiber>>> {
        let count = self.input.count()?;
        let mut fibers = Vec::new();
        for _ in 0..count {
            let fiber = if self.input.flag()? { Some(self.fiber()?) } else { None };
            fibers.push(fiber);
        }
        Ok(fibers)
    }

    fn fiber(&mut self) -> Read<Fiber> {
        let stack = self.values()?;
        let parent = if self.input.flag()? { Some((self.input.size()?, self.input.size()?)) } else { None };
        let answer = self.answer()?;
        let deepest = self.input.size()?;
        let pc = self.flow()?;
        let forms = self.forms(stack.len())?;
        let count = self.input.count()?;
        let mut frames = Vec::new();
        for _ in 0..count {
            frames.push(self.frame(stack.len(), forms.len())?);
        }
        // Locals begin where those of the frame below do or later.
        let bases =
            frames.iter().filter_map(|frame| if let Frame::Code(frame) = frame { Some(frame.base) } else { None });
        if !bases.is_sorted() {
            return Err(NO_FRAME);
        }
        Ok(Fiber { stack, frames, pc, forms, parent, answer, has_ended: false, deepest })
    }

    /// Open forms above so many operands.
    fn forms(&mut self, operands: usize) -> Read<Vec<OpenForm>> {
        let count = self.input.count()?;
        let mut forms = Vec::new();
        for _ in 0..count {
            let end = self.input.size()?.wrapping_sub(1);
            let below = self.input.size()?;
            let (before, flow) = (self.flow()?, self.flow()?);
            let (locals, has_more) = (self.input.number()?, self.input.flag()?);
            if below > operands || flow.is_none() {
                return Err(NO_FRAME);
            }
            forms.push(OpenForm { end, operands: below, before, flow, locals, has_more });
        }
        Ok(forms)
    }

    fn answer(&mut self) -> Read<Option<ToolAnswer>> {
        Ok(match self.input.byte()? {
            tag::ANSWER_NONE => None,
            tag::ANSWER_VALUE => Some(ToolAnswer::Value(self.value()?)),
            tag::ANSWER_PROBLEM => Some(ToolAnswer::Problem(self.fault()?)),
            _ => return Err(StateError::Malformed("there is no such kind of answer")),
        })
    }

    fn fault(&mut self) -> Read<Fault> {
        let reason = Reason::ALL.get(self.input.size()?).copied();
        let reason = reason.ok_or(StateError::Malformed("there is no such reason"))?;
        let message = self.input.text()?;
        let help = if self.input.flag()? { Some(self.input.text()?) } else { None };
        Ok(Fault::from_parts(reason, message, help, self.input.flag()?))
    }

    fn calls(&mut self) -> Read<Vec<PendingCall>> {
        let count = self.input.count()?;
        let mut calls = Vec::new();
        for _ in 0..count {
            let id = CallId(self.input.number()?);
            let name = self.objects.text(&mut self.input)?;
            let args = self.value()?;
            let (pc, floor) = (self.flow()?, self.flow()?);
            let fiber = self.input.size()?;
            let answer = self.answer()?;
            calls.push(PendingCall { id, name, args, pc, floor, fiber, answer });
        }
        Ok(calls)
    }

    fn cursor(&mut self) -> Read<Cursor> {
        let sequence = self.value()?;
        Cursor::at_place(sequence, self.input.size()?).ok_or(NO_FRAME)
    }

    /// A frame above so many operands, of a fiber with so many open forms.
    fn frame(&mut self, operands: usize, open: usize) -> Read<Frame> {
        match self.input.byte()? {
            tag::FRAME_CODE => {
                let closure = self.objects.closure(&mut self.input)?;
                let (arity, at, base) = (self.input.size()?, self.input.size()?, self.input.size()?);
                let forms = self.input.size()?;
                let frame = CodeFrame { closure, arity, at, base, forms };
                let fits = frame.steps().is_some_and(|steps| {
                    forms <= open
                        && at < steps.ops.len()
                        && base.checked_add(steps.locals).is_some_and(|top| top <= operands)
                });
                if fits { Ok(Frame::Code(frame)) } else { Err(NO_FRAME) }
            }
            tag::FRAME_EACH => self.each().map(|frame| Frame::Each(Box::new(frame))),
            tag::FRAME_FOLD => {
                let (function, result) = (self.value()?, self.value()?);
                let source = self.cursor()?;
                let shape = if self.input.flag()? { FoldShape::KeyValue } else { FoldShape::Element };
                let waits = self.input.flag()?;
                Ok(Frame::Fold(Box::new(FoldFrame { function, result, source, shape, waits })))
            }
            tag::FRAME_CALL => Ok(Frame::Call { function: self.value()?, args: self.values()? }),
            tag::FRAME_PARALLEL => Ok(Frame::Parallel { results: self.values()?, missing: self.input.size()? }),
            tag::FRAME_SCOPE => Ok(Frame::Scope { before: self.flow()?, flow: self.flow()? }),
            _ => Err(NO_FRAME),
        }
    }

    fn each(&mut self) -> Read<EachFrame> {
        let id = read_builtin(&mut self.input)?;
        let args = self.values()?;
        let function = self.value()?;
        let count = self.input.count()?;
        let mut sources = Vec::new();
        for _ in 0..count {
            sources.push(self.cursor()?);
        }
        let results = self.values()?;
        let waits = self.input.flag()?;
        let row = builtins::row(id).filter(|row| row.check_arity(args.len()).is_ok());
        let Some(Run::Each { plan, .. }) = row.map(|row| &row.run) else { return Err(NO_FRAME) };
        let plan = plan(&args);
        if plan.sources.len() != sources.len() || sources.is_empty() {
            return Err(NO_FRAME);
        }
        Ok(EachFrame { id, args, function, sources, results, stop: plan.stop, waits })
    }
}

/// Whether a fiber that can't run waits for its branches.
fn is_waiting_for_branches(fiber: &Fiber) -> bool {
    matches!(fiber.frames.last(), Some(Frame::Parallel { missing, .. }) if *missing > 0)
}

/// Every fiber is ready, waits for a call or waits for its branches, and branches belong to a fiber before them: so each
/// run ends, with what the host is to do.
fn check_fibers(fibers: &[Option<Fiber>], ready: &[usize], calls: &[PendingCall], limits: &Limits) -> Read<()> {
    let mut places = vec![BTreeSet::new(); fibers.len()];
    for (at, fiber) in fibers.iter().enumerate() {
        let Some(fiber) = fiber else { continue };
        let is_main = at == 0;
        if is_main != fiber.parent.is_none() {
            return Err(NO_FIBERS);
        }
        let (_, below) =
            fiber.frames.split_last().unwrap_or((&Frame::Call { function: Value::Nil, args: Vec::new() }, &[]));
        if below.iter().any(|frame| matches!(frame, Frame::Parallel { .. })) {
            return Err(NO_FIBERS);
        }
        if let Some((parent, branch)) = fiber.parent {
            // A parent is before its branches, so no fiber waits for itself by a detour.
            let taken = places.get_mut(parent).filter(|_| parent < at).ok_or(NO_FIBERS)?;
            if !taken.insert(branch) {
                return Err(NO_FIBERS);
            }
        }
    }
    for (fiber, branches) in fibers.iter().zip(&places) {
        let (wanted, room) = match fiber.as_ref().and_then(|fiber| fiber.frames.last()) {
            Some(Frame::Parallel { results, missing }) => (*missing, results.len()),
            _ => (0, 0),
        };
        if branches.len() != wanted || branches.last().is_some_and(|branch| *branch >= room) {
            return Err(NO_FIBERS);
        }
    }
    let ready_ones: BTreeSet<usize> = ready.iter().copied().collect();
    let calling: BTreeSet<usize> = calls.iter().map(|pending| pending.fiber).collect();
    let ids: BTreeSet<CallId> = calls.iter().map(|pending| pending.id).collect();
    let is_open = calls.is_empty() || calls.iter().any(|pending| pending.answer.is_none());
    let are_distinct = ready_ones.len() == ready.len() && calling.len() == calls.len() && ids.len() == calls.len();
    let are_few = fibers.iter().flatten().count() <= limits.parallel_branches.saturating_add(1);
    let has_arguments = calls.iter().all(|pending| matches!(pending.args.unlabelled(), Value::Map(_)));
    if !are_distinct || !is_open || !are_few || !has_arguments || (ready.is_empty() && calls.is_empty()) {
        return Err(NO_FIBERS);
    }
    for (at, fiber) in fibers.iter().enumerate() {
        // Exactly one of the three: a fiber in none would never run again, and one in two would run twice.
        let states =
            [ready_ones.contains(&at), calling.contains(&at), fiber.as_ref().is_some_and(is_waiting_for_branches)];
        let count = states.iter().filter(|state| **state).count();
        let is_answered = fiber.as_ref().is_some_and(|fiber| fiber.answer.is_some());
        if count != usize::from(fiber.is_some()) || (is_answered && !ready_ones.contains(&at)) {
            return Err(NO_FIBERS);
        }
    }
    let all_exist = ready_ones.iter().chain(&calling).all(|at| *at < fibers.len());
    if all_exist && fibers.first().is_some_and(Option::is_some) { Ok(()) } else { Err(NO_FIBERS) }
}
