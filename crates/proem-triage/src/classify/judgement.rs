//! Persons' judgements of how much signals matter: what one changes of a classification, and what many teach.
//!
//! Invariants: nothing here holds a text from outside or a person's words, only members of closed lists and addresses
//! of the project's trusted file; what is learned raises and never lowers, and never makes anything critical. One
//! judgement teaches nothing.

use std::collections::BTreeMap;

use super::{ClassificationContext, SignalClassification, SignalInBatch, artefacts, facts::SystemFacts};
use crate::contract::{RecommendedAction, SignalCategory, SignalImportance, TimeSensitivity};

/// So many judgements of one sender's signals of one category teach something. One may be about that signal alone.
const ENOUGH: usize = 2;

/// A person's judgement as it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedJudgement {
    /// The address of the stakeholder who sent the signal. Empty for everybody else, of whom nothing is learned.
    pub sender: String,
    /// The signal's first category.
    pub category: SignalCategory,
    /// How much it matters.
    pub importance: SignalImportance,
}

/// The least importance of signals by sender and category, as persons' judgements teach it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LearnedImportance(BTreeMap<(String, SignalCategory), SignalImportance>);

impl LearnedImportance {
    /// The lesson of judgements: the highest importance that at least two of them reach, and more of them than stay
    /// below.
    #[must_use]
    pub fn of(judgements: impl IntoIterator<Item = CountedJudgement>) -> Self {
        let mut by_sender: BTreeMap<(String, SignalCategory), Vec<SignalImportance>> = BTreeMap::new();
        for CountedJudgement { sender, category, importance } in judgements {
            if !sender.is_empty() {
                by_sender.entry((sender.to_lowercase(), category)).or_default().push(importance);
            }
        }
        let least = |said: &[SignalImportance]| {
            [SignalImportance::High, SignalImportance::Medium].into_iter().find(|least| {
                let reaching = said.iter().filter(|said| said.is_at_least(*least)).count();
                reaching >= ENOUGH && reaching > said.len().saturating_sub(reaching)
            })
        };
        Self(by_sender.into_iter().filter_map(|(key, said)| Some((key, least(&said)?))).collect())
    }

    /// The least importance of a signal of this stakeholder, by address, and category. `None` if nothing is learned.
    #[must_use]
    pub fn least(&self, sender: &str, category: SignalCategory) -> Option<SignalImportance> {
        self.0.get(&(sender.to_lowercase(), category)).copied()
    }
}

impl SignalClassification {
    /// The same as a person judges it. Its effects stay bound by what its texts hold.
    #[must_use]
    pub fn with_judgement(&self, importance: SignalImportance) -> Self {
        self.with_importance(importance, "a person says so")
    }

    /// The same with at least the importance that persons' judgements teach.
    #[must_use]
    pub fn with_least(&self, least: SignalImportance) -> Self {
        if self.answer.importance.is_at_least(least) {
            return self.clone();
        }
        self.with_importance(least, "persons judged this sender so before")
    }

    /// The least importance that rules leave it, whatever a model says.
    #[must_use]
    pub fn least_importance(&self, item: &SignalInBatch<'_>, context: ClassificationContext<'_>) -> SignalImportance {
        self.floor(&SystemFacts::of(item.signal, context.lexicon, context.project), self.answer.category)
    }

    fn with_importance(&self, importance: SignalImportance, why: &str) -> Self {
        let mut weighed = self.clone();
        let answer = &mut weighed.answer;
        answer.importance = importance;
        answer.recommended_action = judged_action(answer.category, importance, answer.recommended_action);
        answer.artefacts_affected = match answer.recommended_action {
            RecommendedAction::UpdateArtefact if answer.artefacts_affected.is_empty() => {
                artefacts(answer.category, importance)
            }
            RecommendedAction::UpdateArtefact => std::mem::take(&mut answer.artefacts_affected),
            _ => Vec::new(),
        };
        answer.time_sensitivity = match importance {
            SignalImportance::Critical => TimeSensitivity::Immediate,
            SignalImportance::High => answer.time_sensitivity.min(TimeSensitivity::ThisWeek),
            SignalImportance::Medium => answer.time_sensitivity,
            SignalImportance::Low => TimeSensitivity::NoDeadline,
        };
        answer.action_rationale =
            format!("{}: {why}; {}", answer.category.as_str(), answer.recommended_action.as_str());
        weighed
    }
}

/// The recommendation once the importance is given: an important signal is not passed over, and one of low importance
/// is left.
const fn judged_action(
    category: SignalCategory,
    importance: SignalImportance,
    before: RecommendedAction,
) -> RecommendedAction {
    use RecommendedAction::{DraftCommunication, Escalate, NoAction, UpdateArtefact};
    match (importance, before, category) {
        (SignalImportance::Critical, ..) | (SignalImportance::High, NoAction, _) => Escalate,
        (SignalImportance::Low, ..) => NoAction,
        (SignalImportance::Medium, Escalate | NoAction, SignalCategory::Scope) => Escalate,
        (SignalImportance::Medium, Escalate | NoAction, SignalCategory::Stakeholder) => DraftCommunication,
        (SignalImportance::Medium, Escalate, SignalCategory::Administrative) => NoAction,
        (SignalImportance::Medium, Escalate, _) => UpdateArtefact,
        _ => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_judgements_of_one_sender_and_category_teach_and_never_lower() {
        use SignalCategory::{Administrative, Stakeholder};
        use SignalImportance::{Critical, High, Low, Medium};
        let check = |said: &[(&str, SignalCategory, SignalImportance)], expected: Option<SignalImportance>| {
            let judgements = said.iter().map(|(sender, category, importance)| CountedJudgement {
                sender: (*sender).to_owned(),
                category: *category,
                importance: *importance,
            });
            let learned = LearnedImportance::of(judgements);
            assert_eq!(learned.least("SAM@corp.example", Administrative), expected, "{said:?}");
        };
        let sam = "Sam@corp.example";
        check(&[(sam, Administrative, High)], None);
        check(&[(sam, Administrative, High), (sam, Administrative, High)], Some(High));
        check(&[(sam, Administrative, Critical), (sam, Administrative, Critical)], Some(High));
        check(&[(sam, Administrative, High), (sam, Administrative, Medium)], Some(Medium));
        check(&[(sam, Administrative, Low), (sam, Administrative, Low), (sam, Administrative, Low)], None);
        check(&[(sam, Administrative, High), (sam, Administrative, High), (sam, Administrative, Low)], Some(High));
        let split = [(sam, Administrative, High), (sam, Administrative, Low)];
        check(&[split, split].concat(), None);
        check(&[(sam, Stakeholder, High), (sam, Stakeholder, High)], None);
        check(&[("", Administrative, High), ("", Administrative, High)], None);
        check(&[("ana@corp.example", Administrative, High), ("ana@corp.example", Administrative, High)], None);
    }
}
