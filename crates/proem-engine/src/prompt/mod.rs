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
