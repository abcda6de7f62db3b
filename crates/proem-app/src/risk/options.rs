//! What an assessment is asked for with.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use proem_risk::level::LevelRules;
use proem_runtime::change::{CommitSelection, Spec};
use serde::{Deserialize, Serialize};

use crate::records::learning::Adapting;
use crate::records::writing::RecordChoice;

/// What is assessed, from what, and who looks at it.
#[derive(Debug, Clone)]
pub struct RiskOptions {
    /// A folder of the repository.
    pub root: PathBuf,
    /// Which changes are meant.
    pub changes: WantedChanges,
    /// What they are assessed from.
    pub evidence: EvidenceOptions,
    /// Who investigates, and how long.
    pub investigation: InvestigationOptions,
    /// What shapes the prompts.
    pub adapting: Adapting,
    /// What the caller says about records.
    pub record: RecordChoice,
    /// The most changes that are assessed at once.
    pub concurrency: NonZeroUsize,
}

/// Which changes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedChanges {
    /// Each of these, as one change.
    Several(Vec<Spec>),
    /// Every commit of these on its own.
    Each(CommitSelection),
}

/// What an assessment is made from.
#[derive(Debug, Clone)]
pub struct EvidenceOptions {
    /// What decides the level.
    pub rules: LevelRules,
    /// Incidents as JSON, JSON Lines or CSV, or an export of issues; otherwise fixes and reverts of the history.
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

/// Which model investigates, and how long.
#[derive(Debug, Clone)]
pub struct InvestigationOptions {
    /// Why no model is to be asked, in words for the report; `None` where one may be.
    pub unasked: Option<String>,
    /// The model or role.
    pub model: Option<String>,
    /// Whose model it is.
    pub provider: Option<String>,
    /// The longest that one investigation may take, with its summary, in seconds.
    pub seconds: NonZeroU32,
    /// The longest that one step of it may take, in seconds.
    pub hop_seconds: NonZeroU32,
    /// A folder that keeps what goes over the wire.
    pub record: Option<PathBuf>,
    /// A folder that answers are taken from; nothing is sent.
    pub replay: Option<PathBuf>,
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
