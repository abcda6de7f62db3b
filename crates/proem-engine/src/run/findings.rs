//! The lessons of a run's calls about a model's server.

use core::num::NonZeroUsize;

use super::{Attempt, TriedWay};
use crate::call::FailureKind;
use crate::providers::{Model, SchemaEnforcement};

/// The lessons of a run's calls about a model's server. Later requests follow them.
///
/// It is read off the attempts that the run keeps, so that a replay comes to the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerFindings {
    /// How answers are held to a schema, after ways that the server refused or doesn't hold.
    pub way: Option<SchemaEnforcement>,
    /// The smallest context window that the server named when it refused a request for its length.
    pub window: Option<NonZeroUsize>,
    /// How often it refused one so.
    pub refused_lengths: usize,
}

impl ServerFindings {
    /// The lessons of these attempts, all of one model, in their order.
    #[must_use]
    pub fn of<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Self {
        let mut findings = Self::default();
        for attempt in attempts {
            findings.way = attempt.tried.and_then(TriedWay::following).or(findings.way);
            if let Some(window) = attempt.failure.as_ref().and_then(|failure| failure.window) {
                findings.window = Some(findings.window.map_or(window, |known| known.min(window)));
                findings.refused_lengths = findings.refused_lengths.saturating_add(1);
            }
        }
        findings
    }

    /// The model as requests are made for it from here on.
    #[must_use]
    pub fn apply_to(self, model: &Model) -> Model {
        let mut model = model.clone();
        self.way.into_iter().for_each(|way| model.hold_as_found(way));
        self.window.into_iter().for_each(|window| model.narrow(window));
        model
    }

    /// Whether a request that failed for this reason is made once more, for the window that the server named. A server
    /// that names a smaller one each time gets no third request.
    #[must_use]
    pub const fn permits_shorter(self, failed: FailureKind) -> bool {
        matches!(failed, FailureKind::TooLong | FailureKind::Empty) && self.refused_lengths == 1
    }
}
