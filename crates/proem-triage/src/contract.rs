//! The answers of the stages of triage: nine tools, each a Rust type whose schema is its contract.
//!
//! Invariants: every text and list has a maximum; what is required on a condition is required by the schema. A value
//! that a stage computes by rules meets the same contract as one that a model writes.
//!
//! A text in one of these types was written by a stage. If it repeats a signal's words, the decoder keeps it under the
//! labels of the request, as [`proem_guard::LabelTree`] does.

mod artefacts;
mod comment;
mod draft;
mod escalation;
mod signal;

use proem_engine::{Error, contract::Contract};

use super::artefact::{self, ArtefactKind};

pub use self::{
    artefacts::{EscalationAction, EscalationActionType},
    comment::JiraComment,
    draft::{CommunicationRecipient, CommunicationTone, CommunicationType, CommunicationUrgency, DraftCommunication},
    escalation::{CreateEscalation, EscalationContext, EscalationOption, EscalationReason},
    signal::{ClassifySignal, RecommendedAction, SanitiseSignal, SignalCategory, SignalImportance, TimeSensitivity},
};

/// The most characters of an id.
pub(super) const MAX_ID: usize = 256;
/// The most characters of a sentence.
pub(super) const MAX_SENTENCE: usize = 500;
/// The most signals that one answer names.
pub(super) const MAX_SIGNALS: usize = 50;

/// The contracts of all nine tools, in the order of the stages.
///
/// # Errors
///
/// If one of the types has no end, which a test excludes.
pub fn stage_contracts() -> Result<[Contract; 9], Error> {
    Ok([
        Contract::of::<SanitiseSignal>("sanitise_signal")?,
        Contract::of::<ClassifySignal>("classify_signal")?,
        artefact::proposal_contract(ArtefactKind::DeliveryState)?,
        artefact::proposal_contract(ArtefactKind::RaidLog)?,
        artefact::proposal_contract(ArtefactKind::BacklogSummary)?,
        artefact::proposal_contract(ArtefactKind::DecisionLog)?,
        Contract::of::<DraftCommunication>("draft_communication")?,
        Contract::of::<CreateEscalation>("create_escalation")?,
        Contract::of::<JiraComment>("jira_comment")?,
    ])
}

/// A closed list of words. The order of the variants is the order of the words.
macro_rules! closed_list {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $(#[doc = concat!("Written `", $word, "`.")] #[serde(rename = $word)] $variant,)+ }

        // By hand, since a derived schema of documented variants is no `enum` of words.
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($word),+] })
            }
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word that it is written with.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The one of this word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|found| found.as_str() == word)
            }
        }
    };
}
use closed_list;
