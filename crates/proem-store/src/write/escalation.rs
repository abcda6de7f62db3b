//! Escalations: asked, decided once, or withdrawn.

use std::collections::BTreeSet;

use proem_engine::effect::TransitionRefused;

use super::content::write_contents;
use super::cycle::{ArtefactAnswer, is_chain};
use super::person;
use super::proposal::ProposalAnswer;
use super::transition::TransitionAnswer;
use crate::error::Error;
use crate::failpoint;
use crate::record::{
    DecisionEffect, EscalationId, EscalationState, EscalationWithdrawal, HashedContent, NewDecision, NewEscalation,
    Project,
};
use crate::sql::{Tables, Transaction, Write, params};
use crate::store::Store;

/// The outcome of an event for an escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscalationAnswer {
    /// It happened.
    Done,
    /// Nothing did: it is there already.
    Stands(EscalationState),
}

/// The outcome of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionAnswer {
    /// It is written, with everything that follows.
    Done {
        /// The outcome for the action that it proposes, if it proposes one.
        proposal: Option<ProposalAnswer>,
    },
    /// Nothing is written, for it was decided or withdrawn before.
    Stands(EscalationState),
    /// Nothing is written, for what it does to an action is refused.
    Refused(TransitionRefused),
    /// Nothing is written, for somebody wrote a version of one of the artefacts meanwhile.
    ArtefactMoved,
}

impl Store {
    /// Asks persons to decide. A second escalation of the same id is the same, whatever it says.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] for fewer than [`NewEscalation::FEWEST`] or more than [`NewEscalation::MOST`] options, or
    /// two with one id. [`Error::Unusable`].
    pub async fn escalate(&self, escalation: NewEscalation) -> Result<EscalationAnswer, Error> {
        failpoint::beside("before", "escalation");
        let answer = self.write(escalation).await?;
        failpoint::beside("after", "escalation");
        Ok(answer)
    }

    /// Writes what a person decided and what follows from it, if nobody has decided before: no process can end between
    /// the two.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an escalation or option, [`Error::Conflict`] unless a person decides or if what
    /// follows is incomplete, [`Error::Unusable`].
    pub async fn decide(&self, decision: NewDecision) -> Result<DecisionAnswer, Error> {
        failpoint::beside("before", "decision");
        let answer = self.write(decision).await?;
        failpoint::beside("after", "decision");
        Ok(answer)
    }

    /// Takes an escalation back that nobody has decided.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an escalation, [`Error::Unusable`].
    pub async fn withdraw(&self, withdrawal: EscalationWithdrawal) -> Result<EscalationAnswer, Error> {
        self.write(withdrawal).await
    }
}

impl Write for NewEscalation {
    type Answer = EscalationAnswer;
    const NAME: &'static str = "escalate";

    fn write(&self, to: &mut Transaction<'_>) -> Result<EscalationAnswer, Error> {
        let ids: BTreeSet<&str> = self.options.iter().map(|option| option.id.as_str()).collect();
        if !(Self::FEWEST..=Self::MOST).contains(&self.options.len()) || ids.len() != self.options.len() {
            let (fewest, most) = (Self::FEWEST, Self::MOST);
            let why = format!(
                "the escalation `{}` needs {fewest} to {most} options with ids of their own; give them",
                self.id.0
            );
            return Err(Error::Conflict(why));
        }
        if let Some(state) = escalation_state(to.tables, &self.project, &self.id)? {
            return Ok(EscalationAnswer::Stands(state));
        }
        let at = to.at(self.at);
        let actor = self.actor.to_string();
        to.tables.execute(
            "INSERT INTO escalations (project, id, actor, at, action, reason, sensitivity, deadline, state) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'open')",
            params![
                self.project.0,
                self.id.0,
                actor,
                at.0,
                self.action.map(|action| action.to_string()),
                self.reason,
                self.sensitivity,
                self.deadline.map(|deadline| deadline.0),
            ],
        )?;
        for (place, option) in (0_i64..).zip(&self.options) {
            let form = option.action.as_ref().map(HashedContent::new);
            write_contents(to.tables, &form)?;
            to.tables.execute(
                "INSERT INTO escalation_options (project, escalation, place, id, actor, label, form) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
                (&self.project.0, &self.id.0, place, &option.id, &actor, &option.label, form.map(|form| form.hash)),
            )?;
        }
        Ok(EscalationAnswer::Done)
    }
}

impl Write for NewDecision {
    type Answer = DecisionAnswer;
    const NAME: &'static str = "decide";

    fn write(&self, to: &mut Transaction<'_>) -> Result<DecisionAnswer, Error> {
        person::must_be(&self.actor, "decides")?;
        match escalation_state(to.tables, &self.project, &self.escalation)? {
            None => return Err(no_such_escalation(&self.escalation)),
            Some(EscalationState::Open) => {}
            Some(state) => return Ok(DecisionAnswer::Stands(state)),
        }
        let (project, id) = (&self.project.0, &self.escalation.0);
        let option = "SELECT 1 FROM escalation_options WHERE (project, escalation, id) = (?, ?, ?)";
        if to.tables.row(option, (project, id, &self.option), |_| Ok(()))?.is_none() {
            let why =
                format!("the escalation `{id}` has no option `{}`; look at it and take one that it has", self.option);
            return Err(Error::NotFound(why.into()));
        }
        // Steps that may be refused come before anything is set, because other lines of the same transaction still
        // count.
        if !is_chain(to.tables, &self.project, self.artefacts.iter().map(|edit| &edit.version))? {
            return Ok(DecisionAnswer::ArtefactMoved);
        }
        if let DecisionEffect::Transition(transition) = &self.effect
            && let TransitionAnswer::Refused(refused) = transition.write(to)?
        {
            return Ok(DecisionAnswer::Refused(refused));
        }
        let at = to.at(self.at);
        to.tables.execute(
            "INSERT INTO decisions (project, escalation, actor, at, option, words) VALUES (?, ?, ?, ?, ?, ?)",
            (project, id, self.actor.to_string(), at.0, &self.option, &self.words),
        )?;
        let ended = "UPDATE escalations SET state = 'decided', ended = ? WHERE (project, id) = (?, ?)";
        to.tables.execute(ended, (at.0, project, id))?;
        let proposal = match &self.effect {
            DecisionEffect::Proposal(action) => Some(action.write(to)?),
            DecisionEffect::Nothing | DecisionEffect::Transition(_) => None,
        };
        for edit in &self.artefacts {
            if let ArtefactAnswer::Moved { newest } = edit.write(to)? {
                let kind = &edit.version.kind;
                return Err(Error::Conflict(format!("a version of the {kind} does not follow version {newest}")));
            }
        }
        Ok(DecisionAnswer::Done { proposal })
    }
}

impl Write for EscalationWithdrawal {
    type Answer = EscalationAnswer;
    const NAME: &'static str = "withdraw";

    fn write(&self, to: &mut Transaction<'_>) -> Result<EscalationAnswer, Error> {
        match escalation_state(to.tables, &self.project, &self.escalation)? {
            None => return Err(no_such_escalation(&self.escalation)),
            Some(EscalationState::Open) => {}
            Some(state) => return Ok(EscalationAnswer::Stands(state)),
        }
        let at = to.at(self.at);
        to.tables.execute(
            "UPDATE escalations SET state = 'withdrawn', ended = ? WHERE (project, id) = (?, ?)",
            (at.0, &self.project.0, &self.escalation.0),
        )?;
        Ok(EscalationAnswer::Done)
    }
}

fn no_such_escalation(id: &EscalationId) -> Error {
    Error::NotFound(format!("no escalation has the id `{}` here; look at those there are", id.0).into())
}

/// Its state. `None` if there is no such escalation.
fn escalation_state(tables: &Tables, project: &Project, id: &EscalationId) -> Result<Option<EscalationState>, Error> {
    let stored: Option<String> =
        tables
            .row("SELECT state FROM escalations WHERE (project, id) = (?, ?)", (&project.0, &id.0), |row| row.get(0))?;
    // The table takes no other words.
    Ok(stored.map(|word| match word.as_str() {
        "open" => EscalationState::Open,
        "decided" => EscalationState::Decided,
        _ => EscalationState::Withdrawn,
    }))
}
