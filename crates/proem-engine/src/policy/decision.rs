//! The inputs and results of a decision.

use proem_guard::Verdict;
use proem_guard::check::{
    ActionCheck, Confidence, ConfidentialPrompt, HoldMinutes, OutsideText, Reach, TrustedExcerpt,
};
use proem_text::Label;

use super::{
    action::ProposedAction,
    condition::ConditionResult,
    confidence::{ActionConfidence, ActionPast, SourceAgreement},
    permit::Permit,
    reason::DecisionReason,
    terms::{AutonomyLevel, Policy},
};
use crate::effect::{ActionHash, HoldCondition, PolicyHash, key::EffectKey};

/// Whether effects happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectSwitch {
    /// They do.
    On,
    /// They are not enabled for this store, or nothing is recorded.
    Off,
    /// Somebody stopped all of them.
    Killed,
}

/// The ground that a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerdictBasis {
    /// The learned score or likeness, and nothing else.
    ScoreAlone,
    /// At least one finding of a rule.
    Rule,
}

/// The worst verdict of all causes of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseVerdict {
    /// The verdict.
    pub worst: Verdict,
    /// Its basis. Irrelevant for `allow`.
    pub basis: VerdictBasis,
}

/// The texts of the request that led to the action.
#[derive(Debug, Clone, Copy)]
pub struct ActionEvidence<'a> {
    /// Texts that a person vouches for.
    pub trusted: &'a [TrustedExcerpt<'a>],
    /// Texts from outside.
    pub untrusted: &'a [OutsideText<'a>],
    /// The join of the labels of all sections of the request.
    pub request: &'a Label,
    /// The prompt, which must not leak.
    pub prompt: ConfidentialPrompt<'a>,
}

/// Which decision it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionMoment {
    /// The first one, when it was proposed.
    Proposal,
    /// Right before a held action is performed, its hold being over.
    HeldExecution {
        /// For how long it was held.
        held: HoldMinutes,
    },
    /// Right before an approved action is performed.
    ApprovedExecution {
        /// The level of autonomy when a person approved it.
        approved_at: AutonomyLevel,
    },
}

/// Everything that a decision is taken by.
#[derive(Debug, Clone, Copy)]
pub struct DecisionRequest<'a> {
    /// The agent's proposal, with target and fields.
    pub action: &'a ProposedAction,
    /// The key by which it happens at most once.
    pub key: EffectKey,
    /// The policy of now.
    pub policy: &'a Policy,
    /// The level of autonomy of now.
    pub level: AutonomyLevel,
    /// The guard's verdict on its causes.
    pub verdict: CauseVerdict,
    /// The texts that its request was built from.
    pub evidence: ActionEvidence<'a>,
    /// The history of earlier actions.
    pub past: ActionPast,
    /// The sources that agree with it.
    pub sources: SourceAgreement,
    /// Whether effects happen.
    pub switch: EffectSwitch,
    /// Which decision it is.
    pub moment: DecisionMoment,
}

/// The treatment of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalNotice {
    /// It is written down.
    Recorded,
    /// It is put before a person, too.
    Escalated,
}

/// The policy's answer about an action.
#[derive(Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may be performed at this moment. Never given to a proposal: an automatic action is held for no time.
    Permit(Permit),
    /// It goes by itself after so many minutes, 0 for at once, if its conditions are still met then.
    Hold(HoldMinutes),
    /// A person has to say yes.
    Approval,
    /// A person has to choose what to do.
    Escalation,
    /// It stays where it is, since effects are not on.
    Standstill,
    /// It does not happen.
    Refusal(RefusalNotice),
}

impl Ruling {
    /// As it is written down.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Permit(_) => "permit",
            Self::Hold(_) => "hold",
            Self::Approval => "approval",
            Self::Escalation => "escalation",
            Self::Standstill => "standstill",
            Self::Refusal(_) => "refusal",
        }
    }
}

/// A decision with everything that it was taken by.
#[derive(Debug, PartialEq)]
#[must_use]
pub struct Decision {
    /// The policy's answer about the action.
    pub ruling: Ruling,
    /// Why, in the order in which it was looked at.
    pub reasons: Vec<DecisionReason>,
    /// The seven conditions under which it goes by itself.
    pub conditions: Vec<ConditionResult>,
    /// How sure code is of it.
    pub confidence: ActionConfidence,
    /// The lower of that and how sure the model is. It is shown and decides nothing.
    pub stated: Confidence,
    /// The conditions of a hold that are not met.
    pub unmet: Vec<HoldCondition>,
    /// How long it would be held. `None` for what is not on a list of what goes by itself.
    pub hold: Option<HoldMinutes>,
    /// Whom it reaches.
    pub reach: Reach,
    /// The findings of the checks, with excerpts that are still from outside.
    pub check: ActionCheck,
    /// The hash of the action's content.
    pub content: ActionHash,
    /// The policy that decided.
    pub policy: PolicyHash,
}
