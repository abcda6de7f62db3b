//! Mathematics beyond arithmetic: `Math/…`, rounding and bits.

use super::Row;

pub(super) const ROWS: &[Row] = &[];
