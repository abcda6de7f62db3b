//! Another wording of a prompt, which a model writes from failed cases, and which has to prove itself.
//!
//! Invariants: the model never sees a held-out case. A variant counts only by cases that code checks; judges can take a
//! pass away and never give one. The search pays for its own multiplicity. It ends with a proposal at most: no version
//! becomes the one in use without a person. An answer that was recorded is not paid for again.

mod course;
mod split;
mod variant;

use std::num::NonZeroU32;
use std::path::PathBuf;

use proem_engine::call::NanoDollars;
use proem_engine::run::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use self::course::Search;
pub use self::split::CaseSplit;
use super::live::LivePurse;
use super::proposals::StoredProposal;
use crate::error::Error;
use crate::message::Note;
use crate::places::Places;

/// The prompt that writes variants.
pub const WRITER: &str = "improve/variant";

/// The chance, over all variants of a search together, that one is proposed which is no better.
pub const SEARCH_ERROR: f64 = 0.05;

/// How a prompt is improved.
#[derive(Debug, Clone)]
pub struct ImproveOptions {
    /// The folder whose project's book is meant.
    pub root: PathBuf,
    /// `agent/name`, whose version in use is improved, or `agent/name@version`.
    pub prompt: String,
    /// How many variants are written.
    pub variants: NonZeroU32,
    /// How often each case is asked.
    pub times: NonZeroU32,
    /// The model or role that answers cases, instead of the prompt's own.
    pub model: Option<String>,
    /// The provider of both models.
    pub provider: Option<String>,
    /// The most that all calls may cost together.
    pub most: NanoDollars,
}

/// The person who started a search, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchStart {
    /// The person's name.
    pub by: String,
    /// When.
    pub at: Time,
}

/// The plan of a search, before anything is asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchPlan {
    /// `agent/name@version`.
    pub prompt: String,
    /// Cases whose failures the model sees.
    pub shown: Vec<String>,
    /// Cases that it never sees.
    pub held_out: Vec<String>,
    /// Cases that only a judge decides, which prove nothing.
    pub judged_only: Vec<String>,
    /// Cases whose request is not as expected, without any model.
    pub failing: Vec<String>,
    /// How many held-out cases a variant must win, without losing one.
    pub wins_needed: u32,
}

/// Why a variant is not proposed, or that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VariantFate {
    /// The model wrote none.
    Unwritten,
    /// It is not as strict as the text in use, or its requests are not as expected.
    Refused,
    /// It passes no more of the cases that the model saw.
    NoBetterShown,
    /// It does not pass enough more of the held-out cases.
    NotProven,
    /// The money was spent before it was tested.
    Unpaid,
    /// Another variant is better.
    Second,
    /// It is proposed.
    Proposed,
}

proem_text::word_table! {
    /// The word used in tables.
    pub VariantFate {
        Unwritten = "unwritten",
        Refused = "refused",
        NoBetterShown = "no better",
        NotProven = "not proven",
        Unpaid = "not tested",
        Second = "second",
        Proposed = "proposed",
    }
}

/// How a variant did on held-out cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HeldOutResult {
    /// Cases of which it passes more answers than the text in use.
    pub wins: u32,
    /// Cases of which it passes fewer.
    pub losses: u32,
    /// Cases that it was not asked for, since it could not be proven any more.
    pub unasked: usize,
    /// The chance of at least so many wins if it were no better.
    pub chance: f64,
}

/// One variant with its end.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariantResult {
    /// Its number, from 1.
    pub number: u32,
    /// How far it came.
    pub fate: VariantFate,
    /// Why, in words. It may quote the model.
    pub because: String,
    /// Its result on held-out cases, if it got there.
    pub held_out: Option<HeldOutResult>,
}

/// How a search for a better wording ended.
#[derive(Debug)]
pub struct SearchResult {
    /// The plan that was carried out.
    pub plan: SearchPlan,
    /// The shown cases that the text in use fails.
    pub failures: Vec<String>,
    /// The variants, in the order that they were written.
    pub variants: Vec<VariantResult>,
    /// The proposal, if one was made.
    pub proposal: Option<StoredProposal>,
    /// The cost.
    pub purse: LivePurse,
}

/// Says what a search for a better wording would do.
///
/// # Errors
///
/// If the prompt has no cases that code checks, or is not readable.
pub fn plan_search(options: &ImproveOptions, places: &Places) -> Result<SearchPlan, Error> {
    Search::new(options, places)?.plan()
}

/// Searches for a better wording of a prompt. Messages go to `notes`, also on failure.
///
/// # Errors
///
/// If the prompt or a model is not there, the money does not suffice for the text in use, or the search is interrupted:
/// the same call goes on with it.
pub async fn improve_prompt(
    options: &ImproveOptions,
    places: &Places,
    start: &SearchStart,
    notes: &mut Vec<Note>,
    stop: &CancellationToken,
) -> Result<SearchResult, Error> {
    Search::new(options, places)?.run(start, notes, stop).await
}
