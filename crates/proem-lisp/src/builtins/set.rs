//! Sets as `clojure.set` has them.

use super::Row;

pub(super) const ROWS: &[Row] = &[];
