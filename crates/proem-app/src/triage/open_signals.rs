//! Open signals as a cycle takes them up: read from the records, and judged by stages or by rules, and above both by
//! persons.
//!
//! Invariant: each signal of a cycle has what is known of exactly its revision beside it, or there is no cycle.

use std::collections::BTreeMap;

use proem_engine::effect::key::SignalRevision;
use proem_triage::pipeline::JudgedSignal;
use proem_triage::{
    ClassificationContext, ProjectSignal, SanitisedSignal, SignalClassification, SignalInBatch, classify_each,
};

use super::desk::TriageDesk;
use super::judge::PersonJudgements;
use super::links::SignalLinks;
use super::model_calls::AskedCycle;
use crate::error::Error;

/// A signal with what of it may go on.
pub(super) struct ReadSignal {
    pub(super) signal: ProjectSignal,
    pub(super) sanitised: SanitisedSignal,
}

impl TriageDesk<'_> {
    /// Each signal with what is known of it: what the stages say of exactly this revision, else what rules say, and
    /// before both what persons say.
    pub(super) fn judged<'r>(
        &self,
        read: &'r [ReadSignal],
        asked: Option<&AskedCycle>,
        links: &mut SignalLinks,
        persons: &PersonJudgements,
    ) -> Result<Vec<(&'r ReadSignal, JudgedSignal)>, Error> {
        let mut judged = self.judged_without_persons(read, asked)?;
        for (read, judged) in &mut judged {
            if let Some(above) = persons.classification(&read.signal, &judged.classification, &self.charter, links) {
                judged.classification = above;
            }
        }
        Ok(judged)
    }

    fn judged_without_persons<'r>(
        &self,
        read: &'r [ReadSignal],
        asked: Option<&AskedCycle>,
    ) -> Result<Vec<(&'r ReadSignal, JudgedSignal)>, Error> {
        let Some(asked) = asked else {
            let batch: Vec<SignalInBatch<'_>> =
                read.iter().map(|read| SignalInBatch { signal: &read.signal, sanitised: &read.sanitised }).collect();
            let context = ClassificationContext { lexicon: self.lexicon()?, project: &self.people };
            let rules: BTreeMap<SignalRevision, SignalClassification> = classify_each(&batch, context)
                .map(|(item, classification)| (SignalRevision::from(item.signal), classification))
                .collect();
            return each_judged(read, |read| {
                let id = SignalRevision::from(&read.signal);
                let classification = rules.get(&id)?.clone();
                Some(JudgedSignal { id, sanitised: read.sanitised.clone(), classification, way: Vec::new() })
            });
        };
        each_judged(read, |read| {
            let id = SignalRevision::from(&read.signal);
            asked.end.signals.iter().find(|judged| judged.id == id).cloned()
        })
    }
}

/// Each signal with what is known of it.
fn each_judged(
    read: &[ReadSignal],
    judged: impl Fn(&ReadSignal) -> Option<JudgedSignal>,
) -> Result<Vec<(&ReadSignal, JudgedSignal)>, Error> {
    let each = |read| {
        let unknown = |read: &ReadSignal| Error::bug("a signal of the cycle was not judged", &read.signal.id);
        judged(read).map(|judged| (read, judged)).ok_or_else(|| unknown(read))
    };
    read.iter().map(each).collect()
}
