//! The turns of a program agent: how a mission ends, what the model is told, and what data may decide.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers may stop the test; clippy's exceptions cover test functions only"
)]

mod attacks;
mod desk;
mod endings;
