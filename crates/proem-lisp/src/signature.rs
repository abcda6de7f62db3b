//! Signatures: the types at a program's or tool's border, such as `search(query :string) -> [{title :string}]`.
//!
//! A signature is read from text or from a JSON Schema, has one printed form, checks values and says everything that is
//! wrong at once. JSON Schema can say more than the text: such checks are kept, and listed as missing from the text.
//!
//! Types are entries of one flat table that name each other by number, each behind the type that it is part of. So
//! nothing here calls itself along a signature or a value. Only alternatives inside alternatives do, which are bounded.

mod check;
mod conditions;
mod of_schema;
mod parse;
mod print;
mod to_schema;

pub use check::{Coerced, SignatureProblem};
pub use of_schema::SchemaSignature;
pub use to_schema::BoundedSchema;

use crate::{
    pattern::Regexp,
    resolve::nearest,
    value::{Text, Value},
};
use alloc::{collections::BTreeSet, string::String, sync::Arc, vec::Vec};
use core::cmp::Ordering;

/// The most types in one signature.
const MOST_TYPES: usize = 20_000;

/// The place of a type in its signature's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeId(usize);

/// The values that a place takes.
#[derive(Debug, Clone)]
struct Type {
    shape: Shape,
    /// Whether nil is a value as well.
    is_nullable: bool,
    /// The other conditions, which the text can't express.
    checks: Vec<Check>,
}

/// The kind of a value, with the types of its parts.
#[derive(Debug, Clone)]
enum Shape {
    Any,
    Text,
    Int,
    Float,
    Number,
    Bool,
    Keyword,
    Datetime,
    List(TypeId),
    Record(Record),
    /// One of these keywords and strings.
    Enum(Vec<Value>),
}

/// A map with named fields.
#[derive(Debug, Clone)]
struct Record {
    fields: Vec<Field>,
    /// The fields in the order of their folded names, for finding them.
    order: Vec<usize>,
    rest: Rest,
}

/// A named part of a map, or a parameter.
#[derive(Debug, Clone)]
struct Field {
    name: Text,
    of: TypeId,
    is_required: bool,
}

/// Entries of a map that are no fields.
#[derive(Debug, Clone, Copy)]
enum Rest {
    /// There are none.
    Closed,
    /// They may be anything.
    Open,
    /// They have this type.
    Typed(TypeId),
}

/// A condition that only JSON Schema can state.
#[derive(Debug, Clone)]
enum Check {
    /// A bound, and whether it is itself out of bounds.
    Least(Value, bool),
    Most(Value, bool),
    MultipleOf(i64),
    /// Characters of a string.
    Length {
        least: usize,
        most: usize,
    },
    /// Elements of a list.
    Items {
        least: usize,
        most: usize,
    },
    /// Entries of a map.
    Entries {
        least: usize,
        most: usize,
    },
    /// The most characters of a map's names.
    NameLength(usize),
    Unique,
    Pattern(Arc<Regexp>),
    /// One of these types without parts, in JSON Schema's words.
    Kinds(Vec<&'static str>),
    /// One of these values.
    Members(Vec<Value>),
    /// As many of these types as the words say.
    Alternatives(HowMany, Vec<TypeId>),
}

/// How many alternatives take a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HowMany {
    One,
    Some,
    All,
}

/// Types of what goes in and of what comes out.
#[derive(Debug, Clone)]
pub struct Signature {
    name: Option<Text>,
    types: Vec<Type>,
    /// A record whose fields are the parameters.
    parameters: TypeId,
    result: TypeId,
}

/// The meaning of a name in a map with fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry<'a> {
    /// The field of this number.
    Field { at: usize, name: &'a str, of: TypeId },
    /// An entry that may be there without being a field.
    Free,
    /// Nothing, with the name that may have been meant.
    Unknown(Option<&'a str>),
}

impl Signature {
    /// The name before the parameters, if there is one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_ref().map(Text::as_str)
    }

    /// The names of the parameters in order.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.record(self.parameters)
            .into_iter()
            .flat_map(|record| record.fields.iter().map(|field| field.name.as_str()))
    }

    /// Whether a value may be at a path of names within the parameters, such as `user.name`.
    pub fn has_path<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> bool {
        let mut id = self.parameters;
        for name in names {
            if !self.is_record(id) {
                return self.is_open(id);
            }
            match self.entry_of(id, name) {
                Entry::Field { of, .. } => id = of,
                Entry::Free => return true,
                Entry::Unknown(_) => return false,
            }
        }
        true
    }

    /// The type of a map of arguments.
    pub(crate) const fn parameters_type(&self) -> TypeId {
        self.parameters
    }

    /// The type of a list's elements.
    pub(crate) fn element(&self, id: TypeId) -> Option<TypeId> {
        match self.of(id)?.shape {
            Shape::List(element) => Some(element),
            _ => None,
        }
    }

    pub(crate) fn is_record(&self, id: TypeId) -> bool {
        self.record(id).is_some()
    }

    /// Whether values of any kind may be of the type.
    pub(crate) fn is_open(&self, id: TypeId) -> bool {
        self.of(id).is_none_or(|of| matches!(of.shape, Shape::Any))
    }

    /// The meaning of a name in a map of this type.
    pub(crate) fn entry_of(&self, id: TypeId, name: &str) -> Entry<'_> {
        let Some(record) = self.record(id) else { return Entry::Free };
        match (record.find(name), record.rest) {
            (Some(at), _) => match record.fields.get(at) {
                Some(field) => Entry::Field { at, name: field.name.as_str(), of: field.of },
                None => Entry::Free,
            },
            (None, Rest::Open | Rest::Typed(_)) => Entry::Free,
            (None, Rest::Closed) => {
                Entry::Unknown(nearest(name, record.fields.iter().map(|field| field.name.as_str())))
            }
        }
    }

    /// The fields that a map of this type must have besides those seen, by number, with what they are.
    pub(crate) fn missing(&self, id: TypeId, seen: &BTreeSet<usize>) -> Vec<(&str, String)> {
        let fields = self.record(id).map_or(&[][..], |record| &record.fields);
        let missing = fields.iter().enumerate().filter(|(at, field)| field.is_required && !seen.contains(at));
        missing.map(|(_, field)| (field.name.as_str(), self.phrase(field.of))).collect()
    }

    fn of(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.0)
    }

    fn record(&self, id: TypeId) -> Option<&Record> {
        match self.of(id) {
            Some(Type { shape: Shape::Record(record), .. }) => Some(record),
            _ => None,
        }
    }
}

impl Type {
    const fn new(shape: Shape) -> Self {
        Self { shape, is_nullable: false, checks: Vec::new() }
    }
}

impl Record {
    /// A record of these fields. The names of those that another one before them has as well.
    fn new(fields: Vec<Field>, rest: Rest) -> (Self, Vec<usize>) {
        let mut order: Vec<usize> = (0..fields.len()).collect();
        let name = |at: &usize| fields.get(*at).map_or("", |field| field.name.as_str());
        order.sort_by(|a, b| compare_folded(name(a), name(b)));
        let twice = order.windows(2).filter_map(|pair| match pair {
            [a, b] if compare_folded(name(a), name(b)) == Ordering::Equal => Some(*b),
            _ => None,
        });
        let twice = twice.collect();
        (Self { fields, order, rest }, twice)
    }

    /// The field of a name, with `-` and `_` taken as the same.
    fn find(&self, name: &str) -> Option<usize> {
        let name_at = |at: &usize| self.fields.get(*at).map_or("", |field| field.name.as_str());
        let place = self.order.binary_search_by(|at| compare_folded(name_at(at), name)).ok()?;
        self.order.get(place).copied()
    }
}

/// A name's characters, with `-` as `_` but for the first: a leading `_` means that the field is secret.
fn folded_bytes(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().enumerate().map(|(at, byte)| if at > 0 && byte == b'-' { b'_' } else { byte })
}

fn compare_folded(a: &str, b: &str) -> Ordering {
    folded_bytes(a).cmp(folded_bytes(b))
}

/// Whether a field's name says that it is secret.
fn is_secret(name: &str) -> bool {
    name.starts_with('_')
}

/// Whether a name or keyword can be written without quotes.
fn is_plain_word(name: &str) -> bool {
    !name.is_empty() && name != "->" && !name.ends_with('?') && !name.contains(is_delimiter)
}

fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, ',' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '"' | ':' | '\\')
}

/// A name for messages and paths.
fn quoted_unless_plain(name: &str) -> String {
    if is_plain_word(name) { String::from(name) } else { proem_text::json::quote_json(name) }
}

#[cfg(test)]
mod tests;
