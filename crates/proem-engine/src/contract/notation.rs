//! A contract in one line: `name, age int, size small|large, tags[]: what it is about`.
//!
//! Fields are separated by commas. A field is its name, its type, and behind a colon what it is. A `?` behind the name
//! makes it optional, and `[]` behind the type or the name makes it a list.

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, ErrorKind};

/// The most bytes of a line.
const MAX_LINE_BYTES: usize = 4096;

/// The types by the words that represent them.
const TYPES: [(&str, &str); 10] = [
    ("str", "string"),
    ("string", "string"),
    ("text", "string"),
    ("int", "integer"),
    ("integer", "integer"),
    ("number", "number"),
    ("num", "number"),
    ("float", "number"),
    ("bool", "boolean"),
    ("boolean", "boolean"),
];

/// The JSON Schema of a contract in one line.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] with everything that is wrong, each with the character where it is.
pub fn schema_from_line(line: &str) -> Result<Json, Error> {
    if line.len() > MAX_LINE_BYTES {
        let problem = format!("the schema has more than {MAX_LINE_BYTES} bytes; write it into a prompt file");
        return Err(Error::new(ErrorKind::InvalidInput, problem));
    }
    let (mut properties, mut required, mut problems) = (Map::new(), Vec::new(), Vec::new());
    let mut at = 0_usize;
    for part in line.split(',') {
        let indent = part.len().saturating_sub(part.trim_start().len());
        let character = line.get(..at.saturating_add(indent)).unwrap_or_default().chars().count().saturating_add(1);
        at = at.saturating_add(part.len()).saturating_add(1);
        match notation_field(part.trim()) {
            Err(problem) => problems.push(format!("schema, character {character}: {problem}")),
            Ok(SchemaField { name, .. }) if properties.contains_key(name) => {
                problems
                    .push(format!("schema, character {character}: the field `{name}` is given twice; leave one out"));
            }
            Ok(SchemaField { name, is_optional, schema }) => {
                if !is_optional {
                    required.push(json!(name));
                }
                properties.insert(name.to_owned(), schema);
            }
        }
    }
    if problems.is_empty() {
        Ok(json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }))
    } else {
        Err(Error::all(ErrorKind::InvalidInput, problems))
    }
}

struct SchemaField<'l> {
    name: &'l str,
    is_optional: bool,
    schema: Json,
}

fn notation_field(text: &str) -> Result<SchemaField<'_>, String> {
    let (declared, description) = match text.split_once(':') {
        Some((declared, description)) => (declared.trim(), description.trim()),
        None => (text, ""),
    };
    let (name, kind) = match declared.split_once(char::is_whitespace) {
        Some((name, kind)) => (name, kind.trim()),
        None => (declared, "str"),
    };
    if name.is_empty() {
        return Err("a field has no name; write `NAME TYPE`, such as `age int`".to_owned());
    }
    let (name, name_is_list) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
    let (name, is_optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
    if !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
        return Err(format!("`{}` is not a name; use letters, digits, `_` and `-`", name.escape_debug()));
    }
    let (kind, kind_is_list) = kind.strip_suffix("[]").map_or((kind, false), |kind| (kind, true));
    let mut schema = notation_value(kind)?;
    if name_is_list || kind_is_list {
        schema = json!({ "type": "array", "items": schema });
    }
    if let Some(schema) = schema.as_object_mut().filter(|_| !description.is_empty()) {
        schema.insert("description".to_owned(), json!(description));
    }
    Ok(SchemaField { name, is_optional, schema })
}

fn notation_value(kind: &str) -> Result<Json, String> {
    if kind.contains('|') {
        let choices: Vec<&str> = kind.split('|').map(str::trim).collect();
        return if choices.iter().any(|choice| choice.is_empty()) {
            Err(format!("`{}` has an empty choice; write `a|b|c`", kind.escape_debug()))
        } else {
            Ok(json!({ "enum": choices }))
        };
    }
    match TYPES.iter().find(|(word, _)| *word == kind) {
        Some((_, kind)) => Ok(json!({ "type": kind })),
        None => Err(format!(
            "unknown type `{}`; known are `str`, `int`, `number`, `bool`, choices such as `a|b|c`, and `[]` behind one \
             for a list",
            kind.escape_debug()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Contract;

    #[test]
    fn a_line_is_a_schema() {
        let line =
            "name, age int: in years, city?, size small|large, tags[]: what it is about, scores number[], ok bool";
        let schema = schema_from_line(line).unwrap();
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string" },
                    "age": { "type": "integer", "description": "in years" },
                    "city": { "type": "string" },
                    "size": { "enum": ["small", "large"] },
                    "tags": { "type": "array", "items": { "type": "string" }, "description": "what it is about" },
                    "scores": { "type": "array", "items": { "type": "number" } },
                    "ok": { "type": "boolean" }
                },
                "required": ["name", "age", "size", "tags", "scores", "ok"],
                "additionalProperties": false
            })
        );
        assert!(Contract::bounded("answer", "", schema).is_ok());
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        for (line, expected) in [
            ("", "schema, character 1: a field has no name; write `NAME TYPE`, such as `age int`"),
            ("name, ", "schema, character 7: a field has no name; write `NAME TYPE`, such as `age int`"),
            ("größe, größe int", "schema, character 8: the field `größe` is given twice; leave one out"),
            ("a$b", "schema, character 1: `a$b` is not a name; use letters, digits, `_` and `-`"),
            ("size a||b", "schema, character 1: `a||b` has an empty choice; write `a|b|c`"),
        ] {
            assert_eq!(schema_from_line(line).unwrap_err().to_string(), expected, "{line}");
        }
        let both = schema_from_line("age integr, a$b").unwrap_err();
        assert_eq!(both.problems().len(), 2);
        assert!(both.to_string().contains("character 1: unknown type `integr`; known are `str`, `int`"), "{both}");
        assert!(schema_from_line(&"x".repeat(MAX_LINE_BYTES + 1)).is_err());
    }
}
