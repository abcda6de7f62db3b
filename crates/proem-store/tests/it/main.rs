//! The behaviour of `proem-store`, seen from outside: one binary, one module for each subject.

mod backend;
mod crash;
mod effects;
mod laws;
mod open;
mod processes;
mod upgrade;
