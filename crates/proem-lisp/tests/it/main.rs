//! Programs, from source to outcome.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod examples;
mod golden;
mod laws;
mod limits;
mod machine;
mod support;
