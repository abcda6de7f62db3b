//! How an artefact is written down: as one labelled tree, in which each text keeps its label and its origin.

use std::{collections::BTreeMap, fmt};

use proem_engine::{effect::key::SignalRevision, run::Time};
use proem_guard::{LabelList, LabelMap, LabelTree, TreeError};

use super::{
    field::{ArtefactField, FieldForm},
    item::{Artefact, ArtefactItem, ArtefactValue, DecisionOption},
    kind::{ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemStatus},
    statement::{ArtefactStatement, Certainty, StatementOrigin},
};

/// The version of what is written. It is raised with every change of it.
pub const ARTEFACT_FORM: u64 = 1;

/// Why a written artefact can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtefactFormError {
    /// It is no labelled tree.
    Tree(TreeError),
    /// It was written in another form, by another version of Proem.
    Version,
    /// This part is missing, or is not as it is written.
    Part(&'static str),
}

impl fmt::Display for ArtefactFormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(error) => error.fmt(f),
            Self::Version => {
                write!(f, "the artefact is not of form {ARTEFACT_FORM}; use the version of Proem that wrote it")
            }
            Self::Part(part) => {
                write!(f, "the artefact's `{part}` is not as it is written; take the version before it")
            }
        }
    }
}

impl std::error::Error for ArtefactFormError {}

impl Artefact {
    /// The artefact with all its labels as canonical JSON, for a store. Never for a screen or a prompt.
    ///
    /// # Errors
    ///
    /// Writes it, or returns the place of the excess.
    pub fn write(&self) -> Result<String, TreeError> {
        self.to_tree().write()
    }

    /// The artefact as one value: words, ids and times are of code, each text keeps its label.
    #[must_use]
    pub fn to_tree(&self) -> LabelTree {
        let items = self.items.iter().map(|(id, item)| (id.to_string(), item_tree(item)));
        let last = self.last.iter().map(|(kind, last)| (kind.prefix(), LabelTree::from(u64::from(*last))));
        LabelTree::map([
            ("form", LabelTree::from(ARTEFACT_FORM)),
            ("artefact", self.kind.as_str().into()),
            ("project", self.project.as_str().into()),
            ("version", self.version.into()),
            ("updated", self.updated.map_or(LabelTree::Null, time_tree)),
            ("last", LabelTree::map(last)),
            ("items", LabelTree::map(items)),
        ])
    }

    /// Reads what [`Self::write`] wrote. Labels are taken from it as they are, so it has to come from a store of one's
    /// own.
    ///
    /// # Errors
    ///
    /// [`ArtefactFormError`] names the part that is not as it is written.
    pub fn read(written: &str) -> Result<Self, ArtefactFormError> {
        let tree = LabelTree::read(written).map_err(ArtefactFormError::Tree)?;
        let parts = WrittenMap::of(&tree, "artefact")?;
        if parts.get("form") != Some(&LabelTree::from(ARTEFACT_FORM)) {
            return Err(ArtefactFormError::Version);
        }
        let kind = ArtefactKind::parse(parts.word("artefact")?).ok_or(ArtefactFormError::Part("artefact"))?;
        let mut artefact = Self::new(kind, parts.word("project")?);
        artefact.version = parts.number("version")?;
        artefact.updated = match parts.get("updated") {
            Some(LabelTree::Null) => None,
            _ => Some(parts.time("updated")?),
        };
        let last = parts.map("last")?;
        for kind in ArtefactItemKind::ALL.into_iter().filter(|kind| last.get(kind.prefix()).is_some()) {
            let number = u32::try_from(last.number(kind.prefix())?).map_err(|_| ArtefactFormError::Part("last"))?;
            artefact.last.insert(kind, number);
        }
        for (name, tree) in parts.map("items")?.entries("items")? {
            let id = ArtefactItemId::parse(name).filter(|id| id.kind.artefact() == kind);
            let id = id.ok_or(ArtefactFormError::Part("items"))?;
            if artefact.last.get(&id.kind).is_none_or(|last| *last < id.number) {
                return Err(ArtefactFormError::Part("last"));
            }
            artefact.items.insert(id, read_item(id.kind, tree)?);
        }
        Ok(artefact)
    }
}

/// A time in milliseconds since 1970.
pub(super) fn time_tree(time: Time) -> LabelTree {
    LabelTree::Number(time.0.into())
}

fn item_tree(item: &ArtefactItem) -> LabelTree {
    let fields = item.fields.iter().map(|(field, value)| (field.as_str(), stored_value_tree(value)));
    LabelTree::map([
        ("status", LabelTree::from(item.status.as_str())),
        ("changed_in", item.changed_in.into()),
        ("fields", LabelTree::map(fields)),
    ])
}

/// The value of a field.
pub(super) fn stored_value_tree(value: &ArtefactValue) -> LabelTree {
    match value {
        ArtefactValue::Text(statement) => statement_tree(statement),
        ArtefactValue::Word(word) => (*word).into(),
        ArtefactValue::Date(time) => time_tree(*time),
        ArtefactValue::RaidItems(items) => LabelTree::list(items.iter().map(ToString::to_string)),
        ArtefactValue::Options(options) => LabelTree::list(options.iter().map(|option| {
            let statements = |all: &[ArtefactStatement]| LabelTree::list(all.iter().map(statement_tree));
            LabelTree::map([
                ("option", statement_tree(&option.option)),
                ("pros", statements(&option.pros)),
                ("cons", statements(&option.cons)),
            ])
        })),
    }
}

/// A text with its label, its certainty and its origins.
pub(super) fn statement_tree(statement: &ArtefactStatement) -> LabelTree {
    let origins = statement.origins().iter().map(|origin| match origin {
        StatementOrigin::Signal(signal) => signal_tree(signal),
        StatementOrigin::Person(person) => LabelTree::map([("person", LabelTree::from(person.as_str()))]),
    });
    LabelTree::map([
        ("text", statement.words().clone()),
        ("certainty", statement.certainty().as_str().into()),
        ("origins", LabelTree::list(origins)),
    ])
}

/// A revision of a signal.
pub(super) fn signal_tree(signal: &SignalRevision) -> LabelTree {
    LabelTree::map([("signal", LabelTree::from(signal.id.as_str())), ("revision", signal.revision.as_str().into())])
}

fn read_item(kind: ArtefactItemKind, tree: &LabelTree) -> Result<ArtefactItem, ArtefactFormError> {
    let parts = WrittenMap::of(tree, "items")?;
    let status = ItemStatus::parse(parts.word("status")?).ok_or(ArtefactFormError::Part("status"))?;
    let mut fields = BTreeMap::new();
    for (name, value) in parts.map("fields")?.entries("fields")? {
        let fault = || ArtefactFormError::Part("fields");
        let field = ArtefactField::parse(name).ok_or_else(fault)?;
        let rule = kind.rule(field).ok_or_else(fault)?;
        fields.insert(field, read_value(rule.form, value)?);
    }
    Ok(ArtefactItem { status, fields, changed_in: parts.number("changed_in")? })
}

/// A value in a form.
pub(super) fn read_value(form: FieldForm, tree: &LabelTree) -> Result<ArtefactValue, ArtefactFormError> {
    let fault = || ArtefactFormError::Part("fields");
    Ok(match (form, tree) {
        (FieldForm::Text(_) | FieldForm::Ticket, tree) => ArtefactValue::Text(read_statement(tree)?),
        (FieldForm::Word(words), LabelTree::Text(word)) => {
            ArtefactValue::Word(words.iter().find(|known| *known == word).ok_or_else(fault)?)
        }
        (FieldForm::Date, tree) => ArtefactValue::Date(tree_time(tree).ok_or_else(fault)?),
        (FieldForm::RaidItems(_), LabelTree::List(list)) => {
            let ids = list.iter().map(|id| match id {
                LabelTree::Text(id) => ArtefactItemId::parse(id),
                _ => None,
            });
            ArtefactValue::RaidItems(ids.collect::<Option<_>>().ok_or_else(fault)?)
        }
        (FieldForm::Options(_), LabelTree::List(list)) => {
            ArtefactValue::Options(list.iter().map(read_option).collect::<Result<_, _>>()?)
        }
        _ => return Err(fault()),
    })
}

fn read_option(tree: &LabelTree) -> Result<DecisionOption, ArtefactFormError> {
    let parts = WrittenMap::of(tree, "options_considered")?;
    let statements = |name| parts.list(name)?.iter().map(read_statement).collect::<Result<_, _>>();
    Ok(DecisionOption {
        option: read_statement(parts.get("option").ok_or(ArtefactFormError::Part("option"))?)?,
        pros: statements("pros")?,
        cons: statements("cons")?,
    })
}

/// A text with its label, its certainty and its origins.
pub(super) fn read_statement(tree: &LabelTree) -> Result<ArtefactStatement, ArtefactFormError> {
    let parts = WrittenMap::of(tree, "text")?;
    let words = parts.get("text").cloned().ok_or(ArtefactFormError::Part("text"))?;
    let certainty = Certainty::parse(parts.word("certainty")?).ok_or(ArtefactFormError::Part("certainty"))?;
    let origins = parts.list("origins")?.iter().map(|origin| {
        let parts = WrittenMap::of(origin, "origins")?;
        if parts.get("person").is_some() {
            return Ok(StatementOrigin::Person(parts.word("person")?.to_owned()));
        }
        read_signal(origin).map(StatementOrigin::Signal)
    });
    let origins = origins.collect::<Result<_, _>>()?;
    ArtefactStatement::restored(words, certainty, origins).ok_or(ArtefactFormError::Part("text"))
}

/// A revision of a signal.
pub(super) fn read_signal(tree: &LabelTree) -> Result<SignalRevision, ArtefactFormError> {
    let parts = WrittenMap::of(tree, "signal")?;
    Ok(SignalRevision { id: parts.word("signal")?.to_owned(), revision: parts.word("revision")?.to_owned() })
}

fn tree_time(tree: &LabelTree) -> Option<Time> {
    if let LabelTree::Number(number) = tree { number.as_i64().map(Time) } else { None }
}

/// A map that code laid together.
#[derive(Clone, Copy)]
pub(super) struct WrittenMap<'t>(&'t LabelMap);

impl<'t> WrittenMap<'t> {
    pub(super) const fn of(tree: &'t LabelTree, part: &'static str) -> Result<Self, ArtefactFormError> {
        if let LabelTree::Map(map) = tree { Ok(Self(map)) } else { Err(ArtefactFormError::Part(part)) }
    }

    pub(super) fn get(self, part: &str) -> Option<&'t LabelTree> {
        self.0.get(part)
    }

    pub(super) fn word(self, part: &'static str) -> Result<&'t str, ArtefactFormError> {
        match self.get(part) {
            Some(LabelTree::Text(text)) => Ok(text),
            _ => Err(ArtefactFormError::Part(part)),
        }
    }

    pub(super) fn number(self, part: &'static str) -> Result<u64, ArtefactFormError> {
        match self.get(part) {
            Some(LabelTree::Number(number)) => number.as_u64().ok_or(ArtefactFormError::Part(part)),
            _ => Err(ArtefactFormError::Part(part)),
        }
    }

    pub(super) fn time(self, part: &'static str) -> Result<Time, ArtefactFormError> {
        self.get(part).and_then(tree_time).ok_or(ArtefactFormError::Part(part))
    }

    pub(super) fn list(self, part: &'static str) -> Result<&'t LabelList, ArtefactFormError> {
        match self.get(part) {
            Some(LabelTree::List(list)) => Ok(list),
            _ => Err(ArtefactFormError::Part(part)),
        }
    }

    pub(super) fn map(self, part: &'static str) -> Result<Self, ArtefactFormError> {
        Self::of(self.get(part).unwrap_or(&LabelTree::Null), part)
    }

    /// All of it, if its names are ours.
    fn entries(self, part: &'static str) -> Result<Vec<(&'t str, &'t LabelTree)>, ArtefactFormError> {
        let entry = |(name, tree)| match name {
            proem_guard::TreeName::Ours(name) => Ok((name, tree)),
            proem_guard::TreeName::Outside(_) => Err(ArtefactFormError::Part(part)),
        };
        self.0.iter().map(entry).collect()
    }
}
