//! The versions and the checks of a book, for programs.

use proem_engine::prompt::book::{Book, LockState, PromptVersion};
use proem_engine::prompt::check::Remark;
use proem_engine::prompt::origin::Origin;
use schemars::JsonSchema;
use serde::Serialize;

/// A version of a prompt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BookVersionOutput {
    /// `agent/name`.
    prompt: String,
    /// Its number.
    version: String,
    /// Whether it is in use.
    current: bool,
    /// Whether its files are as its lock has them.
    state: LockState,
    /// The hash of all its files.
    closure: String,
    files: Vec<BookFileOutput>,
    #[serde(flatten)]
    about: VersionWords,
}

/// A file of a version.
#[derive(Debug, Serialize, JsonSchema)]
struct BookFileOutput {
    /// Its path in the book.
    path: String,
    /// Whose book has it.
    origin: Origin,
}

/// The words of a version's file about itself. Null without them, and if the file can't be read.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct VersionWords {
    /// The task of the prompt.
    purpose: Option<String>,
    /// The changes since the version before.
    changes: Option<String>,
}

impl BookVersionOutput {
    pub(super) fn new(book: &Book, version: &PromptVersion) -> Self {
        let file = |(path, origin): &(String, Origin)| BookFileOutput { path: path.clone(), origin: *origin };
        let strict = book.as_it_is(&version.prompt, &version.version).ok().map(|prompt| prompt.file.strict);
        let about = strict.map(|strict| VersionWords { purpose: strict.purpose, changes: strict.changes });
        Self {
            prompt: version.prompt.clone(),
            version: version.version.clone(),
            current: version.current,
            state: version.state,
            closure: version.closure.clone(),
            files: version.files.iter().map(file).collect(),
            about: about.unwrap_or_default(),
        }
    }
}

/// The result of checking a book.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BookCheckOutput {
    /// The remarks about prompts.
    pub(super) remarks: Vec<Remark>,
    /// The number of errors in all.
    pub(super) errors: usize,
    /// Why the project's book can't be read. Null if it can.
    pub(super) unread: Option<String>,
    /// The problems with decisions and proposals.
    pub(super) decisions: Vec<String>,
}
