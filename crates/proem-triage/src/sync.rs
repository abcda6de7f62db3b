//! Reads live sources of signals as their providers document them: Jira Cloud, Microsoft Graph and Asana.
//!
//! A [`SyncWalk`] says which request to send next and takes its answer, so a whole reading is a value that a test can
//! drive without a network. It gives the same JSON values that a file or a webhook holds, for [`crate::normalise_value`]
//! to read: an issue that comes both ways is one signal.
//!
//! Invariants: every request only reads, and goes to the address of the plan. A cursor is given only with the values
//! before it, so that whoever stores values first and the cursor after loses nothing. A walk that is begun again from an
//! older cursor gives the same values again. Pages that lead in a circle end the walk. No clock of ours decides what is
//! read.

mod asana;
mod graph;
mod jira;
mod query;
mod walk;

use serde_json::Value as Json;

use self::walk::check_status;
pub use self::walk::{SyncAnswer, SyncFault, SyncPage, SyncPlan, SyncRequest, SyncSystem, SyncWalk};
use self::{asana::AsanaWalk, graph::GraphWalk, jira::JiraWalk};

/// Begins to read a source where `cursor` says, or from its beginning. A cursor that is none of this source's counts as
/// no cursor: it costs a longer reading and loses nothing.
#[must_use]
pub fn begin_walk(plan: &SyncPlan, cursor: Option<&Json>) -> Box<dyn SyncWalk> {
    match plan.system {
        SyncSystem::Jira => Box::new(JiraWalk::new(plan.clone(), cursor)),
        SyncSystem::Graph => Box::new(GraphWalk::new(plan.clone(), cursor)),
        SyncSystem::Asana => Box::new(AsanaWalk::new(plan.clone(), cursor)),
    }
}

/// The kind of a single object that a source reported by its id alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncObject {
    /// An issue of Jira or a task of Asana.
    Ticket,
    /// A story of Asana, such as a comment.
    Comment,
    /// A mail.
    Message,
}

/// The request for one object by its id, as a webhook names it. `None` if the system has no such object, or nothing can
/// have that id.
#[must_use]
pub fn object_request(plan: &SyncPlan, object: SyncObject, id: &str) -> Option<SyncRequest> {
    let is_id = (1..=512).contains(&id.len()) && !id.chars().any(char::is_control) && !matches!(id, "." | "..");
    match (plan.system, object) {
        _ if !is_id => None,
        (SyncSystem::Jira, SyncObject::Ticket) => Some(jira::issue_request(plan, id)),
        (SyncSystem::Graph, SyncObject::Message) => Some(graph::message_request(plan, id)),
        (SyncSystem::Asana, SyncObject::Ticket) => Some(asana::task_request(plan, id)),
        (SyncSystem::Asana, SyncObject::Comment) => Some(asana::story_request(plan, id)),
        _ => None,
    }
}

/// The value of an object's answer. `None` if there is no such object any more.
///
/// # Errors
///
/// [`SyncFault`] for any other refusal.
pub fn object_value(answer: SyncAnswer) -> Result<Option<Json>, SyncFault> {
    if matches!(answer.status, 404 | 410) {
        return Ok(None);
    }
    check_status(answer.status, "the object").map(|()| Some(answer.body))
}

#[cfg(test)]
mod tests;
