#![doc = include_str!("../README.md")]
//!
//! The agents as step machines: what each one needs to know, and what it proposes.

pub mod adapt;
pub mod assemble;
pub mod book;
pub mod lisp;
pub mod prompt_call;
pub mod risk;
pub mod screen;
pub mod words;
