//! Prints the first turn's question of a mission, without asking it.

use proem_agents::lisp::prompt::{PreviewPart, preview_parts};
use proem_agents::prompt_call::PreparedRequest;

use super::Mission;
use crate::error::Error;

/// The request of a mission's first turn, with its sections in the order of the specification.
#[derive(Debug, Clone)]
pub struct MissionPreview {
    /// The sections that it has.
    pub parts: Vec<PreviewPart>,
    /// The request with its account.
    pub prepared: PreparedRequest,
}

impl Mission {
    /// The request of the first turn. Nothing is sent.
    ///
    /// # Errors
    ///
    /// If it does not fit, with what is too large.
    pub fn preview(&self) -> Result<MissionPreview, Error> {
        let prepared = self.terms().prompt.request(&[])?;
        let parts = preview_parts(&self.definition, &prepared.request.assembly);
        Ok(MissionPreview { parts, prepared })
    }
}
