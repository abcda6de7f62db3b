//! Which mode a task's words tell, on the committed cases.

use proem_agents::assemble::keywords;
use proem_engine::mode::{Hints, infer};

const CASES: &str = include_str!("../../data/mode-cases.jsonl");

#[test]
fn every_case_has_its_mode() {
    let keywords = keywords().unwrap();
    let mut wrong = Vec::new();
    for line in CASES.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let inferred = infer(case["task"].as_str().unwrap(), &Hints::default(), &keywords, None);
        let because = if inferred.reason == "nothing says otherwise" { "default" } else { "keyword" };
        if (case["mode"].as_str(), case["because"].as_str()) != (Some(inferred.mode.as_str()), Some(because)) {
            wrong.push(format!("{line}\n  is {}: {}", inferred.mode.as_str(), inferred.reason));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(CASES.lines().count() >= 100);
}
