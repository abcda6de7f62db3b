//! JSON whose objects keep the order in which they were written.
//!
//! The inputs of a prompt are read, recorded and replayed as [`OrderedJson`], so that `each` and `json` in a template
//! walk an object in its author's order. Hashes and comparisons use the [canonical](proem_text::json) form, with sorted
//! keys.

mod number;

use core::fmt;
use std::sync::Arc;

use proem_text::{OrderedMap, json::quote_json};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Number, Value as Json};

pub(crate) use self::number::print_number;

/// A JSON value. A copy shares what it holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum OrderedJson {
    /// JSON's `null`.
    #[default]
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Arc<str>),
    /// Several values.
    List(Arc<Vec<Self>>),
    /// Values by name, as written.
    Map(Arc<OrderedMap<Self>>),
}

impl OrderedJson {
    /// Its fields, if it is an object.
    #[must_use]
    pub fn fields(&self) -> Option<&OrderedMap<Self>> {
        match self {
            Self::Map(fields) => Some(fields),
            _ => None,
        }
    }

    /// The field of this name, if it is an object that has one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.fields()?.get(name)
    }

    /// The same value without its order.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(number) => Json::Number(number.clone()),
            Self::Text(text) => Json::String(text.as_ref().to_owned()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(fields) => {
                Json::Object(fields.iter().map(|(name, value)| (name.to_owned(), value.to_json())).collect())
            }
        }
    }

    /// The value on one line, without spaces, its fields as written: what is recorded of it.
    ///
    /// Texts and numbers are written as in canonical JSON.
    #[must_use]
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::Text(text) => out.push_str(&quote_json(text)),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Map(fields) => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&quote_json(name));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

impl From<Json> for OrderedJson {
    /// Objects come in the order of their names.
    fn from(json: Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => Self::Number(number),
            Json::String(text) => Self::from(text),
            Json::Array(items) => Self::List(Arc::new(items.into_iter().map(Self::from).collect())),
            Json::Object(fields) => {
                Self::Map(Arc::new(fields.into_iter().map(|(name, value)| (name, Self::from(value))).collect()))
            }
        }
    }
}

impl From<String> for OrderedJson {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<&str> for OrderedJson {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<OrderedMap<Self>> for OrderedJson {
    fn from(fields: OrderedMap<Self>) -> Self {
        Self::Map(Arc::new(fields))
    }
}

impl Serialize for OrderedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Map(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for OrderedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrderedJsonVisitor)
    }
}

/// Reads any JSON value.
struct OrderedJsonVisitor;

impl<'de> Visitor<'de> for OrderedJsonVisitor {
    type Value = OrderedJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<OrderedJson, E> {
        Ok(Number::from_f64(value).map_or(OrderedJson::Null, OrderedJson::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<OrderedJson, E> {
        Ok(OrderedJson::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OrderedJson, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(OrderedJson::List(Arc::new(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<OrderedJson, A::Error> {
        let mut entries: Vec<(String, OrderedJson)> = Vec::new();
        while let Some(entry) = fields.next_entry()? {
            entries.push(entry);
        }
        Ok(entries.into_iter().collect::<OrderedMap<OrderedJson>>().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let value: OrderedJson = serde_json::from_str(text).unwrap();
        assert_eq!(value.compact(), expected);
        assert_eq!(serde_json::from_str::<OrderedJson>(expected).unwrap(), value, "{text}");
        assert_eq!(value.to_json(), serde_json::from_str::<Json>(text).unwrap(), "{text}");
    }

    #[test]
    fn objects_keep_their_order_and_read_back() {
        check(
            r#"{"b": 1, "a": {"z": [], "y": null}, "10": true, "9": "x"}"#,
            r#"{"b":1,"a":{"z":[],"y":null},"10":true,"9":"x"}"#,
        );
        check(
            r#"[1.0, -0.5, 18446744073709551615, -3, "\u202e\"", {}]"#,
            r#"[1.0,-0.5,18446744073709551615,-3,"\u202e\"",{}]"#,
        );
    }

    #[test]
    fn a_name_that_is_given_twice_keeps_its_place_and_takes_the_last_value() {
        check(r#"{"b": 1, "a": 2, "b": 3}"#, r#"{"b":3,"a":2}"#);
    }

    #[test]
    fn what_has_no_order_comes_sorted() {
        assert_eq!(
            OrderedJson::from(serde_json::json!({ "b": 1, "a": [{ "d": 1, "c": 2 }] })).compact(),
            r#"{"a":[{"c":2,"d":1}],"b":1}"#
        );
    }

    #[test]
    fn equal_values_are_written_in_the_same_order() {
        let read = |text: &str| serde_json::from_str::<OrderedJson>(text).unwrap();
        assert_ne!(read(r#"{"a":1,"b":2}"#), read(r#"{"b":2,"a":1}"#));
        assert!(serde_json::from_str::<OrderedJson>(&"[".repeat(1000)).is_err());
    }
}
