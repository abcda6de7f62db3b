//! The behaviour of `proem-store`, seen from outside: one binary, one module for each subject.

mod backend;
mod copies;
mod crash;
mod effects;
mod homes;
mod laws;
mod open;
mod postgres;
mod processes;
mod server;
#[path = "../../../xtask/skipped.rs"]
mod skipped;
mod test_server;
mod upgrade;
