//! Finds what has no end in a schema.
//!
//! A value is bounded by everything that applies to it together: a maximum may be beside the type, behind a `$ref`, in
//! a member of `allOf`, or in each branch of a union. So this follows the value's places rather than the schema's, and
//! looks at every combination of branches.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::schema::{escape_pointer_segment, subschemas};

/// The only dialect that is read.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Formats whose texts are short because the format says so, checked as such.
const SHORT_FORMATS: [&str; 6] = ["date", "date-time", "ipv4", "ipv6", "time", "uuid"];

/// How deep schemas may be inside each other, references included.
const MAX_DEPTH: usize = 128;

/// How many combinations of branches are looked at together. Beyond that each union is looked at by itself, which finds
/// more.
const MAX_COMBINATIONS: usize = 256;

/// How many places of a value are looked at.
const MAX_PLACES: usize = 20_000;

/// The maxima that are filled in: characters of a text, items of a list, entries and characters
/// of the names of a map.
const FILLED: Filled = Filled { text: 10_000, items: 1_000, entries: 1_000, name: 200 };

struct Filled {
    text: u32,
    items: u32,
    entries: u32,
    name: u32,
}

/// A defect at a place of a schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SchemaDefect {
    /// A JSON pointer into the schema.
    pub(super) pointer: String,
    pub(super) lack: SchemaDefectKind,
}

/// The kind of a missing limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SchemaDefectKind {
    Dialect,
    Id,
    Reference,
    Target,
    Recursion,
    Depth,
    Places,
    Root,
    Type,
    Items,
    MaxLength,
    MaxItems,
    MaxProperties,
    NameLength,
}

impl SchemaDefect {
    /// Whether the schema can't even be followed.
    pub(super) const fn is_broken(&self) -> bool {
        matches!(
            self.lack,
            SchemaDefectKind::Dialect
                | SchemaDefectKind::Id
                | SchemaDefectKind::Reference
                | SchemaDefectKind::Target
                | SchemaDefectKind::Recursion
                | SchemaDefectKind::Depth
        )
    }

    /// The problem with its remedy.
    pub(super) fn words(&self) -> String {
        let what = match self.lack {
            SchemaDefectKind::Dialect => format!("is another dialect; write the schema for `{DIALECT}`"),
            SchemaDefectKind::Id => "changes what references resolve to; remove `$id` below the root".into(),
            SchemaDefectKind::Reference => "refers to something outside this schema; write `#/$defs/…`".into(),
            SchemaDefectKind::Target => "refers to a definition that is missing; add it under `$defs`".into(),
            SchemaDefectKind::Recursion => {
                "is recursive, so its values have no maximum depth; write out a fixed number of levels".into()
            }
            SchemaDefectKind::Depth => format!("is nested more than {MAX_DEPTH} levels deep; flatten the schema"),
            SchemaDefectKind::Places => {
                format!("has more than {MAX_PLACES} places to check; split alternatives into separate schemas")
            }
            SchemaDefectKind::Root => {
                "can be something other than an object; wrap the value: `{\"type\": \"object\", \"properties\": \
                 {\"value\": …}}`"
                    .into()
            }
            SchemaDefectKind::Type => "allows any type of value; add `type`".into(),
            SchemaDefectKind::Items => "is a list of anything; add `items`".into(),
            SchemaDefectKind::MaxLength => "is a string without a maximum length; add `maxLength`".into(),
            SchemaDefectKind::MaxItems => "is a list without a maximum length; add `maxItems`".into(),
            SchemaDefectKind::MaxProperties => "is a map without a maximum; add `maxProperties`".into(),
            SchemaDefectKind::NameLength => {
                "is a map whose names have no maximum; add `propertyNames` with `maxLength`".into()
            }
        };
        match self.pointer.as_str() {
            "" => format!("the root {what}"),
            pointer => format!("`{pointer}` {what}"),
        }
    }
}

/// Everything in `schema` that has no end, sorted by place.
pub(super) fn endless_parts(schema: &Json) -> Vec<SchemaDefect> {
    let mut shape = ReferenceCheck { root: schema, path: Vec::new(), done: BTreeSet::new(), found: BTreeSet::new() };
    shape.walk(String::new(), schema);
    if !shape.found.is_empty() {
        // Places can't be followed through a schema that doesn't hold together.
        return shape.found.into_iter().collect();
    }
    let mut finder = BoundSearch { root: schema, seen: BTreeSet::new(), found: BTreeSet::new() };
    finder.location(vec![Subschema { pointer: String::new(), schema }], ValuePosition::Root);
    finder.found.into_iter().collect()
}

/// Puts a maximum wherever one is missing. The pointers of those put there.
pub(super) fn fill_maxima(schema: &mut Json) -> Vec<String> {
    let mut filled = Vec::new();
    for SchemaDefect { pointer, lack } in endless_parts(schema) {
        let (keyword, maximum) = match lack {
            SchemaDefectKind::MaxLength => ("maxLength", FILLED.text),
            SchemaDefectKind::MaxItems => ("maxItems", FILLED.items),
            SchemaDefectKind::MaxProperties => ("maxProperties", FILLED.entries),
            SchemaDefectKind::NameLength => ("propertyNames", FILLED.name),
            _ => continue,
        };
        let Some(Json::Object(map)) = schema.pointer_mut(&pointer) else { continue };
        if lack == SchemaDefectKind::NameLength {
            match map.entry(keyword).or_insert_with(|| json!({})) {
                Json::Object(names) => _ = names.insert("maxLength".into(), json!(maximum)),
                other => *other = json!({ "maxLength": maximum }),
            }
            filled.push(format!("{pointer}/{keyword}/maxLength"));
        } else {
            map.insert(keyword.into(), json!(maximum));
            filled.push(format!("{pointer}/{keyword}"));
        }
    }
    filled
}

/// The schema at the place that a `$ref` names, with its pointer.
fn reference_target<'s>(root: &'s Json, reference: &str) -> Option<(String, &'s Json)> {
    let pointer = reference.strip_prefix('#')?;
    // A fragment may be percent-encoded. None of the names that need it is worth the reading.
    (pointer.is_empty() || pointer.starts_with('/')).then_some(())?;
    Some((pointer.to_owned(), root.pointer(pointer)?))
}

/// Whether the schema holds together: references, depth, recursion.
struct ReferenceCheck<'s> {
    root: &'s Json,
    /// The places that lead here.
    path: Vec<String>,
    done: BTreeSet<String>,
    found: BTreeSet<SchemaDefect>,
}

impl<'s> ReferenceCheck<'s> {
    fn say(&mut self, pointer: String, lack: SchemaDefectKind) {
        self.found.insert(SchemaDefect { pointer, lack });
    }

    fn walk(&mut self, pointer: String, schema: &'s Json) {
        if self.path.contains(&pointer) {
            return self.say(pointer, SchemaDefectKind::Recursion);
        }
        if self.path.len() >= MAX_DEPTH {
            return self.say(pointer, SchemaDefectKind::Depth);
        }
        if !self.done.insert(pointer.clone()) {
            return;
        }
        let text = |keyword: &str| schema.get(keyword).and_then(Json::as_str);
        if text("$schema").is_some_and(|dialect| dialect.trim_end_matches('#') != DIALECT) {
            self.say(format!("{pointer}/$schema"), SchemaDefectKind::Dialect);
        }
        if !pointer.is_empty() && schema.get("$id").is_some() {
            self.say(format!("{pointer}/$id"), SchemaDefectKind::Id);
        }
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if schema.get(keyword).is_some() {
                self.say(format!("{pointer}/{keyword}"), SchemaDefectKind::Reference);
            }
        }
        self.path.push(pointer.clone());
        if let Some(reference) = text("$ref") {
            match (reference_target(self.root, reference), reference.starts_with("#/") || reference == "#") {
                (Some((to, schema)), true) => self.walk(to, schema),
                (None, true) => self.say(format!("{pointer}/$ref"), SchemaDefectKind::Target),
                (_, false) => self.say(format!("{pointer}/$ref"), SchemaDefectKind::Reference),
            }
        }
        for (suffix, inner) in subschemas(schema) {
            self.walk(format!("{pointer}{suffix}"), inner);
        }
        self.path.pop();
    }
}

/// A schema that applies to a value.
#[derive(Debug, Clone)]
struct Subschema<'s> {
    pointer: String,
    schema: &'s Json,
}

impl<'s> Subschema<'s> {
    fn get(&self, keyword: &str) -> Option<&'s Json> {
        self.schema.get(keyword)
    }

    fn inner(&self, keyword: &str) -> Option<Self> {
        let schema = self.get(keyword)?;
        Some(Self { pointer: format!("{}/{keyword}", self.pointer), schema })
    }

    /// The schemas under a keyword that holds a list or map of them.
    fn several(&self, keyword: &str) -> Vec<Self> {
        let place = |name: String, schema| Self { pointer: format!("{}/{keyword}/{name}", self.pointer), schema };
        match self.get(keyword) {
            Some(Json::Array(items)) => items.iter().enumerate().map(|(n, item)| place(n.to_string(), item)).collect(),
            Some(Json::Object(map)) => {
                map.iter().map(|(name, item)| place(escape_pointer_segment(name), item)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Branches of which one applies.
type Branches<'s> = Vec<Subschema<'s>>;

/// Whether a value is the whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValuePosition {
    Root,
    Inside,
}

static ANYTHING: Json = Json::Bool(true);

struct BoundSearch<'s> {
    root: &'s Json,
    seen: BTreeSet<Vec<String>>,
    found: BTreeSet<SchemaDefect>,
}

impl<'s> BoundSearch<'s> {
    fn say(&mut self, place: &Subschema<'_>, lack: SchemaDefectKind) {
        self.found.insert(SchemaDefect { pointer: place.pointer.clone(), lack });
    }

    /// Looks at a value to which all of `places` apply.
    fn location(&mut self, places: Vec<Subschema<'s>>, standing: ValuePosition) {
        let Some(base) = places.first().cloned() else { return };
        let mut key: Vec<String> = places.iter().map(|place| place.pointer.clone()).collect();
        key.sort();
        if !self.seen.insert(key) {
            return;
        }
        if self.seen.len() > MAX_PLACES {
            let root = Subschema { pointer: String::new(), schema: self.root };
            return self.say(&root, SchemaDefectKind::Places);
        }
        let (flat, unions) = self.flatten(places);
        self.combine(&base, &flat, unions, standing);
    }

    /// Everything that applies for certain, and the unions.
    fn flatten(&self, places: Vec<Subschema<'s>>) -> (Vec<Subschema<'s>>, Vec<Branches<'s>>) {
        let (mut flat, mut unions) = (Vec::<Subschema<'s>>::new(), Vec::new());
        let mut wanted: Vec<Subschema<'s>> = places.into_iter().rev().collect();
        while let Some(place) = wanted.pop() {
            if flat.iter().any(|known| known.pointer == place.pointer) {
                continue;
            }
            if let Some((pointer, schema)) =
                place.get("$ref").and_then(Json::as_str).and_then(|r| reference_target(self.root, r))
            {
                wanted.push(Subschema { pointer, schema });
            }
            wanted.extend(place.several("allOf"));
            unions.extend(["anyOf", "oneOf"].iter().map(|keyword| place.several(keyword)).filter(|u| !u.is_empty()));
            let otherwise = || Subschema { pointer: String::new(), schema: &ANYTHING };
            if place.get("if").is_some() {
                unions.push(["then", "else"].map(|keyword| place.inner(keyword).unwrap_or_else(otherwise)).into());
            }
            unions.extend(place.several("dependentSchemas").into_iter().map(|schema| vec![schema, otherwise()]));
            if *place.schema != ANYTHING {
                flat.push(place);
            }
        }
        (flat, unions)
    }

    fn combine(
        &mut self,
        base: &Subschema<'s>,
        flat: &[Subschema<'s>],
        mut unions: Vec<Branches<'s>>,
        standing: ValuePosition,
    ) {
        let combinations = unions.iter().fold(1usize, |product, union| product.saturating_mul(union.len()));
        if unions.len() > 1 && combinations > MAX_COMBINATIONS {
            for union in unions {
                self.combine(base, flat, vec![union], standing);
            }
            return;
        }
        let Some(union) = unions.pop() else { return self.leaf(base, flat, standing) };
        for branch in union {
            let (more, inner) = self.flatten(vec![branch]);
            let rest = unions.iter().cloned().chain(inner).collect();
            let flat: Vec<Subschema<'s>> = flat.iter().cloned().chain(more).collect();
            self.combine(base, &flat, rest, standing);
        }
    }

    /// Looks at a value to which all of `flat` apply and nothing else.
    fn leaf(&mut self, base: &Subschema<'s>, flat: &[Subschema<'s>], standing: ValuePosition) {
        if flat.iter().any(|place| *place.schema == Json::Bool(false)) {
            return;
        }
        if let Some(values) = flat.iter().find_map(listed_subschema_values) {
            if standing == ValuePosition::Root && !values.iter().all(|value| value.is_object()) {
                self.say(base, SchemaDefectKind::Root);
            }
            return;
        }
        let types = types(flat);
        if types.is_empty() {
            return;
        }
        if standing == ValuePosition::Root && types != BTreeSet::from(["object"]) {
            return self.say(base, SchemaDefectKind::Root);
        }
        if types.len() == KINDS.len() {
            return self.say(base, SchemaDefectKind::Type);
        }
        let stating = |kind: &str| flat.iter().find(|place| own_types(place).is_some_and(|own| own.contains(kind)));
        if types.contains("string") && !flat.iter().any(|place| ends_text(place)) {
            self.say(stating("string").unwrap_or(base), SchemaDefectKind::MaxLength);
        }
        if types.contains("array") {
            self.list(stating("array").unwrap_or(base), flat);
        }
        if types.contains("object") {
            self.object(flat);
        }
    }

    fn list(&mut self, base: &Subschema<'s>, flat: &[Subschema<'s>]) {
        let prefix = |place: &Subschema<'s>| place.several("prefixItems");
        let is_false = |place: &Subschema<'s>, keyword: &str| place.get(keyword) == Some(&Json::Bool(false));
        let closed = flat.iter().any(|place| {
            is_false(place, "items") || (!prefix(place).is_empty() && is_false(place, "unevaluatedItems"))
        });
        if !closed && !flat.iter().any(|place| place.get("maxItems").is_some()) {
            self.say(base, SchemaDefectKind::MaxItems);
        }
        let length = flat.iter().map(|place| prefix(place).len()).max().unwrap_or(0);
        for index in 0..length {
            let item = |place: &Subschema<'s>| prefix(place).into_iter().nth(index).or_else(|| place.inner("items"));
            self.location(flat.iter().filter_map(item).collect(), ValuePosition::Inside);
        }
        let rest: Vec<Subschema<'s>> =
            flat.iter().filter_map(|place| place.inner("items").or_else(|| place.inner("unevaluatedItems"))).collect();
        match (closed, rest.is_empty()) {
            (true, _) => {}
            (false, true) => self.say(base, SchemaDefectKind::Items),
            (false, false) => self.location(rest, ValuePosition::Inside),
        }
    }

    fn object(&mut self, flat: &[Subschema<'s>]) {
        let names: BTreeSet<&String> = flat
            .iter()
            .filter_map(|place| place.get("properties").and_then(Json::as_object))
            .flat_map(serde_json::Map::keys)
            .collect();
        for name in names {
            let schemas = flat.iter().filter_map(|place| {
                let declared = place.get("properties").and_then(|properties| properties.get(name));
                match declared {
                    Some(schema) => Some(Subschema {
                        pointer: format!("{}/properties/{}", place.pointer, escape_pointer_segment(name)),
                        schema,
                    }),
                    // Whether a pattern takes the name is not asked: then its maximum doesn't count.
                    None if place.get("patternProperties").is_some() => None,
                    None => place.inner("additionalProperties").filter(|others| *others.schema != ANYTHING),
                }
            });
            self.location(schemas.collect(), ValuePosition::Inside);
        }
        self.map(flat);
    }

    /// Names that the schema doesn't list but says what is under them.
    fn map(&mut self, flat: &[Subschema<'s>]) {
        let others = |place: &Subschema<'s>| {
            place.inner("additionalProperties").or_else(|| place.inner("unevaluatedProperties"))
        };
        let others: Vec<Subschema<'s>> = flat.iter().filter_map(others).collect();
        let closed = others.iter().any(|place| *place.schema == Json::Bool(false));
        let patterns: Vec<(&Subschema<'s>, Subschema<'s>)> = flat
            .iter()
            .flat_map(|place| place.several("patternProperties").into_iter().map(move |inner| (place, inner)))
            .filter(|(_, inner)| *inner.schema != Json::Bool(false))
            .collect();
        let open = |place: &&Subschema<'s>| {
            ["additionalProperties", "unevaluatedProperties"].iter().any(|k| place.get(k).is_some())
        };
        let stating = match patterns.first() {
            Some((place, _)) => Some(*place),
            None if closed => None,
            None => flat.iter().find(open),
        };
        if let Some(place) = stating {
            if !flat.iter().any(|place| place.get("maxProperties").is_some()) {
                self.say(place, SchemaDefectKind::MaxProperties);
            }
            let names = |place: &Subschema<'s>| {
                place
                    .inner("propertyNames")
                    .is_some_and(|names| ends_text(&names) || listed_subschema_values(&names).is_some())
            };
            if !flat.iter().any(names) {
                self.say(place, SchemaDefectKind::NameLength);
            }
        }
        for (_, inner) in patterns {
            self.location(vec![inner], ValuePosition::Inside);
        }
        if !closed {
            self.location(others, ValuePosition::Inside);
        }
    }
}

const KINDS: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The values that a schema lists.
fn listed_subschema_values<'s>(place: &Subschema<'s>) -> Option<Vec<&'s Json>> {
    match (place.get("const"), place.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Json::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

/// The kinds that a schema itself allows. `None` if it says nothing.
fn own_types<'s>(place: &Subschema<'s>) -> Option<BTreeSet<&'s str>> {
    let mut types: BTreeSet<&str> = match place.get("type")? {
        Json::String(kind) => [kind.as_str()].into(),
        Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => return None,
    };
    if types.contains("number") {
        types.insert("integer");
    }
    Some(types)
}

/// The kinds that all of them allow.
fn types<'s>(flat: &[Subschema<'s>]) -> BTreeSet<&'s str> {
    flat.iter().filter_map(own_types).fold(KINDS.into(), |types, own| types.intersection(&own).copied().collect())
}

fn ends_text(place: &Subschema<'_>) -> bool {
    let format = place.get("format").and_then(Json::as_str);
    place.get("maxLength").is_some() || format.is_some_and(|format| SHORT_FORMATS.contains(&format))
}

/// The schema as it is checked: moments may have any number of digits after the second, so that
/// they get the maximum that their format doesn't state.
pub(super) fn schema_as_checked(schema: &Json) -> Json {
    /// Nanoseconds and an offset need 35 characters.
    const MOMENT: u32 = 40;
    let mut pointers = Vec::new();
    find_moments(String::new(), schema, &mut pointers);
    let mut checked = schema.clone();
    for pointer in pointers {
        if let Some(Json::Object(map)) = checked.pointer_mut(&pointer) {
            map.insert("maxLength".into(), json!(MOMENT));
        }
    }
    checked
}

fn find_moments(pointer: String, schema: &Json, pointers: &mut Vec<String>) {
    for (suffix, inner) in subschemas(schema) {
        find_moments(format!("{pointer}{suffix}"), inner, pointers);
    }
    let format = schema.get("format").and_then(Json::as_str);
    if matches!(format, Some("date-time" | "time")) && schema.get("maxLength").is_none() {
        pointers.push(pointer);
    }
}
