#![doc = include_str!("../README.md")]
//!
//! The use cases of Proem, without arguments, terminals or exit codes.
//!
//! Options are structs, what a person may want to know comes back as [`Note`]s beside the result, and every
//! [`Error`] says what kind of failure it is and, as a [`Hint`], what could be done about it. No text here names a
//! flag or a command: whoever shows a hint words it.

pub mod adapt;
pub mod agents;
pub mod answer_modes;
pub mod ask;
pub mod assemble;
pub mod book;
pub mod calling;
pub mod catalogue;
pub mod completion;
pub mod config;
pub mod context;
pub mod cost;
pub mod doctor;
pub mod effects;
pub mod embedding;
pub mod error;
pub mod factors;
pub mod guarding;
pub mod hook;
pub mod init;
pub mod lisp;
mod login;
mod mcp_servers;
pub mod message;
pub mod operator;
pub mod places;
pub mod project;
pub mod records;
pub mod risk;
pub mod run;
pub mod runs;
pub mod scan;
pub mod secrets;
pub mod select;
pub mod selecting;
pub mod shipped_agents;
mod state_file;
pub mod telemetry;
pub mod tokens;
pub mod triage;
pub mod trust;
pub mod webhooks;
pub mod when;
pub mod windows;
pub mod words;

pub use error::{Error, ErrorKind};
pub use message::{Hint, Note, NoteKind, WithNotes};
