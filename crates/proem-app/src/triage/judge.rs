//! Persons' judgements of how much signals matter.
//!
//! Invariants: a judgement is a person's at the terminal. It changes the importance of exactly one revision of a
//! signal, which then goes through a cycle as every signal does. Its words are kept as a note and go into no prompt;
//! what many of them teach is counted by stakeholders of the trusted file and by category, and only for proven senders.

use std::collections::BTreeMap;

use proem_engine::effect::key::SignalRevision;
use proem_store::JudgementAnswer;
use proem_store::query::SignalRow;
use proem_store::record::{SignalJudgement, SignalStanding};
use proem_triage::charter::ProjectCharter;
use proem_triage::contract::{SignalCategory, SignalImportance};
use proem_triage::{
    ClassificationContext, CountedJudgement, LearnedImportance, ProjectSignal, SignalClassification, SignalInBatch,
    classify_signals, proven_stakeholder,
};

use super::desk::TriageDesk;
use super::links::SignalLinks;
use super::set_aside::OpenSignals;
use super::signals::short_signal_id;
use crate::error::Error;
use crate::operator::Operator;
use crate::when;

/// The most characters of a note.
const MAX_NOTE: usize = 2_000;
/// The word for a person who judged a signal.
pub(super) const PERSON: &str = "person";
/// The word for what persons' judgements taught.
pub(super) const LEARNED: &str = "learned";

/// Persons' judgements, and the lessons.
#[derive(Debug, Default)]
pub(super) struct PersonJudgements {
    said: BTreeMap<SignalRevision, SignalImportance>,
    learned: LearnedImportance,
}

impl PersonJudgements {
    /// A signal's classification by persons. `None` if nobody judged it and nothing is learned. The judge goes into
    /// `links`.
    pub(super) fn classification(
        &self,
        signal: &ProjectSignal,
        known: &SignalClassification,
        charter: &ProjectCharter,
        links: &mut SignalLinks,
    ) -> Option<SignalClassification> {
        let id = SignalRevision::from(signal);
        if let Some(importance) = self.said.get(&id) {
            links.set_judge(&id, PERSON);
            return Some(known.with_judgement(*importance));
        }
        let sender = proven_stakeholder(signal, charter)?;
        let least = self.learned.least(&sender.address, known.answer.category)?;
        if known.answer.importance.is_at_least(least) {
            return None;
        }
        links.set_judge(&id, LEARNED);
        Some(known.with_least(least))
    }
}

/// A judgement before its person has agreed to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedJudgement {
    /// The signal.
    pub id: SignalRevision,
    /// How much it matters from now on.
    pub importance: SignalImportance,
    /// How much it mattered before.
    pub before: SignalImportance,
    /// The least importance that rules leave the signal.
    pub least: SignalImportance,
    /// Its first category.
    pub category: SignalCategory,
    /// The address of the stakeholder who sent it. Empty for everybody else.
    sender: String,
}

impl PlannedJudgement {
    /// Whether it goes below what rules leave the signal at least.
    #[must_use]
    pub fn is_below_rules(&self) -> bool {
        !self.importance.is_at_least(self.least)
    }

    /// Whether it counts for later signals of the same sender and category.
    #[must_use]
    pub const fn teaches(&self) -> bool {
        !self.sender.is_empty()
    }

    /// The signal's short id.
    #[must_use]
    pub fn short_id(&self) -> String {
        short_signal_id(&self.id)
    }
}

impl TriageDesk<'_> {
    /// Persons' judgements so far, and the lessons.
    pub(super) async fn person_judgements(&self) -> Result<PersonJudgements, Error> {
        let (mut said, mut counted) = (BTreeMap::new(), Vec::new());
        for row in self.desk.store.signal_judgements(&self.desk.owner).await? {
            let Some(importance) = SignalImportance::parse(&row.importance) else { continue };
            said.insert(row.id, importance);
            if let Some(category) = SignalCategory::parse(&row.category) {
                counted.push(CountedJudgement { sender: row.sender, category, importance });
            }
        }
        // Nobody counts who is in the trusted file no more.
        counted.retain(|counted| self.charter.stakeholder(&counted.sender).is_some());
        Ok(PersonJudgements { said, learned: LearnedImportance::of(counted) })
    }

    /// The effect of a person's judgement on a signal.
    ///
    /// # Errors
    ///
    /// If no signal has the id, several have it, its text is gone, no cycle works on it, or the records are unreadable.
    pub async fn plan_judgement(&self, id: &str, importance: SignalImportance) -> Result<PlannedJudgement, Error> {
        let row = self.signal_row(id).await?;
        let shown = short_signal_id(&row.id);
        refuse_unworked(&shown, row.standing)?;
        let stored = |name: &str| row.outcome.get(name).and_then(|word| word.as_str()).map(str::to_owned);
        let (before, category) = (stored("importance"), stored("category"));
        let revision = row.id.clone();
        let (rules, least, sender) = self.rules_for(row).await?;
        Ok(PlannedJudgement {
            id: revision,
            importance,
            before: before.and_then(|word| SignalImportance::parse(&word)).unwrap_or(rules.answer.importance),
            least,
            category: category.and_then(|word| SignalCategory::parse(&word)).unwrap_or(rules.answer.category),
            sender,
        })
    }

    /// The rules' classification of a signal, its floor, and the address of a proven stakeholder.
    async fn rules_for(&self, row: SignalRow) -> Result<(SignalClassification, SignalImportance, String), Error> {
        let shown = short_signal_id(&row.id);
        if row.text.is_none() {
            return Err(purged_signal(&shown));
        }
        let read = match self.read(vec![row])? {
            OpenSignals::Read(read) => read,
            OpenSignals::Unread(_) => {
                return Err(Error::negative(format!(
                    "signal {shown} can't be read, so it can't be worked on again; look at its source"
                )));
            }
        };
        let context = ClassificationContext { lexicon: self.lexicon()?, project: &self.people };
        let batch: Vec<SignalInBatch<'_>> =
            read.iter().map(|read| SignalInBatch { signal: &read.signal, sanitised: &read.sanitised }).collect();
        let classified = classify_signals(&batch, context);
        let (Some(item), Some(rules)) = (batch.first(), classified.into_iter().next()) else {
            return Err(Error::bug("a signal was not classified", shown));
        };
        let sender = proven_stakeholder(item.signal, &self.charter).map(|known| known.address.clone());
        let least = rules.least_importance(item, context);
        Ok((rules, least, sender.unwrap_or_default()))
    }

    /// Writes a judgement to which its person agreed, and opens the signal for the next cycle.
    ///
    /// # Errors
    ///
    /// If the note is too long, the signal can't be opened any more, or the records can't be written.
    pub async fn judge(
        &self,
        operator: &Operator,
        planned: &PlannedJudgement,
        note: Option<&str>,
    ) -> Result<(), Error> {
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        if note.is_some_and(|note| note.chars().count() > MAX_NOTE) {
            return Err(Error::invalid(format!("the reason has more than {MAX_NOTE} characters; shorten it")));
        }
        let judgement = SignalJudgement {
            project: self.desk.owner.clone(),
            actor: operator.actor().clone(),
            at: when::time_now(),
            id: planned.id.clone(),
            importance: planned.importance.as_str(),
            before: planned.before.as_str(),
            category: planned.category.as_str(),
            sender: planned.sender.clone(),
            note: note.map(str::to_owned),
        };
        let shown = planned.short_id();
        match self.desk.store.judge_signal(judgement).await? {
            JudgementAnswer::Open => Ok(()),
            JudgementAnswer::Stands(standing) => refuse_unworked(&shown, standing),
            JudgementAnswer::Purged => Err(purged_signal(&shown)),
            JudgementAnswer::Unknown => Err(Error::negative(format!("signal {shown} is gone; list them again"))),
        }
    }
}

fn purged_signal(shown: &str) -> Error {
    Error::negative(format!(
        "the text of signal {shown} was purged, so it can't be worked on again; take its source in anew"
    ))
}

/// Refuses a signal on which no cycle works.
fn refuse_unworked(shown: &str, standing: SignalStanding) -> Result<(), Error> {
    match standing {
        SignalStanding::Open | SignalStanding::Handled => Ok(()),
        SignalStanding::SetAside => Err(Error::invalid(format!(
            "signal {shown} is of another project; name that project among the `[[trackers]]` of the project's file first"
        ))),
        SignalStanding::Malformed => {
            Err(Error::invalid(format!("signal {shown} could not be read; look at it in the quarantine")))
        }
    }
}
