//! A model's choice, if it was on offer.

use proem_guard::Untrusted;
use proem_risk::metric::MetricName;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::offer::Offer;
use super::{HopAction, InvestigationState, exact_answer};

/// A choice among what was offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HopChoice {
    pub(super) action: HopAction,
    pub(super) metric: Option<MetricName>,
    pub(super) file: Option<u32>,
    /// Why: a model's words, or ours for a fallback.
    pub(super) reasoning: String,
    pub(super) offered: Vec<HopAction>,
}

/// An answer of the decision prompt. The contract has checked its form.
#[derive(Debug, Deserialize)]
struct DecisionAnswer {
    action: HopAction,
    reasoning: String,
    #[serde(default)]
    target: Option<HopTarget>,
}

#[derive(Debug, Deserialize)]
struct HopTarget {
    #[serde(default)]
    metric_name: Option<MetricName>,
    #[serde(default)]
    file_path: Option<String>,
}

impl HopChoice {
    /// The end, since there is no choice of a model's.
    pub(super) fn fallback(offer: &Offer, because: String) -> Self {
        Self { action: HopAction::Finalize, metric: None, file: None, reasoning: because, offered: offer.actions() }
    }

    /// Reads an answer.
    ///
    /// # Errors
    ///
    /// Its fault, in our words: it goes back to the model.
    pub(super) fn read(value: &Untrusted<Json>, offer: &Offer, state: &InvestigationState) -> Result<Self, String> {
        let answer = DecisionAnswer::deserialize(&exact_answer(value))
            .map_err(|_| "it is not a decision of the form that is asked for".to_owned())?;
        let DecisionAnswer { action, reasoning, target } = answer;
        let offered = offer.actions();
        if !offered.contains(&action) {
            let words: Vec<&str> = offered.iter().map(|action| action.as_str()).collect();
            return Err(format!("`{}` is not offered; choose one of {}", action.as_str(), words.join(", ")));
        }
        let (metric, file) = match action {
            HopAction::Finalize | HopAction::TimedOut => (None, None),
            HopAction::ExpandGraph => {
                let file = chosen_file(target.as_ref(), state)?;
                if !offer.expand.contains(&file) {
                    return Err("EXPAND_GRAPH is not offered for this file".to_owned());
                }
                (None, Some(file))
            }
            HopAction::CalculateMetric => {
                let metric = target.as_ref().and_then(|target| target.metric_name);
                let metric = metric.ok_or("CALCULATE_METRIC needs a `target.metric_name`")?;
                let file = chosen_file(target.as_ref(), state)?;
                if !offer.metrics.contains(&(metric, file)) {
                    return Err(format!(
                        "`{}` of this file is known already or could change nothing; choose what is offered",
                        metric.as_str()
                    ));
                }
                (Some(metric), Some(file))
            }
        };
        Ok(Self { action, metric, file, reasoning, offered })
    }
}

/// The file of the change that a target names.
fn chosen_file(target: Option<&HopTarget>, state: &InvestigationState) -> Result<u32, String> {
    let path = target.and_then(|target| target.file_path.as_deref()).ok_or("the action needs a `target.file_path`")?;
    let changed = state.subject.paths.len();
    state.aliases.changed(changed, path).ok_or_else(|| "`target.file_path` is not a file of this change".to_owned())
}
