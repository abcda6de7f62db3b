//! Deliveries as sources make them, against the routes in this process and the records on the disk.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

mod bytes;
mod connections;
mod monitoring;
mod refusals;
mod scene;
#[path = "../../../xtask/skipped.rs"]
mod skipped;
mod sources;
#[path = "../../../proem-store/tests/it/test_server.rs"]
mod test_server;
mod worker;
