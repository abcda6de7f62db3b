//! How long git may take, and how much memory it may have.

use std::time::Duration;

/// Bounds on every git that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitLimits {
    /// The time for a question, such as the state of HEAD or of uncommitted files. A longer reading is looked into when
    /// nothing came for this long.
    pub question: Duration,
    /// The time for reading history, or the contents of many files.
    pub history: Duration,
    /// The memory of its own that one git may have, in bytes. Enforced on Linux. Its settings bound the mapped packs.
    pub memory: u64,
}

impl Default for GitLimits {
    /// 10 s, 120 s, 2 GiB.
    fn default() -> Self {
        Self { question: Duration::from_secs(10), history: Duration::from_mins(2), memory: 2 << 30 }
    }
}
