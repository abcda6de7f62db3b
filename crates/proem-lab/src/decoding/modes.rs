//! How many answers of a small model are valid, by how it is held to its contract and what its prompt says of it.

use std::fmt::Write as _;

use proem_engine::contract::{Contract, schema_from_line};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::eval::accepted_value;

/// The contract of all these answers.
const FIELDS: &str = "name, age int, city?";

/// An answer to a text that names one person.
#[derive(Debug, Deserialize)]
struct ModeAnswer {
    mode: String,
    wording: String,
    name: String,
    age: u32,
    answer: String,
}

/// The table of modes and wordings, in the order in which they are in `answers`, one answer as JSON on each line.
pub(super) fn modes_table(answers: &str) -> Result<String, String> {
    let schema = schema_from_line(FIELDS).map_err(|error| error.to_string())?;
    let (contract, _) = Contract::bounded("answer", "", schema).map_err(|error| error.to_string())?;
    let mut groups: Vec<(String, String, [usize; 3])> = Vec::new();
    for line in answers.lines() {
        let answer: ModeAnswer = serde_json::from_str(line).map_err(|error| format!("`modes.jsonl`: {error}"))?;
        let value = accepted_value(&answer.answer, &contract);
        let is = |key: &str, wanted: &Json| value.as_ref().and_then(|value| value.get(key)) == Some(wanted);
        let right = is("name", &json!(answer.name)) && is("age", &json!(answer.age));
        let counts = [1, usize::from(value.is_some()), usize::from(right)];
        match groups.iter_mut().find(|(mode, wording, _)| *mode == answer.mode && *wording == answer.wording) {
            Some((_, _, sums)) => sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count),
            None => groups.push((answer.mode, answer.wording, counts)),
        }
    }
    let mut table = format!(
        "# Contracts: modes and wordings\n\nMade by `cargo lab eval decoding`. SmolLM2-135M-Instruct, greedy, on llama.cpp; \
         20 texts on one person each, contract `{FIELDS}`. *Valid* meets the contract; *right* names that person and that \
         age. The packages that carry weights on PyPI have no larger model. The server took `tools` and did not force a \
         call.\n\n| held by | the prompt shows | answers | valid | right |\n|---|---|---|---|---|\n"
    );
    for (mode, wording, [all, valid, right]) in groups {
        _ = writeln!(table, "| `{mode}` | {wording} | {all} | {valid} | {right} |");
    }
    Ok(table)
}
