//! Outcomes of deliveries.

/// The outcome of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WebhookOutcome {
    /// Its signals are stored, or were stored before.
    Stored,
    /// It was a sign of life, with nothing to store.
    Heartbeat,
    /// It opened the webhook: Asana's secret is kept, or Graph's token was answered.
    Handshake,
    /// It is not signed with the webhook's secret.
    Unauthorised,
    /// It is larger than 1 MiB.
    TooLarge,
    /// Its body took too long.
    Slow,
    /// Its body ended early.
    Cut,
    /// It is not of the form that the source documents.
    Malformed,
    /// It came so long after its own time that its source would not send it any more.
    Stale,
    /// The webhook makes more deliveries a second than it may.
    Limited,
    /// Too much is under way.
    Busy,
    /// The records can't be written.
    Unstored,
}

proem_text::word_table! {
    pub WebhookOutcome {
        Stored = "stored",
        Heartbeat = "heartbeat",
        Handshake = "handshake",
        Unauthorised = "unauthorised",
        TooLarge = "too-large",
        Slow = "slow",
        Cut = "cut",
        Malformed = "malformed",
        Stale = "stale",
        Limited = "limited",
        Busy = "busy",
        Unstored = "unstored",
    }
}

impl WebhookOutcome {
    /// The status of the answer. Sources try again after 408, 429 and 503.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::Stored | Self::Heartbeat | Self::Handshake => 200,
            Self::Unauthorised => 401,
            Self::TooLarge => 413,
            Self::Slow => 408,
            Self::Cut | Self::Malformed | Self::Stale => 400,
            Self::Limited => 429,
            Self::Busy | Self::Unstored => 503,
        }
    }

    /// After how many seconds the source should try again.
    #[must_use]
    pub const fn retry_after(self) -> Option<u16> {
        match self {
            Self::Limited | Self::Busy => Some(2),
            Self::Unstored => Some(30),
            _ => None,
        }
    }

    /// Why it was refused, or what it was, in words of ours.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Stored => "its signals are stored",
            Self::Heartbeat => "it is a sign of life",
            Self::Handshake => "it opened the webhook",
            Self::Unauthorised => "it is not signed with the webhook's secret",
            Self::TooLarge => "it is larger than 1 MiB",
            Self::Slow => "its body took longer than 10 seconds",
            Self::Cut => "its body ended early",
            Self::Malformed => "it has another form than the source documents",
            Self::Stale => "it came long after its own time; check the clock if it was no replay",
            Self::Limited => "the webhook makes more deliveries a second than it may",
            Self::Busy => "too many deliveries are under way",
            Self::Unstored => "the records can't be written",
        }
    }

    /// Whether the delivery was not taken.
    #[must_use]
    pub const fn is_refusal(self) -> bool {
        self.status() >= 400
    }
}
