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

/// The parts of a mail that a person wants to see, a line each.
fn told(signal: &Json) -> String {
    let sender = &signal["sender"];
    format!(
        "{} {} {} {} {:?} {:?}\n  {}\n  {}\n",
        signal["type"],
        signal["time"],
        sender["authentication"],
        sender["address"],
        sender["name"].as_str(),
        signal["summary"].as_str(),
        signal["fields"],
        signal["notes"],
    )
}

/// The mails among the fixtures of `proem-agents`, whose parts only a reader of files takes apart.
#[test]
fn mails_with_what_is_known_of_their_senders() {
    let fixture = Fixture::folder();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../proem-triage/tests/it/fixtures/mail");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "eml"));
    files.sort_unstable();
    assert!(files.len() > 10, "{files:?}");
    let mut all = String::new();
    let mut ids = std::collections::BTreeSet::new();
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        fixture.write(name, std::fs::read(file).unwrap());
        let run = fixture.proem(&["triage", "normalise", name, "--json", "--mail-server", "mx.corp.example"]);
        all.push_str(&format!("{name}: exit code {}\n{}", run.code(), run.stderr()));
        for line in run.stdout().lines() {
            let signal: Json = serde_json::from_str(line).unwrap();
            all.push_str(&told(&signal));
            assert!(ids.insert(signal["id"].to_string()), "{name}: the id of another mail");
        }
    }
    snapshot!(all);
}

#[test]
fn a_forged_mail_is_no_revision_of_the_real_one() {
    let fixture = Fixture::folder();
    let mail = |results: &str, body: &str| {
        format!(
            "{results}From: ann@corp.example\nDate: Thu, 09 Oct 2025 10:53:20 +0200\nMessage-ID: <1@corp.example>\n\n{body}\n"
        )
    };
    let results = "Authentication-Results: mx.corp.example; dmarc=pass header.from=corp.example\n";
    fixture.write("real.eml", mail(results, "We ship."));
    fixture.write("revised.eml", mail(results, "We don't ship."));
    fixture.write("forged.eml", mail("", "We don't ship."));
    let id = |name: &str, more: &[&str]| {
        let json = fixture.proem(&[&["triage", "normalise", name, "--json"], more].concat()).json();
        (json["id"].to_string(), json["revision"].to_string())
    };
    let server = ["--mail-server", "mx.corp.example"];
    let (real, revised, forged) = (id("real.eml", &server), id("revised.eml", &server), id("forged.eml", &server));
    assert_eq!((real.0 == revised.0, real.1 == revised.1), (true, false));
    assert_ne!(forged.0, real.0);
    // Whom nobody believes proves nothing.
    assert_eq!(id("real.eml", &[]).0, forged.0);
}

#[test]
fn a_mail_of_200_parts_loses_none() {
    let fixture = Fixture::folder();
    let parts: String = (0..200).map(|n| format!("--b\nContent-Type: text/plain\n\npart {n}.\n")).collect();
    let head =
        "From: ann@corp.example\nDate: Thu, 09 Oct 2025 10:53:20 +0200\nContent-Type: multipart/mixed; boundary=b\n\n";
    fixture.write("many.eml", format!("{head}{parts}--b--\n"));
    let json = fixture.proem(&["triage", "normalise", "many.eml", "--json"]).json();
    assert_eq!(json["fields"]["body"], "part 0.");
    assert_eq!(json["fields"]["bodies"].as_object().unwrap().len(), 199);
    assert_eq!(json["fields"]["bodies"]["body[199]"], "part 199.");
}
