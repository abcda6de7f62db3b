#![doc = include_str!("../README.md")]
//!
//! The needs of a task: tools and skills of a catalogue, and the kind of work.
//!
//! [`catalogue`] reads manifests, skills and own entries into a [`catalogue::Catalogue`]. [`select`] ranks it for a
//! task and chooses within modes and caps. [`mode`] says whether to plan, act or review. [`context`] ranks the files of
//! a repository. [`embedding`] is what makes vectors of texts, where there is such a thing. Nothing here reads a clock,
//! file, environment or socket.

pub mod catalogue;
pub mod context;
pub mod embedding;
pub mod mode;
pub mod select;
