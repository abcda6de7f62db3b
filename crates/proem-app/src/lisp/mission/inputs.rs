//! The beginning of a mission: its input from a file and from words of its caller, and its memory.

use std::path::Path;

use proem_agents::lisp::AgentDefinition;
use proem_guard::show;
use proem_lisp::documentation::nearest_of;
use proem_lisp::{Limits, Meter, SignatureProblem, Value, read_json};

use super::super::files::read_input;
use crate::error::Error;

/// The beginning of a mission.
#[derive(Debug, Clone)]
pub struct MissionInput {
    /// Its input, a map.
    pub context: Value,
    /// Its memory, a map.
    pub memory: Value,
}

/// The input of an agent: a file with a JSON object, and single inputs over it, each JSON where its parameter is no
/// text. Corrected where nothing is lost, with what was corrected in words.
///
/// # Errors
///
/// If the file can't be read, an input is no parameter, or all that the signature doesn't take.
pub fn mission_input(
    agent: &AgentDefinition,
    file: Option<&Path>,
    set: &[(String, String)],
    limits: &Limits,
) -> Result<(Value, Vec<String>), Error> {
    let given = file.map(|file| read_input(file, limits)).transpose()?.unwrap_or_else(|| Value::map([]));
    let known: Vec<&str> = agent.signature.parameters().collect();
    let mut entries: Vec<(Value, Value)> = given.entries().map(|(key, value)| (key.clone(), value.clone())).collect();
    for (name, text) in set {
        if !known.contains(&name.as_str()) {
            let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let near = nearest_of(name, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let name = show::terminal_str(name);
            return Err(Error::invalid(format!("`{name}` is no input of this agent; it takes {list}{near}")));
        }
        entries.retain(|(key, _)| key.as_str() != Some(name));
        entries.push((Value::text(name), value_of_parameter(agent, name, text, limits)));
    }
    let refused = |problems: Vec<SignatureProblem>| {
        let lines: String = problems.iter().map(|problem| format!("\n  {}", problem_line(problem))).collect();
        Error::invalid(format!("the input isn't what the agent's signature says{lines}"))
    };
    let coerced = agent.signature.coerce_inputs(&Value::map(entries)).map_err(refused)?;
    let problems = agent.signature.check_arguments(&coerced.value);
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    Ok((coerced.value, coerced.warnings.iter().map(problem_line).collect()))
}

/// A problem of an input in words, without a value that must stay hidden.
fn problem_line(problem: &SignatureProblem) -> String {
    let is_hidden = problem.path.split(['.', '[']).any(|part| part.starts_with('_'));
    let problem = SignatureProblem { found: problem.found.clone().filter(|_| !is_hidden), ..problem.clone() };
    show::terminal_str(&problem.to_string()).into_string()
}

/// The value that a text gives to a parameter.
fn value_of_parameter(agent: &AgentDefinition, name: &str, text: &str, limits: &Limits) -> Value {
    let of = agent.signature.parameter_type(name).unwrap_or_default();
    if of.starts_with(":string") {
        return Value::text(text);
    }
    read_json(text, &mut Meter::new(*limits)).unwrap_or_else(|_| Value::text(text))
}
