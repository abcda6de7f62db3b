//! Keeps untrusted text untrusted: the type, the clean view, containment and showing.
//!
//! - [`untrusted`]: the type; text doesn't get out of it but by the two doors below.
//! - [`mod@contain`]: the door into a prompt.
//! - [`show`]: the door onto a screen.
//! - [`view`]: what a model reads instead of the original; [`finding`]: what was noticed on the way.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::arithmetic_side_effects)]

extern crate alloc;

pub mod contain;
mod emoji;
pub mod finding;
pub mod show;
pub mod untrusted;
pub mod view;

pub use contain::{Contained, Key, Part, SourceRange, Tag, contain};
pub use finding::{Finding, FindingKind};
pub use show::Shown;
pub use untrusted::{Measurement, Untrusted};
pub use view::{CleanView, clean};
