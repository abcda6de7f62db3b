//! Training and measuring the selection of tools.

pub(crate) mod data;
pub(crate) mod eval;
pub(crate) mod fit;
mod peers;
mod project;
mod remote;
#[cfg(test)]
mod shipped;
pub(crate) mod train;
mod trainer;
