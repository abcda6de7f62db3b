#![doc = include_str!("../README.md")]
//!
//! The embedding model that is always there: one vector for each token, summed.
//!
//! No network, no files, no floating point that differs between machines: a text is cut into tokens
//! ([`StaticModel::tokens`]), each token has a row of small integers and a scale, and a text's vector is the direction
//! of their sum. Start with [`StaticModel::built_in`]. The file is read where it is. [`pack`](fn@pack) makes one and
//! [`table`] says how it is laid out.

pub mod error;
pub mod model;
pub mod pack;
pub mod table;

mod character;
mod wordpiece;

pub use error::{Error, ErrorKind};
pub use model::{MAX_TEXT_BYTES, MAX_TOKENS, StaticModel, TokenVector};
pub use pack::{StaticModelParts, pack};
