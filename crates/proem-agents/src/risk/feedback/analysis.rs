//! The question to a model about feedback, and the admissible part of its answer.

use proem_risk::level::{Level, Thresholds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{FeedbackTally, LevelTally, Meter, Suggestion};

/// The inputs of the prompt `risk/feedback`: counts and numbered suggestions in our words, reasons in
/// people's.
#[must_use]
pub fn feedback_inputs(
    period: &str,
    (tally, levels): (&FeedbackTally, &[LevelTally]),
    suggestions: &[Suggestion],
    thresholds: &Thresholds,
) -> Json {
    let counts: Vec<String> = tally
        .metrics
        .iter()
        .filter(|metric| metric.n > 0)
        .map(|metric| {
            format!(
                "{}: {}; HIGH was a false alarm in {} of {} cases",
                metric.metric.as_str(),
                metric.metric.threshold_words(thresholds),
                metric.false_positives,
                metric.n
            )
        })
        .collect();
    let levels: Vec<String> = levels.iter().map(level_line).collect();
    let suggested: Vec<String> =
        suggestions.iter().enumerate().map(|(index, one)| suggestion_line(index, one)).collect();
    let mut reasons: Vec<String> =
        tally.reasons.iter().map(|reason| format!("{} × {}", reason.count, reason.reason)).collect();
    if tally.other_reasons > 0 {
        reasons.push(format!("{} × others", tally.other_reasons));
    }
    json!({ "period": period, "counts": counts, "levels": levels, "suggestions": suggested, "reasons": reasons })
}

/// The opinions of a level on one line.
fn level_line(tally: &LevelTally) -> String {
    let LevelTally { level, n, false_positives, caught } = tally;
    let level = level.map_or("a level that is not recorded", Level::as_str);
    format!("{level}: {false_positives} of {n} were false alarms, {caught} were risky")
}

/// A suggestion on one line, with its number: `S1`.
fn suggestion_line(index: usize, suggestion: &Suggestion) -> String {
    format!(
        "S{}: {} HIGH at {} instead of {}: {}",
        index.saturating_add(1),
        suggestion.metric.as_str(),
        suggestion.to.second,
        suggestion.from.second,
        suggestion.because
    )
}

/// The admissible part of a model's answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct FeedbackAnalysis {
    /// The common points of complaints, in the model's words. From outside.
    pub patterns: Vec<ComplaintPattern>,
    /// The suggestions that it would take, once each.
    pub chosen: Vec<ChosenAdjustment>,
    /// The whole, in the model's words. From outside.
    pub reasoning: String,
    /// The inadmissible part of the answer, in our words.
    pub notes: Vec<String>,
}

/// A common point of complaints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComplaintPattern {
    /// The metric that it concerns.
    pub metric: Option<Meter>,
    /// In the model's words. From outside.
    pub text: String,
}

/// A suggestion that a model would take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChosenAdjustment {
    /// Its metric.
    pub metric: Meter,
    /// Why, in the model's words. From outside.
    pub because: String,
}

/// The answer as its schema has it.
#[derive(Debug, Deserialize)]
struct FeedbackAnswer {
    patterns: Vec<PatternIn>,
    adjustments: Vec<Adjustment>,
    reasoning: String,
}

#[derive(Debug, Deserialize)]
struct PatternIn {
    metric: Option<String>,
    text: String,
}

#[derive(Debug, Deserialize)]
struct Adjustment {
    suggestion: String,
    because: String,
}

impl FeedbackAnalysis {
    /// Reads an answer that met the prompt's schema. A suggestion that was not made, or is named twice, doesn't count.
    /// No threshold of the model's own can be in it.
    ///
    /// # Errors
    ///
    /// If it didn't meet the schema.
    pub fn read(answer: &Json, suggestions: &[Suggestion]) -> Result<Self, serde_json::Error> {
        let answer = FeedbackAnswer::deserialize(answer)?;
        let pattern = |pattern: PatternIn| ComplaintPattern {
            metric: pattern.metric.as_deref().and_then(Meter::parse),
            text: pattern.text,
        };
        let mut heard = Self {
            patterns: answer.patterns.into_iter().map(pattern).collect(),
            reasoning: answer.reasoning,
            ..Self::default()
        };
        for Adjustment { suggestion, because } in answer.adjustments {
            let number = suggestion.strip_prefix('S').and_then(|number| number.parse::<usize>().ok());
            let made = number.and_then(|number| suggestions.get(number.checked_sub(1)?));
            match made {
                None => heard.notes.push("the model chose a suggestion that does not exist; it is ignored".to_owned()),
                Some(made) if heard.chosen.iter().any(|chosen| chosen.metric == made.metric) => {}
                Some(made) => heard.chosen.push(ChosenAdjustment { metric: made.metric, because }),
            }
        }
        Ok(heard)
    }
}
