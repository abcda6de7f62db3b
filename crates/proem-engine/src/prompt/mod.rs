//! Prompt files: reading, checking, and the book that holds them.

pub(crate) mod analyse;
pub mod book;
pub mod cases;
pub mod check;
pub mod compat;
pub mod compiled_prompt;
mod config;
mod expansion;
pub mod file;
pub mod header;
pub mod import;
mod infer;
pub mod layout;
pub mod origin;
pub mod picoschema;
mod remarks;
pub mod render;
pub mod rows;
mod shape;
mod split;
mod template;
mod tool_file;
mod walk;
pub mod yaml;

pub use self::render::RENDERING;
