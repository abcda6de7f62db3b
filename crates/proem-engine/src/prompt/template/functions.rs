//! What helpers compute: truth, comparison, and values as text.

use core::cmp::Ordering;

use serde_json::{Number, Value as Json};

use super::evaluate::{Out, Problem};
use super::scope::property;
use crate::ordered::{Ordered, print_number};

/// The most spaces that `json` indents by, as `JSON.stringify` has it.
const MAX_INDENT: usize = 10;

/// Whether a condition holds. An empty list is false, an empty object true, as in JavaScript.
pub(super) fn is_true(value: Option<&Ordered>) -> bool {
    match value {
        None | Some(Ordered::Null) => false,
        Some(Ordered::Bool(value)) => *value,
        Some(Ordered::Number(number)) => number.as_f64().is_none_or(|number| number != 0.0),
        Some(Ordered::Text(text)) => !text.is_empty(),
        Some(Ordered::List(items)) => !items.is_empty(),
        Some(Ordered::Map(_)) => true,
    }
}

/// Whether a value counts as nothing: zero does not.
pub(super) fn is_empty(value: Option<&Ordered>) -> bool {
    !matches!(value, Some(Ordered::Number(_))) && !is_true(value)
}

/// Computes a function of its arguments; `None` if there is no function of this name.
pub(super) fn compute(name: &str, arguments: &[Option<Ordered>]) -> Option<Result<Ordered, Problem>> {
    let two = |test: fn(&Ordered, &Ordered) -> bool| match arguments {
        [a, b] => {
            let null = Ordered::Null;
            Ok(Ordered::Bool(test(a.as_ref().unwrap_or(&null), b.as_ref().unwrap_or(&null))))
        }
        _ => Err(Problem::new(format!("`{name}` takes two values"))),
    };
    let one = |value: fn(Option<&Ordered>) -> Ordered| match arguments {
        [argument] => Ok(value(argument.as_ref())),
        _ => Err(Problem::new(format!("`{name}` takes one value"))),
    };
    Some(match name {
        "eq" => two(equal),
        "ne" => two(|a, b| !equal(a, b)),
        "gt" => two(|a, b| compare(a, b) == Some(Ordering::Greater)),
        "gte" => two(|a, b| compare(a, b).is_some_and(Ordering::is_ge)),
        "lt" => two(|a, b| compare(a, b) == Some(Ordering::Less)),
        "lte" => two(|a, b| compare(a, b).is_some_and(Ordering::is_le)),
        "and" => Ok(Ordered::Bool(arguments.iter().all(|argument| is_true(argument.as_ref())))),
        "or" => Ok(Ordered::Bool(arguments.iter().any(|argument| is_true(argument.as_ref())))),
        "not" => one(|value| Ordered::Bool(!is_true(value))),
        "len" => one(|value| {
            let count = match value {
                Some(Ordered::List(items)) => items.len(),
                Some(Ordered::Map(fields)) => fields.len(),
                Some(Ordered::Text(text)) => text.len(),
                _ => 0,
            };
            Ordered::Number(count.into())
        }),
        "lookup" => match arguments {
            [Some(value @ (Ordered::Map(_) | Ordered::List(_) | Ordered::Text(_))), name] => {
                let mut part = Out::default();
                let printed = print(&mut part, name.as_ref());
                printed.map(|()| property(value, &part.into_text()).unwrap_or_default())
            }
            [_, _] => Ok(Ordered::Null),
            _ => Err(Problem::new("`lookup` takes a value and the name of its part".to_owned())),
        },
        _ => return None,
    })
}

/// Whether two values hold the same; the order of fields doesn't count, and `1.0` is `1`.
pub(super) fn equal(a: &Ordered, b: &Ordered) -> bool {
    match (a, b) {
        (Ordered::Number(a), Ordered::Number(b)) => order(a, b) == Some(Ordering::Equal),
        (Ordered::List(a), Ordered::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b)),
        (Ordered::Map(a), Ordered::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Which value is greater; `None` where neither is. A text that holds a number compares as one with numbers.
fn compare(a: &Ordered, b: &Ordered) -> Option<Ordering> {
    match (a, b) {
        (Ordered::Number(a), Ordered::Number(b)) => order(a, b),
        (Ordered::Text(a), Ordered::Text(b)) => Some(a.cmp(b)),
        (Ordered::Bool(a), Ordered::Bool(b)) => Some(a.cmp(b)),
        (Ordered::Number(a), Ordered::Text(b)) => order(a, &b.parse().ok()?),
        (Ordered::Text(a), Ordered::Number(b)) => order(&a.parse().ok()?, b),
        _ => None,
    }
}

/// Compares numbers: whole ones exactly, others as floats.
fn order(a: &Number, b: &Number) -> Option<Ordering> {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Prints a value as JavaScript does: a list as its items with commas, an object as `[object Object]`.
pub(super) fn print(out: &mut Out, value: Option<&Ordered>) -> Result<(), Problem> {
    match value {
        None | Some(Ordered::Null) => Ok(()),
        Some(Ordered::Text(text)) => out.push(text),
        Some(Ordered::Bool(true)) => out.push("true"),
        Some(Ordered::Bool(false)) => out.push("false"),
        Some(Ordered::Number(number)) => out.push(&print_number(number)),
        Some(Ordered::Map(_)) => out.push("[object Object]"),
        Some(Ordered::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(",")?;
                }
                print(out, Some(item))?;
            }
            Ok(())
        }
    }
}

/// Prints a value as JSON, its fields as written, each on a line of its own if `indent` is not 0.
///
/// Source: `JSON.stringify`, <https://tc39.es/ecma262/#sec-json.stringify>.
pub(super) fn print_json(out: &mut Out, value: &Ordered, indent: u64) -> Result<(), Problem> {
    let indent = usize::try_from(indent).unwrap_or(MAX_INDENT).min(MAX_INDENT);
    json(out, value, &Lines { indent, depth: 0 })
}

/// Where the lines of a JSON text begin.
struct Lines {
    indent: usize,
    depth: usize,
}

impl Lines {
    fn begin(&self, out: &mut Out) -> Result<(), Problem> {
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

fn json(out: &mut Out, value: &Ordered, lines: &Lines) -> Result<(), Problem> {
    let inner = lines.inner();
    match value {
        Ordered::Null => out.push("null"),
        Ordered::Text(text) => out.push(&Json::from(text.as_ref()).to_string()),
        Ordered::List(items) if items.is_empty() => out.push("[]"),
        Ordered::Map(fields) if fields.is_empty() => out.push("{}"),
        Ordered::List(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { "[" } else { "," })?;
                inner.begin(out)?;
                json(out, item, &inner)?;
            }
            lines.begin(out)?;
            out.push("]")
        }
        Ordered::Map(fields) => {
            for (index, (name, item)) in fields.iter().enumerate() {
                out.push(if index == 0 { "{" } else { "," })?;
                inner.begin(out)?;
                out.push(&Json::from(name).to_string())?;
                out.push(if lines.indent == 0 { ":" } else { ": " })?;
                json(out, item, &inner)?;
            }
            lines.begin(out)?;
            out.push("}")
        }
        other => print(out, Some(other)),
    }
}
