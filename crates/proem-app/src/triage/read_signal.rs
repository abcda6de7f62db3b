//! Signals as they were read from the records.

use proem_guard::LabelTree;
use proem_triage::{ProjectSignal, SanitisedSignal};

/// A signal with what of it may go on.
pub(super) struct ReadSignal {
    pub(super) signal: ProjectSignal,
    pub(super) sanitised: SanitisedSignal,
}

/// A signal that was read and left alone.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftSignal {
    /// Its short id.
    pub handle: String,
    /// The writer, as the signal's source says.
    pub sender: LabelTree,
    /// Its name.
    pub subject: LabelTree,
    /// Why nothing follows from it, in words of ours.
    pub why: &'static str,
}
