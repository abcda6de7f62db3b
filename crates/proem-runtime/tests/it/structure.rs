//! Imports between files, in real repositories, friendly and hostile.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod bounds;
mod caching;
mod fixture;
mod hostile;
mod listing;
