#![doc = include_str!("../README.md")]
//!
//! Counts tokens exactly as OpenAI's o200k and cl100k cut them, without load time.
//!
//! A text is cut into pieces by the vocabulary's pattern, and each piece into tokens by byte pair encoding. Both tables
//! are part of the program and are read where they are: nothing is parsed, nothing is built, and a count allocates only
//! for pieces that are no token of their own. Start with [`Vocabulary`]. [`table`] says how a table is laid out and
//! [`pack`](fn@pack) makes one.
//!
//! Special tokens such as `<|endoftext|>` are no part of it: their names count as any other text.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod pack;
pub mod table;
pub mod vocabulary;

mod character;
mod merge;
mod pieces;

pub use pack::{PackError, pack};
pub use table::Rank;
pub use vocabulary::Vocabulary;
