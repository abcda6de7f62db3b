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

/// Whether what was read is what was meant. Numbers are compared by value.
fn is_meant(found: Option<&Json>, meant: Option<&Json>) -> bool {
    let number = |value: &Json| value.get("result").or(value.get("total")).and_then(Json::as_f64);
    found == meant || found.and_then(number).is_some_and(|found| meant.and_then(number) == Some(found))
}

/// The accepted answer: a value that meets its contract and lost nothing on the way.
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
    for (file, answers, least, most_lost) in [
        ("answers.jsonl", include_str!("../../../../evals/decoding/answers.jsonl"), 300, 10),
        ("unseen.jsonl", include_str!("../../../../evals/decoding/unseen.jsonl"), 400, 20),
    ] {
        let answers: Vec<JudgedAnswer> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(answers.len() >= least, "{file}: {}", answers.len());
        check(&contracts, &answers, most_lost);
    }
}

/// At most one wrong value in 200 answers, and `most_lost` lost values in 100 that were there.
fn check(contracts: &BTreeMap<String, Contract>, answers: &[JudgedAnswer], most_lost: usize) {
    let (mut wrong, mut lost, mut meant) = (Vec::new(), Vec::new(), 0);
    for answer in answers {
        let found = accepted(&answer.answer, &contracts[&answer.contract]);
        meant += usize::from(answer.meant.is_some());
        if !is_meant(found.as_ref(), answer.meant.as_ref()) {
            // Answers that measure are not printed: a repair that was made for one of them measures nothing.
            let text = if ["tune", "repair"].contains(&answer.split.as_str()) { answer.answer.as_str() } else { "" };
            let line = format!("{} {}/{} {text:?}", answer.id, answer.contract, answer.style);
            if found.is_some() { &mut wrong } else { &mut lost }.push(line);
        }
    }
    assert!(wrong.len() * 200 <= answers.len(), "another value than the one meant:\n{}", wrong.join("\n"));
    assert!(lost.len() * 100 <= meant * most_lost, "asked again for a value that was there:\n{}", lost.join("\n"));
}
