//! What a system itself says of a signal, in closed words: it counts whatever the texts say.

use proem_guard::{LabelScalar, LabelTree, Untrusted};

use super::{
    TriageProject,
    lexicon::{SystemWord, TriageLexicon},
};
use crate::triage::contract::SignalCategory;
use crate::triage::signal::{ProjectSignal, SignalKind, SignalSource};

/// What the system says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent fact")]
pub(super) struct SystemFacts {
    pub(super) group: KindGroup,
    pub(super) status: StatusFact,
    /// Somebody marked the ticket as impeded.
    pub(super) is_flagged: bool,
    pub(super) priority: PriorityFact,
    /// The priority is what changed.
    pub(super) is_reprioritised: bool,
    pub(super) is_bug: bool,
    pub(super) is_risk: bool,
    /// What was agreed changed: the sprint of a ticket, or its size.
    pub(super) is_rescoped: bool,
    pub(super) is_due_moved: bool,
    pub(super) is_blocked_by: bool,
    /// Others can't go on because of it.
    pub(super) is_blocking: bool,
    /// What stood still does so no longer, or the work on it ended.
    pub(super) is_released: bool,
    /// What kind of ticket it is, where that says what it is about.
    pub(super) of_type: Option<SignalCategory>,
    pub(super) depends_on: bool,
    /// What a ticket says of itself is what changed.
    pub(super) is_rewritten: bool,
    pub(super) has_description: bool,
    pub(super) sender: SenderFact,
}

/// What kind of signal it is, as far as rules care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KindGroup {
    Created,
    Updated,
    Listed,
    Deleted,
    Comment,
    Sprint,
    Mail,
    /// There is something, and nothing of it is said.
    Notice,
    Unknown,
}

/// Where a ticket was moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusFact {
    NotMoved,
    Blocked,
    Elsewhere,
}

/// How a system ranks a ticket or a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PriorityFact {
    Ordinary,
    High,
    Highest,
}

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SenderFact {
    /// Somebody inside, or nobody knows.
    Inside,
    /// A stakeholder inside.
    Stakeholder,
    /// Somebody outside who is no stakeholder.
    Outside,
    /// A stakeholder outside.
    OutsideStakeholder,
    /// A program.
    Program,
}

impl SystemFacts {
    pub(super) fn of(signal: &ProjectSignal, lexicon: &TriageLexicon, project: &TriageProject) -> Self {
        let words = SystemReader { signal, lexicon };
        let changes = words.changes();
        let changed = |word: SystemWord| changes.iter().any(|change| change.of == Some(word));
        // A first estimate or a first date moves nothing. Asana does not say what there was before.
        let is_first = |change: &TicketChange<'_>| {
            signal.source == SignalSource::Jira && change.from.is_none_or(|from| from.is_empty())
        };
        let anew = |word: SystemWord| changes.iter().any(|change| change.of == Some(word) && !is_first(change));
        let moved_to = |of: SystemWord, to: SystemWord| {
            changes.iter().any(|change| change.of == Some(of) && change.to.is_some_and(|text| words.says(text, to)))
        };
        let is_moved = changed(SystemWord::ChangeStatus) || words.is_completed();
        let status = match (moved_to(SystemWord::ChangeStatus, SystemWord::StatusBlocked), is_moved) {
            (true, _) => StatusFact::Blocked,
            (_, true) => StatusFact::Elsewhere,
            _ => StatusFact::NotMoved,
        };
        let flagged = changes
            .iter()
            .any(|change| change.of == Some(SystemWord::ChangeFlag) && change.to.is_some_and(|to| !to.is_empty()));
        let unflagged = changes
            .iter()
            .any(|change| change.of == Some(SystemWord::ChangeFlag) && change.to.is_none_or(|to| to.is_empty()));
        Self {
            group: group(&signal.kind),
            status,
            is_flagged: flagged,
            priority: words.priority(),
            is_reprioritised: changed(SystemWord::ChangePriority),
            is_bug: words.field_says("issue_type", SystemWord::TypeBug),
            is_risk: words.field_says("issue_type", SystemWord::TypeRisk),
            is_rescoped: changed(SystemWord::ChangeSprint)
                || anew(SystemWord::ChangePoints)
                || anew(SystemWord::ChangeVersion)
                || moved_to(SystemWord::ChangeStatus, SystemWord::StatusDropped),
            is_due_moved: anew(SystemWord::ChangeDue),
            is_blocked_by: moved_to(SystemWord::ChangeLink, SystemWord::LinkBlocked),
            is_blocking: moved_to(SystemWord::ChangeLink, SystemWord::LinkBlocks),
            is_released: unflagged || changed(SystemWord::ChangeResolution),
            of_type: words.of_type(),
            depends_on: moved_to(SystemWord::ChangeLink, SystemWord::LinkDepends),
            is_rewritten: changed(SystemWord::ChangeText),
            has_description: ["description", "html_notes", "body"].iter().any(|name| words.text(name).is_some()),
            sender: project.sender(signal, lexicon),
        }
    }

    /// Whether a ticket stands still by what the system says.
    pub(super) const fn is_blocked(&self) -> bool {
        self.is_flagged || self.is_blocked_by || matches!(self.status, StatusFact::Blocked)
    }
}

const fn group(kind: &SignalKind) -> KindGroup {
    match kind {
        SignalKind::TicketCreated => KindGroup::Created,
        SignalKind::TicketUpdated => KindGroup::Updated,
        SignalKind::TicketListed => KindGroup::Listed,
        SignalKind::TicketDeleted => KindGroup::Deleted,
        SignalKind::CommentCreated | SignalKind::CommentUpdated => KindGroup::Comment,
        SignalKind::SprintStarted | SignalKind::SprintClosed | SignalKind::SprintUpdated => KindGroup::Sprint,
        SignalKind::EmailReceived => KindGroup::Mail,
        SignalKind::CommentDeleted | SignalKind::EmailAnnounced | SignalKind::EmailDeleted => KindGroup::Notice,
        SignalKind::Unknown(_) => KindGroup::Unknown,
    }
}

/// One change of a ticket: of what, what it was before, and what it is since.
struct TicketChange<'s> {
    of: Option<SystemWord>,
    from: Option<&'s Untrusted<String>>,
    to: Option<&'s Untrusted<String>>,
}

/// The closed words of a signal.
struct SystemReader<'s> {
    signal: &'s ProjectSignal,
    lexicon: &'s TriageLexicon,
}

impl<'s> SystemReader<'s> {
    fn field(&self, name: &str) -> Option<&'s LabelTree> {
        if let LabelTree::Map(fields) = &self.signal.fields { fields.get(name) } else { None }
    }

    fn text(&self, name: &str) -> Option<&'s Untrusted<String>> {
        text_of(self.field(name)?)
    }

    fn says(&self, text: &Untrusted<String>, word: SystemWord) -> bool {
        text.measure(|text| self.lexicon.says(text, word))
    }

    fn field_says(&self, name: &str, word: SystemWord) -> bool {
        self.text(name).is_some_and(|text| self.says(text, word))
    }

    fn of_type(&self) -> Option<SignalCategory> {
        let types = [
            (SystemWord::TypeBlocker, SignalCategory::Blocker),
            (SystemWord::TypeScope, SignalCategory::Scope),
            (SystemWord::TypeDependency, SignalCategory::Dependency),
        ];
        types.into_iter().find(|(word, _)| self.field_says("issue_type", *word)).map(|(_, category)| category)
    }

    fn priority(&self) -> PriorityFact {
        let is = |word| self.field_says("priority", word) || self.field_says("importance", word);
        if is(SystemWord::PriorityHighest) {
            PriorityFact::Highest
        } else if is(SystemWord::PriorityHigh) {
            PriorityFact::High
        } else {
            PriorityFact::Ordinary
        }
    }

    /// Whether a task of Asana was ticked off; tickets that are listed have not moved by that.
    fn is_completed(&self) -> bool {
        let is_true = |tree: &LabelTree| match tree {
            LabelTree::Scalar(scalar) => scalar.measure(|scalar| *scalar == LabelScalar::Bool(true)),
            _ => false,
        };
        let of_asana = self.signal.source == SignalSource::Asana && self.signal.kind == SignalKind::TicketUpdated;
        of_asana && self.field("completed").is_some_and(is_true)
    }

    fn changes(&self) -> Vec<TicketChange<'s>> {
        const NAMES: [SystemWord; 10] = [
            SystemWord::ChangeStatus,
            SystemWord::ChangeFlag,
            SystemWord::ChangePriority,
            SystemWord::ChangeSprint,
            SystemWord::ChangePoints,
            SystemWord::ChangeLink,
            SystemWord::ChangeText,
            SystemWord::ChangeResolution,
            SystemWord::ChangeDue,
            SystemWord::ChangeVersion,
        ];
        // The history of a ticket that a search found is no news.
        if self.signal.kind == SignalKind::TicketListed {
            return Vec::new();
        }
        let of_one = |tree: &'s LabelTree| {
            let LabelTree::Map(change) = tree else { return None };
            let of = text_of(change.get("field")?)?;
            let of = NAMES.into_iter().find(|name| self.says(of, *name));
            let end = |name: &str| change.get(name).and_then(text_of);
            Some(TicketChange { of, from: end("from"), to: end("to") })
        };
        match self.field("changes").or_else(|| self.field("change")) {
            Some(LabelTree::List(items)) => items.iter().filter_map(of_one).collect(),
            Some(one) => of_one(one).into_iter().collect(),
            None => Vec::new(),
        }
    }
}

/// A text that is not empty.
fn text_of(tree: &LabelTree) -> Option<&Untrusted<String>> {
    match tree {
        LabelTree::Outside(text) | LabelTree::Flagged(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

impl TriageProject {
    /// Who writes. Only what an address says counts, and an address can be feigned, so this may raise what a signal
    /// matters and never permits anything.
    fn sender(&self, signal: &ProjectSignal, lexicon: &TriageLexicon) -> SenderFact {
        let Some(address) = signal.sender.as_ref().and_then(|sender| sender.address.as_ref()) else {
            return SenderFact::Inside;
        };
        let listed = address.measure(|address| self.is_stakeholder(address));
        let outside = address.measure(|address| self.is_outside(address));
        match (listed, outside) {
            (true, true) => SenderFact::OutsideStakeholder,
            (true, false) => SenderFact::Stakeholder,
            _ if address.measure(|address| {
                let name = address.rsplit_once('@').map_or(address.as_str(), |(name, _)| name);
                lexicon.says(name, SystemWord::SenderAutomatic)
            }) =>
            {
                SenderFact::Program
            }
            (false, true) => SenderFact::Outside,
            (false, false) => SenderFact::Inside,
        }
    }

    fn is_stakeholder(&self, address: &str) -> bool {
        self.stakeholders.iter().any(|known| known.eq_ignore_ascii_case(address))
    }

    /// Whether an address is of none of the own domains, nor below one.
    fn is_outside(&self, address: &str) -> bool {
        let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain).to_lowercase();
        let is_own = |own: &String| {
            let own = own.to_lowercase();
            domain == own || domain.strip_suffix(&own).is_some_and(|rest| rest.ends_with('.'))
        };
        !self.own_domains.iter().any(is_own)
    }
}

/// What a system says became of a ticket, in answers that hold no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicketNews {
    /// It stands still: flagged, moved to a status that says so, or linked to what blocks it.
    pub standstill: Standstill,
    /// The work on it is done.
    pub completion: Completion,
    /// A date that was promised moved.
    pub slip: Slip,
}

/// Whether a ticket stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standstill {
    /// It does from here on.
    Begins,
    /// It did, or was moved in any case, and does not any more.
    Ends,
    /// Nothing is said of it.
    Unsaid,
}

/// Whether the work on a ticket is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// It is.
    Done,
    /// It is not, or nobody says so.
    Pending,
}

/// Whether a date moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slip {
    /// It did.
    Moved,
    /// Nothing is said of it.
    Unsaid,
}

impl TicketNews {
    /// What a signal says of its ticket.
    #[must_use]
    pub fn of(signal: &ProjectSignal, lexicon: &TriageLexicon) -> Self {
        let words = SystemReader { signal, lexicon };
        let facts = SystemFacts::of(signal, lexicon, &TriageProject::default());
        let is_unflagged = words
            .changes()
            .iter()
            .any(|change| change.of == Some(SystemWord::ChangeFlag) && change.to.is_none_or(|to| to.is_empty()));
        let standstill = if facts.is_blocked() {
            Standstill::Begins
        } else if is_unflagged || facts.status == StatusFact::Elsewhere {
            Standstill::Ends
        } else {
            Standstill::Unsaid
        };
        let by_category =
            words.text("status_category").is_some_and(|said| said.measure(|said| said.eq_ignore_ascii_case("done")));
        let completion = if by_category || words.is_completed() { Completion::Done } else { Completion::Pending };
        let slip = if facts.is_due_moved { Slip::Moved } else { Slip::Unsaid };
        Self { standstill, completion, slip }
    }
}
