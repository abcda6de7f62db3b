//! Performs what is due: the one place that holds the performer's lock, loads credentials and sends.
//!
//! Invariants: nothing is sent before its exact bytes are on the disk with the intent; every permit is made right before
//! it is used, under the policy, the level and the switch of that moment; what became of an action is the next thing that
//! is written; whatever an earlier performer left is unknown before anything new begins; one action that can't be
//! performed keeps no other from it.

mod routes;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future;
use proem_engine::effect::{
    ActionEvent, ActionState, ActionVersion, Authority, BytesHash, GateRuling, PerformerEpoch, RefusalRule, TakeUp,
    TransitionRefused, TransitionRequest, TransitionRequirement,
};
use proem_engine::policy::{AutonomyLevel, Decision, DecisionMoment, Permit, ProposedAction, Ruling};
use proem_guard::check::HoldMinutes;
use proem_guard::show;
use proem_runtime::effects::{DeliveryOutcome, DeliveryTrouble, perform};
use proem_runtime::lock::{InstanceLock, LockRefusal};
use proem_store::query::{ActionDetail, ActionRow};
use proem_store::record::{Actor, NewTransition, PerformerClaim, TransitionLoad};
use proem_store::{TransitionAnswer, failpoint};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

pub use self::routes::CredentialReading;
use self::routes::DeliveryRoutes;
use super::desk::{ActionDesk, EffectsObstacle};
use super::drafting::{ActionDraft, DraftRefusal, draft};
use super::policy;
use super::propose::Standing;
use super::queue::approved_at;
use super::ruling::{ActionReading, ReadAction, RulingTerms};
use crate::error::Error;
use crate::when;

/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

/// What a sweep did.
#[derive(Debug, Default)]
pub struct SweepReport {
    /// What kept effects from happening, so that nothing was looked at.
    pub obstacles: Vec<EffectsObstacle>,
    /// Everything that changed, and what should have and could not, in order.
    pub changes: Vec<SweptAction>,
    /// Whether the policy changed meanwhile, so that the rest is left to the next sweep.
    pub policy_changed: PolicyCourse,
}

/// What the policy's files did during a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PolicyCourse {
    /// They stayed as they were.
    #[default]
    Steady,
    /// One of them changed.
    Changed,
}

/// What became of one action.
#[derive(Debug, Clone)]
pub struct SweptAction {
    /// The action as it was.
    pub row: ActionRow,
    /// Where it stands.
    pub state: ActionState,
    /// Why, in our words, with what a receiver said escaped; empty if the state says all.
    pub why: String,
    /// Whether it was to be performed, and was.
    pub attempt: SweepAttempt,
}

/// Whether a sweep was to perform an action, and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepAttempt {
    /// It was decided about, or its time was over; there was nothing to perform.
    Undue,
    /// It was performed.
    Performed,
    /// It was to be performed and was not, or nobody knows whether it was.
    Missed,
}

impl SweepReport {
    /// Whether a person has to look: something may have happened that nobody saw, or could not be performed.
    #[must_use]
    pub fn needs_a_person(&self) -> bool {
        self.changes.iter().any(|change| change.attempt == SweepAttempt::Missed || change.state == change.row.state)
    }
}

/// The performer of a project's effects, as long as it holds the lock.
struct Performer<'d, 'p> {
    desk: &'d ActionDesk<'p>,
    epoch: PerformerEpoch,
    routes: DeliveryRoutes<'d>,
    /// Proem itself, as it stands in the records.
    system: Actor,
    /// What became of the action that was performed last, which is not written yet.
    unwritten: Option<PerformedAction>,
    _lock: InstanceLock,
}

/// What became of an action that was performed.
struct PerformedAction {
    /// The action as it was.
    row: ActionRow,
    event: ActionEvent,
    why: String,
    details: Json,
    attempt: SweepAttempt,
}

/// An action that may be performed, as its form says it.
struct DueReading {
    action: ProposedAction,
    reading: ActionReading,
}

/// Why an action can't be read.
enum DueProblem {
    /// Its texts are gone.
    Gone,
    /// Its form is none.
    Unreadable(String),
}

/// What a sweep did so far.
struct SweptActions<'s> {
    progress: &'s mut dyn FnMut(&SweptAction),
    made: Vec<SweptAction>,
}

impl SweptActions<'_> {
    fn add(&mut self, change: Option<SweptAction>) {
        if let Some(change) = change {
            (self.progress)(&change);
            self.made.push(change);
        }
    }
}

impl ActionDesk<'_> {
    /// Performs what is due. `progress` hears of each change.
    ///
    /// # Errors
    ///
    /// If another performer works, or the records can't be read or written.
    pub async fn sweep(
        &self,
        credentials: CredentialReading,
        progress: &mut dyn FnMut(&SweptAction),
    ) -> Result<SweepReport, Error> {
        let obstacles = self.obstacles();
        if !obstacles.is_empty() {
            return Ok(SweepReport { obstacles, ..SweepReport::default() });
        }
        let lock = InstanceLock::acquire(&self.lock_file("performer")).map_err(|refused| match refused {
            LockRefusal::Held { holder } => Error::negative(format!(
                "actions of this project are being performed by {holder}; wait until it has ended, or end it"
            )),
            LockRefusal::Io { .. } => Error::outside(refused.to_string()),
        })?;
        let process = format!("{} since {}", std::process::id(), when::rfc3339(when::now()));
        let system = self.system();
        let claim = PerformerClaim { project: self.owner.clone(), actor: system.clone(), at: when::now(), process };
        let epoch = self.store.take_epoch(claim).await?;
        let routes = DeliveryRoutes::new(self.project, credentials);
        let mut performer = Performer { desk: self, epoch, routes, system, unwritten: None, _lock: lock };
        let mut changes = SweptActions { progress, made: Vec::new() };
        let due = self.store.due_actions(&self.owner, epoch, when::now().max(self.status.last_seen)).await?;
        let policy = policy::files(self.project)?;
        let mut policy_changed = PolicyCourse::Steady;
        for row in due {
            // While what became of the last action is written, the next one is read: not more, for what is decided
            // must not depend on whether that is written already.
            let (written, reading) = performer.beside_writing(|| self.due_reading(&row)).await;
            changes.add(written?);
            // What was read when the sweep began is not the policy of this moment any more.
            if policy::files(self.project)? != policy {
                policy_changed = PolicyCourse::Changed;
                break;
            }
            changes.add(performer.look_after(&row, reading).await?);
        }
        let (written, ()) = performer.beside_writing(|| ()).await;
        changes.add(written?);
        Ok(SweepReport { changes: changes.made, policy_changed, ..SweepReport::default() })
    }

    /// Reads an action that may be performed, without the records; `None` where that is not what becomes of it.
    fn due_reading(&self, row: &ActionRow) -> Option<Result<DueReading, DueProblem>> {
        if !matches!(row.state, ActionState::Held | ActionState::Approved | ActionState::Resend) {
            return None;
        }
        Some(match row.form.as_deref().map(|form| ProposedAction::stored(form, &self.policy)) {
            None => Err(DueProblem::Gone),
            Some(Err(problem)) => Err(DueProblem::Unreadable(problem.to_string())),
            Some(Ok(action)) => Ok(DueReading { reading: self.read_action(&action), action }),
        })
    }

    /// The file whose lock keeps a second process from a work on this project.
    pub(crate) fn lock_file(&self, work: &str) -> PathBuf {
        let project = proem_text::hex::encode(Sha256::digest(self.owner.0.as_bytes()));
        let name = format!("{work}-{}.lock", project.get(..16).unwrap_or(&project));
        self.project.places.state.join(name)
    }
}

impl Performer<'_, '_> {
    /// Writes what became of the last action, and does something meanwhile that does not concern the records.
    async fn beside_writing<T>(&mut self, work: impl FnOnce() -> T) -> (Result<Option<SweptAction>, Error>, T) {
        let Some(PerformedAction { row, event, why, details, attempt }) = self.unwritten.take() else {
            return (Ok(None), work());
        };
        let executing = ActionRow { version: next(&row), ..row.clone() };
        let writing = self.happens(&executing, event, why, details);
        // It is on its way when it is asked for the first time, which is before the work begins.
        let (written, done) = future::join(writing, async { work() }).await;
        (written.map(|change| Some(SweptAction { row, attempt, ..change })), done)
    }

    /// What this sweep makes of one action; `None` if nothing, or if what became of it is still to be written.
    async fn look_after(
        &mut self,
        row: &ActionRow,
        reading: Option<Result<DueReading, DueProblem>>,
    ) -> Result<Option<SweptAction>, Error> {
        let now = when::now().max(self.desk.status.last_seen);
        match (row.state, reading) {
            (ActionState::Executing | ActionState::Resending, _) => {
                let why = "its performer ended before it could say what became of it";
                let details = json!({ "epoch": self.epoch.0 });
                self.happens(row, ActionEvent::Die, why.to_owned(), details).await.map(SweptAction::missed).map(Some)
            }
            (ActionState::Proposed | ActionState::Waiting, _) if row.deadline <= now => {
                self.happens(row, ActionEvent::Expire, "nobody decided in time".to_owned(), json!({})).await.map(Some)
            }
            (ActionState::Proposed, _) => self.decide_late(row).await.map(Some),
            (_, Some(Ok(reading))) => self.execute(row, &reading).await,
            (_, Some(Err(DueProblem::Gone))) => Ok(Some(unreadable(row))),
            (_, Some(Err(DueProblem::Unreadable(problem)))) => self.put_aside(row, problem).await.map(Some),
            (_, None) => Ok(None),
        }
    }

    /// Decides about what was proposed while effects were off.
    async fn decide_late(&self, row: &ActionRow) -> Result<SweptAction, Error> {
        let item = self.desk.item(&row.key).await?;
        let (Some(action), Some(decision)) = (item.action, item.decision) else { return Ok(unreadable(row)) };
        let standing = Standing { key: row.key, version: row.version };
        // Asked first: a sweep that ends in between leaves a proposal, which the next one settles.
        self.desk.escalated(Some(row.key), &action, &decision).await?;
        let state = self.desk.settle(&standing, &decision).await?;
        Ok(SweptAction { row: row.clone(), state, why: reasons(&decision), attempt: SweepAttempt::Undue })
    }

    /// Takes an action up and performs it, if it may be at this moment. What became of it is left to be written.
    async fn execute(&mut self, row: &ActionRow, reading: &DueReading) -> Result<Option<SweptAction>, Error> {
        let DueReading { action, reading } = reading;
        let wanted = self.desk.evidence_wanted(action);
        let (detail, evidence) = self.desk.store.action_with_evidence(row.key, wanted).await?;
        if detail.row.version != row.version {
            // Somebody has changed it since this sweep began; the next one looks again.
            return Ok(None);
        }
        let terms = RulingTerms { level: self.desk.level(), moment: moment(&detail), agreeing: None };
        let decision = self.desk.ruled(ReadAction { action, reading }, row.key, terms, &evidence);
        let why = reasons(&decision);
        let unmet = decision.unmet.clone();
        let account = decision.to_json();
        let permit = match decision.ruling {
            Ruling::Permit(permit) => permit,
            Ruling::Standstill => return Ok(None),
            Ruling::Refusal(_) => return self.happens(row, ActionEvent::Refuse, why, account).await.map(Some),
            Ruling::Hold(_) | Ruling::Approval | Ruling::Escalation => {
                return self.happens(row, ActionEvent::RequireApproval, why, account).await.map(Some);
            }
        };
        let bytes = self.bytes(&detail, action);
        let ready = bytes.and_then(|bytes| self.routes.ready(&bytes.draft, row.key).map(|()| bytes));
        let bytes = match ready {
            Ok(bytes) => bytes,
            // It is the configuration that has to be mended; a person's yes stays good meanwhile.
            Err(DraftRefusal::Configuration(why)) => {
                return Ok(Some(SweptAction::stuck(row, row.state, why)));
            }
            Err(DraftRefusal::Action(problem)) => return self.put_aside(row, problem).await.map(Some),
        };
        let taken = TakeUp { gate: GateRuling::Permits, unmet, bytes: bytes.hash };
        let load = TransitionLoad::Bytes(Arc::from(bytes.draft.bytes.as_slice()));
        match self.transit(row, ActionEvent::TakeUp(taken), load, account).await? {
            TransitionAnswer::Made(_) => self.send(row, permit, &bytes).await,
            TransitionAnswer::Refused(refused) => self.not_taken(row, refused).await,
        }
    }

    /// The bytes that were recorded the first time, else new ones.
    fn bytes(&self, detail: &ActionDetail, action: &ProposedAction) -> Result<ExactBytes, DraftRefusal> {
        let settings = &self.desk.project.config.effects;
        let mut draft = draft(action, &detail.row.key, &self.desk.policy, settings, when::now())?;
        if let Some(recorded) = &detail.bytes {
            draft.bytes = recorded.to_vec();
        }
        let hash = BytesHash(Sha256::digest(&draft.bytes).into());
        Ok(ExactBytes { draft, hash })
    }

    /// Hands the bytes over. What became of them is the next thing that is written.
    async fn send(
        &mut self,
        row: &ActionRow,
        permit: Permit,
        bytes: &ExactBytes,
    ) -> Result<Option<SweptAction>, Error> {
        // Between taking up and sending, another performer may have begun: then this one has lost the action.
        let in_force = self.desk.store.performer_in_force(&self.desk.owner).await?;
        if in_force != Some(self.epoch) {
            let why = "another performer has taken over; nothing was sent by this one".to_owned();
            return Ok(Some(SweptAction::stuck(row, ActionState::Unknown, why)));
        }
        failpoint::pass("before-effect");
        let outcome = match bytes.draft.way.form() {
            None => perform::inside(permit, row.key),
            Some(form) => self.routes.deliver(permit, row.key, form, &bytes.draft).await,
        };
        failpoint::pass("after-effect");
        let attempt = match outcome {
            DeliveryOutcome::Sent { .. } => SweepAttempt::Performed,
            _ => SweepAttempt::Missed,
        };
        let (event, why, details) = match outcome {
            DeliveryOutcome::Sent { answer } => {
                let answer = answer.as_ref().map(show::json);
                (ActionEvent::Sent, String::new(), json!({ "answer": answer }))
            }
            DeliveryOutcome::Failed(trouble) => told(ActionEvent::Fail, &trouble),
            DeliveryOutcome::NotSent(trouble) => told(ActionEvent::NotSent, &trouble),
            DeliveryOutcome::Unknown(trouble) => told(ActionEvent::Lose, &trouble),
        };
        self.unwritten = Some(PerformedAction { row: row.clone(), event, why, details, attempt });
        Ok(None)
    }

    /// What follows if the table refuses to take an action up.
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
        let (state, why) = match self.transit(row, event, TransitionLoad::Nothing, details).await? {
            TransitionAnswer::Made(made) => (made.after.state, why),
            TransitionAnswer::Refused(refused) => (refused.state, refused.to_string()),
        };
        Ok(SweptAction { row: row.clone(), state, why, attempt: SweepAttempt::Undue })
    }

    async fn transit(
        &self,
        row: &ActionRow,
        event: ActionEvent,
        load: TransitionLoad,
        details: Json,
    ) -> Result<TransitionAnswer, Error> {
        let request = TransitionRequest { event, by: Authority::System, version: row.version, epoch: Some(self.epoch) };
        let transition = NewTransition {
            key: row.key,
            project: self.desk.owner.clone(),
            actor: self.system.clone(),
            at: when::now(),
            request,
            policy: self.desk.policy.hash(),
            window: self.desk.policy.release_window(),
            load,
            details,
        };
        Ok(self.desk.store.transit(transition).await?)
    }
}

/// The bytes of an action with their hash.
struct ExactBytes {
    draft: ActionDraft,
    hash: BytesHash,
}

/// Which decision is to be taken about an action that is due.
fn moment(detail: &ActionDetail) -> DecisionMoment {
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

fn next(row: &ActionRow) -> ActionVersion {
    ActionVersion(row.version.0.saturating_add(1))
}

fn reasons(decision: &Decision) -> String {
    decision.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn unreadable(row: &ActionRow) -> SweptAction {
    SweptAction::stuck(row, row.state, "its texts are gone".to_owned())
}

impl SweptAction {
    /// One that was to be performed and stands in a state all the same.
    fn stuck(row: &ActionRow, state: ActionState, why: String) -> Self {
        Self { row: row.clone(), state, why, attempt: SweepAttempt::Missed }
    }

    fn missed(self) -> Self {
        Self { attempt: SweepAttempt::Missed, ..self }
    }
}

/// A receiver's trouble as an event, in words, and as it is kept.
fn told(event: ActionEvent, trouble: &DeliveryTrouble) -> (ActionEvent, String, Json) {
    let said = trouble.answer.as_ref();
    let words = said.map_or_else(String::new, |said| format!("; it said: {}", show::terminal_capped(said, 200)));
    let details = json!({ "problem": trouble.message, "answer": said.map(show::json) });
    (event, format!("{}{words}", trouble.message), details)
}
