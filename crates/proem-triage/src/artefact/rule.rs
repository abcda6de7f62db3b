//! The rules for a change, in words that hold no text from outside.

use std::fmt;

use super::{
    field::ArtefactField,
    kind::{ArtefactItemId, ArtefactKind, ItemStatus},
};

/// The violation of a rule by a proposed change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleViolation {
    /// The broken rule.
    pub rule: ArtefactRule,
    /// Of which item. `None` for the change as a whole, and for an item that has no id yet.
    pub item: Option<ArtefactItemId>,
    /// In which field.
    pub field: Option<ArtefactField>,
    /// In which operation, from 0. `None` if it is the version as a whole that may not be.
    pub operation: Option<usize>,
}

/// A rule for changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArtefactRule {
    /// Something changes.
    NothingChanges,
    /// A change has at most so many operations.
    TooManyOperations(usize),
    /// The change is of this project, as are the other artefacts.
    OtherProject,
    /// A kind of item is in its own artefact.
    OtherArtefact(ArtefactKind),
    /// A change by an agent or a rule comes from a signal.
    NoCause,
    /// A signal that is named is known.
    UnknownSignal,
    /// A ticket that is named is known.
    UnknownTicket,
    /// An item that is named is there.
    UnknownItem,
    /// An item of the RAID log that is named is there.
    UnknownRaidItem,
    /// Ids are given in sequence: this one is next.
    IdOutOfSequence(ArtefactItemId),
    /// Of some kinds there may be at most so many open items.
    TooManyOpen(usize),
    /// A kind has the fields that it has.
    UnknownField,
    /// A field holds what fits it.
    WrongValue,
    /// A required field says something.
    MissingField,
    /// A field's text is not blank.
    Blank,
    /// A field has at most so many characters, or so many entries.
    TooLong(usize),
    /// A status follows another one as its kind has it.
    StatusFlow {
        /// The item's state.
        from: ItemStatus,
        /// How it may not be next.
        to: ItemStatus,
    },
    /// An item begins with a status that its kind may begin with.
    FirstStatus(ItemStatus),
    /// An item that is over stays as it is.
    ItemIsOver,
    /// A change has a reason.
    NoReason,
    /// A statement says where it came from.
    NoOrigin,
    /// Only a person's own change may be that person's words.
    NotThatPerson,
    /// Only a person adds what a user added, and decides what a user decided.
    NotAUser,
    /// An open blocker names an item of the RAID log that is open.
    BlockerWithoutRaidItem,
    /// There is one open item about the same.
    AlreadyThere,
    /// A change of colour is justified in the summary.
    ColourWithoutJustification,
    /// An open item has a next step.
    NoNextStep,
    /// An item that is open stays in a full content.
    Vanished,
    /// Only a person, or the tracker's own event, ends something or makes it look better.
    NeedsPerson,
    /// A person chooses a change of what still stands as it did when it was offered.
    MovedOn,
}

impl fmt::Display for ArtefactRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingChanges => f.write_str("nothing changes; leave the artefact as it is"),
            Self::TooManyOperations(most) => write!(f, "more than {most} operations; apply them in parts"),
            Self::OtherProject => f.write_str("this is another project's; set it aside"),
            Self::OtherArtefact(kind) => write!(f, "this belongs to the {}; change that one", kind.as_str()),
            Self::NoCause => f.write_str("no signal is named as the cause; name one"),
            Self::UnknownSignal => f.write_str("this revision of a signal is not known; name one that is"),
            Self::UnknownTicket => f.write_str("no signal is about this ticket; name one that is known"),
            Self::UnknownItem => f.write_str("there is no such item; add it, or name one that is there"),
            Self::UnknownRaidItem => f.write_str("the RAID log has no such item; add it there first"),
            Self::IdOutOfSequence(next) => write!(f, "ids are given in sequence; the next is {next}"),
            Self::TooManyOpen(most) => write!(f, "at most {most} may be open; close one first"),
            Self::UnknownField => f.write_str("this kind of item has no such field; leave it out"),
            Self::WrongValue => f.write_str("the field can't hold this; give what the schema says"),
            Self::MissingField => f.write_str("a required field is missing; give it"),
            Self::Blank => f.write_str("the text is blank; say something or leave it out"),
            Self::TooLong(most) => write!(f, "more than {most}; shorten it"),
            Self::StatusFlow { from, to } => write!(f, "{from} can't become {to}; take the steps between"),
            Self::FirstStatus(status) => write!(f, "nothing begins as {status}; add it open"),
            Self::ItemIsOver => f.write_str("an ended item is not changed; add a new one"),
            Self::NoReason => f.write_str("the change has no reason; give one"),
            Self::NoOrigin => f.write_str("the statement has no origin; name its signals or the person"),
            Self::NotThatPerson => f.write_str("only that person can say so; have it approved"),
            Self::NotAUser => f.write_str("only a person can do this; escalate it"),
            Self::BlockerWithoutRaidItem => {
                f.write_str("an open blocker needs an open item in the RAID log; link one, or close the blocker first")
            }
            Self::ColourWithoutJustification => {
                f.write_str("the colour changes without a justification; say why in status_summary")
            }
            Self::NoNextStep => f.write_str("an open item has no next step; give one"),
            Self::AlreadyThere => f.write_str("an item about the same is open; change that one"),
            Self::NeedsPerson => f.write_str("no event of the tracker says that this ends or is better; ask a person"),
            Self::MovedOn => {
                f.write_str("it has changed since this was offered; look at it again and change it yourself")
            }
            Self::Vanished => f.write_str("an open item is left out; nothing is deleted, close it with a reason"),
        }
    }
}

impl fmt::Display for RuleViolation {
    /// One line: where, then what and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.operation {
            write!(f, "operation {}: ", operation.saturating_add(1))?;
        }
        if let Some(item) = self.item {
            write!(f, "{item}: ")?;
        }
        if let Some(field) = self.field {
            write!(f, "`{}`: ", field.as_str())?;
        }
        self.rule.fmt(f)
    }
}
