#![doc = include_str!("../README.md")]
//!
//! How risky a change is: bytes and facts in, metrics, a calibrated score and a level out.
//!
//! One change walks through it like this: [`history`] is what git said, read by the caller and put in order by
//! [`history::HistoryBuilder`]. [`identity`] says who is who. [`path`] what a file is. [`change`] is what is assessed,
//! [`patch`] its lines,
//! [`tree`] the files around it with their import [`graph`], [`incident`] what went wrong before, [`coverage`] what
//! tests reach. [`metrics`] turns these into [`metric::Metric`]s, [`score`] into one probability,
//! [`finding`] into what is specific of the change, [`signal`] into what such findings have been worth, and
//! [`assess`](fn@assess::assess_change) into a [`level::Level`] with its reasons.
//!
//! Invariants: no git, file, clock or model in here. The same facts give the same bits; what is unknown is
//! [`metric::Signal::Unknown`] with a reason, never zero and never low. Names, messages and persons stay apart from our
//! own words in every sentence ([`metric::Sentence`]).
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod assess;
pub mod change;
pub mod coverage;
pub mod error;
pub mod finding;
pub mod graph;
pub mod history;
mod id;
pub mod identity;
pub mod incident;
pub mod level;
pub mod metric;
pub mod metrics;
pub mod patch;
pub mod path;
pub mod sample;
pub mod score;
pub mod signal;
pub mod tree;

pub use error::{Error, ErrorKind};
