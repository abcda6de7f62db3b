//! Training and measuring the selection of tools.

pub(crate) mod eval;
pub(crate) mod fit;
mod peers;
mod project;
pub(crate) mod public_sets;
mod remote;
#[cfg(test)]
mod shipped_data;
pub(crate) mod train;
mod trainer;
