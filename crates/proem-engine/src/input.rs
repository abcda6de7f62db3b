//! What a prompt is given: values whose texts are ours or from outside.
//!
//! Invariant: text from outside never enters a template's evaluation. [`Slots`] puts a mark in its
//! place, and only [`proem_guard::contain()`] puts the text where the mark is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::paths::LocationSegment;
use proem_guard::Untrusted;
use proem_guard::contain::ContainmentMode;
use proem_text::{Label, OrderedMap, Source};
use serde_json::{Map, Number, Value as Json};

use crate::error::{Error, ErrorKind};
use crate::ordered::OrderedJson;
use crate::schema::{self, compile, declared_names};

/// Whether an input's text is ours or from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputTrust {
    /// Computed by code, or typed or approved by a person.
    Trusted,
    /// Everything else.
    Untrusted,
}

/// One input value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value: an optional input that its caller leaves open.
    Null,
    /// A yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text that code computed or a person typed or approved.
    Text(String),
    /// A text from outside.
    Outside(Untrusted<String>),
    /// A text from outside that the guard flagged: it is contained with a mark at each word.
    Flagged(Untrusted<String>),
    /// Values in the order in which templates go through them.
    List(Vec<Self>),
    /// Values by name, in the order in which templates go through them.
    Map(OrderedMap<Self>),
}

impl Value {
    /// JSON as a value; with `label`, its texts are from outside.
    #[must_use]
    pub fn from_json(json: Json, label: Option<&Label>) -> Self {
        Self::from_ordered(&json.into(), label)
    }

    /// JSON as a value, its objects in their order; with `label`, its texts are from outside.
    #[must_use]
    pub fn from_ordered(value: &OrderedJson, label: Option<&Label>) -> Self {
        match value {
            OrderedJson::Null => Self::Null,
            OrderedJson::Bool(value) => Self::Bool(*value),
            OrderedJson::Number(number) => Self::Number(number.clone()),
            OrderedJson::Text(text) => match label {
                Some(label) => Self::Outside(Untrusted::new(text.as_ref().to_owned(), label.clone())),
                None => Self::Text(text.as_ref().to_owned()),
            },
            OrderedJson::List(items) => Self::List(items.iter().map(|item| Self::from_ordered(item, label)).collect()),
            OrderedJson::Map(fields) => {
                Self::Map(fields.iter().map(|(name, item)| (name, Self::from_ordered(item, label))).collect())
            }
        }
    }

    /// A list of values.
    pub fn list<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }

    /// The value with all its texts, for checking it against a schema.
    fn exact(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(number) => Json::Number(number.clone()),
            Self::Text(text) => Json::String(text.clone()),
            Self::Outside(text) | Self::Flagged(text) => proem_guard::show::json(text),
            Self::List(items) => Json::Array(items.iter().map(Self::exact).collect()),
            Self::Map(map) => {
                Json::Object(map.iter().map(|(key, item)| (key.to_owned(), item.exact())).collect::<Map<_, _>>())
            }
        }
    }

    /// Every text and key that a template may see as it is.
    fn collect<'v>(&'v self, texts: &mut Vec<&'v str>) {
        match self {
            Self::Text(text) => texts.push(text),
            Self::List(items) => items.iter().for_each(|item| item.collect(texts)),
            Self::Map(map) => {
                for (key, item) in map.iter() {
                    texts.push(key);
                    item.collect(texts);
                }
            }
            _ => {}
        }
    }

    /// Another text from outside, flagged if this one is.
    pub(crate) const fn with_outside(&self, text: Untrusted<String>) -> Self {
        if matches!(self, Self::Flagged(_)) { Self::Flagged(text) } else { Self::Outside(text) }
    }

    fn has_outside(&self) -> bool {
        match self {
            Self::Outside(_) | Self::Flagged(_) => true,
            Self::List(items) => items.iter().any(Self::has_outside),
            Self::Map(map) => map.iter().any(|(_, item)| item.has_outside()),
            _ => false,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<Untrusted<String>> for Value {
    fn from(text: Untrusted<String>) -> Self {
        Self::Outside(text)
    }
}

impl<const N: usize> From<[(&str, Self); N]> for Value {
    fn from(entries: [(&str, Self); N]) -> Self {
        Self::Map(entries.into_iter().collect())
    }
}

/// All inputs by name.
pub type Inputs = BTreeMap<String, Value>;

/// The untrusted texts of one render, each standing behind a mark.
///
/// A mark is the text's number between two copies of a character that occurs in no other text of
/// the render, so that no text, and no two texts joined, can look like one.
#[derive(Debug)]
pub(crate) struct Slots {
    mark: char,
    texts: Vec<(Untrusted<String>, ContainmentMode)>,
}

/// A piece of rendered text.
#[derive(Debug)]
pub(crate) enum RenderPiece<'t> {
    Ours(&'t str),
    Outside(&'t Untrusted<String>, ContainmentMode),
}

impl Slots {
    /// Slots whose mark occurs in none of the trusted texts: inputs, their defaults and the
    /// templates' own text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if the texts hold every character that could be one.
    pub(crate) fn new(inputs: &Inputs, defaults: Option<&OrderedJson>, templates: &str) -> Result<Self, Error> {
        let mut texts = vec![templates];
        for (name, value) in inputs {
            texts.push(name);
            value.collect(&mut texts);
        }
        if let Some(defaults) = defaults {
            collect_ordered(defaults, &mut texts);
        }
        let Some(mark) = unused(&texts) else {
            let problem = "the inputs use every private-use character of Unicode planes 15 and 16, so none is left to \
                           mark untrusted text; remove some";
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        };
        Ok(Self { mark, texts: Vec::new() })
    }

    /// The value that a template sees: texts from outside replaced by marks.
    pub(crate) fn fill(&mut self, name: &str, value: &Value, trust: InputTrust) -> OrderedJson {
        match (value, trust) {
            (Value::Null, _) => OrderedJson::Null,
            (Value::Bool(value), _) => OrderedJson::Bool(*value),
            (Value::Number(number), _) => OrderedJson::Number(number.clone()),
            (Value::Text(text), InputTrust::Trusted) => OrderedJson::from(text.as_str()),
            (Value::Text(text), InputTrust::Untrusted) => self
                .mark(Untrusted::new(text.clone(), Label::from_source(input_source(name))), ContainmentMode::Delimit),
            (Value::Outside(text), _) => self.mark(text.clone(), ContainmentMode::Delimit),
            (Value::Flagged(text), _) => self.mark(text.clone(), ContainmentMode::Datamark),
            (Value::List(items), _) => {
                OrderedJson::List(Arc::new(items.iter().map(|item| self.fill(name, item, trust)).collect()))
            }
            (Value::Map(map), _) => {
                map.iter().map(|(key, item)| (key, self.fill(name, item, trust))).collect::<OrderedMap<_>>().into()
            }
        }
    }

    fn mark(&mut self, text: Untrusted<String>, mode: ContainmentMode) -> OrderedJson {
        // An empty text stays empty, so that conditions in templates see it as such.
        if text.is_empty() {
            return OrderedJson::from("");
        }
        let mark = format!("{0}{1}{0}", self.mark, self.texts.len());
        self.texts.push((text, mode));
        OrderedJson::from(mark)
    }

    /// Cuts rendered text at its marks.
    pub(crate) fn pieces<'t>(&'t self, rendered: &'t str) -> Vec<RenderPiece<'t>> {
        let pieces = rendered.split(self.mark).enumerate().filter_map(|(index, piece)| match index % 2 {
            0 => (!piece.is_empty()).then_some(RenderPiece::Ours(piece)),
            _ => self.texts.get(piece.parse::<usize>().ok()?).map(|(text, mode)| RenderPiece::Outside(text, *mode)),
        });
        pieces.collect()
    }

    /// Whether a text from outside stands in rendered text.
    pub(crate) fn stand_in(&self, rendered: &str) -> bool {
        rendered.contains(self.mark)
    }
}

/// A noncharacter, else a private character, that occurs in none of the texts.
pub(crate) fn unused(texts: &[&str]) -> Option<char> {
    const FIRST: char = '\u{fdd0}';
    if !texts.iter().any(|text| text.contains(FIRST)) {
        return Some(FIRST);
    }
    let used: BTreeSet<char> = texts.iter().flat_map(|text| text.chars()).filter(|c| *c >= FIRST).collect();
    let mut candidates = (FIRST..='\u{fdef}').chain('\u{f0000}'..='\u{10ffff}');
    candidates.find(|c| !used.contains(c))
}

/// Every text and name in a value.
pub fn collect_ordered<'v>(value: &'v OrderedJson, texts: &mut Vec<&'v str>) {
    match value {
        OrderedJson::Text(text) => texts.push(text),
        OrderedJson::List(items) => items.iter().for_each(|item| collect_ordered(item, texts)),
        OrderedJson::Map(fields) => {
            for (name, item) in fields.iter() {
                texts.push(name);
                collect_ordered(item, texts);
            }
        }
        _ => {}
    }
}

/// The source of an input that nobody labelled.
fn input_source(name: &str) -> Source {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    Source::parse(&format!("input/{name}")).unwrap_or(Source::named("input"))
}

/// How many problems with inputs are listed one by one.
const MAX_LISTED: usize = 50;

/// What inputs are checked against.
#[derive(Debug)]
pub(crate) struct Checker {
    pub(crate) schema: Json,
    validator: jsonschema::Validator,
    /// Every name that the schema declares somewhere.
    declared: BTreeSet<String>,
}

impl Checker {
    pub(crate) fn new(schema: Json) -> Result<Self, Error> {
        let validator = compile(&schema)
            .map_err(|e| Error::new(ErrorKind::InvalidFile, format!("input.schema does not compile: {e}")))?;
        let mut declared = BTreeSet::new();
        declared_names(&schema, &mut declared);
        Ok(Self { schema, validator, declared })
    }

    /// Refuses text from outside where the prompt declares its input trusted.
    pub(crate) fn trust(inputs: &Inputs, declared: &[(String, InputTrust)]) -> Result<(), Error> {
        let problems: Vec<String> = inputs
            .iter()
            .filter(|(name, value)| {
                value.has_outside() && declared.iter().any(|(n, t)| n == *name && *t == InputTrust::Trusted)
            })
            .map(|(name, _)| format!("trust_violation: input `{name}` is declared trusted but contains untrusted text"))
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(Error::all(ErrorKind::TrustViolation, problems)) }
    }

    /// Checks the inputs as they are; every problem with its path.
    ///
    /// A message holds names that the schema declares and names of whole inputs, never a value
    /// and never a key that may be from outside.
    pub(crate) fn check(&self, inputs: &Inputs, defaults: Option<&OrderedJson>) -> Result<(), Error> {
        let mut all = match defaults.map(OrderedJson::to_json) {
            Some(Json::Object(all)) => all,
            _ => Map::new(),
        };
        all.extend(inputs.iter().map(|(name, value)| (name.clone(), value.exact())));
        let json = Json::Object(all);
        let mut problems = BTreeSet::new();
        let mut more = 0usize;
        for error in self.validator.iter_errors(&json) {
            let problem = format!("{}: {}", self.place(&error), self.describe(&error));
            if problems.len() < MAX_LISTED {
                problems.insert(problem);
            } else if !problems.contains(&problem) {
                more = more.saturating_add(1);
            }
        }
        let mut problems: Vec<String> = problems.into_iter().collect();
        if more > 0 {
            problems.push(format!("and {more} more problems of this kind"));
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::all(ErrorKind::InvalidInput, problems)) }
    }

    /// Where a problem is, `*` standing for a key that the schema doesn't name.
    fn place(&self, error: &jsonschema::ValidationError<'_>) -> String {
        let mut place = String::from("input");
        for segment in error.instance_path() {
            place.push('/');
            match segment {
                LocationSegment::Property(name) if self.declared.contains(name.as_ref()) => place.push_str(&name),
                LocationSegment::Property(_) => place.push('*'),
                LocationSegment::Index(index) => place.push_str(&index.to_string()),
            }
        }
        place
    }

    /// The problem without the value, which may be from outside or long.
    fn describe(&self, error: &jsonschema::ValidationError<'_>) -> String {
        match error.kind() {
            Kind::Required { property } => format!("`{}` is missing", property.as_str().unwrap_or_default()),
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                // Whole inputs are named by code; any other key may be from outside.
                if !error.instance_path().is_empty() {
                    return format!("{} names that the schema does not declare", unexpected.len());
                }
                let names: Vec<String> = unexpected.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
                let properties = self.schema.get("properties").and_then(Json::as_object);
                let known: Vec<&str> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                let known = if known.is_empty() { "no inputs".to_owned() } else { known.join(", ") };
                format!("{} not declared; the prompt takes {known}", names.join(", "))
            }
            Kind::PropertyNames { .. } => "it contains a name that is not allowed".into(),
            Kind::FromUtf8 { .. } | Kind::Custom { .. } | Kind::BacktrackLimitExceeded { .. } => {
                format!("the value does not match `{}`", error.kind().keyword())
            }
            _ => error.masked_with("the value").to_string(),
        }
    }
}

/// Gives every declared optional value that is missing an explicit nothing, so that rendering
/// can tell a missing name from a missing value.
pub(crate) fn complete(value: &mut OrderedJson, schema: &Json) {
    match value {
        OrderedJson::Map(fields) => complete_fields(Arc::make_mut(fields), schema),
        OrderedJson::List(items) => {
            if let Some(schema) = schema.get("items") {
                Arc::make_mut(items).iter_mut().for_each(|item| complete(item, schema));
            }
        }
        _ => {}
    }
}

fn complete_fields(fields: &mut OrderedMap<OrderedJson>, schema: &Json) {
    let declared = schema.get("properties").and_then(Json::as_object);
    for (name, property) in declared.into_iter().flatten() {
        if fields.get(name).is_none() {
            fields.insert(name.as_str(), OrderedJson::Null);
        }
        let Some(value) = fields.get_mut(name) else { continue };
        if *value == OrderedJson::Null && schema::kind(property) == schema::ValueKind::List {
            *value = OrderedJson::List(Arc::default());
        }
        complete(value, property);
    }
    if let Some(additional @ Json::Object(_)) = schema.get("additionalProperties") {
        for (name, value) in fields.iter_mut() {
            if declared.is_none_or(|declared| !declared.contains_key(name)) {
                complete(value, additional);
            }
        }
    }
}
