//! Why a data file of rules can't be read.
//!
//! It is below everything that reads one: the lexicon, and the scanners that are built on the lexicon.

use alloc::string::String;
use core::fmt;

/// A data file can't be read: concepts, rules or patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The file's name.
    pub file: &'static str,
    /// The line, from 1; 0 if it is about the whole file.
    pub line: usize,
    /// The problem and the remedy.
    pub message: String,
}

impl RuleError {
    pub(crate) const fn new(file: &'static str, line: usize, message: String) -> Self {
        Self { file, line, message }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

impl core::error::Error for RuleError {}
