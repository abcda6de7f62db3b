//! Why a call brought no answer.

use core::num::NonZeroUsize;

use proem_guard::Untrusted;
use serde::{Deserialize, Serialize};

use super::state_form::maybe_outside;

/// A call that brought no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFailure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The failure and its remedy, in our words: lower case, no full stop.
    pub message: String,
    /// The words of the provider or the model about it. [`Self::speaker`] names the speaker.
    #[serde(with = "maybe_outside", default)]
    pub said: Option<Untrusted<String>>,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// The tokens of prompt and answer together that the server says its model has, where that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<NonZeroUsize>,
}

/// The speaker of [`CallFailure::said`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureSpeaker {
    /// The server, or a proxy before it.
    Provider,
    /// The model: what had come of its answer, or a name that it made up.
    Model,
}

impl CallFailure {
    /// A failure about which the provider said nothing.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), said: None, status: None, window: None }
    }

    /// The speaker of [`Self::said`].
    #[must_use]
    pub const fn speaker(&self) -> FailureSpeaker {
        self.kind.speaker()
    }
}

/// The kind of a call's failure, so that code can decide without reading text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The variable that should hold the key is empty or missing.
    NoKey,
    /// The provider refused the key.
    KeyRefused,
    /// The provider doesn't know the model, or this key may not use it.
    UnknownModel,
    /// The provider refused the request itself.
    Refused,
    /// The server doesn't hold answers to a schema in the way that was asked.
    ModeRefused,
    /// The request is longer than the model reads.
    TooLong,
    /// Too many requests or tokens in too short a time.
    RateLimited,
    /// The account has no money left.
    NoCredit,
    /// It can't be booked: a budget has no room for it, or the ledger can't be written.
    NotBooked,
    /// The provider failed.
    Server,
    /// Nobody could be reached, so nothing was sent.
    Unreachable,
    /// The server can't prove who it is, or doesn't encrypt, so nothing was sent.
    Insecure,
    /// It took too long.
    TimedOut,
    /// The provider sent us somewhere else.
    Redirected,
    /// The answer is larger than is read.
    TooLarge,
    /// The answer is not what the protocol says.
    Malformed,
    /// The answer ended in the middle.
    Cut,
    /// The answer ended before anything of it came.
    Empty,
    /// The model called a tool that was not offered, and was stopped.
    UnknownTool,
    /// The caller gave up.
    Cancelled,
    /// The cassette holds no such call, or another one.
    Replay,
}

impl FailureKind {
    /// The word used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoKey => "no-key",
            Self::KeyRefused => "key-refused",
            Self::UnknownModel => "unknown-model",
            Self::Refused => "refused",
            Self::ModeRefused => "mode-refused",
            Self::TooLong => "too-long",
            Self::RateLimited => "rate-limited",
            Self::NoCredit => "no-credit",
            Self::NotBooked => "not-booked",
            Self::Server => "server",
            Self::Unreachable => "unreachable",
            Self::Insecure => "insecure",
            Self::TimedOut => "timed-out",
            Self::Redirected => "redirected",
            Self::TooLarge => "too-large",
            Self::Malformed => "malformed",
            Self::Cut => "cut",
            Self::Empty => "empty",
            Self::UnknownTool => "unknown-tool",
            Self::Cancelled => "cancelled",
            Self::Replay => "replay",
        }
    }

    /// The speaker of the words that such a failure carries.
    #[must_use]
    pub const fn speaker(self) -> FailureSpeaker {
        match self {
            Self::Cut | Self::Cancelled | Self::TooLarge | Self::UnknownTool => FailureSpeaker::Model,
            _ => FailureSpeaker::Provider,
        }
    }

    /// Whether nothing can have reached a model, so that nothing was paid for.
    #[must_use]
    pub const fn is_unsent(self) -> bool {
        matches!(
            self,
            Self::NoKey
                | Self::KeyRefused
                | Self::UnknownModel
                | Self::Refused
                | Self::ModeRefused
                | Self::TooLong
                | Self::RateLimited
                | Self::NoCredit
                | Self::NotBooked
                | Self::Unreachable
                | Self::Insecure
                | Self::Redirected
                | Self::Replay
        )
    }

    /// Whether the same request may succeed when it is sent again.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Server | Self::Unreachable | Self::TimedOut | Self::Malformed | Self::Cut
        )
    }
}
