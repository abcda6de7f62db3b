//! Signals from files.

use serde_json::Value as Json;

use crate::fixture::{Fixture, Run};

const WEBHOOK: &str = r#"{
  "timestamp": 1760000000123,
  "webhookEvent": "comment_created",
  "issue": { "id": "10042", "key": "PAY-7", "self": "https://one.example/rest/api/2/issue/10042",
             "fields": { "summary": "Refunds fail\u001b[2J ::error::", "status": { "name": "Blocked" } } },
  "comment": { "id": "5", "body": "The bank\nis late.", "author": { "accountId": "a", "displayName": "Ann\u202e" } }
}"#;

const BACKLOG: &str = r#"{ "issues": [
  { "id": "1", "key": "PAY-1", "fields": { "summary": "One", "updated": "1970-01-01T00:00:00.000+0000" } },
  { "fields": {} }
], "isLast": true }"#;

fn fixture() -> Fixture {
    let fixture = Fixture::folder();
    fixture.write("webhook.json", WEBHOOK);
    fixture.write("backlog.json", BACKLOG);
    let line = r#"{"signal":1,"id":"1","type":"::warning::odd","summary":"A line"}"#;
    fixture.write("lines.jsonl", format!("{line}\nnot json\n{line}\n"));
    fixture.write("latin1.json", b"{\"a\":\"caf\xe9\"}");
    fixture.write("odd\u{1b}.json", "{}");
    fixture
}

#[test]
fn tables_lines_and_what_is_none() {
    let fixture = fixture();
    let runs = [
        fixture.proem(&["triage", "normalise", "webhook.json", "backlog.json", "lines.jsonl"]),
        fixture.proem(&["triage", "normalise", "webhook.json", "webhook.json", "--json"]),
        fixture.proem_with(&["triage", "normalise", "-", "--json"], br#"{"signal":1,"id":"1","type":"note"}"#),
        fixture.proem(&["triage", "normalise", "gone", "latin1.json", "odd\u{1b}.json", "."]),
        fixture.proem_with(&["triage", "normalise", "-"], b""),
        fixture.proem(&["triage", "normalise"]),
    ];
    let sessions: Vec<String> = runs.iter().map(Run::transcript).collect();
    snapshot!(sessions.join("\n"));
}

#[test]
fn what_is_printed_reads_as_the_same_signals() {
    let fixture = fixture();
    let ids = |run: &Run| -> Vec<(String, String)> {
        let lines = run.stdout().lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        lines.map(|line| (line["id"].to_string(), line["revision"].to_string())).collect()
    };
    let first = fixture.proem(&["triage", "normalise", "webhook.json", "backlog.json", "lines.jsonl", "--json"]);
    assert_eq!((first.code(), ids(&first).len()), (1, 3));
    let again = fixture.proem_with(&["triage", "normalise", "-", "--json"], first.stdout().as_bytes());
    assert_eq!((again.code(), ids(&again)), (0, ids(&first)));
}
