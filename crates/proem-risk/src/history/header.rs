//! The header of a commit.

use super::{Mends, ObjectId};

/// The facts of a commit besides its parents, files and subject.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitHeader {
    pub(super) id: ObjectId,
    /// When it says that it was made, in seconds since 1970; whatever a clock said.
    pub(super) date: i64,
    /// The number of its author's identity.
    pub(super) identity: u32,
    pub(super) is_merge: bool,
    pub(super) mends: Mends,
}
