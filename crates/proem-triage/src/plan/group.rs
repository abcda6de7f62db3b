//! Signals about the same thing, as one.

use std::collections::BTreeMap;

use proem_engine::effect::key::SignalRevision;
use proem_guard::{Untrusted, Verdict, show};

use super::context::CycleMember;
use crate::answer::{ModelComment, ModelDraft, ModelEscalation, ModelUpdate};
use crate::artefact::ArtefactOperation;
use crate::classify::{ClassificationBasis, Completion, Movement, Slip, Standstill, TicketNews, TriageLexicon};

/// Signals about the same thing.
#[derive(Debug)]
pub(super) struct GroupedSignals<'r> {
    members: Vec<CycleMember<'r>>,
    leader: usize,
    key: &'r str,
}

impl<'r> GroupedSignals<'r> {
    pub(super) fn new(members: Vec<CycleMember<'r>>, key: &'r str) -> Self {
        // Of two revisions of a signal that weigh the same, the later one has the word.
        let later = |member: &CycleMember<'_>, at: usize| {
            members.iter().skip(at.saturating_add(1)).filter(|other| other.signal.id == member.signal.id).count()
        };
        let rank = |at: usize| {
            let member = members.get(at)?;
            let answer = &member.classification.answer;
            Some((is_kept_out(member), answer.importance, answer.category, later(member, at)))
        };
        let leader = (0..members.len()).min_by_key(|at| rank(*at)).unwrap_or_default();
        Self { members, leader, key }
    }

    #[expect(clippy::indexing_slicing, reason = "a group has a member, and its leader is one")]
    pub(super) fn leader(&self) -> &CycleMember<'r> {
        &self.members[self.leader]
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &CycleMember<'r>> {
        self.members.iter()
    }

    /// Whether a text of it that nobody suspects has these words in it, one behind the other, in any case.
    pub(super) fn mentions(&self, phrase: &str) -> bool {
        let members = self.members.iter().filter(|member| !is_kept_out(member));
        let mut texts = members.flat_map(|member| {
            let fields = member.sanitised.fields.iter().filter(|field| !member.sanitised.suspects(field));
            fields.filter_map(|field| field.text.as_ref())
        });
        texts.any(|text| text.measure(|text| has_phrase(text, phrase)))
    }

    /// The key that the project's tickets begin with.
    pub(super) const fn key(&self) -> &str {
        self.key
    }

    pub(super) fn causes(&self) -> Vec<SignalRevision> {
        self.members.iter().map(|member| SignalRevision::from(member.signal)).collect()
    }

    pub(super) fn ticket(&self) -> Option<&'r Untrusted<String>> {
        ticket_of(self.leader()).or_else(|| self.members.iter().find_map(ticket_of))
    }

    pub(super) fn rationale(&self) -> String {
        self.leader().classification.answer.action_rationale.clone()
    }

    /// Whether a text of it is suspected. Such a signal is a group of its own.
    pub(super) fn is_suspected(&self) -> bool {
        self.members.iter().any(|member| member.sanitised.is_suspected())
    }

    /// Whether the system's own closed words say what it is about, whatever its texts say.
    pub(super) fn is_told_by_system(&self) -> bool {
        self.leader().classification.basis == ClassificationBasis::System
    }

    /// The last news of the ticket's standstill among them.
    pub(super) fn standstill(&self, lexicon: &TriageLexicon) -> Standstill {
        let said = self.members.iter().rev().map(|member| TicketNews::of(member.signal, lexicon).standstill);
        said.into_iter().find(|said| *said != Standstill::Unsaid).unwrap_or(Standstill::Unsaid)
    }

    pub(super) fn is_done(&self, lexicon: &TriageLexicon) -> bool {
        let last = self.members.iter().rev().find(|member| ticket_of(member).is_some());
        last.is_some_and(|member| TicketNews::of(member.signal, lexicon).completion == Completion::Done)
    }

    /// Whether the tracker took the ticket up again, and none of the signals behind that calls it done.
    pub(super) fn is_reopened(&self, lexicon: &TriageLexicon) -> bool {
        let told = self.members.iter().rev().map(|member| TicketNews::of(member.signal, lexicon).completion);
        told.into_iter().find(|told| *told != Completion::Pending) == Some(Completion::Reopened)
    }

    /// Whether the tracker moved the ticket from one state to another.
    pub(super) fn is_moved(&self, lexicon: &TriageLexicon) -> bool {
        self.members.iter().any(|member| TicketNews::of(member.signal, lexicon).movement == Movement::Moved)
    }

    pub(super) fn slips(&self, lexicon: &TriageLexicon) -> bool {
        self.members.iter().any(|member| TicketNews::of(member.signal, lexicon).slip == Slip::Moved)
    }
}

/// Whether a text has the words of a phrase in it, whatever is between them.
pub(super) fn has_phrase(text: &str, phrase: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let phrase = words(phrase);
    !phrase.is_empty() && words(text).windows(phrase.len()).any(|window| window == phrase)
}

/// The ticket that a signal names, unless its key is an attack and no key.
pub(super) fn ticket_of<'r>(member: &CycleMember<'r>) -> Option<&'r Untrusted<String>> {
    member.sanitised.name("ticket").and(member.signal.ticket.as_ref())
}

/// Whether the texts of a signal are out, and with them whatever they would lead to.
pub(super) fn is_kept_out(member: &CycleMember<'_>) -> bool {
    let by_text = member.classification.basis != ClassificationBasis::System;
    // A text out of which an attack was cut may be shown; what it says decides nothing.
    let was_cut = || member.sanitised.fields.iter().any(|field| !field.removed.is_empty());
    let verdict = member.sanitised.verdict;
    by_text && (verdict >= Verdict::Quarantine || (verdict >= Verdict::Flag && was_cut()))
}

/// Signals about one ticket, and related ones about the same kind of trouble, are one group.
pub(super) fn group_signals<'r>(batch: &[CycleMember<'r>], key: &'r str) -> Vec<GroupedSignals<'r>> {
    let mut parent: Vec<usize> = (0..batch.len()).collect();
    let mut by_id: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, member) in batch.iter().enumerate() {
        by_id.entry(&member.signal.id).or_default().push(at);
    }
    for (at, member) in batch.iter().enumerate() {
        // A signal's other revisions are about what it is about.
        let related = member.classification.answer.related_signals.iter().map(String::as_str);
        for related in core::iter::once(member.signal.id.as_str()).chain(related) {
            for other in by_id.get(related).into_iter().flatten() {
                let Some(other_member) = batch.get(*other) else { continue };
                // A suspected text joins nothing: what an attacker writes is no part of somebody else's item.
                let is_clean = |member: &CycleMember<'_>| !member.sanitised.is_suspected();
                if is_clean(member) && is_clean(other_member) && belong_together(member, other_member) {
                    let (one, two) = (group_root(&parent, at), group_root(&parent, *other));
                    if let Some(of) = parent.get_mut(one.max(two)) {
                        *of = one.min(two);
                    }
                }
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<CycleMember<'r>>> = BTreeMap::new();
    for (at, member) in batch.iter().enumerate() {
        groups.entry(group_root(&parent, at)).or_default().push(*member);
    }
    groups.into_values().map(|members| GroupedSignals::new(members, key)).collect()
}

fn group_root(parent: &[usize], of: usize) -> usize {
    let mut at = of;
    while let Some(next) = parent.get(at).copied().filter(|next| *next != at) {
        at = next;
    }
    at
}

/// Whether two related signals are about one thing: the same ticket, or the same kind of trouble.
fn belong_together(one: &CycleMember<'_>, two: &CycleMember<'_>) -> bool {
    let ticket = |member: &CycleMember<'_>| ticket_of(member).map(show::exact_json);
    let category = |member: &CycleMember<'_>| member.classification.answer.category;
    match (ticket(one), ticket(two)) {
        (Some(one), Some(two)) => one == two,
        _ => category(one) == category(two),
    }
}

/// A group of which a text is suspected, with all that is proposed because of it.
#[derive(Debug)]
pub(super) struct SuspectedGroup<'g, 'r> {
    pub(super) group: &'g GroupedSignals<'r>,
    /// Whether a person is asked even if nothing is proposed.
    pub(super) asks: bool,
    /// Whether its words would change artefacts.
    pub(super) changes: bool,
    pub(super) draft: Option<&'r ModelDraft>,
    pub(super) comment: Option<&'r ModelComment>,
    pub(super) escalation: Option<&'r ModelEscalation>,
    pub(super) updates: Vec<&'r ModelUpdate>,
    /// The changes that rules would make.
    pub(super) operations: Vec<ArtefactOperation>,
}
