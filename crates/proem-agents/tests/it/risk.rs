//! The investigation of a change: what is offered, asked, measured and believed.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers may stop the test; clippy's exceptions cover test functions only"
)]

mod budget;
mod checklist;
mod hops;
mod hostile;
mod laws;
mod measures;
mod scene;
mod shipped;
mod verdict;
