//! The server as clients see it: over streams in memory, by the letter of the protocol and with a client of `rmcp`.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

mod client;
mod letter;
mod session;
