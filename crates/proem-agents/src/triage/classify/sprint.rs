//! Whether a ticket is in a sprint that runs.
//!
//! Jira keeps sprints in a field whose name each installation chooses, so the field is known by its form: a list of
//! objects with a name, a state and the sprint's days or board (Jira Cloud), or a list of texts that name the sprint's class
//! (Jira Server). Source: Atlassian, "Sprint" (<https://developer.atlassian.com/cloud/jira/software/rest/api-group-sprint/>).

use proem_guard::{LabelScalar, LabelTree};

use crate::triage::signal::ProjectSignal;

/// What a sprint has beside its name and state, in Jira Cloud.
const OF_SPRINTS: [&str; 4] = ["boardId", "startDate", "endDate", "goal"];
/// What the text of a sprint names in Jira Server, and how it says that the sprint runs.
const CLASS: &str = "greenhopper.service.sprint.Sprint@";
const RUNS: &str = "state=ACTIVE";

/// Whether one of the ticket's sprints runs.
pub(super) fn is_in_running_sprint(signal: &ProjectSignal) -> bool {
    issue_fields(signal).is_some_and(|fields| match fields {
        LabelTree::Map(fields) => fields.iter().any(|(_, field)| match field {
            LabelTree::List(sprints) => sprints.iter().any(is_running_sprint),
            _ => false,
        }),
        _ => false,
    })
}

/// Whether the ticket is a part of another one: what it adds was agreed with that.
pub(super) fn is_subtask(signal: &ProjectSignal) -> bool {
    let kind = issue_fields(signal).and_then(|fields| below(fields, "issuetype"));
    kind.and_then(|kind| below(kind, "subtask")).is_some_and(|is_subtask| match is_subtask {
        LabelTree::Scalar(scalar) => scalar.measure(|scalar| *scalar == LabelScalar::Bool(true)),
        _ => false,
    })
}

/// The fields of a ticket that have no name of ours.
fn issue_fields(signal: &ProjectSignal) -> Option<&LabelTree> {
    ["other", "issue", "fields"].into_iter().try_fold(&signal.fields, below)
}

fn below<'t>(tree: &'t LabelTree, name: &str) -> Option<&'t LabelTree> {
    if let LabelTree::Map(map) = tree { map.get(name) } else { None }
}

fn is_running_sprint(sprint: &LabelTree) -> bool {
    let says = |tree: Option<&LabelTree>, is_so: &dyn Fn(&str) -> bool| match tree {
        Some(LabelTree::Outside(text) | LabelTree::Flagged(text)) => text.measure(|text| is_so(text)),
        _ => false,
    };
    match sprint {
        LabelTree::Map(map) => {
            map.get("name").is_some()
                && OF_SPRINTS.iter().any(|name| map.get(name).is_some())
                && says(map.get("state"), &|state| state.eq_ignore_ascii_case("active"))
        }
        text => says(Some(text), &|text| text.contains(CLASS) && text.contains(RUNS)),
    }
}
