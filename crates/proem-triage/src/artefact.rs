//! The artefacts of a project: delivery state, RAID log, backlog summary and decision log.
//!
//! An [`Artefact`] is a version: items of kinds it holds, each with the fields that [`ArtefactItemKind::fields`]
//! lists. The names of kinds, fields and words are those of the schemas, which [`proposal_contract`] gives.
//!
//! Invariants: an artefact changes by operations alone, none of which takes an item away. An id is given once. Every
//! text has a label and an origin, through all versions. Only what a person typed or approved is trusted. No figure is
//! taken from a text. Only a person, or the tracker's own event, ends something or makes it look better. Nothing here
//! reads a clock, a store or a file.

mod apply;
mod clean;
mod count;
mod ending;
mod export;
mod field;
mod figure;
mod health;
mod item;
mod kind;
mod merge;
mod offer;
mod operation;
mod proposal;
mod relations;
mod render;
mod restoring;
mod rule;
mod schema;
mod sources;
mod state_words;
mod statement;
mod stored_form;
mod ticket;
mod written_log;

pub(crate) use self::ticket::{TicketPriority, TicketProgress, TicketState};
pub use self::{
    apply::{AppliedChange, EscalationNeed, MAX_OPERATIONS, apply_operations},
    clean::{clean_markdown, tree_on_one_line},
    count::{BacklogExtent, FigurePlaces, FigureSources, count_figures},
    ending::{OperationBearing, needs_person, operation_bearing},
    export::artefact_difference,
    field::{ArtefactField, FieldForm, FieldNeed, FieldRule},
    figure::{Figure, FigureTrend, FigureValue, ProjectFigures, UnknownFigure},
    health::ProjectHealth,
    item::{Artefact, ArtefactItem, ArtefactValue, DecisionOption},
    kind::{ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemStatus},
    offer::{ChangeOffer, change_offer, offered_operations},
    operation::{
        ArtefactActor, ArtefactContext, ArtefactLogEntry, ArtefactOperation, ItemChange, ItemChangeKind,
        SignalReferences,
    },
    proposal::proposed_operations,
    render::{ReportTerms, artefacts_markdown},
    restoring::restored_version,
    rule::{ArtefactRule, RuleViolation},
    schema::proposal_contract,
    sources::{ReportSource, ReportSources},
    state_words::SectionStates,
    statement::{ArtefactStatement, Certainty, StatementOrigin},
    stored_form::{ARTEFACT_FORM, ArtefactFormError},
};
