//! A repair as it is recorded and reported: its kind and its place, and nothing that the model wrote.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Repair, RepairKind};

/// A repair of an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PlacedRepair {
    /// The kind of repair.
    pub kind: RepairKind,
    /// The place in the value, in names that the schema declares. Empty for the value as a whole.
    pub path: String,
    /// The line of the answer, counted from 1; 0 in records that kept no place.
    pub line: usize,
}

impl PlacedRepair {
    /// The place and what was done there, in a short sentence without its full stop.
    #[must_use]
    pub fn in_words(&self) -> String {
        let words = self.kind.in_words();
        match (self.path.as_str(), self.line) {
            (_, 0) => words.to_owned(),
            ("", line) => format!("line {line}: {words}"),
            (path, line) => format!("`{path}`, line {line}: {words}"),
        }
    }
}

impl From<&Repair> for PlacedRepair {
    fn from(repair: &Repair) -> Self {
        Self { kind: repair.kind, path: repair.path.clone(), line: repair.line }
    }
}

/// The two forms that are in records: the older one is the kind alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredRepair {
    Kind(RepairKind),
    Placed { kind: RepairKind, path: String, line: usize },
}

impl<'de> Deserialize<'de> for PlacedRepair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match StoredRepair::deserialize(deserializer)? {
            StoredRepair::Kind(kind) => Self { kind, path: String::new(), line: 0 },
            StoredRepair::Placed { kind, path, line } => Self { kind, path, line },
        })
    }
}

impl JsonSchema for PlacedRepair {
    fn schema_name() -> Cow<'static, str> {
        "PlacedRepair".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "kind": generator.subschema_for::<RepairKind>(),
                "path": {
                    "type": "string",
                    "description": "Where in the value, in names that the schema declares; empty for the value as a whole.",
                },
                "line": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "The line of the answer, counted from 1; 0 in records that kept no place.",
                },
            },
            "required": ["kind", "path", "line"],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn records_of_both_forms_are_read() {
        let placed = PlacedRepair { kind: RepairKind::MissingComma, path: "/a".into(), line: 2 };
        assert_eq!(to_value(&placed).unwrap(), json!({ "kind": "missing-comma", "path": "/a", "line": 2 }));
        assert_eq!(from_value::<PlacedRepair>(to_value(&placed).unwrap()).unwrap(), placed);
        let older: PlacedRepair = from_value(json!("fence")).unwrap();
        assert_eq!(older, PlacedRepair { kind: RepairKind::Fence, path: String::new(), line: 0 });
        assert_eq!(placed.in_words(), "`/a`, line 2: a missing comma was added");
        assert_eq!(older.in_words(), "a code fence around the value was removed");
    }
}
