//! One hop of an investigation: what was offered, chosen and found.

use serde::{Deserialize, Serialize};

/// The actions that a model may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(rename = "Action")]
pub enum HopAction {
    /// A Tier 2 metric of a file.
    CalculateMetric,
    /// The neighbours of a file.
    ExpandGraph,
    /// The end of the investigation.
    Finalize,
    /// Nothing: the hop's time was up before a choice came. It is never offered.
    TimedOut,
}

proem_text::word_table! {
    /// The word in prompts, schemas and reports.
    pub HopAction {
        CalculateMetric = "CALCULATE_METRIC",
        ExpandGraph = "EXPAND_GRAPH",
        Finalize = "FINALIZE",
        TimedOut = "TIMED_OUT",
    }
}

/// One hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Hop {
    /// The hop's number, from 1.
    pub hop: u8,
    /// The offer.
    pub offered: Vec<HopAction>,
    /// The choice, by the model or, if it gave no usable answer, by the fallback.
    pub action: HopAction,
    /// The chooser.
    pub by: HopChooser,
    /// The metric, if one was asked for.
    pub metric: Option<String>,
    /// The file, by its place in the change.
    pub file: Option<u32>,
    /// The result, in our words with names from outside between.
    pub result: String,
    /// Why, in the model's words. From outside.
    pub reasoning: String,
}

/// The chooser of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "By")]
pub enum HopChooser {
    /// The model chose it.
    Model,
    /// The prompt's fallback.
    Fallback,
    /// The rules: nothing else was possible.
    Rules,
}

/// Files within two imports of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeighbourFiles {
    /// Files that import it.
    pub direct: u32,
    /// Files that import those.
    pub transitive: u32,
    /// How far they are on average, in imports.
    pub mean_distance: Option<f64>,
    /// Paths of the nearest, at most ten. From outside.
    pub names: Vec<String>,
}

impl NeighbourFiles {
    /// The most names that are shown.
    pub const MAX_NAMES: usize = 10;
}
