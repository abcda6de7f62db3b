//! The circle that reads a source: the organisation, unless the project's file names another.
//!
//! Law: a signal whose source no line names is internal. Of several lines the one that names more than the source counts,
//! and of equal ones the one with the narrowest circle.

use proem_text::{Audience, Label};
use serde_json::Value as Json;

use crate::{draft::SignalDraft, signal::SignalSource};

/// The circle that reads the texts of a tracker, one of its projects, or a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceAudience {
    /// The system.
    pub source: SignalSource,
    /// The key of the project whose tickets it is about. `None` for all of the system.
    pub project: Option<String>,
    /// The address whose mails it is about, where it is among the recipients. `None` for all of the system.
    pub mailbox: Option<String>,
    /// The circle.
    pub audience: Audience,
}

impl SourceAudience {
    fn is_about(&self, draft: &SignalDraft) -> bool {
        let is_project = |key: &String| draft_project_key(draft).is_some_and(|named| named.eq_ignore_ascii_case(key));
        let is_mailbox = |address: &String| {
            let fields = draft.fields.iter().filter(|(name, _)| matches!(*name, "to" | "cc"));
            fields.into_iter().any(|(_, value)| names_address(value, address))
        };
        self.source == draft.source
            && self.project.as_ref().is_none_or(is_project)
            && self.mailbox.as_ref().is_none_or(is_mailbox)
    }

    /// Whether it names more than the system.
    const fn is_precise(&self) -> bool {
        self.project.is_some() || self.mailbox.is_some()
    }
}

/// The label that all texts of a draft have beside those of their fields.
pub(super) fn audience_label(draft: &SignalDraft, audiences: &[SourceAudience]) -> Label {
    let lines = || audiences.iter().filter(|line| line.is_about(draft));
    let is_precise = lines().any(SourceAudience::is_precise);
    let circle = lines().filter(|line| line.is_precise() == is_precise).map(|line| line.audience).max();
    Label::trusted().narrowed_to(circle.unwrap_or(Audience::Internal))
}

/// The key of the project that a draft is about: as it says, else as its ticket's key begins.
fn draft_project_key(draft: &SignalDraft) -> Option<&str> {
    let of_ticket = || draft.ticket.as_deref()?.rsplit_once('-').map(|(key, _)| key);
    draft.project.as_deref().or_else(of_ticket)
}

/// Whether an address is in a list of recipients, however the source writes them.
fn names_address(value: &Json, address: &str) -> bool {
    match value {
        Json::String(text) => {
            let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '>' | '"'));
            words.any(|word| word.eq_ignore_ascii_case(address))
        }
        Json::Array(items) => items.iter().any(|item| names_address(item, address)),
        Json::Object(fields) => fields.values().any(|field| names_address(field, address)),
        _ => false,
    }
}
