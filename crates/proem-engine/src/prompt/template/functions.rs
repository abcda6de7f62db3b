//! The helpers' functions: truth, comparison, and values as text.

use core::cmp::Ordering;

use serde_json::{Number, Value as Json};

use super::bounded_text::BoundedText;
use super::error::RenderFailure;
use super::scope::value_property;
use crate::ordered_json::{OrderedJson, print_number};

/// The most spaces that `json` indents by, as `JSON.stringify` has it.
const MAX_INDENT: usize = 10;

/// Whether a condition holds. An empty list is false, an empty object true, as in JavaScript.
pub(super) fn is_true(value: Option<&OrderedJson>) -> bool {
    match value {
        None | Some(OrderedJson::Null) => false,
        Some(OrderedJson::Bool(value)) => *value,
        Some(OrderedJson::Number(number)) => number.as_f64().is_none_or(|number| number != 0.0),
        Some(OrderedJson::Text(text)) => !text.is_empty(),
        Some(OrderedJson::List(items)) => !items.is_empty(),
        Some(OrderedJson::Map(_)) => true,
    }
}

/// Whether a value counts as nothing: zero does not.
pub(super) fn counts_as_nothing(value: Option<&OrderedJson>) -> bool {
    !matches!(value, Some(OrderedJson::Number(_))) && !is_true(value)
}

/// Computes a function of its arguments. `None` if there is no function of this name.
pub(super) fn compute(name: &str, arguments: &[Option<OrderedJson>]) -> Option<Result<OrderedJson, RenderFailure>> {
    let two = |test: fn(&OrderedJson, &OrderedJson) -> bool| match arguments {
        [a, b] => {
            let null = OrderedJson::Null;
            Ok(OrderedJson::Bool(test(a.as_ref().unwrap_or(&null), b.as_ref().unwrap_or(&null))))
        }
        _ => Err(RenderFailure::new(format!("`{name}` takes two values"))),
    };
    let one = |value: fn(Option<&OrderedJson>) -> OrderedJson| match arguments {
        [argument] => Ok(value(argument.as_ref())),
        _ => Err(RenderFailure::new(format!("`{name}` takes one value"))),
    };
    Some(match name {
        "eq" => two(values_equal),
        "ne" => two(|a, b| !values_equal(a, b)),
        "gt" => two(|a, b| compare_values(a, b) == Some(Ordering::Greater)),
        "gte" => two(|a, b| compare_values(a, b).is_some_and(Ordering::is_ge)),
        "lt" => two(|a, b| compare_values(a, b) == Some(Ordering::Less)),
        "lte" => two(|a, b| compare_values(a, b).is_some_and(Ordering::is_le)),
        "and" => Ok(OrderedJson::Bool(arguments.iter().all(|argument| is_true(argument.as_ref())))),
        "or" => Ok(OrderedJson::Bool(arguments.iter().any(|argument| is_true(argument.as_ref())))),
        "not" => one(|value| OrderedJson::Bool(!is_true(value))),
        "len" => one(|value| {
            let count = match value {
                Some(OrderedJson::List(items)) => items.len(),
                Some(OrderedJson::Map(fields)) => fields.len(),
                Some(OrderedJson::Text(text)) => text.len(),
                _ => 0,
            };
            OrderedJson::Number(count.into())
        }),
        "lookup" => match arguments {
            [Some(value @ (OrderedJson::Map(_) | OrderedJson::List(_) | OrderedJson::Text(_))), name] => {
                let mut part = BoundedText::default();
                let printed = print_value(&mut part, name.as_ref());
                printed.map(|()| value_property(value, &part.into_text()).unwrap_or_default())
            }
            [_, _] => Ok(OrderedJson::Null),
            _ => Err(RenderFailure::new("`lookup` takes a value and the name of its part".to_owned())),
        },
        _ => return None,
    })
}

/// Whether two values hold the same. The order of fields doesn't count, and `1.0` is `1`.
pub(super) fn values_equal(a: &OrderedJson, b: &OrderedJson) -> bool {
    match (a, b) {
        (OrderedJson::Number(a), OrderedJson::Number(b)) => compare_numbers(a, b) == Some(Ordering::Equal),
        (OrderedJson::List(a), OrderedJson::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| values_equal(a, b))
        }
        (OrderedJson::Map(a), OrderedJson::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| values_equal(a, b)))
        }
        _ => a == b,
    }
}

/// Which value is greater. `None` where neither is. A text that holds a number compares as one with numbers.
fn compare_values(a: &OrderedJson, b: &OrderedJson) -> Option<Ordering> {
    match (a, b) {
        (OrderedJson::Number(a), OrderedJson::Number(b)) => compare_numbers(a, b),
        (OrderedJson::Text(a), OrderedJson::Text(b)) => Some(a.cmp(b)),
        (OrderedJson::Bool(a), OrderedJson::Bool(b)) => Some(a.cmp(b)),
        (OrderedJson::Number(a), OrderedJson::Text(b)) => compare_numbers(a, &b.parse().ok()?),
        (OrderedJson::Text(a), OrderedJson::Number(b)) => compare_numbers(&a.parse().ok()?, b),
        _ => None,
    }
}

/// Compares numbers: whole ones exactly, others as floats.
fn compare_numbers(a: &Number, b: &Number) -> Option<Ordering> {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Prints a value as JavaScript does: a list as its items with commas, an object as `[object Object]`.
pub(super) fn print_value(out: &mut BoundedText, value: Option<&OrderedJson>) -> Result<(), RenderFailure> {
    match value {
        None | Some(OrderedJson::Null) => Ok(()),
        Some(OrderedJson::Text(text)) => out.push(text),
        Some(OrderedJson::Bool(true)) => out.push("true"),
        Some(OrderedJson::Bool(false)) => out.push("false"),
        Some(OrderedJson::Number(number)) => out.push(&print_number(number)),
        Some(OrderedJson::Map(_)) => out.push("[object Object]"),
        Some(OrderedJson::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(",")?;
                }
                print_value(out, Some(item))?;
            }
            Ok(())
        }
    }
}

/// Prints a value as JSON, its fields as written, each on a line of its own if `indent` is not 0.
///
/// Source: `JSON.stringify`, <https://tc39.es/ecma262/#sec-json.stringify>.
pub(super) fn print_json(out: &mut BoundedText, value: &OrderedJson, indent: u64) -> Result<(), RenderFailure> {
    let indent = usize::try_from(indent).unwrap_or(MAX_INDENT).min(MAX_INDENT);
    print_json_value(out, value, &JsonLayout { indent, depth: 0 })
}

/// The starts of the lines of a JSON text.
struct JsonLayout {
    indent: usize,
    depth: usize,
}

impl JsonLayout {
    fn begin(&self, out: &mut BoundedText) -> Result<(), RenderFailure> {
        if self.indent == 0 {
            return Ok(());
        }
        out.push("\n")?;
        out.push(&" ".repeat(self.indent.saturating_mul(self.depth)))
    }

    const fn inner(&self) -> Self {
        Self { indent: self.indent, depth: self.depth.saturating_add(1) }
    }
}

fn print_json_value(out: &mut BoundedText, value: &OrderedJson, lines: &JsonLayout) -> Result<(), RenderFailure> {
    let inner = lines.inner();
    match value {
        OrderedJson::Null => out.push("null"),
        OrderedJson::Text(text) => out.push(&Json::from(text.as_ref()).to_string()),
        OrderedJson::List(items) if items.is_empty() => out.push("[]"),
        OrderedJson::Map(fields) if fields.is_empty() => out.push("{}"),
        OrderedJson::List(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { "[" } else { "," })?;
                inner.begin(out)?;
                print_json_value(out, item, &inner)?;
            }
            lines.begin(out)?;
            out.push("]")
        }
        OrderedJson::Map(fields) => {
            for (index, (name, item)) in fields.iter().enumerate() {
                out.push(if index == 0 { "{" } else { "," })?;
                inner.begin(out)?;
                out.push(&Json::from(name).to_string())?;
                out.push(if lines.indent == 0 { ":" } else { ": " })?;
                print_json_value(out, item, &inner)?;
            }
            lines.begin(out)?;
            out.push("}")
        }
        other => print_value(out, Some(other)),
    }
}
