//! A user's view of actions: the guide that takes some from their proposal to their end, the output of a proposal in
//! each outcome, and the policy that holds.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

mod outcomes;
pub(crate) mod scene;
mod walk;
mod whose_policy;
