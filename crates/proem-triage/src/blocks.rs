//! The inputs of the four prompts of triage: a project, its artefacts, recent actions, and signals, each with its
//! labels.
//!
//! Invariants: what the same project, artefacts and actions make is the same from call to call, whatever the signals
//! are. No time of day is above the signals' own section, only days. Text from a signal is never a text of ours,
//! wherever it was kept in between; what isn't known is said to be.

mod actions;
mod artefacts;
mod signals;

use std::collections::BTreeSet;

use proem_engine::{
    input::Inputs,
    policy::{ActionList, AutonomyLevel, Policy},
    run::Time,
};
use proem_guard::LabelTree;

use self::signals::SignalDepth;
use super::{
    artefact::{ArtefactField, ArtefactItemKind, Figure, ProjectFigures},
    charter::{CharterStatus, ProjectCharter},
    date::utc_day,
    plan::ArtefactSet,
};

pub use self::{
    actions::{MOST_SITUATIONS, RecentAction, RecentActionState, SimilarSituation},
    signals::{PromptBatch, PromptSignal},
};

/// The prompts, by the names that the book has for them.
pub const SANITISE: &str = "triage/sanitise";
/// Says how much signals matter, and what should be done.
pub const CLASSIFY: &str = "triage/classify";
/// Weighs what needs more.
pub const REASONING: &str = "triage/reasoning";
/// Keeps the artefacts.
pub const ARTEFACT_UPDATE: &str = "triage/artefact-update";

/// The tools that each prompt may call, and no other.
pub const TOOLS: [(&str, &[&str]); 4] = [
    (SANITISE, &["sanitise_signal"]),
    (CLASSIFY, &["classify_signal", "create_escalation"]),
    (
        REASONING,
        &[
            "classify_signal",
            "create_escalation",
            "draft_communication",
            "jira_comment",
            "update_backlog_summary",
            "update_decision_log",
            "update_delivery_state",
            "update_raid_log",
        ],
    ),
    (ARTEFACT_UPDATE, &["update_backlog_summary", "update_decision_log", "update_delivery_state", "update_raid_log"]),
];

/// The common part of all calls of a cycle.
#[derive(Debug, Clone, Copy)]
pub struct StageContext<'c> {
    /// The project, as a person vouched for it.
    pub charter: &'c ProjectCharter,
    /// The level in force, which may be lower than the project's own.
    pub level: AutonomyLevel,
    /// The policy in force.
    pub policy: &'c Policy,
    /// The artefacts as they are.
    pub artefacts: &'c ArtefactSet,
    /// The counts of the project, for the prompt to cite.
    pub figures: &'c ProjectFigures,
    /// The actions of the last 24 hours, oldest first.
    pub actions: &'c [RecentAction],
    /// The outcomes of similar situations, most similar first. Prompts show at most three.
    pub situations: &'c [SimilarSituation],
    /// The time of the cycle.
    pub now: Time,
}

/// The inputs of the prompt that cuts out what is no fact.
#[must_use]
pub fn sanitise_inputs(context: &StageContext<'_>, batch: &PromptBatch<'_>) -> Inputs {
    let mut inputs = Inputs::new();
    add_common_inputs(context, batch, &mut inputs);
    inputs
}

/// The inputs of the prompt that classifies.
#[must_use]
pub fn classify_inputs(context: &StageContext<'_>, batch: &PromptBatch<'_>) -> Inputs {
    let mut inputs = sanitise_inputs(context, batch);
    artefacts::add_artefact_state(context, &mut inputs);
    actions::add_recent_actions(context, &mut inputs);
    inputs
}

/// The inputs of the prompt that weighs.
#[must_use]
pub fn reasoning_inputs(context: &StageContext<'_>, batch: &PromptBatch<'_>) -> Inputs {
    let mut inputs = classify_inputs(context, batch);
    inputs.insert("policy".to_owned(), policy_block(context.policy));
    inputs.insert("situations".to_owned(), actions::situations(context));
    inputs.insert("signals".to_owned(), batch.signals(SignalDepth::Classified));
    inputs
}

/// The inputs of the prompt that keeps artefacts.
#[must_use]
pub fn artefact_update(context: &StageContext<'_>, batch: &PromptBatch<'_>) -> Inputs {
    let mut inputs = classify_inputs(context, batch);
    inputs.insert("items".to_owned(), artefacts::in_full(context.artefacts));
    inputs.insert("signals".to_owned(), batch.signals(SignalDepth::Classified));
    inputs
}

/// The inputs of every prompt.
fn add_common_inputs(context: &StageContext<'_>, batch: &PromptBatch<'_>, inputs: &mut Inputs) {
    inputs.insert("project".to_owned(), project_block(context));
    if let Some(sprint) = open_sprint_block(context) {
        inputs.insert("sprint".to_owned(), sprint);
    }
    inputs.insert("batch".to_owned(), batch.head(context.now));
    inputs.insert("signals".to_owned(), batch.signals(SignalDepth::Bare));
}

fn project_block(context: &StageContext<'_>) -> LabelTree {
    let charter = context.charter;
    let backlog = context.artefacts.items(ArtefactItemKind::Backlog).next().map(|(_, item)| item);
    let known: BTreeSet<&str> = charter.trackers.iter().map(|tracker| tracker.source.as_str()).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let listed = backlog.and_then(|backlog| backlog.word(ArtefactField::Source)).unwrap_or("unknown");
    // The file knows all trackers, and a listing only the one that it came from.
    let source = if known.is_empty() { listed.to_owned() } else { known.join(", ") };
    let status = match charter.status {
        CharterStatus::Active => "active",
        CharterStatus::Paused => "paused",
        CharterStatus::Closed => "closed",
    };
    let stakeholders = charter.stakeholders.iter().map(|known| {
        let position = if known.role.is_empty() { LabelTree::Null } else { known.role.as_str().into() };
        LabelTree::from([
            ("name", known.name.as_str().into()),
            ("position", position),
            ("email", known.address.as_str().into()),
            ("place", if charter.is_outside(&known.address) { "external" } else { "inside" }.into()),
        ])
    });
    let [from, to] = charter.working_hours.map(|minutes| format!("{:02}:{:02}", minutes / 60, minutes % 60));
    LabelTree::from([
        ("name", charter.name.as_str().into()),
        ("source", source.into()),
        ("key", charter.key.as_str().into()),
        ("status", status.into()),
        ("level", context.level.as_str().into()),
        ("stakeholders", LabelTree::list(stakeholders)),
        ("timezone", charter.time_zone.as_str().into()),
        ("working_from", from.into()),
        ("working_to", to.into()),
    ])
}

/// The sprint that is open. `None` if there is none.
fn open_sprint_block(context: &StageContext<'_>) -> Option<LabelTree> {
    let (_, sprint) = context.artefacts.items(ArtefactItemKind::Sprint).next()?;
    let text = |field| sprint.text(field).map_or_else(|| "unknown".into(), |text| text.words().clone());
    let date = |field| LabelTree::from(sprint.date(field).map_or_else(|| "unknown".to_owned(), utc_day));
    let figure = |figure| LabelTree::from(context.figures.get(figure).to_string());
    Some(LabelTree::from([
        ("name", text(ArtefactField::Name)),
        ("start", date(ArtefactField::StartDate)),
        ("end", date(ArtefactField::EndDate)),
        ("goal", text(ArtefactField::Goal)),
        ("completed", figure(Figure::CompletedPoints)),
        ("total", figure(Figure::TotalPoints)),
        ("percent", completed_percent(context.figures)),
    ]))
}

fn completed_percent(figures: &ProjectFigures) -> LabelTree {
    let shown = figures.get(Figure::CompletedPercent).to_string();
    if shown.starts_with("unknown") { shown.into() } else { format!("{shown}%").into() }
}

/// The policy's lists.
fn policy_block(policy: &Policy) -> LabelTree {
    let on = |name: &str| {
        let named = policy.actions().filter(|(_, terms)| terms.list.as_str() == name);
        comma_list_or_nothing(named.map(|(action, terms)| match terms.list {
            ActionList::Hold(hold) => format!("{action} ({} minutes)", hold.0),
            _ => action.to_owned(),
        }))
    };
    LabelTree::from([
        ("auto", on("auto")),
        ("hold", on("hold")),
        ("approval", on("approval")),
        ("never", comma_list_or_nothing(policy.never().map(str::to_owned))),
    ])
}

fn comma_list_or_nothing(names: impl Iterator<Item = String>) -> LabelTree {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ").into() }
}
