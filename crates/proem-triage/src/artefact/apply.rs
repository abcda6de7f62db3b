//! Makes the next version of an artefact, or says every rule that is broken.
//!
//! Laws: the same arguments give the same version. No item of a version is missing in the next. An id is given once. A
//! rule looks at the operation if it is about what somebody says, and at the version that would come out if it is about
//! how items stand to each other.

use std::collections::BTreeMap;

use super::{
    ending::needs_person,
    field::{ArtefactField, FieldForm, FieldNeed, FieldRule},
    item::{Artefact, ArtefactItem, ArtefactValue},
    kind::{ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemStatus},
    operation::{ArtefactActor, ArtefactContext, ArtefactLogEntry, ArtefactOperation, ItemChange, ItemChangeKind},
    relations,
    rule::{ArtefactRule, RuleViolation},
    statement::{ArtefactStatement, StatementOrigin},
};

/// The most operations of one change.
pub const MAX_OPERATIONS: usize = 500;

/// The result of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedChange {
    /// The next version.
    pub artefact: Artefact,
    /// Its entry in the log.
    pub entry: ArtefactLogEntry,
    /// The questions to a person, for all open items of this version, by id.
    pub asks: Vec<EscalationNeed>,
}

/// A question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EscalationNeed {
    /// The owner of this open item.
    Owner(ArtefactItemId),
}

/// Applies operations, in their order, all or none.
///
/// # Errors
///
/// Every rule that is broken, sorted by operation, with those of the whole version first.
pub fn apply_operations(
    artefact: &Artefact,
    operations: &[ArtefactOperation],
    context: &ArtefactContext<'_>,
) -> Result<AppliedChange, Vec<RuleViolation>> {
    let next = Artefact { version: artefact.version.saturating_add(1), updated: Some(context.now), ..artefact.clone() };
    let mut change = ArtefactChange { next, context, operation: None, changes: Vec::new(), violations: Vec::new() };
    change.check_frame(artefact, operations);
    for (index, operation) in operations.iter().enumerate().take(MAX_OPERATIONS) {
        change.operation = Some(index);
        if needs_person(artefact, &change.next, operation, context) {
            change.say(ArtefactRule::NeedsPerson, operation.item(), None);
            continue;
        }
        change.apply(operation);
    }
    change.operation = None;
    if change.changes.is_empty() && change.violations.is_empty() {
        change.say(ArtefactRule::NothingChanges, None, None);
    }
    let ArtefactChange { next, changes, mut violations, .. } = change;
    relations::check_standing(artefact, &next, context, &mut violations);
    if !violations.is_empty() {
        violations.sort_by_key(|violation| (violation.operation, violation.item, violation.field, violation.rule));
        violations.dedup();
        return Err(violations);
    }
    let mut causes = context.causes.to_vec();
    causes.sort_unstable();
    causes.dedup();
    let entry = ArtefactLogEntry {
        artefact: next.kind,
        project: next.project.clone(),
        version: next.version,
        at: context.now,
        actor: context.actor.clone(),
        causes,
        changes,
    };
    Ok(AppliedChange { asks: relations::asks(&next), artefact: next, entry })
}

/// The version that is being made.
struct ArtefactChange<'c> {
    next: Artefact,
    context: &'c ArtefactContext<'c>,
    /// The operation that is being applied.
    operation: Option<usize>,
    changes: Vec<ItemChange>,
    violations: Vec<RuleViolation>,
}

impl ArtefactChange<'_> {
    fn say(&mut self, rule: ArtefactRule, item: Option<ArtefactItemId>, field: Option<ArtefactField>) {
        self.violations.push(RuleViolation { rule, item, field, operation: self.operation });
    }

    fn check_frame(&mut self, artefact: &Artefact, operations: &[ArtefactOperation]) {
        let others = self.context.others.iter().map(|other| other.project());
        if others.chain([artefact.project()]).any(|project| project != self.context.project) {
            self.say(ArtefactRule::OtherProject, None, None);
        }
        if operations.len() > MAX_OPERATIONS {
            self.say(ArtefactRule::TooManyOperations(MAX_OPERATIONS), None, None);
        }
        if self.context.causes.is_empty() && !matches!(self.context.actor, ArtefactActor::Person(_)) {
            self.say(ArtefactRule::NoCause, None, None);
        }
        if self.context.causes.iter().any(|cause| !self.context.known.has_signal(cause)) {
            self.say(ArtefactRule::UnknownSignal, None, None);
        }
    }

    fn apply(&mut self, operation: &ArtefactOperation) {
        match operation {
            ArtefactOperation::Add { id, kind, status, fields } => {
                self.add(*id, *kind, status.unwrap_or(kind.first_status()), fields);
            }
            ArtefactOperation::Modify { id, changes, reason } => self.modify(*id, changes, reason),
            ArtefactOperation::ChangeStatus { id, to, reason } => self.change_status(*id, *to, reason),
            ArtefactOperation::Close { id, reason } => self.change_status(*id, id.kind.last_status(), reason),
        }
    }

    fn add(
        &mut self,
        id: Option<ArtefactItemId>,
        kind: ArtefactItemKind,
        status: ItemStatus,
        fields: &BTreeMap<ArtefactField, ArtefactValue>,
    ) {
        let next = self.next.next_id(kind);
        if kind.artefact() != self.next.kind {
            return self.say(ArtefactRule::OtherArtefact(kind.artefact()), id, None);
        }
        if id.is_some_and(|id| id != next) {
            return self.say(ArtefactRule::IdOutOfSequence(next), id, None);
        }
        if !kind.may_begin(status) {
            self.say(ArtefactRule::FirstStatus(status), Some(next), None);
        }
        let mut fields = fields.clone();
        for rule in kind.fields() {
            match rule.need {
                FieldNeed::Dated => {
                    fields.entry(rule.field).or_insert(ArtefactValue::Date(self.context.now));
                }
                FieldNeed::Required if !fields.contains_key(&rule.field) => {
                    self.say(ArtefactRule::MissingField, Some(next), Some(rule.field));
                }
                FieldNeed::Required | FieldNeed::Optional => {}
            }
        }
        for (field, value) in &fields {
            self.check_value(next, *field, value);
        }
        self.next.last.insert(kind, next.number);
        self.next.items.insert(next, ArtefactItem { status, fields, changed_in: self.next.version });
        self.changes.push(ItemChange { item: next, kind: ItemChangeKind::Added(status) });
    }

    fn modify(
        &mut self,
        id: ArtefactItemId,
        changes: &BTreeMap<ArtefactField, ArtefactValue>,
        reason: &ArtefactStatement,
    ) {
        let Some(item) = self.changing(id, reason) else { return };
        let mut item = item.clone();
        for (field, value) in changes {
            let before = item.fields.get(field);
            // A repeated statement stays with its first author, unless a person adopts it.
            let is_approval = value.statements().iter().any(|text| text.person().is_some());
            let is_same = before.is_some_and(|before| before == value || (before.says_what(value) && !is_approval));
            if is_same {
                continue;
            }
            let change = ItemChangeKind::Modified {
                field: *field,
                before: before.cloned().map(Box::new),
                after: Box::new(value.clone()),
                reason: reason.clone(),
            };
            self.check_value(id, *field, value);
            item.fields.insert(*field, value.clone());
            item.changed_in = self.next.version;
            self.changes.push(ItemChange { item: id, kind: change });
        }
        self.next.items.insert(id, item);
    }

    fn change_status(&mut self, id: ArtefactItemId, to: ItemStatus, reason: &ArtefactStatement) {
        let Some(from) = self.changing(id, reason).map(|item| item.status) else { return };
        if !id.kind.after(from).contains(&to) {
            return self.say(ArtefactRule::StatusFlow { from, to }, Some(id), None);
        }
        let version = self.next.version;
        if let Some(item) = self.next.items.get_mut(&id) {
            item.status = to;
            item.changed_in = version;
        }
        let kind = ItemChangeKind::Status { from, to, reason: reason.clone() };
        self.changes.push(ItemChange { item: id, kind });
    }

    /// The item, if it may change for this reason.
    fn changing(&mut self, id: ArtefactItemId, reason: &ArtefactStatement) -> Option<&ArtefactItem> {
        if reason.is_blank() {
            self.say(ArtefactRule::NoReason, Some(id), None);
        } else {
            self.check_statement(id, None, reason, FieldForm::PARAGRAPH);
        }
        if !self.next.items.contains_key(&id) {
            self.say(ArtefactRule::UnknownItem, Some(id), None);
        }
        if self.next.items.get(&id).is_some_and(|item| item.status.is_over()) {
            self.say(ArtefactRule::ItemIsOver, Some(id), None);
            return None;
        }
        self.next.items.get(&id)
    }

    fn check_value(&mut self, id: ArtefactItemId, field: ArtefactField, value: &ArtefactValue) {
        let Some(FieldRule { form, .. }) = id.kind.rule(field) else {
            return self.say(ArtefactRule::UnknownField, Some(id), Some(field));
        };
        match (*form, value) {
            (FieldForm::Text(most), ArtefactValue::Text(text)) => self.check_statement(id, Some(field), text, most),
            (FieldForm::Ticket, ArtefactValue::Text(text)) => {
                self.check_statement(id, Some(field), text, FieldForm::TICKET);
                if !self.context.known.has_ticket(text) {
                    self.say(ArtefactRule::UnknownTicket, Some(id), Some(field));
                }
            }
            (FieldForm::Word(words), ArtefactValue::Word(word)) if words.contains(word) => {
                let is_of_user =
                    matches!((field, *word), (ArtefactField::Source, "user_added") | (ArtefactField::MadeBy, "user"));
                if is_of_user && !matches!(self.context.actor, ArtefactActor::Person(_)) {
                    self.say(ArtefactRule::NotAUser, Some(id), Some(field));
                }
            }
            (FieldForm::Date, ArtefactValue::Date(_)) => {}
            (FieldForm::RaidItems(most), ArtefactValue::RaidItems(items)) => {
                if items.len() > most {
                    self.say(ArtefactRule::TooLong(most), Some(id), Some(field));
                }
                let raid = self.context.other(ArtefactKind::RaidLog);
                let is_known =
                    |id: &ArtefactItemId| id.kind.is_raid() && raid.is_some_and(|raid| raid.item(*id).is_some());
                if !items.iter().all(is_known) {
                    self.say(ArtefactRule::UnknownRaidItem, Some(id), Some(field));
                }
            }
            (FieldForm::Options(most), ArtefactValue::Options(options)) => {
                let reasons =
                    options.iter().any(|option| option.pros.len().max(option.cons.len()) > FieldForm::REASONS);
                if options.len() > most || reasons {
                    self.say(ArtefactRule::TooLong(most), Some(id), Some(field));
                }
                for text in value.statements() {
                    self.check_statement(id, Some(field), text, FieldForm::LINE);
                }
            }
            _ => self.say(ArtefactRule::WrongValue, Some(id), Some(field)),
        }
    }

    fn check_statement(
        &mut self,
        id: ArtefactItemId,
        field: Option<ArtefactField>,
        text: &ArtefactStatement,
        most: usize,
    ) {
        if text.is_blank() {
            self.say(ArtefactRule::Blank, Some(id), field);
        }
        if text.characters() > most {
            self.say(ArtefactRule::TooLong(most), Some(id), field);
        }
        if text.origins().is_empty() {
            self.say(ArtefactRule::NoOrigin, Some(id), field);
        }
        for origin in text.origins() {
            match origin {
                StatementOrigin::Signal(signal) if !self.context.known.has_signal(signal) => {
                    self.say(ArtefactRule::UnknownSignal, Some(id), field);
                }
                StatementOrigin::Person(person) if !matches!(self.context.actor, ArtefactActor::Person(actor) if actor == person) =>
                {
                    self.say(ArtefactRule::NotThatPerson, Some(id), field);
                }
                StatementOrigin::Signal(_) | StatementOrigin::Person(_) => {}
            }
        }
    }
}
