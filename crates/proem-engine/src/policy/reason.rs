//! Why something was decided so, in words of our own.

use core::fmt;

use proem_guard::Verdict;
use proem_guard::check::{ActionRule, HoldMinutes};

use super::{decision::EffectSwitch, terms::AutonomyLevel};

/// One reason of a decision. None holds a text of the action.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecisionReason {
    /// It is on the list `never`, or on the denylist in some spelling.
    Never,
    /// No list has it.
    Unknown,
    /// It doesn't have the fields that the policy declares.
    Malformed(String),
    /// The text of this field has a credential by its shape.
    Credential(String),
    /// A cause of it was blocked.
    Blocked,
    /// It breaks a rule at this field.
    Breach {
        /// The field's path.
        field: String,
        /// The rule of the output checks that was broken.
        rule: ActionRule,
    },
    /// It is on the list `approval`.
    ApprovalListed,
    /// Somebody outside receives it, so that it counts as the action of this name, or as one that needs approval.
    External(Option<String>),
    /// The level of now is too low.
    Level {
        /// The level that it takes.
        needed: AutonomyLevel,
        /// The level of now.
        present: AutonomyLevel,
    },
    /// A cause of it has this verdict.
    Flagged(Verdict),
    /// A text that goes to a ticket is not of its own thread alone.
    ForeignText {
        /// The field's path.
        field: String,
        /// The other sources, by name.
        sources: Vec<String>,
    },
    /// The model wants an approval.
    ModelAsks,
    /// Nobody knows the recipient in this field.
    UnknownRecipient(String),
    /// No source agrees with it.
    NoSource,
    /// It is the first one of its type.
    FirstOfType,
    /// The hold would be longer than the one that it had.
    LongerHold {
        /// The hold that it had.
        held: HoldMinutes,
        /// The hold of now.
        present: HoldMinutes,
    },
    /// Earlier approvals shorten the hold to this.
    ShorterHold(HoldMinutes),
    /// The level of autonomy has fallen since a person said yes, and is too low.
    LevelFell,
    /// Effects are not on.
    Switch(EffectSwitch),
    /// It is on the list `hold`.
    Held(HoldMinutes),
    /// It is on the list `auto`.
    Automatic,
    /// A person approved it.
    Approved,
}

impl DecisionReason {
    /// The stable name, as it is written down.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Unknown => "unknown",
            Self::Malformed(_) => "malformed",
            Self::Credential(_) => "credential",
            Self::Blocked => "blocked",
            Self::Breach { .. } => "breach",
            Self::ApprovalListed => "approval-listed",
            Self::External(_) => "external",
            Self::Level { .. } => "level",
            Self::Flagged(_) => "flagged",
            Self::ForeignText { .. } => "foreign-text",
            Self::ModelAsks => "model-asks",
            Self::UnknownRecipient(_) => "unknown-recipient",
            Self::NoSource => "no-source",
            Self::FirstOfType => "first-of-type",
            Self::LongerHold { .. } => "longer-hold",
            Self::ShorterHold(_) => "shorter-hold",
            Self::LevelFell => "level-fell",
            Self::Switch(_) => "switch",
            Self::Held(_) => "held",
            Self::Automatic => "automatic",
            Self::Approved => "approved",
        }
    }
}

impl fmt::Display for DecisionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("it is never taken; do it by hand, or change the policy"),
            Self::Unknown => f.write_str("no list of the policy has it; name it on one"),
            Self::Malformed(problem) => f.write_str(problem),
            Self::Credential(field) => {
                write!(
                    f,
                    "`{field}` has a credential, which no action may hold; take it out, and change it where it is used"
                )
            }
            Self::Blocked => f.write_str("a cause of it was blocked; look at the signal"),
            Self::Breach { field, rule } => {
                write!(f, "`{field}` breaks `{}`; expected {}", rule.as_str(), rule.expectation())
            }
            Self::ApprovalListed => f.write_str("actions of its name need approval"),
            Self::External(Some(name)) => write!(f, "somebody outside receives it, so it counts as `{name}`"),
            Self::External(None) => f.write_str("somebody outside receives it, so it needs approval"),
            Self::Level { needed, present } => {
                write!(f, "it takes the level `{}`, and the level is `{}`", needed.as_str(), present.as_str())
            }
            Self::Flagged(verdict) => write!(f, "a cause of it has the verdict `{}`", verdict.as_str()),
            Self::ForeignText { field, sources } => {
                write!(f, "`{field}` comes from {}, and not from the ticket's own thread alone", sources.join(", "))
            }
            Self::ModelAsks => f.write_str("the model wants a person to approve it"),
            Self::UnknownRecipient(field) => {
                write!(f, "nobody knows the recipient in `{field}`; name him under `recipients`")
            }
            Self::NoSource => f.write_str("no source agrees with it"),
            Self::FirstOfType => f.write_str("it is the first of its type"),
            Self::LongerHold { held, present } => {
                write!(f, "it would be held for {} min, and was held for {} min", present.0, held.0)
            }
            Self::ShorterHold(minutes) => write!(f, "earlier approvals shorten its hold to {} min", minutes.0),
            Self::LevelFell => f.write_str("the level has fallen since it was approved; approve it again"),
            Self::Switch(EffectSwitch::Killed) => f.write_str("all effects were stopped; turn them on again"),
            Self::Switch(_) => f.write_str("effects are off; turn them on"),
            Self::Held(minutes) => write!(f, "it goes by itself after {} min", minutes.0),
            Self::Automatic => f.write_str("it goes by itself"),
            Self::Approved => f.write_str("a person approved it"),
        }
    }
}
