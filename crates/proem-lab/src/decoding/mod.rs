//! Measures how answers are read: the value that was meant, another one, or none.

pub(crate) mod eval;
mod modes;
