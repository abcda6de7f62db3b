//! Sources that contradict each other: two that disagree on the state, the date or the owner of one matter.
//!
//! Two signals are about one matter if they name the same ticket, or have titles of the same words and one names the
//! other's ticket. A tracker's own later word about its own ticket is no contradiction, and neither is a suspected text.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::{effect::key::SignalRevision, policy::SourceConflict};
use proem_guard::{LabelTree, Untrusted, show};

use super::{
    PlannedQuestion,
    context::CycleMember,
    group::{has_phrase, is_kept_out, ticket_of},
    questions,
};
use crate::{
    artefact::{FigurePlaces, TicketProgress, TicketState},
    contract::{EscalationReason, TimeSensitivity},
    date,
    signal::{SignalKind, SignalSource},
};

/// Verbs and states of sentences about a ticket, in the guard's languages: what is done, and what is not.
const IS: [&str; 9] = ["is", "is now", "está", "esta", "est", "es", "ist", "já está", "ya está"];
const DONE: [&str; 14] = [
    "done",
    "finished",
    "completed",
    "closed",
    "resolved",
    "delivered",
    "concluído",
    "feito",
    "terminé",
    "fini",
    "terminado",
    "hecho",
    "erledigt",
    "fertig",
];
const PENDING: [&str; 11] = [
    "blocked",
    "not done",
    "not finished",
    "still open",
    "bloqueado",
    "bloqué",
    "blockiert",
    "nicht fertig",
    "not resolved",
    "por fazer",
    "offen",
];

/// On what two sources disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DisputedPoint {
    State,
    Date,
    Owner,
}

/// A signal's claim about a matter.
struct MatterClaim<'m, 'r> {
    member: &'m CycleMember<'r>,
    is_done: Option<bool>,
    /// In days since 1970.
    due: Option<i64>,
    owner: Option<String>,
}

/// The contradictions of a batch.
#[derive(Debug, Default)]
pub(super) struct SourceConflicts {
    members: BTreeSet<SignalRevision>,
    pub(super) questions: Vec<PlannedQuestion>,
}

impl SourceConflicts {
    /// Finds them, each pair once.
    pub(super) fn find(batch: &[CycleMember<'_>], places: &FigurePlaces) -> Self {
        let mut conflicts = Self::default();
        let clean = batch.iter().filter(|member| !is_kept_out(member) && !member.sanitised.is_suspected());
        let mut matters: BTreeMap<String, Vec<&CycleMember<'_>>> = BTreeMap::new();
        for member in clean {
            for key in matters_of(member, batch) {
                matters.entry(key).or_default().push(member);
            }
        }
        for (key, members) in matters {
            // A source's last word counts.
            let mut last: BTreeMap<(SignalSource, Option<String>), MatterClaim<'_, '_>> = BTreeMap::new();
            for member in members {
                let claim = MatterClaim::of(member, &key, places);
                if claim.is_done.is_some() || claim.due.is_some() || claim.owner.is_some() {
                    last.insert(statement_origin(member), claim);
                }
            }
            let claims: Vec<_> = last.into_values().collect();
            conflicts.compare(&key, &claims);
        }
        conflicts
    }

    /// One question about a matter, with every source that takes part in the first point of dispute.
    fn compare(&mut self, key: &str, claims: &[MatterClaim<'_, '_>]) {
        let points = claims
            .iter()
            .enumerate()
            .flat_map(|(at, one)| claims.iter().skip(at.saturating_add(1)).filter_map(|other| one.disputed(other)));
        let Some(point) = points.min() else { return };
        let takes_part = |claim: &&MatterClaim<'_, '_>| claims.iter().any(|other| claim.disputed(other) == Some(point));
        let members: Vec<_> = claims.iter().filter(takes_part).map(|claim| claim.member).collect();
        self.members.extend(members.iter().map(|member| SignalRevision::from(member.signal)));
        self.questions.extend(conflict_question(key, point, &members));
    }

    /// Whether one of these signals contradicts another.
    pub(super) fn of(&self, causes: &[SignalRevision]) -> SourceConflict {
        if causes.iter().any(|cause| self.members.contains(cause)) {
            SourceConflict::Present
        } else {
            SourceConflict::Absent
        }
    }
}

/// The tickets that a signal says something of: its own, and another one in its texts.
fn matters_of(member: &CycleMember<'_>, batch: &[CycleMember<'_>]) -> Vec<String> {
    let own = ticket_of(member).and_then(comparable_text);
    let related = member.classification.answer.related_signals.iter();
    let related = related.filter_map(|id| batch.iter().find(|other| other.signal.id == *id));
    let others = related.filter(|other| own.is_none() || are_alike(member, other)).filter_map(ticket_of);
    let mut all: Vec<String> = others.filter_map(comparable_text).collect();
    all.extend(own);
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether two signals have titles of the same words, but for keys of tickets.
fn are_alike(one: &CycleMember<'_>, other: &CycleMember<'_>) -> bool {
    let words = |member: &CycleMember<'_>| -> BTreeSet<String> {
        let keys: Vec<String> = [one, other].into_iter().filter_map(ticket_of).filter_map(comparable_text).collect();
        let summary = member.signal.summary.as_ref().and_then(comparable_text).unwrap_or_default();
        let words = summary.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        words.filter(|word| !word.is_empty() && !keys.iter().any(|key| key == word)).map(str::to_lowercase).collect()
    };
    let words = [words(one), words(other)];
    matches!(&words, [one, other] if one.len() > 1 && one == other)
}

/// The source of a claim: a tracker is one source, and each sender of mail another.
fn statement_origin(member: &CycleMember<'_>) -> (SignalSource, Option<String>) {
    let source = member.signal.source;
    let is_tracker = matches!(source, SignalSource::Jira | SignalSource::Asana);
    let address = member.signal.sender.as_ref().and_then(|sender| sender.address.as_ref()).and_then(comparable_text);
    (source, address.filter(|_| !is_tracker || member.signal.kind == SignalKind::CommentCreated))
}

/// A text to compare with another, which is never shown.
fn comparable_text(text: &Untrusted<String>) -> Option<String> {
    show::exact_json(text).as_str().map(str::to_owned)
}

impl<'m, 'r> MatterClaim<'m, 'r> {
    fn of(member: &'m CycleMember<'r>, key: &str, places: &FigurePlaces) -> Self {
        let signal = member.signal;
        let is_ticket =
            matches!(signal.kind, SignalKind::TicketListed | SignalKind::TicketCreated | SignalKind::TicketUpdated);
        if !is_ticket {
            return Self { member, is_done: told_state(member, key), due: None, owner: None };
        }
        let progress = TicketState::read(signal, places).progress;
        let due = match &signal.fields {
            LabelTree::Map(fields) => match fields.get("due") {
                Some(LabelTree::Outside(text)) => text.measure(|text| date::leading_day(text)),
                _ => None,
            },
            _ => None,
        };
        let owner = member.sanitised.name("assignee").filter(|name| !member.sanitised.suspects(name));
        let owner = owner.and_then(|name| name.text.as_ref()).and_then(comparable_text);
        let owner = owner.map(|owner| owner.trim().to_lowercase()).filter(|owner| !owner.is_empty());
        Self { member, is_done: progress.map(|progress| progress == TicketProgress::Done), due, owner }
    }

    fn disputed(&self, other: &Self) -> Option<DisputedPoint> {
        fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
            one.zip(other).is_some_and(|(one, other)| one != other)
        }
        if differ(self.is_done.as_ref(), other.is_done.as_ref()) {
            return Some(DisputedPoint::State);
        }
        if differ(self.due.as_ref(), other.due.as_ref()) {
            return Some(DisputedPoint::Date);
        }
        differ(self.owner.as_ref(), other.owner.as_ref()).then_some(DisputedPoint::Owner)
    }
}

/// Whether a text calls a ticket done, in a plain sentence about its key. `None` if it says nothing of the kind, or
/// both.
fn told_state(member: &CycleMember<'_>, key: &str) -> Option<bool> {
    let says = |states: &[&str]| {
        let texts = member.sanitised.fields.iter().filter_map(|field| field.text.as_ref());
        let mut phrases = IS.iter().flat_map(|is| states.iter().map(move |state| format!("{key} {is} {state}")));
        let texts: Vec<_> = texts.collect();
        phrases.any(|phrase| texts.iter().any(|text| text.measure(|text| has_phrase(text, &phrase))))
    };
    match (says(&DONE), says(&PENDING)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

fn conflict_question(key: &str, point: DisputedPoint, members: &[&CycleMember<'_>]) -> Option<PlannedQuestion> {
    let (word, title) = match point {
        DisputedPoint::State => ("state", "Two sources disagree on whether a ticket is done. Which one is right?"),
        DisputedPoint::Date => ("date", "Two sources give one matter different dates. Which one holds?"),
        DisputedPoint::Owner => ("owner", "Two sources give one matter different owners. Who has it?"),
    };
    Some(PlannedQuestion {
        subject: format!("conflict\n{word}\n{key}"),
        reason: EscalationReason::ConflictingSignals,
        title: title.to_owned(),
        heading: questions::heading_of(members.first()?),
        background: Vec::new(),
        about: questions::group_subject(members.iter().copied()),
        options: vec![
            questions::rule_option(
                "A",
                "the tracker is right: whoever decides tells the others",
                ["the team works by the tracker", "the other source may know something newer"],
            ),
            questions::rule_option(
                "B",
                "the tracker is wrong: whoever decides corrects it",
                ["the figures follow the tracker, so they become right", "one person's word moves what the team sees"],
            ),
            questions::rule_option(
                "C",
                "they are about different things: nothing changes",
                ["nothing changes by mistake", "if they are about one thing, the contradiction stays"],
            ),
        ],
        recommended: ("C", "nothing shows which of them is newer in fact"),
        time: TimeSensitivity::ThisWeek,
        causes: members.iter().map(|member| SignalRevision::from(member.signal)).collect(),
    })
}
