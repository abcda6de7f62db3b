//! How much a signal matters: floors in code, and up when in doubt.

use super::{
    ClassificationBasis, FloorReason, SignalReading,
    facts::{DangerFact, KindGroup, LinkFact, PriorityFact, SenderFact, StatusFact, SystemFacts},
};
use crate::contract::{SignalCategory, SignalImportance};

/// How much a signal matters.
pub(super) fn signal_importance(
    facts: &SystemFacts,
    reading: &SignalReading,
    category: SignalCategory,
    basis: ClassificationBasis,
) -> SignalImportance {
    // When in doubt, up: a category that is as near counts as much.
    let near = SignalCategory::ALL.iter().copied().filter(|other| {
        *other == category
            || (reading.of_system.is_none()
                && !reading.floor.is_calm()
                && basis != ClassificationBasis::Nothing
                && reading.is_near(*other))
    });
    let by_words = near
        .map(|category| of_category(facts, reading, category))
        .fold(SignalImportance::Low, SignalImportance::or_higher);
    // And a text of which nothing is understood may say anything.
    let is_riddle = basis == ClassificationBasis::Nothing && reading.has_text;
    let floor = match category {
        SignalCategory::Scope => SignalImportance::High,
        _ if is_riddle => SignalImportance::Medium,
        _ => SignalImportance::Low,
    };
    by_words.or_higher(without_texts(facts)).or_higher(floor).or_higher(reading.floor.importance())
}

/// How much it matters by what the system says and who writes: no text makes it less.
pub(super) fn without_texts(facts: &SystemFacts) -> SignalImportance {
    use SignalImportance::{Critical, High, Low, Medium};
    let of_sender = match facts.sender {
        SenderFact::OutsideStakeholder => High,
        SenderFact::Stakeholder => Medium,
        SenderFact::Outside | SenderFact::Inside | SenderFact::Program => Low,
    };
    // A high priority matters on the day that it is given. Each later comment on the item would raise an alarm again.
    let is_news = matches!(facts.group, KindGroup::Created) || facts.is_reprioritised;
    let of_priority = match facts.priority {
        _ if !is_news => Low,
        PriorityFact::High | PriorityFact::Highest => High,
        PriorityFact::Ordinary => Low,
    };
    let of_kind = match facts.group {
        KindGroup::Sprint if !facts.turns_sprint => Low,
        KindGroup::Created | KindGroup::Deleted | KindGroup::Unknown | KindGroup::Sprint => Medium,
        _ => Low,
    };
    let is_new_standstill = facts.group == KindGroup::Created && facts.of_type == Some(SignalCategory::Blocker);
    let is_new_incident = facts.group == KindGroup::Created && facts.is_incident;
    let is_urgent = facts.priority == PriorityFact::Highest;
    let of_facts = if is_urgent && (facts.is_blocked() || is_new_standstill || is_new_incident) {
        Critical
    } else if facts.is_blocked()
        || facts.is_rescoped
        || facts.danger == DangerFact::Rose
        || (facts.is_due_moved && facts.is_milestone)
    {
        High
    } else if facts.link == LinkFact::Depends
        || matches!(facts.status, StatusFact::Waiting | StatusFact::Returned)
        || facts.danger == DangerFact::Changed
        || facts.is_replanned_much
    {
        Medium
    } else {
        Low
    };
    of_sender.or_higher(of_priority).or_higher(of_kind).or_higher(of_facts)
}

/// How much it matters if it is about this.
fn of_category(facts: &SystemFacts, reading: &SignalReading, category: SignalCategory) -> SignalImportance {
    use SignalImportance::{Critical, High, Low, Medium};
    let is_outside = matches!(facts.sender, SenderFact::Outside | SenderFact::OutsideStakeholder);
    // The words' verdict, within the range that the meaning of the importances leaves for the category.
    let by_words = match category {
        SignalCategory::Blocker => reading.most(&[Critical, High]),
        SignalCategory::Scope => High,
        SignalCategory::Stakeholder if reading.floor.reasons.contains(&FloorReason::Request) => High,
        SignalCategory::Stakeholder if is_outside => reading.most(&[Critical, High]),
        SignalCategory::Stakeholder => reading.most(&[Critical, Medium]),
        SignalCategory::Risk | SignalCategory::Dependency if reading.floor.is_small_delay() => Medium,
        SignalCategory::Risk | SignalCategory::Dependency => reading.most(&[High, Medium]),
        SignalCategory::Quality
            if reading.is_live && facts.group == KindGroup::Created && facts.priority == PriorityFact::Highest =>
        {
            Critical
        }
        SignalCategory::Quality => reading.most(&[Critical, High, Medium]),
        SignalCategory::Progress if reading.floor.is_calm() => Low,
        SignalCategory::Progress => reading.most(&[Medium, Low]),
        SignalCategory::Administrative => Low,
    };
    let can_be_worse = !matches!(category, SignalCategory::Progress | SignalCategory::Administrative);
    if can_be_worse && reading.says(Critical) { Critical } else { by_words }
}
