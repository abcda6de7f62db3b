//! The behaviour of `proem-runtime`, seen from outside: one binary, one module for each subject.

mod catalogue;
mod change;
mod context;
mod fixture;
mod history;
mod ignored;
mod records;
mod remote_embedder;
mod runtime;
#[path = "../../../xtask/skipped.rs"]
mod skipped;
mod structure;
