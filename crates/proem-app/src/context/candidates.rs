//! The question of a search for context, and the candidates that answer it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use proem_guard::{Untrusted, show};
use proem_runtime::git::GitAnswers;
use proem_select::context::{CodeSymbol, FilePurpose, LineSpan};
use proem_text::{Label, Source};

use super::choice::FileChoice;

/// How long reading what isn't kept may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextPatience {
    /// As long as the work is little. A large repository that is new gets a first look, and the rest counts from the
    /// next time on.
    Short,
    /// Until all is read.
    Whole,
}

/// The search query.
#[derive(Debug, Clone, Copy)]
pub struct ContextQuery<'q> {
    /// The task's words, whoever wrote them.
    pub task: &'q str,
    /// A folder in the repository.
    pub root: &'q Path,
    /// The most files of code. Of tests and documents there are a quarter as many.
    pub most: usize,
    /// How long it may take.
    pub patience: ContextPatience,
    /// Files that a person adds or leaves out.
    pub choice: &'q FileChoice,
    /// The answers that git gave to others who do the same piece of work, if there are any.
    pub answers: Option<&'q GitAnswers>,
}

/// A file that the task may be about.
#[derive(Debug, Clone)]
pub struct ContextFile {
    /// Its path from the root.
    pub path: Untrusted<String>,
    /// The purpose.
    pub used_for: FilePurpose,
    /// How likely the task is about it, 0 to 1.
    pub probability: f32,
    /// The evidence for it, in words, strongest first.
    pub evidence: Vec<Untrusted<String>>,
    /// Its definitions, in the order of the source.
    pub symbols: Vec<CodeSymbol>,
    /// The definitions that fit the task, best first, by their places in [`Self::symbols`].
    pub fitting: Vec<usize>,
    /// All definitions that can be shown, best first: those that fit, and those behind them.
    pub ranked: Vec<usize>,
    /// Lines of it that the task names.
    pub named_lines: Vec<u32>,
    /// Its content. `None` if it is no text, too large or not among those that were looked into.
    pub content: Option<Untrusted<String>>,
}

impl ContextFile {
    /// The line to begin with: one that the task names, else that of the best definition, else the first.
    #[must_use]
    pub fn line(&self) -> u32 {
        let best = self.fitting.first().and_then(|at| self.symbols.get(*at)).map(|symbol| symbol.own_line);
        self.named_lines.first().copied().or(best).unwrap_or(1)
    }

    /// The lines of a definition that fits.
    #[must_use]
    pub fn lines_of(&self, fitting: usize) -> Option<LineSpan> {
        self.symbols.get(fitting).map(|symbol| symbol.lines)
    }
}

/// A commit about the same.
#[derive(Debug, Clone)]
pub struct ContextCommit {
    /// Its id, in hexadecimal digits.
    pub id: String,
    /// The first line of its message.
    pub subject: Untrusted<String>,
}

/// The files and commits that a task may be about, the likeliest first.
#[derive(Debug, Clone, Default)]
pub struct TaskCandidates {
    /// Code, likeliest first.
    pub code: Vec<ContextFile>,
    /// Tests, likeliest first.
    pub tests: Vec<ContextFile>,
    /// Documentation and configuration.
    pub documents: Vec<ContextFile>,
    /// Commits about the same, of the best files first.
    pub commits: Vec<ContextCommit>,
    /// Whether it is doubtful that the task is about code at all: then paths alone are worth their room in a prompt.
    pub is_doubtful: bool,
    /// The gaps, in our words.
    pub gaps: Vec<String>,
    /// The one of [`Self::gaps`] that says why the files are hardly to be relied on, or why there are none.
    pub weak_evidence: Option<String>,
    /// How many files there are.
    pub files: usize,
    /// How many contents were read anew.
    pub read: usize,
    /// How long it took.
    pub took: Duration,
}

impl TaskCandidates {
    /// All files, code first.
    pub fn all(&self) -> impl Iterator<Item = &ContextFile> {
        self.code.iter().chain(&self.tests).chain(&self.documents)
    }
}

/// A text from outside, to be read by code of ours alone.
pub(crate) fn text_for_code(text: &Untrusted<String>) -> String {
    show::exact_json(text).as_str().unwrap_or_default().to_owned()
}

/// The label of what a repository says.
pub(super) fn repository_text(text: String) -> Untrusted<String> {
    Untrusted::new(text, Label::from_source(Source::named("repository")))
}

/// Contents by the places of their files.
pub(super) type Contents = BTreeMap<usize, Vec<u8>>;
