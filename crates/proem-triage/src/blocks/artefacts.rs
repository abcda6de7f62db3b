//! The artefacts: in short, and in full.

use proem_engine::{input::Inputs, run::Time};
use proem_guard::LabelTree;

use super::{StageContext, utc_day};
use crate::{
    artefact::{
        Artefact, ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactKind, ArtefactValue,
        DecisionOption, Figure,
    },
    plan::ArtefactSet,
};

/// A day in milliseconds.
const DAY: i64 = 86_400_000;
/// How many days back a decision is recent.
const RECENT_DAYS: i64 = 7;

/// The artefacts in short: numbers, and what is open and weighs most.
pub(super) fn add_artefact_state(context: &StageContext<'_>, inputs: &mut Inputs) {
    let all = context.artefacts;
    let figure = |figure| LabelTree::from(context.figures.get(figure).to_string());
    let mut insert = |name: &str, value| drop(inputs.insert(name.to_owned(), value));
    if let Some((updated, artefact)) = written_artefact(all, ArtefactKind::DeliveryState) {
        let health = artefact.of_kind(ArtefactItemKind::Health).next().map(|(_, item)| item);
        let colour = health.and_then(|health| health.word(ArtefactField::OverallStatus)).unwrap_or("unknown");
        let summary =
            health.map_or_else(|| "unknown".into(), |health| item_text_or_none(health, ArtefactField::StatusSummary));
        let parts = [
            ("updated", updated.into()),
            ("overall_status", colour.into()),
            ("status_summary", summary),
            ("open_blockers", figure(Figure::OpenBlockers)),
            ("active_risks", figure(Figure::ActiveRisks)),
        ];
        insert("delivery", LabelTree::from(parts));
    }
    insert("blockers", LabelTree::list(all.items(ArtefactItemKind::Blocker).map(|(id, item)| blocker_tree(id, item))));
    // Before the first version there is nothing critical, which is a list without items.
    insert("critical", LabelTree::list(Vec::<LabelTree>::new()));
    if let Some((updated, artefact)) = written_artefact(all, ArtefactKind::RaidLog) {
        let open = |kind| artefact.open(kind).count();
        let is_critical = |(_, item): &(ArtefactItemId, &ArtefactItem)| item_severity(item) == "critical";
        let critical = artefact.open(ArtefactItemKind::Risk).filter(is_critical).count();
        let parts = [
            ("updated", updated.into()),
            ("open_risks", number_tree(open(ArtefactItemKind::Risk))),
            ("critical_risks", number_tree(critical)),
            ("open_issues", number_tree(open(ArtefactItemKind::Issue))),
            ("active_dependencies", number_tree(open(ArtefactItemKind::Dependency))),
        ];
        insert("raid", LabelTree::from(parts));
        let kinds = ArtefactItemKind::ALL.into_iter().filter(|kind| kind.is_raid());
        let critical = kinds.flat_map(|kind| artefact.open(kind)).filter(is_critical);
        insert("critical", LabelTree::list(critical.map(|(id, item)| critical_item(id, item))));
    }
    if let Some((updated, _)) = written_artefact(all, ArtefactKind::BacklogSummary) {
        let parts = [
            ("updated", updated.into()),
            ("total_items", figure(Figure::TotalItems)),
            ("blocked", figure(Figure::Blocked)),
            ("stale", figure(Figure::Stale)),
            ("missing_criteria", figure(Figure::MissingCriteria)),
        ];
        insert("backlog", LabelTree::from(parts));
    }
    insert("decisions", LabelTree::list(recent_decisions(all, context.now)));
}

/// An artefact that was written at least once, with the day of its version.
fn written_artefact(all: &ArtefactSet, kind: ArtefactKind) -> Option<(String, &Artefact)> {
    let artefact = all.get(kind).filter(|artefact| artefact.version() > 0)?;
    Some((artefact.updated().map_or_else(|| "unknown".to_owned(), utc_day), artefact))
}

fn number_tree(number: usize) -> LabelTree {
    LabelTree::from(u64::try_from(number).unwrap_or(u64::MAX))
}

fn item_text_or_none(item: &ArtefactItem, field: ArtefactField) -> LabelTree {
    item.text(field).map_or_else(|| "none".into(), |statement| statement.words().clone())
}

fn item_severity(item: &ArtefactItem) -> &'static str {
    item.word(ArtefactField::Severity).unwrap_or("unknown")
}

fn blocker_tree(id: ArtefactItemId, item: &ArtefactItem) -> LabelTree {
    LabelTree::from([
        ("id", id.to_string().into()),
        ("description", item_text_or_none(item, ArtefactField::Description)),
        ("owner", item_text_or_none(item, ArtefactField::Owner)),
        ("severity", item_severity(item).into()),
    ])
}

fn critical_item(id: ArtefactItemId, item: &ArtefactItem) -> LabelTree {
    LabelTree::from([
        ("id", id.to_string().into()),
        ("raid_type", id.kind.as_str().into()),
        ("title", item_text_or_none(item, ArtefactField::Title)),
        ("status", item.status.as_str().into()),
    ])
}

/// The decisions of the last days, by whole days, so that no time of day changes what is told.
fn recent_decisions(all: &ArtefactSet, now: Time) -> impl Iterator<Item = LabelTree> {
    let from = now.0.div_euclid(DAY).saturating_sub(RECENT_DAYS).saturating_mul(DAY);
    let log = all.get(ArtefactKind::DecisionLog);
    let decided = log.into_iter().flat_map(|log| log.of_kind(ArtefactItemKind::Decision));
    decided.filter_map(move |(id, item)| {
        let date = item.date(ArtefactField::Date).filter(|date| date.0 >= from)?;
        Some(LabelTree::from([
            ("id", id.to_string().into()),
            ("title", item_text_or_none(item, ArtefactField::Title)),
            ("decision", item_text_or_none(item, ArtefactField::Decision)),
            ("day", utc_day(date).into()),
        ]))
    })
}

/// All four artefacts with everything that is in them.
pub(super) fn in_full(all: &ArtefactSet) -> LabelTree {
    let items = all.iter().flat_map(|artefact| artefact.items().map(move |(id, item)| (artefact.kind(), id, item)));
    LabelTree::list(items.map(|(kind, id, item)| {
        LabelTree::from([
            ("artefact", kind.as_str().into()),
            ("id", id.to_string().into()),
            ("kind", id.kind.as_str().into()),
            ("status", item.status.as_str().into()),
            ("fields", LabelTree::list(item.fields.iter().flat_map(|(field, value)| field_lines(*field, value)))),
        ])
    }))
}

/// A field as lines of a name and a value.
fn field_lines(field: ArtefactField, value: &ArtefactValue) -> Vec<LabelTree> {
    let line = |name: &str, value: LabelTree| LabelTree::from([("name", name.into()), ("value", value)]);
    match value {
        ArtefactValue::Text(statement) => {
            vec![line(&format!("{} ({})", field.as_str(), statement.certainty().as_str()), statement.words().clone())]
        }
        ArtefactValue::Word(word) => vec![line(field.as_str(), (*word).into())],
        ArtefactValue::Date(time) => vec![line(field.as_str(), utc_day(*time).into())],
        ArtefactValue::RaidItems(items) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            vec![line(field.as_str(), items.join(", ").into())]
        }
        ArtefactValue::Options(options) => options.iter().flat_map(|option| self::option(option, line)).collect(),
    }
}

fn option(option: &DecisionOption, line: impl Fn(&str, LabelTree) -> LabelTree) -> Vec<LabelTree> {
    let pros = option.pros.iter().map(|pro| ("option, for it", pro));
    let cons = option.cons.iter().map(|con| ("option, against it", con));
    let all = std::iter::once(("option", &option.option)).chain(pros).chain(cons);
    all.map(|(name, statement)| line(name, statement.words().clone())).collect()
}
