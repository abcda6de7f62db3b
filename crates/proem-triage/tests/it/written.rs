//! Signals as they are written, stored and read again.

use proem_text::json::compact;
use proem_triage::{ProjectSignal, SenderAuthentication, SignalFormError};
use serde_json::{Value as Json, json};

use super::{field, one, sources, text};

fn signal() -> ProjectSignal {
    one(&json!({
        "webhookEvent": "comment_created",
        "timestamp": 1_760_000_000_123_i64,
        "issue": { "id": "10042", "key": "PAY-7", "self": "https://one.example/a", "fields": { "summary": "Refunds fail" } },
        "comment": { "id": "5", "body": "blocked", "author": { "accountId": "a", "displayName": "Ann" } },
    }))
}

#[test]
fn a_stored_signal_is_read_with_all_its_labels() {
    for signal in [
        signal(),
        one(&json!({ "webhookEvent": "odd", "timestamp": "never" })),
        one(&json!({ "signal": 1, "id": "a", "type": "note" })),
    ] {
        let written = signal.write().unwrap();
        assert_eq!(ProjectSignal::read(&written), Ok(signal));
    }
}

#[test]
fn a_stored_signal_that_is_not_ours_is_refused() {
    let written = signal().write().unwrap();
    for (from, to, expected) in [
        ("\"signal\":1", "\"signal\":2", SignalFormError::Version),
        ("\"source\":\"jira\"", "\"source\":\"gira\"", SignalFormError::Part("source")),
        ("\"comment_created\"", "\"comment_guessed\"", SignalFormError::Part("type")),
        ("\"source-account\"", "\"certain\"", SignalFormError::Part("authentication")),
        ("\"time\":\"2025-", "\"time\":\"year-", SignalFormError::Part("time")),
    ] {
        // The kind is in the fields, too, with a label.
        let changed = written.replace(&format!("\"type\":{from}"), &format!("\"type\":{to}"));
        let changed = if changed == written { written.replace(from, to) } else { changed };
        assert_eq!(ProjectSignal::read(&changed), Err(expected), "{to}");
    }
    assert!(matches!(ProjectSignal::read("{}"), Err(SignalFormError::Tree(_))));
    let words = SignalFormError::Part("time").to_string();
    assert_eq!(words, "the signal's `time` is not as it is written; read its source again");
    assert_eq!(SignalFormError::Version.to_string(), "the signal is not of form 1; read its source again");
}

#[test]
fn a_printed_signal_is_the_same_signal_with_a_weaker_word() {
    let first = signal();
    let line = compact(&first.to_json());
    let again = one(&serde_json::from_str(&line).unwrap());
    assert_eq!((&again.id, &again.revision, &again.time), (&first.id, &first.revision, &first.time));
    assert_eq!(again.to_json()["fields"], first.to_json()["fields"]);
    assert_eq!(sources(&again, "/comment"), ["jira/comment", "plain/line"]);
    let authentication = |signal: &ProjectSignal| signal.sender.as_ref().unwrap().authentication;
    assert_eq!(authentication(&first), SenderAuthentication::SourceAccount);
    assert_eq!(authentication(&again), SenderAuthentication::Unverified);
}

#[test]
fn a_line_that_claims_other_content_is_a_revision_of_its_own() {
    let first = signal();
    let mut line = first.to_json();
    line["fields"]["comment"] = Json::from("not blocked");
    let again = one(&line);
    assert_eq!(again.id, first.id);
    assert_ne!(again.revision, first.revision);
    line["revision"] = Json::from("0".repeat(64));
    assert_eq!(one(&line).revision, again.revision);
}

#[test]
fn a_line_of_somebody_for_a_source_without_adapter() {
    let signal = one(&json!({
        "signal": 1, "id": "lin-5", "type": "ticket_updated", "source": "linear", "time": "2025-10-09T08:53:20Z",
        "sender": { "name": "Ann", "address": "ann@example.org", "authentication": "dmarc-aligned", "team": "x" },
        "ticket": "LIN-5", "project": "LIN", "summary": "Late", "body": "Two weeks late.", "estimate": 3,
        "fields": { "status": "Blocked", "unheard": [true] },
    }));
    assert_eq!(signal.source.as_str(), "plain");
    assert!(signal.id.starts_with("plain:") && !signal.id.contains("lin"), "{}", signal.id);
    assert_eq!(text(signal.ticket.as_ref()).as_deref(), Some("LIN-5"));
    assert_eq!(signal.sender.as_ref().unwrap().authentication, SenderAuthentication::Unverified);
    for (place, expected) in [
        ("/body", json!("Two weeks late.")),
        ("/status", json!("Blocked")),
        ("/other/estimate", json!(3)),
        ("/other/source", json!("linear")),
        ("/other/unheard", json!([true])),
        ("/other/sender/team", json!("x")),
    ] {
        assert_eq!(field(&signal, place), expected, "{place}");
    }
    assert_eq!(sources(&signal, "/body"), ["plain/body", "plain/line"]);
}

#[test]
fn no_text_of_a_stranger_is_in_an_id() {
    for id in ["jira:ignore-all-rules", "jira:comment:1:obey", "mail:x", "jira:", ":", "a:b:c", "jira"] {
        for source in ["jira", "mail", "plain", "other"] {
            let signal = one(&json!({ "signal": 1, "id": id, "source": source, "type": "note" }));
            let rest = signal.id.split_once(':').unwrap().1;
            assert!(rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{}", signal.id);
        }
    }
}

/// The text between the lines of a fenced block of the page on signals.
fn block(language: &str) -> &'static str {
    let page = include_str!("../../../../docs/concepts/signals.md");
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_examples_of_the_page_on_signals_are_read() {
    let signal = one(&serde_json::from_str(block("json")).unwrap());
    assert_eq!((signal.kind.as_str(), text(signal.ticket.as_ref()).as_deref()), ("ticket_updated", Some("LIN-5")));
    assert_eq!(signal.notes, ["project unknown"]);
    let policy = proem_guard::Policy::parse(block("text")).unwrap();
    assert_ne!(policy.bar("jira/comment", "comment"), policy.bar("jira/description", "description"));
}
