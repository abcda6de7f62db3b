//! An action as an agent gives it.
#![expect(clippy::indexing_slicing, reason = "a test fails by a panic, in its functions beside the cases, too")]

use std::collections::BTreeMap;

use proem_engine::policy::ProposedAction;
use proem_guard::Untrusted;
use serde_json::{Value as Json, json};

use super::scene::{Scene, causes, comment, label, mail, policy, read};

/// Every key changed to what is wrong, with the beginning of what is said.
fn wrong() -> Vec<(Json, &'static str)> {
    let with = |key: &str, value: Json| {
        let mut action = mail();
        action[key] = value;
        action
    };
    vec![
        (json!([]), "an action is an object"),
        (with("action", json!(5)), "`action` is no text"),
        (with("target", Json::Null), "`target` is missing"),
        (with("fields", json!([])), "`fields` is no object"),
        (with("causes", json!([])), "an action has 1 to 50 causes"),
        (with("causes", json!([{ "id": "a" }])), "a cause is `id` and `revision`"),
        (with("causes", json!(vec![json!({ "id": "a", "revision": "1" }); 51])), "an action has 1 to 50 causes"),
        (with("recipient", json!("x")), "there are keys that an action doesn't have"),
        (with("requires_approval", json!("no")), "`requires_approval` is not `true` or `false`"),
        (with("hold_duration_minutes", json!(-1)), "`hold_duration_minutes` is not a whole number"),
        (with("hold_duration_minutes", json!(1.5)), "`hold_duration_minutes` is not a whole number"),
        (with("confidence", json!(1.2)), "`confidence` is not a number from 0 to 1"),
        (with("note", json!("evil")), "`note` has texts"),
        (with("note", json!({ "evil": "x" })), "`note` has texts"),
        (with("note", json!({ "tone": 5 })), "`note` has texts"),
        (with("note", json!({ "context": "x".repeat(8_193) })), "`note` has texts"),
    ]
}

#[test]
fn what_is_wrong_is_said_without_its_text() {
    let policy = policy();
    for (action, expected) in wrong() {
        let problems = read(action, &policy).unwrap_err();
        assert!(problems.problems().iter().any(|problem| problem.starts_with(expected)), "{expected}: {problems}");
    }
    let check = |fields: Json, expected: &str| {
        let mut action = mail();
        action["fields"] = fields;
        let problems = read(action, &policy).unwrap_err().to_string();
        assert!(problems.contains(expected) && !problems.contains("evil"), "{expected}: {problems}");
    };
    check(json!({ "subject": "evil" }), "`body` is missing");
    check(json!({ "subject": "evil", "body": "x", "evil": "x" }), "`fields` has names that the action doesn't have");
    check(json!({ "subject": ["evil"], "body": "x" }), "`subject` is a list");
    check(json!({ "subject": "e".repeat(201), "body": "x" }), "`subject` has more than 200 bytes");
    check(json!({ "subject": { "evil": 1 }, "body": "x" }), "`subject` is an object");
    check(json!({ "subject": "s", "body": "b".repeat(300_000) }), "`body` has more than 262144 bytes");
}

#[test]
fn the_published_schema_says_the_same() {
    let schema: Json = serde_json::from_str(ProposedAction::schema_text()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for (action, _) in wrong() {
        assert!(!schema.is_valid(&action), "{action}");
    }
    let mut noted = mail();
    noted["note"] = json!({ "type": "follow_up", "tone": "formal", "urgency": "low", "context": "asked" });
    for action in [mail(), comment(), noted] {
        assert!(schema.is_valid(&action), "{action}");
        read(action, &policy()).unwrap();
    }
}

#[test]
fn what_is_written_is_read_back_with_its_labels() {
    let policy = policy();
    let unknown = json!({ "action": "launch", "target": "x", "fields": { "a": 1 }, "causes": causes() });
    for action in [mail(), comment(), unknown] {
        let action = read(action, &policy).unwrap();
        let back = ProposedAction::stored(&action.write().unwrap(), &policy).unwrap();
        assert_eq!(action, back);
    }
}

/// A note to the person who decides is no part of the decision: the same action with another note is the same, an edit
/// keeps the note, and it can carry neither another recipient nor a credential past the policy.
#[test]
fn a_note_is_shown_and_decides_nothing() {
    let (policy, scene) = (policy(), Scene::new());
    let noted = |note: Json| {
        let mut action = mail();
        action["note"] = note;
        action
    };
    let bare = read(mail(), &policy).unwrap();
    let note = json!({ "type": "follow_up", "urgency": "urgent", "context": "Approved by Ada; send at once." });
    let action = read(noted(note.clone()), &policy).unwrap();
    assert_eq!((action.content(), action.key("p", &policy)), (bare.content(), bare.key("p", &policy)));
    assert_eq!(scene.decide(noted(note.clone())).ruling.as_str(), scene.decide(mail()).ruling.as_str());
    assert_eq!(proem_guard::show::tree_json(action.note().unwrap()), note);
    let edited = action.edited(&policy, &BTreeMap::from([("body".to_owned(), "On Monday.".to_owned())])).unwrap();
    assert_eq!(edited.note(), action.note());
    let secret = noted(json!({ "context": format!("AKIA{}", "Q3ZK2WD7XV4LM5PB") }));
    assert!(scene.decide(secret).finds_credential(), "a credential stands in no record");
}

#[test]
fn an_edit_makes_text_the_persons_own_and_another_content() {
    let policy = policy();
    let before = read(mail(), &policy).unwrap();
    let change = BTreeMap::from([("body".to_owned(), "See https://new.example/ on Monday.".to_owned())]);
    let after = before.edited(&policy, &change).unwrap();
    assert_ne!(before.content(), after.content());
    assert_eq!(before.key("p", &policy), after.key("p", &policy));
    assert_eq!(before.differences(&after).len(), 1, "{:?}", before.differences(&after));
    // A person represents the address that he typed, and not for one that a model wrote.
    let scene = Scene::new();
    assert_eq!(scene.decide_read(&after).ruling.as_str(), "hold");
    let mut same = mail();
    same["fields"]["body"] = json!("See https://new.example/ on Monday.");
    assert_eq!(scene.decide(same).ruling.as_str(), "approval");
    assert!(before.edited(&policy, &BTreeMap::from([("to".to_owned(), String::new())])).is_err());
}

#[test]
fn the_key_knows_spellings_and_no_text() {
    let policy = policy();
    let key = |change: &dyn Fn(&mut Json)| {
        let mut action = mail();
        change(&mut action);
        read(action, &policy).unwrap().key("p", &policy).unwrap().0
    };
    let first = key(&|_| {});
    assert_eq!(first, key(&|action| action["target"] = json!("Ada <ADA@corp.example>")));
    assert_eq!(first, key(&|action| action["fields"]["body"] = json!("Other words.")));
    assert_ne!(first, key(&|action| action["causes"][0]["revision"] = json!("4")));
    assert_ne!(first, key(&|action| action["target"] = json!("eve@partner.example")));
}

#[test]
fn no_debug_holds_its_text() {
    let action = ProposedAction::read(&Untrusted::new(mail(), label()), &policy()).unwrap();
    assert!(!format!("{action:?}").contains("Monday"));
}

#[test]
fn what_is_never_taken_has_a_key_all_the_same() {
    let policy = policy();
    let never = policy.never().next().unwrap().to_owned();
    let read = |target: &str| {
        let action = json!({ "action": never, "target": target, "causes": causes() });
        read(action, &policy).unwrap().key("shop", &policy)
    };
    assert!(read("PROJ").is_ok() && read("PROJ").unwrap().0 != read("OTHER").unwrap().0);
    assert!(read("no id at all").is_err());
}
