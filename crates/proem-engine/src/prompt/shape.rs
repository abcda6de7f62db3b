//! The reach of a path in a template, read off the input's JSON Schema.

use serde_json::Value as Json;

use crate::input::InputTrust;
use crate::schema::{ValueKind, kind_of_schema};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathTarget<'s> {
    /// All inputs together.
    Inputs,
    /// One value.
    Value(TypedValue<'s>),
    /// A value that the engine computes, such as `@index`, or a literal.
    Computed,
}

/// A value's schema, trust and presence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypedValue<'s> {
    pub(crate) schema: &'s Json,
    pub(crate) trust: InputTrust,
    pub(crate) presence: Presence,
}

/// Whether a value is always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Always,
    /// It may be nothing.
    Optional,
    /// Its parent may be absent.
    Inside,
}

fn shape_accepts_null(schema: &Json) -> bool {
    let in_type = match schema.get("type") {
        Some(Json::Array(names)) => names.iter().any(|name| name == "null"),
        Some(Json::String(name)) => name == "null",
        _ => false,
    };
    in_type || matches!(schema.get("enum"), Some(Json::Array(values)) if values.contains(&Json::Null))
}

impl<'s> TypedValue<'s> {
    /// A property of an object.
    pub(crate) fn property(self, name: &str) -> Result<Self, String> {
        let declared = self.schema.get("properties").and_then(|properties| properties.get(name));
        let Some(schema) = declared else {
            let names: Vec<&str> = self
                .schema
                .get("properties")
                .and_then(Json::as_object)
                .map(|properties| properties.keys().map(String::as_str).collect())
                .unwrap_or_default();
            return Err(match (kind_of_schema(self.schema), names.is_empty()) {
                (ValueKind::List, _) => format!("`{name}` is not a field of a list; iterate over the list with #each"),
                (ValueKind::Scalar, _) => {
                    format!("`{name}` is not available: a string, number or boolean has no fields")
                }
                (_, true) => format!("`{name}` is not declared; declare the object's properties in input.schema"),
                (_, false) => format!("`{name}` is not declared; declared: {}", names.join(", ")),
            });
        };
        let required = matches!(self.schema.get("required"), Some(Json::Array(all)) if all.iter().any(|r| r == name));
        let optional = !required || shape_accepts_null(schema);
        let presence = match (self.presence, optional) {
            (Presence::Optional | Presence::Inside, _) => Presence::Inside,
            (Presence::Always, true) => Presence::Optional,
            (Presence::Always, false) => Presence::Always,
        };
        Ok(Self { schema, trust: self.trust, presence })
    }

    /// The items of `#each` over it, and whether `@key` names a property.
    pub(crate) fn each(self) -> Result<(Self, Keys), String> {
        let inside = |schema: &'s Json| {
            let presence = if shape_accepts_null(schema) { Presence::Optional } else { Presence::Always };
            Self { schema, trust: self.trust, presence }
        };
        match kind_of_schema(self.schema) {
            ValueKind::List => match self.schema.get("items") {
                Some(items) => Ok((inside(items), Keys::Indices)),
                None => Err("the list's items are not declared".into()),
            },
            ValueKind::Object => match self.schema.get("additionalProperties") {
                Some(schema @ Json::Object(_)) => Ok((inside(schema), Keys::Names)),
                _ => Err("#each iterates over lists and over objects declared with `(*)`".into()),
            },
            other => Err(format!("#each needs a list; this is {}", other.as_str())),
        }
    }
}

/// The meaning of `@key` inside an `#each`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Indices,
    Names,
}

/// Whether a value is a yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boolean {
    Only,
    Never,
    Perhaps,
}

/// Whether what `schema` describes is a yes or no.
pub(crate) fn boolean(schema: &Json) -> Boolean {
    if let Some(Json::Array(values)) = schema.get("enum") {
        let booleans = values.iter().filter(|value| value.is_boolean()).count();
        let others = values.iter().filter(|value| !value.is_boolean() && !value.is_null()).count();
        return match (booleans, others) {
            (0, _) => Boolean::Never,
            (_, 0) => Boolean::Only,
            _ => Boolean::Perhaps,
        };
    }
    // A kind other than scalar has been told apart, so that there is one type beside `null`.
    let is_boolean = |name: &Json| name == "boolean";
    match schema.get("type") {
        Some(Json::Array(names)) if names.iter().any(is_boolean) => Boolean::Only,
        Some(name) if is_boolean(name) => Boolean::Only,
        _ => Boolean::Never,
    }
}
