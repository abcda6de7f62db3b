#![doc = include_str!("../README.md")]
//!
//! Prompt files, sections, budgets, trust and cache planning: the pure part of an assembly.
//!
//! Start with [`prompt::book::Book`], which gives a [`prompt::compiled_prompt::Prompt`].
//! [`assemble::assemble_request`] turns it and its [`input::Inputs`] into an [`assembly::Assembly`] with its
//! [`report::Report`]. Nothing here reads a clock, file, environment or socket.

pub mod assemble;
pub mod assembly;
pub mod budget;
pub mod cache;
pub mod call;
mod containment_cache;
pub mod contract;
pub mod decode;
pub mod effect;
pub mod error;
pub mod history;
pub mod input;
mod ladder;
pub mod ledger;
pub mod media;
pub mod message;
pub mod ordered_json;
pub mod policy;
pub mod profile;
pub mod prompt;
pub mod providers;
pub mod report;
pub mod run;
pub mod schema;
pub mod section;
pub mod tokens;
pub mod toml_reader;
pub mod versions;
pub mod workers;

pub use error::{Error, ErrorKind};
