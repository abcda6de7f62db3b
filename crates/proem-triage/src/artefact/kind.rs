//! Which artefacts there are, what is in them, and how its status may change.

use std::fmt;

/// One of the four artefacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtefactKind {
    /// Health, sprint, milestones, blockers and next actions.
    DeliveryState,
    /// Risks, assumptions, issues and dependencies.
    RaidLog,
    /// The tickets of the backlog that deserve attention.
    BacklogSummary,
    /// The decisions, with their authors and reasons.
    DecisionLog,
}

proem_text::word_table! {
    pub ArtefactKind {
        // In the order in which changes to several are applied.
        RaidLog = "raid_log",
        DeliveryState = "delivery_state",
        BacklogSummary = "backlog_summary",
        DecisionLog = "decision_log",
    }
}

impl ArtefactKind {
    /// Its name among people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::DeliveryState => "Delivery state",
            Self::RaidLog => "RAID log",
            Self::BacklogSummary => "Backlog summary",
            Self::DecisionLog => "Decision log",
        }
    }
}

/// The kind of an artefact's item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArtefactItemKind {
    /// The colour of the project, and why it has it. There is one.
    Health,
    /// A sprint. At most one is open.
    Sprint,
    /// A date that was promised.
    Milestone,
    /// An obstacle that stops work.
    Blocker,
    /// A next step.
    NextAction,
    /// A possible event.
    Risk,
    /// A belief that a plan rests on.
    Assumption,
    /// An event that has happened.
    Issue,
    /// A task of somebody else's.
    Dependency,
    /// The backlog as a whole. There is one.
    Backlog,
    /// A ticket that deserves attention.
    Highlight,
    /// A ticket that lacks detail.
    RefinementCandidate,
    /// A settled matter, with who settled it.
    Decision,
}

proem_text::word_table! {
    pub ArtefactItemKind {
        // In the order in which artefacts show them.
        Health = "health",
        Sprint = "sprint",
        Milestone = "milestone",
        Blocker = "blocker",
        NextAction = "next action",
        Risk = "risk",
        Assumption = "assumption",
        Issue = "issue",
        Dependency = "dependency",
        Backlog = "backlog",
        Highlight = "highlight",
        RefinementCandidate = "refinement candidate",
        Decision = "decision",
    }
}

impl ArtefactItemKind {
    /// The artefact that holds it.
    #[must_use]
    pub const fn artefact(self) -> ArtefactKind {
        match self {
            Self::Health | Self::Sprint | Self::Milestone | Self::Blocker | Self::NextAction => {
                ArtefactKind::DeliveryState
            }
            Self::Risk | Self::Assumption | Self::Issue | Self::Dependency => ArtefactKind::RaidLog,
            Self::Backlog | Self::Highlight | Self::RefinementCandidate => ArtefactKind::BacklogSummary,
            Self::Decision => ArtefactKind::DecisionLog,
        }
    }

    /// The prefix of its ids. No two kinds share one, so that an id names one item of the project.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Health => "STATUS",
            Self::Sprint => "S",
            Self::Milestone => "M",
            Self::Blocker => "B",
            Self::NextAction => "N",
            Self::Risk => "R",
            Self::Assumption => "A",
            Self::Issue => "I",
            Self::Dependency => "D",
            Self::Backlog => "BACKLOG",
            Self::Highlight => "H",
            Self::RefinementCandidate => "C",
            Self::Decision => "DEC",
        }
    }

    /// Whether it is in the RAID log.
    #[must_use]
    pub fn is_raid(self) -> bool {
        self.artefact() == ArtefactKind::RaidLog
    }

    /// The most items of it that are open at a time.
    #[must_use]
    pub const fn most_open(self) -> usize {
        match self {
            Self::Health | Self::Sprint | Self::Backlog => 1,
            Self::Milestone | Self::NextAction => 50,
            _ => 200,
        }
    }

    /// The status that it has unless another is given.
    #[must_use]
    pub const fn first_status(self) -> ItemStatus {
        match self {
            Self::Milestone => ItemStatus::OnTrack,
            Self::Decision => ItemStatus::Active,
            _ => ItemStatus::Open,
        }
    }

    /// The status that closing it gives it.
    #[must_use]
    pub const fn last_status(self) -> ItemStatus {
        match self {
            Self::Milestone => ItemStatus::Completed,
            _ => ItemStatus::Closed,
        }
    }

    /// Whether an item may be added with this status: no work is written down as done that was never open.
    ///
    /// A risk may be found when somebody mitigates it already, and a milestone when it is late.
    #[must_use]
    pub fn may_begin(self, status: ItemStatus) -> bool {
        status == self.first_status()
            || (self.is_raid() && status == ItemStatus::Mitigating)
            || (self == Self::Milestone && status.is_open())
    }

    /// The statuses that may follow another one.
    ///
    /// In the RAID log open → mitigating → resolved, accepted or closed. Nothing that is over is opened again.
    #[must_use]
    pub const fn after(self, status: ItemStatus) -> &'static [ItemStatus] {
        use ItemStatus::{
            Accepted, Active, AtRisk, Closed, Completed, Delayed, Mitigating, OnTrack, Open, Resolved, Reversed,
            Superseded,
        };
        match (self, status) {
            (Self::Risk | Self::Assumption | Self::Issue | Self::Dependency, Open) => &[Mitigating],
            (Self::Risk | Self::Assumption | Self::Issue | Self::Dependency, Mitigating) => {
                &[Resolved, Accepted, Closed]
            }
            (Self::Milestone, OnTrack) => &[AtRisk, Delayed, Completed],
            (Self::Milestone, AtRisk) => &[OnTrack, Delayed, Completed],
            (Self::Milestone, Delayed) => &[OnTrack, AtRisk, Completed],
            (Self::Decision, Active) => &[Superseded, Reversed],
            (Self::Sprint | Self::Blocker | Self::NextAction | Self::Highlight | Self::RefinementCandidate, Open) => {
                &[Closed]
            }
            _ => &[],
        }
    }
}

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemStatus {
    /// Nobody does anything about it yet.
    Open,
    /// Somebody does.
    Mitigating,
    /// It is over because it was solved.
    Resolved,
    /// It is over because it was agreed to live with it.
    Accepted,
    /// It is over for another reason.
    Closed,
    /// A milestone will be met.
    OnTrack,
    /// A milestone may be missed.
    AtRisk,
    /// A milestone will be missed.
    Delayed,
    /// A milestone was met.
    Completed,
    /// A decision holds.
    Active,
    /// Another decision took its place.
    Superseded,
    /// A decision was taken back.
    Reversed,
}

proem_text::word_table! {
    pub ItemStatus: Display {
        Open = "open",
        Mitigating = "mitigating",
        Resolved = "resolved",
        Accepted = "accepted",
        Closed = "closed",
        OnTrack = "on_track",
        AtRisk = "at_risk",
        Delayed = "delayed",
        Completed = "completed",
        Active = "active",
        Superseded = "superseded",
        Reversed = "reversed",
    }
}

impl ItemStatus {
    /// Whether something is still to be done.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Mitigating | Self::OnTrack | Self::AtRisk | Self::Delayed)
    }

    /// Whether nothing of the item may change any more.
    #[must_use]
    pub const fn is_over(self) -> bool {
        !self.is_open() && !matches!(self, Self::Active)
    }
}

/// An item's id: `R001`, `DEC012`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArtefactItemId {
    /// The list of the artefact that it is in.
    pub kind: ArtefactItemKind,
    /// Its place in the sequence of its kind, from 1.
    pub number: u32,
}

impl ArtefactItemId {
    /// Reads an id as it is written. `None` for any other writing of it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (prefix, digits) = text.split_at_checked(text.find(|c: char| c.is_ascii_digit())?)?;
        let kind = ArtefactItemKind::ALL.into_iter().find(|kind| kind.prefix() == prefix)?;
        let id = Self { kind, number: digits.parse().ok().filter(|number| *number > 0)? };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for ArtefactItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{:03}", self.kind.prefix(), self.number))
    }
}
