//! JSON as text, read and written.

use super::Row;

pub(super) const ROWS: &[Row] = &[];
