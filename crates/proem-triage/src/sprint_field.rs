//! The sprints that a ticket's own fields tell of, whatever an installation calls the field.
//!
//! Source: Atlassian, "Sprint" of the Jira Software API
//! (<https://developer.atlassian.com/cloud/jira/software/rest/api-group-sprint/>): a sprint has `name`, `state` (future,
//! active or closed), `startDate`, `endDate` and `goal`. An issue has its sprints in a custom field.
//!
//! Invariant: only a tracker's own listing or change of a ticket tells of a sprint. Its texts stay under their labels.

use proem_guard::{LabelMap, LabelTree, Untrusted};

use super::{
    date::parse_timestamp,
    signal::{ProjectSignal, SignalKind, SignalSource},
};

/// The most sprints of a ticket that are read.
const MOST: usize = 50;
/// The most fields of an issue that are looked through.
const MOST_FIELDS: usize = 2_000;

/// How far a sprint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SprintState {
    Future,
    Active,
    Closed,
}

/// A sprint as a field has it. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldSprint<'s> {
    pub(crate) name: &'s Untrusted<String>,
    pub(crate) goal: Option<&'s Untrusted<String>>,
    pub(crate) state: SprintState,
    pub(crate) start: Option<i64>,
    pub(crate) end: Option<i64>,
}

/// The sprints of a ticket, in the order in which it names them.
pub(crate) fn field_sprints(signal: &ProjectSignal) -> Vec<FieldSprint<'_>> {
    let is_ticket = matches!(
        signal.kind,
        SignalKind::TicketListed | SignalKind::TicketCreated | SignalKind::TicketUpdated | SignalKind::CommentCreated
    );
    let other = match &signal.fields {
        LabelTree::Map(fields) if is_ticket && signal.source == SignalSource::Jira => as_map(fields.get("other")),
        _ => None,
    };
    let Some(other) = other else { return Vec::new() };
    // An issue of a search has its fields here, and one of a webhook below it.
    let listed = as_map(other.get("fields"));
    let told = as_map(other.get("issue")).and_then(|issue| as_map(issue.get("fields")));
    let fields = [listed, told].into_iter().flatten().flat_map(|fields| fields.iter().take(MOST_FIELDS));
    let lists = fields.filter_map(|(_, value)| if let LabelTree::List(list) = value { Some(list) } else { None });
    lists.flat_map(|list| list.iter().filter_map(sprint_from_shape)).take(MOST).collect()
}

/// A value that is a sprint by its shape: what else has a name and a state has no dates and no board.
fn sprint_from_shape(value: &LabelTree) -> Option<FieldSprint<'_>> {
    let sprint = as_map(Some(value))?;
    let text = |name: &str| match sprint.get(name) {
        Some(LabelTree::Outside(text)) => Some(text),
        _ => None,
    };
    let state = text("state")?;
    let is = |word: &str| state.measure(|state| state.eq_ignore_ascii_case(word));
    let states = [("future", SprintState::Future), ("active", SprintState::Active), ("closed", SprintState::Closed)];
    let (_, state) = states.into_iter().find(|(word, _)| is(word))?;
    // `written` is the text that Jira Server's sprints are read from.
    let is_sprint = ["startDate", "endDate", "boardId", "originBoardId", "rapidViewId", "written"]
        .iter()
        .any(|name| sprint.get(name).is_some_and(|value| *value != LabelTree::Null));
    let date = |name: &str| text(name).and_then(|text| text.measure(|text| parse_timestamp(text).ok()));
    let goal = text("goal").filter(|goal| goal.measure(|goal| !goal.trim().is_empty()));
    let name = text("name").filter(|_| is_sprint)?;
    Some(FieldSprint { name, goal, state, start: date("startDate"), end: date("endDate") })
}

fn as_map(tree: Option<&LabelTree>) -> Option<&LabelMap> {
    if let Some(LabelTree::Map(map)) = tree { Some(map) } else { None }
}
