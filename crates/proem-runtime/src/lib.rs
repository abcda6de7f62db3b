#![doc = include_str!("../README.md")]
//!
//! Performs effects: git, files, keys.
//!
//! - [`gather_facts`] finds out what is known about a folder. The parts of its work are in [`git`].
//! - [`fetch`] asks servers for JSON until there is an answer.
//! - [`files`] reads and writes files whose surroundings somebody else may have arranged.
//! - [`folder`] lists the files of a folder.
//! - [`catalogue`] finds and reads what people already have: MCP manifests, skills, entries of their own.
//! - [`readers`] reads mails, pages, webhooks and documents as fields of text from outside.
//! - [`driver`] performs what the steps of a run ask for.
//! - [`effects`] hands over what an action is made of, once, and says what became of it.
//! - [`records`] keeps runs, so that they can be shown, replayed, paid for and gone on with.
//! - [`history`], [`change`] and [`structure`] read what git says of a repository's past, of a change, and who imports
//!   whom. [`risk`] assesses changes with them.
//! - [`context`] reads what ranking the files of a repository for a task needs.
//! - [`schedule`] says when what is done again and again is due, and which files of a folder are new and complete.
//!   [`lock`] keeps a second process from doing it as well.
//! - [`map_on_all`] does the same to many things on all processors.
//! - [`mcp`] is a client of servers of the Model Context Protocol.
//! - [`remote_embedder`] asks a server for vectors.
//! - [`task_vectors`] keeps what an embedding model said about the last tasks.
//! - [`installation_key`] is the secret that this installation seals with.
//!
//! Everything here is bounded in time and bytes, and nothing here prints. The author of a repository writes its
//! contents, its configuration included: they are read, never run, and come back as `Untrusted`.

pub mod catalogue;
pub mod change;
pub mod context;
pub mod driver;
pub mod effects;
mod environment;
mod error;
pub mod fetch;
pub mod files;
pub mod folder;
mod gaps;
mod gather;
pub mod git;
pub mod history;
pub mod lock;
pub mod mcp;
mod parallel;
mod process;
pub mod readers;
pub mod records;
pub mod remote_embedder;
pub mod risk;
pub mod schedule;
mod seal;
pub mod structure;
pub mod task_vectors;
pub mod telemetry;
pub mod tools;

pub use environment::Environment;
pub use error::Error;
pub use files::TrustedFile;
pub use gather::{
    GatherLimits, GatherOptions, gather_facts,
    rules::folder_rules,
    task_change::{ReadChange, task_change},
};
pub use parallel::{AllProcessors, map_on_all};
pub use process::Extent;
pub use seal::{delimiting_key, installation_key};
