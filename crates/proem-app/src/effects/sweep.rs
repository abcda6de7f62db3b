//! Performs what is due: the one place that holds the performer's lock, loads credentials and sends.
//!
//! Invariants: nothing is sent before its exact bytes are on the disk with the intent, and the intent in the witness.
//! Policy, level, trust, configuration, switch and epoch are read anew right before each effect, and what has changed
//! since the permit was made stops it and the rest of the sweep; what became of an action is written before or with the
//! next thing that is; whatever an earlier performer left is unknown before anything new begins. One action that can't
//! be performed keeps no other from it.

mod gate;
pub(super) mod grounds;
mod performer;
mod routes;

use std::path::PathBuf;

use proem_engine::effect::ActionState;
use proem_runtime::lock::{InstanceLock, LockRefusal};
use proem_store::query::ActionRow;
use proem_store::record::PerformerClaim;
use sha2::{Digest as _, Sha256};

use self::performer::{Ahead, Performer, SweptActions};
pub use self::routes::CredentialReading;
use self::routes::DeliveryRoutes;
use super::desk::{ActionDesk, EffectsObstacle};
use crate::error::Error;
use crate::when;

/// The account of one pass over the due actions.
#[derive(Debug, Default)]
pub struct SweepReport {
    /// The obstacles to effects, because of which nothing was looked at.
    pub obstacles: Vec<EffectsObstacle>,
    /// Everything that changed, and what should have and could not, in order.
    pub changes: Vec<SweptAction>,
    /// Whether something that decides changed meanwhile, so that the rest is left to the next sweep.
    pub course: SweepCourse,
}

/// Whether everything that decides about effects stays the same during a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SweepCourse {
    /// It stayed as it was.
    #[default]
    Steady,
    /// The policy, the level, what is trusted, or the configuration changed.
    Changed,
    /// Effects were switched off, or parked.
    Stopped,
}

/// The outcome for one action.
#[derive(Debug, Clone)]
pub struct SweptAction {
    /// The action as it was.
    pub row: ActionRow,
    /// The place in the machine of effects after the sweep.
    pub state: ActionState,
    /// Why, in our words, with what a receiver said escaped. Empty if the state says all.
    pub why: String,
    /// Whether it was to be performed, and was.
    pub attempt: SweepAttempt,
}

/// Whether a sweep was to perform an action, and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepAttempt {
    /// It was decided about, or its time was over. There was nothing to perform.
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

impl SweptAction {
    /// One that was to be performed and is in a state all the same.
    fn stuck(row: &ActionRow, state: ActionState, why: String) -> Self {
        Self { row: row.clone(), state, why, attempt: SweepAttempt::Missed }
    }

    fn missed(self) -> Self {
        Self { attempt: SweepAttempt::Missed, ..self }
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
        let witness = self.store.open_witness(when::time_now()).await?;
        let process = format!("{} since {}", std::process::id(), when::rfc3339(when::time_now()));
        let system = self.system();
        let claim =
            PerformerClaim { project: self.owner.clone(), actor: system.clone(), at: when::time_now(), process };
        let epoch = self.store.take_epoch(claim).await?;
        let routes = DeliveryRoutes::new(self.project, credentials);
        let changes = SweptActions { progress, made: Vec::new() };
        let (ahead, course) = (Ahead::default(), SweepCourse::Steady);
        let mut performer =
            Performer { desk: self, epoch, witness, course, routes, system, changes, ahead, _lock: lock };
        let due = self.store.due_actions(&self.owner, epoch, when::time_now().max(self.status.last_seen)).await?;
        for (row, next) in due.iter().zip(due.iter().skip(1).map(Some).chain([None])) {
            performer.look_around().await?;
            if performer.course != SweepCourse::Steady {
                performer.end().await?;
                break;
            }
            performer.look_after(row, next).await?;
        }
        let Performer { changes, course, .. } = performer;
        Ok(SweepReport { changes: changes.made, course, ..SweepReport::default() })
    }

    /// The file whose lock keeps a second process from a work on this project.
    pub(crate) fn lock_file(&self, work: &str) -> PathBuf {
        let project = proem_text::hex::encode_hex(Sha256::digest(self.owner.0.as_bytes()));
        let name = format!("{work}-{}.lock", project.get(..16).unwrap_or(&project));
        self.project.places.state.join(name)
    }
}
