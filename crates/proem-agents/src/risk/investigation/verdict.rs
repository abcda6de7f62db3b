//! The reading of a synthesis: citations are compared with the evidence that was given, and the level only rises.

use std::cmp::Ordering;

use proem_guard::Untrusted;
use proem_risk::assess::Assessment;
use proem_risk::level::{Level, LevelReason};
use proem_risk::metric::Signal;
use serde::Deserialize;
use serde_json::Value as Json;

use super::{CitableEvidence, Synthesis, exact_answer};
use crate::risk::evidence::{Aliases, sentence_with_names};

/// The result of a synthesis.
#[derive(Debug)]
pub(super) struct SynthesisReading {
    /// It, with the evidence that holds. `None` if nothing it cites was given.
    pub(super) synthesis: Option<Synthesis>,
    /// The inadmissible parts, in our words.
    pub(super) notes: Vec<String>,
}

/// An answer of the synthesis prompt. The contract has checked its form.
#[derive(Debug, Deserialize)]
struct SynthesisAnswer {
    risk_level: Level,
    confidence: f64,
    key_evidence: Vec<Cited>,
    recommendations: Vec<String>,
    reasoning: String,
}

#[derive(Debug, Deserialize)]
struct Cited {
    evidence: String,
    text: String,
}

/// Judges an answer, and raises the level where it may.
pub(super) fn judge_synthesis(
    value: &Untrusted<Json>,
    given: &[CitableEvidence],
    aliases: &Aliases,
    assessment: &mut Assessment,
) -> SynthesisReading {
    let mut notes = Vec::new();
    let Ok(answer) = SynthesisAnswer::deserialize(&exact_answer(value)) else {
        notes.push(
            "no summary by the model: the answer has the wrong format; the level comes from the rules alone".to_owned(),
        );
        return SynthesisReading { synthesis: None, notes };
    };
    let mut key_evidence = Vec::new();
    let mut may_raise = false;
    for cited in &answer.key_evidence {
        let Some(found) = citation_number(&cited.evidence).and_then(|n| given.iter().find(|given| given.number == n))
        else {
            notes.push(match citation_number(&cited.evidence) {
                Some(n) => {
                    format!("a statement of the model cites E{n}, which its request did not contain, and is left out")
                }
                None => "a statement of the model cites no evidence and is left out".to_owned(),
            });
            continue;
        };
        may_raise |= !matches!(found.signal, Signal::Low | Signal::Unknown);
        key_evidence.push(format!(
            "{} [E{}: {}]",
            aliases.named(&cited.text),
            found.number,
            sentence_with_names(&found.title)
        ));
    }
    if key_evidence.is_empty() {
        notes.push(
            "no summary by the model: it cites only evidence that its request did not contain; the level comes from \
             the rules alone"
                .to_owned(),
        );
        return SynthesisReading { synthesis: None, notes };
    }
    raise(answer.risk_level, may_raise, assessment, &mut notes);
    let synthesis = Synthesis {
        risk_level: answer.risk_level,
        model_confidence: answer.confidence.clamp(0.0, 1.0),
        key_evidence,
        recommendations: answer.recommendations.iter().map(|words| aliases.named(words)).collect(),
        reasoning: aliases.named(&answer.reasoning),
    };
    SynthesisReading { synthesis: Some(synthesis), notes }
}

fn raise(level: Level, may_raise: bool, assessment: &mut Assessment, notes: &mut Vec<String>) {
    let (from, by) = (assessment.level, level.as_str());
    match level.cmp(&from) {
        Ordering::Equal => {}
        Ordering::Less => {
            notes.push(format!("the model says {by}, the rules say {}; the level of the rules applies", from.as_str()));
        }
        Ordering::Greater if may_raise => {
            assessment.level = level;
            assessment.reasons.insert(0, LevelReason::Raised { from });
        }
        Ordering::Greater => notes.push(format!(
            "the model says {by} but cites no measured evidence above LOW for it; the level {} of the rules applies",
            from.as_str()
        )),
    }
}

/// The number in `E12`.
fn citation_number(citation: &str) -> Option<u32> {
    let digits = citation.trim().strip_prefix(['E', 'e'])?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}
