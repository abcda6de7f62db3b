//! The cases that ship with the prompts: what the rules say of them.

use proem_agents::book::embedded_book;
use proem_agents::risk::investigation::{DECISION, SYNTHESIS, pose_case};
use proem_engine::prompt::cases::Cases;
use serde_json::json;

fn shipped_cases(prompt: &str, file: &str) -> Cases {
    Cases::parse(file, embedded_book().files[&format!("{prompt}/{file}")].as_str()).unwrap()
}

#[test]
fn the_rules_say_what_the_cases_expect() {
    for (prompt, file) in [(DECISION, "decision.cases.yaml"), (SYNTHESIS, "synthesis.cases.yaml")] {
        for case_of in shipped_cases(prompt, file).cases {
            let posed = pose_case(prompt, case_of.given.as_ref().unwrap()).unwrap();
            assert_eq!(case_of.expect.broken_rules(&posed.rules), Vec::<String>::new(), "{}", case_of.name);
            assert_eq!(posed.inputs.is_some(), posed.rules["asked"] == json!(true), "{}", case_of.name);
            assert_eq!(posed.inputs.is_some(), case_of.expect.wants_request(), "{}", case_of.name);
        }
    }
}

#[test]
fn what_is_no_case_is_refused() {
    let check = |prompt: &str, given: serde_json::Value, problem: &str| {
        let error = pose_case(prompt, &given).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    };
    check(DECISION, json!({}), "`given` of the test case can't be read: missing field `files`");
    check(DECISION, json!({ "files": [], "files_": 1 }), "unknown field `files_`");
    check("risk/feedback", json!({ "files": [] }), "`risk/feedback` is not a prompt of an investigation");
    let hop = json!({ "metric": "ownership_churn", "path": "b", "value": 1, "signal": "LOW", "reasoning": "" });
    check(
        DECISION,
        json!({ "files": [{ "path": "a" }], "hops": [hop] }),
        "hop 1 names `b`, which is not a file of the case",
    );
}
