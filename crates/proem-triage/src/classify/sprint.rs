//! Whether a ticket is in a sprint that runs.

use proem_guard::{LabelScalar, LabelTree};

use crate::{
    signal::ProjectSignal,
    sprint_field::{SprintState, field_sprints},
};

/// Whether one of the ticket's sprints runs.
pub(super) fn is_in_running_sprint(signal: &ProjectSignal) -> bool {
    field_sprints(signal).iter().any(|sprint| sprint.state == SprintState::Active)
}

/// Whether the ticket is a part of another one: what it adds was agreed with that.
pub(super) fn is_subtask(signal: &ProjectSignal) -> bool {
    let kind = issue_fields(signal).and_then(|fields| subtree(fields, "issuetype"));
    kind.and_then(|kind| subtree(kind, "subtask")).is_some_and(|is_subtask| match is_subtask {
        LabelTree::Scalar(scalar) => scalar.measure(|scalar| *scalar == LabelScalar::Bool(true)),
        _ => false,
    })
}

/// The fields of a ticket that have no name of ours.
fn issue_fields(signal: &ProjectSignal) -> Option<&LabelTree> {
    ["other", "issue", "fields"].into_iter().try_fold(&signal.fields, subtree)
}

fn subtree<'t>(tree: &'t LabelTree, name: &str) -> Option<&'t LabelTree> {
    if let LabelTree::Map(map) = tree { map.get(name) } else { None }
}
