//! The table of functions: one row each, which analysis, the machine, `doc`, the reference and the
//! tests all read.
//!
//! Adding a function is one row in its family's file and one Rust function, or one definition in the
//! language. The signature gives the number of arguments: `m k default?` takes two or three,
//! `f & colls` one or more.

mod aggregate;
mod collection;
mod control;
mod date;
mod format;
mod higher;
mod json;
mod lookup;
mod map;
mod math;
mod member;
mod number;
mod parse;
mod predicate;
mod predicates;
mod regex;
mod sequence;
mod set;
mod slices;
mod sort;
mod stream;
mod string;
mod text;
mod walk;

pub(crate) use date::is_date;
pub(crate) use lookup::{element, lookup, nth};
pub(crate) use map::checked_path;
pub(crate) use math::constant;
pub(crate) use sequence::{Cursor, Items, elements_of, skip, step, to_sequence};
pub(crate) use sort::merge_sort;
pub(crate) use stream::{check_stored, stream_version};

use crate::{
    context::{Args, Context},
    error::Fault,
    value::{BuiltinId, Text, Value},
};
use alloc::{format, string::String, vec::Vec};
use core::fmt;

/// A source and the value it gives, as it reads.
pub(crate) type Example = (&'static str, &'static str);

/// A function written in Rust that calls no other.
pub(crate) type Native = fn(&mut Context, &mut Args<'_>) -> Result<Value, Fault>;

/// One function of the language.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) signature: &'static str,
    /// Its documentation, in a line.
    pub(crate) doc: &'static str,
    pub(crate) examples: &'static [Example],
    pub(crate) arity: RowArity,
    pub(crate) run: Run,
}

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowArity {
    pub(crate) least: usize,
    /// `None` for any number.
    pub(crate) most: Option<usize>,
}

/// How a function is run.
pub(crate) enum Run {
    /// By Rust, at once.
    Native(Native),
    /// By calling a function for elements one after the other, and then Rust with all results.
    Each { plan: fn(&[Value]) -> EachPlan, finish: fn(&mut Context, EachResults) -> Result<Value, Fault> },
    /// By calling a function with the result so far and the next element.
    Fold(fn(&[Value]) -> FoldPlan),
    /// By telling the machine what to do next.
    Control(fn(&mut Context, &mut Args<'_>) -> Result<Control, Fault>),
    /// By a function of the language, given as its source.
    Lisp(&'static str),
}

/// A function and the elements to call it for.
pub(crate) struct EachPlan {
    pub(crate) function: Value,
    /// Collections that are gone through side by side, as far as the shortest.
    pub(crate) sources: Vec<Value>,
    pub(crate) stop: Stop,
}

/// When to stop before the elements end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Never,
    /// After the first result that is neither nil nor false.
    AtTrue,
    /// After the first result that is nil or false.
    AtFalse,
}

/// The arguments of a call and the results for the elements that were gone through.
pub(crate) struct EachResults {
    pub(crate) args: Vec<Value>,
    pub(crate) results: Vec<Value>,
}

/// A function and the elements to reduce.
pub(crate) struct FoldPlan {
    pub(crate) function: Value,
    /// `None` to begin with the first element.
    pub(crate) start: Option<Value>,
    pub(crate) source: Value,
    pub(crate) shape: FoldShape,
}

/// The arguments of a fold's function besides the result so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoldShape {
    /// Each element.
    Element,
    /// Each key and its value.
    KeyValue,
}

/// The next thing that the machine does.
pub(crate) enum Control {
    Value(Value),
    /// Calls a function in place of this one.
    Call {
        function: Value,
        args: Vec<Value>,
    },
    /// Ends the program with a result.
    Return(Value),
    /// Ends the program with a failure.
    Fail(Value),
    /// Calls a tool.
    Tool {
        name: Text,
        args: Value,
    },
    /// Calls functions in branches that wait for their tools at the same time.
    Parallel(Vec<(Value, Vec<Value>)>),
}

/// The functions of one chapter of the reference, with its title. A chapter may have several of these in a row.
pub(crate) type Family = (&'static str, &'static [Row]);

/// All families, in the order of the reference.
pub(crate) const FAMILIES: &[Family] = &[
    ("Numbers", number::ROWS),
    ("Numbers", math::ROWS),
    ("Numbers", parse::ROWS),
    ("Predicates", predicate::ROWS),
    ("Predicates", predicates::ROWS),
    ("Collections", collection::ROWS),
    ("Maps", map::ROWS),
    ("Sequences", sequence::ROWS),
    ("Sequences", slices::ROWS),
    ("Sequences", stream::ROWS),
    ("Functions over collections", higher::ROWS),
    ("Tables", aggregate::ROWS),
    ("Strings", text::ROWS),
    ("Strings", string::ROWS),
    ("Strings", format::ROWS),
    ("Strings", member::ROWS),
    ("Regular expressions", regex::ROWS),
    ("Sets", set::ROWS),
    ("Nested data", walk::ROWS),
    ("Dates", date::ROWS),
    ("JSON", json::ROWS),
    ("Tools, memory and endings", control::ROWS),
];

/// All rows with their ids.
pub(crate) fn rows() -> impl Iterator<Item = (BuiltinId, &'static Row)> {
    let all = FAMILIES.iter().flat_map(|(_, rows)| rows.iter());
    all.enumerate().map(|(at, row)| (BuiltinId(u16::try_from(at).unwrap_or(u16::MAX)), row))
}

/// The rows by id, so that a call finds its row at once.
static TABLE: [Option<&Row>; TABLE_SIZE] = table();

const TABLE_SIZE: usize = 1024;

#[expect(clippy::indexing_slicing, reason = "the compiler runs it, and refuses a table that is too small")]
const fn table() -> [Option<&'static Row>; TABLE_SIZE] {
    let mut table = [None; TABLE_SIZE];
    let mut at: usize = 0;
    let mut families = FAMILIES;
    while let [(_, family), others @ ..] = families {
        let mut rows: &'static [Row] = family;
        while let [row, after @ ..] = rows {
            table[at] = Some(row);
            at = at.saturating_add(1);
            rows = after;
        }
        families = others;
    }
    table
}

/// Tells tables of functions apart: FNV-1a over their names, signatures and definitions in the language.
pub(crate) const fn table_sum() -> u64 {
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    let mut families = FAMILIES;
    while let [(_, family), others @ ..] = families {
        let mut rows: &'static [Row] = family;
        while let [row, after @ ..] = rows {
            sum = add_to_sum(add_to_sum(sum, row.name), row.signature);
            if let Run::Lisp(source) = row.run {
                sum = add_to_sum(sum, source);
            }
            rows = after;
        }
        families = others;
    }
    sum
}

const fn add_to_sum(mut sum: u64, text: &str) -> u64 {
    let mut bytes = text.as_bytes();
    while let [byte, rest @ ..] = bytes {
        sum = (sum ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        bytes = rest;
    }
    // So that the end of one text and the start of the next can't be moved.
    (sum ^ 0xff).wrapping_mul(0x0000_0100_0000_01b3)
}

/// The row of an id.
#[inline]
pub(crate) fn row(id: BuiltinId) -> Option<&'static Row> {
    TABLE.get(usize::from(id.0)).copied().flatten()
}

/// The function of a name, under any of the names that its namespace has in Clojure.
pub(crate) fn id_of(name: &str) -> Option<BuiltinId> {
    let name = name.strip_prefix('\0').unwrap_or(name);
    let find = |name: &str| rows().find(|(_, row)| row.name == name).map(|(id, _)| id);
    find(name).or_else(|| {
        let (namespace, short) = name.split_once('/').filter(|(_, short)| !short.is_empty())?;
        match namespace {
            "clojure.core" | "core" => find(short),
            "clojure.string" | "string" | "s" => find(&format!("str/{short}")),
            "clojure.set" => find(&format!("set/{short}")),
            "clojure.walk" | "w" => find(&format!("walk/{short}")),
            "java.lang.Math" => find(&format!("Math/{short}")),
            "clojure.math" => find(&format!("Math/{}", camel_case(short))),
            "clojure.data.json" | "cheshire.core" => find(&format!("json/{short}")),
            _ => None,
        }
    })
}

/// The name that a function of `clojure.math` has in Java, such as `floorDiv` for `floor-div`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('-');
    let mut out = String::from(words.next().unwrap_or_default());
    for word in words {
        let mut chars = word.chars();
        out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        out.push_str(chars.as_str());
    }
    out
}

const fn row_of(name: &'static str, signature: &'static str, doc: &'static str, run: Run) -> Row {
    Row { name, signature, doc, examples: &[], arity: RowArity::of(signature), run }
}

/// A row for a function in Rust.
const fn native(name: &'static str, signature: &'static str, doc: &'static str, run: Native) -> Row {
    row_of(name, signature, doc, Run::Native(run))
}

/// A row for a function in the language.
const fn lisp(name: &'static str, signature: &'static str, doc: &'static str, source: &'static str) -> Row {
    row_of(name, signature, doc, Run::Lisp(source))
}

impl RowArity {
    /// The numbers of arguments that a signature allows.
    const fn of(signature: &str) -> Self {
        let mut rest = signature.as_bytes();
        let mut least: usize = 0;
        let mut most: usize = 0;
        let mut is_word = false;
        let mut last = b' ';
        loop {
            let (byte, after) = match rest {
                [byte, after @ ..] => (*byte, after),
                [] => (b' ', rest),
            };
            if byte == b' ' {
                if is_word {
                    if last == b'&' {
                        return Self { least, most: None };
                    }
                    most = most.saturating_add(1);
                    if last != b'?' {
                        least = least.saturating_add(1);
                    }
                }
                is_word = false;
                if rest.is_empty() {
                    return Self { least, most: Some(most) };
                }
            } else {
                is_word = true;
            }
            last = byte;
            rest = after;
        }
    }

    const fn allows(self, count: usize) -> bool {
        count >= self.least
            && match self.most {
                Some(most) => count <= most,
                None => true,
            }
    }
}

impl fmt::Display for RowArity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        match self.most {
            None if self.least == 0 => f.write_str("any number of arguments"),
            None => write!(f, "{} or more arguments", self.least),
            Some(most) if most == self.least => write!(f, "{most} argument{}", plural(most)),
            Some(most) => write!(f, "{} to {most} arguments", self.least),
        }
    }
}

impl Row {
    const fn examples(mut self, examples: &'static [Example]) -> Self {
        self.examples = examples;
        self
    }

    /// Checks a number of arguments. The message says what is wrong.
    pub(crate) fn check_arity(&self, count: usize) -> Result<(), String> {
        if self.arity.allows(count) {
            return Ok(());
        }
        Err(format!("`{}` takes {}, not {count}", self.name, self.arity))
    }

    /// A fault of this function, which says how the function is called unless it has a better remedy.
    #[cold]
    pub(crate) fn explain(&self, fault: Fault) -> Fault {
        // Functions that only our own rewriting calls have no documentation, and nobody knows their names.
        if self.doc.is_empty() { fault } else { fault.or_usage(|| self.usage()) }
    }

    /// How it is called, such as `(get m k default?)`.
    pub(crate) fn usage(&self) -> String {
        let space = if self.signature.is_empty() { "" } else { " " };
        format!("`({}{space}{})`", self.name, self.signature)
    }
}

#[cfg(test)]
mod tests;
