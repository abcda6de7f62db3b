//! Dates and times in ISO 8601, without a clock.

use super::Row;

pub(super) const ROWS: &[Row] = &[];
