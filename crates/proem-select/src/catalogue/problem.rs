//! The problems of a catalogue's file.

use core::fmt;

use proem_guard::{Untrusted, show};
use proem_text::Label;

/// How many problems of one file are listed one by one.
const MAX_LISTED: usize = 20;

/// How many problems of one file a catalogue lists, those of names and overlays among them.
const MAX_OF_FILE: usize = 40;

const REMEDY: &str = "correct those above and run the command again";

/// The longest piece of somebody's text in a message, in characters.
const MAX_QUOTED: usize = 60;

/// The place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilePosition {
    /// The file as a whole.
    Whole,
    /// Counted from 1, columns in characters.
    Line {
        /// Its line, from 1.
        line: usize,
        /// Its column, from 1.
        column: usize,
    },
    /// A JSON pointer (RFC 6901).
    Pointer(String),
}

/// One thing that is wrong, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogueProblem {
    /// The file, as a person would name it, escaped.
    pub file: String,
    /// The place in it.
    pub at: FilePosition,
    /// The problem: lower case, no full stop. Others' words in it are quoted, escaped and cut.
    pub message: String,
    /// A command or an edit that solves it.
    pub remedy: String,
}

impl fmt::Display for CatalogueProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match &self.at {
            FilePosition::Whole => {}
            FilePosition::Line { line, column } => write!(f, ":{line}:{column}")?,
            FilePosition::Pointer(pointer) => write!(f, " at {pointer}")?,
        }
        write!(f, ": {}; {}", self.message, self.remedy)
    }
}

/// The problems of one file.
#[derive(Debug)]
pub(super) struct FileProblems {
    file: String,
    list: Vec<CatalogueProblem>,
    more: usize,
}

impl FileProblems {
    pub(super) fn of(file: &str) -> Self {
        Self { file: file.to_owned(), list: Vec::new(), more: 0 }
    }

    pub(super) fn add(&mut self, at: FilePosition, message: impl Into<String>, remedy: impl Into<String>) {
        if self.list.len() >= MAX_LISTED {
            self.more = self.more.saturating_add(1);
            return;
        }
        let problem = CatalogueProblem { file: self.file.clone(), at, message: message.into(), remedy: remedy.into() };
        self.list.push(problem);
    }

    pub(super) fn into_list(mut self) -> Vec<CatalogueProblem> {
        if self.more > 0 {
            let message = format!("{} more problems", self.more);
            self.list.push(CatalogueProblem {
                file: self.file,
                at: FilePosition::Whole,
                message,
                remedy: REMEDY.into(),
            });
        }
        self.list
    }
}

/// The problems in order, each once, and at most [`MAX_OF_FILE`] of one file. The others are counted.
pub(super) fn limit_problems(mut problems: Vec<CatalogueProblem>) -> Vec<CatalogueProblem> {
    problems.sort();
    problems.dedup();
    let mut out: Vec<CatalogueProblem> = Vec::new();
    for of_file in problems.chunk_by(|a, b| a.file == b.file) {
        out.extend(of_file.iter().take(MAX_OF_FILE).cloned());
        let more = of_file.len().saturating_sub(MAX_OF_FILE);
        if let Some(last) = out.last().filter(|_| more > 0) {
            let (file, message) = (last.file.clone(), format!("{more} more problems"));
            out.push(CatalogueProblem { file, at: FilePosition::Whole, message, remedy: REMEDY.into() });
        }
    }
    out
}

/// Somebody's text inside a message of ours.
pub(super) fn quote_foreign(text: &str) -> String {
    let text = Untrusted::new(text.to_owned(), Label::trusted());
    format!("`{}`", show::terminal_capped(&text, MAX_QUOTED))
}
