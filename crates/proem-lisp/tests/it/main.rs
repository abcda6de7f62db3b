//! Programs, from source to outcome.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod answers;
mod clojure;
mod examples;
mod families;
mod golden;
mod golden_stored;
mod labels;
mod laws;
mod limits;
mod machine;
mod messages;
mod names;
mod reference;
mod stored;
mod support;
