//! The state of the records, for programs.

use std::collections::BTreeMap;

use proem_app::records::file::RecordsFile;
use proem_app::when;
use proem_store::StoreCreator;
use proem_store::query::{RecordKnowledge, StatusRow, WitnessList, WitnessListLine};
use schemars::JsonSchema;
use serde::Serialize;

/// The records of a user.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StoreStatusOutput {
    /// The file, or the database without its password.
    pub(super) path: String,
    /// Whether there are records. All that follows is absent without them.
    pub(super) exists: bool,
    #[serde(flatten)]
    pub(super) records: Option<RecordsOutput>,
}

/// Records that exist.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RecordsOutput {
    #[serde(flatten)]
    identity: RecordsIdentity,
    #[serde(flatten)]
    extent: RecordsExtent,
    /// Why effects are parked. Null if they are not.
    parked: Option<String>,
    /// The effects that left or may have, while effects are parked.
    sent: Option<Vec<SentEffectOutput>>,
}

/// The installation that made the records, and when.
#[derive(Debug, Serialize, JsonSchema)]
struct RecordsIdentity {
    /// `own` if this installation made them, else `foreign`.
    origin: &'static str,
    /// Their id.
    id: String,
    /// When they were made.
    created: String,
    /// The form of their tables.
    form: i64,
}

/// The size and age of the records.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RecordsExtent {
    /// The number of runs of each project.
    runs: BTreeMap<String, u64>,
    bytes: u64,
    /// The last time that they saw.
    last_seen: String,
    /// The attempts that have not ended.
    open: u64,
}

/// An effect that left or may have.
#[derive(Debug, Serialize, JsonSchema)]
struct SentEffectOutput {
    /// The action's id.
    id: String,
    /// When it was taken up.
    at: String,
    /// The outcome. Null if it is not known.
    outcome: Option<&'static str>,
    /// Whether the records know of it.
    known: bool,
    /// The action's state in the records.
    state: Option<&'static str>,
}

impl RecordsOutput {
    pub(super) fn new(file: &RecordsFile) -> Self {
        let RecordsFile { origin, status, witness, .. } = file;
        let origin = match origin {
            StoreCreator::Own => "own",
            StoreCreator::Foreign => "foreign",
        };
        let StatusRow { id, created, form, runs, bytes, last_seen, open } = status;
        let sent = |witness: &WitnessList| witness.lines.iter().map(SentEffectOutput::new).collect();
        Self {
            identity: RecordsIdentity { origin, id: id.clone(), created: when::rfc3339(*created), form: *form },
            extent: RecordsExtent {
                runs: runs.clone(),
                bytes: *bytes,
                last_seen: when::rfc3339(*last_seen),
                open: *open,
            },
            parked: witness.parked.clone(),
            sent: witness.parked.is_some().then(|| sent(witness)),
        }
    }
}

impl SentEffectOutput {
    fn new(line: &WitnessListLine) -> Self {
        Self {
            id: line.key.to_string(),
            at: when::rfc3339(line.at),
            outcome: line.outcome.map(|outcome| outcome.as_str()),
            known: line.knowledge == RecordKnowledge::Known,
            state: line.state.map(|state| state.as_str()),
        }
    }
}
