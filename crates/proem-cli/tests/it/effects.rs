//! Effects as the binary performs them: at most once, none lost, and what is in doubt is listed.
//!
//! The oracle is never the record alone: a mail server on loopback that logs everything it reads, or the files of an
//! outbox. After any sweep, [`scene::Office::agree`] holds both against each other.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that fails here has found something; what it drew must be heard"
)]

mod clock;
mod decided;
mod delivery;
mod disk;
mod displayed;
mod forged;
mod full;
mod graph;
mod host;
mod kills;
mod moment;
mod places;
mod races;
mod refused;
pub(crate) mod scene;
mod stale;
mod team;
mod tickets;
mod watched;
mod witness;
