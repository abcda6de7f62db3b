//! The fields of an item: their names, what is in them and how much.

use super::kind::ArtefactItemKind;

/// A field of an item, by the name that the schemas have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the name in the schema says what it is; `schema.rs` says more")]
pub enum ArtefactField {
    OverallStatus,
    StatusSummary,
    Name,
    StartDate,
    EndDate,
    Goal,
    DueDate,
    Notes,
    Title,
    Description,
    Severity,
    Owner,
    RaisedDate,
    SourceTicket,
    RaidItem,
    Action,
    Mitigation,
    Source,
    SourceReference,
    LastSynced,
    ScopeNotes,
    TicketId,
    Flag,
    Detail,
    SuggestedAction,
    Issue,
    Context,
    OptionsConsidered,
    Decision,
    Rationale,
    MadeBy,
    Date,
    RelatedRaidItems,
}

proem_text::word_table! {
    /// Its name in the schemas and in what is written.
    pub ArtefactField {
        // In the order in which artefacts show them.
        OverallStatus = "overall_status",
        StatusSummary = "status_summary",
        Name = "name",
        StartDate = "start_date",
        EndDate = "end_date",
        Goal = "goal",
        DueDate = "due_date",
        Notes = "notes",
        Title = "title",
        Description = "description",
        Severity = "severity",
        Owner = "owner",
        RaisedDate = "raised_date",
        SourceTicket = "source_ticket",
        RaidItem = "raid_item",
        Action = "action",
        Mitigation = "mitigation",
        Source = "source",
        SourceReference = "source_reference",
        LastSynced = "last_synced",
        ScopeNotes = "scope_notes",
        TicketId = "ticket_id",
        Flag = "flag",
        Detail = "detail",
        SuggestedAction = "suggested_action",
        Issue = "issue",
        Context = "context",
        OptionsConsidered = "options_considered",
        Decision = "decision",
        Rationale = "rationale",
        MadeBy = "made_by",
        Date = "date",
        RelatedRaidItems = "related_raid_items",
    }
}

/// The rules for a value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldForm {
    /// A text of at most so many characters.
    Text(usize),
    /// The key of a ticket that is known, of at most [`FieldForm::TICKET`] characters.
    Ticket,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A time.
    Date,
    /// At most so many items of the RAID log.
    RaidItems(usize),
    /// At most so many options, each with pros and cons.
    Options(usize),
}

impl FieldForm {
    /// The most characters of a name or a title.
    pub const LINE: usize = 200;
    /// The most characters of a paragraph.
    pub const PARAGRAPH: usize = 2_000;
    /// The most characters of a ticket's key.
    pub const TICKET: usize = 100;
    /// The most options of a decision.
    pub const OPTIONS: usize = 10;
    /// The most pros, and the most cons, of an option.
    pub const REASONS: usize = 10;
    /// The most items of the RAID log that a decision names.
    pub const RELATED: usize = 50;
}

/// Whether a field may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldNeed {
    /// Every item has it.
    Required,
    /// An item may have it.
    Optional,
    /// Every item has it; if it isn't given, it is the time of the version.
    Dated,
}

/// A field of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRule {
    /// Which one.
    pub field: ArtefactField,
    /// The form of its value.
    pub form: FieldForm,
    /// Whether it may be left out.
    pub need: FieldNeed,
}

/// Critical threatens the project, high a milestone, medium the scope. Low is a minor inconvenience.
const SEVERITY: FieldForm = FieldForm::Word(&["critical", "high", "medium", "low"]);

const fn demand(field: ArtefactField, form: FieldForm) -> FieldRule {
    FieldRule { field, form, need: FieldNeed::Required }
}

const fn optional(field: ArtefactField, form: FieldForm) -> FieldRule {
    FieldRule { field, form, need: FieldNeed::Optional }
}

const fn dated_field(field: ArtefactField) -> FieldRule {
    FieldRule { field, form: FieldForm::Date, need: FieldNeed::Dated }
}

const LINE: FieldForm = FieldForm::Text(FieldForm::LINE);
const PARAGRAPH: FieldForm = FieldForm::Text(FieldForm::PARAGRAPH);

const RAID: [FieldRule; 9] = [
    demand(ArtefactField::Title, LINE),
    demand(ArtefactField::Description, PARAGRAPH),
    demand(ArtefactField::Severity, SEVERITY),
    optional(ArtefactField::Owner, LINE),
    dated_field(ArtefactField::RaisedDate),
    optional(ArtefactField::DueDate, FieldForm::Date),
    optional(ArtefactField::Mitigation, PARAGRAPH),
    demand(ArtefactField::Source, FieldForm::Word(&["agent_detected", "user_added", "integration_signal"])),
    optional(ArtefactField::SourceReference, LINE),
];

impl ArtefactItemKind {
    /// The fields that an item of this kind may have, in the order in which they are shown.
    #[must_use]
    pub const fn fields(self) -> &'static [FieldRule] {
        use ArtefactField as F;
        match self {
            Self::Risk | Self::Assumption | Self::Issue | Self::Dependency => &RAID,
            Self::Health => {
                const {
                    &[
                        demand(F::OverallStatus, FieldForm::Word(&["green", "amber", "red"])),
                        demand(F::StatusSummary, PARAGRAPH),
                    ]
                }
            }
            Self::Sprint => {
                const {
                    &[
                        demand(F::Name, LINE),
                        demand(F::StartDate, FieldForm::Date),
                        demand(F::EndDate, FieldForm::Date),
                        demand(F::Goal, PARAGRAPH),
                    ]
                }
            }
            Self::Milestone => {
                const { &[demand(F::Name, LINE), demand(F::DueDate, FieldForm::Date), optional(F::Notes, PARAGRAPH)] }
            }
            Self::Blocker => {
                const {
                    &[
                        demand(F::Description, PARAGRAPH),
                        optional(F::Owner, LINE),
                        dated_field(F::RaisedDate),
                        demand(F::Severity, SEVERITY),
                        optional(F::SourceTicket, FieldForm::Ticket),
                        demand(F::RaidItem, FieldForm::RaidItems(1)),
                    ]
                }
            }
            Self::NextAction => const { &[demand(F::Action, PARAGRAPH)] },
            Self::Backlog => {
                const {
                    &[
                        demand(F::Source, FieldForm::Word(&["jira", "asana"])),
                        dated_field(F::LastSynced),
                        optional(F::ScopeNotes, PARAGRAPH),
                    ]
                }
            }
            Self::Highlight => {
                const {
                    &[
                        demand(F::TicketId, FieldForm::Ticket),
                        demand(F::Title, LINE),
                        demand(
                            F::Flag,
                            FieldForm::Word(&["blocked", "stale", "missing_criteria", "scope_creep", "new"]),
                        ),
                        demand(F::Detail, PARAGRAPH),
                        optional(F::SuggestedAction, PARAGRAPH),
                    ]
                }
            }
            Self::RefinementCandidate => {
                const { &[demand(F::TicketId, FieldForm::Ticket), demand(F::Title, LINE), demand(F::Issue, PARAGRAPH)] }
            }
            Self::Decision => {
                const {
                    &[
                        demand(F::Title, LINE),
                        demand(F::Context, PARAGRAPH),
                        demand(F::OptionsConsidered, FieldForm::Options(FieldForm::OPTIONS)),
                        demand(F::Decision, PARAGRAPH),
                        demand(F::Rationale, PARAGRAPH),
                        demand(F::MadeBy, FieldForm::Word(&["user", "agent"])),
                        dated_field(F::Date),
                        optional(F::RelatedRaidItems, FieldForm::RaidItems(FieldForm::RELATED)),
                    ]
                }
            }
        }
    }

    /// The rule for a field of this kind. `None` if it has no such field.
    #[must_use]
    pub fn rule(self, field: ArtefactField) -> Option<&'static FieldRule> {
        self.fields().iter().find(|rule| rule.field == field)
    }
}
