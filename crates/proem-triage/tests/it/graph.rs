//! Microsoft Graph's messages and notifications, after its documents.

use proem_triage::SenderAuthentication;
use serde_json::json;

use super::{check_fixtures, field, fixture, one, read_as, sources, text};

#[test]
fn what_each_fixture_is() {
    check_fixtures(
        "graph",
        &[
            ("01-message.json", "email_received 2025-10-09T08:53:21.000Z Refund service is late"),
            ("02-list.json", "email_received 2025-10-09T08:53:21.000Z One"),
            ("02-list.json", "email_received 2025-10-09T08:53:21.000Z Two"),
            ("03-aligned.json", "email_received 2025-10-09T08:53:21.000Z Refund service is late"),
            ("04-forged-headers.json", "email_received 2025-10-09T08:53:21.000Z Refund service is late"),
            ("05-on-behalf.json", "email_received 2025-10-09T08:53:21.000Z Refund service is late"),
            ("06-attachments.json", "email_received 2025-10-09T08:53:21.000Z Refund service is late"),
            ("07-selected-fields.json", "email_received 2025-10-09T08:53:21.000Z –"),
            ("08-delta-removed.json", "email_deleted – –"),
            ("09-notifications.json", "email_announced – –"),
            ("09-notifications.json", "email_announced – –"),
            ("09-notifications.json", "email_deleted – –"),
            ("10-notification-with-message.json", "email_received 2025-10-09T08:53:21.000Z In the notification"),
            ("11-notification-encrypted.json", "email_announced – –"),
            ("12-lifecycle.json", "unknown:missed – –"),
            ("13-calendar-notification.json", "unknown:#Microsoft.Graph.Event – –"),
            (
                "14-malformed.json",
                "malformed: item 0: a message without `id` and `internetMessageId`; nothing tells which one it is",
            ),
            (
                "14-malformed.json",
                "malformed: item 1: a notification without `resource`; nothing tells what it is about",
            ),
            ("14-malformed.json", "malformed: item 2: no object; a signal is one"),
        ],
    );
}

#[test]
fn only_a_configured_server_vouches_for_a_sender() {
    let server = ["mx.corp.example".to_owned()];
    for (name, servers, expected) in [
        ("03-aligned.json", &server[..], SenderAuthentication::DmarcAligned),
        ("03-aligned.json", &[], SenderAuthentication::Unverified),
        ("04-forged-headers.json", &server[..], SenderAuthentication::Unverified),
        ("01-message.json", &server[..], SenderAuthentication::Unverified),
    ] {
        let signal = read_as(&fixture("graph", name), servers).signals.remove(0);
        assert_eq!(signal.sender.unwrap().authentication, expected, "{name} {servers:?}");
    }
}

#[test]
fn what_is_read_of_a_message() {
    let signal = one(&serde_json::from_str(&fixture("graph", "05-on-behalf.json")).unwrap());
    let sender = signal.sender.as_ref().unwrap();
    assert_eq!(text(sender.address.as_ref()).as_deref(), Some("ann@corp.example"));
    assert_eq!(field(&signal, "/other/sender/emailAddress/address"), "office@corp.example");
    assert_eq!(field(&signal, "/to/0/emailAddress/address"), "pm@corp.example");
    assert_eq!(field(&signal, "/body_type"), "text");
    assert_eq!(field(&signal, "/other/flag/flagStatus"), "notFlagged");
    assert_eq!(sources(&signal, "/body"), ["outlook/body"]);
    assert_eq!(sources(&signal, "/preview"), ["outlook/preview"]);
}

#[test]
fn a_message_is_the_same_alone_and_in_a_list() {
    let page: serde_json::Value = serde_json::from_str(&fixture("graph", "02-list.json")).unwrap();
    let (listed, alone) = (one(&json!([page["value"][0]])), one(&page["value"][0]));
    let mut fetched = page["value"][0].clone();
    fetched["@odata.context"] = "https://graph.microsoft.com/v1.0/$metadata#x".into();
    for other in [alone, one(&fetched)] {
        assert_eq!((other.id, other.revision), (listed.id.clone(), listed.revision.clone()));
    }
}

#[test]
fn no_secret_of_a_subscription_is_kept() {
    for name in ["09-notifications.json", "10-notification-with-message.json", "11-notification-encrypted.json"] {
        for signal in read_as(&fixture("graph", name), &[]).signals {
            let written = signal.write().unwrap();
            assert!(!written.contains("secretClientValue") && !written.contains("dataKey"), "{written}");
            assert!(signal.notes.iter().any(|note| note.starts_with("clientState left out")), "{:?}", signal.notes);
        }
    }
    let signal = read_as(&fixture("graph", "06-attachments.json"), &[]).signals.remove(0);
    assert_eq!(field(&signal, "/attachments/0/name"), "plan.pdf");
    assert!(signal.notes.contains(&"attachments without their bytes, which are left out: 1".to_owned()));
}

#[test]
fn nobody_sent_a_draft() {
    let message = |fields: serde_json::Value| {
        let mut message = json!({ "id": "AAMk=", "receivedDateTime": "2025-10-09T08:53:21Z", "subject": "Late",
            "body": { "contentType": "text", "content": "The vendor is late" } });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    for (fields, expected) in [
        (json!({ "isDraft": true }), "unknown"),
        (json!({ "isDraft": false }), "email_received"),
        (json!({}), "email_received"),
        (json!({ "isDraft": true, "@removed": { "reason": "deleted" } }), "email_deleted"),
    ] {
        assert_eq!(one(&message(fields.clone())).kind.as_str(), expected, "{fields}");
    }
    let notified = json!({ "subscriptionId": "s", "changeType": "created", "resource": "m/1",
        "resourceData": message(json!({ "isDraft": true })) });
    assert_eq!(one(&notified).kind.as_str(), "unknown");
}
