//! Runs that are kept: recorded, booked, resumed and replayed against a scripted provider.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at what it didn't expect"
)]

#[path = "records/budgets.rs"]
mod budgets;
#[path = "records/calls.rs"]
mod calls;
#[path = "records/crashes.rs"]
mod crashes;
#[path = "records/investigations.rs"]
mod investigations;
#[path = "records/kept.rs"]
mod kept;
#[path = "records/replays.rs"]
mod replays;
#[path = "records/resuming.rs"]
mod resuming;
#[path = "records/scene.rs"]
mod scene;
