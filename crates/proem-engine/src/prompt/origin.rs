//! The authors of a book's files.

use serde::Serialize;

/// The author of a layer's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// They are part of the program.
    Embedded,
    /// This user's own book.
    User,
    /// A repository's book, trusted by this user.
    Project,
    /// Single files named in configuration.
    Configured,
    /// A prompt file that a person named, outside of any book, and what it uses beside it.
    Named,
}

proem_text::word_table! {
    pub Origin {
        Embedded = "embedded",
        User = "user",
        Project = "project",
        Configured = "configured",
        Named = "named",
    }
}
