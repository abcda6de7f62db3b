//! The records of triage: signals, versions of artefacts, cycles.

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::content::HashedContent;
use super::names::{Actor, Project};

/// Open, handled, set aside or malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalStanding {
    /// No cycle has handled it.
    Open,
    /// It is another project's.
    SetAside,
    /// It could not be read; what could be kept of it is.
    Malformed,
    /// A cycle has handled it.
    Handled,
}

proem_text::word_table! {
    pub SignalStanding {
        Open = "open",
        SetAside = "set-aside",
        Malformed = "malformed",
        Handled = "handled",
    }
}

/// The kind of a line that is no signal: it says that the signals before it hold a whole backlog.
pub const WHOLE_BACKLOG: &str = "whole-backlog";

/// A signal that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSignal {
    /// Its id, and which content it has.
    pub id: SignalRevision,
    /// Which system it came from.
    pub source: String,
    /// The kind of its subject, by the name that its system's adapter gives it.
    pub kind: String,
    /// When it says that it happened, if that is known.
    pub time: Option<Time>,
    /// Its written form, with its labels.
    pub text: HashedContent,
    /// Its first standing. No signal is handled that no cycle has seen.
    pub standing: SignalStanding,
}

/// Signals that came together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalIntake {
    /// Of which project they are.
    pub project: Project,
    /// The actor that took them in.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// The signals that came together, in the order of arrival.
    pub signals: Vec<NewSignal>,
}

/// The next version of an artefact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtefactVersion {
    /// Which artefact.
    pub kind: String,
    /// One more than that of the newest; 1 for the first.
    pub version: u64,
    /// The written form of the artefact.
    pub content: HashedContent,
    /// The written form of what changed.
    pub entry: HashedContent,
    /// The signals that it came from.
    pub causes: Vec<SignalRevision>,
}

/// A version of an artefact that a person made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtefactEdit {
    /// Of which project it is.
    pub project: Project,
    /// The person.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// The content that the edit leads to.
    pub version: NewArtefactVersion,
}

/// A signal that a cycle handled.
#[derive(Debug, Clone, PartialEq)]
pub struct HandledSignal {
    /// Which one.
    pub id: SignalRevision,
    /// Its outcome, as JSON without any text from outside.
    pub outcome: Json,
}

/// The end of a cycle: everything that it changes, at once.
#[derive(Debug, Clone, PartialEq)]
pub struct CycleFinish {
    /// Of which project it is.
    pub project: Project,
    /// The actor that ran it.
    pub actor: Actor,
    /// When it began.
    pub began: Time,
    /// The time.
    pub at: Time,
    /// The next versions of the artefacts that it changed.
    pub artefacts: Vec<NewArtefactVersion>,
    /// The signals that it handled.
    pub handled: Vec<HandledSignal>,
    /// Its counts, as JSON without any text from outside.
    pub counts: Json,
}

/// A person's judgement of how much a signal matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalJudgement {
    /// Of which project it is.
    pub project: Project,
    /// The person.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// The signal that is judged.
    pub id: SignalRevision,
    /// How much it matters: `critical`, `high`, `medium` or `low`.
    pub importance: &'static str,
    /// How much it mattered before.
    pub before: &'static str,
    /// The signal's first category.
    pub category: &'static str,
    /// The address of the stakeholder who sent it, as the project's file has it. Empty for everybody else.
    pub sender: String,
    /// The person's own words.
    pub note: Option<String>,
}

/// A project that signals are triaged for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTriageProject {
    /// The project, as everything here names it.
    pub project: Project,
    /// The id that its file gives it.
    pub id: String,
    /// As its charter gives it.
    pub name: String,
    /// The actor that judges.
    pub actor: Actor,
    /// The time.
    pub at: Time,
}
