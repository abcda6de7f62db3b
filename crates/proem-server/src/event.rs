//! Events for the caller while deliveries are taken. None has content or secrets of a delivery.

use std::net::SocketAddr;
use std::sync::Arc;

use proem_triage::SubscriptionNews;

use crate::outcome::WebhookOutcome;

/// Anything that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServeEvent {
    /// Deliveries are taken from now on.
    Began {
        /// The address for deliveries.
        deliveries: SocketAddr,
        /// The address for health, readiness and metrics.
        monitoring: SocketAddr,
    },
    /// A webhook of Asana has no secret, so that every delivery is refused until its handshake.
    NoSecret {
        /// The webhook's name.
        webhook: String,
    },
    /// Asana chose a secret, which is kept.
    Handshake {
        /// The webhook's name.
        webhook: String,
    },
    /// News about a subscription of Graph.
    Subscription {
        /// The webhook's name.
        webhook: String,
        /// The kind of event.
        news: SubscriptionNews,
    },
    /// A delivery was refused. One event of a webhook and an outcome in ten seconds, with the number before it.
    Refused {
        /// The webhook's name.
        webhook: String,
        /// Its outcome.
        outcome: WebhookOutcome,
        /// Why, in words of ours.
        reason: &'static str,
        /// How many of the same kind were not told.
        untold: u64,
    },
    /// Signals could not be stored.
    Problem {
        /// The failure.
        error: String,
    },
    /// No delivery is taken any more. Those under way are ended.
    Ending,
    /// Everything is over.
    Ended,
}

/// Hears events, from any thread.
pub type ServeListener = Arc<dyn Fn(&ServeEvent) + Send + Sync>;
