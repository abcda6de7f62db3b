//! The facts read off a JSON Schema.

use serde_json::{Map, Value as Json};

/// The types that a schema permits by its `type`, or by the members of `enum` or `const`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Types {
    pub(super) text: bool,
    pub(super) number: bool,
    pub(super) integer: bool,
    pub(super) boolean: bool,
    pub(super) null: bool,
    pub(super) list: bool,
    pub(super) object: bool,
    /// Whether the schema says anything about types.
    pub(super) declared: bool,
}

impl Types {
    const ANY: Self = Self {
        text: true,
        number: true,
        integer: false,
        boolean: true,
        null: true,
        list: true,
        object: true,
        declared: false,
    };
    const NONE: Self = Self {
        text: false,
        number: false,
        integer: false,
        boolean: false,
        null: false,
        list: false,
        object: false,
        declared: true,
    };

    pub(super) fn of(schema: &Map<String, Json>) -> Self {
        let mut types = Self::NONE;
        match schema.get("type") {
            Some(Json::String(name)) => types.permit(name),
            Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).for_each(|name| types.permit(name)),
            _ => match (schema.get("enum").and_then(Json::as_array), schema.get("const")) {
                (Some(members), _) => members.iter().for_each(|member| types.permit(type_of(member))),
                (None, Some(member)) => types.permit(type_of(member)),
                (None, None) => types = Self::ANY,
            },
        }
        types
    }

    fn permit(&mut self, name: &str) {
        match name {
            "string" => self.text = true,
            "number" => self.number = true,
            "integer" => self.integer = true,
            "boolean" => self.boolean = true,
            "null" => self.null = true,
            "array" => self.list = true,
            "object" => self.object = true,
            _ => {}
        }
    }

    /// Whether a list or object is wanted and no text.
    pub(super) const fn wants_json(self) -> bool {
        (self.list || self.object) && !self.text
    }
}

const fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// The members that `enum` or `const` permits. `None` if neither is there.
pub(super) fn members(schema: &Map<String, Json>) -> Option<&[Json]> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(member), _) => Some(std::slice::from_ref(member)),
        (None, Some(Json::Array(members))) => Some(members),
        _ => None,
    }
}

/// The target of a reference within the document.
pub(super) fn resolve_reference<'s>(root: &'s Json, reference: &str) -> Option<&'s Json> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(pointer)
}

/// Whether an integer is wanted anywhere.
pub(in super::super) fn wants_integers(schema: &Json) -> bool {
    match schema {
        Json::String(word) => word == "integer",
        Json::Array(parts) => parts.iter().any(wants_integers),
        Json::Object(parts) => parts.values().any(wants_integers),
        _ => false,
    }
}
