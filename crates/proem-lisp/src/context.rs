//! The values that a program sees besides its own, and the effects that it leaves.

use crate::{
    error::{Fault, Reason},
    flow::FlowState,
    limits::{Limits, Meter},
    value::{Map, Text, Value},
};
use alloc::{format, string::String, sync::Arc};
use core::mem;

/// The values that a host gives to a program.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The map that `ctx/name` and `data/name` read.
    pub context: Value,
    /// The map that the last programs left.
    pub memory: Value,
    /// The last three results, for `*1 *2 *3`.
    pub history: [Value; 3],
    /// The part of `budget/remaining` that the machine doesn't count itself, such as turns.
    pub budget: Value,
}

impl Default for Inputs {
    fn default() -> Self {
        let empty = || Value::from(Map::default());
        Self { context: empty(), memory: empty(), history: [Value::Nil, Value::Nil, Value::Nil], budget: empty() }
    }
}

/// The state that builtins work with.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) meter: Meter,
    pub(crate) inputs: Inputs,
    /// The memory as the program has changed it.
    pub(crate) memory: Arc<Map>,
    pub(crate) tool_calls: usize,
    pub(crate) output: String,
    pub(crate) printed: usize,
    pub(crate) flow: FlowState,
}

impl Context {
    pub(crate) fn new(inputs: Inputs, limits: Limits) -> Self {
        let memory = match inputs.memory.unlabelled() {
            Value::Map(map) => Arc::clone(map),
            _ => Arc::default(),
        };
        let flow = FlowState { memory: inputs.memory.flow().clone(), ..FlowState::default() };
        Self { meter: Meter::new(limits), inputs, memory, tool_calls: 0, output: String::new(), printed: 0, flow }
    }

    /// Appends to the output.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Fault> {
        let most = self.meter.limits().output_bytes;
        self.printed = self.printed.saturating_add(text.len());
        if self.printed > most {
            let message = format!("the program printed more than {most} bytes");
            return Err(Fault::limit(Reason::OutputLimit, message, "output_bytes"));
        }
        self.meter.text(text.len())?;
        self.output.push_str(text);
        Ok(())
    }

    /// The output since it was last taken.
    pub(crate) fn take_output(&mut self) -> String {
        mem::take(&mut self.output)
    }

    /// Stores a value in the program's memory.
    pub(crate) fn remember(&mut self, key: Value, value: Value) -> Result<(), Fault> {
        if Arc::get_mut(&mut self.memory).is_none() {
            self.meter.allocate(self.memory.own_bytes())?;
        }
        Arc::make_mut(&mut self.memory).insert(key, value, &mut self.meter)
    }
}

/// The arguments of a call, which a builtin may take.
#[derive(Debug)]
pub(crate) struct Args<'a>(pub(crate) &'a mut [Value]);

impl Args<'_> {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The argument at a place. Nil where there is none.
    pub(crate) fn get(&self, index: usize) -> &Value {
        self.0.get(index).unwrap_or(&Value::Nil)
    }

    /// Takes an argument out, so that it can change in place if nobody else has it.
    pub(crate) fn take(&mut self, index: usize) -> Value {
        self.0.get_mut(index).map_or(Value::Nil, mem::take)
    }

    /// A text argument. `function` names who takes it.
    pub(crate) fn text(&self, index: usize, function: &str) -> Result<&Text, Fault> {
        match self.get(index) {
            Value::Text(text) => Ok(text),
            other => Err(Fault::of_type(format!("`{function}` takes a string, not {}", other.type_phrase()))
                .help("make a string of a value with `str`")),
        }
    }

    /// An argument that is a number of things: an integer, of which a negative one counts as none.
    pub(crate) fn count(&self, index: usize, function: &str) -> Result<usize, Fault> {
        match self.get(index) {
            Value::Int(count) => Ok(usize::try_from(*count).unwrap_or(0)),
            other => Err(Fault::of_type(format!("`{function}` takes an integer, not {}", other.type_phrase()))),
        }
    }
}
