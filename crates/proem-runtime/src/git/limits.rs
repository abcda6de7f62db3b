//! How long git may take, and how much memory it may have.

use std::time::Duration;

/// Bounds on every git that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitLimits {
    /// The time for a question, such as what HEAD is or what is uncommitted. Who reads more than that is looked
    /// at when nothing came for so long.
    pub question: Duration,
    /// The time for reading history, or the contents of many files.
    pub history: Duration,
    /// The memory of its own that one git may have, in bytes; enforced on Linux. What it maps of packs is bounded
    /// by its settings.
    pub memory: u64,
}

impl Default for GitLimits {
    /// 10 s, 120 s, 2 GiB.
    fn default() -> Self {
        Self { question: Duration::from_secs(10), history: Duration::from_mins(2), memory: 2 << 30 }
    }
}
