//! Changes of artefacts as something that a person may choose.
//!
//! Code makes an offer of operations that wait for a person, and reads them back once the person has chosen it. Laws:
//! what is read is what was offered, but for the ids of new items. A change of something that says something else by
//! then is refused. All texts are inferences under the label of the offer.

use std::collections::BTreeMap;

use proem_engine::effect::key::SignalRevision;
use proem_guard::{LabelTree, Untrusted};
use proem_text::Label;
use serde_json::{Map, Value as Json, json};

use super::{
    ending::{OperationBearing, changed_fields, field_bearing},
    export::value_json,
    item::{Artefact, ArtefactItem, ArtefactValue},
    kind::{ArtefactItemId, ArtefactItemKind, ItemStatus},
    operation::ArtefactOperation,
    proposal::ProposalReader,
    rule::{ArtefactRule, RuleViolation},
};

/// Changes that wait for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeOffer {
    /// The changes as a text that [`offered_operations`] reads, under the join of all their labels.
    pub content: Untrusted<String>,
    /// The same for the person: a line for each thing that would change.
    pub shown: LabelTree,
    /// The items that would change or be added, in order.
    pub items: Vec<ArtefactItemId>,
}

impl ChangeOffer {
    /// Whether a text is the content of an offer. Code makes these alone: what a model words is taken for none.
    #[must_use]
    pub fn is_one(content: &Untrusted<String>) -> bool {
        content.measure(|text| text.starts_with(BEGIN))
    }
}

/// How the content of an offer begins.
const BEGIN: &str = "{\"changes\":[";

/// An offer of operations on these artefacts. `None` if they change nothing. `label` is that of whoever proposes them.
#[must_use]
pub fn change_offer(artefacts: &[&Artefact], operations: &[ArtefactOperation], label: &Label) -> Option<ChangeOffer> {
    let mut offer =
        OfferWriter { artefacts, label: label.clone(), entries: Vec::new(), lines: Vec::new(), items: Vec::new() };
    for operation in operations {
        match operation {
            ArtefactOperation::Add { id, kind, status, fields } => {
                offer.add(*id, *kind, status.unwrap_or(kind.first_status()), fields);
            }
            ArtefactOperation::Modify { id, changes, reason } => {
                let item = offer.item(*id);
                for (field, before, after) in changed_fields(item, changes) {
                    offer.change(*id, field.as_str(), (before, after), reason.words());
                }
            }
            ArtefactOperation::ChangeStatus { id, to, reason } => offer.status(*id, *to, reason.words()),
            ArtefactOperation::Close { id, reason } => offer.status(*id, id.kind.last_status(), reason.words()),
        }
    }
    if offer.entries.is_empty() {
        return None;
    }
    offer.items.dedup();
    let content = Untrusted::new(json!({ "changes": offer.entries }).to_string(), offer.label);
    Some(ChangeOffer { content, shown: LabelTree::list(offer.lines), items: offer.items })
}

struct OfferWriter<'a> {
    artefacts: &'a [&'a Artefact],
    label: Label,
    entries: Vec<Json>,
    lines: Vec<LabelTree>,
    items: Vec<ArtefactItemId>,
}

impl<'a> OfferWriter<'a> {
    fn artefact(&self, kind: ArtefactItemKind) -> Option<&'a Artefact> {
        self.artefacts.iter().copied().find(|artefact| artefact.kind() == kind.artefact())
    }

    fn item(&self, id: ArtefactItemId) -> Option<&'a ArtefactItem> {
        self.artefact(id.kind)?.item(id)
    }

    /// The item's name as a line shows it.
    fn called(&self, id: ArtefactItemId) -> LabelTree {
        self.item(id).and_then(ArtefactItem::heading).map_or(LabelTree::Null, |heading| heading.words().clone())
    }

    fn push(&mut self, id: ArtefactItemId, entry: Map<String, Json>, line: Vec<(&str, LabelTree)>) {
        for (_, part) in &line {
            self.label = self.label.join(&part.label());
        }
        self.entries.push(Json::Object(entry));
        self.lines.push(LabelTree::map(line.into_iter().filter(|(_, part)| *part != LabelTree::Null)));
        self.items.push(id);
    }

    fn change(
        &mut self,
        id: ArtefactItemId,
        field: &str,
        (before, after): (Option<&ArtefactValue>, &ArtefactValue),
        reason: &LabelTree,
    ) {
        let entry = change_entry(id, field, (before.map(value_json), value_json(after)), reason);
        let shown = |value: Option<&ArtefactValue>| value.map_or(LabelTree::Null, proposed_value_tree);
        let line = vec![
            ("item", LabelTree::from(id.to_string())),
            ("called", self.called(id)),
            ("field", field.into()),
            ("says", shown(before)),
            ("would say", shown(Some(after))),
            ("because", reason.clone()),
        ];
        self.push(id, entry, line);
    }

    fn status(&mut self, id: ArtefactItemId, to: ItemStatus, reason: &LabelTree) {
        let from = self.item(id).map(|item| item.status);
        let is_first = !self.items.contains(&id);
        let before = from.filter(|_| is_first).map(|from| from.as_str().into());
        let entry = change_entry(id, "status", (before, to.as_str().into()), reason);
        let line = vec![
            ("item", LabelTree::from(id.to_string())),
            ("called", self.called(id)),
            ("stands", from.map_or(LabelTree::Null, |from| from.as_str().into())),
            ("would stand", to.as_str().into()),
            ("because", reason.clone()),
        ];
        self.push(id, entry, line);
    }

    fn add(
        &mut self,
        id: Option<ArtefactItemId>,
        kind: ArtefactItemKind,
        status: ItemStatus,
        fields: &super::proposal::Fields,
    ) {
        let added = self.items.iter().filter(|id| id.kind == kind).map(|id| id.number.saturating_add(1)).max();
        let first = self.artefact(kind).map_or(1, |artefact| artefact.next_id(kind).number);
        let id = id.unwrap_or(ArtefactItemId { kind, number: added.unwrap_or(first).max(first) });
        let mut entry: Map<String, Json> =
            fields.iter().map(|(field, value)| (field.as_str().to_owned(), value_json(value))).collect();
        entry.insert("new".to_owned(), id.to_string().into());
        entry.insert("status".to_owned(), status.as_str().into());
        let mut line = vec![("new item", LabelTree::from(id.to_string())), ("would stand", status.as_str().into())];
        line.extend(fields.iter().map(|(field, value)| (field.as_str(), proposed_value_tree(value))));
        self.push(id, entry, line);
    }
}

fn change_entry(
    id: ArtefactItemId,
    field: &str,
    (before, after): (Option<Json>, Json),
    reason: &LabelTree,
) -> Map<String, Json> {
    let mut entry = Map::new();
    entry.insert("id".to_owned(), id.to_string().into());
    entry.insert("changes".to_owned(), json!({ field: after }));
    entry.insert("change_reason".to_owned(), proem_guard::show::tree_json(reason));
    entry.extend(before.map(|before| ("from".to_owned(), json!({ field: before }))));
    entry
}

fn proposed_value_tree(value: &ArtefactValue) -> LabelTree {
    match value {
        ArtefactValue::Text(statement) => statement.words().clone(),
        ArtefactValue::Options(options) => LabelTree::list(options.iter().map(|option| option.option.words().clone())),
        other => match value_json(other) {
            Json::String(word) => word.as_str().into(),
            other => other.to_string().as_str().into(),
        },
    }
}

/// The operations of an offer that a person has chosen, against the artefacts as they are by now. `causes` are the
/// signals that led to it.
///
/// # Errors
///
/// Everything that can't be read, and every change of something that says something else by now.
pub fn offered_operations(
    artefacts: &[&Artefact],
    content: &Untrusted<String>,
    causes: &[SignalRevision],
) -> Result<Vec<ArtefactOperation>, Vec<RuleViolation>> {
    let wrong = || vec![RuleViolation { rule: ArtefactRule::WrongValue, item: None, field: None, operation: None }];
    let json = content.clone().map(|text| serde_json::from_str::<Json>(&text).unwrap_or(Json::Null));
    let Ok(LabelTree::Map(offer)) = LabelTree::from_outside(&json) else { return Err(wrong()) };
    let Some(LabelTree::List(entries)) = offer.get("changes") else { return Err(wrong()) };
    let (mut operations, mut violations) = (Vec::new(), Vec::new());
    let mut numbered = BTreeMap::new();
    for entry in entries.iter() {
        let LabelTree::Map(entry) = entry else { return Err(wrong()) };
        let (Some(id), is_new) = ProposalReader::offered_item(entry) else { return Err(wrong()) };
        let artefact = artefacts.iter().copied().find(|artefact| artefact.kind() == id.kind.artefact());
        let Some(artefact) = artefact else { return Err(wrong()) };
        let mut reader = ProposalReader::new(artefact, causes.to_vec());
        if is_new {
            reader.read_offered_item(number_anew(artefact, id, &mut numbered), entry);
        } else {
            reader.read_modification(id, entry);
            if let Some(LabelTree::Map(from)) = entry.get("from") {
                let mut before = ProposalReader::new(artefact, causes.to_vec());
                before.read_modification(
                    id,
                    &proem_guard::LabelMap::new(Label::trusted(), [("changes", LabelTree::Map(from.clone()))]),
                );
                violations.extend(before.operations.iter().filter_map(|was| moved_on(artefact, was)));
            }
        }
        reader.operations.iter_mut().for_each(|operation| link_anew(operation, &numbered));
        operations.append(&mut reader.operations);
        violations.append(&mut reader.violations);
    }
    if violations.is_empty() { Ok(operations) } else { Err(violations) }
}

/// The id that a new item gets by now, whatever it was to have when it was offered.
fn number_anew(
    artefact: &Artefact,
    offered: ArtefactItemId,
    numbered: &mut BTreeMap<ArtefactItemId, ArtefactItemId>,
) -> ArtefactItemId {
    let next = artefact.next_id(offered.kind);
    let before = numbered.keys().filter(|known| known.kind == offered.kind).count();
    let number = next.number.saturating_add(u32::try_from(before).unwrap_or(u32::MAX));
    let id = ArtefactItemId { number, ..next };
    numbered.insert(offered, id);
    id
}

/// Links to new items of the same offer by the ids that these have got.
fn link_anew(operation: &mut ArtefactOperation, numbered: &BTreeMap<ArtefactItemId, ArtefactItemId>) {
    let ArtefactOperation::Add { fields, .. } = operation else { return };
    for value in fields.values_mut() {
        let ArtefactValue::RaidItems(items) = value else { continue };
        for item in items {
            *item = numbered.get(item).copied().unwrap_or(*item);
        }
    }
}

/// That an item no longer stands as it did when a change of it was offered. Words that go with an item don't matter.
fn moved_on(artefact: &Artefact, was: &ArtefactOperation) -> Option<RuleViolation> {
    let id = was.item()?;
    let item = artefact.item(id)?;
    let moved = |field| RuleViolation { rule: ArtefactRule::MovedOn, item: Some(id), field, operation: None };
    match was {
        ArtefactOperation::ChangeStatus { to, .. } => (item.status != *to).then(|| moved(None)),
        ArtefactOperation::Modify { changes, .. } => changes
            .iter()
            .find(|(field, was)| {
                let is = item.fields.get(field);
                is.is_none_or(|is| !is.says_what(was)) && matters(**field, is)
            })
            .map(|(field, _)| moved(Some(*field))),
        ArtefactOperation::Add { .. } | ArtefactOperation::Close { .. } => None,
    }
}

/// Whether a field is more than words that go with an item: whether anything that it could say softens.
fn matters(field: super::field::ArtefactField, is: Option<&ArtefactValue>) -> bool {
    let other = ArtefactValue::RaidItems(Vec::new());
    field_bearing(field, is, &other) != OperationBearing::Neutral
}
