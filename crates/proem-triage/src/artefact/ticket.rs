//! The state of a ticket, as one signal has it: answers of code about texts that stay where they are.

use proem_engine::effect::key::SignalRevision;
use proem_guard::{LabelMap, LabelScalar, LabelTree, Untrusted, show};

use super::{
    count::{FigurePlaces, hundredths},
    state_words::SectionStates,
    statement::ArtefactStatement,
};
use crate::{
    date::{SignalTime, parse_timestamp},
    signal::{ProjectSignal, SignalKind, SignalSource},
};

/// How far the work on a ticket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TicketProgress {
    ToDo,
    InProgress,
    Blocked,
    Done,
}

/// Whether a tracker calls a ticket done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketEnd {
    Done,
    Pending,
}

/// How urgent a ticket is, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TicketPriority {
    Critical,
    High,
    Medium,
    Low,
}

/// Names of priorities: those of Jira's two default schemes.
const PRIORITIES: [(&str, TicketPriority); 11] = [
    ("blocker", TicketPriority::Critical),
    ("critical", TicketPriority::Critical),
    ("highest", TicketPriority::Critical),
    ("high", TicketPriority::High),
    ("major", TicketPriority::High),
    ("medium", TicketPriority::Medium),
    ("normal", TicketPriority::Medium),
    ("low", TicketPriority::Low),
    ("lowest", TicketPriority::Low),
    ("minor", TicketPriority::Low),
    ("trivial", TicketPriority::Low),
];

/// Keys of Jira's status categories, which all statuses of a site have.
const CATEGORIES: [(&str, TicketProgress); 3] =
    [("new", TicketProgress::ToDo), ("indeterminate", TicketProgress::InProgress), ("done", TicketProgress::Done)];

/// The marks of a description with criteria, in lower case.
const CRITERIA: [&str; 4] = ["acceptance criteria", "acceptance criterion", "definition of done", "done when"];

/// The state of a ticket. Times are in milliseconds since 1970.
#[derive(Debug)]
pub(crate) struct TicketState {
    pub(crate) progress: Option<TicketProgress>,
    pub(crate) priority: Option<TicketPriority>,
    pub(crate) updated: Option<i64>,
    pub(crate) resolved: Option<i64>,
    /// The first change of status.
    pub(crate) started: Option<i64>,
    /// `None` if there is no description.
    pub(crate) has_criteria: Option<bool>,
    /// In hundredths.
    pub(crate) points: Option<i64>,
    pub(crate) sprints: Vec<TicketSprint>,
}

/// A sprint that a ticket is or was in.
#[derive(Debug)]
pub(crate) struct TicketSprint {
    pub(crate) name: ArtefactStatement,
    /// When it ended and what it is called, if it is closed. Compared and never shown.
    pub(crate) closed: Option<(i64, String)>,
}

impl TicketState {
    pub(crate) fn read(signal: &ProjectSignal, places: &FigurePlaces) -> Self {
        let LabelTree::Map(fields) = &signal.fields else { return Self::nothing() };
        let when = |name: &str| field_text(fields, name).and_then(text_time);
        let of_signal = || if let SignalTime::Known(time) = signal.time { Some(time.0) } else { None };
        let points = places.points.as_ref().and_then(|place| signal.fields.get(place));
        let sprints = places.sprints.as_ref().and_then(|place| signal.fields.get(place));
        Self {
            progress: named_progress(fields, &places.words),
            priority: field_text(fields, "priority").and_then(|said| word_meaning(said, &PRIORITIES)),
            updated: when("updated").or_else(of_signal),
            resolved: when("resolved"),
            started: work_start(fields),
            has_criteria: field_text(fields, "description").map(|said| {
                said.measure(|said| {
                    let said = said.to_lowercase();
                    let is_scenario = ["given ", "when ", "then "].iter().all(|word| said.contains(word));
                    is_scenario || CRITERIA.iter().any(|words| said.contains(words))
                })
            }),
            points: points.and_then(hundredths),
            sprints: match sprints {
                Some(LabelTree::List(list)) => list.iter().filter_map(|tree| ticket_sprint(tree, signal)).collect(),
                _ => Vec::new(),
            },
        }
    }

    /// Whether a tracker calls the ticket of a signal done. `None` for a signal that says nothing of it.
    ///
    /// Only a tracker's own change or listing of the ticket counts, by the closed words in it. Comments, mails and
    /// other people's lines don't.
    pub(super) fn end_of(signal: &ProjectSignal) -> Option<TicketEnd> {
        let is_tracker = matches!(signal.source, SignalSource::Jira | SignalSource::Asana);
        let is_of_ticket = matches!(signal.kind, SignalKind::TicketUpdated | SignalKind::TicketListed);
        let LabelTree::Map(fields) = &signal.fields else { return None };
        let progress = progress(fields).filter(|_| is_tracker && is_of_ticket)?;
        Some(if progress == TicketProgress::Done { TicketEnd::Done } else { TicketEnd::Pending })
    }

    const fn nothing() -> Self {
        Self {
            progress: None,
            priority: None,
            updated: None,
            resolved: None,
            started: None,
            has_criteria: None,
            points: None,
            sprints: Vec::new(),
        }
    }
}

/// The tracker's own mark, and where that leaves it open the name of the section or status.
fn named_progress(fields: &LabelMap, words: &SectionStates) -> Option<TicketProgress> {
    let marked = progress(fields);
    if marked == Some(TicketProgress::Done) {
        return marked;
    }
    let meaning = |name: &Untrusted<String>| -> Option<TicketProgress> {
        const MEANINGS: [TicketProgress; 4] =
            [TicketProgress::ToDo, TicketProgress::InProgress, TicketProgress::Blocked, TicketProgress::Done];
        MEANINGS.into_iter().find(|meaning| name.measure(|name| words.progress_of(name) == Some(*meaning)))
    };
    let moved_to = || match fields.get("change") {
        Some(LabelTree::Map(change)) => {
            let is_section = field_text(change, "field")?.measure(|field| field == "section");
            field_text(change, "to").filter(|_| is_section)
        }
        _ => None,
    };
    let by_section = field_text(fields, "section").or_else(moved_to).and_then(meaning);
    let by_status = field_text(fields, "status").and_then(meaning);
    // A category of the tracker's counts before a status' name, which tells only that work is blocked.
    let by_status = by_status.filter(|meaning| marked.is_none() || *meaning == TicketProgress::Blocked);
    by_section.or(by_status).or(marked)
}

/// Done before blocked: nobody waits for what is done.
fn progress(fields: &LabelMap) -> Option<TicketProgress> {
    let completed = match fields.get("completed") {
        Some(LabelTree::Scalar(scalar)) => scalar.measure(|scalar| match scalar {
            LabelScalar::Bool(is_done) => Some(*is_done),
            LabelScalar::Null | LabelScalar::Number(_) => None,
        }),
        _ => None,
    };
    let category = field_text(fields, "status_category").and_then(|said| word_meaning(said, &CATEGORIES));
    let by_completion = |is_done| if is_done { TicketProgress::Done } else { TicketProgress::ToDo };
    let category = category.or(completed.map(by_completion));
    let is_blocked = |said: &Untrusted<String>| said.measure(|said| said.eq_ignore_ascii_case("blocked"));
    let by_label = match fields.get("labels") {
        Some(LabelTree::List(labels)) => {
            labels.iter().any(|label| matches!(label, LabelTree::Outside(label) if is_blocked(label)))
        }
        _ => false,
    };
    let is_blocked = by_label || field_text(fields, "status").is_some_and(is_blocked);
    category.map(|category| match category {
        TicketProgress::Done => category,
        _ if is_blocked => TicketProgress::Blocked,
        _ => category,
    })
}

fn work_start(fields: &LabelMap) -> Option<i64> {
    let Some(LabelTree::List(changes)) = fields.get("changes") else { return None };
    let of_status = changes.iter().filter_map(|change| {
        let LabelTree::Map(change) = change else { return None };
        let is_status = field_text(change, "field")?.measure(|field| field == "status");
        is_status.then(|| field_text(change, "at").and_then(text_time)).flatten()
    });
    of_status.min()
}

fn ticket_sprint(tree: &LabelTree, signal: &ProjectSignal) -> Option<TicketSprint> {
    let LabelTree::Map(sprint) = tree else { return None };
    let name = field_text(sprint, "name")?;
    let is_closed =
        field_text(sprint, "state").is_some_and(|state| state.measure(|state| state.eq_ignore_ascii_case("closed")));
    let end = field_text(sprint, "endDate").and_then(text_time).filter(|_| is_closed);
    let closed = end.map(|end| (end, show::exact_json(name).as_str().unwrap_or_default().to_owned()));
    Some(TicketSprint { name: ArtefactStatement::fact(name.clone(), SignalRevision::from(signal)), closed })
}

/// The meaning of a word, in any case.
fn word_meaning<T: Copy>(said: &Untrusted<String>, words: &[(&str, T)]) -> Option<T> {
    let known = words.iter().find(|(word, _)| said.measure(|said| said.trim().eq_ignore_ascii_case(word)));
    known.map(|(_, meaning)| *meaning)
}

fn text_time(said: &Untrusted<String>) -> Option<i64> {
    said.measure(|said| parse_timestamp(said).ok())
}

fn field_text<'t>(map: &'t LabelMap, name: &str) -> Option<&'t Untrusted<String>> {
    if let Some(LabelTree::Outside(text)) = map.get(name) { Some(text) } else { None }
}
