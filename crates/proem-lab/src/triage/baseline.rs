//! The simplest ways to classify a signal, to compare with.

use proem_triage::contract::{RecommendedAction, SignalCategory, SignalImportance, TimeSensitivity};
use serde_json::Value as Json;

use super::labelled_signals::{LabelledSignal, SignalLabels};

/// Each dimension's most frequent label, whatever the signal says.
pub(super) fn majority(of: &[LabelledSignal]) -> SignalLabels {
    SignalLabels {
        category: most(SignalCategory::ALL, of, |labels| labels.category, SignalCategory::Progress),
        importance: most(SignalImportance::ALL, of, |labels| labels.importance, SignalImportance::Medium),
        action: most(RecommendedAction::ALL, of, |labels| labels.action, RecommendedAction::NoAction),
        time: most(TimeSensitivity::ALL, of, |labels| labels.time, TimeSensitivity::NoDeadline),
    }
}

fn most<T: Copy + PartialEq>(all: &[T], of: &[LabelledSignal], label: fn(&SignalLabels) -> T, otherwise: T) -> T {
    let count = |word: &T| of.iter().filter(|signal| label(&signal.labels) == *word).count();
    // The first of the list where two are as frequent.
    all.iter().rev().max_by_key(|word| count(word)).copied().unwrap_or(otherwise)
}

/// A word or two for each category, anywhere in the text, in the order in which they are looked for.
const KEYWORDS: [(SignalCategory, &[&str]); 7] = [
    (SignalCategory::Blocker, &["block", "impediment", "stuck", "cannot"]),
    (SignalCategory::Scope, &["scope", "requirement", "story points"]),
    (SignalCategory::Risk, &["risk", "delay", "late"]),
    (SignalCategory::Dependency, &["depend", "waiting"]),
    (SignalCategory::Quality, &["bug", "error", "fail", "crash", "security"]),
    (SignalCategory::Stakeholder, &["?", "please", "could you"]),
    (SignalCategory::Progress, &["done", "sprint", "progress", "finished", "review"]),
];

/// The labels by those words, and their usual consequence.
pub(super) fn keyword_labels(of: &LabelledSignal) -> SignalLabels {
    let text = lower_case_signal_text(&of.signal.to_json());
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let category = KEYWORDS.iter().find(|(_, words)| has(words));
    let category = category.map_or(SignalCategory::Administrative, |(category, _)| *category);
    let importance = match category {
        _ if has(&["urgent", "critical", "highest", "production"]) => SignalImportance::Critical,
        SignalCategory::Blocker | SignalCategory::Risk | SignalCategory::Scope => SignalImportance::High,
        SignalCategory::Progress | SignalCategory::Administrative => SignalImportance::Low,
        _ => SignalImportance::Medium,
    };
    let action = match category {
        _ if importance == SignalImportance::Critical => RecommendedAction::Escalate,
        SignalCategory::Scope => RecommendedAction::Escalate,
        SignalCategory::Stakeholder => RecommendedAction::DraftCommunication,
        SignalCategory::Administrative => RecommendedAction::NoAction,
        _ => RecommendedAction::UpdateArtefact,
    };
    let time = match importance {
        SignalImportance::Critical => TimeSensitivity::Immediate,
        _ if has(&["today"]) => TimeSensitivity::Today,
        SignalImportance::High => TimeSensitivity::ThisWeek,
        _ => TimeSensitivity::NoDeadline,
    };
    SignalLabels { category, importance, action, time }
}

/// All that a person would read of a signal, in small letters.
fn lower_case_signal_text(signal: &Json) -> String {
    let fields = ["description", "comment", "body", "changes", "priority", "issue_type"];
    let of_fields = fields.into_iter().filter_map(|field| signal.get("fields")?.get(field));
    let mut text = String::new();
    signal.get("summary").into_iter().chain(of_fields).for_each(|value| text.push_str(&value.to_string()));
    text.to_lowercase()
}
