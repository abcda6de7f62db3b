#![doc = include_str!("../README.md")]
//!
//! Text without opinions: labels, spans, normalisation, words, diagnostics, canonical JSON, ordered maps and tables of lines.
//!
//! Nothing here knows what a prompt is. Every function is pure, allocates in proportion to its
//! input and never panics. Start with [`span`]: every derived text here carries an
//! [`OffsetMap`] back to what it was derived from.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod base64;
mod beginnings;
mod bytes;
mod calendar;
pub mod character;
mod csv;
pub mod diagnostic;
pub mod hex;
pub mod json;
mod json_comments;
pub mod label;
mod line_table;
pub mod normalise;
mod ordered_map;
pub mod span;
mod word_table;
pub mod words;

pub use beginnings::{first_bytes, first_characters, shorten_text};
pub use bytes::{legacy_text, path_as_text};
pub use calendar::CalendarDate;
pub use csv::{BareQuotes, CsvError, CsvRow, read_csv};
pub use diagnostic::{Diagnostic, DiagnosticSeverity, line_column};
pub use json_comments::strip_json_comments;
pub use label::{Audience, Label, Secrecy, Source, Sources};
pub use line_table::LineTable;
pub use normalise::{View, normalise_text};
pub use ordered_map::OrderedMap;
pub use span::{OffsetMap, Span};
pub use words::{character_ngrams, search_words};
