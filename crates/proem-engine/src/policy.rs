//! Permissions: the policy of a user, an action as an agent proposes it, and the decision about it.
//!
//! [`Policy::parse`] reads a policy with all that is wrong with it, [`ProposedAction::read`] an action, and
//! [`decide()`] says of the two whether the action goes by itself, waits for a person, or does not happen.
//! [`decide_call()`] does so for a program's call of a tool, by the tool's definition.
//!
//! Invariants: nothing that a model says about its own action makes a decision milder; what no list names is refused. A
//! [`Permit`] is made by [`decide()`] and [`decide_call()`] alone, right before the action is performed. Texts of an
//! action keep their labels, and leave only by the doors of `guard::show`. Nothing here performs, stores or asks
//! anything.

mod action;
mod call;
mod canonical;
mod condition;
mod confidence;
mod decide;
mod decision;
mod document;
mod field;
mod file;
mod narrow;
mod permit;
mod project;
mod reason;
mod template;
mod terms;

pub use self::{
    action::{ActionCause, MAX_BODY, MAX_CAUSES, MAX_FIELD_COUNT, ProposedAction, SelfAssessment},
    call::{CallReason, CallRecords, CallRequest, CallRuling, CallTerms, call_content, call_key, decide_call},
    condition::{AutomaticCondition, ConditionResult},
    confidence::{ActionConfidence, ActionPast, SourceAgreement, SourceConflict},
    decide::decide,
    decision::{
        ActionEvidence, CauseVerdict, Decision, DecisionMoment, DecisionRequest, EffectSwitch, RefusalNotice, Ruling,
        VerdictBasis,
    },
    document::DecisionDocument,
    permit::Permit,
    project::ProjectAllowances,
    reason::DecisionReason,
    template::TextTemplate,
    terms::{ActionList, ActionTerms, AutonomyLevel, EffectRoute, FieldTerms, HoldSteps, KnownRecipient, Policy},
};

/// The examples on the concepts page run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/concepts/policy.md")]
struct Page;
