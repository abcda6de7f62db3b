//! Runs that are kept: recorded, booked, resumed and replayed against a scripted provider.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at what it didn't expect"
)]

mod budgets;
mod calls;
mod crashes;
mod investigations;
mod kept;
mod programs;
mod replays;
mod resuming;
mod scene;
mod state_limit;
mod tool_questions;
