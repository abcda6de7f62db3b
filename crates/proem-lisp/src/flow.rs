//! Labels while a program runs: where they go, by one table, and what decides on effects.
//!
//! A program without labelled values never comes here. As soon as an input or an answer has a label, the machine runs
//! its steps in another loop (`machine/label_steps.rs`), which takes labels off operands as the table says ([`Rule`]),
//! calls the same functions, and puts the join on the result. Two more labels belong to the place where a program is:
//!
//! - **pc**: the join of the tests, loops and function values that led here. It is left at the end of the form that
//!   it came from ([`branches`]), where it is joined to all that the form gave or may have changed.
//! - **floor**: the join of all tests that decided on a form that may act, whichever arm ran. It never gets less.
//!
//! Keys of maps and elements of sets have no labels of their own, so that comparing and hashing never meets one:
//! theirs is joined to the spine.

mod branches;
mod rules;
mod secrets;

pub(crate) use branches::{Branches, FormEnd, Reach, reach_of_calls, reach_of_value};
pub(crate) use rules::{Results, Rule, Take, Takes};
pub use secrets::{label_secret_fields, open_secret_fields};

use crate::{
    builtins,
    code::Program,
    value::{AllParts, BuiltinId, Flow, Labels, Value},
};
use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

/// The address of a program, and the numbers of a function and an arity in it.
type FunctionKey = (usize, usize, usize);

/// A program, and the ends of the forms of one of its functions.
type FunctionEnds = (Arc<Program>, Arc<Branches>);

/// What a machine knows about labels.
#[derive(Debug, Default)]
pub(crate) struct FlowState {
    /// Whether anything labelled was met. Steps mind labels from then on.
    pub(crate) is_on: bool,
    pub(crate) labels: Labels,
    /// The join of all labels that came in.
    pub(crate) met: Flow,
    /// The pc of the fiber that runs, for functions that act.
    pub(crate) pc: Flow,
    pub(crate) floor: Flow,
    /// Which names the memory has.
    pub(crate) memory: Flow,
    /// The operands of the step at hand, for a problem that it ends with.
    pub(crate) at_hand: Flow,
    /// All that was printed so far, and what decided on it.
    pub(crate) output: Flow,
    /// What calling an unknown function may do.
    pub(crate) calls: Reach,
    /// What the constants of programs get, to try every function with labels.
    #[cfg(test)]
    pub(crate) of_constants: Flow,
    pub(crate) rules: Vec<Rule>,
    /// The ends of forms of the functions that have run, by program, function and arity. The programs are held, so
    /// that an address means one.
    pub(crate) ends: BTreeMap<FunctionKey, FunctionEnds>,
}

impl FlowState {
    /// Takes note of the labels of what a host gives, which it has already, so that nobody pays for it.
    pub(crate) fn meet(&mut self, value: &Value) {
        for part in AllParts::of(value) {
            self.labels.meet(part.flow());
            self.labels.join_into(&mut self.met, part.flow());
        }
    }

    /// Minds labels from now on if there are any, in a program that can call its own functions and those in `given`.
    pub(crate) fn turn_on_if_met(&mut self, program: &Program, given: &[&Value]) {
        if self.is_on || self.met.is_none() {
            return;
        }
        self.is_on = true;
        let mut calls = reach_of_calls(program);
        for function in given.iter().flat_map(|value| AllParts::of(value)) {
            if let Value::Closure(closure) = function {
                calls = calls.join(reach_of_calls(&closure.program)).join(reach_of_value(function));
            }
        }
        self.calls = Reach { calls: false, ..calls };
        self.rules = builtins::rows().map(|(_, row)| rules::rule_of(row.name).unwrap_or(Rule::DEEP)).collect();
    }

    /// What a function of the table does with labels.
    pub(crate) fn rule(&self, id: BuiltinId) -> Rule {
        self.rules.get(usize::from(id.0)).copied().unwrap_or(Rule::DEEP)
    }

    /// The ends of the forms of a function.
    pub(crate) fn ends(&mut self, program: &Arc<Program>, function: usize, arity: usize) -> Arc<Branches> {
        let key = (Arc::as_ptr(program).addr(), function, arity);
        let (_, branches) = self
            .ends
            .entry(key)
            .or_insert_with(|| (Arc::clone(program), Arc::new(Branches::of(program, function, arity))));
        Arc::clone(branches)
    }

    /// The join of pc and floor.
    pub(crate) fn decided(&mut self, pc: &Flow) -> Flow {
        self.labels.join(pc, &self.floor)
    }

    /// A test with this label decides on a form: the floor grows if the form may act, whichever arm runs.
    pub(crate) fn decide(&mut self, flow: &Flow, reach: Reach) {
        let reach = if reach.calls { reach.join(self.calls) } else { reach };
        if reach.acts {
            self.labels.join_into(&mut self.floor, flow);
        }
        if reach.writes {
            self.labels.join_into(&mut self.memory, flow);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
