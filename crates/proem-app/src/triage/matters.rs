//! Questions about a matter that a person has been asked about and has not decided.
//!
//! Invariants: a signal of which a cycle says that a person is asked is named by an open question. A question of which
//! no option acts is asked anew with all its signals, so that nobody reads the same question twice. One with an option
//! that acts stays as it was displayed, and the new signals have a question beside it.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;
use proem_guard::LabelTree;
use proem_store::query::EscalationRow;
use proem_store::record::{EscalationId, EscalationState, EscalationWithdrawal};
use proem_triage::plan::{CyclePlan, PlannedQuestion, SignalOutcomeKind};

use super::cycle_report::MOST_CAUSES;
use super::desk::TriageDesk;
use crate::effects::escalations::{self, EscalationCase};
use crate::error::Error;
use crate::when;

/// The name of what a question is asked anew for.
const CAME_SINCE: &str = "came since";
/// The name of what it was about before, the latest first.
const ASKED_BEFORE: &str = "asked before";

/// The open questions of a project by their matters.
pub(super) type OpenMatters = BTreeMap<EscalationId, Vec<EscalationRow>>;

/// The parts of an open question that is asked anew with more signals.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EarlierCase {
    causes: Vec<SignalRevision>,
    about: Option<LabelTree>,
}

impl EarlierCase {
    /// The signals of both, the new ones first.
    pub(super) fn with_causes(&self, new: &[SignalRevision]) -> Vec<SignalRevision> {
        let before = self.causes.iter().filter(|cause| !new.contains(cause));
        new.iter().chain(before).cloned().collect()
    }

    /// The subjects of both, in one list however often it was asked.
    pub(super) fn with_about(&self, new: &LabelTree) -> LabelTree {
        let Some(about) = &self.about else { return new.clone() };
        let mut before = Vec::new();
        match about {
            LabelTree::Map(parts) if parts.get(CAME_SINCE).is_some() => {
                before.extend(parts.get(CAME_SINCE).cloned());
                if let Some(LabelTree::List(earlier)) = parts.get(ASKED_BEFORE) {
                    before.extend(earlier.iter().cloned());
                }
            }
            whole => before.push(whole.clone()),
        }
        LabelTree::map([(CAME_SINCE, new.clone()), (ASKED_BEFORE, LabelTree::list(before))])
    }
}

impl TriageDesk<'_> {
    /// The open questions by their matters. One that names none is its own.
    pub(super) async fn open_matters(&self) -> Result<OpenMatters, Error> {
        let mut matters = OpenMatters::new();
        for row in self.desk.store.escalations(&self.desk.owner, Some(EscalationState::Open)).await? {
            let matter = escalations::escalation_case(&row).and_then(|case| case.matter).map(EscalationId);
            matters.entry(matter.unwrap_or_else(|| row.id.clone())).or_default().push(row);
        }
        Ok(matters)
    }

    /// Takes an open question back that is to be asked anew with more signals; what it had, or `None` if it stays.
    pub(super) async fn take_back(
        &self,
        question: &PlannedQuestion,
        standing: &[EscalationRow],
    ) -> Result<Option<EarlierCase>, Error> {
        let [row] = standing else { return Ok(None) };
        let acts = row.action.is_some()
            || row.options.iter().any(|option| option.action.is_some())
            || question.options.iter().any(|option| option.action.is_some());
        let Some(EscalationCase { causes, about, .. }) = escalations::escalation_case(row).filter(|_| !acts) else {
            return Ok(None);
        };
        // The arguments about the earlier options go to the new ones.
        let about = about.and_then(|about| escalations::split_option_sides(&about).0);
        let earlier = EarlierCase { causes, about };
        if earlier.with_causes(&question.causes).len() > MOST_CAUSES {
            return Ok(None);
        }
        let withdrawal = EscalationWithdrawal {
            escalation: row.id.clone(),
            project: self.desk.owner.clone(),
            actor: self.system(),
            at: when::time_now(),
        };
        self.desk.store.withdraw(withdrawal).await?;
        Ok(Some(earlier))
    }
}

/// Whether open questions name every signal of which the plan says that this question asks about it.
pub(super) fn are_named(question: &PlannedQuestion, standing: &[EscalationRow], plan: &CyclePlan) -> bool {
    let cases = standing.iter().filter_map(escalations::escalation_case);
    let named: BTreeSet<SignalRevision> = cases.flat_map(|case| case.causes).collect();
    let escalated = |cause: &SignalRevision| {
        plan.outcomes.iter().any(|outcome| outcome.id == *cause && outcome.kind == SignalOutcomeKind::Escalated)
    };
    let is_elsewhere = |cause: &SignalRevision| {
        plan.questions.iter().any(|other| other.subject != question.subject && other.causes.contains(cause))
    };
    question.causes.iter().all(|cause| named.contains(cause) || !escalated(cause) || is_elsewhere(cause))
}
