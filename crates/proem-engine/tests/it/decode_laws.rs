//! Laws of decoding: what holds for any value, any text around it and any damage to it.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_engine::contract::Contract;
use proem_engine::decode::{MAX_REPAIRS, RepairKind, decode_value};
use proptest::prelude::*;
use serde_json::{Number, Value as Json, json};

/// A contract that no value here meets and that changes none.
fn foreign_contract() -> Contract {
    let schema = json!({"type": "object", "properties": {"~none": {"type": "integer"}}, "required": ["~none"]});
    Contract::bounded("answer", "", schema).unwrap().0
}

/// A contract with all that is aligned.
fn contract() -> Contract {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "boolean"}, "d": {"type": "number"},
            "e": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "f": {"type": "array", "items": {"type": "string"}},
            "g": {"oneOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
            ]},
        },
        "required": ["a", "b"],
    });
    Contract::bounded("answer", "", schema).unwrap().0
}

/// Any JSON value whose root is a list or an object.
fn value(text: &'static str) -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1_000_000_i32..1_000_000).prop_map(|number| Json::from(f64::from(number) / 64.0)),
        text.prop_map(Json::from),
    ];
    let tree = leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(text, inner, 0..5)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    });
    prop::collection::btree_map(prop_oneof![3 => "[a-g]", 1 => text], tree, 1..6)
        .prop_map(|members| Json::Object(members.into_iter().collect()))
}

/// A text with a few characters put in, left out or doubled.
fn mutilated(text: &str, damage: &[(usize, u8, char)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, kind, c) in damage {
        let at = at % chars.len().max(1);
        match kind {
            0 => _ = chars.splice(at..at, [*c]).count(),
            1 => _ = chars.splice(at..chars.len().min(at + 1), []).count(),
            2 => _ = chars.splice(at..chars.len().min(at + 1), [*c]).count(),
            _ => chars.truncate(at + 1),
        }
    }
    chars.into_iter().collect()
}

/// Whether every text, key and number of `value` is in `text` in some spelling.
fn is_from(value: &Json, text: &str) -> bool {
    let stands = |leaf: &str| leaf.split(|c: char| !c.is_ascii_alphanumeric()).all(|word| text.contains(word));
    match value {
        // A blank text means no value where a contract allows none.
        Json::Null => {
            let is_blank =
                |(at, _): (usize, &str)| text.get(at + 1..).is_some_and(|rest| rest.trim_start().starts_with('"'));
            text.contains("null") || text.contains("None") || text.match_indices('"').any(is_blank)
        }
        Json::Bool(value) => text.to_lowercase().contains(&value.to_string()),
        Json::String(leaf) => stands(leaf),
        Json::Number(number) => text.contains(&number.to_string()) || spells(text, number),
        Json::Array(list) => list.iter().all(|element| is_from(element, text)),
        Json::Object(members) => members.iter().all(|(key, member)| stands(key) && is_from(member, text)),
    }
}

fn spells(text: &str, number: &Number) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    text.split(|c| !is_part(c)).any(|token| token.parse().ok() == number.as_f64())
}

/// Whether `part` is what is left of `whole` when its text is cut.
fn is_start(part: &Json, whole: &Json) -> bool {
    match (part, whole) {
        (Json::String(part), Json::String(whole)) => whole.starts_with(part.as_str()),
        (Json::Array(part), Json::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| is_start(part, whole))
        }
        (Json::Object(part), Json::Object(whole)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| is_start(part, whole)))
        }
        (part, whole) => part == whole,
    }
}

/// Decoding the canonical text of what was decoded changes nothing, unless the text ended inside the
/// value: what was cut is never taken for another type, and its canonical text is no longer cut.
fn settles(text: &str, contract: &Contract) -> Result<(), TestCaseError> {
    if let Ok(decoded) = decode_value(text, contract)
        && decoded.repairs.iter().all(|repair| repair.kind != RepairKind::OpenEnd)
    {
        let again = decode_value(&decoded.value.to_string(), contract).unwrap();
        prop_assert_eq!(again.value, decoded.value, "{}", text);
    }
    Ok(())
}

const DAMAGE: &str = "[{}\\[\\]\",:'\n#/*\\\\ a-g0-9.+“”`<>_-]";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn json_is_what_serde_reads(value in value("\\PC{0,8}"), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let decoded = decode_value(&text, &foreign_contract()).unwrap();
        prop_assert_eq!(&decoded.value, &serde_json::from_str::<Json>(&text).unwrap());
        prop_assert_eq!(decoded.repairs, []);
        settles(&text, &contract())?;
    }

    #[test]
    fn what_stands_around_changes_nothing(
        value in value("\\PC{0,8}"), before in "[^{}\\[\\]]{0,30}", after in "[^{}\\[\\]]{0,30}", fenced in any::<bool>(),
    ) {
        // A key behind a value says that something was closed too early.
        prop_assume!(!after.trim_start().starts_with('"'));
        let json = serde_json::to_string_pretty(&value).unwrap();
        let text = if fenced { format!("{before}\n```json\n{json}\n```\n{after}") } else { format!("{before}\n{json}\n{after}") };
        let decoded = decode_value(&text, &foreign_contract()).unwrap();
        prop_assert_eq!(decoded.value, value);
        for repair in decoded.repairs {
            prop_assert!(matches!(repair.kind, RepairKind::Fence | RepairKind::Prose | RepairKind::Wrapper), "{:?}", repair);
        }
    }

    #[test]
    fn nothing_is_made_up(
        value in value("[a-z0-9 ]{0,6}"), pretty in any::<bool>(),
        damage in prop::collection::vec((any::<usize>(), 0_u8..4, DAMAGE.prop_map(|c| c.chars().next().unwrap())), 1..8),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let text = mutilated(&text, &damage);
        for contract in [foreign_contract(), contract()] {
            if let Ok(decoded) = decode_value(&text, &contract) {
                prop_assert!(text.contains("\\x") || is_from(&decoded.value, &text), "{} in {}", decoded.value, text);
                prop_assert!(decoded.repairs.len() <= MAX_REPAIRS + 64);
                prop_assert!(decoded.repairs.is_sorted_by_key(|repair| repair.span.start));
            }
            settles(&text, &contract)?;
        }
    }

    #[test]
    fn any_text_settles(text in "([{}\\[\\]\",:'\n#/*\\\\ a-g.+“”`<>_-]|true|null|\"a\": |12){0,60}") {
        settles(&text, &contract())?;
    }

    #[test]
    fn a_cut_text_gives_the_start_of_the_value(value in value("\\PC{0,8}"), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let contract = foreign_contract();
        for (end, _) in text.char_indices() {
            let (text, _) = text.split_at(end);
            if let Ok(decoded) = decode_value(text, &contract) {
                prop_assert!(is_start(&decoded.value, &value), "{} of {}", decoded.value, text);
            }
        }
    }
}
