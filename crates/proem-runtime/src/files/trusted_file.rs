//! Which bytes of a file are trusted.

/// Bytes of a file that this user approved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrustedFile {
    /// The file, relative to the repository's root, such as `.proem/rules.md`.
    pub name: String,
    /// SHA-256 of its bytes, 64 lower-case hexadecimal digits.
    pub hash: String,
}
