//! JSON Schema, as far as prompts need to know it.

use serde_json::Value as Json;

/// A compiled JSON Schema.
///
/// # Errors
///
/// What is wrong with the schema.
pub(crate) fn compile(schema: &Json) -> Result<jsonschema::Validator, String> {
    jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex()).build(schema).map_err(|e| {
        match e.instance_path().to_string() {
            path if path.is_empty() => e.to_string(),
            path => format!("{e} (at `{path}`)"),
        }
    })
}

/// The kinds of value that templates treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar,
    List,
    Object,
    Unknown,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scalar => "a text, number or boolean",
            Self::List => "a list",
            Self::Object => "an object",
            Self::Unknown => "of no declared type",
        }
    }
}

/// The kind of value that `schema` describes; what can't be told is [`Kind::Unknown`].
pub(crate) fn kind(schema: &Json) -> Kind {
    if let Some(Json::Array(values)) = schema.get("enum") {
        let scalars = values.iter().all(|value| !value.is_array() && !value.is_object());
        return if scalars { Kind::Scalar } else { Kind::Unknown };
    }
    let name = match schema.get("type") {
        Some(Json::String(name)) => name.as_str(),
        Some(Json::Array(names)) => {
            let mut others = names.iter().filter_map(Json::as_str).filter(|name| *name != "null");
            match (others.next(), others.next()) {
                (Some(name), None) => name,
                _ => return Kind::Unknown,
            }
        }
        _ => return Kind::Unknown,
    };
    match name {
        "string" | "number" | "integer" | "boolean" => Kind::Scalar,
        "array" => Kind::List,
        "object" => Kind::Object,
        _ => Kind::Unknown,
    }
}
