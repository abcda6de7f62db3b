//! Words and numbers of the sentences of evidence.

use alloc::format;
use alloc::string::{String, ToString as _};

/// `1 file`, `2 files`.
pub(super) fn count(number: u32, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// `1 commit`, `2 commits`.
pub(super) fn commits(number: u32) -> String {
    count(number, "commit", "commits")
}

/// `1 file`, `2 files`.
pub(super) fn files(number: u32) -> String {
    count(number, "file", "files")
}

/// `12 months` for the usual window, else the days.
pub(super) fn period(days: u32) -> String {
    if days == super::WINDOW_DAYS { "12 months".to_string() } else { count(days, "day", "days") }
}

/// How many there are, as far as 32 bits go.
pub(super) fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
