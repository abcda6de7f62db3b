//! Any text of a model: it is read or refused, the listed repairs are bounded and within the text, and the canonical
//! text of a value that was read is read as that value, unless its own text ended inside of it: a cut value is never
//! taken for another type.

use std::sync::LazyLock;

use proem_engine::contract::Contract;
use proem_engine::decode::{MAX_REPAIRS, RepairKind, decode_value};
use serde_json::Value as Json;

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let schema = serde_json::from_str(include_str!("decode.json")).expect("a schema");
    Contract::bounded("answer", "", schema).expect("a contract").0
});

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let Ok(decoded) = decode_value(text, &CONTRACT) else { return };
    assert!(decoded.repairs.len() <= MAX_REPAIRS + 1);
    for repair in &decoded.repairs {
        assert!(text.get(repair.span.start..repair.span.end).is_some(), "{repair:?}");
    }
    let canonical = decoded.value.to_string();
    // An escape such as `\u0001` is six times as long as the character.
    assert!(canonical.len() <= 6 * text.len() + 16, "{canonical}");
    if decoded.repairs.iter().any(|repair| matches!(repair.kind, RepairKind::OpenEnd | RepairKind::More)) {
        return;
    }
    let again = decode_value(&canonical, &CONTRACT).expect("a value");
    assert!(is_same(&again.value, &decoded.value), "{} after {canonical}", again.value);
}

/// Whether two values are the same, but for the last digit of a float that `serde_json` reads.
fn is_same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            (a - b).abs() <= 1e-12 * a.abs()
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && is_same(a.1, b.1))
        }
        (a, b) => a == b,
    }
}
