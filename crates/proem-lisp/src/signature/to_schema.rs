//! A signature as JSON Schema (2020-12), in which everything has an end.

use super::{Check, HowMany, Record, Rest, Shape, Signature, Type, TypeId};
use crate::value::Value;
use alloc::{format, string::String, vec, vec::Vec};

/// The maxima that are filled in, as contracts have them: characters of a string, elements of a list, entries of a map,
/// and characters of their names.
const MOST_CHARACTERS: usize = 10_000;
const MOST_ELEMENTS: usize = 1_000;
const MOST_ENTRIES: usize = 1_000;
const MOST_NAME: usize = 200;

/// A JSON Schema in which every text, list and map has a maximum.
#[derive(Debug, Clone)]
pub struct BoundedSchema {
    /// JSON Schema, as far as the types can say it.
    pub schema: Value,
    /// JSON pointers of what the signature doesn't say itself: maxima that were filled in, and `:any`, which becomes a
    /// scalar or a flat list or map of scalars.
    pub filled: Vec<String>,
}

impl Signature {
    /// The schema of a map of arguments: an object without other names.
    #[must_use]
    pub fn parameters_schema(&self) -> BoundedSchema {
        self.schema_of(self.parameters)
    }

    /// JSON Schema for the value that a call returns.
    #[must_use]
    pub fn result_schema(&self) -> BoundedSchema {
        self.schema_of(self.result)
    }

    /// Parts follow what they are part of in the table, so pointers are found on the way down and schemas on the way up.
    fn schema_of(&self, root: TypeId) -> BoundedSchema {
        let mut pointers: Vec<Option<String>> = vec![None; self.types.len()];
        if let Some(pointer) = pointers.get_mut(root.0) {
            *pointer = Some(String::new());
        }
        for (at, of) in self.types.iter().enumerate() {
            let Some(Some(pointer)) = pointers.get(at).cloned() else { continue };
            for (part, step) in of.parts() {
                if let Some(place) = pointers.get_mut(part.0) {
                    *place = Some(format!("{pointer}{step}"));
                }
            }
        }
        let mut filled = Vec::new();
        let mut schemas = vec![Value::Nil; self.types.len()];
        for (at, of) in self.types.iter().enumerate().rev() {
            let Some(Some(pointer)) = pointers.get(at) else { continue };
            let mut writer = Writer { pointer, entries: Vec::new(), filled: &mut filled };
            writer.schema(of, &mut |part: TypeId| schemas.get_mut(part.0).map(core::mem::take).unwrap_or_default());
            let mut schema = Value::map(writer.entries);
            if of.is_nullable && of.checks.iter().any(|check| matches!(check, Check::Alternatives(..))) {
                let nil = Value::map([(Value::text("type"), Value::text("null"))]);
                schema = Value::map([(Value::text("anyOf"), Value::vector(vec![schema, nil]))]);
            }
            if let Some(place) = schemas.get_mut(at) {
                *place = schema;
            }
        }
        filled.sort();
        let schema = schemas.get_mut(root.0).map(core::mem::take).unwrap_or_default();
        BoundedSchema { schema, filled }
    }
}

impl Type {
    /// The types that this one is made of, with the pointers that lead to them.
    fn parts(&self) -> Vec<(TypeId, String)> {
        let mut parts = Vec::new();
        match &self.shape {
            Shape::List(element) => parts.push((*element, String::from("/items"))),
            Shape::Record(record) => {
                for field in &record.fields {
                    let name = field.name.as_str().replace('~', "~0").replace('/', "~1");
                    parts.push((field.of, format!("/properties/{name}")));
                }
                if let Rest::Typed(of) = record.rest {
                    parts.push((of, String::from("/additionalProperties")));
                }
            }
            _ => {}
        }
        for check in &self.checks {
            if let Check::Alternatives(how_many, all) = check {
                parts.extend(all.iter().enumerate().map(|(at, of)| (*of, format!("/{}/{at}", how_many.keyword()))));
            }
        }
        parts
    }
}

impl Type {
    /// The types without parts that the type is one of, if it is several.
    fn kinds(&self) -> Option<&[&'static str]> {
        self.checks.iter().find_map(|check| if let Check::Kinds(kinds) = check { Some(kinds.as_slice()) } else { None })
    }
}

impl Record {
    /// Whether its entries have other names than those of fields, which somebody reads.
    fn is_map(&self) -> bool {
        match self.rest {
            Rest::Closed => false,
            Rest::Open => self.fields.is_empty(),
            Rest::Typed(_) => true,
        }
    }
}

impl HowMany {
    pub(super) const fn keyword(self) -> &'static str {
        match self {
            Self::One => "oneOf",
            Self::Some => "anyOf",
            Self::All => "allOf",
        }
    }
}

struct Writer<'a> {
    pointer: &'a str,
    entries: Vec<(Value, Value)>,
    filled: &'a mut Vec<String>,
}

impl Writer<'_> {
    fn set_keyword(&mut self, keyword: &str, value: impl Into<Value>) {
        self.entries.push((Value::text(keyword), value.into()));
    }

    fn has(&self, keyword: &str) -> bool {
        self.entries.iter().any(|(name, _)| name.as_str() == Some(keyword))
    }

    /// Puts a maximum that the checks don't give.
    fn fill(&mut self, keyword: &str, most: usize) {
        if !self.has(keyword) {
            self.set_keyword(keyword, most);
            self.filled.push(format!("{}/{keyword}", self.pointer));
        }
    }

    fn put_type(&mut self, of: &Type, words: &[&str]) {
        let mut words: Vec<&str> = words.to_vec();
        if of.is_nullable && !words.contains(&"null") {
            words.push("null");
            // In the one order that a reader of this schema gives it again.
            words.sort_unstable();
        }
        let all: Vec<Value> = words.iter().map(|word| Value::text(word)).collect();
        match <[Value; 1]>::try_from(all) {
            Ok([only]) => self.set_keyword("type", only),
            Err(all) => self.set_keyword("type", Value::vector(all)),
        }
    }

    fn schema(&mut self, of: &Type, take: &mut dyn FnMut(TypeId) -> Value) {
        let is_narrowed = of.checks.iter().any(|check| matches!(check, Check::Alternatives(..) | Check::Members(_)));
        match &of.shape {
            Shape::Any if of.kinds().is_some() => self.put_type(of, of.kinds().unwrap_or_default()),
            Shape::Any if is_narrowed => {}
            Shape::Any => self.anything(of),
            Shape::Text | Shape::Keyword => self.put_type(of, &["string"]),
            Shape::Datetime => {
                self.put_type(of, &["string"]);
                self.set_keyword("format", Value::text("date-time"));
            }
            Shape::Int => self.put_type(of, &["integer"]),
            Shape::Float | Shape::Number => self.put_type(of, &["number"]),
            Shape::Bool => self.put_type(of, &["boolean"]),
            Shape::Enum(members) => {
                let null = of.is_nullable.then_some(Value::Nil);
                let members = members.iter().map(|member| Value::text(member.as_str().unwrap_or_default()));
                self.set_keyword("enum", Value::vector(members.chain(null).collect()));
            }
            Shape::List(element) => {
                self.put_type(of, &["array"]);
                let element = take(*element);
                self.set_keyword("items", element);
            }
            Shape::Record(record) => {
                self.put_type(of, &["object"]);
                let properties = record.fields.iter().map(|field| (Value::Text(field.name.clone()), take(field.of)));
                let properties: Vec<(Value, Value)> = properties.collect();
                let is_map = properties.is_empty();
                if !is_map {
                    self.set_keyword("properties", Value::map(properties));
                    let required = record.fields.iter().filter(|field| field.is_required);
                    let required = required.map(|field| Value::Text(field.name.clone())).collect();
                    self.set_keyword("required", Value::vector(required));
                }
                match record.rest {
                    Rest::Closed => self.set_keyword("additionalProperties", false),
                    Rest::Typed(of) => {
                        let of = take(of);
                        self.set_keyword("additionalProperties", of);
                    }
                    Rest::Open if is_map => {
                        self.filled.push(format!("{}/additionalProperties", self.pointer));
                        self.set_keyword("additionalProperties", scalar_schema());
                    }
                    Rest::Open => {}
                }
            }
        }
        for check in &of.checks {
            self.check(check, take);
        }
        self.fill_maxima(of);
    }

    fn fill_maxima(&mut self, of: &Type) {
        match &of.shape {
            Shape::Text => self.fill("maxLength", MOST_CHARACTERS),
            Shape::Any if of.kinds().is_some_and(|kinds| kinds.contains(&"string")) => {
                self.fill("maxLength", MOST_CHARACTERS);
            }
            Shape::Keyword => self.fill("maxLength", MOST_NAME),
            Shape::List(_) => self.fill("maxItems", MOST_ELEMENTS),
            Shape::Record(record) if record.is_map() => {
                self.fill("maxProperties", MOST_ENTRIES);
                if !self.has("propertyNames") {
                    self.set_keyword("propertyNames", Value::map([(Value::text("maxLength"), Value::from(MOST_NAME))]));
                    self.filled.push(format!("{}/propertyNames/maxLength", self.pointer));
                }
            }
            _ => {}
        }
    }

    /// Data of one level: a contract has no place for values of any depth.
    fn anything(&mut self, of: &Type) {
        self.put_type(of, &["array", "boolean", "null", "number", "object", "string"]);
        self.set_keyword("items", scalar_schema());
        self.set_keyword("additionalProperties", scalar_schema());
        self.set_keyword("propertyNames", Value::map([(Value::text("maxLength"), Value::from(MOST_NAME))]));
        for (keyword, most) in
            [("maxItems", MOST_ELEMENTS), ("maxLength", MOST_CHARACTERS), ("maxProperties", MOST_ENTRIES)]
        {
            if !of.checks.iter().any(|check| check.states(keyword)) {
                self.set_keyword(keyword, most);
            }
        }
        self.filled.push(format!("{}/type", self.pointer));
    }

    fn check(&mut self, check: &Check, take: &mut dyn FnMut(TypeId) -> Value) {
        match check {
            Check::Least(bound, is_beyond) => {
                self.set_keyword(if *is_beyond { "exclusiveMinimum" } else { "minimum" }, bound.clone());
            }
            Check::Most(bound, is_beyond) => {
                self.set_keyword(if *is_beyond { "exclusiveMaximum" } else { "maximum" }, bound.clone());
            }
            Check::MultipleOf(factor) => self.set_keyword("multipleOf", *factor),
            Check::Length { least, most } => self.range("minLength", *least, "maxLength", *most),
            Check::Items { least, most } => self.range("minItems", *least, "maxItems", *most),
            Check::Entries { least, most } => self.range("minProperties", *least, "maxProperties", *most),
            Check::NameLength(most) => {
                self.set_keyword("propertyNames", Value::map([(Value::text("maxLength"), Value::from(*most))]));
            }
            Check::Unique => self.set_keyword("uniqueItems", true),
            Check::Pattern(pattern) => self.set_keyword("pattern", Value::from(pattern.source())),
            Check::Kinds(_) => {}
            Check::Members(members) => self.set_keyword("enum", Value::vector(members.clone())),
            Check::Alternatives(how_many, all) => {
                let all = all.iter().map(|of| take(*of)).collect();
                self.set_keyword(how_many.keyword(), Value::vector(all));
            }
        }
    }

    fn range(&mut self, least_word: &str, least: usize, most_word: &str, most: usize) {
        if least > 0 {
            self.set_keyword(least_word, least);
        }
        if most < usize::MAX {
            self.set_keyword(most_word, most);
        }
    }
}

impl Check {
    /// Whether the check states a maximum itself.
    fn states(&self, keyword: &str) -> bool {
        match self {
            Self::Length { most, .. } => keyword == "maxLength" && *most < usize::MAX,
            Self::Items { most, .. } => keyword == "maxItems" && *most < usize::MAX,
            Self::Entries { most, .. } => keyword == "maxProperties" && *most < usize::MAX,
            _ => false,
        }
    }
}

/// Any value without parts.
fn scalar_schema() -> Value {
    let words = ["boolean", "null", "number", "string"].map(Value::text);
    Value::map([
        (Value::text("type"), Value::vector(words.into())),
        (Value::text("maxLength"), Value::from(MOST_CHARACTERS)),
    ])
}
