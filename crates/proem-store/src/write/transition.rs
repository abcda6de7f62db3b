//! Transitions of an action, as the table of transitions has them.
//!
//! Invariants: standing, epoch, switch and the ledger's time are read in the transaction that writes; what the table
//! refuses leaves no trace. An approval is spent or void from the transition on that the table says.

use proem_engine::effect::{
    ActionEvent, ActionEventKind, ActionState, ApprovalChange, Authority, GateRuling, LedgerTime, RefusalRule,
    StandingApproval, Surroundings, Transition, TransitionRefused, TransitionRequest, step,
};
use proem_engine::run::Time;
use proem_guard::credential;
use proem_text::json::compact;

use super::action_standing::{self, FoundAction};
use super::amount::stored_number;
use super::content::write_contents;
use super::credit::{self, CreditChange};
use super::effects_switch;
use super::parking;
use super::performer;
use super::work;
use crate::error::{Error, Unusable};
use crate::failpoint;
use crate::record::{
    ActorKind, ApprovalBreadth, HashedContent, NewTransition, TransitionLoad, WorkKey, WorkKind, WorkWish,
    content_hash, digest_text,
};
use crate::sql::{Transaction, Write, params};
use crate::store::Store;

/// The outcome of an event for an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransitionAnswer {
    /// It happened, and is on the disk.
    Made(Box<Transition>),
    /// It is refused, and nothing is written.
    Refused(TransitionRefused),
}

impl TransitionAnswer {
    /// The transition, or why there is none.
    ///
    /// # Errors
    ///
    /// [`TransitionRefused`] if it was refused.
    pub fn made(self) -> Result<Transition, TransitionRefused> {
        match self {
            Self::Made(transition) => Ok(*transition),
            Self::Refused(refused) => Err(refused),
        }
    }
}

impl Store {
    /// Lets something happen to an action: asks [`step`] with what is read in the same transaction, and writes what
    /// comes out. While the project's effects are off, the gate withholds whatever the request says of it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an action, [`Error::Conflict`] if what has to come with the event is missing
    /// or does not fit its hash, [`Error::Unusable`].
    pub async fn transit(&self, transition: NewTransition) -> Result<TransitionAnswer, Error> {
        let what = transition.request.event.kind().as_str();
        failpoint::beside("before", what);
        let answer = self.write(transition).await?;
        failpoint::beside("after", what);
        Ok(answer)
    }

    /// Lets one thing happen and then another, both as [`Self::transit`] has it and in one transaction: what is refused
    /// of them leaves no trace, and of an error both are undone.
    ///
    /// # Errors
    ///
    /// As [`Self::transit`].
    pub async fn transit_both(&self, transitions: [NewTransition; 2]) -> Result<[TransitionAnswer; 2], Error> {
        let what = transitions.each_ref().map(|transition| transition.request.event.kind().as_str());
        what.iter().for_each(|what| failpoint::beside("before", what));
        let answers = self.write(transitions).await?;
        what.iter().for_each(|what| failpoint::beside("after", what));
        Ok(answers)
    }
}

/// The data that is stored with the transition.
#[derive(Debug, Default)]
struct KeptLoad {
    form: Option<HashedContent>,
    bytes: Option<HashedContent>,
}

impl Write for NewTransition {
    type Answer = TransitionAnswer;
    const NAME: &'static str = "transition";

    fn write(&self, to: &mut Transaction<'_>) -> Result<TransitionAnswer, Error> {
        let found = action_standing::find_action(to.tables, &self.project, &self.key)?;
        let refused = |rule| {
            let event = self.request.event.kind();
            TransitionAnswer::Refused(TransitionRefused { rule, state: found.standing.state, event })
        };
        if !speaks_for(self.actor.kind, self.request.by) {
            return Ok(refused(RefusalRule::Authority(self.request.event.kind().authority())));
        }
        if says_yes(self.request.event.kind())
            && let Some(why) = parking::parking_reason(to.tables)?
        {
            return Err(Error::Parked(why));
        }
        let around = Surroundings {
            time: LedgerTime::new(self.at, to.seen()),
            epoch: performer::performer_in_force(to.tables, &self.project)?,
            policy: self.policy,
            window: self.window,
        };
        let request = gate_transition(to, self, around.time)?;
        match step(&found.standing, &request, &around) {
            Ok(transition) => {
                let load = self.kept()?;
                let at = to.at(self.at);
                MadeTransition { new: self, found: &found, made: &transition, load, at }.write(to)?;
                Ok(TransitionAnswer::Made(Box::new(transition)))
            }
            Err(refused) => Ok(TransitionAnswer::Refused(refused)),
        }
    }
}

impl Write for [NewTransition; 2] {
    type Answer = [TransitionAnswer; 2];
    const NAME: &'static str = NewTransition::NAME;

    fn write(&self, to: &mut Transaction<'_>) -> Result<[TransitionAnswer; 2], Error> {
        let [first, second] = self;
        Ok([first.write(to)?, second.write(to)?])
    }
}

/// Whether an actor of that kind can have that authority.
const fn speaks_for(kind: ActorKind, by: Authority) -> bool {
    matches!(
        (kind, by),
        (ActorKind::Person, Authority::Operator | Authority::Person)
            | (ActorKind::System, Authority::System)
            | (ActorKind::Agent, Authority::Agent)
    )
}

/// Whether a person lets an action happen by it. While effects are parked nobody can know what was sent already, so
/// such a yes would be to something else than what was shown.
const fn says_yes(kind: ActionEventKind) -> bool {
    matches!(kind, ActionEventKind::Approve | ActionEventKind::Release | ActionEventKind::Resend)
}

/// The request as the switch and the time of this moment have it: whoever switches effects off between a gate and a
/// take-up stops it, and so do parked effects. A hold that would be over before it is written is over at that moment, since
/// other processes bring the ledger's time forward behind whoever counted.
fn gate_transition(to: &Transaction<'_>, new: &NewTransition, time: LedgerTime) -> Result<TransitionRequest, Error> {
    let mut request = new.request.clone();
    if let ActionEvent::Hold { due } = &mut request.event {
        *due = (*due).max(time.now());
    }
    if let ActionEvent::TakeUp(taken) = &mut request.event
        && (!effects_switch::are_effects_on(to.tables, &new.project)? || parking::parking_reason(to.tables)?.is_some())
    {
        taken.gate = GateRuling::Withholds;
    }
    Ok(request)
}

impl NewTransition {
    /// The data to store with it, if it belongs to its event.
    ///
    /// A text that would lose a credential on its way into the file is refused, because its hash is approved or it is
    /// about to be sent.
    fn kept(&self) -> Result<KeptLoad, Error> {
        let holds_credential = match &self.load {
            TransitionLoad::Form(form) => !credential::find_credentials(form).is_empty(),
            TransitionLoad::Bytes(bytes) => !credential::find_credentials(&String::from_utf8_lossy(bytes)).is_empty(),
            _ => false,
        };
        if holds_credential {
            let why = "the action's text looks as if it held a credential, and is not kept; take it out of the action";
            return Err(Error::Conflict(why.to_owned()));
        }
        match (&self.request.event, &self.load) {
            (ActionEvent::Edit { .. }, TransitionLoad::Form(form)) => {
                Ok(KeptLoad { form: Some(HashedContent::new(form)), bytes: None })
            }
            (ActionEvent::TakeUp(taken), TransitionLoad::Bytes(bytes))
                if digest_text(&taken.bytes.0) == content_hash(bytes) =>
            {
                Ok(KeptLoad { form: None, bytes: Some(HashedContent::new(bytes)) })
            }
            (
                ActionEvent::Approve(_) | ActionEvent::Release(_) | ActionEvent::Resend(_),
                TransitionLoad::Approval(_),
            ) => Ok(KeptLoad::default()),
            (
                ActionEvent::Edit { .. }
                | ActionEvent::TakeUp(_)
                | ActionEvent::Approve(_)
                | ActionEvent::Release(_)
                | ActionEvent::Resend(_),
                _,
            ) => Err(self.conflict("its content is missing, or does not match its hash")),
            (_, TransitionLoad::Nothing) => Ok(KeptLoad::default()),
            _ => Err(self.conflict("nothing comes with it")),
        }
    }

    fn conflict(&self, why: &str) -> Error {
        let event = self.request.event.kind().as_str();
        Error::Conflict(format!("`{event}` of the action `{}` is not written: {why}; ask for it anew", self.key))
    }
}

/// A transition with all that is written of it.
struct MadeTransition<'t> {
    new: &'t NewTransition,
    found: &'t FoundAction,
    made: &'t Transition,
    load: KeptLoad,
    at: Time,
}

impl MadeTransition<'_> {
    fn write(&self, to: &Transaction<'_>) -> Result<(), Error> {
        failpoint::full(self.new.request.event.kind().as_str())
            .map_err(|error| Unusable::Unwritable { path: to.tables.path().to_owned(), why: error.to_string() })?;
        write_contents(to.tables, self.load.form.iter().chain(&self.load.bytes))?;
        self.line(to)?;
        self.approval(to)?;
        self.action(to)?;
        self.want_performing(to)?;
        let scope =
            credit::ProjectScope { project: &self.new.project, actor: &self.new.actor, scope: &self.found.scope };
        match self.new.request.event.kind() {
            ActionEventKind::Approve if self.new.load == TransitionLoad::Approval(ApprovalBreadth::Single) => {
                credit::change_credit(to, &scope, CreditChange::Approval, self.at)
            }
            ActionEventKind::Cancel => credit::change_credit(to, &scope, CreditChange::Loss, self.at),
            _ => Ok(()),
        }
    }

    /// Adds the line that says what happened.
    fn line(&self, to: &Transaction<'_>) -> Result<(), Error> {
        let Self { new, found, made, load, at } = self;
        // The content that an edit replaced stays readable beside the new one.
        let replaced = load.form.as_ref().and(found.form.as_ref());
        to.tables.execute(
            "INSERT INTO transitions (action, version, project, actor, at, event, state_before, state_after, epoch, \
             policy, form, bytes, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                new.key.to_string(),
                stored_number(made.after.version.0),
                new.project.0,
                new.actor.to_string(),
                at.0,
                new.request.event.kind().as_str(),
                found.standing.state.as_str(),
                made.after.state.as_str(),
                new.request.epoch.map(|epoch| stored_number(epoch.0)),
                digest_text(&new.policy.0),
                replaced,
                load.bytes.as_ref().map(|bytes| &bytes.hash),
                compact(&new.details),
            ],
        )?;
        Ok(())
    }

    /// Gives, spends or voids the approval, as the table says.
    fn approval(&self, to: &Transaction<'_>) -> Result<(), Error> {
        let (key, at) = (self.new.key.to_string(), self.at.0);
        let end = match self.made.rule.approval {
            ApprovalChange::Absent => return Ok(()),
            ApprovalChange::Given => return self.give(to, &key),
            ApprovalChange::Spent => "used",
            ApprovalChange::Void => "void",
        };
        let over = format!("UPDATE action_approvals SET {end} = ? WHERE action = ? AND used IS NULL AND void IS NULL");
        to.tables.execute(&over, (at, key))?;
        Ok(())
    }

    fn give(&self, to: &Transaction<'_>, key: &str) -> Result<(), Error> {
        let TransitionLoad::Approval(breadth) = &self.new.load else { return Ok(()) };
        let Some(StandingApproval { content, policy, expires }) = self.made.after.approval else { return Ok(()) };
        to.tables.execute(
            "INSERT INTO action_approvals (action, project, actor, at, kind, breadth, content, policy, expires) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                key,
                self.new.project.0,
                self.new.actor.to_string(),
                self.at.0,
                self.new.request.event.kind().as_str(),
                breadth.as_str(),
                digest_text(&content.0),
                digest_text(&policy.0),
                expires.0,
            ],
        )?;
        Ok(())
    }

    /// Has somebody perform what goes by itself from some time on.
    fn want_performing(&self, to: &Transaction<'_>) -> Result<(), Error> {
        let due = match self.made.after.state {
            ActionState::Held => self.made.after.due.unwrap_or(self.at),
            ActionState::Approved | ActionState::Resend => self.at,
            _ => return Ok(()),
        };
        let key = WorkKey { project: self.new.project.clone(), kind: WorkKind::Effects };
        work::record_wish(to.tables, &WorkWish { key, actor: self.new.actor.clone(), at: self.at, due })
    }

    /// Sets the action to what it is from here on, if nothing has changed it meanwhile.
    fn action(&self, to: &Transaction<'_>) -> Result<(), Error> {
        let (new, after) = (self.new, &self.made.after);
        let kind = new.request.event.kind();
        let decides =
            matches!(kind, ActionEventKind::Hold | ActionEventKind::RequireApproval | ActionEventKind::Refuse);
        let changed = to.tables.execute(
            "UPDATE actions SET state = ?, version = ?, content = ?, due = ?, performer = ?, bytes = ?, \
             form = coalesce(?, form), decision = coalesce(?, decision), ended = ? WHERE key = ? AND version = ?",
            params![
                after.state.as_str(),
                stored_number(after.version.0),
                digest_text(&after.content.0),
                after.due.map(|due| due.0),
                after.performer.map(|epoch| stored_number(epoch.0)),
                after.bytes.map(|bytes| digest_text(&bytes.0)),
                self.load.form.as_ref().map(|form| &form.hash),
                decides.then(|| compact(&new.details)),
                after.state.is_end().then_some(self.at.0),
                new.key.to_string(),
                stored_number(self.found.standing.version.0),
            ],
        )?;
        if changed == 1 { Ok(()) } else { Err(new.conflict("it has changed meanwhile")) }
    }
}
