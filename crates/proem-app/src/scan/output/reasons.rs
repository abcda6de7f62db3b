//! Why each finding was made, as JSON.

use proem_guard::score::probability_of_log_odds;
use proem_guard::{Untrusted, show};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::{SpanOut, round_to_six};
use crate::scan::reasons::{PlacedReasons, PlacedWindow};

/// Why a finding was made, as JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReasonsOut {
    /// The words that name a concept of a rule.
    concepts: Vec<ConceptOut>,
    /// The sentences that the learned scorer read there, the highest score first.
    windows: Vec<WindowOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ConceptOut {
    /// The words, exactly.
    #[schemars(with = "String")]
    text: Json,
    /// The concepts, as rules name them.
    concepts: Vec<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WindowOut {
    /// Its place, in bytes of the field.
    span: SpanOut,
    /// The text, exactly.
    #[schemars(with = "String")]
    text: Json,
    /// The log-odds that it is an attack.
    log_odds: f64,
    /// The same as a probability, 0 to 1.
    score: f64,
    /// The words that made it, the strongest first.
    words: Vec<WordOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WordOut {
    /// The word, exactly.
    #[schemars(with = "String")]
    text: Json,
    /// The log-odds that the window loses without it.
    weight: f64,
}

impl ReasonsOut {
    pub(super) fn new(reasons: &PlacedReasons) -> Self {
        let concept = |(word, concepts): &(Untrusted<String>, Vec<&'static str>)| ConceptOut {
            text: show::exact_json(word),
            concepts: concepts.clone(),
        };
        let word = |(word, weight): &(Untrusted<String>, f32)| WordOut {
            text: show::exact_json(word),
            weight: round_to_six(f64::from(*weight)),
        };
        let window = |window: &PlacedWindow| WindowOut {
            span: SpanOut::new(window.span),
            text: show::exact_json(&window.text),
            log_odds: round_to_six(f64::from(window.log_odds)),
            score: round_to_six(f64::from(probability_of_log_odds(window.log_odds))),
            words: window.words.iter().map(word).collect(),
        };
        Self {
            concepts: reasons.concepts.iter().map(concept).collect(),
            windows: reasons.windows.iter().map(window).collect(),
        }
    }
}
