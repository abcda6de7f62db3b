//! The facts that make a prompt, and the texts from outside in it.

use proem_guard::Untrusted;
use proem_lisp::Value;

use super::super::definition::AgentDefinition;
use crate::screen::{PromptPlace, Screening};

/// The facts from which a run's prompt is made.
#[derive(Debug, Clone, Copy)]
pub struct PromptFacts<'a> {
    /// The agent, as its file declares it.
    pub agent: &'a AgentDefinition,
    /// Its inputs, a map. Labels come from the agent's file, so none are needed here.
    pub context: &'a Value,
    /// The guard for text from outside.
    pub screening: Screening<'a>,
}

/// The placeholder for a text that the guard keeps out.
pub(super) const WITHHELD: &str = "(withheld)";

/// A text from outside, under the name that the prompt gives it.
#[derive(Debug)]
pub(super) struct OutsideText {
    pub(super) name: String,
    pub(super) text: Untrusted<String>,
}

/// The place of a text from outside, for the guard.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OutsidePlace {
    pub(super) number: usize,
    pub(super) input: &'static str,
}

impl PromptPlace for OutsidePlace {
    fn names(&self) -> (&str, &str) {
        ("input", self.input)
    }

    fn section(&self) -> usize {
        0
    }

    fn is_long(&self) -> bool {
        true
    }
}
