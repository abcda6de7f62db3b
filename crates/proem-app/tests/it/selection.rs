//! The selection and the mode of an assembly.

use serde_json::json;

use crate::Home;
use crate::found::assembled_prompt;

const TASK: &str = "open an issue in the github repository about the broken login";

/// A repository with one commit of a small program.
fn committed() -> Home {
    let home = Home::with_repository("");
    home.write("README.md", "# Clock\n\nTells the time.\n");
    home.write("src/main.rs", "fn main() {\n    println!(\"noon\");\n}\n");
    home.commit("tell the time");
    home
}

fn with_tools() -> Home {
    let home = committed();
    home.write(".mcp.json", json!({ "mcpServers": { "github": { "command": "gone" }, "weather": {} } }).to_string());
    let tool = |name: &str, description: &str| json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": { "title": { "type": "string" } } } });
    let github = [
        tool("create_issue", "Opens a new issue in a GitHub repository."),
        tool("list_branches", "Lists the branches of a GitHub repository."),
    ];
    home.write(".proem/catalogue/github.json", json!({ "tools": github }).to_string());
    let weather = [tool("forecast", "Tells the weather of the next days for a city.")];
    home.write(".proem/catalogue/weather.json", json!({ "tools": weather }).to_string());
    home
}

#[test]
fn one_embedding_call_for_a_new_task_and_none_for_a_known_one() {
    let home = with_tools();
    let calls = |task: &str| {
        let prompt = assembled_prompt(&home, &[task]);
        (prompt["metrics"]["embeddingCalls"].clone(), prompt["degraded"].clone())
    };
    assert_eq!(calls(TASK), (json!(1), json!(false)));
    assert_eq!(calls(TASK), (json!(0), json!(false)));
    assert_eq!(calls(&format!("  {TASK}\n")), (json!(0), json!(false)), "the same task, normalised");
    assert_eq!(calls("tell me the weather in Lisbon"), (json!(1), json!(false)));
    assert_eq!(calls(TASK), (json!(0), json!(false)));
}

#[test]
fn meaning_chooses_the_mode_where_nothing_else_does_unless_it_may_not() {
    let home = committed();
    let mode = |task: &str| {
        let json = assembled_prompt(&home, &[task]);
        let reason = json["modeReason"].as_str().unwrap().to_owned();
        (json["mode"].clone(), reason, json["metrics"]["embeddingCalls"].clone())
    };
    let asked = "How does the retry logic of the downloader work?";
    assert_eq!(mode(asked), (json!("plan"), "the task asks a question (en)".to_owned(), json!(1)));
    let open = "session token expiry";
    let (_, reason, calls) = mode(open);
    assert!(reason.starts_with("examples of plan are nearest in meaning"), "{reason}");
    assert_eq!(calls, json!(1), "one vector serves everything");
    home.configure("[assemble]\nsemantic_mode = false\n");
    let nothing = "nothing in the task asks for a change".to_owned();
    assert_eq!(mode(open), (json!("plan"), nothing, json!(0)));
}

/// A project with thirteen memories, none of which but one has to do with any of the tasks below.
fn with_memories() -> Home {
    let home = committed();
    let memories = [
        "Deploys to production happen on Tuesdays only; Fridays are frozen.",
        "The parser is fuzzed weekly; run it with a seed.",
        "We use pnpm, not npm.",
        "Coupons can be combined since the March campaign, but only one percentage coupon per order.",
        "Prices are stored in cents as integers.",
        "The login page uses short-lived JWTs; refresh tokens live in Redis.",
        "Anna reviews everything under billing/.",
        "Integration tests need Docker and take six minutes.",
        "The Polish translation is maintained by an agency; do not edit pl.json by hand.",
        "Customer support writes to #support-internal on Slack.",
        "Migrations must be reversible and run twice in CI.",
        "The search index is rebuilt at night.",
        "Use rebase, never merge commits.",
    ];
    let lines: Vec<String> = memories.iter().map(|text| json!({ "text": text, "kind": "note" }).to_string()).collect();
    home.write(".proem/private/memory.jsonl", lines.join("\n") + "\n");
    home
}

#[test]
fn unrelated_memories_stay_out() {
    let home = with_memories();
    for (task, expected) in [
        ("Why do coupons stack?", "Coupons"),
        ("¿Por qué se duplican los cupones?", "Coupons"),
        ("deploy 2.14 to production", "Deploys"),
        ("make the parser faster", "The parser"),
        ("Schreib Tests für den Warenkorb", "Integration tests"),
        ("rename CartLine to LineItem", ""),
        ("the header overlaps the menu on mobile", ""),
        ("Refactor the export module", ""),
        ("fix the typo in the footer", ""),
        ("with this one, make it so that they should never be there", ""),
    ] {
        let json = assembled_prompt(&home, &[task]);
        let memories: Vec<&str> =
            json["context"]["memories"].as_array().unwrap().iter().filter_map(|m| m.as_str()).collect();
        let is_right = match expected {
            "" => memories.is_empty(),
            start => memories.len() == 1 && memories[0].starts_with(start),
        };
        assert!(is_right, "{task}: {memories:?}");
    }
}

/// The mode and its reason for a task, with more behind it as the command has it.
fn mode_and_reason(home: &Home, args: &[&str]) -> String {
    let json = assembled_prompt(home, args);
    format!("{}, {}", json["mode"].as_str().unwrap(), json["modeReason"].as_str().unwrap())
}

#[test]
fn how_the_mode_is_chosen() {
    let home = committed();
    let check = |args: &[&str], expected: &str| assert_eq!(mode_and_reason(&home, args), expected, "{args:?}");
    check(&["tidy up"], "act, the task orders a change, `tidy up` (en)");
    check(&["überprüfe die Uhr"], "review, the task asks for an assessment, `ueberpruefe` (de)");
    check(&["wo wird die Uhr gestellt"], "plan, the task asks a question (de)");
    home.write("src/main.rs", "fn main() {}\n");
    check(&["tidy up"], "act, the task orders a change, `tidy up` (en)");
    check(&["tidy up", "--git-changes", "no"], "act, the task orders a change, `tidy up` (en)");
    check(&["review this diff"], "review, the task asks for an assessment, `review` (en)");
    check(&["wo wird die Uhr gestellt"], "plan, the task asks a question (de)");
    check(&["add a review section", "--git-changes", "no"], "act, the task orders a change, `add` (en)");
    let said = "act, the caller says that there are uncommitted changes";
    check(&["review this diff", "--git-changes", "yes"], said);
    check(&["review this diff", "--interactive"], "plan, the session is interactive");
    check(&["review this diff", "--interactive", "--mode", "act"], "act, the caller chose it");
    check(&["fix what the review found", "--mode", "plan"], "plan, the caller chose it");
}
