//! Numbers in sentences.

/// `1 file`, `2 files`.
#[must_use]
pub fn number_of(number: impl TryInto<u64>, noun: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}
