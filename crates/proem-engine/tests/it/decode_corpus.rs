//! The judged answers of `evals/decoding`: what is read of them, beside the value that was meant.

use std::collections::BTreeMap;

use proem_engine::contract::Contract;
use proem_engine::decode::decode_value;
use serde::Deserialize;
use serde_json::Value as Json;

#[derive(Deserialize)]
struct JudgedAnswer {
    id: String,
    style: String,
    contract: String,
    split: String,
    answer: String,
    meant: Option<Json>,
}

/// What is taken as the answer: a value that meets its contract and lost nothing on the way.
fn accepted(answer: &str, contract: &Contract) -> Option<Json> {
    let decoded = decode_value(answer, contract).ok()?;
    (decoded.losses().next().is_none() && contract.accepts(&decoded.value)).then_some(decoded.value)
}

#[test]
fn the_value_that_was_meant_is_read_or_none() {
    let schemas = include_str!("../../../../evals/decoding/contracts.json");
    let schemas: BTreeMap<String, Json> = serde_json::from_str(schemas).unwrap();
    let contracts: BTreeMap<String, Contract> =
        schemas.into_iter().map(|(name, schema)| (name.clone(), Contract::new(&name, "", schema).unwrap())).collect();
    let answers = include_str!("../../../../evals/decoding/answers.jsonl");
    let answers: Vec<JudgedAnswer> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers.len() >= 300, "{}", answers.len());
    let (mut wrong, mut lost, mut meant) = (Vec::new(), Vec::new(), 0);
    for answer in &answers {
        let found = accepted(&answer.answer, &contracts[&answer.contract]);
        meant += usize::from(answer.meant.is_some());
        if found != answer.meant {
            // Answers that measure are not printed: a repair that was made for one of them measures nothing.
            let text = if answer.split == "tune" { answer.answer.as_str() } else { "" };
            let line = format!("{} {}/{} {text:?}", answer.id, answer.contract, answer.style);
            if found.is_some() { &mut wrong } else { &mut lost }.push(line);
        }
    }
    assert!(wrong.len() * 200 <= answers.len(), "another value than the one meant:\n{}", wrong.join("\n"));
    assert!(lost.len() * 10 <= meant, "asked again for a value that was there:\n{}", lost.join("\n"));
}
