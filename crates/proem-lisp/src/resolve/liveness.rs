//! Finds where a local is read for the last time, so that the step can take the value out.
//!
//! A value that nobody else holds changes in place: `(recur (conj out x))` appends instead of
//! copying. This is the usual backward analysis of liveness, over the steps of one function. Locals
//! beyond the first 64 and functions with very many loops keep all their reads.

use crate::code::{Capture, Function, Op};
use alloc::{vec, vec::Vec};

/// Locals that have a bit.
const FOLLOWED: u32 = u64::BITS;

/// Rounds after which a function is left as it is: one for each level of loops, and two.
const MOST_ROUNDS: usize = 16;

/// Turns the last reads of locals into steps that take them.
pub(super) fn take_last_reads(ops: &mut [Op], functions: &[Function]) {
    let Some(live) = live_after(ops, functions) else { return };
    for (op, live) in ops.iter_mut().zip(live) {
        if let Op::Local(local) = *op
            && local < FOLLOWED
            && live & bit(local) == 0
        {
            *op = Op::TakeLocal(local);
        }
    }
}

/// For each step the locals that are read later, before they are stored.
fn live_after(ops: &[Op], functions: &[Function]) -> Option<Vec<u64>> {
    let effects: Vec<(u64, u64)> = ops.iter().map(|op| effects(*op, functions)).collect();
    let mut before = vec![0_u64; ops.len().saturating_add(2)];
    let mut after = vec![0_u64; ops.len()];
    for _ in 0..MOST_ROUNDS {
        let mut has_changed = false;
        for (at, op) in ops.iter().enumerate().rev() {
            let live = successors(*op, at)
                .into_iter()
                .flatten()
                .fold(0, |live, next| live | before.get(next).copied().unwrap_or_default());
            let (read, stored) = effects.get(at).copied().unwrap_or_default();
            let needed = (live & !stored) | read;
            *after.get_mut(at)? = live;
            let place = before.get_mut(at)?;
            has_changed |= *place != needed;
            *place = needed;
        }
        if !has_changed {
            return Some(after);
        }
    }
    None
}

/// The steps that may follow a step.
pub(crate) fn successors(op: Op, at: usize) -> [Option<usize>; 2] {
    let next = at.saturating_add(1);
    let target = |label: u32| usize::try_from(label).ok();
    match op {
        Op::Return | Op::NoClause => [None, None],
        Op::Jump(label) | Op::EndOfNext(label) => [target(label), None],
        Op::JumpIfFalse(label) | Op::JumpIfFalseElsePop(label) | Op::JumpIfTrueElsePop(label) | Op::Lookup(label) => {
            [Some(next), target(label)]
        }
        // The step behind leads to the end.
        Op::Next(_) | Op::DefineOnce(_) => [Some(next), Some(next.saturating_add(1))],
        _ => [Some(next), None],
    }
}

/// The locals that a step reads, and those that it stores.
fn effects(op: Op, functions: &[Function]) -> (u64, u64) {
    match op {
        Op::Local(local) | Op::Append(local) => (bit(local), 0),
        Op::LocalField { local, .. } => (bit(u32::from(local)), 0),
        Op::Next(local) => (bit(local) | bit(local.saturating_add(1)), 0),
        Op::Store(local) => (0, bit(local)),
        Op::Closure(number) => {
            let function = usize::try_from(number).ok().and_then(|number| functions.get(number));
            let captures = function.map_or(&[][..], |function| &function.captures);
            let read = captures.iter().fold(0, |read, capture| match capture {
                Capture::Local(local) => read | bit(*local),
                Capture::Captured(_) | Capture::Myself => read,
            });
            (read, 0)
        }
        _ => (0, 0),
    }
}

/// No bit for a local that isn't followed: nothing is taken from it.
fn bit(local: u32) -> u64 {
    1_u64.checked_shl(local).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_read_on_each_path_takes() {
        // 0: if local 1 then push local 0 else push local 0. Then local 1 again.
        let mut ops =
            [Op::Local(1), Op::JumpIfFalse(4), Op::Local(0), Op::Jump(5), Op::Local(0), Op::Local(1), Op::Return];
        take_last_reads(&mut ops, &[]);
        assert_eq!(ops.first(), Some(&Op::Local(1)));
        assert_eq!(ops.get(2), Some(&Op::TakeLocal(0)));
        assert_eq!(ops.get(4), Some(&Op::TakeLocal(0)));
        assert_eq!(ops.get(5), Some(&Op::TakeLocal(1)));
    }

    #[test]
    fn a_loop_keeps_what_its_next_round_reads() {
        let mut ops = [Op::Local(0), Op::Local(1), Op::Store(1), Op::Jump(0)];
        take_last_reads(&mut ops, &[]);
        assert_eq!(ops, [Op::Local(0), Op::TakeLocal(1), Op::Store(1), Op::Jump(0)]);
    }
}
