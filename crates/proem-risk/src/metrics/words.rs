//! Words and numbers of the sentences of evidence.

use alloc::format;
use alloc::string::{String, ToString as _};

/// `1 file`, `2 files`.
pub(super) fn count_words(number: u32, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// `1 commit`, `2 commits`.
pub(super) fn commit_count_words(number: u32) -> String {
    count_words(number, "commit", "commits")
}

/// `1 file`, `2 files`.
pub(super) fn file_count_words(number: u32) -> String {
    count_words(number, "file", "files")
}

/// `12 months` for the usual window, else the days.
pub(super) fn period_words(days: u32) -> String {
    if days == super::WINDOW_DAYS { "12 months".to_string() } else { count_words(days, "day", "days") }
}

/// How many there are, as far as 32 bits go.
pub(super) fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
