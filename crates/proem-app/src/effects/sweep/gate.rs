//! The gate before an action: what the policy, the records and the clock of this moment make of one that is due.

use proem_engine::effect::{ActionEvent, ActionState, BytesHash, HoldCondition};
use proem_engine::policy::{AutonomyLevel, Decision, DecisionMoment, Permit, ProposedAction, Ruling};
use proem_guard::check::HoldMinutes;
use proem_store::query::{ActionDetail, ActionRow, EvidenceWanted, StoredEvidence};
use proem_store::record::CreditScope;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::super::desk::ActionDesk;
use super::super::drafting::{ActionDraft, DraftRefusal, draft_action};
use super::super::queue::approved_at;
use super::super::ruling::{ActionReading, ReadAction, RulingTerms};
use crate::error::Error;
use crate::when;

/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

/// An action that may be performed, as its form says it.
pub(super) struct DueReading {
    action: ProposedAction,
    reading: ActionReading,
}

/// Why an action can't be read.
pub(super) enum DueProblem {
    /// Its texts are gone.
    Gone,
    /// Its form is none.
    Unreadable(String),
}

/// The current ruling on an action that is due.
pub(super) enum GateAnswer {
    /// It may be taken up.
    Open(Box<OpenGate>),
    /// It has no bytes.
    Undrafted(DraftRefusal),
    /// This happens to it instead, for this reason, with this account.
    Happens(ActionEvent, String, Json),
    /// Nothing: somebody has changed it, or effects are blocked.
    Undue,
}

/// An action that may be taken up, with all that is needed for it.
pub(super) struct OpenGate {
    pub(super) permit: Permit,
    /// The conditions of a hold that it does not meet.
    pub(super) unmet: Vec<HoldCondition>,
    /// The decision as it is kept.
    pub(super) account: Json,
    pub(super) bytes: ExactBytes,
}

/// The bytes of an action with their hash.
pub(super) struct ExactBytes {
    pub(super) draft: ActionDraft,
    pub(super) hash: BytesHash,
}

impl ActionDesk<'_> {
    /// Reads an action that may be performed, without the records. `None` where that is not what becomes of it.
    ///
    /// # Errors
    ///
    /// If the data inside the program are damaged.
    pub(super) fn due_reading(&self, row: &ActionRow) -> Result<Option<Result<DueReading, DueProblem>>, Error> {
        if !matches!(row.state, ActionState::Held | ActionState::Approved | ActionState::Resend) {
            return Ok(None);
        }
        Ok(Some(match row.form.as_deref().map(|form| ProposedAction::stored(form, &self.policy)) {
            None => Err(DueProblem::Gone),
            Some(Err(problem)) => Err(DueProblem::Unreadable(problem.to_string())),
            Some(Ok(action)) => Ok(DueReading { reading: self.read_action(&action)?, action }),
        }))
    }

    /// Asks the gate about an action. `executed` is one that a person approved and that counts as executed already, though
    /// nobody has written so.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub(super) async fn gate(
        &self,
        row: &ActionRow,
        reading: &DueReading,
        executed: Option<&CreditScope>,
    ) -> Result<GateAnswer, Error> {
        let DueReading { action, reading } = reading;
        let wanted = self.evidence_wanted(action);
        let (detail, mut evidence) = self.store.action_with_evidence(row.key, wanted.clone()).await?;
        if detail.row.version != row.version {
            // Somebody has changed it since this sweep began. The next one looks again.
            return Ok(GateAnswer::Undue);
        }
        if let Some(executed) = executed {
            count_execution(&mut evidence, &wanted, executed);
        }
        let terms = RulingTerms { level: self.level(), moment: decision_moment(&detail), sources: None };
        let decision = self.ruled(ReadAction { action, reading }, row.key, terms, &evidence);
        let why = decision_reasons(&decision);
        let unmet = decision.unmet.clone();
        let account = decision.to_json();
        Ok(match decision.ruling {
            Ruling::Permit(permit) => match self.exact_bytes(&detail, action) {
                Ok(bytes) => GateAnswer::Open(Box::new(OpenGate { permit, unmet, account, bytes })),
                Err(refusal) => GateAnswer::Undrafted(refusal),
            },
            Ruling::Standstill => GateAnswer::Undue,
            Ruling::Refusal(_) => GateAnswer::Happens(ActionEvent::Refuse, why, account),
            Ruling::Hold(_) | Ruling::Approval | Ruling::Escalation => {
                GateAnswer::Happens(ActionEvent::RequireApproval, why, account)
            }
        })
    }

    /// The bytes that were recorded the first time, else new ones.
    fn exact_bytes(&self, detail: &ActionDetail, action: &ProposedAction) -> Result<ExactBytes, DraftRefusal> {
        let settings = &self.project.config.effects;
        let mut draft = draft_action(action, &detail.row.key, &self.policy, settings, when::time_now())?;
        if let Some(recorded) = &detail.bytes {
            draft.bytes = recorded.to_vec();
        }
        let hash = BytesHash(Sha256::digest(&draft.bytes).into());
        Ok(ExactBytes { draft, hash })
    }
}

/// Makes the evidence what it is once an action of this scope is written down as executed.
fn count_execution(evidence: &mut StoredEvidence, wanted: &EvidenceWanted, executed: &CreditScope) {
    if (&executed.name, &executed.kind) == (&wanted.scope.name, &wanted.scope.kind) {
        evidence.precedents = evidence.precedents.saturating_add(1).min(wanted.most);
    }
}

/// The moment at which the policy decides about a due action.
fn decision_moment(detail: &ActionDetail) -> DecisionMoment {
    match detail.row.state {
        ActionState::Held => {
            let held = detail.transitions.iter().rev().find(|made| made.to == ActionState::Held).map(|made| made.at);
            let length = detail.row.due.zip(held).map_or(0, |(due, since)| due.0.saturating_sub(since.0));
            // Rounded up: a hold is whole minutes, and the moment of writing is a little later than that of deciding.
            let minutes = u32::try_from(length.saturating_add(MINUTE - 1) / MINUTE).unwrap_or(0);
            DecisionMoment::HeldExecution { held: HoldMinutes(minutes) }
        }
        _ => DecisionMoment::ApprovedExecution { approved_at: approved_at(detail).unwrap_or(AutonomyLevel::Tactical) },
    }
}

/// The reasons of a decision in words.
pub(super) fn decision_reasons(decision: &Decision) -> String {
    decision.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use proem_store::query::CreditRow;
    use proem_store::record::Project;

    use super::*;

    #[test]
    fn what_nobody_has_written_yet_is_a_precedent_of_its_kind_alone() {
        let scope = |name: &str, kind: &str| CreditScope {
            name: name.to_owned(),
            recipient: Some([4; 32]),
            kind: kind.to_owned(),
        };
        let wanted = EvidenceWanted {
            project: Project("/p".to_owned()),
            scope: scope("note", "status"),
            signals: Vec::new(),
            most: 3,
        };
        let check = |precedents: u64, executed: CreditScope, expected: u64| {
            let mut evidence = StoredEvidence { credit: CreditRow::default(), precedents, quarantine: None };
            let counted = StoredEvidence { precedents: expected, ..evidence.clone() };
            count_execution(&mut evidence, &wanted, &executed);
            assert_eq!(evidence, counted);
        };
        check(0, scope("note", "status"), 1);
        check(2, CreditScope { recipient: None, ..scope("note", "status") }, 3);
        check(3, scope("note", "status"), 3);
        check(1, scope("note", "other"), 1);
        check(1, scope("reminder", "status"), 1);
    }
}
