//! Artefacts as JSON, with the names of the schemas, and what differs between two versions in words.

use std::collections::BTreeSet;

use proem_engine::run::Time;
use proem_guard::{LabelTree, show};
use serde_json::{Map, Value as Json, json};

use super::{
    field::ArtefactField as F,
    figure::{Figure, ProjectFigures},
    item::{Artefact, ArtefactItem, ArtefactValue},
    kind::{ArtefactItemId, ArtefactItemKind as K, ArtefactKind},
    statement::{ArtefactStatement, StatementOrigin},
};
use crate::date::{utc_day, utc_timestamp};

/// The most characters of a text in a difference.
const SHORT: usize = 200;

impl Artefact {
    /// The exact artefact without labels, for whoever asked for it.
    ///
    /// `content` is what the schema has for it, open items of delivery state and backlog, all items of the two logs.
    /// `over` are the others of the former two. `statements` say for each text of each item what it is worth and where
    /// it came from. Figures that are not known are null, with the reason below `figures.unknown`.
    #[must_use]
    pub fn to_json(&self, figures: Option<&ProjectFigures>) -> Json {
        let content = match self.kind() {
            ArtefactKind::DeliveryState => self.delivery_json(figures),
            ArtefactKind::BacklogSummary => self.backlog_json(figures),
            ArtefactKind::RaidLog | ArtefactKind::DecisionLog => {
                let items = self.items().map(|(id, item)| item_json(id, item));
                json!({ "items": items.collect::<Vec<_>>() })
            }
        };
        let is_log = matches!(self.kind(), ArtefactKind::RaidLog | ArtefactKind::DecisionLog);
        let over = self.items().filter(|(_, item)| item.status.is_over() && !is_log);
        let over: Vec<Json> = over.map(|(id, item)| item_json(id, item)).collect();
        let statements = self.items().map(|(id, item)| (id.to_string(), statements_json(item)));
        json!({
            "artefact": self.kind().as_str(),
            "project_id": self.project(),
            "version": self.version(),
            "updated": self.updated().map(utc_timestamp),
            "content": content,
            "over": over,
            "figures": figures.map(ProjectFigures::to_json),
            "statements": statements.collect::<Map<_, _>>(),
        })
    }

    fn all(&self, kind: K) -> Vec<Json> {
        self.open(kind).map(|(id, item)| item_json(id, item)).collect()
    }

    fn delivery_json(&self, figures: Option<&ProjectFigures>) -> Json {
        let figure = |figure| figure_json(figures, figure);
        let mut content = self.single(K::Health);
        let sprint = self.open(K::Sprint).next().map(|(id, item)| {
            let mut sprint = item_json(id, item);
            if let Json::Object(fields) = &mut sprint {
                fields.insert(
                    "progress".to_owned(),
                    json!({
                        "total_points": figure(Figure::TotalPoints),
                        "completed_points": figure(Figure::CompletedPoints),
                        "in_progress_points": figure(Figure::InProgressPoints),
                        "blocked_points": figure(Figure::BlockedPoints),
                    }),
                );
            }
            sprint
        });
        let trend = match figure(Figure::VelocityTrend) {
            Json::Null => "unknown".into(),
            trend => trend,
        };
        let actions = self.open(K::NextAction).filter_map(|(_, item)| item.fields.get(&F::Action));
        content.insert("current_sprint".to_owned(), sprint.unwrap_or_default());
        content.insert("milestones".to_owned(), self.all(K::Milestone).into());
        content.insert("blockers".to_owned(), self.all(K::Blocker).into());
        content.insert("next_actions".to_owned(), actions.map(value_json).collect());
        content.insert(
            "key_metrics".to_owned(),
            json!({
                "velocity_trend": trend,
                "avg_cycle_time_days": figure(Figure::AverageCycleTimeDays),
                "open_blockers": self.open(K::Blocker).count(),
                "active_risks": figure(Figure::ActiveRisks),
            }),
        );
        Json::Object(content)
    }

    fn backlog_json(&self, figures: Option<&ProjectFigures>) -> Json {
        let figure = |figure| figure_json(figures, figure);
        let mut content = self.single(K::Backlog);
        content.insert(
            "summary".to_owned(),
            json!({
                "total_items": figure(Figure::TotalItems),
                "by_status": {
                    "to_do": figure(Figure::ToDo),
                    "in_progress": figure(Figure::InProgress),
                    "done_this_sprint": figure(Figure::DoneThisSprint),
                    "blocked": figure(Figure::Blocked),
                },
                "by_priority": {
                    "critical": figure(Figure::PriorityCritical),
                    "high": figure(Figure::PriorityHigh),
                    "medium": figure(Figure::PriorityMedium),
                    "low": figure(Figure::PriorityLow),
                },
            }),
        );
        content.insert("highlights".to_owned(), self.all(K::Highlight).into());
        content.insert("refinement_candidates".to_owned(), self.all(K::RefinementCandidate).into());
        Json::Object(content)
    }

    /// The fields of the one item of a kind.
    fn single(&self, kind: K) -> Map<String, Json> {
        self.of_kind(kind).next().map(|(_, item)| fields_json(item)).unwrap_or_default()
    }
}

fn figure_json(figures: Option<&ProjectFigures>, figure: Figure) -> Json {
    figures.map_or(Json::Null, |figures| figures.get(figure).to_json())
}

fn fields_json(item: &ArtefactItem) -> Map<String, Json> {
    item.fields.iter().map(|(field, value)| (field.as_str().to_owned(), value_json(value))).collect()
}

fn item_json(id: ArtefactItemId, item: &ArtefactItem) -> Json {
    let mut fields = fields_json(item);
    fields.insert("id".to_owned(), id.to_string().into());
    fields.insert("status".to_owned(), item.status.as_str().into());
    if id.kind.is_raid() {
        fields.insert("type".to_owned(), id.kind.as_str().into());
    }
    if let Some([linked]) = item.fields.get(&F::RaidItem).map(|_| item.raid_items(F::RaidItem)) {
        fields.insert(F::RaidItem.as_str().to_owned(), linked.to_string().into());
    }
    Json::Object(fields)
}

pub(super) fn value_json(value: &ArtefactValue) -> Json {
    let text = |statement: &ArtefactStatement| show::tree_json(statement.words());
    match value {
        ArtefactValue::Text(statement) => text(statement),
        ArtefactValue::Word(word) => (*word).into(),
        ArtefactValue::Date(time) => utc_timestamp(*time).into(),
        ArtefactValue::RaidItems(items) => items.iter().map(ToString::to_string).collect(),
        ArtefactValue::Options(options) => {
            let options = options.iter().map(|option| {
                let all = |all: &[ArtefactStatement]| all.iter().map(text).collect::<Vec<_>>();
                json!({ "option": text(&option.option), "pros": all(&option.pros), "cons": all(&option.cons) })
            });
            options.collect()
        }
    }
}

/// The certainty and the origin of each text of an item, by field.
fn statements_json(item: &ArtefactItem) -> Json {
    let mut all: Map<String, Json> = Map::new();
    for (field, statement) in item.statements() {
        let origins = statement.origins().iter().map(|origin| match origin {
            StatementOrigin::Signal(signal) => json!({ "signal": signal.id, "revision": signal.revision }),
            StatementOrigin::Person(person) => json!({ "person": person }),
        });
        let told = json!({ "certainty": statement.certainty().as_str(), "origins": origins.collect::<Vec<_>>() });
        if let Json::Array(told_of_field) = all.entry(field.as_str()).or_insert_with(|| json!([])) {
            told_of_field.push(told);
        }
    }
    Json::Object(all)
}

/// The differences between two versions of an artefact, a line each. Each begins with the id of its item. Times are
/// those of clocks that are this many milliseconds ahead of UTC.
#[must_use]
pub fn artefact_difference(before: &Artefact, after: &Artefact, ahead_of_utc: i64) -> Vec<String> {
    let ids: BTreeSet<ArtefactItemId> = before.items().chain(after.items()).map(|(id, _)| id).collect();
    let mut lines = Vec::new();
    for id in ids {
        match (before.item(id), after.item(id)) {
            (None, Some(item)) => {
                lines.push(format!("{id} added as {}{}", item.status, item_name(id, item)));
            }
            (Some(item), None) => lines.push(format!("{id} not there yet{}", item_name(id, item))),
            (Some(old), Some(new)) => differing(id, (old, new), ahead_of_utc, &mut lines),
            (None, None) => {}
        }
    }
    // Lines go to terminals and to CI runners, which obey some texts wherever they are.
    lines.iter().map(|line| show::safe_report(line).into_owned()).collect()
}

/// An item's name: the first text it has.
fn item_name(id: ArtefactItemId, item: &ArtefactItem) -> String {
    let first = id.kind.fields().iter().find_map(|rule| item.text(rule.field));
    first.map(|text| format!(": {}", quote_statement(text))).unwrap_or_default()
}

fn differing(
    id: ArtefactItemId,
    (old, new): (&ArtefactItem, &ArtefactItem),
    ahead_of_utc: i64,
    lines: &mut Vec<String>,
) {
    let in_words = |value: &ArtefactValue| value_words(value, ahead_of_utc);
    if old.status != new.status {
        lines.push(format!("{id} went from {} to {}", old.status, new.status));
    }
    for rule in id.kind.fields() {
        let name = rule.field.as_str();
        match (old.fields.get(&rule.field), new.fields.get(&rule.field)) {
            (Some(old), Some(new)) if old.says_what(new) && old != new => {
                lines.push(format!("{id} {name}: says the same, from elsewhere"));
            }
            (Some(old), Some(new)) if old != new => {
                lines.push(format!("{id} {name}: {} became {}", in_words(old), in_words(new)));
            }
            (None, Some(new)) => lines.push(format!("{id} {name}: {} came in", in_words(new))),
            (Some(old), None) => lines.push(format!("{id} {name}: {} not there yet", in_words(old))),
            _ => {}
        }
    }
}

fn value_words(value: &ArtefactValue, ahead_of_utc: i64) -> String {
    match value {
        ArtefactValue::Text(statement) => quote_statement(statement),
        ArtefactValue::Word(word) => (*word).to_owned(),
        ArtefactValue::Date(time) => wall_clock_words(*time, ahead_of_utc),
        ArtefactValue::RaidItems(items) => items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        ArtefactValue::Options(options) => {
            let options: Vec<String> = options.iter().map(|option| quote_statement(&option.option)).collect();
            options.join(", ")
        }
    }
}

/// A time to the minute. One that represents a whole day is that day in every zone.
fn wall_clock_words(time: Time, ahead_of_utc: i64) -> String {
    const DAY: i64 = 86_400_000;
    if time.0.rem_euclid(DAY) == 0 {
        return utc_day(time);
    }
    let shown = utc_timestamp(Time(time.0.saturating_add(ahead_of_utc)));
    shown.get(..16).unwrap_or_default().replace('T', " ")
}

/// A text on one line, capped, between quotation marks.
fn quote_statement(statement: &ArtefactStatement) -> String {
    let shown = match statement.words() {
        LabelTree::Text(text) => show::terminal_str(text),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => show::terminal_capped(text, SHORT),
        _ => return String::new(),
    };
    format!("“{shown}”")
}
