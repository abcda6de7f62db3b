//! The inputs of a prompt: trees of values whose texts are ours or from outside.
//!
//! Invariant: text from outside never enters a template's evaluation. `Slots` puts a mark in its
//! place, and only [`proem_guard::contain()`] puts the text where the mark is.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::paths::LocationSegment;
use proem_guard::contain::ContainmentMode;
use proem_guard::{LabelTree, TreeName, Untrusted, show};
use proem_text::{Label, OrderedMap, Source};
use serde_json::{Map, Value as Json};

use crate::error::{Error, ErrorKind};
use crate::history;
use crate::ordered_json::OrderedJson;
use crate::schema::{self, compile_schema, declared_names, property_names};

/// Whether an input's text is ours or from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputTrust {
    /// Computed by code, or typed or approved by a person.
    Trusted,
    /// Everything else.
    Untrusted,
}

/// Whether a prompt's declarations of trust hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeclaredTrust {
    /// Text from outside in an input that is declared trusted is refused.
    #[default]
    Holds,
    /// The caller says that somebody else wrote the inputs: text from outside is contained wherever a user message
    /// prints it.
    Overridden,
}

impl From<&OrderedJson> for LabelTree {
    /// JSON that code computed, or that a person typed or approved, its objects in their order.
    fn from(value: &OrderedJson) -> Self {
        match value {
            OrderedJson::Null => Self::Null,
            OrderedJson::Bool(value) => Self::Bool(*value),
            OrderedJson::Number(number) => Self::Number(number.clone()),
            OrderedJson::Text(text) => Self::Text(text.as_ref().to_owned()),
            OrderedJson::List(items) => Self::list(items.iter()),
            OrderedJson::Map(fields) => Self::map(fields.iter().map(|(name, item)| (name, Self::from(item)))),
        }
    }
}

/// Hands on every text and name that a template may see as it is.
fn each_text(value: &LabelTree, see: &mut dyn FnMut(&str)) {
    match value {
        LabelTree::Text(text) => see(text),
        LabelTree::List(items) => items.iter().for_each(|item| each_text(item, see)),
        LabelTree::Map(map) => {
            for (name, item) in map.iter() {
                see(&template_name(name));
                each_text(item, see);
            }
        }
        _ => {}
    }
}

/// A name as templates find values by it. One from outside can't be rendered: the analysis refuses `@key` of what the
/// schema doesn't declare, and [`Checker::trust`] such names where a prompt trusts its input.
fn template_name(name: TreeName<'_>) -> Cow<'_, str> {
    match name {
        TreeName::Ours(name) => Cow::Borrowed(name),
        TreeName::Outside(name) => Cow::Owned(show::exact_json(&name).as_str().unwrap_or_default().to_owned()),
    }
}

/// All inputs by name.
pub type Inputs = BTreeMap<String, LabelTree>;

impl RenderPiece<'_> {
    /// The piece, its text from outside as it was written unless it has to be kept apart more strongly.
    pub(crate) fn kept_exact(self) -> Self {
        match self {
            Self::Outside(text, ContainmentMode::Delimit) => Self::Outside(text, ContainmentMode::Exact),
            other => other,
        }
    }
}

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
        texts.extend(inputs.keys().map(String::as_str));
        if let Some(defaults) = defaults {
            collect_ordered(defaults, &mut texts);
        }
        let mark = unused_character(|see| {
            texts.iter().for_each(|text| see(text));
            inputs.values().for_each(|value| each_text(value, see));
        });
        let Some(mark) = mark else {
            let problem = "the inputs use every private-use character of Unicode planes 15 and 16, so none is left to \
                           mark untrusted text; remove some";
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        };
        Ok(Self { mark, texts: Vec::new() })
    }

    /// The value that a template sees: texts from outside replaced by marks.
    pub(crate) fn fill(&mut self, name: &str, value: &LabelTree, trust: InputTrust) -> OrderedJson {
        match (value, trust) {
            (LabelTree::Null, _) => OrderedJson::Null,
            (LabelTree::Bool(value), _) => OrderedJson::Bool(*value),
            (LabelTree::Number(number), _) => OrderedJson::Number(number.clone()),
            (LabelTree::Scalar(_), _) => OrderedJson::from(show::tree_json(value)),
            (LabelTree::Text(text), InputTrust::Trusted) => OrderedJson::from(text.as_str()),
            (LabelTree::Text(text), InputTrust::Untrusted) => self.mark(
                Untrusted::new(text.clone(), Label::from_source(unlabelled_input_source(name))),
                ContainmentMode::Delimit,
            ),
            (LabelTree::Outside(text), _) => self.mark(text.clone(), ContainmentMode::Delimit),
            (LabelTree::Flagged(text), _) => self.mark(text.clone(), ContainmentMode::Datamark),
            (LabelTree::List(items), _) => {
                OrderedJson::List(Arc::new(items.iter().map(|item| self.fill(name, item, trust)).collect()))
            }
            (LabelTree::Map(map), _) => {
                let fields = map.iter().map(|(key, item)| (template_name(key), self.fill(name, item, trust)));
                fields.collect::<OrderedMap<_>>().into()
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

    /// Whether a text from outside is in rendered text.
    pub(crate) fn stand_in(&self, rendered: &str) -> bool {
        rendered.contains(self.mark)
    }
}

/// A noncharacter, else a private character, that occurs in none of the texts. They are gone through once, or twice if
/// the first choice occurs in one.
pub(crate) fn unused_character(each_text: impl Fn(&mut dyn FnMut(&str))) -> Option<char> {
    const FIRST: char = '\u{fdd0}';
    let mut is_used = false;
    each_text(&mut |text| is_used = is_used || text.contains(FIRST));
    if !is_used {
        return Some(FIRST);
    }
    let mut used = BTreeSet::new();
    each_text(&mut |text| used.extend(text.chars().filter(|c| *c >= FIRST)));
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
fn unlabelled_input_source(name: &str) -> Source {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    Source::parse(&format!("input/{name}")).unwrap_or(Source::named("input"))
}

/// How many problems with inputs are listed one by one.
const MAX_LISTED: usize = 50;

/// The check that inputs must pass.
#[derive(Debug)]
pub(crate) struct Checker {
    pub(crate) schema: Json,
    validator: jsonschema::Validator,
    /// Every name that the schema declares somewhere.
    declared: BTreeSet<String>,
}

impl Checker {
    /// A schema, and whether the turns of a history may come beside what it declares.
    pub(crate) fn new(schema: Json, takes_history: bool) -> Result<Self, Error> {
        let mut whole = schema.clone();
        let fields = whole.as_object_mut().filter(|_| takes_history);
        let properties = fields.map(|fields| fields.entry("properties").or_insert_with(|| Map::new().into()));
        if let Some(Json::Object(properties)) = properties {
            properties.insert(history::INPUT.to_owned(), history::schema());
        }
        let validator = compile_schema(&whole)
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
                // The turns of a history that nobody vouches for are contained one by one.
                value.has_outside()
                    && *name != history::INPUT
                    && declared.iter().any(|(n, t)| n == *name && *t == InputTrust::Trusted)
            })
            .map(|(name, _)| format!("trust_violation: input `{name}` is declared trusted but contains untrusted text"))
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(Error::all(ErrorKind::TrustViolation, problems)) }
    }

    /// Checks the inputs as they are. Every problem with its path.
    ///
    /// A message holds names that the schema declares and names of whole inputs, never a value
    /// and never a key that may be from outside.
    pub(crate) fn check(&self, inputs: &Inputs, defaults: Option<&OrderedJson>) -> Result<(), Error> {
        let mut all = match defaults.map(OrderedJson::to_json) {
            Some(Json::Object(all)) => all,
            _ => Map::new(),
        };
        all.extend(inputs.iter().map(|(name, value)| (name.clone(), show::tree_json(value))));
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

    /// The place of a problem. `*` is a key that the schema doesn't name.
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
                // Whole inputs are named by code. Any other key may be from outside.
                if !error.instance_path().is_empty() {
                    return format!("{} names that the schema does not declare", unexpected.len());
                }
                let names: Vec<String> = unexpected.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
                let known = self.schema.as_object().map(property_names).unwrap_or_default();
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
        if *value == OrderedJson::Null && schema::kind_of_schema(property) == schema::ValueKind::List {
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
