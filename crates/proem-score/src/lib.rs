#![doc = include_str!("../README.md")]
//!
//! Scores and what they are worth: lexical ranking, a linear model, calibration, intervals, measures.
//!
//! Nothing here knows the scored things. Every function is pure, adds in a fixed order, and takes logarithms and
//! exponentials from `libm`, so the same input gives the same bits on every machine. A value that is not a number stays
//! not a number or is refused, as each function says: it never turns into a plausible score.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod bar;
pub mod bm25;
pub mod calibrate;
pub mod error;
pub mod interval;
pub mod linear;
pub mod measure;
pub mod repeat;
pub mod sequential;
pub mod softmax;
pub mod vector;

mod matrix;

pub use error::{Error, ErrorKind};
