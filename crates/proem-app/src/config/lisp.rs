//! `[lisp]`: the limits of programs, and who writes them for program agents.

use proem_agents::lisp::TurnLimits;
use proem_lisp::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The keys of `[lisp]`: how much one program may do, and how much a program agent. A program that reaches a limit ends
/// with a message that names its key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LispFile {
    /// Bytes of the source; without it, 262,144.
    pub source_bytes: Option<u64>,
    /// Levels of brackets in the source, and of arrays and objects in JSON; without it, 200.
    pub nesting: Option<u64>,
    /// Decimal digits of an integer; without it, 1,000.
    pub digits: Option<u64>,
    /// Parameters of a short function, such as `#(+ %1 %2)`; without it, 20.
    pub short_function_arity: Option<u64>,
    /// Units of work, about one for each step; without it, 50,000,000.
    pub fuel: Option<u64>,
    /// Bytes of values that are alive at one time; without it, 67,108,864.
    pub bytes: Option<u64>,
    /// Elements of one collection; without it, 1,000,000.
    pub collection_size: Option<u64>,
    /// Bytes printed; without it, 65,536.
    pub output_bytes: Option<u64>,
    /// Calls of tools; without it, 100.
    pub tool_calls: Option<u64>,
    /// Steps of one regular expression, its size times the text's length; without it, 20,000,000.
    pub regex_steps: Option<u64>,
    /// Branches of `pmap` and `pcalls` that are open at one time; without it, 64.
    pub parallel_branches: Option<u64>,
    /// Bytes of the memory that a program leaves; without it, 1,048,576.
    pub memory_bytes: Option<u64>,
    /// The model or role that writes the programs of `proem lisp agent`; without it, what the prompt says, `large`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The most turns of a program agent, whatever its file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The most seconds of its mission, whatever its file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mission_seconds: Option<u32>,
    /// The most turns of it and the agents that it calls, whatever its file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_budget: Option<u32>,
}

impl LispFile {
    /// Each key with its value here and the value that holds without it.
    pub(crate) fn keys(&mut self) -> [(&'static str, &mut Option<u64>, u64); 12] {
        let usual = Limits::default();
        let size = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        [
            ("source_bytes", &mut self.source_bytes, size(usual.source_bytes)),
            ("nesting", &mut self.nesting, size(usual.nesting)),
            ("digits", &mut self.digits, size(usual.digits)),
            ("short_function_arity", &mut self.short_function_arity, size(usual.short_function_arity)),
            ("fuel", &mut self.fuel, usual.fuel),
            ("bytes", &mut self.bytes, size(usual.bytes)),
            ("collection_size", &mut self.collection_size, size(usual.collection_size)),
            ("output_bytes", &mut self.output_bytes, size(usual.output_bytes)),
            ("tool_calls", &mut self.tool_calls, size(usual.tool_calls)),
            ("regex_steps", &mut self.regex_steps, usual.regex_steps),
            ("parallel_branches", &mut self.parallel_branches, size(usual.parallel_branches)),
            ("memory_bytes", &mut self.memory_bytes, size(usual.memory_bytes)),
        ]
    }

    /// Each key of a program agent's turns with its value here, which only narrows what its file says.
    pub(crate) fn turn_keys(&mut self) -> [(&'static str, &mut Option<u32>); 3] {
        [
            ("max_turns", &mut self.max_turns),
            ("mission_seconds", &mut self.mission_seconds),
            ("turn_budget", &mut self.turn_budget),
        ]
    }

    /// The turns of an agent's file as far as they are permitted here.
    #[must_use]
    pub fn narrow_turns(&self, turns: TurnLimits) -> TurnLimits {
        let least = |own: u32, most: Option<u32>| most.map_or(own, |most| own.min(most));
        TurnLimits {
            max_turns: least(turns.max_turns, self.max_turns),
            mission_seconds: least(turns.mission_seconds, self.mission_seconds),
            turn_budget: least(turns.turn_budget, self.turn_budget),
            ..turns
        }
    }

    /// The limits that hold.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        let size = |set: Option<u64>, usual: usize| set.map_or(usual, |n| usize::try_from(n).unwrap_or(usize::MAX));
        Limits {
            source_bytes: size(self.source_bytes, usual.source_bytes),
            nesting: size(self.nesting, usual.nesting),
            digits: size(self.digits, usual.digits),
            short_function_arity: size(self.short_function_arity, usual.short_function_arity),
            fuel: self.fuel.unwrap_or(usual.fuel),
            bytes: size(self.bytes, usual.bytes),
            collection_size: size(self.collection_size, usual.collection_size),
            output_bytes: size(self.output_bytes, usual.output_bytes),
            tool_calls: size(self.tool_calls, usual.tool_calls),
            regex_steps: self.regex_steps.unwrap_or(usual.regex_steps),
            parallel_branches: size(self.parallel_branches, usual.parallel_branches),
            memory_bytes: size(self.memory_bytes, usual.memory_bytes),
        }
    }

    /// All keys with the values that hold without them, to show their form.
    pub(crate) fn usual() -> Self {
        let mut file = Self::default();
        for (_, slot, usual) in file.keys() {
            *slot = Some(usual);
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::group_thousands;

    #[test]
    fn the_documented_limits_are_those_that_hold() {
        assert_eq!(LispFile::usual().limits(), Limits::default());
        assert_eq!(LispFile::default().limits(), Limits::default());
        let schema = schemars::schema_for!(LispFile).to_value();
        for (key, _, usual) in LispFile::default().keys() {
            let about = schema.pointer(&format!("/properties/{key}/description")).unwrap().as_str().unwrap();
            let usual = group_thousands(usize::try_from(usual).unwrap());
            assert!(about.ends_with(&format!("without it, {usual}.")), "{key}: {about}");
        }
    }

    #[test]
    fn every_key_sets_its_own_limit() {
        for index in 0..LispFile::default().keys().len() {
            let mut file = LispFile::default();
            for (slot, _) in file.keys().into_iter().map(|(_, slot, usual)| (slot, usual)).skip(index).take(1) {
                *slot = Some(7);
            }
            let changed = format!("{:?}", file.limits());
            assert_eq!(changed.matches(": 7").count(), 1, "{changed}");
        }
    }
}
