//! Reads what a model or a program proposes, as operations.
//!
//! A full content is compared with the version that it wants to replace: what says the same stays with whoever said
//! it first, what differs is an operation, and what is open and left out is refused. All texts are inferences under
//! the label of the proposal.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::{effect::key::SignalRevision, run::Time};
use proem_guard::{LabelList, LabelMap, LabelTree, Untrusted};
use serde_json::Value as Json;

use super::{
    field::{ArtefactField, FieldForm},
    item::{Artefact, ArtefactValue, DecisionOption},
    kind::{ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemStatus},
    operation::{ArtefactContext, ArtefactOperation},
    rule::{ArtefactRule, RuleViolation},
    statement::ArtefactStatement,
};
use crate::date::parse_timestamp;

/// The operations that a proposed update comes to. `update` meets the [`super::proposal_contract`] of the artefact.
///
/// Figures in it are not read: they are counted.
///
/// # Errors
///
/// If it can't be read as operations: another project, a signal that is no cause, items that vanished, values that the
/// contract would have refused.
pub fn proposed_operations(
    artefact: &Artefact,
    update: &Untrusted<Json>,
    context: &ArtefactContext<'_>,
) -> Result<Vec<ArtefactOperation>, Vec<RuleViolation>> {
    let violation = |rule| RuleViolation { rule, item: None, field: None, operation: None };
    let Ok(LabelTree::Map(update)) = LabelTree::from_outside(update) else {
        return Err(vec![violation(ArtefactRule::WrongValue)]);
    };
    let mut reader = ProposalReader::new(artefact, Vec::new());
    reader.read_frame(&update, context);
    match artefact.kind() {
        ArtefactKind::DeliveryState => reader.read_delivery(&update),
        ArtefactKind::BacklogSummary => reader.read_backlog(&update),
        ArtefactKind::RaidLog => {
            reader.read_added(map_list(&update, "items_added"), None);
            reader.read_modified(&update, "items_modified");
        }
        ArtefactKind::DecisionLog => {
            reader.read_added(map_list(&update, "decisions_added"), Some(ArtefactItemKind::Decision));
            reader.read_modified(&update, "decisions_modified");
        }
    }
    if reader.violations.is_empty() { Ok(reader.operations) } else { Err(reader.violations) }
}

pub(super) struct ProposalReader<'a> {
    artefact: &'a Artefact,
    /// The causes that the proposal names.
    signals: Vec<SignalRevision>,
    pub(super) operations: Vec<ArtefactOperation>,
    pub(super) violations: Vec<RuleViolation>,
}

impl<'a> ProposalReader<'a> {
    pub(super) const fn new(artefact: &'a Artefact, signals: Vec<SignalRevision>) -> Self {
        Self { artefact, signals, operations: Vec::new(), violations: Vec::new() }
    }

    /// The item of an entry of an offer, and whether it would be new.
    pub(super) fn offered_item(entry: &LabelMap) -> (Option<ArtefactItemId>, bool) {
        match map_text(entry, "new") {
            Some(id) => (parse_item_id(id), true),
            None => (map_text(entry, "id").and_then(parse_item_id), false),
        }
    }

    /// A new item of an offer.
    pub(super) fn read_offered_item(&mut self, id: ArtefactItemId, entry: &LabelMap) {
        let (status, fields) = (self.status(id.kind, entry), self.fields(id.kind, entry));
        self.operations.push(ArtefactOperation::Add { id: Some(id), kind: id.kind, status, fields });
    }

    fn say(&mut self, rule: ArtefactRule, item: Option<ArtefactItemId>, field: Option<ArtefactField>) {
        self.violations.push(RuleViolation { rule, item, field, operation: None });
    }

    fn read_frame(&mut self, update: &LabelMap, context: &ArtefactContext<'_>) {
        let is_project =
            map_text(update, "project_id").is_some_and(|id| id.measure(|id| id == self.artefact.project()));
        if !is_project {
            self.say(ArtefactRule::OtherProject, None, None);
        }
        for named in map_list(update, "signals_incorporated").into_iter().flat_map(LabelList::iter) {
            let cause = context
                .causes
                .iter()
                .find(|cause| matches!(named, LabelTree::Outside(id) if id.measure(|id| *id == cause.id)));
            match cause {
                Some(cause) => self.signals.push(cause.clone()),
                None => self.say(ArtefactRule::UnknownSignal, None, None),
            }
        }
    }

    fn read_delivery(&mut self, update: &LabelMap) {
        let Some(content) = map_submap(update, "content") else {
            return self.say(ArtefactRule::WrongValue, None, None);
        };
        let reason = self.reason(update, "changes_summary");
        let seen = self.read_item(ArtefactItemKind::Health, content, &reason);
        let mut seen: BTreeSet<ArtefactItemId> = seen.into_iter().collect();
        if let Some(sprint) = map_submap(content, "current_sprint") {
            seen.extend(self.read_item(ArtefactItemKind::Sprint, sprint, &reason));
        }
        for (name, kind) in [("milestones", ArtefactItemKind::Milestone), ("blockers", ArtefactItemKind::Blocker)] {
            for item in maps(map_list(content, name)) {
                seen.extend(self.read_item(kind, item, &reason));
            }
        }
        for action in map_list(content, "next_actions").into_iter().flat_map(LabelList::iter) {
            let action = LabelMap::new(proem_text::Label::trusted(), [("action", action.clone())]);
            seen.extend(self.read_item(ArtefactItemKind::NextAction, &action, &reason));
        }
        self.refuse_vanished(&seen);
    }

    fn read_backlog(&mut self, update: &LabelMap) {
        let Some(content) = map_submap(update, "content") else {
            return self.say(ArtefactRule::WrongValue, None, None);
        };
        let reason = self.reason(update, "changes_summary");
        let seen = self.read_item(ArtefactItemKind::Backlog, content, &reason);
        let mut seen: BTreeSet<ArtefactItemId> = seen.into_iter().collect();
        let lists = [
            ("highlights", ArtefactItemKind::Highlight),
            ("refinement_candidates", ArtefactItemKind::RefinementCandidate),
        ];
        for (name, kind) in lists {
            for item in maps(map_list(content, name)) {
                seen.extend(self.read_item(kind, item, &reason));
            }
        }
        self.refuse_vanished(&seen);
    }

    fn refuse_vanished(&mut self, seen: &BTreeSet<ArtefactItemId>) {
        let artefact = self.artefact;
        let vanished = artefact.items().filter(|(id, item)| item.status.is_open() && !seen.contains(id));
        for (id, _) in vanished {
            self.say(ArtefactRule::Vanished, Some(id), None);
        }
    }

    /// An item of a full content: the stored one that it is, or a new one.
    fn read_item(
        &mut self,
        kind: ArtefactItemKind,
        map: &LabelMap,
        reason: &ArtefactStatement,
    ) -> Option<ArtefactItemId> {
        let given = self.given_id(kind, map)?;
        let fields = self.fields(kind, map);
        let status = self.status(kind, map);
        let stored = match given {
            Some(id) => self.artefact.item(id).map(|item| (id, item)),
            None => self.artefact.open(kind).find(|(_, item)| is_recognised(kind, &item.fields, &fields)),
        };
        let Some((id, item)) = stored else {
            self.operations.push(ArtefactOperation::Add { id: given, kind, status, fields });
            return given;
        };
        let changes = fields
            .into_iter()
            .filter(|(field, value)| item.fields.get(field).is_none_or(|before| !before.says_what(value)));
        self.change(id, changes.collect(), status.filter(|status| *status != item.status), reason);
        Some(id)
    }

    /// Puts in the operations for one item: its fields before its status, so that what is over got its last words.
    fn change(
        &mut self,
        id: ArtefactItemId,
        changes: BTreeMap<ArtefactField, ArtefactValue>,
        status: Option<ItemStatus>,
        reason: &ArtefactStatement,
    ) {
        if !changes.is_empty() {
            self.operations.push(ArtefactOperation::Modify { id, changes, reason: reason.clone() });
        }
        if let Some(to) = status {
            self.operations.push(ArtefactOperation::ChangeStatus { id, to, reason: reason.clone() });
        }
    }

    fn read_added(&mut self, added: Option<&LabelList>, kind: Option<ArtefactItemKind>) {
        for map in maps(added) {
            let kind = kind.or_else(|| {
                let raid = ArtefactItemKind::ALL.into_iter().filter(|kind| kind.is_raid());
                raid.into_iter()
                    .find(|kind| map_text(map, "type").is_some_and(|word| word.measure(|word| word == kind.as_str())))
            });
            let Some(kind) = kind else {
                self.say(ArtefactRule::WrongValue, None, None);
                continue;
            };
            let Some(id) = self.given_id(kind, map) else { continue };
            let (status, fields) = (self.status(kind, map), self.fields(kind, map));
            self.operations.push(ArtefactOperation::Add { id, kind, status, fields });
        }
    }

    fn read_modified(&mut self, update: &LabelMap, name: &str) {
        for modification in maps(map_list(update, name)) {
            match map_text(modification, "id").and_then(parse_item_id) {
                Some(id) => self.read_modification(id, modification),
                None => self.say(ArtefactRule::UnknownItem, None, None),
            }
        }
    }

    /// The changes of an item.
    pub(super) fn read_modification(&mut self, id: ArtefactItemId, modification: &LabelMap) {
        let Some(changes) = map_submap(modification, "changes") else {
            return self.say(ArtefactRule::UnknownItem, None, None);
        };
        let reason = self.reason(modification, "change_reason");
        let (status, fields) = (self.status(id.kind, changes), self.fields(id.kind, changes));
        self.change(id, fields, status, &reason);
    }

    /// The id that an item is given, if any. `None` if it is one of another kind.
    fn given_id(&mut self, kind: ArtefactItemKind, map: &LabelMap) -> Option<Option<ArtefactItemId>> {
        let Some(given) = map_text(map, "id") else { return Some(None) };
        let id = parse_item_id(given).filter(|id| id.kind == kind);
        if id.is_none() {
            self.say(ArtefactRule::IdOutOfSequence(self.artefact.next_id(kind)), None, None);
        }
        id.map(Some)
    }

    fn reason(&self, of: &LabelMap, name: &str) -> ArtefactStatement {
        let nothing = || Untrusted::new(String::new(), proem_text::Label::trusted());
        ArtefactStatement::inference(map_text(of, name).cloned().unwrap_or_else(nothing), self.signals.clone())
    }

    fn status(&mut self, kind: ArtefactItemKind, map: &LabelMap) -> Option<ItemStatus> {
        let said = map_text(map, "status")?;
        let status = ItemStatus::ALL.into_iter().find(|status| said.measure(|said| said == status.as_str()));
        if status.is_none() {
            let id = self.artefact.next_id(kind);
            self.say(ArtefactRule::WrongValue, Some(id), None);
        }
        status
    }

    fn fields(&mut self, kind: ArtefactItemKind, map: &LabelMap) -> BTreeMap<ArtefactField, ArtefactValue> {
        let mut fields = BTreeMap::new();
        for rule in kind.fields() {
            let said = match map.get(rule.field.as_str()) {
                None | Some(LabelTree::Null | LabelTree::Scalar(_)) => continue,
                Some(said) => said,
            };
            match self.value(rule.form, said) {
                Some(value) => _ = fields.insert(rule.field, value),
                None => self.say(ArtefactRule::WrongValue, None, Some(rule.field)),
            }
        }
        fields
    }

    fn value(&self, form: FieldForm, said: &LabelTree) -> Option<ArtefactValue> {
        let statement = |tree: &LabelTree| match tree {
            LabelTree::Outside(text) => Some(ArtefactStatement::inference(text.clone(), self.signals.clone())),
            _ => None,
        };
        Some(match (form, said) {
            (FieldForm::Text(_) | FieldForm::Ticket, said) => ArtefactValue::Text(statement(said)?),
            (FieldForm::Word(words), LabelTree::Outside(said)) => {
                ArtefactValue::Word(words.iter().find(|word| said.measure(|said| said == **word))?)
            }
            (FieldForm::Date, LabelTree::Outside(said)) => {
                ArtefactValue::Date(Time(said.measure(|said| parse_timestamp(said).ok())?))
            }
            (FieldForm::RaidItems(_), LabelTree::Outside(said)) => ArtefactValue::RaidItems(vec![parse_item_id(said)?]),
            (FieldForm::RaidItems(_), LabelTree::List(list)) => {
                let ids = list
                    .iter()
                    .map(|said| if let LabelTree::Outside(said) = said { parse_item_id(said) } else { None });
                ArtefactValue::RaidItems(ids.collect::<Option<_>>()?)
            }
            (FieldForm::Options(_), LabelTree::List(options)) => {
                let options = maps(Some(options)).into_iter().map(|option| {
                    let all = |name| -> Option<Vec<_>> { map_list(option, name)?.iter().map(statement).collect() };
                    let (pros, cons) = (all("pros")?, all("cons")?);
                    Some(DecisionOption { option: statement(option.get("option")?)?, pros, cons })
                });
                ArtefactValue::Options(options.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
}

pub(super) type Fields = BTreeMap<ArtefactField, ArtefactValue>;

/// Whether an item that has no id in a content is the stored one: there is one of its kind, or it says the same in the
/// fields that name it.
fn is_recognised(kind: ArtefactItemKind, stored: &Fields, said: &Fields) -> bool {
    let naming: &[ArtefactField] = match kind {
        ArtefactItemKind::Health | ArtefactItemKind::Backlog => &[],
        ArtefactItemKind::NextAction => &[ArtefactField::Action],
        ArtefactItemKind::Highlight => &[ArtefactField::TicketId, ArtefactField::Flag],
        ArtefactItemKind::RefinementCandidate => &[ArtefactField::TicketId],
        _ => &[ArtefactField::Name],
    };
    naming.iter().all(|field| match (stored.get(field), said.get(field)) {
        (Some(stored), Some(said)) => stored.says_what(said),
        _ => false,
    })
}

/// The id that a text is, as a number and back: no text of a stranger's leaves.
fn parse_item_id(said: &Untrusted<String>) -> Option<ArtefactItemId> {
    let number = said.measure(|said| ArtefactItemId::parse(said).map(|id| u64::from(id.number)))?;
    let kind = ArtefactItemKind::ALL
        .into_iter()
        .find(|kind| said.measure(|said| ArtefactItemId::parse(said).is_some_and(|id| id.kind == *kind)))?;
    Some(ArtefactItemId { kind, number: u32::try_from(number).ok()? })
}

fn map_text<'t>(map: &'t LabelMap, name: &str) -> Option<&'t Untrusted<String>> {
    if let Some(LabelTree::Outside(text)) = map.get(name) { Some(text) } else { None }
}

fn map_submap<'t>(of: &'t LabelMap, name: &str) -> Option<&'t LabelMap> {
    if let Some(LabelTree::Map(map)) = of.get(name) { Some(map) } else { None }
}

fn map_list<'t>(of: &'t LabelMap, name: &str) -> Option<&'t LabelList> {
    if let Some(LabelTree::List(list)) = of.get(name) { Some(list) } else { None }
}

fn maps(list: Option<&LabelList>) -> Vec<&LabelMap> {
    let items = list.into_iter().flat_map(LabelList::iter);
    items.filter_map(|tree| if let LabelTree::Map(map) = tree { Some(map) } else { None }).collect()
}
