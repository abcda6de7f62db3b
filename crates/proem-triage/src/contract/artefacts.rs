//! Descriptions that several tools share.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{ArtefactKind, MAX_ID, closed_list};

impl JsonSchema for ArtefactKind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ArtefactKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}

closed_list! {
    /// What may be done if an option is chosen. What is never permitted has no word here.
    EscalationActionType {
        ArtefactUpdate = "artefact_update",
        NotificationInternal = "notification_internal",
        JiraComment = "jira_comment",
        EmailStakeholder = "email_stakeholder",
        JiraStatusChange = "jira_status_change",
        EmailExternal = "email_external",
        JiraCreateTicket = "jira_create_ticket",
        ScopeChange = "scope_change",
        MilestoneChange = "milestone_change",
    }
}

/// The one action that follows from an option; the policy judges it again when it is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct EscalationAction {
    /// What is done.
    pub action: EscalationActionType,
    /// What it is done to: a ticket, an address, an artefact.
    #[schemars(length(max = MAX_ID))]
    pub target: String,
    /// What is written or set.
    #[schemars(length(max = 2_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
