//! Comments in words of ours, from a template without any text of somebody else's.

use proem_engine::{
    effect::key::SignalRevision,
    policy::{SourceAgreement, SourceConflict},
};
use serde_json::json;

use super::{
    PlannedComment,
    group::{GroupedSignals, ticket_of},
    principals::agreement,
};
use crate::{
    charter::ProjectCharter,
    sanitise::SignalEffects,
    signal::{ProjectSignal, SignalSource},
};

/// A comment for a ticket that says nothing.
pub(super) fn template_comment(group: &GroupedSignals<'_>, charter: &ProjectCharter) -> Option<PlannedComment> {
    let leader = group.leader();
    let is_clean = leader.classification.effects == SignalEffects::ByPolicy;
    let ticket = ticket_of(leader).filter(|_| is_clean && leader.signal.source == SignalSource::Jira)?;
    let cause = SignalRevision::from(leader.signal);
    let action = ticket.clone().map(|key| {
        json!({
            "action": "jira_comment",
            "target": key,
            "fields": { "body": "A description is missing." },
            "causes": [{ "id": cause.id, "revision": cause.revision }],
        })
    });
    let signals: Vec<&ProjectSignal> = group.members().map(|member| member.signal).collect();
    Some(PlannedComment {
        action,
        cause,
        sources: SourceAgreement { agreeing: agreement(&signals, charter), conflict: SourceConflict::Absent },
    })
}
