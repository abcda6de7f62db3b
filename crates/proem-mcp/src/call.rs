//! One call, as a tool sees it, and the bounds on how many there are.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proem_app::Error;
use proem_app::project::{BookReading, OpenProject};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::McpSetting;

/// The most calls that are worked on at once. The others wait for their turn.
const MOST_WORKING: usize = 4;

/// The most calls that wait for a person at once.
const MOST_WAITING: usize = 16;

/// The most calls that are open at once, whatever they wait for.
const MOST_OPEN: usize = 64;

/// A call that a tool works on.
#[derive(Debug)]
pub(crate) struct ToolCall {
    /// The project that the server is about.
    pub(crate) setting: Arc<McpSetting>,
    /// The actions that calls wait for.
    pub(crate) claims: Claims,
    /// Fires when the client cancels or goes.
    pub(crate) stop: CancellationToken,
}

impl ToolCall {
    /// Opens the project with its book.
    ///
    /// # Errors
    ///
    /// If its files can't be read.
    pub(crate) fn project(&self) -> Result<OpenProject, Error> {
        OpenProject::open(&self.setting.root, &self.setting.places, BookReading::Trusted)
    }
}

/// The bounds that all calls of a server share.
#[derive(Debug, Clone)]
pub(crate) struct CallBounds {
    open: Arc<Semaphore>,
    working: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// How long a tool takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolPace {
    /// It works, and ends.
    Works,
    /// It waits for a person.
    Waits,
}

/// The right to work on a call, until it is dropped.
#[derive(Debug)]
pub(crate) struct CallPermit {
    _open: tokio::sync::OwnedSemaphorePermit,
    _turn: tokio::sync::OwnedSemaphorePermit,
}

impl Default for CallBounds {
    fn default() -> Self {
        let bound = |most| Arc::new(Semaphore::new(most));
        Self { open: bound(MOST_OPEN), working: bound(MOST_WORKING), waiting: bound(MOST_WAITING) }
    }
}

impl CallBounds {
    /// Waits for a call's turn. `None` if too many calls are open.
    pub(crate) async fn permit(&self, pace: ToolPace) -> Option<CallPermit> {
        let open = Arc::clone(&self.open).try_acquire_owned().ok()?;
        let turns = match pace {
            ToolPace::Works => &self.working,
            ToolPace::Waits => &self.waiting,
        };
        // The semaphores are never closed.
        let turn = Arc::clone(turns).acquire_owned().await.ok()?;
        Some(CallPermit { _open: open, _turn: turn })
    }

    /// Waits until nothing is worked on, for a while at most.
    pub(crate) async fn wait_until_idle(&self, most: Duration) {
        let turns = u32::try_from(MOST_WORKING).unwrap_or(u32::MAX);
        // Nobody waits for work that takes longer.
        _ = tokio::time::timeout(most, self.working.acquire_many(turns)).await;
    }
}

/// The actions that calls wait for, each claimed by one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claims(Arc<Mutex<BTreeSet<String>>>);

/// The claim of one call, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    claims: Claims,
    id: String,
}

impl Claims {
    /// Claims an action. `None` if another call has it.
    pub(crate) fn claim(&self, id: &str) -> Option<Claim> {
        let is_first = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        is_first.then(|| Claim { claims: self.clone(), id: id.to_owned() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_has_one_claim_at_a_time() {
        let claims = Claims::default();
        let first = claims.claim("a").unwrap();
        assert!(claims.claim("a").is_none());
        assert!(claims.claim("b").is_some());
        drop(first);
        assert!(claims.claim("a").is_some());
    }
}
