//! The binary at a terminal: a pseudo-terminal of eighty columns, keys, and what a person sees.
//!
//! Snapshots show colours as names: `«red»` begins one, `«»` ends all.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that fails here has found something; skipping one must be heard"
)]

/// Compares a text with the snapshot named after the test.
macro_rules! snapshot {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($name, $text) })
    };
}

mod colours;
mod dialogue;
#[path = "../cli/fixture.rs"]
#[expect(dead_code, reason = "every test of the binary has this fixture; a terminal needs a part of it")]
mod fixture;
mod interrupt;
mod life;
mod scene;
mod screen;
