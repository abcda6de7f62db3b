//! Further trackers of a project, beside the key that its tickets begin with.

use serde::Deserialize;

use super::ProjectCharter;
use crate::triage::signal::{ProjectSignal, SignalSource};

/// A project of a tracker whose tickets are the project's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharterTracker {
    /// The word of the tracker, such as `asana`.
    pub source: String,
    /// What the tracker calls the project: a key of Jira, a number (gid) of Asana.
    pub project: String,
}

impl CharterTracker {
    /// What is wrong with it, if anything is.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_tracker = matches!(SignalSource::parse(&self.source), Some(SignalSource::Jira | SignalSource::Asana));
        let said = self.project.trim();
        if !is_tracker {
            Some("`source` of a tracker is jira or asana; write one of them")
        } else if said.is_empty() || said.len() > 200 || said.chars().any(|c| c.is_control() || c.is_whitespace()) {
            Some("`project` of a tracker is a key of Jira, or the number in the address of an Asana project; write it")
        } else {
            None
        }
    }
}

impl ProjectCharter {
    /// What trackers call this project: the key that its tickets begin with, and the names of further trackers.
    pub(super) fn tracker_projects(&self) -> impl Iterator<Item = String> {
        let further = self.trackers.iter().map(|tracker| tracker.project.trim().to_owned());
        [self.key.clone()].into_iter().chain(further)
    }

    /// Whether a signal names a project of a tracker that is not this project's.
    #[must_use]
    pub fn is_of_other_project(&self, signal: &ProjectSignal) -> bool {
        let of_source = self.trackers.iter().filter(|tracker| tracker.source == signal.source.as_str());
        let mut own = of_source.map(|tracker| tracker.project.trim()).chain([self.key.as_str()]);
        let named = signal.project.as_ref();
        named.is_some_and(|named| named.measure(|named| !own.any(|own| named.eq_ignore_ascii_case(own))))
    }
}
