//! The options of an assessment.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use proem_risk::level::LevelRules;
use proem_runtime::change::{CommitSelection, Spec};
use serde::{Deserialize, Serialize};

use crate::records::learning::Adapting;
use crate::records::writing::RecordChoice;

/// The changes to assess, the evidence, and the investigation.
#[derive(Debug, Clone)]
pub struct RiskOptions {
    /// A folder of the repository.
    pub root: PathBuf,
    /// The changes to assess.
    pub changes: WantedChanges,
    /// The basis of their assessment.
    pub evidence: EvidenceOptions,
    /// The investigator, and the limits.
    pub investigation: InvestigationOptions,
    /// The influences on the prompts.
    pub adapting: Adapting,
    /// The caller's choice about records.
    pub record: RecordChoice,
    /// The most changes that are assessed at once.
    pub concurrency: NonZeroUsize,
}

/// The changes to assess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedChanges {
    /// Each of these, as one change.
    Several(Vec<Spec>),
    /// Every commit of these on its own.
    Each(CommitSelection),
}

/// The basis of an assessment.
#[derive(Debug, Clone)]
pub struct EvidenceOptions {
    /// The rules for the level.
    pub rules: LevelRules,
    /// Incidents as JSON, JSON Lines or CSV, or an export of issues. Otherwise fixes and reverts of the history.
    pub incidents: Option<PathBuf>,
    /// A report of measured coverage.
    pub coverage: Option<PathBuf>,
    /// Whether only first parents are followed through the history.
    pub first_parent: bool,
    /// How far back changes count that were made together, in months.
    pub window_months: u16,
    /// Whether the history is kept between assessments.
    pub caching: HistoryCaching,
}

/// The investigating model, and its limits of time.
#[derive(Debug, Clone)]
pub struct InvestigationOptions {
    /// Why no model is to be asked, in words for the report. `None` where one may be.
    pub unasked: Option<String>,
    /// The model or role.
    pub model: Option<String>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The longest that it may take.
    pub time: InvestigationTime,
    /// Whether the model sees lines of the change.
    pub diff: DiffChoice,
    /// A folder that keeps what goes over the wire.
    pub record: Option<PathBuf>,
    /// A folder that answers are taken from. Nothing is sent.
    pub replay: Option<PathBuf>,
}

/// The limits of time of an investigation, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvestigationTime {
    /// Of all of it, with its summary.
    pub total: NonZeroU32,
    /// Of one step.
    pub hop: NonZeroU32,
}

/// Whether a model sees lines of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DiffChoice {
    /// It sees numbers and names only.
    #[default]
    Hide,
    /// It sees the riskiest parts, if the user's own configuration permits that.
    Show,
}

/// Whether the history is kept between commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryCaching {
    /// It is.
    On,
    /// It is read whole, and nothing of it is kept.
    Off,
}
