//! The input that holds a history: its name, and the shape of its turns.

use serde_json::{Value as Json, json as value};

/// The name of the input.
pub const INPUT: &str = "history";

/// The most turns of a history.
pub const MAX_TURNS: usize = 1_000;

/// The schema that the input must meet before its turns are read.
pub(crate) fn schema() -> Json {
    value!({ "type": "array", "maxItems": MAX_TURNS, "items": { "type": "object" } })
}
