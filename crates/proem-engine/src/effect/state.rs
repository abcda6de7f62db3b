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
    /// It did not happen, and is over.
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

impl ActionState {
    /// Every state, in the order in which an action can meet them.
    pub const ALL: [Self; 13] = [
        Self::Proposed,
        Self::Held,
        Self::Waiting,
        Self::Approved,
        Self::Executing,
        Self::Executed,
        Self::Failed,
        Self::Unknown,
        Self::Resend,
        Self::Resending,
        Self::Cancelled,
        Self::Expired,
        Self::Refused,
    ];

    /// As it is written down and printed, in the form [`NAMES`].
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Executing => "executing",
            Self::Executed => "executed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Resend => "resend",
            Self::Resending => "resending",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Refused => "refused",
        }
    }

    /// The state that is written so. `None` for anything else.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

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
