//! The state of an action.

/// The version of the written names of states and events. Raised when one of them changes its meaning.
pub const NAMES: u32 = 2;

/// The state of an action between its proposal and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionState {
    /// Written down and not decided about, as while effects are off.
    Proposed,
    /// Goes by itself when its hold is over, unless somebody stops it.
    Held,
    /// Needs a person's approval.
    Waiting,
    /// A person said yes.
    Approved,
    /// Its bytes are recorded and may be on their way.
    Executing,
    /// It happened.
    Executed,
    /// It did not happen, and will not.
    Failed,
    /// It may have happened, and nobody saw.
    Unknown,
    /// It may have happened, and a person said that the same bytes shall go once more.
    Resend,
    /// The same bytes may be on their way once more.
    Resending,
    /// A person said no.
    Cancelled,
    /// Nobody decided in time.
    Expired,
    /// The policy said no.
    Refused,
}

proem_text::word_table! {
    /// As it is written down and printed, in the form [`NAMES`].
    pub ActionState {
        // In the order in which an action can meet them.
        Proposed = "proposed",
        Held = "held",
        Waiting = "waiting",
        Approved = "approved",
        Executing = "executing",
        Executed = "executed",
        Failed = "failed",
        Unknown = "unknown",
        Resend = "resend",
        Resending = "resending",
        Cancelled = "cancelled",
        Expired = "expired",
        Refused = "refused",
    }
}

impl ActionState {
    /// Whether nothing leads out of it.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Executed | Self::Failed | Self::Cancelled | Self::Expired | Self::Refused)
    }

    /// Its meaning, for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Proposed => "written down and not decided about, as while effects are off",
            Self::Held => {
                "goes by itself when its hold is over, unless somebody stops it; an automatic action is held for no time"
            }
            Self::Waiting => "needs a person's approval",
            Self::Approved => "a person said yes to exactly this, and it goes with the next sweep",
            Self::Executing => "its bytes are recorded and may be on their way",
            Self::Executed => "it happened",
            Self::Failed => "it did not happen, and will not",
            Self::Unknown => "it may have happened, and nobody saw",
            Self::Resend => "it may have happened, and a person said that the same bytes shall go once more",
            Self::Resending => "the same bytes may be on their way once more",
            Self::Cancelled => "a person said no",
            Self::Expired => "nobody decided in time",
            Self::Refused => "the policy said no",
        }
    }
}
