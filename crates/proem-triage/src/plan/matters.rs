//! One question for each matter: what a cycle would ask about the same signals in several questions.
//!
//! Invariants: no option that acts is lost, and no text that a person would have seen. A question whose options do not
//! fit beside the others stays by itself.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;
use proem_guard::LabelTree;

use super::{PlannedOption, PlannedQuestion, question_parts};
use crate::contract::EscalationReason;

/// The names of options, in their order.
const IDS: [&str; 5] = ["A", "B", "C", "D", "E"];
/// The name of the part of a question that says what else is asked with it.
const BESIDE: &str = "asked as well";

/// The questions, with those that share a signal joined into one.
pub(super) fn join_by_matter(questions: Vec<PlannedQuestion>) -> Vec<PlannedQuestion> {
    let mut matters: Vec<Option<PlannedQuestion>> = Vec::new();
    let mut places: BTreeMap<SignalRevision, usize> = BTreeMap::new();
    for question in questions {
        // One question may touch what two others asked apart: all of them are one matter then.
        let known: BTreeSet<usize> = question.causes.iter().filter_map(|cause| places.get(cause).copied()).collect();
        let mut open = question;
        for place in known {
            let Some(mut matter) = matters.get_mut(place).and_then(Option::take) else { continue };
            match matter.join(open) {
                None => open = matter,
                Some(left) => {
                    if let Some(kept) = matters.get_mut(place) {
                        *kept = Some(matter);
                    }
                    open = left;
                }
            }
        }
        let place = matters.len();
        for cause in &open.causes {
            let known = places.entry(cause.clone()).or_insert(place);
            if matters.get(*known).is_none_or(Option::is_none) {
                *known = place;
            }
        }
        matters.push(Some(open));
    }
    matters.into_iter().flatten().collect()
}

impl PlannedQuestion {
    /// Takes another question about the same matter in, or gives it back if its options do not fit.
    fn join(&mut self, other: Self) -> Option<Self> {
        let leads = other.leads(self);
        let (lead, beside) = if leads { (&other, &*self) } else { (&*self, &other) };
        let acting = beside.options.iter().filter(|option| option.action.is_some());
        if lead.options.len().saturating_add(acting.count()) > IDS.len() {
            return Some(other);
        }
        let beside = if leads { core::mem::replace(self, other) } else { other };
        let acting = beside.options.iter().filter(|option| option.action.is_some());
        for option in acting {
            // An option that was taken out leaves its name free.
            let is_free = |id: &&&str| !self.options.iter().any(|option| option.id == **id);
            let Some(id) = IDS.iter().find(is_free) else { break };
            self.options.push(PlannedOption { id, ..option.clone() });
        }
        let is_shown = beside.causes.iter().all(|cause| self.causes.contains(cause));
        let about = match beside.about {
            // The signals of both are shown once.
            LabelTree::List(_) if is_shown => LabelTree::Null,
            about => about,
        };
        self.about = with_beside(&self.about, &beside.title, about);
        self.time = self.time.min(beside.time);
        let new: Vec<_> = beside.causes.into_iter().filter(|cause| !self.causes.contains(cause)).collect();
        self.causes.extend(new);
        None
    }

    /// Whether it is before another one about the same matter: sources that contradict each other have to be settled
    /// first, and a question that acts says more than one that asks who does something.
    fn leads(&self, other: &Self) -> bool {
        let rank = |question: &Self| {
            let acts = question.options.iter().any(|option| option.action.is_some());
            (question.reason != EscalationReason::ConflictingSignals, !acts, question.time)
        };
        rank(self) < rank(other)
    }
}

/// A question's subject, with another one's question and subject.
fn with_beside(about: &LabelTree, title: &str, beside: LabelTree) -> LabelTree {
    let mut parts = question_parts(about);
    let known = parts.iter().position(|(name, _)| *name == BESIDE).map(|place| parts.remove(place).1);
    let known: Vec<LabelTree> = match &known {
        Some(LabelTree::List(known)) => known.iter().cloned().collect(),
        _ => Vec::new(),
    };
    let asked = LabelTree::map(
        [("asked", LabelTree::from(title)), ("about", beside)].into_iter().filter(|(_, part)| *part != LabelTree::Null),
    );
    parts.push((BESIDE, LabelTree::list(known.into_iter().chain([asked]))));
    LabelTree::map(parts)
}
