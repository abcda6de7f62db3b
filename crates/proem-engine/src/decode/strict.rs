//! Reads text that is one JSON value, in one pass.
//!
//! The value is what `serde_json` reads. Two things are noticed on the way that its own type forgets: a key that occurs
//! twice, and a number such as `3.0`, which JSON Schema takes for an integer and Rust doesn't.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use super::backslash::is_windows_path;

/// A value, and what was noticed.
#[derive(Debug)]
pub(super) struct StrictValue {
    pub(super) value: Json,
    /// Whether a key occurs twice in one object.
    pub(super) duplicates: bool,
    /// Whether a number has a fraction or exponent in its spelling and none in its value.
    pub(super) whole_floats: bool,
    /// Whether a number or text may be spelled in a way that its value hides: an integer beyond 64 bits, or a backslash
    /// that became half of a control character.
    pub(super) respell: bool,
}

/// The value that `text` is. `None` if it isn't exactly one, or nests too deep for `serde_json`.
pub(super) fn read_strict(text: &str) -> Option<StrictValue> {
    let mut seen = JsonOddities::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = ValueSeed(&mut seen).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(StrictValue { value, duplicates: seen.duplicates, whole_floats: seen.whole_floats, respell: seen.respell })
}

#[derive(Debug, Default)]
struct JsonOddities {
    duplicates: bool,
    whole_floats: bool,
    respell: bool,
}

/// Above this no integer of 64 bits has a value: 2^63.
const BEYOND_64_BITS: f64 = 9_223_372_036_854_775_808.0;

/// Whether a form feed or backspace is before a letter, beside a backslash, or a control character behind a drive.
fn has_odd_control(text: &str) -> bool {
    let is_odd = |(at, control): (usize, &str)| {
        text.get(at.saturating_add(control.len())..)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    (text.contains('\\') && text.match_indices(['\u{8}', '\u{c}']).any(is_odd))
        || (is_windows_path(text) && !text.get(2..).is_some_and(|rest| rest.starts_with('\\')))
}

struct ValueSeed<'a>(&'a mut JsonOddities);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        self.0.whole_floats |= value % 1.0 == 0.0;
        self.0.respell |= value.abs() >= BEYOND_64_BITS;
        Ok(Json::from(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        self.0.respell |= has_odd_control(value);
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        self.0.respell |= has_odd_control(&value);
        Ok(Json::String(value))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(ValueSeed(&mut *self.0))? {
            list.push(element);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(ValueSeed(&mut *self.0))?;
            self.0.duplicates |= object.insert(key, value).is_some();
        }
        Ok(Json::Object(object))
    }
}
