//! Finds what has no end in a schema.
//!
//! A value is bounded by everything that applies to it together: a maximum may stand beside the
//! type, behind a `$ref`, in a member of `allOf`, or in each branch of a union. So this follows
//! the value's places rather than the schema's, and looks at every combination of branches.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::schema::{escape, subschemas};

/// The only dialect that is read.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Formats whose texts are short because the format says so, checked as such.
const SHORT_FORMATS: [&str; 6] = ["date", "date-time", "ipv4", "ipv6", "time", "uuid"];

/// How deep schemas may stand inside each other, references included.
const MAX_DEPTH: usize = 128;

/// How many combinations of branches are looked at together; beyond that each union is looked at
/// by itself, which finds more.
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

/// What is wrong at a place of a schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Endless {
    /// A JSON pointer into the schema.
    pub(super) pointer: String,
    pub(super) lack: Lack,
}

/// What is missing there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lack {
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

impl Endless {
    /// Whether the schema can't even be followed.
    pub(super) const fn is_broken(&self) -> bool {
        matches!(self.lack, Lack::Dialect | Lack::Id | Lack::Reference | Lack::Target | Lack::Recursion | Lack::Depth)
    }

    /// The problem with its remedy.
    pub(super) fn words(&self) -> String {
        let what = match self.lack {
            Lack::Dialect => format!("is another dialect; write the schema for `{DIALECT}`"),
            Lack::Id => "changes what references resolve to; remove `$id` below the root".into(),
            Lack::Reference => "refers to something outside this schema; write `#/$defs/…`".into(),
            Lack::Target => "refers to a definition that is missing; add it under `$defs`".into(),
            Lack::Recursion => {
                "is recursive, so its values have no maximum depth; write out a fixed number of levels".into()
            }
            Lack::Depth => format!("is nested more than {MAX_DEPTH} levels deep; flatten the schema"),
            Lack::Places => {
                format!("has more than {MAX_PLACES} places to check; split alternatives into separate schemas")
            }
            Lack::Root => {
                "can be something other than an object; wrap the value: `{\"type\": \"object\", \"properties\": \
                 {\"value\": …}}`"
                    .into()
            }
            Lack::Type => "allows any type of value; add `type`".into(),
            Lack::Items => "is a list of anything; add `items`".into(),
            Lack::MaxLength => "is a string without a maximum length; add `maxLength`".into(),
            Lack::MaxItems => "is a list without a maximum length; add `maxItems`".into(),
            Lack::MaxProperties => "is a map without a maximum; add `maxProperties`".into(),
            Lack::NameLength => "is a map whose names have no maximum; add `propertyNames` with `maxLength`".into(),
        };
        match self.pointer.as_str() {
            "" => format!("the root {what}"),
            pointer => format!("`{pointer}` {what}"),
        }
    }
}

/// Everything in `schema` that has no end, sorted by place.
pub(super) fn endless(schema: &Json) -> Vec<Endless> {
    let mut shape = Shape { root: schema, path: Vec::new(), done: BTreeSet::new(), found: BTreeSet::new() };
    shape.walk(String::new(), schema);
    if !shape.found.is_empty() {
        // Places can't be followed through a schema that doesn't hold together.
        return shape.found.into_iter().collect();
    }
    let mut finder = Finder { root: schema, seen: BTreeSet::new(), found: BTreeSet::new() };
    finder.location(vec![Place { pointer: String::new(), schema }], Standing::Root);
    finder.found.into_iter().collect()
}

/// Puts a maximum wherever one is missing; the pointers of those put there.
pub(super) fn fill(schema: &mut Json) -> Vec<String> {
    let mut filled = Vec::new();
    for Endless { pointer, lack } in endless(schema) {
        let (keyword, maximum) = match lack {
            Lack::MaxLength => ("maxLength", FILLED.text),
            Lack::MaxItems => ("maxItems", FILLED.items),
            Lack::MaxProperties => ("maxProperties", FILLED.entries),
            Lack::NameLength => ("propertyNames", FILLED.name),
            _ => continue,
        };
        let Some(Json::Object(map)) = schema.pointer_mut(&pointer) else { continue };
        if lack == Lack::NameLength {
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
fn target<'s>(root: &'s Json, reference: &str) -> Option<(String, &'s Json)> {
    let pointer = reference.strip_prefix('#')?;
    // A fragment may be percent-encoded; none of the names that need it is worth the reading.
    (pointer.is_empty() || pointer.starts_with('/')).then_some(())?;
    Some((pointer.to_owned(), root.pointer(pointer)?))
}

/// Whether the schema holds together: references, depth, recursion.
struct Shape<'s> {
    root: &'s Json,
    /// The places that lead here.
    path: Vec<String>,
    done: BTreeSet<String>,
    found: BTreeSet<Endless>,
}

impl<'s> Shape<'s> {
    fn say(&mut self, pointer: String, lack: Lack) {
        self.found.insert(Endless { pointer, lack });
    }

    fn walk(&mut self, pointer: String, schema: &'s Json) {
        if self.path.contains(&pointer) {
            return self.say(pointer, Lack::Recursion);
        }
        if self.path.len() >= MAX_DEPTH {
            return self.say(pointer, Lack::Depth);
        }
        if !self.done.insert(pointer.clone()) {
            return;
        }
        let text = |keyword: &str| schema.get(keyword).and_then(Json::as_str);
        if text("$schema").is_some_and(|dialect| dialect.trim_end_matches('#') != DIALECT) {
            self.say(format!("{pointer}/$schema"), Lack::Dialect);
        }
        if !pointer.is_empty() && schema.get("$id").is_some() {
            self.say(format!("{pointer}/$id"), Lack::Id);
        }
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if schema.get(keyword).is_some() {
                self.say(format!("{pointer}/{keyword}"), Lack::Reference);
            }
        }
        self.path.push(pointer.clone());
        if let Some(reference) = text("$ref") {
            match (target(self.root, reference), reference.starts_with("#/") || reference == "#") {
                (Some((to, schema)), true) => self.walk(to, schema),
                (None, true) => self.say(format!("{pointer}/$ref"), Lack::Target),
                (_, false) => self.say(format!("{pointer}/$ref"), Lack::Reference),
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
struct Place<'s> {
    pointer: String,
    schema: &'s Json,
}

impl<'s> Place<'s> {
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
            Some(Json::Object(map)) => map.iter().map(|(name, item)| place(escape(name), item)).collect(),
            _ => Vec::new(),
        }
    }
}

/// Branches of which one applies.
type Union<'s> = Vec<Place<'s>>;

/// Whether a value is the whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Root,
    Inside,
}

static ANYTHING: Json = Json::Bool(true);

struct Finder<'s> {
    root: &'s Json,
    seen: BTreeSet<Vec<String>>,
    found: BTreeSet<Endless>,
}

impl<'s> Finder<'s> {
    fn say(&mut self, place: &Place<'_>, lack: Lack) {
        self.found.insert(Endless { pointer: place.pointer.clone(), lack });
    }

    /// Looks at a value to which all of `places` apply.
    fn location(&mut self, places: Vec<Place<'s>>, standing: Standing) {
        let Some(base) = places.first().cloned() else { return };
        let mut key: Vec<String> = places.iter().map(|place| place.pointer.clone()).collect();
        key.sort();
        if !self.seen.insert(key) {
            return;
        }
        if self.seen.len() > MAX_PLACES {
            let root = Place { pointer: String::new(), schema: self.root };
            return self.say(&root, Lack::Places);
        }
        let (flat, unions) = self.flatten(places);
        self.combine(&base, &flat, unions, standing);
    }

    /// Everything that applies for certain, and the unions.
    fn flatten(&self, places: Vec<Place<'s>>) -> (Vec<Place<'s>>, Vec<Union<'s>>) {
        let (mut flat, mut unions) = (Vec::<Place<'s>>::new(), Vec::new());
        let mut wanted: Vec<Place<'s>> = places.into_iter().rev().collect();
        while let Some(place) = wanted.pop() {
            if flat.iter().any(|known| known.pointer == place.pointer) {
                continue;
            }
            if let Some((pointer, schema)) = place.get("$ref").and_then(Json::as_str).and_then(|r| target(self.root, r))
            {
                wanted.push(Place { pointer, schema });
            }
            wanted.extend(place.several("allOf"));
            unions.extend(["anyOf", "oneOf"].iter().map(|keyword| place.several(keyword)).filter(|u| !u.is_empty()));
            let otherwise = || Place { pointer: String::new(), schema: &ANYTHING };
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

    fn combine(&mut self, base: &Place<'s>, flat: &[Place<'s>], mut unions: Vec<Union<'s>>, standing: Standing) {
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
            let flat: Vec<Place<'s>> = flat.iter().cloned().chain(more).collect();
            self.combine(base, &flat, rest, standing);
        }
    }

    /// Looks at a value to which all of `flat` apply and nothing else.
    fn leaf(&mut self, base: &Place<'s>, flat: &[Place<'s>], standing: Standing) {
        if flat.iter().any(|place| *place.schema == Json::Bool(false)) {
            return;
        }
        if let Some(values) = flat.iter().find_map(values) {
            if standing == Standing::Root && !values.iter().all(|value| value.is_object()) {
                self.say(base, Lack::Root);
            }
            return;
        }
        let types = types(flat);
        if types.is_empty() {
            return;
        }
        if standing == Standing::Root && types != BTreeSet::from(["object"]) {
            return self.say(base, Lack::Root);
        }
        if types.len() == KINDS.len() {
            return self.say(base, Lack::Type);
        }
        let stating = |kind: &str| flat.iter().find(|place| own_types(place).is_some_and(|own| own.contains(kind)));
        if types.contains("string") && !flat.iter().any(|place| ends_text(place)) {
            self.say(stating("string").unwrap_or(base), Lack::MaxLength);
        }
        if types.contains("array") {
            self.list(stating("array").unwrap_or(base), flat);
        }
        if types.contains("object") {
            self.object(flat);
        }
    }

    fn list(&mut self, base: &Place<'s>, flat: &[Place<'s>]) {
        let prefix = |place: &Place<'s>| place.several("prefixItems");
        let is_false = |place: &Place<'s>, keyword: &str| place.get(keyword) == Some(&Json::Bool(false));
        let closed = flat.iter().any(|place| {
            is_false(place, "items") || (!prefix(place).is_empty() && is_false(place, "unevaluatedItems"))
        });
        if !closed && !flat.iter().any(|place| place.get("maxItems").is_some()) {
            self.say(base, Lack::MaxItems);
        }
        let length = flat.iter().map(|place| prefix(place).len()).max().unwrap_or(0);
        for index in 0..length {
            let item = |place: &Place<'s>| prefix(place).into_iter().nth(index).or_else(|| place.inner("items"));
            self.location(flat.iter().filter_map(item).collect(), Standing::Inside);
        }
        let rest: Vec<Place<'s>> =
            flat.iter().filter_map(|place| place.inner("items").or_else(|| place.inner("unevaluatedItems"))).collect();
        match (closed, rest.is_empty()) {
            (true, _) => {}
            (false, true) => self.say(base, Lack::Items),
            (false, false) => self.location(rest, Standing::Inside),
        }
    }

    fn object(&mut self, flat: &[Place<'s>]) {
        let names: BTreeSet<&String> = flat
            .iter()
            .filter_map(|place| place.get("properties").and_then(Json::as_object))
            .flat_map(serde_json::Map::keys)
            .collect();
        for name in names {
            let schemas = flat.iter().filter_map(|place| {
                let declared = place.get("properties").and_then(|properties| properties.get(name));
                match declared {
                    Some(schema) => {
                        Some(Place { pointer: format!("{}/properties/{}", place.pointer, escape(name)), schema })
                    }
                    // Whether a pattern takes the name is not asked: then its maximum doesn't count.
                    None if place.get("patternProperties").is_some() => None,
                    None => place.inner("additionalProperties").filter(|others| *others.schema != ANYTHING),
                }
            });
            self.location(schemas.collect(), Standing::Inside);
        }
        self.map(flat);
    }

    /// Names that the schema doesn't list but says what stands under them.
    fn map(&mut self, flat: &[Place<'s>]) {
        let others =
            |place: &Place<'s>| place.inner("additionalProperties").or_else(|| place.inner("unevaluatedProperties"));
        let others: Vec<Place<'s>> = flat.iter().filter_map(others).collect();
        let closed = others.iter().any(|place| *place.schema == Json::Bool(false));
        let patterns: Vec<(&Place<'s>, Place<'s>)> = flat
            .iter()
            .flat_map(|place| place.several("patternProperties").into_iter().map(move |inner| (place, inner)))
            .filter(|(_, inner)| *inner.schema != Json::Bool(false))
            .collect();
        let open = |place: &&Place<'s>| {
            ["additionalProperties", "unevaluatedProperties"].iter().any(|k| place.get(k).is_some())
        };
        let stating = match patterns.first() {
            Some((place, _)) => Some(*place),
            None if closed => None,
            None => flat.iter().find(open),
        };
        if let Some(place) = stating {
            if !flat.iter().any(|place| place.get("maxProperties").is_some()) {
                self.say(place, Lack::MaxProperties);
            }
            let names = |place: &Place<'s>| {
                place.inner("propertyNames").is_some_and(|names| ends_text(&names) || values(&names).is_some())
            };
            if !flat.iter().any(names) {
                self.say(place, Lack::NameLength);
            }
        }
        for (_, inner) in patterns {
            self.location(vec![inner], Standing::Inside);
        }
        if !closed {
            self.location(others, Standing::Inside);
        }
    }
}

const KINDS: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The values that a schema lists.
fn values<'s>(place: &Place<'s>) -> Option<Vec<&'s Json>> {
    match (place.get("const"), place.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Json::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

/// The kinds that a schema itself allows; `None` if it says nothing.
fn own_types<'s>(place: &Place<'s>) -> Option<BTreeSet<&'s str>> {
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
fn types<'s>(flat: &[Place<'s>]) -> BTreeSet<&'s str> {
    flat.iter().filter_map(own_types).fold(KINDS.into(), |types, own| types.intersection(&own).copied().collect())
}

fn ends_text(place: &Place<'_>) -> bool {
    let format = place.get("format").and_then(Json::as_str);
    place.get("maxLength").is_some() || format.is_some_and(|format| SHORT_FORMATS.contains(&format))
}

/// The schema as it is checked: moments may have any number of digits after the second, so that
/// they get the maximum that their format doesn't state.
pub(super) fn checked(schema: &Json) -> Json {
    /// Nanoseconds and an offset need 35 characters.
    const MOMENT: u32 = 40;
    let mut pointers = Vec::new();
    moments(String::new(), schema, &mut pointers);
    let mut checked = schema.clone();
    for pointer in pointers {
        if let Some(Json::Object(map)) = checked.pointer_mut(&pointer) {
            map.insert("maxLength".into(), json!(MOMENT));
        }
    }
    checked
}

fn moments(pointer: String, schema: &Json, pointers: &mut Vec<String>) {
    for (suffix, inner) in subschemas(schema) {
        moments(format!("{pointer}{suffix}"), inner, pointers);
    }
    let format = schema.get("format").and_then(Json::as_str);
    if matches!(format, Some("date-time" | "time")) && schema.get("maxLength").is_none() {
        pointers.push(pointer);
    }
}
