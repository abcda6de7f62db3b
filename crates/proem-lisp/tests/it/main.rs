//! Programs, from source to outcome.
#![expect(clippy::unwrap_used, reason = "tests")]

mod examples;
mod golden;
mod laws;
mod limits;
mod machine;
mod support;
