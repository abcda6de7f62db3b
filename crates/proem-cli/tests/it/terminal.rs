//! The binary at a terminal: a pseudo-terminal of eighty columns, keys, and what a person sees.
//!
//! Snapshots show colours as names: `«red»` begins one, `«»` ends all.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that fails here has found something; skipping one must be heard"
)]

mod colours;
mod dialogue;
mod interrupt;
mod life;
mod operator;
pub(crate) mod scene;
pub(crate) mod screen;
mod stream;
