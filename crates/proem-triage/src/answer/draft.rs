//! Mails and comments that a model worded.

use std::collections::BTreeSet;

use proem_engine::effect::key::SignalRevision;
use proem_guard::{Untrusted, show};
use serde_json::{Value as Json, json};

use super::{
    AnswerRemark, AnswerScope, decode_arguments,
    wording::{DraftFault, DraftRules},
};
use crate::contract::{CommunicationUrgency, DraftCommunication, JiraComment};

/// A mail that a model worded, to somebody whom the project knows.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelDraft {
    /// The signals that it answers.
    pub signals: BTreeSet<SignalRevision>,
    /// The address, as the project's file writes it.
    pub recipient: String,
    /// Whether that is outside, as the project's file has it.
    pub is_external: bool,
    /// Whether the model calls it urgent, for which a person hears of it sooner and nothing else changes.
    pub is_urgent: bool,
    /// The faults of its wording.
    pub faults: BTreeSet<DraftFault>,
    /// The action without its causes, as an agent gives it.
    action: Untrusted<Json>,
}

impl ModelDraft {
    /// Reads a draft.
    ///
    /// # Errors
    ///
    /// [`AnswerRemark`] if it is for another project, to nobody known or about nothing that the model was given.
    pub fn read(arguments: &Untrusted<Json>, scope: AnswerScope<'_>, rules: &DraftRules) -> Result<Self, AnswerRemark> {
        let said: DraftCommunication = decode_arguments(arguments).ok_or(AnswerRemark::NotAsked)?;
        if !scope.is_project(&said.project_id) {
            return Err(AnswerRemark::OtherProject);
        }
        let known = scope.charter.stakeholder(said.recipient.email.trim()).ok_or(AnswerRemark::UnknownRecipient)?;
        let (signals, is_beyond) = scope.named(&said.signals_referenced);
        if signals.is_empty() || is_beyond {
            return Err(AnswerRemark::UnknownSignal);
        }
        let faults = rules.faults(&said.subject, &said.body);
        let recipient = known.address.clone();
        let is_external = scope.charter.is_outside(&recipient);
        let subject = said.subject.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut action = json!({
            // The list that it is on follows from the address, whatever the model says of it.
            "action": if is_external { "email_external" } else { "email_stakeholder" },
            "target": recipient,
            "fields": { "subject": subject, "body": said.body },
            "requires_approval": said.requires_approval || said.recipient.is_external || !faults.is_empty(),
            "note": {
                "type": said.communication_type.as_str(),
                "tone": said.tone.as_str(),
                "urgency": said.urgency.as_str(),
                "context": said.context,
            },
        });
        if let (Some(minutes), Json::Object(fields)) = (said.hold_duration_minutes, &mut action) {
            fields.insert("hold_duration_minutes".to_owned(), json!(minutes));
        }
        let action = Untrusted::new(action, arguments.label().clone());
        let is_urgent = said.urgency == CommunicationUrgency::Urgent;
        Ok(Self { signals, recipient, is_external, is_urgent, faults, action })
    }

    /// The action that it comes to, because of these signals.
    #[must_use]
    pub fn action(&self, causes: &[SignalRevision], approval: DraftApproval) -> Untrusted<Json> {
        with_causes(&self.action, causes, approval)
    }

    /// Its subject and text, as it was worded.
    #[must_use]
    pub fn texts(&self) -> [Untrusted<String>; 2] {
        ["subject", "body"].map(|name| part_text(&self.action, "fields", name))
    }

    /// The kind of mail, its tone, its urgency and the reason for it, as the model says: none of it is sent.
    #[must_use]
    pub fn note(&self) -> [(&'static str, Untrusted<String>); 4] {
        ["type", "tone", "urgency", "context"].map(|name| (name, part_text(&self.action, "note", name)))
    }
}

/// A text of a part of an action.
fn part_text(action: &Untrusted<Json>, part: &str, name: &str) -> Untrusted<String> {
    action.clone().map(|action| {
        let text = action.get(part).and_then(|fields| fields.get(name)).and_then(Json::as_str);
        text.unwrap_or_default().to_owned()
    })
}

/// Whether the signals behind something that was worded let it go on without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftApproval {
    /// As the policy has it.
    ByPolicy,
    /// One of them is suspected: a person approves it.
    Needed,
}

/// A comment that a model worded, on a ticket that a signal is about.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelComment {
    /// The signals that it answers.
    pub signals: BTreeSet<SignalRevision>,
    /// The faults of its wording.
    pub faults: BTreeSet<DraftFault>,
    action: Untrusted<Json>,
}

impl ModelComment {
    /// Reads a comment.
    ///
    /// # Errors
    ///
    /// [`AnswerRemark`] if it names a ticket or a signal that the model was not given.
    pub fn read(arguments: &Untrusted<Json>, scope: AnswerScope<'_>, rules: &DraftRules) -> Result<Self, AnswerRemark> {
        let said: JiraComment = decode_arguments(arguments).ok_or(AnswerRemark::NotAsked)?;
        let (signals, is_beyond) = scope.named(&said.signals_referenced);
        if signals.is_empty() || is_beyond {
            return Err(AnswerRemark::UnknownSignal);
        }
        let about: Vec<_> =
            scope.signals.iter().copied().filter(|signal| signals.contains(&SignalRevision::from(*signal))).collect();
        let named = AnswerScope { signals: &about, ..scope };
        let ticket = named.ticket(said.ticket_id.trim()).ok_or(AnswerRemark::UnknownTicket)?;
        let mut faults = rules.faults("", &said.body);
        // A comment may state a fact and nothing else.
        faults.remove(&DraftFault::NoNextStep);
        // The key is the signal's own, so its label goes with that of the words, and so does all else that the model read:
        // whoever approves the comment sees where it comes from.
        let beside = scope.beside_thread(ticket);
        let label = arguments.label().join(ticket.label()).join(&beside);
        let key = show::exact_json(ticket);
        let action = json!({
            "action": "jira_comment",
            "target": key,
            "fields": { "body": said.body },
            "requires_approval": said.requires_approval.unwrap_or_default() || !faults.is_empty() || !beside.is_trusted(),
        });
        Ok(Self { signals, faults, action: Untrusted::new(action, label) })
    }

    /// Its text, as it was worded.
    #[must_use]
    pub fn text(&self) -> Untrusted<String> {
        part_text(&self.action, "fields", "body")
    }

    /// The action that it comes to, because of these signals.
    #[must_use]
    pub fn action(&self, causes: &[SignalRevision], approval: DraftApproval) -> Untrusted<Json> {
        with_causes(&self.action, causes, approval)
    }
}

/// An action with its causes. A flag that asks for approval is added where one is needed, and none is taken away.
pub(super) fn with_causes(
    action: &Untrusted<Json>,
    causes: &[SignalRevision],
    approval: DraftApproval,
) -> Untrusted<Json> {
    let causes: Vec<Json> = causes.iter().map(|cause| json!({ "id": cause.id, "revision": cause.revision })).collect();
    action.clone().map(|mut action| {
        if let Json::Object(fields) = &mut action {
            fields.insert("causes".to_owned(), json!(causes));
            if approval == DraftApproval::Needed {
                fields.insert("requires_approval".to_owned(), json!(true));
            }
        }
        action
    })
}
