//! Regular expressions over strings.

use super::Row;

pub(super) const ROWS: &[Row] = &[];
