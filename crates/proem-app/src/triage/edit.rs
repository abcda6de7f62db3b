//! A person's change of an artefact: planned, shown, and written once the person agrees.
//!
//! A person's typed text is trusted from then on (T1), and the artefact shows it as that person's words. The rules hold
//! for a person as for everybody.

use std::collections::BTreeMap;

use proem_engine::run::Time;
use proem_guard::show;
use proem_store::ArtefactAnswer;
use proem_store::record::{ArtefactEdit, HashedContent, NewArtefactVersion};
use proem_triage::artefact::{
    AppliedChange, Artefact, ArtefactActor, ArtefactContext, ArtefactField, ArtefactItemId, ArtefactItemKind,
    ArtefactOperation, ArtefactStatement, ArtefactValue, DecisionOption, FieldForm, ItemStatus, RuleViolation,
    SignalReferences, apply_operations, artefact_difference,
};

use super::desk::TriageDesk;
use crate::error::Error;
use crate::operator::Operator;
use crate::when;

/// A person's wish to change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRequest {
    /// The edited item.
    pub item: EditedItem,
    /// Fields and what they shall say, as typed.
    pub fields: Vec<(ArtefactField, String)>,
    /// How the item shall be, if otherwise.
    pub status: Option<ItemStatus>,
    /// Why. A new item needs no reason.
    pub reason: Option<String>,
}

/// The item that is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditedItem {
    /// One that is there.
    Known(ArtefactItemId),
    /// One to be added.
    New(ArtefactItemKind),
}

/// A change that nothing stands against, and that is not written yet.
#[derive(Debug)]
pub struct PlannedEdit {
    before: Artefact,
    change: AppliedChange,
    ahead_of_utc: i64,
}

impl PlannedEdit {
    /// The differences, a line each, fit for a screen.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        artefact_difference(&self.before, &self.change.artefact, self.ahead_of_utc)
    }

    /// The items that change, in order.
    #[must_use]
    pub fn items(&self) -> Vec<ArtefactItemId> {
        let mut items: Vec<ArtefactItemId> = self.change.entry.changes.iter().map(|change| change.item).collect();
        items.dedup();
        items
    }
}

impl TriageDesk<'_> {
    /// The artefact after a person's change.
    ///
    /// # Errors
    ///
    /// If what was typed does not fit its field, a rule is broken, or the records are unreadable.
    pub async fn plan_edit(&self, operator: &Operator, request: &EditRequest) -> Result<PlannedEdit, Error> {
        let kind = match request.item {
            EditedItem::Known(id) => id.kind,
            EditedItem::New(kind) => kind,
        };
        let artefacts = self.artefacts().await?;
        let before = self.version(kind.artefact(), None).await?;
        let person = operator.actor().id.clone();
        let operations = operations(kind, request, &person)?;
        let (log, _) = self.signal_log().await?;
        let known = SignalReferences::of(log.current());
        let others: Vec<&Artefact> = artefacts.iter().filter(|other| other.kind() != before.kind()).collect();
        let context = ArtefactContext {
            now: when::time_now().max(self.desk.status.last_seen),
            project: &self.charter.id,
            actor: &ArtefactActor::Person(person),
            causes: &[],
            known: &known,
            others: &others,
        };
        let change = apply_operations(&before, &operations, &context).map_err(|violations| {
            // A person changes one item, so which operation it was says nothing.
            let said = violations.into_iter().map(|violation| RuleViolation { operation: None, ..violation });
            Error::invalid(said.map(|violation| violation.to_string()).collect::<Vec<_>>().join("\n"))
        })?;
        Ok(PlannedEdit { before, change, ahead_of_utc: self.charter.ahead_of_utc })
    }

    /// Writes a change to which its person agreed.
    ///
    /// # Errors
    ///
    /// If the artefact was changed meanwhile, or the records can't be written.
    pub async fn write_edit(&self, operator: &Operator, planned: &PlannedEdit) -> Result<(), Error> {
        self.write_change(operator, &planned.change).await
    }

    /// Writes a version to which a person agreed.
    ///
    /// # Errors
    ///
    /// If the artefact was changed meanwhile, or the records can't be written.
    pub async fn write_change(&self, operator: &Operator, change: &AppliedChange) -> Result<(), Error> {
        let unwritten = |error| Error::bug("a change of an artefact can't be written down", error);
        let AppliedChange { artefact, entry, .. } = change;
        let version = NewArtefactVersion {
            kind: artefact.kind().as_str().to_owned(),
            version: artefact.version(),
            content: HashedContent::new(artefact.write().map_err(unwritten)?),
            entry: HashedContent::new(entry.write().map_err(unwritten)?),
            causes: Vec::new(),
        };
        let project = self.desk.owner.clone();
        let edit = ArtefactEdit { project, actor: operator.actor().clone(), at: when::time_now(), version };
        match self.desk.store.edit_artefact(edit).await? {
            ArtefactAnswer::Written => Ok(()),
            ArtefactAnswer::Moved { .. } => Err(Error::negative(
                "the artefact was changed while you looked, so nothing was written; look at it again",
            )),
        }
    }
}

fn operations(kind: ArtefactItemKind, request: &EditRequest, person: &str) -> Result<Vec<ArtefactOperation>, Error> {
    let mut fields = BTreeMap::new();
    for (field, text) in &request.fields {
        fields.insert(*field, typed_value(kind, *field, text, person)?);
    }
    let own = request.reason.as_deref().map(|reason| ArtefactStatement::by_person(reason, person));
    match request.item {
        EditedItem::New(kind) => {
            for (field, word) in [(ArtefactField::Source, "user_added"), (ArtefactField::MadeBy, "user")] {
                let allows = |rule: FieldForm| matches!(rule, FieldForm::Word(words) if words.contains(&word));
                if kind.rule(field).is_some_and(|rule| allows(rule.form)) {
                    fields.entry(field).or_insert(ArtefactValue::Word(word));
                }
            }
            Ok(vec![ArtefactOperation::Add { id: None, kind, status: request.status, fields }])
        }
        EditedItem::Known(id) => {
            let reason = own.ok_or_else(|| Error::invalid("a change of an item needs a reason; say why"))?;
            let mut operations = Vec::new();
            if !fields.is_empty() {
                operations.push(ArtefactOperation::Modify { id, changes: fields, reason: reason.clone() });
            }
            if let Some(to) = request.status {
                operations.push(ArtefactOperation::ChangeStatus { id, to, reason });
            }
            Ok(operations)
        }
    }
}

/// A person's typed text, as a field's value.
fn typed_value(kind: ArtefactItemKind, field: ArtefactField, text: &str, person: &str) -> Result<ArtefactValue, Error> {
    let name = field.as_str();
    let kind_name = kind.as_str();
    let rule = kind.rule(field).ok_or_else(|| {
        let fields: Vec<&str> = kind.fields().iter().map(|rule| rule.field.as_str()).collect();
        Error::invalid(format!("a {kind_name} has no field `{name}`; it has {}", fields.join(", ")))
    })?;
    let shown = || show::terminal_str(text).into_string();
    match rule.form {
        FieldForm::Text(_) | FieldForm::Ticket => {
            Ok(ArtefactValue::Text(ArtefactStatement::by_person(text.trim(), person)))
        }
        FieldForm::Word(words) => {
            let word = words.iter().find(|word| **word == text.trim());
            word.map(|word| ArtefactValue::Word(word))
                .ok_or_else(|| Error::invalid(format!("`{}` is no {name}; write one of {}", shown(), words.join(", "))))
        }
        FieldForm::Date => {
            let day: Option<jiff::civil::Date> = text.trim().parse().ok().filter(|_| text.trim().len() == 10);
            let start = day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok());
            let time = start.map(|start| Time(start.timestamp().as_millisecond()));
            time.map(ArtefactValue::Date)
                .ok_or_else(|| Error::invalid(format!("`{}` is no day; write it as 2026-12-24", shown())))
        }
        FieldForm::RaidItems(_) => {
            let ids: Option<Vec<ArtefactItemId>> = text.split(',').map(|id| ArtefactItemId::parse(id.trim())).collect();
            ids.map(ArtefactValue::RaidItems)
                .ok_or_else(|| Error::invalid(format!("`{}` names no items; write ids such as R001, I002", shown())))
        }
        FieldForm::Options(_) => {
            let option = |text: &str| DecisionOption {
                option: ArtefactStatement::by_person(text.trim(), person),
                pros: Vec::new(),
                cons: Vec::new(),
            };
            Ok(ArtefactValue::Options(text.split('|').map(option).collect()))
        }
    }
}
