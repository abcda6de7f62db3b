//! How an action leaves: exact bytes go out once, and what became of them is said.
//!
//! - [`mail`] and [`request`] make the bytes, which are recorded before they are sent.
//! - `outbox`, `smtp`, `graph_mail` and `request` hand them over. [`perform`] is the way to all four, and takes a permit.
//! - [`credentials`] is the one place that reads the credentials of mail and tickets.
//!
//! Invariants: one delivery is one attempt, and nothing here tries again. The recipients and the address are read from
//! the recorded bytes, so that nobody can pass others beside them; what a receiver says is untrusted. An outcome is
//! [`DeliveryOutcome::NotSent`] only if no receiver can have the action, and [`DeliveryOutcome::Unknown`] wherever that
//! is in doubt.

pub mod credentials;
mod deliver;
mod graph_mail;
pub mod mail;
mod outbox;
pub mod perform;
pub mod request;
#[cfg(feature = "scripted")]
pub mod scripted_smtp;
pub mod smtp;

use proem_engine::effect::key::{EffectKey, OutboxForm};
use proem_guard::Untrusted;
use proem_text::{Label, Source};

#[cfg(feature = "scripted")]
pub use deliver::deliver_unpermitted;
pub use deliver::{DeliveryRoute, GraphMailRoute, RequestRoute, SmtpRoute};

/// The bytes that leave: an action's recorded ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryBytes<'a> {
    /// The action's key, which names its file and tells its repetitions.
    pub key: EffectKey,
    /// The form of the bytes.
    pub form: OutboxForm,
    /// The bytes as they were recorded.
    pub bytes: &'a [u8],
}

/// The outcome of a delivery (T7).
#[derive(Debug)]
pub enum DeliveryOutcome {
    /// The receiver said that it has it.
    Sent {
        /// Its answer, if there is one.
        answer: Option<Untrusted<String>>,
    },
    /// The receiver refused it for good.
    Failed(DeliveryTrouble),
    /// Nobody has it.
    NotSent(DeliveryTrouble),
    /// Somebody may have it.
    Unknown(DeliveryTrouble),
}

/// Why a delivery did not end well.
#[derive(Debug)]
pub struct DeliveryTrouble {
    /// The event and the remedy, in our words.
    pub message: String,
    /// The receiver's words.
    pub answer: Option<Untrusted<String>>,
}

impl DeliveryTrouble {
    /// Trouble of which no receiver has said anything.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), answer: None }
    }

    /// Trouble that a receiver has words for.
    pub(crate) fn told(message: impl Into<String>, answer: Untrusted<String>) -> Self {
        Self { message: message.into(), answer: Some(answer) }
    }
}

/// A receiver's words.
pub(crate) fn receiver_words(text: String) -> Untrusted<String> {
    Untrusted::new(text, Label::from_source(Source::named("receiver")))
}
