//! The role of a file, and the consequences for its risk.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// The role of a file. Tests, generated, vendored and lock files never count in a metric of coupling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileRole {
    /// Code that runs.
    Code,
    /// Code that only tests run.
    Test,
    /// Text for people.
    Documentation,
    /// Configuration, builds and data.
    Configuration,
    /// Made by a program.
    Generated,
    /// Somebody else's, kept in the repository.
    Vendored,
    /// A lock file.
    Lock,
    /// Pictures and other files without lines.
    Asset,
}

/// Why a file is sensitive: it is at least MEDIUM and investigated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sensitive {
    /// Authentication, permissions, secrets, cryptography.
    Security,
    /// Files that production runs with: deployments, pipelines, migrations.
    Production,
}

/// A framework that couples files by design, by its name in the rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Framework(pub String);
