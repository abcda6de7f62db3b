//! The required form of a value: a JSON Schema with a name, in which every size is bounded.
//!
//! Invariants: every text, list and map that a contract declares has a maximum, so that no answer is accepted that
//! nobody meant to read, and none contains itself. The root is an object, because the arguments of a tool are one. A
//! problem names the schema's own words, and what the model wrote only as [`Untrusted`].
//!
//! An object that doesn't say `additionalProperties` may hold names that the schema doesn't declare. Nobody reads them.
//! One that says what is under other names is a map.

mod bare;
mod ends;
mod form;
mod notation;
mod problems;
mod tools;

use proem_guard::{Untrusted, show};
use proem_text::json;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value as Json;

use self::ends::{endless_parts, fill_maxima, schema_as_checked};
pub use self::notation::schema_from_line;
pub use self::tools::{AnswerContract, CallChoice, ToolContracts};
use crate::call::Tool;
use crate::error::{Error, ErrorKind};
use crate::schema::compile_with_formats;

/// The version of the form that a contract is shown as. Raised when it gives other bytes for the same contract.
pub const FORM: u32 = 3;

/// A compiled contract.
#[derive(Debug)]
pub struct Contract {
    /// The tool as the model reads it.
    tool: Tool,
    /// The schema in full, with the maxima that were filled in.
    schema: Json,
    validator: jsonschema::Validator,
    /// Whether the answer is the one field of the object that a model writes.
    is_bare: bool,
}

/// The treatment of texts, lists and maps without a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingMaxima {
    /// They get one.
    Filled,
    /// They refuse the schema.
    Refused,
}

/// Why a value doesn't meet a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The keyword that it breaks: `required`, `maxLength`, `enum`. It is `false` for a value where
    /// the schema allows none, and empty for the last of a list that says how many more there are.
    pub rule: String,
    /// The place, in names that the schema declares. `*` is any other name, as in `/items/3/*`.
    pub path: String,
    /// The expectation there, in the schema's words.
    pub expected: String,
    /// The text found there, at most [`Problem::MAX_FOUND_BYTES`] of it. `None` for a missing value, and for lists and
    /// objects.
    pub found: Option<Untrusted<String>>,
}

impl Problem {
    /// The most bytes of an offending value that go back to the model.
    pub const MAX_FOUND_BYTES: usize = 80;

    /// The most problems of one value that are listed. The last says how many more there are.
    pub const MAX_LISTED: usize = 20;

    /// The problem without what was found, which is not ours to say.
    #[must_use]
    pub fn in_words(&self) -> String {
        match (self.rule.as_str(), self.path.as_str()) {
            ("", _) => self.expected.clone(),
            (rule, "") => format!("the value: expected {} ({rule})", self.expected),
            (rule, path) => format!("{path}: expected {} ({rule})", self.expected),
        }
    }
}

impl Contract {
    /// The most characters of a contract's name.
    pub const MAX_NAME_CHARS: usize = 64;

    /// Compiles a schema under a name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] with every problem, each with its place and its remedy: a name
    /// that is none, a schema that does not compile, refers to another document or contains
    /// itself, a root that is not an object, a text, list or map without a maximum.
    pub fn new(name: &str, description: &str, schema: Json) -> Result<Self, Error> {
        Self::compile(name, description, schema).map_err(|problems| {
            let problems = problems.into_iter().map(|problem| format!("contract `{}`: {problem}", name.escape_debug()));
            Error::all(ErrorKind::InvalidFile, problems.collect())
        })
    }

    /// [`Contract::new`] for a schema whose language can't state maxima, such as Picoschema: where one is missing,
    /// 10,000 characters, 1,000 items, 1,000 entries of a map and 200 characters of their names are filled in for
    /// checking answers. A model is sent the schema as it was written. Also gives the JSON pointers of what was filled
    /// in.
    ///
    /// # Errors
    ///
    /// Those of [`Contract::new`], but for maxima.
    pub fn bounded(name: &str, description: &str, mut schema: Json) -> Result<(Self, Vec<String>), Error> {
        let written = schema.clone();
        let filled = fill_maxima(&mut schema);
        let mut contract = Self::new(name, description, schema)?;
        contract.tool.schema = written;
        Ok((contract, filled))
    }

    /// [`Contract::new`], or [`Contract::bounded`] where `maxima` says so, for a schema whose values may be no objects, such as
    /// an enumeration: a model writes the value as the field `value` of an object, and [`Contract::to_answer`] takes it out.
    /// Also gives the JSON pointers of maxima that were filled in.
    ///
    /// # Errors
    ///
    /// Those of [`Contract::new`], but for a root that is not an object.
    pub fn of_answer(name: &str, schema: Json, maxima: MissingMaxima) -> Result<(Self, Vec<String>), Error> {
        let is_bare = bare::is_bare(&schema);
        let schema = if is_bare { bare::wrap_schema(schema) } else { schema };
        let made = match maxima {
            MissingMaxima::Filled => Self::bounded(name, "", schema),
            MissingMaxima::Refused => Self::new(name, "", schema).map(|contract| (contract, Vec::new())),
        };
        if !is_bare {
            return made;
        }
        match made {
            Ok((contract, filled)) => {
                let own = format!("/properties/{}", bare::FIELD);
                let filled = filled.iter().map(|place| place.strip_prefix(&own).unwrap_or(place).to_owned());
                Ok((Self { is_bare, ..contract }, filled.collect()))
            }
            Err(error) => {
                Err(Error::all(error.kind(), error.problems().iter().map(|words| bare::unwrap_words(words)).collect()))
            }
        }
    }

    /// The answer that a value means which a model wrote and the contract accepts.
    #[must_use]
    pub fn to_answer(&self, value: Json) -> Json {
        match value {
            Json::Object(mut fields) if self.is_bare => fields.remove(bare::FIELD).unwrap_or_default(),
            value => value,
        }
    }

    /// The answer that a text is which a model wrote without the object that it was asked for. `None` if it is none, or
    /// if the contract wants an object.
    #[must_use]
    pub(crate) fn bare_answer(&self, text: &str) -> Option<Json> {
        let candidates = if self.is_bare { bare::candidates(text) } else { Vec::new() };
        candidates.into_iter().find(|value| self.accepts(&serde_json::json!({ bare::FIELD: value })))
    }

    /// Why an answer, such as a fallback, is none of this contract's.
    #[must_use]
    pub fn answer_problems(&self, answer: &Untrusted<Json>) -> Vec<Problem> {
        if !self.is_bare {
            return self.problems(answer);
        }
        let mut problems = self.problems(&answer.clone().map(|value| serde_json::json!({ bare::FIELD: value })));
        for problem in &mut problems {
            let own = format!("/{}", bare::FIELD);
            problem.path = problem.path.strip_prefix(&own).unwrap_or(&problem.path).to_owned();
        }
        problems
    }

    /// The contract of a Rust type. Its doc comment is the description, and those of its fields
    /// stay where they are.
    ///
    /// Maxima come from `#[schemars(length(max = 200))]`, conditions from
    /// `#[schemars(extend("allOf" = […]))]`.
    ///
    /// # Errors
    ///
    /// Those of [`Contract::new`].
    pub fn of<T: JsonSchema>(name: &str) -> Result<Self, Error> {
        let (description, schema) = schema_of::<T>();
        Self::new(name, &description, schema)
    }

    /// [`Contract::of`] for a type whose author stated no maxima: those of [`Contract::bounded`] are filled in.
    ///
    /// # Errors
    ///
    /// Those of [`Contract::bounded`].
    pub fn of_bounded<T: JsonSchema>(name: &str) -> Result<Self, Error> {
        let (description, schema) = schema_of::<T>();
        Ok(Self::bounded(name, &description, schema)?.0)
    }

    /// [`Contract::new`] with bare problems.
    pub(crate) fn compile(name: &str, description: &str, schema: Json) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > Self::MAX_NAME_CHARS || !name.chars().all(letters) {
            problems.push("the name is not 1 to 64 letters, digits, `_` and `-`; rename it".to_owned());
        }
        let endless = endless_parts(&schema);
        problems.extend(endless.iter().map(ends::SchemaDefect::words));
        // A schema that can't be followed is not compiled, which would say the same again.
        let compiled = if endless.iter().any(ends::SchemaDefect::is_broken) {
            None
        } else {
            let compiled = compile_with_formats(&schema_as_checked(&schema));
            compiled.map_err(|problem| problems.push(format!("the schema does not compile: {problem}"))).ok()
        };
        match compiled {
            Some(validator) if problems.is_empty() => {
                let tool = Tool { name: name.to_owned(), description: description.to_owned(), schema: schema.clone() };
                Ok(Self { tool, schema, validator, is_bare: false })
            }
            _ => Err(problems),
        }
    }

    /// The name, the description and the schema as a model reads them.
    #[must_use]
    pub const fn tool(&self) -> &Tool {
        &self.tool
    }

    /// The schema that answers are checked against, in full.
    #[must_use]
    pub const fn schema(&self) -> &Json {
        &self.schema
    }

    /// The note to a model on its answer if only the prompt can state its form: a form to fill in, which small models
    /// follow better than a schema.
    #[must_use]
    pub fn form_note(&self) -> String {
        format!(
            "The answer is one JSON object and nothing else: no fence, no words before or after it. It has this form, \
             with other values:\n{}",
            form::form_of_schema(&self.tool.schema)
        )
    }

    /// Whether a value is the form that [`Self::form_note`] shows, figure for figure.
    #[must_use]
    pub fn is_form_copy(&self, value: &Json) -> bool {
        form::is_copy(&self.tool.schema, value)
    }

    /// The same for a model that is known to follow a schema that it reads.
    #[must_use]
    pub fn schema_note(&self) -> String {
        format!(
            "The answer is one JSON value and nothing else: no fence, no words before or after it. It meets this JSON \
             Schema:\n{}\n",
            json::compact_in_order(&self.tool.schema)
        )
    }

    /// Whether `value` meets the contract.
    #[must_use]
    pub fn accepts(&self, value: &Json) -> bool {
        self.validator.is_valid(value)
    }

    /// Why `value` doesn't meet the contract, sorted by path and rule. Empty if it does.
    ///
    /// At most [`Problem::MAX_LISTED`] are listed. Beyond that, the last one says how many more there are, and that
    /// there are even more where looking has stopped.
    #[must_use]
    pub fn problems(&self, value: &Untrusted<Json>) -> Vec<Problem> {
        if value.measure(|value| self.accepts(value)) {
            return Vec::new();
        }
        // A found text goes back under the value's label, and nowhere else.
        problems::of(&self.validator, self.schema(), &show::exact_value(value), value.label())
    }
}

/// Leaves out what only schemars says: titles, and the names of Rust's number types as formats.
fn strip_schemars_extras(schema: &mut Schema) {
    schema.remove("title");
    let numbers = |kind: &Json| match kind {
        Json::String(kind) => matches!(kind.as_str(), "integer" | "number"),
        Json::Array(kinds) => kinds.iter().any(|kind| matches!(kind.as_str(), Some("integer" | "number"))),
        _ => false,
    };
    if schema.get("type").is_some_and(numbers) {
        schema.remove("format");
    }
}

/// The example on the concepts page runs. Returns a type's doc comment, and its schema without it.
fn schema_of<T: JsonSchema>() -> (String, Json) {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let generator = settings.with_transform(RecursiveTransform(strip_schemars_extras)).into_generator();
    let mut schema: Json = generator.into_root_schema_for::<T>().into();
    let mut description = None;
    if let Json::Object(root) = &mut schema {
        root.remove("$schema");
        description = root.remove("description");
    }
    (description.as_ref().and_then(Json::as_str).unwrap_or_default().to_owned(), schema)
}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/concepts/contracts.md")]
struct Page;
