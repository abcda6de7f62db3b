//! The laws for any JSON and any order.

use proem_triage::{ProjectSignal, SignalLog, SourceContext, normalise_signals, normalise_value};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::{NOW, one};

/// Names that adapters look for, among others.
const NAMES: &[&str] = &[
    "webhookEvent",
    "issue",
    "fields",
    "key",
    "id",
    "comment",
    "comments",
    "body",
    "user",
    "accountId",
    "timestamp",
    "changelog",
    "items",
    "histories",
    "toString",
    "issues",
    "summary",
    "description",
    "status",
    "name",
    "type",
    "content",
    "text",
    "attrs",
    "self",
    "signal",
    "source",
    "time",
    "sender",
    "other",
    "project",
    "sprint",
    "labels",
    "updated",
    "created",
    "data",
    "events",
    "gid",
    "resource",
    "action",
    "resource_type",
    "resource_subtype",
    "parent",
    "change",
    "memberships",
    "target",
    "created_by",
    "notes",
    "html_notes",
    "value",
    "from",
    "emailAddress",
    "address",
    "subject",
    "resourceData",
    "lifecycleEvent",
    "@odata.type",
    "uniqueBody",
    "attachments",
    "internetMessageHeaders",
    "clientState",
    "author",
    "constructor",
    "",
];

const TEXTS: &[&str] = &[
    "jira:issue_updated",
    "comment_created",
    "doc",
    "paragraph",
    "text",
    "2025-10-09T08:53:20Z",
    "https://x/y",
    "PAY-1",
    "story",
    "task",
    "changed",
    "-",
    "",
    "\u{202e}\0",
    "email_received",
    "jira",
    "mail:message:1",
];

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(|number| json!(number)),
        proptest::sample::select(TEXTS).prop_map(Json::from),
        ".{0,12}".prop_map(Json::from),
        Just(json!(1)),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        let names = proptest::sample::select(NAMES).prop_map(str::to_owned);
        let object = proptest::collection::btree_map(names, inner.clone(), 0..8)
            .prop_map(|fields| Json::Object(fields.into_iter().collect::<Map<_, _>>()));
        prop_oneof![proptest::collection::vec(inner, 0..5).prop_map(Json::Array), object.clone(), object]
    })
}

/// Something that an adapter takes, with anything in it.
fn any_signal() -> impl Strategy<Value = Json> {
    let heads = [
        json!({ "webhookEvent": "jira:issue_updated" }),
        json!({ "webhookEvent": "comment_created", "comment": { "id": "1" } }),
        json!({ "id": "1", "key": "PAY-1", "fields": {} }),
        json!({ "signal": 1, "id": "a", "type": "note" }),
        json!({ "id": "AAMk=", "receivedDateTime": "2025-10-09T08:53:21Z", "body": { "content": "x" } }),
        json!({ "action": "changed", "resource": { "gid": "1", "resource_type": "task" } }),
        json!({ "gid": "1", "resource_type": "task", "notes": "x" }),
        json!({ "gid": "1", "resource_type": "story", "text": "x", "html_text": "<p>x</p>" }),
        json!({ "subscriptionId": "a", "changeType": "created", "resource": "r", "resourceData": { "id": "AAMk=" } }),
    ];
    (proptest::sample::select(heads.to_vec()), any_json()).prop_map(|(mut head, more)| {
        if let (Some(head), Json::Object(more)) = (head.as_object_mut(), more) {
            // A page or a line for Proem would be another signal.
            for (name, value) in more
                .into_iter()
                .filter(|(name, _)| !matches!(name.as_str(), "signal" | "issues" | "value" | "events" | "data"))
            {
                head.entry(name).or_insert(value);
            }
        }
        head
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_value_is_signals_or_malformed(value in prop_oneof![any_json(), any_signal()]) {
        let context = SourceContext { now: NOW, mail_servers: &[], audiences: &[] };
        let count = match &value {
            Json::Array(_) => 0,
            Json::Object(fields) if fields.values().any(Json::is_array) => 0,
            _ => 1,
        };
        let found = normalise_value(value, &context);
        prop_assert!(found.signals.len() + found.malformed.len() >= count);
        for signal in &found.signals {
            let written = signal.write().unwrap();
            prop_assert_eq!(&ProjectSignal::read(&written).unwrap(), signal);
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-');
            prop_assert!(signal.id.len() <= 256 && signal.id.bytes().all(is_plain), "{}", signal.id);
            prop_assert_eq!(signal.revision.len(), 64);
        }
    }

    #[test]
    fn a_printed_signal_keeps_id_and_revision(value in any_signal()) {
        let mut found = normalise_value(value, &SourceContext { now: NOW, mail_servers: &[], audiences: &[] });
        // With anything in it, it may as well be a broken one of another source.
        prop_assume!(found.signals.len() == 1);
        let first = found.signals.remove(0);
        let again = one(&first.to_json());
        prop_assert_eq!(again.id, first.id);
        prop_assert_eq!(again.revision, first.revision);
    }

    #[test]
    fn no_text_stops_it(text in ".{0,200}", lines in "[{}\\[\\]\",:a1\n ]{0,80}") {
        for text in [text, lines] {
            let found = normalise_signals(&text, &SourceContext { now: NOW, mail_servers: &[], audiences: &[] });
            prop_assert!(found.malformed.iter().all(|malformed| !malformed.reason.contains('\n')));
        }
    }

    #[test]
    fn the_order_of_delivery_changes_no_result(
        deliveries in proptest::collection::vec((0..4_u8, 0..3_u8, 0..3_u8), 1..12),
        seed in any::<u64>(),
    ) {
        let signals: Vec<ProjectSignal> = deliveries.iter().map(|delivery| delivered(*delivery)).collect();
        let mut shuffled = signals.clone();
        // Fisher and Yates, by a generator of Knuth's.
        let mut state = seed;
        for at in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
        }
        shuffled.extend(signals.first().cloned());
        let (mut a, mut b) = (SignalLog::default(), SignalLog::default());
        signals.into_iter().for_each(|signal| _ = a.add(signal));
        shuffled.into_iter().for_each(|signal| _ = b.add(signal));
        prop_assert_eq!(&a, &b);
        prop_assert!(a.current().eq(b.current()));
    }
}

/// One of few signals in one of few revisions, from its source or as a line.
fn delivered((which, content, way): (u8, u8, u8)) -> ProjectSignal {
    let times = [json!(1_760_000_000_000_i64), json!(0), json!(1_760_000_100_000_i64)];
    let signal = one(&json!({
        "webhookEvent": "comment_updated",
        "timestamp": times[usize::from(content)],
        "issue": { "id": "1", "key": "PAY-1" },
        "comment": { "id": which, "body": format!("word {content}") },
        "user": { "accountId": "a" },
    }));
    if way == 0 { one(&signal.to_json()) } else { signal }
}
