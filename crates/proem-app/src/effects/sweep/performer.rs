//! The performer: takes actions up one after the other, hands them over, and writes down what became of each.
//!
//! Invariant: what became of an action is written before the next intent, or in one transaction with it. So a crash
//! leaves one action at the most of which nobody knows what became of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future;
use proem_engine::effect::{
    ActionEvent, ActionState, ActionVersion, Authority, GateRuling, PerformerEpoch, RefusalRule, TakeUp,
    TransitionRefused, TransitionRequest, TransitionRequirement,
};
use proem_engine::policy::Permit;
use proem_guard::show;
use proem_runtime::effects::{DeliveryOutcome, DeliveryTrouble, perform};
use proem_runtime::lock::InstanceLock;
use proem_store::query::ActionRow;
use proem_store::record::{Actor, EffectsPower, NewTransition, TransitionLoad};
use proem_store::{
    EffectIntent, EffectOutcome, EffectWitness, IntentRepetition, TransitionAnswer, WitnessedIntent, failpoint,
};
use serde_json::{Value as Json, json};

use super::super::desk::ActionDesk;
use super::super::drafting::DraftRefusal;
use super::super::propose::Standing;
use super::gate::{DueProblem, DueReading, ExactBytes, GateAnswer, OpenGate, decision_reasons};
use super::grounds::SweepGrounds;
use super::routes::DeliveryRoutes;
use super::{SweepAttempt, SweepCourse, SweptAction};
use crate::error::Error;
use crate::when;

/// How long an effect may take if what the gate said of the next action meanwhile is to count: a file is there sooner.
/// Behind one that takes longer the gate is asked again, and what became of it is not left unwritten so long.
const GATE_KEEPS: Duration = Duration::from_millis(50);

/// The performer of a project's effects, as long as it holds the lock.
pub(super) struct Performer<'d, 'p> {
    pub(super) desk: &'d ActionDesk<'p>,
    pub(super) epoch: PerformerEpoch,
    pub(super) witness: EffectWitness,
    /// Whether all that its decisions rest on is as it was.
    pub(super) course: SweepCourse,
    pub(super) routes: DeliveryRoutes<'d>,
    /// Proem itself, as it is in the records.
    pub(super) system: Actor,
    /// The changes so far.
    pub(super) changes: SweptActions<'d>,
    /// The facts about the next action, ahead of its turn.
    pub(super) ahead: Ahead,
    pub(super) _lock: InstanceLock,
}

/// The results of a sweep so far.
pub(super) struct SweptActions<'s> {
    pub(super) progress: &'s mut dyn FnMut(&SweptAction),
    pub(super) made: Vec<SweptAction>,
}

impl SweptActions<'_> {
    fn add(&mut self, change: SweptAction) {
        (self.progress)(&change);
        self.made.push(change);
    }
}

/// The facts about the next action, ahead of its turn.
#[derive(Default)]
pub(super) struct Ahead {
    /// The action as its form says it, if it may be performed.
    reading: Option<Result<DueReading, DueProblem>>,
    /// That it may be taken up, and with it what became of the one before it, which is not written yet.
    open: Option<(PerformedAction, Box<OpenGate>)>,
}

/// The outcome of a performed action.
struct PerformedAction {
    /// The action as it was.
    row: ActionRow,
    event: ActionEvent,
    why: String,
    details: Json,
    attempt: SweepAttempt,
    /// The same for the witness.
    outcome: EffectOutcome,
}

impl Performer<'_, '_> {
    /// Handles one action, and reads the one behind it.
    pub(super) async fn look_after(&mut self, row: &ActionRow, next: Option<&ActionRow>) -> Result<(), Error> {
        let now = when::time_now().max(self.desk.status.last_seen);
        let Ahead { reading, open } = std::mem::take(&mut self.ahead);
        if let Some((before, open)) = open {
            return self.take_up(row, Some(before), *open, next).await;
        }
        let reading = match reading {
            Some(reading) => Some(reading),
            None => self.desk.due_reading(row)?,
        };
        match (row.state, reading) {
            (ActionState::Executing | ActionState::Resending, _) => {
                let why = "its performer ended before it could say what became of it";
                let details = json!({ "epoch": self.epoch.0 });
                self.happens(row, ActionEvent::Die, why.to_owned(), details).await.map(SweptAction::missed)
            }
            (ActionState::Proposed | ActionState::Waiting, _) if row.deadline <= now => {
                self.happens(row, ActionEvent::Expire, "nobody decided in time".to_owned(), json!({})).await
            }
            (ActionState::Proposed, _) => self.decide_late(row).await,
            (_, Some(Ok(reading))) => return self.execute(row, &reading, next).await,
            (_, Some(Err(DueProblem::Gone))) => Ok(purged_action(row)),
            (_, Some(Err(DueProblem::Unreadable(problem)))) => self.put_aside(row, problem).await,
            (_, None) => return Ok(()),
        }
        .map(|change| self.changes.add(change))
    }

    /// Reads again what every effect rests on: the policy, the level, what is trusted, the configuration, and the switch.
    pub(super) async fn look_around(&mut self) -> Result<Option<PerformerEpoch>, Error> {
        let moment = self.desk.store.performing_moment(&self.desk.owner).await?;
        if moment.power == EffectsPower::Off {
            self.course = SweepCourse::Stopped;
        } else if SweepGrounds::of_now(self.desk.project).ok().as_ref() != Some(&self.desk.grounds) {
            // A file that can't be read any more has changed, too. The next sweep says why.
            self.course = SweepCourse::Changed;
        }
        Ok(moment.epoch)
    }

    /// Writes what is not written yet.
    pub(super) async fn end(&mut self) -> Result<(), Error> {
        match self.ahead.open.take() {
            Some((before, _open)) => self.write(before).await,
            None => Ok(()),
        }
    }

    /// Decides about what was proposed while effects were off.
    async fn decide_late(&self, row: &ActionRow) -> Result<SweptAction, Error> {
        let item = self.desk.item(&row.key).await?;
        let (Some(action), Some(decision)) = (item.action, item.decision) else { return Ok(purged_action(row)) };
        let standing = Standing { key: row.key, version: row.version };
        // Asked first: a sweep that ends in between leaves a proposal, which the next one settles.
        self.desk.escalated(Some(row.key), &action, &decision).await?;
        let state = self.desk.settle(&standing, &decision).await?;
        Ok(SweptAction { row: row.clone(), state, why: decision_reasons(&decision), attempt: SweepAttempt::Undue })
    }

    /// Asks the gate about an action, and performs it if it may be at this moment.
    async fn execute(&mut self, row: &ActionRow, reading: &DueReading, next: Option<&ActionRow>) -> Result<(), Error> {
        let change = match self.desk.gate(row, reading, None).await? {
            GateAnswer::Open(open) => return self.take_up(row, None, *open, next).await,
            GateAnswer::Undue => return Ok(()),
            GateAnswer::Undrafted(refusal) => self.undrafted(row, refusal).await?,
            GateAnswer::Happens(event, why, account) => self.happens(row, event, why, account).await?,
        };
        self.changes.add(change);
        Ok(())
    }

    /// The consequence if an action can't leave as it is.
    async fn undrafted(&self, row: &ActionRow, refusal: DraftRefusal) -> Result<SweptAction, Error> {
        match refusal {
            // It is the configuration that has to be mended. A person's yes stays good meanwhile.
            DraftRefusal::Configuration(why) => Ok(SweptAction::stuck(row, row.state, why)),
            DraftRefusal::Action(problem) => self.put_aside(row, problem).await,
        }
    }

    /// Takes an action up, writing what became of the one before it, and performs it.
    async fn take_up(
        &mut self,
        row: &ActionRow,
        before: Option<PerformedAction>,
        open: OpenGate,
        next: Option<&ActionRow>,
    ) -> Result<(), Error> {
        let OpenGate { permit, unmet, account, bytes } = open;
        // A login can take minutes. An outcome is not left unwritten so long.
        let before = match before {
            Some(before) if self.routes.must_sign_in(&bytes.draft.way) => {
                self.write(before).await?;
                None
            }
            before => before,
        };
        if let Err(refusal) = self.routes.ready(&bytes.draft, row.key).await {
            if let Some(before) = before {
                self.write(before).await?;
            }
            let change = self.undrafted(row, refusal).await?;
            self.changes.add(change);
            return Ok(());
        }
        let taken = TakeUp { gate: GateRuling::Permits, unmet, bytes: bytes.hash };
        let load = TransitionLoad::Bytes(Arc::from(bytes.draft.bytes.as_slice()));
        let intent = self.transition(row, ActionEvent::TakeUp(taken), load, account);
        match self.written(before, intent, next).await? {
            TransitionAnswer::Made(_) => self.send(row, permit, &bytes, next).await,
            TransitionAnswer::Refused(refused) => {
                let change = self.not_taken(row, refused).await?;
                change.into_iter().for_each(|change| self.changes.add(change));
                Ok(())
            }
        }
    }

    /// Writes what became of an action and the intent of the one behind it in one transaction, and reads a third
    /// meanwhile: no more than its form, for what is decided must not depend on whether that is written already.
    async fn written(
        &mut self,
        before: Option<PerformedAction>,
        intent: NewTransition,
        next: Option<&ActionRow>,
    ) -> Result<TransitionAnswer, Error> {
        let desk = self.desk;
        // The text is on its way when it is asked for the first time, which is before this begins. An error of it
        // occurs again at its turn.
        let reading = async { next.and_then(|row| desk.due_reading(row).ok().flatten()) };
        let Some(before) = before else {
            let (answer, reading) = future::join(desk.store.transit(intent), reading).await;
            self.ahead.reading = reading;
            return Ok(answer?);
        };
        let both = desk.store.transit_both([self.outcome(&before), intent.clone()]);
        let (answers, reading) = future::join(both, reading).await;
        self.ahead.reading = reading;
        let Ok([written, taken]) = answers else {
            // Either of them may have been the reason: the first must not be lost for the second, nor may the second
            // begin without the first. An error occurs again.
            self.write(before).await?;
            return Ok(desk.store.transit(intent).await?);
        };
        self.tell(before, written);
        Ok(taken)
    }

    /// Writes what became of an action.
    async fn write(&mut self, performed: PerformedAction) -> Result<(), Error> {
        let answer = self.desk.store.transit(self.outcome(&performed)).await?;
        self.tell(performed, answer);
        Ok(())
    }

    /// The outcome of an action, to be written.
    fn outcome(&self, performed: &PerformedAction) -> NewTransition {
        let PerformedAction { row, event, details, .. } = performed;
        let executing = ActionRow { version: executing_version(row), ..row.clone() };
        self.transition(&executing, event.clone(), TransitionLoad::Nothing, details.clone())
    }

    /// Tells what became of an action, now that it is written.
    fn tell(&mut self, performed: PerformedAction, answer: TransitionAnswer) {
        let PerformedAction { row, why, attempt, .. } = performed;
        let change = swept_action(&row, answer, why);
        self.changes.add(SweptAction { attempt, ..change });
    }

    /// Hands the bytes over, and asks the gate about the next action meanwhile.
    async fn send(
        &mut self,
        row: &ActionRow,
        permit: Permit,
        bytes: &ExactBytes,
        next: Option<&ActionRow>,
    ) -> Result<(), Error> {
        let intent = match self.intend(row, bytes).await {
            Ok(intent) => intent,
            Err(error) => return self.unwitnessed(row, error).await,
        };
        failpoint::pass("intent-witnessed");
        // All that the permit rests on may have changed since it was made. Then this one has lost the action, or nobody
        // may perform it as it is.
        let in_force = self.look_around().await;
        let is_in_force = matches!(in_force, Ok(epoch) if epoch == Some(self.epoch));
        if !is_in_force || self.course != SweepCourse::Steady {
            self.witness.settle(intent, EffectOutcome::NotSent, when::time_now()).await?;
            in_force?;
            return self.stopped(row, is_in_force).await;
        }
        failpoint::pass("before-effect");
        let began = Instant::now();
        let effect = async {
            let outcome = match bytes.draft.way.form() {
                None => perform::inside(permit, &intent),
                Some(form) => self.routes.deliver(permit, &intent, form, &bytes.draft).await,
            };
            (outcome, began.elapsed())
        };
        let (desk, reading) = (self.desk, self.ahead.reading.as_ref());
        // A hold that ran out is no precedent, so it changes nothing about the next action.
        let precedent = (row.state != ActionState::Held).then_some(&row.scope);
        let gate = async {
            match (next, reading) {
                (Some(next), Some(Ok(reading))) => desk.gate(next, reading, precedent).await.ok(),
                _ => None,
            }
        };
        let ((outcome, took), gate) = future::join(effect, gate).await;
        failpoint::pass("after-effect");
        let performed = PerformedAction::new(row, outcome);
        let witnessed = self.witness.settle(intent, performed.outcome, when::time_now()).await;
        failpoint::pass("outcome-witnessed");
        if let Err(error) = witnessed {
            // The records say what became of it, and nothing else is performed without a witness.
            return match self.write(performed).await {
                Ok(()) => Err(error.into()),
                Err(unwritten) => Err(Error::outside(format!("{error}; {unwritten}"))),
            };
        }
        match gate {
            // The gate was told that it was executed, if that matters.
            Some(GateAnswer::Open(open)) if performed.is_executed() && took <= GATE_KEEPS => {
                self.ahead.open = Some((performed, open));
                Ok(())
            }
            // Any other answer of the gate, an error included, comes again when the gate is asked behind this.
            _ => self.write(performed).await,
        }
    }

    /// Has the witness say that an action is about to be performed.
    async fn intend(&self, row: &ActionRow, bytes: &ExactBytes) -> Result<WitnessedIntent, proem_store::Error> {
        let again = row.state == ActionState::Resend;
        let intent = EffectIntent {
            key: row.key,
            version: executing_version(row),
            epoch: self.epoch,
            bytes: bytes.hash,
            at: when::time_now(),
            repetition: if again { IntentRepetition::Again } else { IntentRepetition::First },
        };
        self.witness.intend(intent).await
    }

    /// Writes that an action was not performed because the witness does not have its intent, and ends the sweep.
    async fn unwitnessed(&mut self, row: &ActionRow, error: proem_store::Error) -> Result<(), Error> {
        let trouble = DeliveryTrouble { message: format!("nothing was sent: {error}"), answer: None };
        match self.write(PerformedAction::new(row, DeliveryOutcome::NotSent(trouble))).await {
            Ok(()) => Err(error.into()),
            Err(unwritten) => {
                Err(Error::outside(format!("{error}; nothing was sent, and that can't be recorded: {unwritten}")))
            }
        }
    }

    /// Says that an action was not performed because something changed since its permit was made.
    async fn stopped(&mut self, row: &ActionRow, is_in_force: bool) -> Result<(), Error> {
        if !is_in_force {
            let why = "another performer has taken over; nothing was sent by this one".to_owned();
            self.changes.add(SweptAction::stuck(row, ActionState::Unknown, why));
            return Ok(());
        }
        let message = match self.course {
            SweepCourse::Stopped => "effects were switched off before it left",
            _ => "the policy, the level, what is trusted or the configuration changed before it left",
        };
        let trouble = DeliveryTrouble { message: message.to_owned(), answer: None };
        self.write(PerformedAction::new(row, DeliveryOutcome::NotSent(trouble))).await
    }

    /// The consequence if the table refuses to take an action up.
    async fn not_taken(&self, row: &ActionRow, refused: TransitionRefused) -> Result<Option<SweptAction>, Error> {
        let RefusalRule::Requirement(requirement) = refused.rule else { return Ok(None) };
        let why = refused.to_string();
        match requirement {
            TransitionRequirement::ReleaseWindow | TransitionRequirement::HoldConditions => {
                self.happens(row, ActionEvent::RequireApproval, why, json!({})).await.map(Some)
            }
            TransitionRequirement::ApprovalContent
            | TransitionRequirement::ApprovalPolicy
            | TransitionRequirement::ApprovalTime => {
                self.happens(row, ActionEvent::LapseApproval, why, json!({})).await.map(Some)
            }
            // The clock went back, its hold is not over by the ledger, or effects went off: the next sweep looks again.
            _ => Ok(None),
        }
    }

    /// Has a person look at what can't be performed.
    async fn put_aside(&self, row: &ActionRow, problem: String) -> Result<SweptAction, Error> {
        let details = json!({ "problem": problem });
        self.happens(row, ActionEvent::RequireApproval, problem, details).await.map(SweptAction::missed)
    }

    async fn happens(
        &self,
        row: &ActionRow,
        event: ActionEvent,
        why: String,
        details: Json,
    ) -> Result<SweptAction, Error> {
        let transition = self.transition(row, event, TransitionLoad::Nothing, details);
        Ok(swept_action(row, self.desk.store.transit(transition).await?, why))
    }

    fn transition(&self, row: &ActionRow, event: ActionEvent, load: TransitionLoad, details: Json) -> NewTransition {
        let request = TransitionRequest { event, by: Authority::System, version: row.version, epoch: Some(self.epoch) };
        NewTransition {
            key: row.key,
            project: self.desk.owner.clone(),
            actor: self.system.clone(),
            at: when::time_now(),
            request,
            policy: self.desk.policy.hash(),
            window: self.desk.policy.release_window(),
            load,
            details,
        }
    }
}

impl PerformedAction {
    fn new(row: &ActionRow, outcome: DeliveryOutcome) -> Self {
        let (attempt, witnessed) = match outcome {
            DeliveryOutcome::Sent { .. } => (SweepAttempt::Performed, EffectOutcome::Sent),
            DeliveryOutcome::Failed(_) => (SweepAttempt::Missed, EffectOutcome::Failed),
            DeliveryOutcome::NotSent(_) => (SweepAttempt::Missed, EffectOutcome::NotSent),
            DeliveryOutcome::Unknown(_) => (SweepAttempt::Missed, EffectOutcome::Unknown),
        };
        let (event, why, details) = match outcome {
            DeliveryOutcome::Sent { answer } => {
                let answer = answer.as_ref().map(show::exact_json);
                (ActionEvent::Sent, String::new(), json!({ "answer": answer }))
            }
            DeliveryOutcome::Failed(trouble) => trouble_event(ActionEvent::Fail, &trouble),
            DeliveryOutcome::NotSent(trouble) => trouble_event(ActionEvent::NotSent, &trouble),
            DeliveryOutcome::Unknown(trouble) => trouble_event(ActionEvent::Lose, &trouble),
        };
        Self { row: row.clone(), event, why, details, attempt, outcome: witnessed }
    }

    fn is_executed(&self) -> bool {
        self.attempt == SweepAttempt::Performed
    }
}

/// The version that taking an action up makes.
const fn executing_version(row: &ActionRow) -> ActionVersion {
    ActionVersion(row.version.0.saturating_add(1))
}

/// The standing of an action after an event.
fn swept_action(row: &ActionRow, answer: TransitionAnswer, why: String) -> SweptAction {
    let (state, why) = match answer {
        TransitionAnswer::Made(made) => (made.after.state, why),
        TransitionAnswer::Refused(refused) => (refused.state, refused.to_string()),
    };
    SweptAction { row: row.clone(), state, why, attempt: SweepAttempt::Undue }
}

fn purged_action(row: &ActionRow) -> SweptAction {
    SweptAction::stuck(row, row.state, "its texts are gone".to_owned())
}

/// A receiver's trouble as an event, in words, and as it is kept.
fn trouble_event(event: ActionEvent, trouble: &DeliveryTrouble) -> (ActionEvent, String, Json) {
    let said = trouble.answer.as_ref();
    let words = said.map_or_else(String::new, |said| format!("; it said: {}", show::terminal_capped(said, 200)));
    let details = json!({ "problem": trouble.message, "answer": said.map(show::exact_json) });
    (event, format!("{}{words}", trouble.message), details)
}
