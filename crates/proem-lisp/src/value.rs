//! Values: small, shared, immutable.
//!
//! A value takes 16 bytes and a clone never copies a collection. Collections hold plain values and
//! keep the order of insertion. Everything that may be deep is compared, hashed, printed, counted
//! and dropped without recursion.
//!
//! **Labels.** A labelled value is one more variant that holds the value and its label ([`Labelled`]), and is wherever
//! a value is: as an operand, or as an element of a collection. The label around a collection is that of its spine, and
//! its elements have their own. Keys of maps and elements of sets have none: theirs is joined to the spine.
//! [`crate::flow`] says what functions do with labels.

mod children;
mod compare;
mod construct;
mod drop;
mod index;
mod labels;
mod list;
mod map;
mod number;
mod size;
mod text;
mod trie;
mod word;

pub(crate) use children::{Children, has_children};
pub use compare::{compare, is_equal};
pub(crate) use drop::{Element, Entry};
pub(crate) use index::{Branch, Child, Index};
pub(crate) use labels::{AllParts, Flow, Labelled, Labels, deep_flow, shown_flow, take_all_labels};
pub(crate) use list::{List, Stream, StreamKind};
pub(crate) use map::{Map, Set};
pub(crate) use number::{
    Arithmetic, Number, compare_numbers, divide_by_zero, float_to_integer, from_big, int_to_float,
};
pub(crate) use size::Census;
pub use text::Text;
pub(crate) use trie::{Chunk, Node, NodeSize, Trie};
pub use word::{BuiltinBits, FloatBits, Truth};

use crate::{code::Closure, error::Fault, pattern::Regexp};
use alloc::sync::Arc;
use num_bigint::BigInt;

/// The persistent vector of the language.
pub(crate) type Vector = Trie<Value>;

/// The place of a builtin in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BuiltinId(pub(crate) u16);

/// A value of the language.
// A tag and payloads of one word each, of integers and pointers only: so a value is passed and given back in two
// registers. With a payload of another kind it goes through memory, where writing two words and reading both at once
// makes the processor wait.
#[repr(u64)]
#[derive(Clone, Default)]
#[non_exhaustive]
#[expect(private_interfaces, reason = "collections are seen through their methods, so that their form can change")]
pub enum Value {
    /// Nothing: what is missing.
    #[default]
    Nil,
    /// True or false.
    Bool(Truth),
    /// An integer that fits into 64 bits.
    Int(i64),
    /// A float of 64 bits.
    Float(FloatBits),
    /// An integer that doesn't fit into 64 bits.
    Big(Arc<BigInt>),
    /// A string. A character is a string of one grapheme.
    Text(Text),
    /// A keyword without its colon, such as `order/id`.
    Keyword(Text),
    /// A symbol, as quoting gives it.
    Symbol(Text),
    /// A sequence, as most functions give it.
    List(Arc<List>),
    /// Elements in order, by index.
    Vector(Arc<Vector>),
    /// A map in the order of insertion.
    Map(Arc<Map>),
    /// A set in the order of insertion.
    Set(Arc<Set>),
    /// A sequence that is described instead of stored.
    Stream(Arc<Stream>),
    /// A function of the table.
    Builtin(BuiltinBits),
    /// A function that a program defined.
    Closure(Arc<Closure>),
    /// A regular expression.
    Regex(Arc<Regexp>),
    /// The result that ends a `reduce`.
    Reduced(Arc<Chunk<Self>>),
    /// A value with a label, which isn't labelled itself.
    Labelled(Arc<Labelled>),
}

impl Value {
    /// Whether a condition takes it as true: everything but nil and false.
    #[inline]
    #[must_use]
    pub const fn is_truthy(&self) -> bool {
        !matches!(self, Self::Nil | Self::Bool(Truth::False))
    }

    /// Whether it is nil.
    #[must_use]
    pub const fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// Whether it is a number.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Float(_) | Self::Big(_))
    }

    /// Whether it is a list, a vector or a stream: what is equal by its elements in order.
    #[must_use]
    pub const fn is_sequential(&self) -> bool {
        matches!(self, Self::List(_) | Self::Vector(_) | Self::Stream(_))
    }

    /// Whether it is a map.
    #[must_use]
    pub const fn is_map(&self) -> bool {
        matches!(self, Self::Map(_))
    }

    /// Whether calling it means something: functions, and what looks things up.
    #[must_use]
    pub const fn is_callable(&self) -> bool {
        matches!(
            self,
            Self::Builtin(_)
                | Self::Closure(_)
                | Self::Keyword(_)
                | Self::Symbol(_)
                | Self::Map(_)
                | Self::Set(_)
                | Self::Vector(_)
        )
    }

    /// Whether it is a function, of the language or of a program.
    #[must_use]
    pub const fn is_function(&self) -> bool {
        matches!(self, Self::Builtin(_) | Self::Closure(_))
    }

    /// The number of elements of a collection that is stored or has an end; 0 for what isn't one.
    pub(crate) fn stored_len(&self) -> Result<usize, Fault> {
        Ok(match self {
            Self::List(list) => list.len(),
            Self::Vector(vector) => vector.len(),
            Self::Map(map) => map.len(),
            Self::Set(set) => set.0.len(),
            Self::Stream(stream) => return stream.count().ok_or_else(endless),
            _ => 0,
        })
    }

    /// The type in a phrase for messages, such as "a string".
    #[must_use]
    pub const fn type_phrase(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Big(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a string",
            Self::Keyword(_) => "a keyword",
            Self::Symbol(_) => "a symbol",
            Self::List(_) | Self::Stream(_) => "a sequence",
            Self::Vector(_) => "a vector",
            Self::Map(_) => "a map",
            Self::Set(_) => "a set",
            Self::Builtin(_) | Self::Closure(_) => "a function",
            Self::Regex(_) => "a regular expression",
            Self::Reduced(_) => "a reduced value",
            Self::Labelled(_) => "a labelled value",
        }
    }
}

/// A sequence without an end where one with an end is needed.
pub(crate) fn endless() -> Fault {
    Fault::limit(crate::Reason::MemoryExceeded, "this sequence has no end", "collection_size")
        .help("take what you need with `take` or `take-while`; no setting makes room for a sequence without an end")
}
