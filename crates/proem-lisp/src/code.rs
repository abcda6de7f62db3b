//! Programs as the machine runs them: steps in a row, with a place in the source for each.
//!
//! Everything here is plain data and says the same for the same source, so that a stored machine
//! needs to name only the source and the number of a step.

use crate::{
    resolve::Names,
    value::{BuiltinId, Chunk, Text, Value},
};
use alloc::{collections::BTreeSet, string::String, sync::Arc, vec::Vec};
use core::fmt;
use proem_text::Span;

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Pushes a constant.
    Const(u32),
    /// Pushes nil.
    Nil,
    /// Pushes a local.
    Local(u32),
    /// Pushes a local that nothing reads after this, and leaves nil there.
    TakeLocal(u32),
    /// Pushes a value that the function captured.
    Captured(u32),
    /// Pushes the running function.
    Myself,
    /// Pushes what a `def` or memory has under the constant, a keyword.
    Defined(u32),
    /// Pushes an input of the context.
    Input(u32),
    /// Pushes a value of the memory, or nil.
    Memory(u32),
    /// Pushes one of `*1 *2 *3`, counted from 0.
    History(u32),
    /// Pops into a local.
    Store(u32),
    Pop,
    /// Goes on elsewhere.
    Jump(u32),
    /// Pops, and goes on elsewhere if that was nil or false.
    JumpIfFalse(u32),
    /// Goes on elsewhere if the top is nil or false, else pops.
    JumpIfFalseElsePop(u32),
    /// Goes on elsewhere if the top is neither nil nor false, else pops.
    JumpIfTrueElsePop(u32),
    /// Makes a function of the program and captures what it needs.
    Closure(u32),
    /// Calls the function below so many arguments.
    Call(u32),
    /// Calls a builtin with so many arguments.
    Builtin {
        id: BuiltinId,
        count: u32,
    },
    /// Calls a builtin with two arguments. Done at once if both are integers of 64 bits or both are floats.
    Numbers {
        operation: NumberOp,
        id: BuiltinId,
    },
    /// Pushes the value under a constant keyword of the map on top, which it pops.
    Field(u32),
    /// Pushes a local's value under a constant keyword.
    LocalField {
        local: u16,
        key: u32,
    },
    /// Leaves the function.
    Return,
    /// Makes a vector of the top values.
    Vector(u32),
    /// Makes a map of pairs of the top values.
    Map(u32),
    /// Makes a set of the top values.
    Set(u32),
    /// Stores the top under a constant keyword, and leaves it.
    Define(u32),
    /// As `Define`, for the name of a builtin, under which only functions are kept.
    DefineFunction(u32),
    /// As `Define`, unless there is a value, which is pushed instead.
    DefineOnce(u32),
    /// Makes the top a sequence that `Next` can go through.
    Sequence,
    /// Pushes the next element of the sequence in this local and moves the position in the next
    /// local on; or goes on elsewhere, at the label after it.
    Next(u32),
    /// Where `Next` goes at the end. Never run.
    EndOfNext(u32),
    /// Pops, and appends it to the vector in a local.
    Append(u32),
    /// Makes the vector on top a sequence.
    ToList,
    /// Makes a sequence of keys and values on top a map. Leaves maps alone.
    KeywordArguments,
    /// Pops a key and a map. Pushes its value and jumps if the map has it.
    Lookup(u32),
    /// Pushes the sequence on top without so many elements, in place of it.
    Skip(u32),
    /// Pushes the element at an index of the sequence on top, in place of it.
    Element(u32),
    /// Fails: no clause matched the value on top.
    NoClause,
}

/// What is most often done with two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberOp {
    Add,
    Subtract,
    Multiply,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
}

impl NumberOp {
    /// The operation of a builtin's name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "<" => Self::Less,
            "<=" => Self::AtMost,
            ">" => Self::Greater,
            ">=" => Self::AtLeast,
            "=" => Self::Equal,
            _ => return None,
        })
    }

    /// Whether more than two numbers are taken one after the other: a comparison of three is something else.
    pub(crate) const fn is_sum(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply)
    }

    /// The result if it needs no look at anything else: of two integers whose result fits into 64 bits, or of floats.
    #[inline]
    pub(crate) fn apply(self, a: &Value, b: &Value) -> Option<Value> {
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => self.apply_integers(*a, *b),
            (Value::Float(a), Value::Float(b)) => Some(self.apply_floats(a.get(), b.get())),
            _ => None,
        }
    }

    fn apply_floats(self, a: f64, b: f64) -> Value {
        match self {
            Self::Add => Value::float(a + b),
            Self::Subtract => Value::float(a - b),
            Self::Multiply => Value::float(a * b),
            Self::Less => Value::bool(a < b),
            Self::AtMost => Value::bool(a <= b),
            Self::Greater => Value::bool(a > b),
            Self::AtLeast => Value::bool(a >= b),
            Self::Equal => Value::bool(a == b),
        }
    }

    fn apply_integers(self, a: i64, b: i64) -> Option<Value> {
        Some(match self {
            Self::Add => Value::Int(a.checked_add(b)?),
            Self::Subtract => Value::Int(a.checked_sub(b)?),
            Self::Multiply => Value::Int(a.checked_mul(b)?),
            Self::Less => Value::bool(a < b),
            Self::AtMost => Value::bool(a <= b),
            Self::Greater => Value::bool(a > b),
            Self::AtLeast => Value::bool(a >= b),
            Self::Equal => Value::bool(a == b),
        })
    }
}

/// Where a function takes a captured value from when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capture {
    Local(u32),
    Captured(u32),
    Myself,
}

/// The steps for one number of arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arity {
    /// Arguments that must be there.
    pub(crate) required: usize,
    /// Whether more arguments may follow, as a sequence in the next local.
    pub(crate) takes_rest: bool,
    /// Locals, arguments first.
    pub(crate) locals: usize,
    pub(crate) ops: Vec<Op>,
    /// The place of each step.
    pub(crate) spans: Vec<Span>,
}

/// A function of a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Function {
    pub(crate) name: Option<Text>,
    pub(crate) arities: Vec<Arity>,
    pub(crate) captures: Vec<Capture>,
    /// Whether it is written `#(…)`.
    pub(crate) is_short: bool,
    /// The names of what is captured, for writing the function as source.
    pub(crate) capture_names: Vec<Text>,
    /// Its parameters and body, or all of a short function, in the source.
    pub(crate) span: Span,
}

impl Function {
    /// The arity that takes `count` arguments, and its number.
    pub(crate) fn arity(&self, count: usize) -> Option<(usize, &Arity)> {
        if let [only] = self.arities.as_slice()
            && only.required == count
        {
            return Some((0, only));
        }
        let exact = self.arities.iter().position(|arity| !arity.takes_rest && arity.required == count);
        let place =
            exact.or_else(|| self.arities.iter().position(|arity| arity.takes_rest && arity.required <= count))?;
        Some((place, self.arities.get(place)?))
    }
}

/// A program: its functions, the last of which is the program itself.
#[derive(Debug)]
pub struct Program {
    pub(crate) source: Text,
    pub(crate) functions: Vec<Function>,
    pub(crate) constants: Vec<Value>,
    /// Names of builtins that mean definitions in this program.
    pub(crate) hidden: BTreeSet<String>,
    /// The function that is the program itself.
    pub(crate) main: usize,
    /// The names outside of it that its source uses, so that it can be resolved again.
    pub(crate) names: Names,
    /// The function of the table that this is the code of, in which no problem is placed.
    pub(crate) prelude: Option<BuiltinId>,
}

impl Program {
    /// The source that was read, after sanitising. Spans of problems refer to it.
    #[must_use]
    pub fn source(&self) -> &str {
        self.source.as_str()
    }
}

/// A function with what it captured.
pub(crate) struct Closure {
    pub(crate) program: Arc<Program>,
    pub(crate) function: usize,
    pub(crate) captures: Chunk<Value>,
}

impl Closure {
    /// The program's own function.
    pub(crate) fn main(program: Arc<Program>) -> Self {
        let function = program.main;
        Self { program, function, captures: Chunk::new(Vec::new()) }
    }

    pub(crate) fn function(&self) -> Option<&Function> {
        self.program.functions.get(self.function)
    }
}

impl fmt::Debug for Closure {
    /// Without what it captured, which may be deep.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closure").field("function", &self.function).finish_non_exhaustive()
    }
}
