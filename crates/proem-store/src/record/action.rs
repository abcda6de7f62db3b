//! Actions that agents propose, their transitions, and the right to perform them.

use std::sync::Arc;

use proem_engine::effect::key::{EffectKey, SignalClaim};
use proem_engine::effect::{ActionHash, PolicyHash, ReleaseWindow, TransitionRequest};
use proem_engine::run::Time;
use serde_json::Value as Json;

use super::content::HashedContent;
use super::names::{Actor, Project, RunId};

/// The scope that counts one kind of action to one recipient. Credit for shorter holds never reaches beyond it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CreditScope {
    /// The action's name, as the policy spells it.
    pub name: String,
    /// The digest of the recipient's canonical form. `None` where there is no recipient.
    pub recipient: Option<[u8; 32]>,
    /// The type of action beside its name, as the policy distinguishes them.
    pub kind: String,
}

/// The place in a run that an action came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionSource {
    /// The run whose model proposed it.
    pub run: RunId,
    /// How many events the run had taken.
    pub step: u32,
}

/// An action that is proposed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAction {
    /// Its key, which is its id.
    pub key: EffectKey,
    /// The claims of its signals: at least one.
    pub claims: Vec<SignalClaim>,
    /// Of which project it is.
    pub project: Project,
    /// The actor that proposes it.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// Its name, its recipient and its type.
    pub scope: CreditScope,
    /// The digest of what it is aimed at.
    pub target: [u8; 32],
    /// The hash of its canonical form, which an approval is bound to.
    pub content: ActionHash,
    /// Its written form, with labels.
    pub form: String,
    /// Until when somebody has to have decided.
    pub deadline: Time,
    /// The policy's decision, as JSON. Null before the policy was asked.
    pub decision: Json,
    /// The run and step that proposed it. `None` if a person did.
    pub origin: Option<ActionSource>,
    /// Texts that it needs as long as it is kept, such as those of its causes.
    pub texts: Vec<HashedContent>,
}

/// Of how many actions a person said yes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalBreadth {
    /// Of this one.
    Single,
    /// Of several, which gives no credit.
    Bulk,
}

proem_text::word_table! {
    pub ApprovalBreadth {
        Single = "single",
        Bulk = "bulk",
    }
}

/// The data that a transition brings. Each event has its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransitionLoad {
    /// The transition carries nothing.
    Nothing,
    /// The new written form, with `edit`.
    Form(String),
    /// The exact bytes, with `take-up`.
    Bytes(Arc<[u8]>),
    /// Of how many actions the person said yes at once, with `approve`, `release` and `resend`.
    Approval(ApprovalBreadth),
}

/// Something that happens to an action.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTransition {
    /// Which action.
    pub key: EffectKey,
    /// Of which project it is.
    pub project: Project,
    /// The actor that causes it.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// The event, the authority behind it, the version it was decided on, and the epoch.
    pub request: TransitionRequest,
    /// The policy in force.
    pub policy: PolicyHash,
    /// The release window of that policy.
    pub window: ReleaseWindow,
    /// The data to store with it.
    pub load: TransitionLoad,
    /// Details to record: the policy's reasons, the person's comment, the receiver's answer.
    pub details: Json,
}

/// That an executed action should not have happened like this, as a person says: it is no precedent any more, and
/// the credit that it was given under is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCorrection {
    /// Which action.
    pub key: EffectKey,
    /// Of which project it is.
    pub project: Project,
    /// The person.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// Why, in the person's own words.
    pub why: String,
}

/// That a process performs effects from here on. It holds the performer's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformerClaim {
    /// For which project.
    pub project: Project,
    /// The actor that started it.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// A text that identifies the process, such as its number and its start.
    pub process: String,
}

/// Whether a project's actions may be performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectsPower {
    /// They may.
    On,
    /// They stay as they are.
    Off,
}

proem_text::word_table! {
    pub EffectsPower {
        On = "on",
        Off = "off",
    }
}

/// That a project's effects are on, from this store alone, or off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectsSwitch {
    /// Which project.
    pub project: Project,
    /// The person.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// The power that is switched.
    pub power: EffectsPower,
}
