//! Actions as people use them: proposed, decided about, shown, approved, performed.
//!
//! [`ActionDesk`] is an opened project with its policy and its actions. `propose` takes an action down the whole
//! corridor, `queue` is what waits and what a person may say to it, `escalations` are questions that people decide,
//! `switch` is what effects need before they may happen, and `sweep` performs what is due.
//!
//! Invariants: whatever approves, releases, edits, resolves, decides or switches takes an
//! [`crate::operator::Operator`]. Credentials of mail and tickets are read in `sweep` alone; what keeps effects from
//! happening is returned in words, and the action stays what it is.

pub mod desk;
pub mod drafting;
pub mod escalations;
pub mod output;
pub mod policy;
pub mod propose;
pub mod queue;
mod remedy;
pub mod ruling;
pub mod sweep;
pub mod switch;

pub use self::desk::{ActionDesk, EffectsObstacle};
