//! Paths inside a repository, and what the file at one is.

mod attributes;
mod class;
mod glob;
mod role;
mod rules;

pub use self::attributes::GitAttributes;
pub use self::class::{Language, PathClass, classify_path, path_role};
pub use self::glob::PathPattern;
pub use self::role::{FileRole, Framework, Sensitive};
pub use self::rules::PathRules;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A path inside a repository: any bytes, parts separated by `/`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// The path with these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The path as git has it, which need not be UTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// It as text, quoted as [`proem_text::path_as_text`] does if it is no UTF-8.
    #[must_use]
    pub fn to_text(&self) -> String {
        proem_text::path_as_text(&self.0)
    }

    /// The folder that it is in. Empty at the root.
    #[must_use]
    pub fn folder(&self) -> &[u8] {
        self.0.iter().rposition(|&byte| byte == b'/').and_then(|at| self.0.get(..at)).unwrap_or_default()
    }

    /// Its first part: the subsystem of Kamei et al. (2013). Empty for a file at the root.
    #[must_use]
    pub fn subsystem(&self) -> &[u8] {
        self.0.iter().position(|&byte| byte == b'/').and_then(|at| self.0.get(..at)).unwrap_or_default()
    }

    /// The name of the file.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        let start = self.0.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at.saturating_add(1));
        self.0.get(start..).unwrap_or_default()
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}
