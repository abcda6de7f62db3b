//! Contained texts and their places in a section.

use std::sync::Arc;

use proem_guard::ContainedText;
use proem_text::Label;

/// Contained text where it is in a section.
#[derive(Debug)]
pub(crate) struct PlacedContainment {
    /// The byte of the section's text that its opening delimiter begins at.
    pub(crate) at: usize,
    pub(crate) contained: Arc<ContainedText>,
}

/// The join of the labels of what was contained.
pub(crate) fn label_of(contained: &[PlacedContainment]) -> Label {
    contained.iter().fold(Label::trusted(), |label, placed| label.join(placed.contained.label()))
}
