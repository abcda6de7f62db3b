//! The system's own facts about a signal, in closed words. They count whatever the texts contain.

use std::collections::BTreeMap;

use proem_guard::{LabelScalar, LabelTree, Untrusted};

use super::{
    lexicon::{SystemWord, SystemWords, TriageLexicon},
    sprint::{is_in_running_sprint, is_subtask},
};
use crate::contract::SignalCategory;
use crate::signal::{ProjectSignal, SignalKind, SignalSource};

/// How many words more or less of a summary, and of another text, make that something else is to be made.
const MORE_OF_SUMMARY: usize = 2;
const MORE_OF_TEXT: usize = 4;

/// The system's facts.
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
    /// A bug that harms those who use what runs.
    pub(super) is_incident: bool,
    pub(super) is_risk: bool,
    /// The agreed scope changed: the contents of a sprint or a version, or whether the work is done at all.
    pub(super) is_rescoped: bool,
    /// The work's effort, progress or due date changed.
    pub(super) is_replanned: bool,
    /// It takes at least twice as long, is due at quite another time, or was not done in its sprint.
    pub(super) is_replanned_much: bool,
    pub(super) is_due_moved: bool,
    /// More than a ticket moves with it.
    pub(super) is_milestone: bool,
    pub(super) danger: DangerFact,
    pub(super) link: LinkFact,
    /// Blocked work goes on, or it ended.
    pub(super) is_released: bool,
    /// The category of its ticket's type, if the type has one.
    pub(super) of_type: Option<SignalCategory>,
    /// Somebody found that it is a bug, or marked it as failed.
    pub(super) is_found_faulty: bool,
    /// It is closed because another ticket is the same.
    pub(super) is_elsewhere: bool,
    /// The ticket's own text changed.
    pub(super) is_rewritten: bool,
    pub(super) has_description: bool,
    /// A sprint begins or ends.
    pub(super) turns_sprint: bool,
    pub(super) sender: SenderFact,
    /// Whether the sender is a sponsor or customer by the project's own roles.
    pub(super) is_principal: bool,
}

/// The kind of signal, as far as rules care.
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

/// The status that a ticket was moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusFact {
    NotMoved,
    Blocked,
    /// It waits for somebody else.
    Waiting,
    /// It comes back: it is open again, or what was done is not good enough.
    Returned,
    Elsewhere,
}

/// The ticket that a ticket was linked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkFact {
    /// Nothing that says anything.
    None,
    /// Something that keeps it from going on, while it is worked on.
    Blocked,
    /// Something that has to come first, or that has to come behind it.
    Depends,
}

/// A risk, in words that a system has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DangerFact {
    /// The text says neither.
    Unsaid,
    Changed,
    /// It is there, or higher than it was.
    Rose,
}

/// How a system ranks a ticket or a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PriorityFact {
    Ordinary,
    High,
    Highest,
}

/// The kind of sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SenderFact {
    /// Somebody inside, or nobody knows.
    Inside,
    /// A stakeholder inside.
    Stakeholder,
    /// Somebody outside who is no stakeholder.
    Outside,
    OutsideStakeholder,
    Program,
}

impl SystemFacts {
    pub(super) fn of(signal: &ProjectSignal, lexicon: &TriageLexicon, project: &TriageProject) -> Self {
        let words = SystemReader { signal, lexicon };
        let changes = words.changes();
        let changed = |word: SystemWord| changes.iter().any(|change| change.of == Some(word));
        // A first estimate or a first date moves nothing. Asana does not say what there was before.
        let is_first = |change: &TicketChange<'_>| signal.source == SignalSource::Jira && change.from.is_none();
        let anew = |word: SystemWord| changes.iter().any(|change| change.of == Some(word) && !is_first(change));
        let moved_to =
            |of: SystemWord, to: SystemWord| changes.iter().any(|change| change.of == Some(of) && change.says(to));
        let ended = |of: SystemWord| {
            changes.iter().any(|change| change.of == Some(of) && change.from.is_some() && change.to.is_none())
        };
        let of_type = words.closed("issue_type");
        let is_bug = of_type.has(SystemWord::TypeBug);
        let is_dropped = moved_to(SystemWord::ChangeStatus, SystemWord::StatusDropped)
            || moved_to(SystemWord::ChangeResolution, SystemWord::StatusDropped);
        let is_resprinted =
            changes.iter().any(|change| change.of == Some(SystemWord::ChangeSprint) && !change.is_continued());
        let is_large = |change: &TicketChange<'_>| match change.of {
            Some(SystemWord::ChangeDue | SystemWord::ChangeWork) => change.is_moved_far(),
            Some(SystemWord::ChangePoints) => change.is_doubled(),
            Some(SystemWord::ChangeSprint) => change.is_continued(),
            _ => false,
        };
        // A ticket that nobody works on yet is still being thought out.
        let is_extended = |change: &TicketChange<'_>| match change.of {
            Some(SystemWord::ChangeSummary) => change.is_extended(MORE_OF_SUMMARY, lexicon),
            Some(SystemWord::ChangeText) => change.is_extended(MORE_OF_TEXT, lexicon),
            _ => false,
        };
        // Findings in a sprint, and parts of a story, belong to the agreed sprint.
        let is_added = signal.kind == SignalKind::TicketCreated
            && !is_bug
            && category_of(of_type).is_none()
            && !of_type.has(SystemWord::TypeRisk)
            && !is_subtask(signal)
            && is_in_running_sprint(signal);
        let is_extended = !is_bug && words.is_begun() && changes.iter().any(is_extended);
        Self {
            group: kind_group(&signal.kind),
            status: words.status(&changes),
            is_flagged: changes.iter().any(|change| change.of == Some(SystemWord::ChangeFlag) && change.to.is_some()),
            priority: words.priority(),
            is_reprioritised: changed(SystemWord::ChangePriority),
            is_bug,
            is_incident: of_type.has(SystemWord::TypeIncident),
            is_risk: of_type.has(SystemWord::TypeRisk),
            is_rescoped: is_resprinted
                || is_added
                || anew(SystemWord::ChangeVersion)
                || anew(SystemWord::ChangeGoal)
                || is_extended
                || (is_dropped && !is_bug),
            is_replanned: [
                SystemWord::ChangePoints,
                SystemWord::ChangeWork,
                SystemWord::ChangeDue,
                SystemWord::ChangeSprint,
            ]
            .into_iter()
            .any(changed),
            is_replanned_much: changes.iter().any(is_large),
            is_due_moved: anew(SystemWord::ChangeDue),
            is_milestone: of_type.has(SystemWord::TypeMilestone),
            danger: danger(&changes),
            link: words.link(&changes),
            is_released: ended(SystemWord::ChangeFlag) || changed(SystemWord::ChangeResolution),
            of_type: category_of(of_type),
            is_found_faulty: moved_to(SystemWord::ChangeType, SystemWord::TypeBug)
                || changes.iter().any(|change| {
                    change.of == Some(SystemWord::ChangeLabels) && change.begins(SystemWord::StatusReturned)
                }),
            is_elsewhere: moved_to(SystemWord::ChangeResolution, SystemWord::ResolvedElsewhere),
            is_rewritten: changed(SystemWord::ChangeText) || changed(SystemWord::ChangeSummary),
            has_description: ["description", "html_notes", "body"].iter().any(|name| words.text(name).is_some()),
            turns_sprint: matches!(signal.kind, SignalKind::SprintStarted | SignalKind::SprintClosed),
            sender: project.sender(signal, lexicon),
            is_principal: project.is_principal(signal, lexicon),
        }
    }

    /// Whether a ticket is blocked by what the system says.
    pub(super) const fn is_blocked(&self) -> bool {
        self.is_flagged || matches!(self.link, LinkFact::Blocked) || matches!(self.status, StatusFact::Blocked)
    }
}

fn kind_group(kind: &SignalKind) -> KindGroup {
    match kind {
        SignalKind::TicketCreated => KindGroup::Created,
        SignalKind::TicketUpdated => KindGroup::Updated,
        SignalKind::TicketListed => KindGroup::Listed,
        SignalKind::TicketDeleted => KindGroup::Deleted,
        SignalKind::CommentCreated | SignalKind::CommentUpdated => KindGroup::Comment,
        SignalKind::SprintStarted | SignalKind::SprintClosed | SignalKind::SprintUpdated => KindGroup::Sprint,
        SignalKind::EmailReceived => KindGroup::Mail,
        SignalKind::CommentDeleted | SignalKind::EmailAnnounced | SignalKind::EmailDeleted => KindGroup::Notice,
        // A link between two tickets is news of both of them.
        SignalKind::Unknown(name) if name.measure(|name| name.starts_with("issuelink")) => KindGroup::Updated,
        SignalKind::Unknown(_) => KindGroup::Unknown,
    }
}

/// A risk: by a label, or by a level.
fn danger(changes: &[TicketChange<'_>]) -> DangerFact {
    let levels = || changes.iter().filter(|change| change.name.has(SystemWord::TypeRisk));
    let is_high =
        |level: &TicketChange<'_>| level.says(SystemWord::PriorityHigh) || level.says(SystemWord::PriorityHighest);
    let mut labels = changes.iter().filter(|change| change.of == Some(SystemWord::ChangeLabels));
    if labels.any(|change| change.begins(SystemWord::TypeRisk)) || levels().any(is_high) {
        DangerFact::Rose
    } else if levels().next().is_some() {
        DangerFact::Changed
    } else {
        DangerFact::Unsaid
    }
}

/// The category of a ticket of such a type, if the type has one.
fn category_of(of_type: SystemWords) -> Option<SignalCategory> {
    let types = [
        (SystemWord::TypeBlocker, SignalCategory::Blocker),
        (SystemWord::TypeScope, SignalCategory::Scope),
        (SystemWord::TypeDependency, SignalCategory::Dependency),
        (SystemWord::TypeQuestion, SignalCategory::Stakeholder),
    ];
    types.into_iter().find(|(word, _)| of_type.has(*word)).map(|(_, category)| category)
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
        non_empty_text(self.field(name)?)
    }

    /// The closed words in a field.
    fn closed(&self, name: &str) -> SystemWords {
        self.text(name).map(|text| self.lexicon.system_words(text)).unwrap_or_default()
    }

    /// The status that a ticket was moved to. Taking a resolution away opens it again.
    fn status(&self, changes: &[TicketChange<'_>]) -> StatusFact {
        let is_reopened = |change: &TicketChange<'_>| {
            change.of == Some(SystemWord::ChangeResolution) && change.from.is_some() && change.to.is_none()
        };
        let moves = || changes.iter().filter(|change| change.of == Some(SystemWord::ChangeStatus));
        let says = |word| moves().any(|change| change.says(word));
        if says(SystemWord::StatusQueued) {
            StatusFact::Elsewhere
        } else if says(SystemWord::StatusReturned) || changes.iter().any(is_reopened) {
            StatusFact::Returned
        } else if says(SystemWord::StatusWaiting) {
            StatusFact::Waiting
        } else if says(SystemWord::StatusBlocked) {
            StatusFact::Blocked
        } else if moves().next().is_some() || self.is_completed() {
            StatusFact::Elsewhere
        } else {
            StatusFact::NotMoved
        }
    }

    /// Whether somebody works on it, by Jira's three categories of statuses.
    fn is_begun(&self) -> bool {
        self.text("status_category").is_some_and(|said| said.measure(|said| !said.eq_ignore_ascii_case("new")))
    }

    /// The ticket that it was linked to. A prerequisite blocks nobody from work that has not begun.
    fn link(&self, changes: &[TicketChange<'_>]) -> LinkFact {
        let links = || changes.iter().filter(|change| change.of == Some(SystemWord::ChangeLink));
        let says = |word| links().any(|change| change.says(word));
        if says(SystemWord::LinkBlocked) && self.is_begun() {
            LinkFact::Blocked
        } else if [SystemWord::LinkBlocked, SystemWord::LinkBlocks, SystemWord::LinkDepends].into_iter().any(says)
            || changes.iter().any(|change| change.of == Some(SystemWord::ChangeDependency))
        {
            LinkFact::Depends
        } else {
            LinkFact::None
        }
    }

    fn priority(&self) -> PriorityFact {
        let said = ["priority", "importance"].map(|name| self.closed(name));
        let is = |word| said.iter().any(|said| said.has(word));
        if is(SystemWord::PriorityHighest) {
            PriorityFact::Highest
        } else if is(SystemWord::PriorityHigh) {
            PriorityFact::High
        } else {
            PriorityFact::Ordinary
        }
    }

    /// Whether a task of Asana was ticked off. Tickets that are listed have not moved by that.
    fn is_completed(&self) -> bool {
        let is_true = |tree: &LabelTree| match tree {
            LabelTree::Scalar(scalar) => scalar.measure(|scalar| *scalar == LabelScalar::Bool(true)),
            _ => false,
        };
        let of_asana = self.signal.source == SignalSource::Asana && self.signal.kind == SignalKind::TicketUpdated;
        of_asana && self.field("completed").is_some_and(is_true)
    }

    fn changes(&self) -> Vec<TicketChange<'s>> {
        // The history of a ticket that a search found is no news.
        if self.signal.kind == SignalKind::TicketListed {
            return Vec::new();
        }
        match self.field("changes").or_else(|| self.field("change")) {
            Some(LabelTree::List(items)) => {
                items.iter().filter_map(|item| TicketChange::of(item, self.lexicon)).collect()
            }
            Some(one) => TicketChange::of(one, self.lexicon).into_iter().collect(),
            None => Vec::new(),
        }
    }
}

/// The people of a project, from its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriageProject {
    /// The domains of the organisation; whatever is below one belongs to it.
    pub own_domains: Vec<String>,
    /// The addresses of the stakeholders.
    pub stakeholders: Vec<String>,
    /// A stakeholder's role in the project, by the address in lower case.
    pub roles: BTreeMap<String, String>,
}

/// One change of a ticket: of what, what it was before, and what it is since.
pub(super) struct TicketChange<'s> {
    /// The closed word for what changed.
    pub(super) of: Option<SystemWord>,
    /// Its name in the source.
    pub(super) name: SystemWords,
    pub(super) from: Option<ChangeEnd<'s>>,
    pub(super) to: Option<ChangeEnd<'s>>,
}

/// The value before, or since.
#[derive(Clone, Copy)]
pub(super) struct ChangeEnd<'s> {
    pub(super) text: &'s Untrusted<String>,
    pub(super) words: SystemWords,
}

/// A text that is not empty.
pub(super) fn non_empty_text(tree: &LabelTree) -> Option<&Untrusted<String>> {
    match tree {
        LabelTree::Outside(text) | LabelTree::Flagged(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

impl TriageProject {
    /// The kind of sender. Only an address counts, and an address can be forged, so this may raise a signal's
    /// importance and never permits anything.
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
                lexicon.system_words_of(name).has(SystemWord::SenderAutomatic)
            }) =>
            {
                SenderFact::Program
            }
            (false, true) => SenderFact::Outside,
            (false, false) => SenderFact::Inside,
        }
    }

    /// Whether the sender's role makes it a sponsor or customer.
    fn is_principal(&self, signal: &ProjectSignal, lexicon: &TriageLexicon) -> bool {
        let Some(address) = signal.sender.as_ref().and_then(|sender| sender.address.as_ref()) else { return false };
        let role = |address: &String| self.roles.get(&address.to_lowercase());
        address.measure(|address| role(address).is_some_and(|role| lexicon.floors().is_principal(role)))
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

/// The system's news of a ticket, in answers that hold no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicketNews {
    /// It is blocked: flagged, moved to a status that says so, or linked to what blocks it.
    pub standstill: Standstill,
    /// The work on it is done.
    pub completion: Completion,
    /// A date that was promised moved.
    pub slip: Slip,
    /// It went from one state to another.
    pub movement: Movement,
}

/// Whether a ticket is blocked.
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
    /// It was, and the system took it up again.
    Reopened,
    /// It is not, or nobody says so.
    Pending,
}

/// Whether a ticket went from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// It did.
    Moved,
    /// Nothing is said of it.
    Unsaid,
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
    /// A signal's news of its ticket.
    #[must_use]
    pub fn of(signal: &ProjectSignal, lexicon: &TriageLexicon) -> Self {
        let words = SystemReader { signal, lexicon };
        let facts = SystemFacts::of(signal, lexicon, &TriageProject::default());
        let is_unflagged =
            words.changes().iter().any(|change| change.of == Some(SystemWord::ChangeFlag) && change.to.is_none());
        let standstill = if facts.is_blocked() {
            Standstill::Begins
        } else if is_unflagged || matches!(facts.status, StatusFact::Elsewhere | StatusFact::Returned) {
            Standstill::Ends
        } else {
            Standstill::Unsaid
        };
        let by_category =
            words.text("status_category").is_some_and(|said| said.measure(|said| said.eq_ignore_ascii_case("done")));
        let completion = if by_category || words.is_completed() {
            Completion::Done
        } else if facts.status == StatusFact::Returned || words.changes().iter().any(TicketChange::leaves_done) {
            Completion::Reopened
        } else {
            Completion::Pending
        };
        let slip = if facts.is_due_moved { Slip::Moved } else { Slip::Unsaid };
        let movement = if facts.status == StatusFact::NotMoved { Movement::Unsaid } else { Movement::Moved };
        Self { standstill, completion, slip, movement }
    }
}
