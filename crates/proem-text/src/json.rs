//! Canonical JSON: the same value makes the same bytes, and the bytes are safe to look at.
//!
//! Keys are sorted by code point. Characters that a reader wouldn't see as themselves are written as `\u` escapes.
//! Everything else is as it is, and parsing gives the exact text back. Integers are as they are, floats in the shortest
//! form that reads back as the same number (as `serde_json` prints them).

use crate::character::is_hidden;
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Map, Value};

/// The keyword that holds, beside the `properties` of a JSON Schema, their names in the order in which they were written.
///
/// [`compact_in_order`] and [`pretty_in_order`] write properties in that order and leave the keyword out.
pub const PROPERTY_ORDER: &str = "x-proem-property-order";

/// The value on one line, without spaces.
#[must_use]
pub fn compact(value: &Value) -> String {
    write_json(value, Layout { depth: None, order: FieldOrder::Sorted })
}

/// The value indented by two spaces, without a final newline.
#[must_use]
pub fn pretty(value: &Value) -> String {
    write_json(value, Layout { depth: Some(0), order: FieldOrder::Sorted })
}

/// [`compact`], but for the properties of schemas, which are as [`PROPERTY_ORDER`] says.
#[must_use]
pub fn compact_in_order(value: &Value) -> String {
    write_json(value, Layout { depth: None, order: FieldOrder::Properties })
}

/// [`pretty`], but for the properties of schemas, which are as [`PROPERTY_ORDER`] says.
#[must_use]
pub fn pretty_in_order(value: &Value) -> String {
    write_json(value, Layout { depth: Some(0), order: FieldOrder::Properties })
}

fn write_json(value: &Value, layout: Layout) -> String {
    let mut out = String::new();
    write_value(&mut out, value, layout);
    out
}

/// How a value is laid out.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// The depth of indentation. `None` keeps everything on one line.
    depth: Option<usize>,
    order: FieldOrder,
}

/// In which order fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldOrder {
    Sorted,
    /// Sorted, but for the properties of schemas.
    Properties,
}

impl Layout {
    fn deeper(self) -> Self {
        Self { depth: self.depth.map(|depth| depth.saturating_add(1)), order: self.order }
    }
}

/// The text as a JSON string literal, with its quotes.
#[must_use]
pub fn quote_json(text: &str) -> String {
    let mut out = String::new();
    write_string(&mut out, text);
    out
}

/// As deep as the value: so is dropping one, and parsing stops at 128 levels.
fn write_value(out: &mut String, value: &Value, layout: Layout) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => write_array(out, items, layout),
        Value::Object(fields) => write_object(out, fields, layout),
    }
}

fn write_array(out: &mut String, items: &[Value], layout: Layout) {
    let inner = layout.deeper();
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_line_start(out, inner.depth);
        write_value(out, item, inner);
    }
    if !items.is_empty() {
        write_line_start(out, layout.depth);
    }
    out.push(']');
}

fn write_object(out: &mut String, fields: &Map<String, Value>, layout: Layout) {
    let order = match layout.order {
        FieldOrder::Properties => fields.get(PROPERTY_ORDER).and_then(Value::as_array),
        FieldOrder::Sorted => None,
    };
    let Some(order) = order else { return write_fields(out, &sorted_fields(fields), layout, None) };
    let rest: Vec<_> = sorted_fields(fields).into_iter().filter(|(key, _)| *key != PROPERTY_ORDER).collect();
    write_fields(out, &rest, layout, Some(order));
}

/// Sorted already, unless somebody's dependency turns on `serde_json/preserve_order`.
fn sorted_fields(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    fields
}

/// Writes fields in this order. Those of `properties` in the order of `names`.
fn write_fields(out: &mut String, fields: &[(&String, &Value)], layout: Layout, names: Option<&Vec<Value>>) {
    let inner = layout.deeper();
    out.push('{');
    for (index, (key, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_line_start(out, inner.depth);
        write_string(out, key);
        out.push_str(if layout.depth.is_some() { ": " } else { ":" });
        match (names, value) {
            (Some(names), Value::Object(properties)) if *key == "properties" => {
                let place = |name: &str| names.iter().position(|known| known.as_str() == Some(name));
                let mut properties = sorted_fields(properties);
                properties.sort_by_key(|(name, _)| place(name).unwrap_or(names.len()));
                write_fields(out, &properties, inner, None);
            }
            _ => write_value(out, value, inner),
        }
    }
    if !fields.is_empty() {
        write_line_start(out, layout.depth);
    }
    out.push('}');
}

fn write_line_start(out: &mut String, depth: Option<usize>) {
    let Some(depth) = depth else { return };
    out.push('\n');
    out.extend(core::iter::repeat_n("  ", depth));
}

/// The short escapes are those of RFC 8785, section 3.2.2.2.
fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    loop {
        // Most of a text is as it is. It is copied in runs of plain ASCII.
        let (run, behind) = rest.split_at_checked(plain_start(rest.as_bytes())).unwrap_or((rest, ""));
        out.push_str(run);
        let mut chars = behind.chars();
        let Some(c) = chars.next() else { break };
        rest = chars.as_str();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if is_hidden(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// How many bytes are looked at together.
const TOGETHER: usize = 16;

/// How many bytes at the start are as they are: ASCII without quotes, backslashes and control characters.
fn plain_start(text: &[u8]) -> usize {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) & (*byte != b'"') & (*byte != b'\\');
    let mut length: usize = 0;
    for chunk in text.chunks(TOGETHER) {
        // All of them, without a way out: the compiler takes many at a time then.
        if !chunk.iter().fold(true, |all, byte| all & is_plain(byte)) {
            return length.saturating_add(chunk.iter().take_while(|byte| is_plain(byte)).count());
        }
        length = length.saturating_add(chunk.len());
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn properties_stand_in_their_order_and_nothing_says_so() {
        let schema = json!({
            "properties": { "a": { "properties": { "y": 1, "x": 2 } }, "c": 3, "b": 4 },
            "type": "object",
            (PROPERTY_ORDER): ["c", "a", "b"],
        });
        let written = r#"{"properties":{"c":3,"a":{"properties":{"x":2,"y":1}},"b":4},"type":"object"}"#;
        assert_eq!(compact_in_order(&schema), written);
        assert!(compact(&schema).contains(PROPERTY_ORDER));
        assert_eq!(compact_in_order(&json!({ "b": 1, "a": 2 })), r#"{"a":2,"b":1}"#);
        // Names that are not listed come last, and a property may have the keyword's name.
        let odd = json!({ "properties": { (PROPERTY_ORDER): {}, "z": 1, "a": 2 }, (PROPERTY_ORDER): ["z", "gone"] });
        assert_eq!(compact_in_order(&odd), format!(r#"{{"properties":{{"z":1,"a":2,"{PROPERTY_ORDER}":{{}}}}}}"#));
    }

    #[test]
    fn values_on_one_line_and_on_many() {
        let value = json!({
            "b": [1, -2, 0.1, 1e300, u64::MAX, 1.0],
            "a": { "é": null, "Z": true, "\u{202e}": "x" },
            "empty": [[], {}],
        });
        assert_eq!(
            compact(&value),
            r#"{"a":{"Z":true,"é":null,"\u202e":"x"},"b":[1,-2,0.1,1e+300,18446744073709551615,1.0],"empty":[[],{}]}"#
        );
        let expected = r#"{
  "a": {
    "Z": true,
    "é": null,
    "\u202e": "x"
  },
  "b": [
    1,
    -2,
    0.1,
    1e+300,
    18446744073709551615,
    1.0
  ],
  "empty": [
    [],
    {}
  ]
}"#;
        assert_eq!(pretty(&value), expected);
    }

    #[test]
    fn hidden_characters_are_escaped() {
        for (text, expected) in [
            ("plain é 日 👍", r#""plain é 日 👍""#),
            ("\"\\/", r#""\"\\/""#),
            ("\u{8}\t\n\u{c}\r", r#""\b\t\n\f\r""#),
            ("\0\u{1b}\u{7f}\u{85}\u{9f}", r#""\u0000\u001b\u007f\u0085\u009f""#),
            ("\u{202e}\u{200b}\u{ad}\u{feff}", r#""\u202e\u200b\u00ad\ufeff""#),
            ("\u{2028}\u{2029}", r#""\u2028\u2029""#),
            ("\u{e0041}\u{e01ef}", r#""\udb40\udc41\udb40\uddef""#),
            ("\u{fdd0}\u{ffff}\u{10ffff}", r#""\ufdd0\uffff\udbff\udfff""#),
            ("\u{e000}\u{f0000}", r#""\ue000\udb80\udc00""#),
        ] {
            assert_eq!(quote_json(text), expected, "{text:?}");
        }
    }
}
