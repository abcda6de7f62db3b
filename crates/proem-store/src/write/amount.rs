//! Numbers as they are stored.

/// The most that one number of an attempt counts: a million dollars or a quadrillion tokens, so that
/// eight thousand of them still add up to what SQLite's integers hold.
pub(super) const MOST: i64 = 1 << 50;

/// A number as it is stored: at most [`MOST`].
pub(super) fn stored_number(value: u64) -> i64 {
    i64::try_from(value).map_or(MOST, |value| value.min(MOST))
}

/// A number as it was stored. Negative ones are not stored.
pub(super) fn stored_count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// How many things there are.
pub(super) fn length_as_u64(things: usize) -> u64 {
    u64::try_from(things).unwrap_or(u64::MAX)
}
