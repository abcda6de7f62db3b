//! A signature from JSON Schema (2020-12), as tools declare their arguments.
//!
//! Keywords that can't be checked here are refused, so that a signature never takes what its schema would refuse.

use super::{Check, Field, HowMany, MOST_TYPES, Record, Rest, Shape, Signature, Type, TypeId, is_plain_word};
use crate::{
    limits::{Limits, Meter},
    pattern::Regexp,
    value::{Text, Value},
};
use alloc::{format, string::String, sync::Arc, vec, vec::Vec};

/// How deep schemas may nest, references followed.
const MOST_LEVELS: usize = 128;

/// How deep alternatives may nest inside alternatives: checking them calls itself.
const MOST_ALTERNATIVES: usize = 8;

/// So many problems are listed.
const MOST_PROBLEMS: usize = 20;

/// Keywords that say nothing about a value.
const ANNOTATIONS: [&str; 17] = [
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "$anchor",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "deprecated",
    "description",
    "example",
    "examples",
    "nullable",
    "readOnly",
    "title",
    "writeOnly",
];

/// Keywords that are read for the signature's types.
const TYPES: [&str; 10] =
    ["$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "items", "oneOf", "properties", "required"];

/// Keywords that can't be checked here.
const UNCHECKED: [&str; 17] = [
    "$dynamicRef",
    "$recursiveRef",
    "additionalItems",
    "contains",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "minContains",
    "not",
    "patternProperties",
    "prefixItems",
    "then",
    "unevaluatedProperties",
];

/// The names that JSON Schema has for types.
const KINDS: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A signature made of schemas.
#[derive(Debug, Clone)]
pub struct SchemaSignature {
    /// The types of a schema, against which programs can be checked.
    pub signature: Signature,
    /// The parts missing from its text, as JSON pointers: patterns, ranges, alternatives. All but formats is checked.
    pub dropped: Vec<String>,
}

/// A schema that is to become a type.
struct Task<'v> {
    schema: &'v Value,
    id: TypeId,
    place: String,
    /// The references that led here.
    references: Vec<&'v str>,
    levels: usize,
    alternatives: usize,
    /// The type that it is read as, if it names several.
    kind: Option<&'static str>,
}

struct Reading<'v> {
    root: &'v Value,
    types: Vec<Type>,
    tasks: Vec<Task<'v>>,
    dropped: Vec<String>,
    problems: Vec<String>,
}

impl Signature {
    /// A signature with the parameters of an object's schema. Without a schema, the result is `:any`.
    ///
    /// # Errors
    ///
    /// All problems, each with a JSON pointer: what is no schema or can't be checked, references that lead elsewhere or
    /// in a circle, names that are there twice with `-` and `_` taken as the same, a root that is no object.
    pub fn of_schema(name: &str, parameters: &Value, result: Option<&Value>) -> Result<SchemaSignature, Vec<String>> {
        let mut reading = Reading {
            root: parameters,
            types: Vec::new(),
            tasks: Vec::new(),
            dropped: Vec::new(),
            problems: Vec::new(),
        };
        let first = reading.read(parameters);
        let is_object = matches!(reading.types.get(first.0), Some(Type { shape: Shape::Record(_), .. }));
        if !is_object && reading.problems.is_empty() {
            reading.problem("", "isn't an object, which parameters are; write `\"type\": \"object\"`");
        }
        let result_id = match result {
            Some(schema) => {
                reading.root = schema;
                reading.read(schema)
            }
            None => reading.add(),
        };
        if !reading.problems.is_empty() {
            reading.problems.truncate(MOST_PROBLEMS);
            return Err(reading.problems);
        }
        let name = (!name.is_empty()).then(|| Text::from(name));
        let signature = Self { name, types: reading.types, parameters: first, result: result_id };
        reading.dropped.sort();
        Ok(SchemaSignature { signature, dropped: reading.dropped })
    }
}

impl<'v> Reading<'v> {
    fn add(&mut self) -> TypeId {
        self.types.push(Type::new(Shape::Any));
        TypeId(self.types.len().saturating_sub(1))
    }

    fn problem(&mut self, place: &str, what: &str) {
        let place = if place.is_empty() { String::from("the schema") } else { format!("`{place}`") };
        self.problems.push(format!("{place} {what}"));
    }

    fn read(&mut self, schema: &'v Value) -> TypeId {
        let id = self.add();
        let place = String::new();
        let references = Vec::new();
        self.tasks.push(Task { schema, id, place, references, levels: 0, alternatives: 0, kind: None });
        while let Some(task) = self.tasks.pop() {
            if self.problems.len() >= MOST_PROBLEMS {
                break;
            }
            if self.types.len() > MOST_TYPES {
                self.problem(
                    &task.place,
                    &format!("makes more than {MOST_TYPES} types with its references; simplify it"),
                );
                break;
            }
            if task.levels > MOST_LEVELS || task.alternatives > MOST_ALTERNATIVES {
                self.problem(&task.place, "nests too deep; flatten the schema");
                continue;
            }
            self.perform(task);
        }
        id
    }

    /// A schema below that of a task, as a type of its own.
    fn part(&mut self, task: &Task<'v>, schema: &'v Value, step: &str) -> TypeId {
        let id = self.add();
        self.tasks.push(Task {
            schema,
            id,
            place: format!("{}{step}", task.place),
            references: task.references.clone(),
            levels: task.levels.saturating_add(1),
            alternatives: task.alternatives,
            kind: None,
        });
        id
    }

    fn perform(&mut self, task: Task<'v>) {
        match task.schema {
            Value::Bool(truth) if truth.get() => return,
            Value::Map(_) => {}
            _ => return self.problem(&task.place, "takes no value or is no schema; write an object"),
        }
        if let Some(reference) = task.schema.field("$ref") {
            return self.reference(task, reference);
        }
        if let Some((only, step)) = only_alternative(task.schema) {
            if let Some(of) = self.types.get_mut(task.id.0) {
                of.is_nullable = true;
            }
            let place = format!("{}{step}", task.place);
            let levels = task.levels.saturating_add(1);
            self.tasks.push(Task { schema: only, place, levels, ..task });
            return;
        }
        if task.kind.is_none() {
            self.note_keywords(&task);
        }
        let kinds = self.kinds(&task);
        let mut kinds: Vec<&'static str> = task.kind.map_or(kinds, |kind| vec![kind]);
        let is_nullable = task.schema.field("nullable").is_some_and(|value| matches!(value, Value::Bool(t) if t.get()));
        let is_any = kinds.len() >= KINDS.len().saturating_sub(1);
        let has_null = kinds.contains(&"null");
        if kinds.len() > 1 || is_nullable {
            kinds.retain(|kind| *kind != "null");
        }
        if kinds.contains(&"number") {
            kinds.retain(|kind| *kind != "integer");
        }
        let shape = match kinds.as_slice() {
            _ if is_any => Shape::Any,
            [] => self.untyped(&task),
            [kind] => self.shape(&task, kind),
            several => {
                let several = several.to_vec();
                self.several(&task, &several)
            }
        };
        let checks = if task.kind.is_none() { self.checks(&task) } else { Vec::new() };
        if let Some(of) = self.types.get_mut(task.id.0) {
            of.shape = shape;
            of.is_nullable |= (has_null && !is_any) || is_nullable;
            of.checks.extend(checks);
        }
        self.read_alternatives(&task);
    }

    /// Goes on at what a reference names.
    fn reference(&mut self, task: Task<'v>, reference: &'v Value) {
        let place = format!("{}/$ref", task.place);
        let Some(name) = reference.as_str().filter(|name| name.starts_with("#/")) else {
            return self.problem(&place, "refers to something outside this schema; write `#/$defs/…`");
        };
        if task.references.contains(&name) {
            return self.problem(&place, "is recursive; write out a fixed number of levels");
        }
        let Some(schema) = pointed(self.root, name) else {
            return self.problem(&place, "refers to a definition that is missing; add it under `$defs`");
        };
        let others = task.schema.entries().filter_map(|(key, _)| key.as_str());
        if let Some(other) = others.into_iter().find(|name| *name != "$ref" && !ANNOTATIONS.contains(name)) {
            return self.problem(&place, &format!("has `{other}` beside it; put both into `allOf`"));
        }
        let mut references = task.references.clone();
        references.push(name);
        let levels = task.levels.saturating_add(1);
        self.tasks.push(Task { schema, references, levels, ..task });
    }

    /// Notes what the text can't say, and refuses what can't be checked.
    fn note_keywords(&mut self, task: &Task<'v>) {
        for (key, value) in task.schema.entries() {
            let name = key.as_str().unwrap_or_default();
            let place = format!("{}/{name}", task.place);
            if UNCHECKED.contains(&name) || name == "unevaluatedItems" {
                self.problem(&place, "can't be checked here; state it in the tool, or leave it out");
            } else if ["oneOf", "anyOf", "allOf"].contains(&name)
                || (name == "format" && !is_moment(value))
                || !(ANNOTATIONS.contains(&name) || TYPES.contains(&name) || ["type", "format"].contains(&name))
            {
                self.dropped.push(place);
            }
        }
    }

    /// The types that a schema names. None if it doesn't.
    fn kinds(&mut self, task: &Task<'v>) -> Vec<&'static str> {
        let Some(kind) = task.schema.field("type") else { return Vec::new() };
        let named: Vec<&Value> = if let Value::Text(_) = kind { vec![kind] } else { kind.elements().collect() };
        let known = |kind: &Value| KINDS.iter().copied().find(|known| kind.as_str() == Some(*known));
        let kinds: Vec<&'static str> = named.iter().filter_map(|kind| known(kind)).collect();
        if kinds.is_empty() || kinds.len() != named.len() {
            self.problem(&format!("{}/type", task.place), &format!("is none of {}", KINDS.join(", ")));
        }
        kinds
    }

    /// The type of a schema that doesn't name one.
    fn untyped(&mut self, task: &Task<'v>) -> Shape {
        let has = |keyword: &str| task.schema.field(keyword).is_some();
        if has("enum") || has("const") {
            self.shape(task, "string")
        } else if has("properties") || has("required") {
            self.shape(task, "object")
        } else if has("items") {
            self.shape(task, "array")
        } else {
            Shape::Any
        }
    }

    fn several(&mut self, task: &Task<'v>, kinds: &[&'static str]) -> Shape {
        self.dropped.push(format!("{}/type", task.place));
        if !kinds.iter().any(|kind| ["array", "object"].contains(kind)) {
            if let Some(of) = self.types.get_mut(task.id.0) {
                of.checks.push(Check::Kinds(kinds.to_vec()));
            }
            return Shape::Any;
        }
        let mut all = Vec::new();
        for kind in kinds {
            let id = self.add();
            all.push(id);
            self.tasks.push(Task {
                schema: task.schema,
                id,
                place: task.place.clone(),
                references: task.references.clone(),
                levels: task.levels.saturating_add(1),
                alternatives: task.alternatives.saturating_add(1),
                kind: Some(kind),
            });
        }
        if let Some(of) = self.types.get_mut(task.id.0) {
            of.checks.push(Check::Alternatives(HowMany::Some, all));
        }
        Shape::Any
    }

    fn shape(&mut self, task: &Task<'v>, kind: &str) -> Shape {
        if let Some(shape) = self.members(task) {
            return shape;
        }
        match kind {
            "string" if task.schema.field("format").is_some_and(is_moment) => Shape::Datetime,
            "string" => Shape::Text,
            "integer" => Shape::Int,
            "number" => Shape::Number,
            "boolean" => Shape::Bool,
            "array" => match task.schema.field("items") {
                Some(items) => Shape::List(self.part(task, items, "/items")),
                None => Shape::List(self.add()),
            },
            "object" => Shape::Record(self.object(task)),
            _ => {
                // Only nil is of this type.
                if let Some(of) = self.types.get_mut(task.id.0) {
                    of.is_nullable = true;
                    of.checks.push(Check::Members(vec![Value::Nil]));
                }
                self.dropped.push(format!("{}/type", task.place));
                Shape::Any
            }
        }
    }

    /// An enumeration of strings, or a condition that lists the values.
    fn members(&mut self, task: &Task<'v>) -> Option<Shape> {
        let all: Vec<Value> = match (task.schema.field("enum"), task.schema.field("const")) {
            (Some(all), _) => all.elements().cloned().collect(),
            (None, Some(only)) => vec![only.clone()],
            (None, None) => return None,
        };
        let of = self.types.get_mut(task.id.0)?;
        of.is_nullable |= all.iter().any(Value::is_nil);
        let texts: Vec<&Text> =
            all.iter().filter_map(|member| if let Value::Text(text) = member { Some(text) } else { None }).collect();
        let nils = all.iter().filter(|member| member.is_nil()).count();
        if !texts.is_empty() && texts.len().saturating_add(nils) == all.len() {
            let member = |text: &&Text| {
                if is_plain_word(text.as_str()) {
                    Value::Keyword((*text).clone())
                } else {
                    Value::Text((*text).clone())
                }
            };
            return Some(Shape::Enum(texts.iter().map(member).collect()));
        }
        of.checks.push(Check::Members(all));
        self.dropped.push(format!("{}/enum", task.place));
        Some(Shape::Any)
    }

    fn object(&mut self, task: &Task<'v>) -> Record {
        let required: Vec<&str> =
            task.schema.field("required").into_iter().flat_map(Value::elements).filter_map(Value::as_str).collect();
        let mut required: alloc::collections::BTreeSet<&str> = required.into_iter().collect();
        let mut fields = Vec::new();
        let properties = task.schema.field("properties");
        for (key, schema) in properties.into_iter().flat_map(Value::entries) {
            let name = Text::from(key.as_str().unwrap_or_default());
            let is_required = required.remove(name.as_str());
            let step = format!("/properties/{}", name.as_str().replace('~', "~0").replace('/', "~1"));
            let of = self.part(task, schema, &step);
            fields.push(Field { name, of, is_required });
        }
        for name in required {
            let of = self.add();
            fields.push(Field { name: Text::from(name), of, is_required: true });
        }
        let rest = match task.schema.field("additionalProperties") {
            Some(Value::Bool(truth)) if !truth.get() => Rest::Closed,
            None | Some(Value::Bool(_)) => Rest::Open,
            Some(schema) => {
                if !fields.is_empty() {
                    self.dropped.push(format!("{}/additionalProperties", task.place));
                }
                Rest::Typed(self.part(task, schema, "/additionalProperties"))
            }
        };
        let (record, twice) = Record::new(fields, rest);
        for at in twice {
            let name = record.fields.get(at).map_or("", |field| field.name.as_str());
            let what =
                format!("is there twice, with `-` and `_` taken as the same: {}", proem_text::json::quote_json(name));
            self.problem(&format!("{}/properties", task.place), &what);
        }
        record
    }

    fn read_alternatives(&mut self, task: &Task<'v>) {
        for (how_many, keyword) in [(HowMany::One, "oneOf"), (HowMany::Some, "anyOf"), (HowMany::All, "allOf")] {
            if task.kind.is_some() {
                // The type that names several kinds has these already.
                continue;
            }
            let mut all = Vec::new();
            for (at, schema) in task.schema.field(keyword).into_iter().flat_map(Value::elements).enumerate() {
                let id = self.part(task, schema, &format!("/{keyword}/{at}"));
                if let Some(part) = self.tasks.last_mut() {
                    part.alternatives = part.alternatives.saturating_add(1);
                }
                all.push(id);
            }
            if let (false, Some(of)) = (all.is_empty(), self.types.get_mut(task.id.0)) {
                of.checks.push(Check::Alternatives(how_many, all));
            }
        }
    }

    fn checks(&mut self, task: &Task<'v>) -> Vec<Check> {
        let mut checks = Vec::new();
        for (least, most, is_beyond) in [("minimum", "maximum", false), ("exclusiveMinimum", "exclusiveMaximum", true)]
        {
            checks.extend(self.bound(task, least).map(|bound| Check::Least(bound, is_beyond)));
            checks.extend(self.bound(task, most).map(|bound| Check::Most(bound, is_beyond)));
        }
        match task.schema.field("multipleOf") {
            None => {}
            Some(Value::Int(factor)) if *factor > 0 => checks.push(Check::MultipleOf(*factor)),
            Some(_) => {
                self.problem(
                    &format!("{}/multipleOf", task.place),
                    "can't be checked here unless it is a whole number",
                );
            }
        }
        if let Some((least, most)) = self.range(task, "minLength", "maxLength") {
            checks.push(Check::Length { least, most });
        }
        if let Some((least, most)) = self.range(task, "minItems", "maxItems") {
            checks.push(Check::Items { least, most });
        }
        if let Some((least, most)) = self.range(task, "minProperties", "maxProperties") {
            checks.push(Check::Entries { least, most });
        }
        if matches!(task.schema.field("uniqueItems"), Some(Value::Bool(truth)) if truth.get()) {
            checks.push(Check::Unique);
        }
        if let Some(names) = task.schema.field("propertyNames") {
            match (names.entries().count(), names.field("maxLength")) {
                (1, Some(Value::Int(most))) => checks.push(Check::NameLength(usize::try_from(*most).unwrap_or(0))),
                _ => {
                    self.problem(&format!("{}/propertyNames", task.place), "can't be checked here but for `maxLength`");
                }
            }
        }
        if let Some(pattern) = task.schema.field("pattern") {
            let source = pattern.as_str().unwrap_or_default();
            match Regexp::compile(source, &mut Meter::new(Limits::default())) {
                Ok(pattern) => checks.push(Check::Pattern(Arc::new(pattern))),
                Err(fault) => self.problem(
                    &format!("{}/pattern", task.place),
                    &format!("can't be checked here: {}", fault.message()),
                ),
            }
        }
        checks
    }

    fn bound(&mut self, task: &Task<'v>, keyword: &str) -> Option<Value> {
        let bound = task.schema.field(keyword)?;
        if !bound.is_number() {
            self.problem(&format!("{}/{keyword}", task.place), "is no number");
        }
        Some(bound.clone())
    }

    fn range(&mut self, task: &Task<'v>, least: &str, most: &str) -> Option<(usize, usize)> {
        let mut size = |keyword: &str| match task.schema.field(keyword) {
            None => None,
            Some(Value::Int(size)) if *size >= 0 => usize::try_from(*size).ok(),
            Some(_) => {
                self.problem(&format!("{}/{keyword}", task.place), "is no size");
                None
            }
        };
        let (least, most) = (size(least), size(most));
        (least.is_some() || most.is_some()).then(|| (least.unwrap_or(0), most.unwrap_or(usize::MAX)))
    }
}

/// The one schema of an `anyOf` or `oneOf` whose other one takes nil only, if nothing else is said.
fn only_alternative(schema: &Value) -> Option<(&Value, String)> {
    let is_said = |name: &str| !ANNOTATIONS.contains(&name);
    let mut said = schema.entries().filter(|(key, _)| key.as_str().is_none_or(is_said));
    let (keyword, all) = said.next().filter(|(key, _)| matches!(key.as_str(), Some("anyOf" | "oneOf")))?;
    if said.next().is_some() || all.elements().count() != 2 {
        return None;
    }
    let is_nil = |schema: &Value| schema.field("type").and_then(Value::as_str) == Some("null");
    let mut others = all.elements().enumerate().filter(|(_, schema)| !is_nil(schema));
    let (at, only) = others.next()?;
    let step = format!("/{}/{at}", keyword.as_str().unwrap_or_default());
    others.next().is_none().then_some((only, step))
}

fn is_moment(format: &Value) -> bool {
    matches!(format.as_str(), Some("date-time" | "date"))
}

/// The target of a pointer such as `#/$defs/name`.
fn pointed<'v>(root: &'v Value, reference: &str) -> Option<&'v Value> {
    let mut found = root;
    for step in reference.strip_prefix("#/")?.split('/') {
        let name = step.replace("~1", "/").replace("~0", "~");
        found = match found {
            Value::Map(_) => found.field(&name)?,
            list => list.elements().nth(name.parse().ok()?)?,
        };
    }
    Some(found)
}
