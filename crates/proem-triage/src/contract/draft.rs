//! A mail before anybody has approved it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ID, MAX_SIGNALS, closed_list};

/// Drafts a mail to a stakeholder, to be held or approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DraftCommunication {
    /// The project.
    #[schemars(length(max = 36), extend("format" = "uuid"))]
    pub project_id: String,
    /// What kind of mail it is.
    pub communication_type: CommunicationType,
    /// Who gets it.
    pub recipient: CommunicationRecipient,
    /// One line.
    #[schemars(length(max = 200))]
    pub subject: String,
    /// Plain text in impersonal active voice.
    #[schemars(length(max = 8_000))]
    pub body: String,
    /// How it sounds.
    pub tone: CommunicationTone,
    /// How urgent it is.
    pub urgency: CommunicationUrgency,
    /// Why it is written; not part of it.
    #[schemars(length(max = 2_000))]
    pub context: String,
    /// Whether a person must approve it. It may ask for more than the rules do, never for less.
    pub requires_approval: bool,
    /// How long it is held, in minutes. It may be longer than the rules say, never shorter.
    #[schemars(range(min = 0, max = 10_080))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_duration_minutes: Option<u32>,
    /// Ids of the signals that it answers.
    #[schemars(length(max = MAX_SIGNALS), inner(length(max = MAX_ID)))]
    pub signals_referenced: Vec<String>,
}

/// Who gets a mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct CommunicationRecipient {
    /// The address.
    #[schemars(length(max = 254))]
    pub email: String,
    /// The name.
    #[schemars(length(max = MAX_ID))]
    pub name: String,
    /// What the person does.
    #[schemars(length(max = MAX_ID))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Whether the person is outside the organisation. Code computes it again from the address.
    pub is_external: bool,
}

closed_list! {
    /// What kind of mail it is.
    CommunicationType {
        StatusUpdate = "status_update",
        EscalationNotice = "escalation_notice",
        FollowUp = "follow_up",
        Request = "request",
        Acknowledgement = "acknowledgement",
    }
}

closed_list! {
    /// How a mail sounds.
    CommunicationTone {
        Formal = "formal",
        Professional = "professional",
        Casual = "casual",
    }
}

closed_list! {
    /// How urgent a mail is.
    CommunicationUrgency {
        Urgent = "urgent",
        Normal = "normal",
        Low = "low",
    }
}
