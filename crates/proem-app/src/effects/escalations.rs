//! Questions that people decide, each with two to five options.

use proem_engine::effect::key::SignalRevision;
use proem_engine::policy::ProposedAction;
use proem_guard::LabelTree;
use proem_store::EscalationAnswer;
use proem_store::query::EscalationRow;
use proem_store::record::{ApprovalBreadth, EscalationId, EscalationState, NewDecision};

use super::desk::ActionDesk;
use super::propose::Proposal;
use super::queue::QueueVerdict;
use crate::error::Error;
use crate::message::Hint;
use crate::operator::Operator;
use crate::when;

/// What came of a decision.
#[derive(Debug)]
pub enum DecisionResult {
    /// The option does nothing.
    Nothing,
    /// The action that the escalation is about was approved.
    Approved,
    /// The action that it is about was cancelled.
    Cancelled,
    /// The option's action went down the corridor.
    Proposed(Box<Proposal>),
}

impl ActionDesk<'_> {
    /// Escalations, the most pressing first, and of those the nearest deadline.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn escalations(&self, state: Option<EscalationState>) -> Result<Vec<EscalationRow>, Error> {
        let mut rows = self.store.escalations(&self.owner, state).await?;
        rows.sort_by_key(|row| URGENCIES.iter().position(|word| *word == row.sensitivity).unwrap_or(URGENCIES.len()));
        Ok(rows)
    }

    /// The one escalation whose id begins like that.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub async fn escalation(&self, id: &str) -> Result<EscalationRow, Error> {
        let mut found =
            self.escalations(None).await?.into_iter().filter(|row| !id.is_empty() && row.id.0.starts_with(id));
        let shown = proem_guard::show::terminal_str(id);
        match (found.next(), found.next()) {
            (Some(row), None) => Ok(row),
            (None, _) => {
                Err(Error::invalid(format!("no escalation has the id `{shown}`")).hinting(Hint::ListEscalations))
            }
            (Some(_), Some(_)) => {
                Err(Error::invalid(format!("several escalations have the id `{shown}…`; give more of it")))
            }
        }
    }

    /// Writes what a person decided, with his own words, and lets the option's action go down the corridor.
    ///
    /// The decision is written first: whatever becomes of the action, nobody is asked again.
    ///
    /// # Errors
    ///
    /// If the option is none of its, somebody decided before, or the action can't be proposed.
    pub async fn decide(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        option: &str,
        words: &str,
    ) -> Result<DecisionResult, Error> {
        let chosen = escalation.options.iter().find(|known| known.id == option);
        let Some(chosen) = chosen else {
            let known: Vec<&str> = escalation.options.iter().map(|known| known.id.as_str()).collect();
            return Err(Error::invalid(format!(
                "`{}` is none of its options; choose one of `{}`",
                proem_guard::show::terminal_str(option),
                known.join("`, `")
            )));
        };
        // What can't be read is refused before anything is written.
        let action = chosen.action.as_deref().map(|form| ProposedAction::stored(form, &self.policy)).transpose()?;
        let decision = NewDecision {
            escalation: escalation.id.clone(),
            project: self.owner.clone(),
            actor: operator.actor().clone(),
            at: when::now(),
            option: option.to_owned(),
            words: words.to_owned(),
        };
        if let EscalationAnswer::Stands(_) = self.store.decide(decision).await? {
            return Err(Error::negative("somebody has decided it before; look at it again"));
        }
        self.follow(operator, escalation, action, words).await
    }

    /// What follows from the option.
    async fn follow(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        action: Option<ProposedAction>,
        words: &str,
    ) -> Result<DecisionResult, Error> {
        let about = match &escalation.action {
            Some(key) => Some(self.store.action(&self.owner, key).await?.row),
            None => None,
        };
        let own = |row: &proem_store::query::ActionRow, action: &ProposedAction| row.content == action.content();
        match (about, action) {
            (Some(row), Some(action)) if own(&row, &action) => {
                self.say(operator, &row, QueueVerdict::Approve, ApprovalBreadth::Single).await?;
                Ok(DecisionResult::Approved)
            }
            (Some(row), None) if !row.state.is_end() => {
                let verdict = QueueVerdict::Cancel { why: words.to_owned() };
                self.say(operator, &row, verdict, ApprovalBreadth::Single).await?;
                Ok(DecisionResult::Cancelled)
            }
            (_, Some(action)) => Ok(DecisionResult::Proposed(Box::new(self.take_in(action).await?))),
            (_, None) => Ok(DecisionResult::Nothing),
        }
    }
}

/// How soon something has to be decided, the soonest first.
const URGENCIES: [&str; 4] = ["immediate", "today", "this_week", "no_deadline"];

/// The name of the reasons in a written case.
pub(crate) const BECAUSE: &str = "because";
/// The name of the action in a written case.
pub(crate) const ABOUT: &str = "about";
/// The name of the signals that led to it in a written case, each with its id and revision.
pub(crate) const CAUSES: &str = "causes";
/// The name of what it is called in a written case.
pub(crate) const HEADING: &str = "heading";

/// Why a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct EscalationCase {
    /// What it is about, in a few words that may be somebody else's; `None` if nothing has a name.
    pub heading: Option<LabelTree>,
    /// The reasons.
    pub because: LabelTree,
    /// What an action that is written down nowhere else says; `None` for one that is, and without an action.
    pub about: Option<LabelTree>,
    /// The signals that led to it, as far as they are written down with it.
    pub causes: Vec<SignalRevision>,
}

/// The case of an escalation; `None` once its text is gone.
#[must_use]
pub fn case(row: &EscalationRow) -> Option<EscalationCase> {
    let tree = LabelTree::read(&row.reason).ok()?;
    let bare = |because: &LabelTree| EscalationCase {
        heading: None,
        because: because.clone(),
        about: None,
        causes: Vec::new(),
    };
    let LabelTree::Map(fields) = &tree else { return Some(bare(&tree)) };
    let Some(because) = fields.get(BECAUSE) else { return Some(bare(&tree)) };
    Some(EscalationCase {
        heading: fields.get(HEADING).filter(|heading| **heading != LabelTree::Null).cloned(),
        because: because.clone(),
        about: fields.get(ABOUT).cloned(),
        causes: causes(fields.get(CAUSES)),
    })
}

/// Ids and revisions, which are words of ours.
fn causes(tree: Option<&LabelTree>) -> Vec<SignalRevision> {
    let Some(LabelTree::List(causes)) = tree else { return Vec::new() };
    let own = |tree: Option<&LabelTree>| match tree {
        Some(LabelTree::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let cause = |tree: &LabelTree| {
        let LabelTree::Map(fields) = tree else { return None };
        Some(SignalRevision { id: own(fields.get("id"))?, revision: own(fields.get("revision"))? })
    };
    causes.iter().filter_map(cause).collect()
}

/// The id of an escalation as people write it.
#[must_use]
pub fn short(id: &EscalationId) -> &str {
    id.0.get(..8).unwrap_or(&id.0)
}
