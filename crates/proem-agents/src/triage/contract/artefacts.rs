//! What several tools name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ID, closed_list};

closed_list! {
    /// An artefact that a signal changes.
    AffectedArtefact {
        DeliveryState = "delivery_state",
        RaidLog = "raid_log",
        BacklogSummary = "backlog_summary",
        DecisionLog = "decision_log",
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
