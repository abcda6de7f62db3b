//! The condition of a value by itself, and the treatment of an input that doesn't meet it.

use super::{Check, HowMany, Shape, Signature, is_plain_word};
use crate::{
    builtins::is_date,
    limits::{Limits, Meter},
    pattern::{Regexp, Search},
    print::print_excerpt,
    value::{Children, Set, Text, Value, compare_numbers, float_to_integer, int_to_float, is_equal},
};
use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::cmp::Ordering;

/// Integers up to this one are floats without a loss: 2⁵³.
const EXACT: i64 = 1 << 53;

/// The most members that a message lists.
const MEMBERS_LISTED: usize = 10;

impl Shape {
    /// Whether a value without parts is one of these.
    pub(super) fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::Text, Value::Text(_))
            | (Self::Int | Self::Number, Value::Int(_) | Value::Big(_))
            | (Self::Bool, Value::Bool(_))
            | (Self::Keyword, Value::Keyword(_)) => true,
            // JSON has no other floats.
            (Self::Float | Self::Number, Value::Float(float)) => float.get().is_finite(),
            (Self::Datetime, Value::Text(text)) => is_date(text.as_str()),
            (Self::Enum(members), Value::Text(text)) => {
                members.iter().any(|member| matches!(member, Value::Text(other) if other == text))
            }
            (Self::Enum(members), Value::Keyword(name)) => {
                members.iter().any(|member| matches!(member, Value::Keyword(other) if other == name))
            }
            _ => false,
        }
    }

    /// An input as one of these, if it says the same.
    pub(super) fn correct(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Int | Self::Number, Value::Text(text)) if is_integer(text.as_str()) => {
                text.as_str().parse().ok().map(Value::Int)
            }
            (Self::Int, Value::Float(float)) => {
                let exact = float.get() > int_to_float(-EXACT) && float.get() < int_to_float(EXACT);
                let whole = float_to_integer(float.get()).filter(|_| exact)?;
                (compare_numbers(&whole, value) == Ok(Ordering::Equal)).then_some(whole)
            }
            (Self::Float, Value::Int(int)) => (-EXACT..=EXACT).contains(int).then(|| Value::float(int_to_float(*int))),
            (Self::Float | Self::Number, Value::Text(text)) => {
                let float: f64 = text.as_str().parse().ok()?;
                // The shortest digits of a float say all of it, and nothing else says it.
                (float.is_finite() && format!("{float:?}") == text.as_str()).then(|| Value::float(float))
            }
            (Self::Bool, Value::Text(text)) => match text.as_str() {
                "true" => Some(Value::bool(true)),
                "false" => Some(Value::bool(false)),
                _ => None,
            },
            (Self::Text, Value::Int(int)) => Some(Value::from(int.to_string())),
            (Self::Text, Value::Keyword(name)) => Some(Value::Text(name.clone())),
            (Self::Keyword, Value::Text(text)) => is_plain_word(text.as_str()).then(|| Value::Keyword(text.clone())),
            (Self::Enum(members), Value::Text(text) | Value::Keyword(text)) => {
                members.iter().find(|member| member.as_str() == Some(text.as_str())).cloned()
            }
            _ => None,
        }
    }
}

/// Whether the text is how an integer of 64 bits is written.
fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|int| int.to_string() == text)
}

impl Signature {
    /// Whether a condition holds for a value. Of values of other kinds it says nothing.
    ///
    /// # Errors
    ///
    /// The expectation, in words.
    pub(super) fn holds(&self, check: &Check, value: &Value) -> Result<(), String> {
        let shown = |bound: &Value| print_excerpt(bound, 40);
        let (holds, words) = match (check, value) {
            (Check::Least(least, is_beyond), number) if number.is_number() => {
                let order = compare_numbers(number, least);
                let holds = order == Ok(Ordering::Greater) || (order == Ok(Ordering::Equal) && !is_beyond);
                (holds, format!("{} {}", if *is_beyond { "more than" } else { "at least" }, shown(least)))
            }
            (Check::Most(most, is_beyond), number) if number.is_number() => {
                let order = compare_numbers(number, most);
                let holds = order == Ok(Ordering::Less) || (order == Ok(Ordering::Equal) && !is_beyond);
                (holds, format!("{} {}", if *is_beyond { "less than" } else { "at most" }, shown(most)))
            }
            (Check::MultipleOf(factor), Value::Int(int)) => {
                (int.checked_rem(*factor) == Some(0), format!("a multiple of {factor}"))
            }
            (Check::Length { least, most }, Value::Text(text)) => {
                (within(text.as_str().chars().count(), *least, *most), range(*least, *most, "characters"))
            }
            (Check::Items { least, most }, value) if value.is_sequential() => {
                let length = value.stored_len().unwrap_or(usize::MAX);
                (within(length, *least, *most), range(*least, *most, "elements"))
            }
            (Check::Entries { least, most }, Value::Map(map)) => {
                (within(map.len(), *least, *most), range(*least, *most, "entries"))
            }
            (Check::NameLength(most), Value::Map(map)) => {
                let fits = |key: &Value| key.as_str().is_some_and(|name| name.chars().count() <= *most);
                (map.iter().all(|(key, _)| fits(key)), format!("names of at most {most} characters"))
            }
            (Check::Unique, value) if value.is_sequential() => (is_distinct(value), String::from("no element twice")),
            (Check::Pattern(pattern), Value::Text(text)) => {
                (matches_pattern(pattern, text), format!("a match of {}", shown(&Value::from(pattern.source()))))
            }
            (Check::Kinds(kinds), value) => {
                let holds = kinds.iter().any(|kind| match *kind {
                    "string" => matches!(value, Value::Text(_)),
                    "boolean" => matches!(value, Value::Bool(_)),
                    "integer" => Shape::Int.takes(value),
                    _ => Shape::Number.takes(value),
                });
                (holds, format!("one of the types {}", kinds.join(", ")))
            }
            (Check::Members(members), value) => {
                let holds = members.iter().any(|member| is_same(member, value));
                let all: Vec<String> = members.iter().take(MEMBERS_LISTED).map(shown).collect();
                (holds, format!("one of {}", all.join(", ")))
            }
            (Check::Alternatives(how_many, all), value) => {
                let taking = all.iter().filter(|of| self.check_type(value, **of).is_empty()).count();
                match how_many {
                    HowMany::One => (taking == 1, String::from("exactly one of the alternatives")),
                    HowMany::Some => (taking > 0, String::from("one of the alternatives")),
                    HowMany::All => (taking == all.len(), String::from("all of the alternatives")),
                }
            }
            // As in JSON Schema, a condition on texts says nothing about a number: the type refuses that, with one
            // problem and not two.
            _ => return Ok(()),
        };
        if holds { Ok(()) } else { Err(words) }
    }
}

const fn within(size: usize, least: usize, most: usize) -> bool {
    least <= size && size <= most
}

fn range(least: usize, most: usize, what: &str) -> String {
    match (least, most) {
        (0, most) => format!("at most {most} {what}"),
        (least, usize::MAX) => format!("at least {least} {what}"),
        (least, most) => format!("{least} to {most} {what}"),
    }
}

fn is_distinct(list: &Value) -> bool {
    let mut meter = Meter::unlimited();
    let mut seen = Set::default();
    Children::of(list).all(|element| {
        let is_new = seen.0.contains(&element, &mut meter) == Ok(false);
        // Elements that can't be compared count as the same.
        is_new && seen.0.insert(element.into_owned(), Value::Nil, &mut meter).is_ok()
    })
}

/// JSON has no keywords, so a keyword is the string of its name.
fn is_same(member: &Value, value: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::Keyword(name) => Value::Text(name.clone()),
        other => other.clone(),
    };
    is_equal(&text(member), &text(value), &mut Meter::unlimited()) == Ok(true)
        || (value.is_number() && compare_numbers(member, value) == Ok(Ordering::Equal))
}

/// Whether the pattern is found. A search that takes too many steps finds nothing.
fn matches_pattern(pattern: &Regexp, text: &Text) -> bool {
    let mut meter = Meter::new(Limits::default());
    let found = Search::new(pattern, text.as_str(), &mut meter).and_then(|mut search| search.next_match(&mut meter));
    matches!(found, Ok(Some(_)))
}
