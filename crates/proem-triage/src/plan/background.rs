//! The background of each question: what code knows of the matter, in sentences of ours.
//!
//! Invariants: no word of a signal or an artefact is in it, only counts, dates, ids and closed words. A question has a
//! few sentences at most. The same cycle gives the same sentences.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::{effect::key::SignalRevision, run::Time};

use super::{
    PlannedQuestion,
    context::{ArtefactGate, ArtefactSet, CycleContext, CycleMember},
    group::ticket_of,
};
use crate::{
    artefact::{Artefact, ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemStatus},
    date::{SignalTime, utc_day},
};

/// The most items that a question's background names.
const MOST_ITEMS: usize = 5;
/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// Everything that questions of one cycle are about.
struct MatterIndex<'m, 'r> {
    members: BTreeMap<SignalRevision, &'m CycleMember<'r>>,
    /// The open items of each signal that one of their texts comes from.
    by_signal: BTreeMap<SignalRevision, BTreeSet<ArtefactItemId>>,
    artefacts: &'m ArtefactSet,
    now: Time,
    /// The part that is the same for all questions.
    of_project: Vec<String>,
}

/// Gives each question its background. `artefacts` are as the cycle leaves them.
pub(super) fn add_backgrounds(
    questions: &mut [PlannedQuestion],
    batch: &[CycleMember<'_>],
    artefacts: &ArtefactSet,
    context: &CycleContext<'_>,
) {
    if questions.is_empty() {
        return;
    }
    let index = MatterIndex {
        members: batch.iter().map(|member| (SignalRevision::from(member.signal), member)).collect(),
        by_signal: items_by_signal(artefacts),
        artefacts,
        now: context.now,
        of_project: level_sentence(context).into_iter().chain(dates(artefacts, context)).collect(),
    };
    for question in questions {
        question.background = index.background(&question.causes);
    }
}

impl MatterIndex<'_, '_> {
    fn background(&self, causes: &[SignalRevision]) -> Vec<String> {
        let members: Vec<_> = causes.iter().filter_map(|cause| self.members.get(cause).copied()).collect();
        let items: BTreeSet<ArtefactItemId> =
            causes.iter().filter_map(|cause| self.by_signal.get(cause)).flatten().copied().collect();
        let mut lines: Vec<String> = signals_sentence(&members).into_iter().chain(reading_sentence(&members)).collect();
        let (shown, beyond) = (items.iter().take(MOST_ITEMS), items.len().saturating_sub(MOST_ITEMS));
        lines.extend(shown.filter_map(|id| Some(self.standing(*id, self.item(*id)?))));
        if beyond > 0 {
            lines.push(format!("{beyond} more items come from the same signals."));
        }
        lines.extend(self.of_project.iter().cloned());
        lines
    }

    fn item(&self, id: ArtefactItemId) -> Option<&ArtefactItem> {
        self.artefacts.get(id.kind.artefact())?.item(id)
    }

    /// The state of an item, and for how long it has been there.
    fn standing(&self, id: ArtefactItemId, item: &ArtefactItem) -> String {
        let severity = item.word(ArtefactField::Severity).map(|word| format!(", severity {word}"));
        let raised = item.date(ArtefactField::RaisedDate);
        let since = raised.map(|raised| format!(", since {} ({})", utc_day(raised), days_ago(self.now, raised)));
        format!(
            "{id} ({}) is {}{}{}.",
            id.kind.as_str(),
            item.status.as_str().replace('_', " "),
            severity.unwrap_or_default(),
            since.unwrap_or_default()
        )
    }
}

/// How many signals of which source there are, and when the latest of them came.
fn signals_sentence(members: &[&CycleMember<'_>]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for member in members {
        let count = counts.entry(member.signal.source.as_str()).or_default();
        *count = count.saturating_add(1);
    }
    let known = members.iter().filter_map(|member| match member.signal.time {
        SignalTime::Known(time) => Some(time),
        SignalTime::Doubtful { .. } | SignalTime::Missing => None,
    });
    let latest = known.max().map(|time| format!("; the latest is of {}", utc_day(time))).unwrap_or_default();
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(source, count)| format!("{count} {} from {source}", if count == 1 { "signal" } else { "signals" }))
        .collect();
    (!counts.is_empty()).then(|| format!("It comes from {}{latest}.", counts.join(" and ")))
}

/// How the most important of the signals was read, and about how many tickets they are.
fn reading_sentence(members: &[&CycleMember<'_>]) -> Option<String> {
    let leader = members.iter().min_by_key(|member| {
        let answer = &member.classification.answer;
        (answer.importance, answer.category)
    })?;
    let answer = &leader.classification.answer;
    let tickets: BTreeSet<String> = members
        .iter()
        .filter_map(|member| ticket_of(member))
        .map(|ticket| proem_guard::show::exact_json(ticket).to_string())
        .collect();
    let tickets = match tickets.len() {
        0 | 1 => String::new(),
        more => format!(", about {more} tickets"),
    };
    let reader = if leader.classification.is_degraded { "Rules" } else { "A model and rules" };
    Some(format!(
        "{reader} read it as {} ({} importance){tickets}.",
        answer.category.as_str(),
        answer.importance.as_str()
    ))
}

/// That rules change nothing, where they may not.
fn level_sentence(context: &CycleContext<'_>) -> Option<String> {
    let line =
        || format!("At the level {} and by the policy in force, rules change no artefact.", context.level.as_str());
    (context.gate == ArtefactGate::Withheld).then(line)
}

/// Which dates come next: the end of the sprint, and the next milestone of the file.
fn dates(artefacts: &ArtefactSet, context: &CycleContext<'_>) -> Option<String> {
    let sprint = artefacts.items(ArtefactItemKind::Sprint).next();
    let ends = sprint.and_then(|(_, sprint)| sprint.date(ArtefactField::EndDate));
    let ends = ends.map(|ends| format!("the sprint ends on {}", utc_day(ends)));
    let milestones = context.charter.milestones.iter().filter(|milestone| milestone.due >= context.now.0);
    let next = milestones.min_by_key(|milestone| milestone.due);
    let next = next.map(|milestone| format!("`{}` is due on {}", milestone.name, utc_day(Time(milestone.due))));
    let dates: Vec<String> = ends.into_iter().chain(next).collect();
    (!dates.is_empty()).then(|| format!("Next dates: {}.", dates.join("; ")))
}

/// The open items of the RAID log and the delivery state, by the signals that their texts come from.
fn items_by_signal(artefacts: &ArtefactSet) -> BTreeMap<SignalRevision, BTreeSet<ArtefactItemId>> {
    let mut index: BTreeMap<SignalRevision, BTreeSet<ArtefactItemId>> = BTreeMap::new();
    let kinds = [ArtefactKind::RaidLog, ArtefactKind::DeliveryState];
    let items = kinds.iter().filter_map(|kind| artefacts.get(*kind)).flat_map(Artefact::items);
    let is_named = |id: ArtefactItemId, item: &ArtefactItem| {
        let is_endangered = id.kind == ArtefactItemKind::Milestone && item.status != ItemStatus::OnTrack;
        id.kind.is_raid() || id.kind == ArtefactItemKind::Blocker || is_endangered
    };
    for (id, item) in items.filter(|(id, item)| item.status.is_open() && is_named(*id, item)) {
        let origins = item.statements().flat_map(|(_, text)| text.origins());
        for signal in origins.filter_map(|origin| origin.signal()) {
            index.entry(signal.clone()).or_default().insert(id);
        }
    }
    index
}

fn days_ago(now: Time, since: Time) -> String {
    match now.0.saturating_sub(since.0).div_euclid(DAY) {
        days if days < 1 => "today".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}
