//! The words that a report's fields may have, for its JSON Schema.

use proem_risk::level::Level;
use proem_risk::metric::Signal;
use schemars::{Schema, SchemaGenerator, json_schema};

pub(super) fn level_schema(_: &mut SchemaGenerator) -> Schema {
    let words = [Level::Low, Level::Unknown, Level::Medium, Level::High].map(Level::as_str);
    json_schema!({ "type": "string", "enum": words })
}

pub(super) fn signal_schema(_: &mut SchemaGenerator) -> Schema {
    let words = [Signal::Unknown, Signal::Low, Signal::Medium, Signal::High, Signal::None].map(Signal::as_str);
    json_schema!({ "type": "string", "enum": words })
}

/// A share: 0 to 1.
pub(super) fn share_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["number", "null"], "minimum": 0, "maximum": 1 })
}

/// A percentile: 0 to 100.
pub(super) fn percentile_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0, "maximum": 100 })
}
