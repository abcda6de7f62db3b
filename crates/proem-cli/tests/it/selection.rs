//! The selection of `proem assemble` from a real project's catalogue.

use std::fs;

use serde_json::json;

use crate::fixture::Fixture;

const TASK: &str = "open an issue in the github repository about the broken login";

fn with_tools() -> Fixture {
    let fixture = Fixture::folder().committed();
    fixture.write(".mcp.json", json!({ "mcpServers": { "github": { "command": "gone" }, "weather": {} } }).to_string());
    let tool = |name: &str, description: &str| json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": { "title": { "type": "string" } } } });
    let github = [
        tool("create_issue", "Opens a new issue in a GitHub repository."),
        tool("list_branches", "Lists the branches of a GitHub repository."),
    ];
    fixture.write(".proem/catalogue/github.json", json!({ "tools": github }).to_string());
    let weather = [tool("forecast", "Tells the weather of the next days for a city.")];
    fixture.write(".proem/catalogue/weather.json", json!({ "tools": weather }).to_string());
    fixture
}

#[test]
fn a_broken_cache_costs_a_call_and_nothing_else() {
    let fixture = with_tools();
    let first = fixture.proem(&["assemble", TASK]);
    let path = fixture.base.join("cache/proem/task-vectors.json");
    fs::write(&path, "{\"version\": 99").unwrap();
    let second = fixture.proem(&["assemble", TASK]);
    assert_eq!(first.stdout(), second.stdout());
    assert_eq!(second.code(), 0, "{}", second.stderr());
    assert_eq!(fixture.proem(&["assemble", TASK, "--json"]).json()["metrics"]["embeddingCalls"], json!(0));
}

#[test]
fn unapproved_tools_are_named_by_signature_and_counted() {
    let fixture = with_tools();
    let run = fixture.proem(&["assemble", TASK, "--json"]);
    let json = run.json();
    assert_eq!(json["tools"][0], json!("github__create_issue"));
    let first = &json["selection"]["candidates"][0];
    assert_eq!((&first["chosen"], &first["approved"], &first["kind"]), (&json!(true), &json!(false), &json!("tool")));
    assert!(first["words"].as_array().unwrap().contains(&json!("issue")), "{first}");
    assert_eq!(json["selection"]["entries"], json!(3));
    let (all, named) = (&json["metrics"]["catalogueTokens"], &json["metrics"]["capabilityTokens"]);
    assert!(all.as_u64().unwrap() > 0 && named.as_u64().unwrap() > 0, "{all} {named}");
    let prompt = fixture.proem(&["assemble", TASK]);
    assert!(prompt.stdout().contains("- github__create_issue(title?: string)\n"), "{}", prompt.stdout());
    assert!(!prompt.stdout().contains("Opens a new issue"), "nobody approved it");
}

#[test]
fn caps_count_everything_that_is_named() {
    let fixture = with_tools();
    let named = |caps: &str| {
        fixture.configure(
            "config.toml",
            &format!("[assemble]\ntools = [\"shell\", \"browser\"]\nmin_score = 0.0\n{caps}\n"),
        );
        let run = fixture.proem(&["assemble", TASK, "--json", "--mode", "act"]);
        let json = run.json();
        let count = json["tools"].as_array().unwrap().len();
        // A cap that left something out is no reason to call the prompt degraded.
        assert_eq!((&json["degraded"], &json["degradedReasons"]), (&json!(false), &json!([])), "{caps}");
        (count, json["leftOut"].clone(), json["notes"].clone(), run.stderr().to_owned())
    };
    // No catalogue has `shell` or `browser`.
    let (count, left_out, notes, _) = named("");
    assert_eq!((count, &left_out, &notes), (5, &json!([]), &json!([])));
    assert_eq!(named("max_tools = 3").0, 3);
    assert_eq!(named("max_tools = 2").0, 2);
    let (count, left_out, _, stderr) = named("max_tools = 1");
    assert_eq!((count, left_out), (1, json!(["tool `browser`: exceeds `max_tools`"])));
    assert!(stderr.contains("note: tool `browser`: exceeds `max_tools`\n"), "{stderr}");
    assert_eq!(named("[assemble.modes.act]\nmax_tools = 4").0, 4);
}

#[test]
fn explained_candidates_say_why() {
    let run = with_tools().proem(&["assemble", TASK, "--explain"]);
    let line = |name: &str| run.stderr().lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(line("github__create_issue").contains("chosen, not approved: shares "), "{}", run.stderr());
    assert!(line("weather__forecast").contains("below the threshold"), "{}", run.stderr());
    assert!(line("tools and skills").contains("3 in the catalogue"), "{}", run.stderr());
}

#[test]
fn a_broken_configuration_loses_no_other_server() {
    let fixture = with_tools();
    fixture.write(".proem/catalogue/broken.json", "{\"tools\": [");
    fixture.write(".vscode/mcp.json", "{ // nothing closes it");
    let run = fixture.proem(&["assemble", TASK, "--json"]);
    assert_eq!((run.code(), &run.json()["tools"][0]), (0, &json!("github__create_issue")));
    assert!(run.stderr().contains("broken.json") && run.stderr().contains(".vscode/mcp.json"), "{}", run.stderr());
}
