//! Programs, from source to outcome.
#![expect(clippy::unwrap_used, reason = "tests")]

mod clojure;
mod examples;
mod families;
mod laws;
mod limits;
mod machine;
mod support;
