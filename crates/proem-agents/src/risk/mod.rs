//! How risky a change is: the evidence a model sees, the investigation, and what is reported of it.
//!
//! The level is decided by code ([`proem_risk::assess`]). A model may explain it, and raise it with evidence that it
//! was given. Paths, persons and messages reach it contained. Numbers are ours.

pub mod evidence;
pub mod feedback;
mod hop;
pub mod investigation;
pub mod report;
