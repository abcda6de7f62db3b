//! The behaviour of `proem-store`, seen from outside: one binary, one module for each subject.

mod backend;
mod crash;
mod effects;
mod laws;
mod open;
mod postgres;
mod processes;
mod server;
#[path = "../../../xtask/skipped.rs"]
mod skipped;
mod upgrade;
