#![doc = include_str!("../README.md")]
//!
//! [`serve_stdio`] and [`serve_http`] serve an [`McpServer`], whose tools are the use cases of `proem-app`.
//!
//! Invariants: every tool only reads. No tool reaches an operator, so nothing is approved, released, resolved or trusted
//! here; `clippy.toml` forbids the types. Arguments are text from outside, and every answer is bounded in size and loses
//! the credentials that are loaded or have the shape of one.

mod answer;
mod arguments;
mod call;
mod http;
mod lines;
mod page;
mod prompts;
mod recording;
mod rendering;
mod schema;
mod server;
mod setting;
mod stdio;
mod tool;
mod tools;

pub use self::http::{HttpOptions, serve_http};
pub use self::server::McpServer;
pub use self::setting::McpSetting;
pub use self::stdio::{MAX_MESSAGE_BYTES, serve_stdio, serve_streams};
