use super::Row;
pub(super) const ROWS: &[Row] = &[];
