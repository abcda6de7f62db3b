//! Where the form of each test ends, and what may happen before.
//!
//! A test decides on all steps until every way from it meets again: that is its immediate postdominator. There its
//! label leaves pc. Forms lie in a row, so the steps between are those behind the test, and those behind a place that
//! a `recur` among them goes back to.

use crate::{
    builtins::{self, Run},
    code::{Function, Op, Program},
    resolve::successors,
    value::{BuiltinId, Value},
};
use alloc::{collections::BTreeMap, sync::Arc, vec, vec::Vec};

/// What steps may do.
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

/// Where the form of a test ends.
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

/// What a function of the table may do by itself.
fn reach_of_row(id: BuiltinId) -> Reach {
    let Some(row) = builtins::row(id) else { return Reach::EVERYTHING };
    let writes = row.name == "memory/put";
    let acts = writes || matches!(row.name, "println" | "print" | "prn" | "printf" | "call" | "return" | "fail");
    let calls = !acts && !matches!(row.run, Run::Native(_));
    Reach { acts, writes, calls, reduces: row.name == "reduced" }
}

/// What a step may do, with `functions` for those that it makes.
fn reach_of_op(program: &Program, op: Op) -> Reach {
    match op {
        Op::Define(_) | Op::DefineFunction(_) | Op::DefineOnce(_) => Reach { acts: true, writes: true, ..Reach::NOTHING },
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

/// What a function's own steps may do.
pub(crate) fn reach_of(program: &Program, function: &Function) -> Reach {
    let ops = function.arities.iter().flat_map(|arity| &arity.ops);
    ops.fold(Reach::NOTHING, |reach, op| reach.join(reach_of_op(program, *op)))
}

/// What calling a value may do by itself: a function's own steps, or a function of the table.
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

/// What calling any function of a program may do: one that it makes, or one of the table that it names.
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

/// What lies between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Summary {
    reach: Reach,
    locals: u64,
    has_more: bool,
    /// The first step that one of them may go on with.
    lowest: usize,
}

impl Summary {
    const NONE: Self = Self {
        reach: Reach::NOTHING,
        locals: 0,
        has_more: false,
        lowest: usize::MAX,
    };

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

    fn of(program: &Program, at: usize, op: Op) -> Self {
        let mut summary = Self { reach: reach_of_op(program, op), ..Self::NONE };
        match op {
            Op::Store(local) | Op::Append(local) => summary.store(local),
            // The position behind the sequence moves on.
            Op::Next(local) => summary.store(local.saturating_add(1)),
            _ => {}
        }
        summary.lowest = successors(op, at).into_iter().flatten().min().unwrap_or(usize::MAX);
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
        nodes.extend(ops.iter().enumerate().map(|(at, op)| Summary::of(program, at, *op)));
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

impl Branches {
    /// The ends of the forms of a function.
    pub(crate) fn of(program: &Arc<Program>, function: usize, arity: usize) -> Self {
        let arity = program.functions.get(function).and_then(|function| function.arities.get(arity));
        let ops = arity.map_or(&[][..], |arity| &arity.ops);
        let is_test = |(at, op): (usize, &Op)| successors(*op, at).iter().flatten().count() > 1;
        if !ops.iter().enumerate().any(is_test) {
            return Self::default();
        }
        let (ends, pieces) = (meeting_points(ops), Pieces::of(program, ops));
        let mut found = BTreeMap::new();
        for (at, _) in ops.iter().enumerate().filter(|(at, op)| is_test((*at, op))) {
            let end = ends.get(at).copied().filter(|end| *end < ops.len());
            let until = end.unwrap_or(ops.len());
            // The test itself counts: it may be a step that also stores.
            let mut from = at;
            let mut all = pieces.between(from, until);
            while all.lowest < from {
                from = all.lowest;
                all = pieces.between(from, until);
            }
            let Summary { reach, locals, has_more, .. } = all;
            found.insert(at, FormEnd { at: end.unwrap_or(FormEnd::FUNCTION), reach, locals, has_more });
        }
        Self(found)
    }

    /// Where the form of the test at this step ends; at the function's end if it isn't known.
    pub(crate) fn end_of(&self, at: usize) -> FormEnd {
        let reach = Reach::EVERYTHING;
        let unknown = FormEnd { at: FormEnd::FUNCTION, reach, locals: u64::MAX, has_more: true };
        self.0.get(&at).copied().unwrap_or(unknown)
    }
}

/// For each step the first one that all ways from it meet at; the number of steps stands for the function's end.
///
/// The algorithm of Cooper, Harvey and Kennedy, on the graph turned round.
fn meeting_points(ops: &[Op]) -> Vec<usize> {
    let exit = ops.len();
    let after = |at: usize| -> Vec<usize> {
        let Some(op) = ops.get(at) else { return Vec::new() };
        let next: Vec<usize> = successors(*op, at).into_iter().flatten().map(|next| next.min(exit)).collect();
        if next.is_empty() { vec![exit] } else { next }
    };
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); exit.saturating_add(1)];
    for at in 0..exit {
        for next in after(at) {
            if let Some(list) = before.get_mut(next) {
                list.push(at);
            }
        }
    }
    let order = order_from(exit, &before);
    let mut rank = vec![usize::MAX; exit.saturating_add(1)];
    for (place, at) in order.iter().enumerate() {
        if let Some(slot) = rank.get_mut(*at) {
            *slot = place;
        }
    }
    let rank_of = |at: usize| rank.get(at).copied().unwrap_or(usize::MAX);
    // Steps that never come to the end keep it as their meeting point.
    let mut meets: Vec<Option<usize>> = vec![None; exit.saturating_add(1)];
    if let Some(slot) = meets.get_mut(exit) {
        *slot = Some(exit);
    }
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for at in order.iter().copied().filter(|at| *at != exit) {
            let mut new = None;
            for next in after(at) {
                if meets.get(next).copied().flatten().is_some() {
                    new = Some(new.map_or(next, |other| nearest_common(other, next, &meets, &rank_of, exit)));
                }
            }
            if let Some(slot) = meets.get_mut(at)
                && *slot != new
            {
                *slot = new;
                has_changed = true;
            }
        }
    }
    meets.into_iter().map(|meet| meet.unwrap_or(exit)).collect()
}

fn nearest_common(
    mut a: usize,
    mut b: usize,
    meets: &[Option<usize>],
    rank: &dyn Fn(usize) -> usize,
    exit: usize,
) -> usize {
    let up = |at: usize| meets.get(at).copied().flatten().unwrap_or(exit);
    while a != b {
        if rank(a) > rank(b) {
            a = up(a);
        } else {
            b = up(b);
        }
    }
    a
}

/// All steps that lead to `exit`, each behind one that it leads to where there is no loop.
fn order_from(exit: usize, before: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; before.len()];
    let mut done = Vec::new();
    let mut open = vec![(exit, 0)];
    if let Some(slot) = seen.get_mut(exit) {
        *slot = true;
    }
    while let Some((at, child)) = open.last_mut() {
        let at = *at;
        let next = before.get(at).and_then(|list| list.get(*child)).copied();
        *child = child.saturating_add(1);
        match next {
            Some(next) => {
                if let Some(slot) = seen.get_mut(next)
                    && !*slot
                {
                    *slot = true;
                    open.push((next, 0));
                }
            }
            None => {
                done.push(at);
                open.pop();
            }
        }
    }
    done.reverse();
    done
}
