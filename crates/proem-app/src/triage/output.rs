//! The work and the state of triage, as JSON.

use std::collections::BTreeMap;

use proem_engine::run::Time;
use proem_guard::show;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::cycle_report::CycleReport;
use super::desk::{IntakeCounts, TriageDesk};
use super::signals::{SignalEntry, SignalJudge};
use super::status::TriageStatus;
use crate::effects::EffectsObstacle;
use crate::effects::escalations;
use crate::effects::propose::ProposalFate;
use crate::when;

/// The answer of `proem triage run --json`, and the report in a cycle's line of `proem triage watch --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TriageRun")]
pub struct TriageOutput {
    /// Whether rules alone said what signals are about.
    degraded: bool,
    /// The intake. Null in a cycle's line.
    came: Option<IntakeCountsOutput>,
    /// The outcome of each signal, in the order of intake.
    signals: Vec<SignalOut>,
    /// The next versions of artefacts, in the order in which they were written.
    changes: Vec<ChangeOut>,
    /// Questions that wait for a person from now on, the most pressing first.
    questions: Vec<QuestionOut>,
    /// How many questions had been asked before and are still open.
    asked_before: u64,
    /// The fates of proposed actions.
    actions: Vec<ActionOut>,
    /// The signals that were kept out, by sender, most first.
    kept_out: Vec<KeptOutOut>,
    /// Signals that were read and left alone, in the order in which they came.
    left: Vec<LeftOut>,
    /// The failures, in words.
    problems: Vec<String>,
    /// The numbers of the cycles that were written.
    cycles: Vec<u64>,
    /// The current step of triage's budget, in words. Null if it narrows nothing, or no model may be asked.
    budget: Option<String>,
}

/// The numbers of signals that came in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IntakeCountsOutput {
    /// Signals that were not known.
    new: u64,
    /// Signals that were known and say something else.
    revised: u64,
    /// Signals that were there already.
    same: u64,
    /// Those of the first two that are another project's.
    set_aside: u64,
    /// The signals that could not be read, and were unknown.
    malformed: u64,
}

impl From<IntakeCounts> for IntakeCountsOutput {
    fn from(counts: IntakeCounts) -> Self {
        let IntakeCounts { new, revised, same, set_aside, malformed } = counts;
        Self { new, revised, same, set_aside, malformed }
    }
}

/// The outcome of a signal.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SignalOut {
    id: String,
    /// The hash of its content.
    revision: String,
    /// `logged`, `incorporated`, `commented`, `drafted`, `escalated` or `kept-out`.
    outcome: &'static str,
    /// `critical`, `high`, `medium` or `low`.
    importance: &'static str,
    /// Its first category.
    category: &'static str,
    /// The recommended action.
    action: &'static str,
    /// The basis of the category: `system`, `clear`, `close` or `none`.
    basis: &'static str,
    /// How often a classification like this one is right, 0 to 1.
    confidence: f64,
    /// 0.5 if one principal says so, 1 if two or more do.
    source_agreement: f64,
    /// The items of artefacts that it is about.
    items: Vec<String>,
    /// Whether rules alone said what it is about.
    degraded: bool,
}

/// The next version of an artefact.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangeOut {
    /// The artefact's name.
    artefact: &'static str,
    /// The version that was written.
    version: u64,
    /// The items that changed, in the order of the changes.
    items: Vec<String>,
}

/// A question that waits for a person.
#[derive(Debug, Serialize, JsonSchema)]
struct QuestionOut {
    /// The id, for `proem escalations`.
    id: String,
    /// The question, in words of Proem.
    title: String,
    /// Its subject, in words that may be anybody's. Null if it has no name.
    heading: Json,
}

/// The fate of an action.
#[derive(Debug, Serialize, JsonSchema)]
struct ActionOut {
    /// Its name.
    action: String,
    /// Its fate: a state of the queue, `duplicate` or `unwritten`.
    fate: &'static str,
}

/// A signal that was read and left alone.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftOut {
    /// Its short id, for `proem triage judge`.
    short: String,
    /// Its sender, by name.
    sender: Json,
    /// Its name.
    subject: Json,
    /// Why nothing follows from it.
    why: &'static str,
}

/// How much of a sender's was kept out.
#[derive(Debug, Serialize, JsonSchema)]
struct KeptOutOut {
    /// Its sender, escaped.
    sender: String,
    /// How many texts.
    fields: u64,
}

impl TriageOutput {
    /// The results of cycles, and the intake for them if that is known.
    #[must_use]
    pub fn new(counts: Option<IntakeCounts>, report: &CycleReport) -> Self {
        let signals = report.outcomes.iter().map(|outcome| SignalOut {
            id: outcome.id.id.clone(),
            revision: outcome.id.revision.clone(),
            outcome: outcome.kind.as_str(),
            importance: outcome.importance.as_str(),
            category: outcome.category.as_str(),
            action: outcome.action.as_str(),
            basis: outcome.basis.as_str(),
            confidence: outcome.confidence,
            source_agreement: outcome.source_agreement(),
            items: outcome.items.iter().map(ToString::to_string).collect(),
            degraded: outcome.is_degraded,
        });
        let changes = report.changes.iter().map(|change| ChangeOut {
            artefact: change.artefact.kind().as_str(),
            version: change.artefact.version(),
            items: change.entry.changes.iter().map(|item| item.item.to_string()).collect(),
        });
        let questions = report.questions.iter().map(|asked| QuestionOut {
            id: asked.id.0.clone(),
            title: asked.title.clone(),
            heading: show::tree_json(&asked.heading),
        });
        Self {
            degraded: report.outcomes.iter().all(|outcome| outcome.is_degraded),
            came: counts.map(IntakeCountsOutput::from),
            signals: signals.collect(),
            changes: changes.collect(),
            questions: questions.collect(),
            asked_before: report.asked_before,
            actions: report
                .actions
                .iter()
                .map(|(name, fate)| ActionOut { action: name.clone(), fate: fate.as_str() })
                .collect(),
            kept_out: report
                .kept_out
                .iter()
                .map(|count| KeptOutOut { sender: count.sender.clone(), fields: count.fields })
                .collect(),
            left: report
                .left
                .iter()
                .map(|left| LeftOut {
                    short: left.handle.clone(),
                    sender: show::tree_json(&left.sender),
                    subject: show::tree_json(&left.subject),
                    why: left.why,
                })
                .collect(),
            problems: report.problems.clone(),
            cycles: report.cycles.clone(),
            budget: report.budget.and_then(|place| place.in_words()),
        }
    }
}

impl ProposalFate {
    /// The word for it: a state of the queue, `duplicate` or `unwritten`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Written(state) | Self::Known(state) => state.as_str(),
            Self::Duplicate(_) => "duplicate",
            Self::Unwritten => "unwritten",
        }
    }
}

/// The answer of `proem triage status --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TriageStatus")]
pub struct TriageStatusOutput {
    project: ProjectOut,
    /// The level of autonomy in force, which may be lower than the project's own.
    level: &'static str,
    /// Whether no model may be asked.
    degraded: bool,
    /// How many signals there are, by what they are at: `open`, `handled`, `set-aside`, `malformed`.
    signals: BTreeMap<&'static str, u64>,
    /// The last cycles, the newest first.
    cycles: Vec<CycleOut>,
    /// Questions that wait for a person.
    questions: Vec<WaitingOut>,
    /// How many actions there are, by state.
    actions: BTreeMap<&'static str, u64>,
    /// How many texts are in quarantine.
    quarantined: u64,
    /// The obstacles to effects, by name.
    obstacles: Vec<&'static str>,
    /// The artefacts, each with its version; 0 if nothing changed it yet.
    artefacts: BTreeMap<&'static str, VersionOut>,
}

/// A project that is triaged.
#[derive(Debug, Serialize, JsonSchema)]
struct ProjectOut {
    /// Its UUID.
    id: String,
    /// Its name among people.
    name: String,
    /// The key that its tickets begin with.
    key: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CycleOut {
    /// Its number.
    cycle: u64,
    /// When it was written.
    at: String,
    /// Its counts. Null once a purge took it.
    counts: Json,
}

/// A question that waits.
#[derive(Debug, Serialize, JsonSchema)]
struct WaitingOut {
    /// The id, for `proem escalations`.
    id: String,
    /// When it was asked.
    at: String,
    /// How soon it has to be decided.
    sensitivity: String,
    /// Its subject, in words that may be anybody's. Null if it has no name.
    heading: Json,
}

/// An artefact's version.
#[derive(Debug, Serialize, JsonSchema)]
struct VersionOut {
    /// How often it was changed.
    version: u64,
}

impl TriageStatusOutput {
    /// The state of triage.
    #[must_use]
    pub fn new(desk: &TriageDesk<'_>, status: &TriageStatus) -> Self {
        let charter = &desk.charter;
        let cycles = status.cycles.iter().map(|cycle| CycleOut {
            cycle: cycle.cycle,
            at: when::rfc3339(cycle.at),
            counts: cycle.counts.clone(),
        });
        let questions = status.questions.iter().map(|row| WaitingOut {
            id: row.id.0.clone(),
            at: when::rfc3339(row.at),
            sensitivity: row.sensitivity.clone(),
            heading: escalations::escalation_case(row)
                .and_then(|case| case.heading)
                .map_or(Json::Null, |heading| show::tree_json(&heading)),
        });
        let artefacts = status.artefacts.iter();
        Self {
            project: ProjectOut { id: charter.id.clone(), name: charter.name.clone(), key: charter.key.clone() },
            level: desk.desk.level().as_str(),
            degraded: desk.desk.project.config.triage.models != Some(true),
            signals: status.signals.iter().map(|(standing, count)| (standing.as_str(), *count)).collect(),
            cycles: cycles.collect(),
            questions: questions.collect(),
            actions: status.actions.iter().map(|(state, count)| (state.as_str(), *count)).collect(),
            quarantined: status.quarantined,
            obstacles: status.obstacles.iter().map(EffectsObstacle::as_str).collect(),
            artefacts: artefacts
                .map(|artefact| (artefact.kind().as_str(), VersionOut { version: artefact.version() }))
                .collect(),
        }
    }
}

/// The answer of `proem triage signals --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TriageSignals")]
pub struct TriageSignalsOutput {
    /// Since when signals came.
    since: String,
    /// The signals, the newest first.
    signals: Vec<EntryOut>,
}

/// A signal with what became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EntryOut {
    /// Its short id, for `proem triage judge`.
    short: String,
    /// Its whole id.
    id: String,
    /// The hash of its content.
    revision: String,
    /// When it happened, by its own word, or else when it came.
    time: String,
    /// When it came.
    came: String,
    /// The system that it came from.
    source: String,
    /// The event, such as `email_received`.
    kind: String,
    /// Its sender, by name.
    sender: Json,
    /// Its name.
    subject: Json,
    /// `critical`, `high`, `medium` or `low`. Null before a cycle judged it.
    importance: Option<String>,
    /// Its first category. Null likewise.
    category: Option<String>,
    /// Its judge: `rules`, `model`, `person`, or `learned` from a person's judgements. Null likewise.
    judge: Option<&'static str>,
    /// Why it was judged so, in about five words. Empty likewise.
    why: &'static str,
    /// `acted`, `held`, `asked`, `refused`, `left`, `set-aside` or `open`.
    outcome: &'static str,
    /// The same in words, with the command that shows more.
    detail: String,
    /// Items of artefacts that it is about.
    items: Vec<String>,
    /// Ids of questions about it.
    questions: Vec<String>,
    /// Keys of actions that answer it.
    actions: Vec<String>,
    /// The note of the person who judged it. Null without any.
    note: Option<String>,
}

impl TriageSignalsOutput {
    /// The signals that came since a time.
    #[must_use]
    pub fn new(since: Time, entries: &[SignalEntry]) -> Self {
        let signals = entries.iter().map(|entry| EntryOut {
            short: entry.handle.clone(),
            id: entry.id.id.clone(),
            revision: entry.id.revision.clone(),
            time: when::rfc3339(entry.time),
            came: when::rfc3339(entry.came),
            source: entry.source.clone(),
            kind: entry.kind.clone(),
            sender: show::tree_json(&entry.sender),
            subject: show::tree_json(&entry.subject),
            importance: entry.importance.clone(),
            category: entry.category.clone(),
            judge: entry.judge.map(SignalJudge::as_str),
            why: entry.why,
            outcome: entry.fate.as_str(),
            detail: entry.outcome.clone(),
            items: entry.items.clone(),
            questions: entry.questions.clone(),
            actions: entry.actions.clone(),
            note: entry.note.clone(),
        });
        Self { since: when::rfc3339(since), signals: signals.collect() }
    }
}

/// The answer of `proem artefacts show --json` and of `proem artefacts export --format json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Artefacts")]
pub struct ArtefactsOutput {
    /// The artefacts.
    pub artefacts: Vec<ArtefactOut>,
}

/// An artefact as it is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transparent)]
#[serde(transparent)]
pub struct ArtefactOut(#[schemars(schema_with = "artefact_schema")] pub Json);

/// The output of `Artefact::to_json`. The content of each kind follows the contracts of the stages.
fn artefact_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let object = |about: &str| serde_json::json!({ "type": "object", "description": about });
    let statements = "For each item and each of its texts: `certainty`, which is `fact` or `inference`, and `origins`, \
                      signals with their revision and persons.";
    let value = serde_json::json!({
        "type": "object",
        "required": ["artefact", "project_id", "version", "updated", "content", "over", "figures", "statements"],
        "additionalProperties": false,
        "properties": {
            "artefact": { "enum": ["raid_log", "delivery_state", "backlog_summary", "decision_log"] },
            "project_id": { "type": "string", "description": "The UUID of its project." },
            "version": { "type": "integer", "minimum": 0, "description": "How often it was changed." },
            "updated": { "type": ["string", "null"], "description": "When it was changed last, in UTC." },
            "content": object("Its content: open items of delivery state and backlog summary, all items of the two logs."),
            "over": { "type": "array", "items": { "type": "object" },
                "description": "Items of delivery state and backlog summary that are over." },
            "figures": { "type": ["object", "null"],
                "description": "Figures by name, null where they are not known, with the reasons below `unknown`." },
            "statements": object(statements),
        },
    });
    schemars::Schema::try_from(value).unwrap_or_default()
}
