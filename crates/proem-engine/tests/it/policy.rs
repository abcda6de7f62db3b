//! Permissions: the file, the action, the decision.

mod action;
mod conditions;
mod file;
mod laws;
mod narrow;
mod scene;
