//! An artefact in one of its versions, and the items in it.

use std::collections::BTreeMap;

use proem_engine::run::Time;

use super::{
    field::ArtefactField,
    kind::{ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemStatus},
    statement::ArtefactStatement,
};

/// An artefact in one of its versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Artefact {
    pub(super) kind: ArtefactKind,
    pub(super) project: String,
    pub(super) version: u64,
    pub(super) updated: Option<Time>,
    pub(super) items: BTreeMap<ArtefactItemId, ArtefactItem>,
    /// The last number that was given to an item of a kind.
    pub(super) last: BTreeMap<ArtefactItemKind, u32>,
}

impl Artefact {
    /// The artefact of a project before anything happened: version 0, empty. `project` is the project's UUID.
    #[must_use]
    pub fn new(kind: ArtefactKind, project: &str) -> Self {
        let (items, last) = (BTreeMap::new(), BTreeMap::new());
        Self { kind, project: project.to_owned(), version: 0, updated: None, items, last }
    }

    /// Which one it is.
    #[must_use]
    pub const fn kind(&self) -> ArtefactKind {
        self.kind
    }

    /// The UUID of its project.
    #[must_use]
    pub fn project(&self) -> &str {
        &self.project
    }

    /// How often it was changed.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// When it was changed last. `None` in version 0.
    #[must_use]
    pub const fn updated(&self) -> Option<Time> {
        self.updated
    }

    /// The item of this id. `None` if there is none or it was removed.
    #[must_use]
    pub fn item(&self, id: ArtefactItemId) -> Option<&ArtefactItem> {
        self.items.get(&id)
    }

    /// All items, open or not, by kind and number.
    pub fn items(&self) -> impl Iterator<Item = (ArtefactItemId, &ArtefactItem)> {
        self.items.iter().map(|(id, item)| (*id, item))
    }

    /// The items of a kind, open or not, by number.
    pub fn of_kind(&self, kind: ArtefactItemKind) -> impl Iterator<Item = (ArtefactItemId, &ArtefactItem)> {
        self.items().filter(move |(id, _)| id.kind == kind)
    }

    /// The items of a kind that are open, by number.
    pub fn open(&self, kind: ArtefactItemKind) -> impl Iterator<Item = (ArtefactItemId, &ArtefactItem)> {
        self.of_kind(kind).filter(|(_, item)| item.status.is_open())
    }

    /// The id that the next item of a kind gets.
    #[must_use]
    pub fn next_id(&self, kind: ArtefactItemKind) -> ArtefactItemId {
        let last = self.last.get(&kind).copied().unwrap_or_default();
        ArtefactItemId { kind, number: last.saturating_add(1) }
    }
}

/// One risk, blocker, milestone or other entry, with its history.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtefactItem {
    /// Its state.
    pub status: ItemStatus,
    /// The known values. A field that is absent is unknown.
    pub fields: BTreeMap<ArtefactField, ArtefactValue>,
    /// The version of the artefact that changed it last.
    pub changed_in: u64,
}

impl ArtefactItem {
    /// Its name, else its first text.
    #[must_use]
    pub fn heading(&self) -> Option<&ArtefactStatement> {
        const NAMES: [ArtefactField; 6] = [
            ArtefactField::Title,
            ArtefactField::Name,
            ArtefactField::Description,
            ArtefactField::StatusSummary,
            ArtefactField::Action,
            ArtefactField::ScopeNotes,
        ];
        NAMES.into_iter().find_map(|field| self.text(field))
    }

    /// A field that is a text.
    #[must_use]
    pub fn text(&self, field: ArtefactField) -> Option<&ArtefactStatement> {
        match self.fields.get(&field) {
            Some(ArtefactValue::Text(statement)) => Some(statement),
            _ => None,
        }
    }

    /// A field that is a word of a closed list.
    #[must_use]
    pub fn word(&self, field: ArtefactField) -> Option<&'static str> {
        match self.fields.get(&field) {
            Some(ArtefactValue::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// A field that is a time.
    #[must_use]
    pub fn date(&self, field: ArtefactField) -> Option<Time> {
        match self.fields.get(&field) {
            Some(ArtefactValue::Date(time)) => Some(*time),
            _ => None,
        }
    }

    /// The items of the RAID log that a field names.
    #[must_use]
    pub fn raid_items(&self, field: ArtefactField) -> &[ArtefactItemId] {
        match self.fields.get(&field) {
            Some(ArtefactValue::RaidItems(items)) => items,
            _ => &[],
        }
    }

    /// Every text in it, with the field in which it is.
    pub fn statements(&self) -> impl Iterator<Item = (ArtefactField, &ArtefactStatement)> {
        self.fields.iter().flat_map(|(field, value)| value.statements().into_iter().map(|text| (*field, text)))
    }
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum ArtefactValue {
    /// Words, with their origin.
    Text(ArtefactStatement),
    /// A word of the field's closed list.
    Word(&'static str),
    /// A time.
    Date(Time),
    /// Items of the RAID log.
    RaidItems(Vec<ArtefactItemId>),
    /// The options of a decision.
    Options(Vec<DecisionOption>),
}

impl ArtefactValue {
    /// Every text in it.
    #[must_use]
    pub fn statements(&self) -> Vec<&ArtefactStatement> {
        match self {
            Self::Text(statement) => vec![statement],
            Self::Options(options) => options.iter().flat_map(DecisionOption::statements).collect(),
            Self::Word(_) | Self::Date(_) | Self::RaidItems(_) => Vec::new(),
        }
    }

    /// Whether both say the same, whoever says it.
    #[must_use]
    pub fn says_what(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(text), Self::Text(other)) => text.says_what(other),
            (Self::Options(options), Self::Options(others)) => {
                options.len() == others.len()
                    && options.iter().zip(others).all(|(option, other)| option.says_what(other))
            }
            (value, other) => value == other,
        }
    }
}

/// One way in which a decision could have gone.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionOption {
    /// The action. At most [`super::FieldForm::LINE`] characters, as each of the reasons.
    pub option: ArtefactStatement,
    /// The arguments for it.
    pub pros: Vec<ArtefactStatement>,
    /// The arguments against it.
    pub cons: Vec<ArtefactStatement>,
}

impl DecisionOption {
    fn statements(&self) -> impl Iterator<Item = &ArtefactStatement> {
        std::iter::once(&self.option).chain(&self.pros).chain(&self.cons)
    }

    fn says_what(&self, other: &Self) -> bool {
        self.pros.len() == other.pros.len()
            && self.cons.len() == other.cons.len()
            && self.statements().zip(other.statements()).all(|(text, other)| text.says_what(other))
    }
}
