//! Trees of collections, as `clojure.walk` goes through them.

use super::Row;

pub(super) const ROWS: &[Row] = &[];
