//! Strings: `clojure.string` and what strings are made and searched with.

use super::Row;

pub(super) const ROWS: &[Row] = &[];
