//! A webhook with its secret, limits and counts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use proem_app::webhooks::Webhook;
use proem_triage::WebhookSource;

use crate::event::{ServeEvent, ServeListener};
use crate::metrics::DeliveryCounts;
use crate::outcome::WebhookOutcome;
use crate::rate::TokenBucket;
use crate::signing_key::SigningKey;
use crate::writer::ProjectQueue;

/// How often a kind of refusal is told.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// How many kinds of refusal there are.
const KINDS: usize = WebhookOutcome::ALL.len();

/// A webhook while deliveries are taken.
#[derive(Debug)]
pub(crate) struct Hook {
    pub(crate) name: String,
    pub(crate) source: WebhookSource,
    pub(crate) queue: ProjectQueue,
    pub(crate) counts: DeliveryCounts,
    key: RwLock<Option<SigningKey>>,
    /// Whether the next handshake may set the secret.
    is_open: AtomicBool,
    guard: Mutex<HookGuard>,
}

/// The parts that change with every delivery.
#[derive(Debug)]
struct HookGuard {
    bucket: TokenBucket,
    /// When each kind of refusal was told last, and how many were not told since.
    told: [(Option<Instant>, u64); KINDS],
}

/// Whether a webhook takes a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeDoor {
    Open,
    Shut,
}

impl Hook {
    pub(crate) fn new(webhook: &Webhook, queue: ProjectQueue, door: HandshakeDoor) -> Self {
        let key = webhook.secret.as_ref().and_then(|secret| SigningKey::new(secret.expose()));
        let bucket = TokenBucket::new(webhook.per_second, Instant::now());
        Self {
            name: webhook.name.clone(),
            source: webhook.source,
            queue,
            counts: DeliveryCounts::default(),
            key: RwLock::new(key),
            is_open: AtomicBool::new(door == HandshakeDoor::Open),
            guard: Mutex::new(HookGuard { bucket, told: [(None, 0); KINDS] }),
        }
    }

    /// Whether the secret passes a check. Without a secret nothing does.
    pub(crate) fn has_key_that(&self, check: impl FnOnce(&SigningKey) -> bool) -> bool {
        self.key.read().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(check)
    }

    pub(crate) fn set_key(&self, secret: &str) {
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = SigningKey::new(secret);
    }

    /// Shuts the door for handshakes, and says whether it was open.
    pub(crate) fn shut_door(&self) -> HandshakeDoor {
        if self.is_open.swap(false, Ordering::AcqRel) { HandshakeDoor::Open } else { HandshakeDoor::Shut }
    }

    /// Opens it again after a handshake that failed.
    pub(crate) fn open_door(&self) {
        self.is_open.store(true, Ordering::Release);
    }

    /// Whether one more delivery is within the rate.
    pub(crate) fn take_token(&self) -> bool {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).bucket.take(Instant::now())
    }

    /// Counts what became of a delivery, and tells a refusal unless one like it was told a moment ago.
    pub(crate) fn settle(&self, outcome: WebhookOutcome, reason: &'static str, tell: &ServeListener) {
        self.counts.count(outcome);
        if outcome.is_refusal()
            && let Some(untold) = self.untold_refusals(outcome)
        {
            tell(&ServeEvent::Refused { webhook: self.name.clone(), outcome, reason, untold });
        }
    }

    /// How many refusals of a kind were not told, if it is time to tell one.
    fn untold_refusals(&self, outcome: WebhookOutcome) -> Option<u64> {
        let now = Instant::now();
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, untold) = guard.told.get_mut(outcome as usize)?;
        if last.is_some_and(|last| now.saturating_duration_since(last) < TELL_EVERY) {
            *untold = untold.saturating_add(1);
            return None;
        }
        *last = Some(now);
        Some(std::mem::take(untold))
    }
}
