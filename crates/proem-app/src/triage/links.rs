//! The questions and actions that signals led to, as they are kept with what became of each signal.
//!
//! Invariant: only ids and words of ours are kept, so that a purge of texts leaves nothing to read.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;
use proem_engine::policy::Ruling;
use proem_store::record::EscalationId;
use serde_json::{Value as Json, json};

use crate::effects::propose::{Proposal, ProposalFate};

/// The name of the questions in what is kept of a signal.
pub(super) const QUESTIONS: &str = "questions";
/// The name of the actions.
pub(super) const ACTIONS: &str = "actions";
/// The name of the part that says that the policy refused an action.
pub(super) const REFUSED: &str = "refused";
/// The name of the part that says who above rules and models judged.
pub(super) const JUDGE: &str = "judge";

/// The consequences of signals, by signal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalLinks(BTreeMap<SignalRevision, LinksOfSignal>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LinksOfSignal {
    questions: BTreeSet<EscalationId>,
    actions: BTreeSet<String>,
    is_refused: bool,
    judge: Option<&'static str>,
}

impl SignalLinks {
    fn of(&mut self, signal: &SignalRevision) -> &mut LinksOfSignal {
        self.0.entry(signal.clone()).or_default()
    }

    /// Takes in a question about signals.
    pub(super) fn add_question(&mut self, signals: &[SignalRevision], question: &EscalationId) {
        for signal in signals {
            self.of(signal).questions.insert(question.clone());
        }
    }

    /// Takes in an action that answers signals, and the question that asks about it.
    pub(super) fn add_proposal(&mut self, signals: &[SignalRevision], proposal: &Proposal) {
        let key = match &proposal.fate {
            ProposalFate::Duplicate(of) => Some(*of),
            ProposalFate::Unwritten => None,
            ProposalFate::Written(_) | ProposalFate::Known(_) => proposal.key,
        };
        for signal in signals {
            let links = self.of(signal);
            links.actions.extend(key.map(|key| key.to_string()));
            links.questions.extend(proposal.escalation.clone());
            links.is_refused |= matches!(proposal.decision.ruling, Ruling::Refusal(_));
        }
    }

    /// Takes in who above rules and models judged a signal.
    pub(super) fn set_judge(&mut self, signal: &SignalRevision, by: &'static str) {
        self.of(signal).judge = Some(by);
    }

    pub(super) fn join(&mut self, other: Self) {
        for (signal, links) in other.0 {
            let known = self.of(&signal);
            known.questions.extend(links.questions);
            known.actions.extend(links.actions);
            known.is_refused |= links.is_refused;
            known.judge = links.judge.or(known.judge);
        }
    }

    /// The outcome of a signal, with its consequences beside it.
    pub(super) fn outcome_with_links(&self, signal: &SignalRevision, outcome: Json) -> Json {
        let (Some(links), Json::Object(mut parts)) = (self.0.get(signal), outcome.clone()) else { return outcome };
        if !links.questions.is_empty() {
            parts.insert(QUESTIONS.to_owned(), json!(links.questions));
        }
        if !links.actions.is_empty() {
            parts.insert(ACTIONS.to_owned(), json!(links.actions));
        }
        if links.is_refused {
            parts.insert(REFUSED.to_owned(), true.into());
        }
        if let Some(judge) = links.judge {
            parts.insert(JUDGE.to_owned(), judge.into());
        }
        Json::Object(parts)
    }
}
