//! Says why a value doesn't meet its schema, in the schema's words alone.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, ValidationError, Validator};
use proem_guard::{Untrusted, credential};
use proem_text::{Label, shorten_text};
use serde_json::Value as Json;

use super::Problem;
use crate::schema::{declared_names, escape_pointer_segment};

/// How many violations are looked at.
const MAX_SEEN: usize = 1_000;

/// How many values of an enumeration are named.
const MAX_VALUES: usize = 50;

/// The most characters of one of a schema's values or patterns.
const MAX_VALUE_CHARS: usize = 200;

/// A step towards a problem. Items come in order, names after them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PathSegment {
    Index(usize),
    Name(String),
}

/// A place, a rule and an expectation, in the order in which problems are listed.
type Violation = (Vec<PathSegment>, String, String);

/// Every problem of `value`, the first [`Problem::MAX_LISTED`] of them.
pub(super) fn of(validator: &Validator, schema: &Json, value: &Json, label: &Label) -> Vec<Problem> {
    let mut declared = BTreeSet::new();
    declared_names(schema, &mut declared);
    let mut reader = ViolationCollector { schema, declared, violations: BTreeMap::new() };
    for error in validator.iter_errors(value) {
        if reader.violations.len() >= MAX_SEEN {
            break;
        }
        reader.read(&error);
    }
    let total = reader.violations.len();
    let listed = if total > Problem::MAX_LISTED { Problem::MAX_LISTED.saturating_sub(1) } else { total };
    let found = |text: String| Untrusted::new(text, label.clone());
    let mut problems: Vec<Problem> = reader
        .violations
        .into_iter()
        .take(listed)
        .map(|((place, rule, expected), text)| Problem {
            rule,
            path: pointer_of_place(&place),
            expected,
            found: text.map(found),
        })
        .collect();
    let more = total.saturating_sub(listed);
    if more > 0 {
        let least = if total >= MAX_SEEN { "at least " } else { "" };
        let expected = format!("and {least}{more} more problems");
        problems.push(Problem { rule: String::new(), path: String::new(), expected, found: None });
    }
    problems
}

fn pointer_of_place(place: &[PathSegment]) -> String {
    place.iter().fold(String::new(), |mut path, segment| {
        path.push('/');
        match segment {
            PathSegment::Index(index) => path.push_str(&index.to_string()),
            PathSegment::Name(name) => path.push_str(&escape_pointer_segment(name)),
        }
        path
    })
}

/// The text of a scalar, cut.
fn cut_scalar(value: &Json) -> Option<String> {
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Array(_) | Json::Object(_) => return None,
        other => other.to_string(),
    };
    Some(credential::uncut_prefix(&text, Problem::MAX_FOUND_BYTES).to_owned())
}

struct ViolationCollector<'s> {
    schema: &'s Json,
    declared: BTreeSet<String>,
    violations: BTreeMap<Violation, Option<String>>,
}

impl ViolationCollector<'_> {
    fn read(&mut self, error: &ValidationError<'_>) {
        match error.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => self.union(error, context),
            _ => {
                let mut place = self.place(error.instance_path());
                if let Kind::Required { property } = error.kind() {
                    place.push(PathSegment::Name(property.as_str().unwrap_or("*").to_owned()));
                }
                let found = match error.kind() {
                    Kind::Required { .. } => None,
                    _ => cut_scalar(error.instance()),
                };
                let rule = match error.kind() {
                    Kind::FalseSchema => "false",
                    kind => kind.keyword(),
                };
                self.say(place, rule, self.expected(error), found);
            }
        }
    }

    fn say(&mut self, place: Vec<PathSegment>, rule: &str, expected: String, found: Option<String>) {
        self.violations.insert((place, rule.to_owned(), expected), found);
    }

    /// The path with `*` for every name that the schema doesn't declare.
    fn place(&self, path: &Location) -> Vec<PathSegment> {
        let segment = |segment: LocationSegment<'_>| match segment {
            LocationSegment::Index(index) => PathSegment::Index(index),
            LocationSegment::Property(name) if self.declared.contains(name.as_ref()) => {
                PathSegment::Name(name.into_owned())
            }
            LocationSegment::Property(_) => PathSegment::Name("*".into()),
        };
        path.into_iter().map(segment).collect()
    }

    /// Of several branches, the one that was meant: whose kind and whose fixed values fit, with
    /// the fewest problems. If none does, what the branches want instead.
    fn union(&mut self, error: &ValidationError<'_>, branches: &[Vec<ValidationError<'static>>]) {
        let at = error.instance_path();
        let telling: Vec<Option<&ValidationError<'static>>> =
            branches.iter().map(|errors| errors.iter().find(|inner| is_telling(inner, at))).collect();
        let meant = branches.iter().zip(&telling).filter(|(_, telling)| telling.is_none()).map(|(errors, _)| errors);
        if let Some(meant) = meant.min_by_key(|errors| errors.len()) {
            meant.iter().for_each(|inner| self.read(inner));
            return;
        }
        let telling: Vec<&ValidationError<'static>> = telling.into_iter().flatten().collect();
        let deepest = telling.iter().map(|inner| inner.instance_path()).max_by_key(|path| path.as_str().len());
        let Some((first, place)) = telling.first().zip(deepest) else {
            // A branch without a reason would have been the one that fits.
            let expected = format!("one of the {} forms that the schema allows", branches.len());
            return self.say(self.place(at), error.kind().keyword(), expected, cut_scalar(error.instance()));
        };
        // A wrong kind of the whole value doesn't compete with the field that tells forms apart.
        let same: Vec<&ValidationError<'static>> =
            telling.iter().copied().filter(|inner| inner.instance_path() == place).collect();
        let found = same.first().unwrap_or(first).instance();
        let expected = self.conditioned(alternatives(&same), error);
        self.say(self.place(place), error.kind().keyword(), expected, cut_scalar(found));
    }

    /// The expectation, with its condition.
    fn expected(&self, error: &ValidationError<'_>) -> String {
        let words = self.conditioned(expected_by_rule(error, self.schema), error);
        match error.kind() {
            Kind::Required { .. } => format!("{words}, and there is none"),
            _ => words,
        }
    }

    fn conditioned(&self, expected: String, error: &ValidationError<'_>) -> String {
        match condition(self.schema, error.schema_path()) {
            Some(condition) => format!("{expected} {condition}"),
            None => expected,
        }
    }
}

/// Whether a problem says that another branch was meant: the kind of the value, or a fixed value
/// of it or of one of its fields.
fn is_telling(error: &ValidationError<'_>, at: &Location) -> bool {
    let below = error.instance_path().into_iter().count().saturating_sub(at.into_iter().count());
    match error.kind() {
        Kind::Type { .. } => below == 0,
        Kind::Constant { .. } | Kind::Enum { .. } => below <= 1,
        _ => false,
    }
}

/// The expectations of several branches for the same value.
fn alternatives(errors: &[&ValidationError<'static>]) -> String {
    let mut values: Vec<&Json> = Vec::new();
    let mut kinds: Vec<&'static str> = Vec::new();
    for error in errors {
        match error.kind() {
            Kind::Constant { expected_value } => values.push(expected_value),
            Kind::Enum { options } => values.extend(options.as_array().into_iter().flatten()),
            Kind::Type { kind } => kinds.extend(kind_words(kind)),
            _ => {}
        }
    }
    kinds.dedup();
    let values = (!values.is_empty()).then(|| list_values(&values));
    values.iter().map(String::as_str).chain(kinds).collect::<Vec<_>>().join(" or ")
}

/// The expectation of an error's rule.
fn expected_by_rule(error: &ValidationError<'_>, schema: &Json) -> String {
    let value = error.instance();
    match error.kind() {
        Kind::Required { .. } => "a value".into(),
        Kind::Type { kind } => {
            let found = match value.as_ref() {
                Json::Array(items) => format!(", found a list of {}", items.len()),
                Json::Object(map) => format!(", found an object of {}", map.len()),
                _ => String::new(),
            };
            format!("{}{found}", kind_words(kind).join(" or "))
        }
        Kind::Enum { options } => list_values(&options.as_array().into_iter().flatten().collect::<Vec<_>>()),
        Kind::Constant { expected_value } => schema_value(expected_value),
        Kind::MinLength { limit: 1 } => "a text that is not empty".into(),
        Kind::MaxLength { limit } => format!("at most {limit} characters, found {}", value_length(value)),
        Kind::MinLength { limit } => format!("at least {limit} characters, found {}", value_length(value)),
        Kind::MaxItems { limit } => format!("at most {limit} items, found {}", value_length(value)),
        Kind::MinItems { limit } => format!("at least {limit} items, found {}", value_length(value)),
        Kind::MaxProperties { limit } => format!("at most {limit} entries, found {}", value_length(value)),
        Kind::MinProperties { limit } => format!("at least {limit} entries, found {}", value_length(value)),
        Kind::AdditionalItems { limit } => format!("at most {limit} items, found {}", value_length(value)),
        Kind::UnevaluatedItems { unexpected } => format!("{} items fewer", unexpected.len()),
        Kind::Minimum { .. } | Kind::Maximum { .. } | Kind::ExclusiveMinimum { .. } | Kind::ExclusiveMaximum { .. } => {
            number_range(error, schema)
        }
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::Pattern { pattern } => format!("a text that matches `{}`", shorten_value(pattern)),
        Kind::Format { format } => format!("a text of the format {}", shorten_value(format)),
        Kind::UniqueItems => "items that all differ".into(),
        Kind::Contains => "another number of items that fit `contains`".into(),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names = schema_beside_keyword(error, schema)
                .and_then(|beside| beside.get("properties"))
                .and_then(Json::as_object);
            let names: Vec<&str> = names.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let names = if names.is_empty() { "no other names".into() } else { format!("only {}", names.join(", ")) };
            format!("{names}; found {} others", unexpected.len())
        }
        Kind::PropertyNames { error } => format!("names that are {}", expected_by_rule(error, schema)),
        Kind::OneOfMultipleValid { context } => {
            format!("a value that fits only one of the {} forms that the schema allows", context.len())
        }
        Kind::FalseSchema => "no value".into(),
        Kind::Not { .. } => "a value that the schema doesn't exclude".into(),
        kind => format!("a value that fits `{}`", shorten_value(kind.keyword())),
    }
}

/// How many characters, items or entries a value has.
fn value_length(value: &Json) -> usize {
    match value {
        Json::String(text) => text.chars().count(),
        Json::Array(items) => items.len(),
        Json::Object(map) => map.len(),
        _ => 1,
    }
}

/// The schema in which the broken keyword is.
fn schema_beside_keyword<'s>(error: &ValidationError<'_>, schema: &'s Json) -> Option<&'s Json> {
    let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
    schema.pointer(parent)
}

/// The range of a number, both ends at once.
fn number_range(error: &ValidationError<'_>, schema: &Json) -> String {
    let limit = |keyword: &str| {
        schema_beside_keyword(error, schema).and_then(|beside| beside.get(keyword)).map(Json::to_string)
    };
    let least = limit("minimum").or_else(|| limit("exclusiveMinimum").map(|limit| format!("more than {limit}")));
    let most = limit("maximum").or_else(|| limit("exclusiveMaximum").map(|limit| format!("less than {limit}")));
    match (least, most) {
        (Some(least), Some(most)) if least.starts_with("more") || most.starts_with("less") => {
            format!("a number that is {least} and {most}")
        }
        (Some(least), Some(most)) => format!("a number from {least} to {most}"),
        (Some(least), None) if least.starts_with("more") => format!("a number that is {least}"),
        (Some(least), None) => format!("a number of at least {least}"),
        (None, Some(most)) if most.starts_with("less") => format!("a number that is {most}"),
        (None, Some(most)) => format!("a number of at most {most}"),
        (None, None) => "a number in the declared range".into(),
    }
}

fn kind_words(kind: &TypeKind) -> Vec<&'static str> {
    let word = |kind: JsonType| match kind {
        JsonType::String => "a text",
        JsonType::Number => "a number",
        JsonType::Integer => "a whole number",
        JsonType::Boolean => "true or false",
        JsonType::Null => "null",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
    };
    match kind {
        TypeKind::Single(kind) => vec![word(*kind)],
        TypeKind::Multiple(kinds) => {
            // Nothing comes last: it is what is left to say.
            let (null, kinds): (Vec<_>, Vec<_>) = kinds.iter().partition(|kind| *kind == JsonType::Null);
            kinds.into_iter().chain(null).map(word).collect()
        }
    }
}

/// A schema's own value.
fn schema_value(value: &Json) -> String {
    match value {
        Json::String(text) if !text.is_empty() => shorten_value(text),
        other => shorten_value(&other.to_string()),
    }
}

fn shorten_value(text: &str) -> String {
    shorten_text(text, MAX_VALUE_CHARS).into_owned()
}

fn list_values(values: &[&Json]) -> String {
    let shown: Vec<String> = values.iter().take(MAX_VALUES).map(|value| schema_value(value)).collect();
    match (values.len(), values.len().saturating_sub(MAX_VALUES)) {
        (1, _) => shown.concat(),
        (_, 0) => format!("one of {}", shown.join(", ")),
        (_, more) => format!("one of {} and {more} more", shown.join(", ")),
    }
}

/// The conditions that lead to a keyword through `then` and `else`: `where `action` is FINALIZE`.
fn condition(schema: &Json, path: &Location) -> Option<String> {
    let (mut here, mut words) = (schema, Vec::new());
    let mut pointer = String::new();
    let mut is_name = false;
    for segment in path {
        let segment = match segment {
            LocationSegment::Index(index) => index.to_string(),
            LocationSegment::Property(name) => name.into_owned(),
        };
        if let (false, "then" | "else", Some(test)) = (is_name, segment.as_str(), here.get("if")) {
            let word = if segment == "then" { "where" } else { "unless" };
            let mut parts = Vec::new();
            let said = condition_words(test, "", &mut parts).is_some() && !parts.is_empty();
            let test = if said { parts.join(" and ") } else { format!("the condition at `{pointer}/if` holds") };
            words.push(format!("{word} {test}"));
        }
        is_name = !is_name
            && matches!(
                segment.as_str(),
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
            );
        pointer = format!("{pointer}/{}", escape_pointer_segment(&segment));
        here = schema.pointer(&pointer)?;
    }
    (!words.is_empty()).then(|| words.join(" and "))
}

/// A condition in words. `None` if it asks more than there are words for.
fn condition_words(test: &Json, name: &str, parts: &mut Vec<String>) -> Option<()> {
    for (keyword, value) in test.as_object()? {
        match (keyword.as_str(), value) {
            ("const", value) => parts.push(format!("`{name}` is {}", schema_value(value))),
            ("enum", Json::Array(values)) => {
                parts.push(format!("`{name}` is {}", list_values(&values.iter().collect::<Vec<_>>())));
            }
            ("properties", Json::Object(properties)) => {
                for (inner, test) in properties {
                    let inner = if name.is_empty() { inner.clone() } else { format!("{name}.{inner}") };
                    condition_words(test, &inner, parts)?;
                }
            }
            ("required", Json::Array(names)) => {
                let tested = test.get("properties").and_then(Json::as_object);
                for inner in names.iter().filter_map(Json::as_str) {
                    if tested.is_none_or(|tested| !tested.contains_key(inner)) {
                        let dot = if name.is_empty() { "" } else { "." };
                        parts.push(format!("`{name}{dot}{inner}` is there"));
                    }
                }
            }
            ("type" | "title" | "description", _) => {}
            _ => return None,
        }
    }
    Some(())
}
