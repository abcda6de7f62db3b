//! The operations on an artefact, their actors, and the log of them.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::{effect::key::SignalRevision, run::Time};
use proem_guard::show;

use super::{
    field::ArtefactField,
    item::{Artefact, ArtefactValue},
    kind::{ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemStatus},
    statement::ArtefactStatement,
    ticket::{TicketEnd, TicketState},
};
use crate::{charter::CharterMilestone, signal::ProjectSignal};

/// One change of an artefact. None takes an item away.
#[derive(Debug, Clone, PartialEq)]
pub enum ArtefactOperation {
    /// A new item.
    Add {
        /// Its id, which has to be the next of its kind. `None` takes that one.
        id: Option<ArtefactItemId>,
        /// The list that the new item goes to.
        kind: ArtefactItemKind,
        /// Its state. `None` is the first status of its kind.
        status: Option<ItemStatus>,
        /// The value after.
        fields: BTreeMap<ArtefactField, ArtefactValue>,
    },
    /// An item says something else.
    Modify {
        /// Which one.
        id: ArtefactItemId,
        /// The fields that change.
        changes: BTreeMap<ArtefactField, ArtefactValue>,
        /// The operation's reason.
        reason: ArtefactStatement,
    },
    /// An item is otherwise.
    ChangeStatus {
        /// Which one.
        id: ArtefactItemId,
        /// Its state from now on.
        to: ItemStatus,
        /// The operation's reason.
        reason: ArtefactStatement,
    },
    /// An item is closed, a milestone completed. It stays where it is.
    Close {
        /// Which one.
        id: ArtefactItemId,
        /// The operation's reason.
        reason: ArtefactStatement,
    },
}

impl ArtefactOperation {
    /// The artefact that it changes.
    #[must_use]
    pub const fn artefact(&self) -> ArtefactKind {
        match self {
            Self::Add { kind, .. } => kind.artefact(),
            Self::Modify { id, .. } | Self::ChangeStatus { id, .. } | Self::Close { id, .. } => id.kind.artefact(),
        }
    }

    /// The item that it changes. `None` for one that it adds.
    #[must_use]
    pub const fn item(&self) -> Option<ArtefactItemId> {
        match self {
            Self::Add { .. } => None,
            Self::Modify { id, .. } | Self::ChangeStatus { id, .. } | Self::Close { id, .. } => Some(*id),
        }
    }
}

/// The actor that changes an artefact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArtefactActor {
    /// A person, by id.
    Person(String),
    /// An agent: a model's words.
    Agent(String),
    /// Rules in code.
    System(String),
}

impl ArtefactActor {
    /// The word for what it is.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Person(_) => "person",
            Self::Agent(_) => "agent",
            Self::System(_) => "system",
        }
    }

    /// The name or address by which the log knows the actor.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Person(id) | Self::Agent(id) | Self::System(id) => id,
        }
    }

    /// The actor of this word and id.
    #[must_use]
    pub fn parse(word: &str, id: &str) -> Option<Self> {
        [Self::Person(id.to_owned()), Self::Agent(id.to_owned()), Self::System(id.to_owned())]
            .into_iter()
            .find(|actor| actor.as_str() == word)
    }
}

/// The permitted references: signals by revision, and the tickets that they are about.
#[derive(Debug, Clone, Default)]
pub struct SignalReferences {
    signals: BTreeSet<SignalRevision>,
    /// Exact keys, which are compared and never shown.
    tickets: BTreeSet<String>,
    /// Those of tickets that their tracker calls done.
    done: BTreeSet<String>,
    /// The due days of milestones in the project's trusted file, by name.
    promised: BTreeMap<String, Time>,
}

impl SignalReferences {
    /// These signals and their subjects, in the order of intake. If the tracker reports a ticket several times, the
    /// last report counts.
    pub fn of<'s>(signals: impl IntoIterator<Item = &'s ProjectSignal>) -> Self {
        let mut known = Self::default();
        for signal in signals {
            known.signals.insert(SignalRevision::from(signal));
            let ticket = signal.ticket.as_ref().map(show::exact_json);
            let Some(key) = ticket.as_ref().and_then(|ticket| ticket.as_str()) else { continue };
            known.tickets.insert(key.to_owned());
            match TicketState::end_of(signal) {
                Some(TicketEnd::Done) => drop(known.done.insert(key.to_owned())),
                Some(TicketEnd::Pending) => drop(known.done.remove(key)),
                None => {}
            }
        }
        known
    }

    /// These revisions, of which nothing else is known.
    pub fn of_revisions(revisions: impl IntoIterator<Item = SignalRevision>) -> Self {
        Self { signals: revisions.into_iter().collect(), ..Self::default() }
    }

    /// The same with the dates of milestones that a person vouched for.
    #[must_use]
    pub fn with_promises<'m>(mut self, milestones: impl IntoIterator<Item = &'m CharterMilestone>) -> Self {
        self.promised = milestones.into_iter().map(|milestone| (milestone.name.clone(), Time(milestone.due))).collect();
        self
    }

    /// Whether the project's trusted file gives the milestone of this name this date.
    #[must_use]
    pub fn is_promised(&self, name: &ArtefactStatement, due: Time) -> bool {
        name.ask(|name| self.promised.get(name) == Some(&due)).unwrap_or_default()
    }

    /// Whether this revision of a signal is known.
    #[must_use]
    pub fn has_signal(&self, signal: &SignalRevision) -> bool {
        self.signals.contains(signal)
    }

    /// Whether a signal is about the ticket of this key.
    #[must_use]
    pub fn has_ticket(&self, key: &ArtefactStatement) -> bool {
        key.ask(|key| self.tickets.contains(key)).unwrap_or_default()
    }

    /// Whether the tracker itself says that the ticket of this key is done.
    #[must_use]
    pub fn is_done(&self, key: &ArtefactStatement) -> bool {
        key.ask(|key| self.done.contains(key)).unwrap_or_default()
    }
}

/// The surroundings of a change.
#[derive(Debug, Clone, Copy)]
pub struct ArtefactContext<'c> {
    /// The time of the change.
    pub now: Time,
    /// The UUID of the project.
    pub project: &'c str,
    /// The actor that makes it.
    pub actor: &'c ArtefactActor,
    /// The signals that it comes from. A person needs none.
    pub causes: &'c [SignalRevision],
    /// The permitted references.
    pub known: &'c SignalReferences,
    /// The project's other artefacts as they are.
    pub others: &'c [&'c Artefact],
}

impl ArtefactContext<'_> {
    /// Another artefact of the project.
    pub(super) fn other(&self, kind: ArtefactKind) -> Option<&Artefact> {
        self.others.iter().copied().find(|artefact| artefact.kind() == kind)
    }
}

/// The log entry of a change: its actor, version and time, its sources, and its effect.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtefactLogEntry {
    /// Which artefact.
    pub artefact: ArtefactKind,
    /// The UUID of its project.
    pub project: String,
    /// The version that came out.
    pub version: u64,
    /// When the entry was written.
    pub at: Time,
    /// The actor that changed the artefact.
    pub actor: ArtefactActor,
    /// The signals that it comes from, sorted.
    pub causes: Vec<SignalRevision>,
    /// The changes, in the order of the operations.
    pub changes: Vec<ItemChange>,
}

/// One thing that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemChange {
    /// Of which item.
    pub item: ArtefactItemId,
    /// The kind of change to the item.
    pub kind: ItemChangeKind,
}

/// The consequence of an operation for an item.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemChangeKind {
    /// It was added with this status.
    Added(ItemStatus),
    /// A field says something else.
    Modified {
        /// Which one.
        field: ArtefactField,
        /// The value before.
        before: Option<Box<ArtefactValue>>,
        /// The value after.
        after: Box<ArtefactValue>,
        /// The change's reason.
        reason: ArtefactStatement,
    },
    /// It is otherwise.
    Status {
        /// Its state before.
        from: ItemStatus,
        /// Its state.
        to: ItemStatus,
        /// The change's reason.
        reason: ArtefactStatement,
    },
}
