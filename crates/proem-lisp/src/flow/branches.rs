//! Finds the end of each test's form, and the effects possible before it.
//!
//! A test decides on all steps until the ways from it meet at the end of its form. A `recur` counts as if it went on
//! behind itself, since it ends its form. So steps only go forwards, and forms are in a row: the steps of one are those
//! behind its test, and those behind a place that a `recur` among them goes back to. `:when` goes back by itself, to
//! where the next element is taken. Its form ends there.

use crate::{
    builtins::{self, Run},
    code::{Function, Op, Program},
    resolve::successors,
    value::{BuiltinId, Value},
};
use alloc::{collections::BTreeMap, sync::Arc, vec, vec::Vec};

/// The possible effects of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// They may do what others see: print, call a tool, change the memory, end the program.
    pub(crate) acts: bool,
    /// They may change the memory.
    pub(crate) writes: bool,
    /// They may call functions that aren't known here.
    pub(crate) calls: bool,
    /// They may end a `reduce` early.
    pub(crate) reduces: bool,
}

/// The end of a test's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormEnd {
    /// The step at which all ways meet, or [`FormEnd::FUNCTION`].
    pub(crate) at: usize,
    pub(crate) reach: Reach,
    /// Locals below 64 that may be stored before it, one bit each.
    pub(crate) locals: u64,
    /// Whether others may be stored.
    pub(crate) has_more: bool,
}

impl FormEnd {
    /// The end of the function.
    pub(crate) const FUNCTION: usize = usize::MAX;
}

/// The ends of the forms of one function, by the place of the test.
#[derive(Debug, Default)]
pub(crate) struct Branches(BTreeMap<usize, FormEnd>);

impl Reach {
    pub(crate) const NOTHING: Self = Self { acts: false, writes: false, calls: false, reduces: false };
    /// An unknown function is called.
    pub(crate) const CALLS: Self = Self { calls: true, ..Self::NOTHING };
    const EVERYTHING: Self = Self { acts: true, writes: true, calls: true, reduces: true };

    pub(crate) const fn join(self, other: Self) -> Self {
        Self {
            acts: self.acts || other.acts,
            writes: self.writes || other.writes,
            calls: self.calls || other.calls,
            reduces: self.reduces || other.reduces,
        }
    }
}

/// The possible effects of a function of the table by itself.
fn reach_of_row(id: BuiltinId) -> Reach {
    let Some(row) = builtins::row(id) else { return Reach::EVERYTHING };
    let writes = row.name == "memory/put";
    let acts = writes || matches!(row.name, "println" | "print" | "prn" | "printf" | "call" | "return" | "fail");
    let calls = !acts && !matches!(row.run, Run::Native(_));
    Reach { acts, writes, calls, reduces: row.name == "reduced" }
}

/// The possible effects of a step, with `functions` for those that it makes.
pub(super) fn reach_of_op(program: &Program, op: Op) -> Reach {
    match op {
        Op::Define(_) | Op::DefineFunction(_) | Op::DefineOnce(_) => {
            Reach { acts: true, writes: true, ..Reach::NOTHING }
        }
        Op::Builtin { id, .. } => reach_of_row(id),
        Op::Call(_) => Reach::CALLS,
        // A function as a value may be called by whoever gets it.
        Op::Const(number) => {
            let constant = usize::try_from(number).ok().and_then(|number| program.constants.get(number));
            match constant {
                Some(Value::Builtin(id)) => Reach { calls: false, ..reach_of_row(id.get()) },
                _ => Reach::NOTHING,
            }
        }
        _ => Reach::NOTHING,
    }
}

/// The possible effects of a function's own steps.
pub(crate) fn reach_of(program: &Program, function: &Function) -> Reach {
    let ops = function.arities.iter().flat_map(|arity| &arity.ops);
    ops.fold(Reach::NOTHING, |reach, op| reach.join(reach_of_op(program, *op)))
}

/// The possible effects of calling a value by itself: a function's own steps, or a function of the table.
pub(crate) fn reach_of_value(value: &Value) -> Reach {
    match value {
        Value::Builtin(id) => reach_of_row(id.get()),
        Value::Closure(closure) => {
            closure.function().map_or(Reach::EVERYTHING, |function| reach_of(&closure.program, function))
        }
        Value::Labelled(_) => Reach::CALLS,
        _ => Reach::NOTHING,
    }
}

/// The possible effects of calling any function of a program: one that it makes, or one of the table that it names.
pub(crate) fn reach_of_calls(program: &Program) -> Reach {
    let mut reach = Reach::NOTHING;
    for (number, function) in program.functions.iter().enumerate() {
        if number != program.main {
            reach = reach.join(reach_of(program, function));
        }
    }
    for constant in &program.constants {
        if let Value::Builtin(id) = constant {
            reach = reach.join(reach_of_row(id.get()));
        }
    }
    Reach { calls: false, ..reach }
}

/// The steps behind a step. A step to the end of a loop leads there at once, past the step that names it.
pub(super) fn ways(ops: &[Op], at: usize) -> Vec<usize> {
    let Some(op) = ops.get(at) else { return Vec::new() };
    let next = successors(*op, at).into_iter().flatten();
    next.map(|next| match (op, ops.get(next)) {
        (Op::Next(_), Some(Op::EndOfNext(end))) => usize::try_from(*end).unwrap_or(usize::MAX),
        _ => next,
    })
    .map(|next| next.min(ops.len()))
    .collect()
}

/// The summary of the steps between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Summary {
    reach: Reach,
    locals: u64,
    has_more: bool,
    /// The first step that one of them may go on with.
    lowest: usize,
}

impl Summary {
    const NONE: Self = Self { reach: Reach::NOTHING, locals: 0, has_more: false, lowest: usize::MAX };

    fn join(self, other: Self) -> Self {
        Self {
            reach: self.reach.join(other.reach),
            locals: self.locals | other.locals,
            has_more: self.has_more || other.has_more,
            lowest: self.lowest.min(other.lowest),
        }
    }

    fn store(&mut self, local: u32) {
        match 1_u64.checked_shl(local) {
            Some(bit) => self.locals |= bit,
            None => self.has_more = true,
        }
    }

    fn of(program: &Program, ops: &[Op], at: usize) -> Self {
        let Some(op) = ops.get(at).copied() else { return Self::NONE };
        let mut summary = Self { reach: reach_of_op(program, op), ..Self::NONE };
        match op {
            Op::Store(local) | Op::Append(local) => summary.store(local),
            // The position behind the sequence moves on.
            Op::Next(local) => summary.store(local.saturating_add(1)),
            _ => {}
        }
        summary.lowest = ways(ops, at).into_iter().min().unwrap_or(usize::MAX);
        summary
    }
}

/// The joins of all pieces of a row of summaries, in a tree: the join of any piece takes as many steps as it has levels.
struct Pieces {
    leaves: usize,
    nodes: Vec<Summary>,
}

impl Pieces {
    fn of(program: &Program, ops: &[Op]) -> Self {
        let leaves = ops.len().next_power_of_two();
        let mut nodes = vec![Summary::NONE; leaves];
        nodes.extend((0..ops.len()).map(|at| Summary::of(program, ops, at)));
        nodes.resize(leaves.saturating_mul(2), Summary::NONE);
        let mut pieces = Self { leaves, nodes };
        for at in (1..leaves).rev() {
            let below = at.saturating_mul(2);
            let joined = pieces.node(below).join(pieces.node(below.saturating_add(1)));
            if let Some(node) = pieces.nodes.get_mut(at) {
                *node = joined;
            }
        }
        pieces
    }

    fn node(&self, at: usize) -> Summary {
        self.nodes.get(at).copied().unwrap_or(Summary::NONE)
    }

    /// The join of the steps from `from` up to `to`, without it.
    fn between(&self, from: usize, to: usize) -> Summary {
        let (mut from, mut to) = (from.saturating_add(self.leaves), to.min(self.leaves).saturating_add(self.leaves));
        let mut joined = Summary::NONE;
        while from < to {
            if from & 1 == 1 {
                joined = joined.join(self.node(from));
                from = from.saturating_add(1);
            }
            if to & 1 == 1 {
                to = to.saturating_sub(1);
                joined = joined.join(self.node(to));
            }
            from /= 2;
            to /= 2;
        }
        joined
    }
}

impl Pieces {
    /// The join of the steps from a test up to `until`, and of those behind a place that one of them goes back to. The
    /// test itself counts: it may be a step that also stores. The first number is where they begin.
    fn steps_of_form(&self, at: usize, until: usize) -> (usize, Summary) {
        let mut from = at;
        loop {
            let found = self.between(from, until);
            if found.lowest >= from {
                return (from, found);
            }
            from = found.lowest;
        }
    }
}

impl Branches {
    /// The ends of the forms of a function.
    pub(crate) fn of(program: &Arc<Program>, function: usize, arity: usize) -> Self {
        let arity = program.functions.get(function).and_then(|function| function.arities.get(arity));
        let ops = arity.map_or(&[][..], |arity| &arity.ops);
        let tests: Vec<usize> = (0..ops.len()).filter(|at| ways(ops, *at).len() > 1).collect();
        if tests.is_empty() {
            return Self::default();
        }
        let (forward, pieces) = (Forward::of(ops), Pieces::of(program, ops));
        let mut found = BTreeMap::new();
        for at in tests {
            let (end, all) = match ways(ops, at).into_iter().find(|way| *way <= at) {
                Some(start) => {
                    let last = forward.last_back(start).unwrap_or(ops.len());
                    (start, pieces.steps_of_form(at, last.saturating_add(1)).1)
                }
                None => form_from(at, &forward, &pieces, ops),
            };
            let Summary { reach, locals, has_more, .. } = all;
            let end = if end < ops.len() { end } else { FormEnd::FUNCTION };
            found.insert(at, FormEnd { at: end, reach, locals, has_more });
        }
        Self(found)
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, FormEnd)> {
        self.0.iter().map(|(at, form)| (*at, *form))
    }

    /// The end of the form of the test at this step. The function's end if it isn't known.
    pub(crate) fn end_of(&self, at: usize) -> FormEnd {
        let reach = Reach::EVERYTHING;
        let unknown = FormEnd { at: FormEnd::FUNCTION, reach, locals: u64::MAX, has_more: true };
        self.0.get(&at).copied().unwrap_or(unknown)
    }
}

/// The end of a form and all between. One that a `recur` is in goes on up to the end of its loop: whether there is
/// another round was decided by its test.
fn form_from(at: usize, forward: &Forward, pieces: &Pieces, ops: &[Op]) -> (usize, Summary) {
    let mut end = forward.meeting_point(at);
    loop {
        let (from, all) = pieces.steps_of_form(at, end);
        let of_loop = if from < at { forward.loop_end(from, ops) } else { end };
        if of_loop <= end {
            return (end, all);
        }
        end = of_loop;
    }
}

/// The ways of steps that only go forwards.
struct Forward {
    /// The last step that goes back to each.
    back: BTreeMap<usize, usize>,
    /// For each step the one at which all ways from it meet. The number of steps represents the function's end.
    meets: Vec<usize>,
}

impl Forward {
    fn of(ops: &[Op]) -> Self {
        let mut back = BTreeMap::new();
        for (at, op) in ops.iter().enumerate() {
            if let (Op::Jump(_), [to]) = (op, ways(ops, at).as_slice())
                && *to <= at
            {
                back.insert(*to, at);
            }
        }
        let mut forward = Self { back, meets: vec![ops.len(); ops.len()] };
        // Each step meets behind itself, so those behind it are known.
        for at in (0..ops.len()).rev() {
            let mut meeting = None;
            for way in ways(ops, at) {
                let way = match way <= at {
                    false => way,
                    true if matches!(ops.get(at), Some(Op::Jump(_))) => at.saturating_add(1),
                    true => forward.last_back(way).filter(|last| *last > at).unwrap_or(ops.len()),
                };
                meeting = Some(meeting.map_or(way, |other| forward.nearest_common(other, way)));
            }
            if let Some(slot) = forward.meets.get_mut(at) {
                *slot = meeting.unwrap_or(ops.len());
            }
        }
        forward
    }

    fn last_back(&self, to: usize) -> Option<usize> {
        self.back.get(&to).copied()
    }

    /// The step behind the loop that starts at a step: behind its last `recur`, past steps that only go on there.
    fn loop_end(&self, start: usize, ops: &[Op]) -> usize {
        let Some(last) = self.last_back(start) else { return ops.len() };
        let mut end = last.saturating_add(1);
        while let (Some(Op::Jump(_)), [to]) = (ops.get(end), ways(ops, end).as_slice())
            && *to > end
        {
            end = *to;
        }
        end
    }

    fn meeting_point(&self, at: usize) -> usize {
        self.meets.get(at).copied().unwrap_or(self.meets.len())
    }

    fn nearest_common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if a < b {
                a = self.meeting_point(a);
            } else {
                b = self.meeting_point(b);
            }
        }
        a
    }
}
