//! Laws of keys and claims.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::collections::BTreeSet;

use proem_engine::effect::key::{
    EffectKey, KeyParts, KeyRefusal, MAX_NAME, MAX_SIGNALS, OutboxForm, SignalClaim, SignalRevision,
};
use proem_guard::{
    Untrusted,
    check::{ActionField, FieldRole, Referent},
};
use proem_text::Label;
use proptest::prelude::*;

fn target(role: FieldRole, text: &str) -> Referent {
    let value = Untrusted::new(text.to_owned(), Label::trusted());
    Referent::of(&ActionField { path: "target", role, value: &value }).unwrap()
}

fn ada() -> Referent {
    target(FieldRole::Recipient, "ada@example.org")
}

fn revisions(all: &[(&str, &str)]) -> Vec<SignalRevision> {
    all.iter().map(|(id, revision)| SignalRevision { id: (*id).to_owned(), revision: (*revision).to_owned() }).collect()
}

fn key(project: &str, action: &str, target: Referent, causes: &[(&str, &str)]) -> Result<EffectKey, KeyRefusal> {
    EffectKey::new(&KeyParts { project, action, target, causes: &revisions(causes) })
}

fn signal_claims(causes: &[(&str, &str)]) -> BTreeSet<SignalClaim> {
    let causes = revisions(causes);
    let parts = KeyParts { project: "p", action: "a", target: ada(), causes: &causes };
    SignalClaim::of(&parts).unwrap().into_iter().collect()
}

#[test]
fn the_key_stays_what_it_is() {
    // Stored keys and files of outboxes go by it: another one here is another form. Computed apart from this crate,
    // by hashing the lengths and texts that the form names.
    let key = key("/srv/project", "email_stakeholder", ada(), &[("MAIL-1", "2"), ("JIRA-7", "1")]).unwrap();
    assert_eq!(key.to_string(), "fed1ead17beabb13c8051935a402d172da5e6e11098a9bd6e4efc8f28534dcac");
    let domain = key.message_id("Example.ORG").unwrap();
    assert_eq!(domain, format!("<{key}@example.org>"));
    assert_eq!(key.file_name(OutboxForm::Mail), format!("{key}.eml"));
    assert_eq!(key.file_name(OutboxForm::Request), format!("{key}.json"));
    assert_eq!(EffectKey::of_bytes(*key.as_bytes()), key);
}

#[test]
fn spellings_of_the_target_make_no_other_key() {
    let keys: BTreeSet<_> = ["ada@bücher.example", "Ada <ADA@xn--bcher-kva.example>"]
        .iter()
        .map(|text| key("p", "a", target(FieldRole::Recipient, text), &[("s", "1")]).unwrap())
        .collect();
    assert_eq!(keys.len(), 1);
    // Targets differ by their kind, too.
    let host = key("p", "a", target(FieldRole::Host, "example.org"), &[("s", "1")]);
    let url = key("p", "a", target(FieldRole::Url, "example.org/"), &[("s", "1")]);
    assert_ne!(host, url);
}

#[test]
fn a_revision_is_no_duplicate() {
    assert_ne!(key("p", "a", ada(), &[("s", "1")]), key("p", "a", ada(), &[("s", "2")]));
    assert!(signal_claims(&[("s", "1")]).is_disjoint(&signal_claims(&[("s", "2")])));
    // The same signal in company is the same reason for the same action.
    assert_eq!(
        signal_claims(&[("s", "1"), ("t", "1")]).intersection(&signal_claims(&[("s", "1"), ("u", "1")])).count(),
        1
    );
}

#[test]
fn what_makes_no_key_is_said() {
    let long = "x".repeat(MAX_NAME + 1);
    let many: Vec<(String, String)> = (0..=MAX_SIGNALS).map(|number| (number.to_string(), "1".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(id, revision)| (id.as_str(), revision.as_str())).collect();
    let check = |project, action, causes: &[(&str, &str)], refused, words: &str| {
        assert_eq!(key(project, action, ada(), causes), Err(refused));
        assert_eq!(refused.to_string(), words);
    };
    let name = "project and action need names, the action's of at most 256 bytes; name them";
    check("", "a", &[("s", "1")], KeyRefusal::Name, name);
    check("p", &long, &[("s", "1")], KeyRefusal::Name, name);
    check("p", "a", &[], KeyRefusal::NoCause, "an action without a cause would be the same each time; name a signal");
    check("p", "a", &many, KeyRefusal::TooManyCauses, "an action has at most 256 signals; name fewer");
    let signal = "a signal needs an id and a revision of 1 to 256 bytes; name both";
    check("p", "a", &[("s", "")], KeyRefusal::Signal, signal);
    check("p", "a", &[(&long, "1")], KeyRefusal::Signal, signal);
}

#[test]
fn a_message_id_has_no_room_for_anything_else() {
    let key = key("p", "a", ada(), &[("s", "1")]).unwrap();
    for domain in ["", "localhost", "a..b", "-a.b", "a.b>", "a.b\r\nBcc: c", "a b.c", "bücher.example", "a.b@c.d"] {
        assert_eq!(key.message_id(domain), None, "{domain:?}");
    }
}

fn name() -> impl Strategy<Value = String> {
    // Few letters, so that concatenations of different names often have the same bytes.
    prop::collection::vec(prop::sample::select(vec!['a', 'b', '\0', '\u{1}', 'é']), 1..4).prop_map(String::from_iter)
}

fn causes_of_a_few() -> impl Strategy<Value = Vec<SignalRevision>> {
    prop::collection::vec((name(), name()).prop_map(|(id, revision)| SignalRevision { id, revision }), 1..4)
}

proptest! {
    #[test]
    fn order_and_repetition_make_no_other_key(mut causes in causes_of_a_few(), turn in 0_usize..8) {
        let parts = |causes: &[SignalRevision]| {
            let parts = KeyParts { project: "p", action: "a", target: ada(), causes };
            (EffectKey::new(&parts).unwrap(), SignalClaim::of(&parts).unwrap())
        };
        let before = parts(&causes);
        let places = causes.len();
        causes.rotate_left(turn % places);
        causes.push(causes[0].clone());
        prop_assert_eq!(before, parts(&causes));
    }

    #[test]
    fn only_the_same_parts_make_the_same_key(
        left in (name(), name(), causes_of_a_few()),
        right in (name(), name(), causes_of_a_few()),
    ) {
        let make = |(project, action, causes): &(String, String, Vec<SignalRevision>)| {
            EffectKey::new(&KeyParts { project, action, target: ada(), causes }).unwrap()
        };
        let sorted = |(project, action, causes): &(String, String, Vec<SignalRevision>)| {
            (project.clone(), action.clone(), causes.iter().cloned().collect::<BTreeSet<_>>())
        };
        prop_assert_eq!(make(&left) == make(&right), sorted(&left) == sorted(&right));
    }

    #[test]
    fn two_actions_share_a_claim_exactly_where_they_share_a_signal(
        left in causes_of_a_few(),
        right in causes_of_a_few(),
    ) {
        let claims = |causes: &[SignalRevision]| -> BTreeSet<SignalClaim> {
            let parts = KeyParts { project: "p", action: "a", target: ada(), causes };
            SignalClaim::of(&parts).unwrap().into_iter().collect()
        };
        let shared = left.iter().collect::<BTreeSet<_>>().intersection(&right.iter().collect()).count();
        prop_assert_eq!(claims(&left).intersection(&claims(&right)).count(), shared);
    }

    #[test]
    fn keys_are_plain_names(project in ".{1,20}", action in "[a-z_]{1,20}") {
        let key = key(&project, &action, ada(), &[("s", "1")]).unwrap().to_string();
        prop_assert!(key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
