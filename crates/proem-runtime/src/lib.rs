//! Performs effects: git, files, keys.
//!
//! - [`gather`](fn@gather) finds out what is known about a folder; the parts of its work are in [`git`].
//! - [`files`] reads and writes files whose surroundings somebody else may have arranged.
//! - [`installation_key`] is the secret that this installation seals with.
//!
//! Everything here is bounded in time and bytes, and nothing here prints. What a repository
//! contains, its configuration included, is written by whoever made the repository: it is read,
//! never run, and comes back as `Untrusted`.

mod environment;
mod error;
pub mod files;
mod gaps;
mod gather;
pub mod git;
mod process;
mod seal;

pub use environment::Environment;
pub use error::Error;
pub use gather::{GatherOptions, Limits, TrustedFile, gather};
pub use process::Extent;
pub use seal::installation_key;
