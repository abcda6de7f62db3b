//! The prompt for a task: its modes, its book, what settings cap, and what text from outside
//! can't do.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

mod book;
mod caps;
mod checklist;
mod context;
mod laws;
mod modes;
mod profile;
mod scene;
mod screen;
mod selection;
