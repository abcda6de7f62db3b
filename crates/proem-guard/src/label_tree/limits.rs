//! How much may be in a tree.

/// The most lists and maps that may be in each other.
pub const MAX_DEPTH: usize = 32;
/// The most values: leaves, lists and maps.
pub const MAX_VALUES: usize = 65_536;
/// The most bytes of all texts and names together.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The longest name of a value.
pub const MAX_NAME_BYTES: usize = 256;
/// The most different labels of a tree that is written.
pub const MAX_LABELS: usize = 1024;
