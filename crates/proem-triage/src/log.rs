//! Signals as they came, each once.
//!
//! Law: the same signals in any order, any of them any number of times, make the same log.

use std::{cmp::Ordering, collections::BTreeMap};

use super::{date::SignalTime, signal::ProjectSignal};

/// Signals by id, each with its revisions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignalLog {
    signals: BTreeMap<String, BTreeMap<String, ProjectSignal>>,
}

/// The relation of a signal to earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalArrival {
    /// The first of its id.
    New,
    /// Known by id, with other content.
    Revised,
    /// There already.
    Same,
}

impl SignalLog {
    /// Takes a signal in.
    ///
    /// Of two that say the same the one that is known less well stays: the weaker authentication, then the longer
    /// label, so that a copy makes nobody's word better.
    pub fn add(&mut self, signal: ProjectSignal) -> SignalArrival {
        let revisions = self.signals.entry(signal.id.clone()).or_default();
        let arrival = if revisions.is_empty() { SignalArrival::New } else { SignalArrival::Revised };
        match revisions.get_mut(&signal.revision) {
            None => {
                revisions.insert(signal.revision.clone(), signal);
                arrival
            }
            Some(known) => {
                if identity_standing(&signal) < identity_standing(known) {
                    *known = signal;
                }
                SignalArrival::Same
            }
        }
    }

    /// How many ids there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.signals.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.signals.is_empty()
    }

    /// The revision of each signal that counts, by id: the latest by its own time, after those without a believable
    /// one. Of two at the same time the one that leaves less unknown, then the one with the higher hash.
    pub fn current(&self) -> impl Iterator<Item = &ProjectSignal> {
        self.signals.values().filter_map(|revisions| revisions.values().max_by(|a, b| by_time(a, b)))
    }

    /// All revisions of a signal, by hash.
    pub fn revisions(&self, id: &str) -> impl Iterator<Item = &ProjectSignal> {
        self.signals.get(id).into_iter().flat_map(BTreeMap::values)
    }
}

fn by_time(a: &ProjectSignal, b: &ProjectSignal) -> Ordering {
    let time = |signal: &ProjectSignal| match signal.time {
        SignalTime::Known(time) => Some(time.0),
        SignalTime::Doubtful { .. } | SignalTime::Missing => None,
    };
    time(a).cmp(&time(b)).then_with(|| b.notes.len().cmp(&a.notes.len())).then_with(|| a.revision.cmp(&b.revision))
}

/// How well a signal is known; what is less comes first.
fn identity_standing(signal: &ProjectSignal) -> impl Ord {
    let sources = match signal.to_tree().label().sources() {
        proem_text::Sources::Named(named) => named.len(),
        proem_text::Sources::Many => usize::MAX,
    };
    let authentication = signal.sender.as_ref().map(|sender| sender.authentication);
    // The written form decides between those that differ in nothing else, such as their notes.
    (authentication, std::cmp::Reverse(sources), signal.write().unwrap_or_default())
}
