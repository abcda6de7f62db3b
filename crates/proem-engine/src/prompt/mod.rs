//! Prompt files: reading, checking, and the book that holds them.

mod analyse;
pub mod book;
pub mod cases;
pub mod check;
pub mod compat;
mod context;
mod expansion;
pub mod file;
pub mod header;
mod helpers;
pub mod loaded;
mod nesting;
pub mod origin;
pub mod picoschema;
mod render;
mod shape;
mod walk;
pub(crate) mod yaml;

/// The version of rendering. It is raised with every change that renders the same file and inputs in other bytes,
/// so that a record can name the one that it was made with.
pub const RENDERING: u32 = 1;
