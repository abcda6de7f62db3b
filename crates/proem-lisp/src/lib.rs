#![doc = include_str!("../README.md")]
//!
//! PTC-Lisp: a small, bounded Clojure in which a model writes one program instead of many tool calls.
//!
//! A source is read into forms, forms are resolved into a [`Program`], and a [`Machine`] runs it in
//! steps that are counted. It stops at tool calls, which the host answers by id, and its state is
//! plain data. Nothing here recurses on the host's stack with the depth of what it is given, reads a
//! clock or performs an effect, and every limit is checked before the work.
//!
//! Start with [`sanitise_source`], [`resolve_source`] and [`Machine::run`].
#![cfg_attr(not(test), no_std)]
#![deny(clippy::arithmetic_side_effects)]

extern crate alloc;

mod builtins;
mod code;
mod context;
mod delimiters;
pub mod documentation;
mod error;
mod flow;
mod form;
mod json;
mod limits;
mod machine;
mod pattern;
mod print;
mod reader;
mod resolve;
mod sanitise;
mod signature;
mod source;
mod value;

pub use code::Program;
pub use context::Inputs;
pub use delimiters::{Repair, is_unfinished, repair_delimiters};
pub use error::{Fault, Problem, Reason};
pub use flow::label_secret_fields;
pub use json::{read_json, write_json};
pub use limits::{Limits, Meter, cost};
pub use machine::{CallId, Machine, Outcome, StateError, StateKey, ToolAnswer, ToolCall};
pub use pattern::Regexp;
pub use print::{print_display, print_readable};
pub use resolve::{Names, resolve_source};
pub use sanitise::{CleanSource, sanitise_source};
pub use signature::{BoundedSchema, Coerced, SchemaSignature, Signature, SignatureProblem};
pub use source::{print_source, read_memory};
pub use value::{BuiltinBits, FloatBits, Text, Truth, Value, compare, is_equal};
