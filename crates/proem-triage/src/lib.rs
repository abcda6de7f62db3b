#![doc = include_str!("../README.md")]
//!
//! Triage: what other systems say about a project, as signals of one form.
//!
//! A [`ProjectSignal`] is one thing that happened or is somewhere: a ticket that changed, a comment, a mail, a task.
//! [`normalise_signals`] reads them from a text that another system wrote, [`SignalLog`] keeps each one once with its
//! revisions.
//!
//! Invariants: every text of another system is `Untrusted`, under a source of its own (`jira/comment`, `mail/body`).
//! Ids, revisions and notes hold no text from outside. Nothing is dropped without being listed. The order in which
//! signals come changes no result. Nothing here reads a clock.

pub mod answer;
pub mod artefact;
mod asana_project;
pub mod blocks;
pub mod charter;
mod classify;
pub mod contract;
mod date;
mod delivery;
mod draft;
pub mod guidance;
mod log;
pub mod pipeline;
pub mod plan;
mod rich_text;
mod sanitise;
mod sender;
mod signal;
mod sources;
mod sprint_field;
pub mod sync;

/// The budget of triage unless the configuration sets one, as the table `budget.agent.triage`.
pub const BUDGET: &str = include_str!("../data/budget.toml");

pub use self::{
    asana_project::{AsanaProject, asana_projects},
    classify::{
        CategoryWeights, ClassificationBasis, ClassificationContext, Completion, ConfidenceTable, CountedJudgement,
        FloorReason, ImportanceFloor, LearnedImportance, Movement, ReasoningNeed, SignalClassification, SignalInBatch,
        SignalTrait, SignalTraits, Slip, Standstill, TicketNews, TriageLexicon, TriageProject, classify_each,
        classify_signals, signal_matter, traits,
    },
    date::{SignalTime, TimeFault, utc_day, utc_timestamp},
    delivery::{
        DeliveryEnvelope, DeliveryFault, MAX_DELIVERY_ITEMS, MAX_UNREADABLE_ITEMS, SubscriptionNews, WebhookSource,
        normalise_delivery,
    },
    log::{SignalArrival, SignalLog},
    sanitise::{
        SanitisedField, SanitisedSignal, SenderQuarantine, SignalEffects, SignalThreat, kept_out_by_sender, original,
        sanitise_signal,
    },
    sender::{named_stakeholder, proven_stakeholder, sender_display_name, signal_subject},
    signal::{
        FORM, ProjectSignal, SenderAuthentication, SignalDocument, SignalFormError, SignalKind, SignalSender,
        SignalSource,
    },
    sources::{
        AnswerEnd, LINES_TOGETHER, MalformedSignal, NormalisedSignals, SearchExtent, SignalParts, SignalPlace,
        SourceAudience, SourceContext, mail, normalise_parts, normalise_signals, normalise_value,
    },
};
