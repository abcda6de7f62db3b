//! The files of a repository with their lines, and who imports whom.

use alloc::vec::Vec;

use crate::graph::Graph;
use crate::path::{PathClass, RepoPath};

/// A file of the assessed tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// The place from the repository's root.
    pub path: RepoPath,
    /// Language and purpose, as the path and the rules tell.
    pub class: PathClass,
    /// Lines that are not blank. `None` if it could not be read.
    pub lines: Option<u32>,
    /// How many of them are tests inside the file, as Rust has them.
    pub inline_tests: u32,
    /// Whether its imports were read. If not, its share in the importers of others is unknown.
    pub imports: Imports,
}

/// Whether the imports of a file were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imports {
    /// They were: how many lead to a file of the repository, how many should but don't, how many lead out.
    Read {
        /// To a file here.
        resolved: u32,
        /// To nothing that is here, though it should.
        unresolved: u32,
        /// To somebody else's code.
        external: u32,
    },
    /// It has none: documentation, data.
    None,
    /// There is no parser for its language.
    NoParser,
    /// It is too large, took too long or is no text.
    Unread,
}

/// The files of a repository, by path. Indices are those of [`Graph`].
#[derive(Debug, Clone)]
pub struct FileTree {
    /// The files, in the order of their paths' bytes.
    pub files: Vec<TreeFile>,
    /// The graph of imports.
    pub graph: Graph,
    /// The gaps, in our words.
    pub gaps: Vec<alloc::string::String>,
}

impl FileTree {
    /// The index of the file at a path.
    #[must_use]
    pub fn find(&self, path: &RepoPath) -> Option<u32> {
        let at = self.files.binary_search_by(|file| file.path.cmp(path)).ok()?;
        u32::try_from(at).ok()
    }
}
