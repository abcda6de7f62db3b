//! What a user meets of actions: the guide that takes some from their proposal to their end, what a proposal prints
//! in each outcome, and whose policy holds.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

mod outcomes;
pub(crate) mod scene;
mod walk;
mod whose_policy;
