//! The text that a template becomes, up to a limit.

use super::error::{RenderFailure, render_problem};

/// The most bytes of one rendered text: nested loops multiply.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Text up to a limit.
#[derive(Debug, Default)]
pub(super) struct BoundedText {
    text: String,
}

impl BoundedText {
    pub(super) fn push(&mut self, more: &str) -> Result<(), RenderFailure> {
        if self.text.len().saturating_add(more.len()) > MAX_BYTES {
            return render_problem(format!("its text is larger than {MAX_BYTES} bytes"));
        }
        self.text.push_str(more);
        Ok(())
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
