//! Asana: events of webhooks and streams, tasks, and stories.
//!
//! Sources: Asana, "Events" (<https://developers.asana.com/reference/events>), "Webhooks"
//! (<https://developers.asana.com/reference/webhooks>), "Tasks" (<https://developers.asana.com/reference/tasks>) and
//! "Stories" (<https://developers.asana.com/reference/stories>).

use serde_json::{Map, Value as Json, json};

use super::{
    fields::{take_text, take_value, text_at, text_or_digits},
    recognise::is_identifier,
};
use crate::{
    date,
    draft::{DraftKind, DraftSender, IdPart, SignalDraft},
    signal::{SenderAuthentication, SignalKind, SignalSource},
};

/// How long the making of a task takes at most, in milliseconds: its own fields are set one after another.
const MOMENT: u64 = 60_000;

/// The missing part of a task or a story.
pub(super) fn asana_fault(body: &Map<String, Json>) -> Option<&'static str> {
    let is_named = body.get("gid").is_some_and(is_identifier);
    (!is_named).then_some("a task or story without `gid`; nothing tells which one it is")
}

/// The missing part of an event.
pub(super) fn event_fault(body: &Map<String, Json>) -> Option<&'static str> {
    let has_resource = body.get("resource").and_then(|resource| resource.get("gid")).is_some_and(is_identifier);
    let has_action = body.get("action").is_some_and(Json::is_string);
    (!has_resource || !has_action).then_some("an event without `resource.gid` or `action`; nothing tells what happened")
}

/// An event. It has no id of its own: what it says tells it from others.
pub(super) fn asana_event_draft(mut body: Map<String, Json>) -> SignalDraft {
    let event = Json::Object(body.clone());
    let text = |pointer: &str| text_at(&event, pointer);
    let resource = text("/resource/gid").unwrap_or_default();
    let parts = ["/action", "/created_at", "/change/field", "/change/action", "/parent/gid", "/user/gid"];
    let parts: Vec<String> = parts.into_iter().map(|pointer| text(pointer).unwrap_or_default()).collect();
    let identity = vec![IdPart::Word("event"), IdPart::Said(resource.clone()), IdPart::Said(parts.join("\n"))];
    let kind = text("/resource/resource_type").or_else(|| text("/type")).unwrap_or_default();
    let is_comment = text("/resource/resource_subtype").is_none_or(|subtype| subtype == "comment_added");
    let action = text("/action").unwrap_or_default();
    let mut draft = SignalDraft::new(SignalSource::Asana, event_kind(&kind, &action, is_comment), identity);
    draft.time = body.remove("created_at").filter(|time| !time.is_null());
    draft.sender = body.get("user").and_then(asana_user);
    let parent = |kind: &str| text("/parent/gid").filter(|_| text("/parent/resource_type").as_deref() == Some(kind));
    draft.ticket = if kind == "task" { Some(resource) } else { parent("task") };
    draft.project = parent("project");
    let parent_name = text("/parent/name");
    // A comment has no name. It is about the task above it.
    draft.summary = text("/resource/name").or_else(|| parent_name.filter(|_| kind == "story"));
    let change = take_value(&mut body, "change");
    let told = text("/resource/resource_subtype")
        .and_then(|subtype| story_change(&subtype, text("/resource/text").as_deref()));
    draft.field("change", if change.is_null() { told.unwrap_or_default() } else { change });
    draft.field("parent", take_value(&mut body, "parent"));
    // The names of these two are in the event if it was asked for with them.
    if let Some(resource) = body.get_mut("resource").and_then(Json::as_object_mut) {
        draft.field("completed", take_value(resource, "completed"));
        if is_comment {
            draft.field("comment", take_value(resource, "text"));
        }
    }
    draft.field("event", Json::from(action));
    draft.field("other", Json::Object(body));
    draft
}

/// `removed` is said of what left a project or a section, which is there still.
fn event_kind(kind: &str, action: &str, is_comment: bool) -> DraftKind {
    use SignalKind::{CommentCreated, CommentDeleted, CommentUpdated, TicketCreated, TicketDeleted, TicketUpdated};
    DraftKind::Known(match (kind, action) {
        ("task", "added") => TicketCreated,
        ("task", "changed" | "removed" | "undeleted") => TicketUpdated,
        ("task", "deleted") => TicketDeleted,
        ("story", "added" | "undeleted") if is_comment => CommentCreated,
        ("story", "changed") if is_comment => CommentUpdated,
        ("story", "deleted" | "removed") if is_comment => CommentDeleted,
        // Asana's own entries below a task are changes of the task.
        ("story", "added" | "changed") => TicketUpdated,
        _ => return DraftKind::Unknown(format!("{kind}:{action}")),
    })
}

/// A task as it is.
pub(super) fn asana_task_draft(mut body: Map<String, Json>) -> SignalDraft {
    let gid = body.get("gid").and_then(text_or_digits).unwrap_or_default();
    let identity = vec![IdPart::Word("task"), IdPart::Said(gid.clone())];
    let kind = if is_untouched(&body) { SignalKind::TicketCreated } else { SignalKind::TicketListed };
    let mut draft = SignalDraft::new(SignalSource::Asana, DraftKind::Known(kind), identity);
    draft.time = body.get("modified_at").filter(|time| !time.is_null()).cloned();
    draft.sender = body.get("created_by").and_then(asana_user);
    draft.summary = take_text(&mut body, "name");
    draft.field("description", take_value(&mut body, "notes"));
    draft.field("html_notes", take_value(&mut body, "html_notes"));
    let whole = Json::Object(body);
    let text = |pointer: &str| text_at(&whole, pointer);
    draft.project = text("/memberships/0/project/gid").or_else(|| text("/projects/0/gid"));
    let named = [
        ("assignee", text("/assignee/name"), "assignee"),
        ("due", text("/due_at").or_else(|| text("/due_on")), "due_on"),
        ("section", text("/memberships/0/section/name"), ""),
        ("project_name", text("/memberships/0/project/name").or_else(|| text("/projects/0/name")), ""),
        ("parent", text("/parent/gid"), "parent"),
        ("created", text("/created_at"), ""),
        ("updated", text("/modified_at"), ""),
        ("resolved", text("/completed_at"), "completed_at"),
    ];
    for (ours, value, theirs) in named {
        let is_unset = whole.get(theirs).is_some_and(Json::is_null);
        draft.named_field(ours, value.map(Json::from).or(is_unset.then_some(Json::Null)));
    }
    draft.ticket = Some(gid);
    let Json::Object(mut body) = whole else { return draft };
    for name in ["completed", "custom_fields", "tags"] {
        draft.field(name, take_value(&mut body, name));
    }
    draft.field("other", Json::Object(body));
    draft
}

/// Whether nobody has changed an open task since it was made: what it says is new to everybody, for an event that it was
/// made says nothing of it.
fn is_untouched(body: &Map<String, Json>) -> bool {
    let time = |name: &str| body.get(name).and_then(Json::as_str).and_then(|text| date::parse_timestamp(text).ok());
    let age = time("created_at").zip(time("modified_at")).map(|(created, modified)| modified.abs_diff(created));
    let is_open = body.get("completed").and_then(Json::as_bool) != Some(true);
    is_open && age.is_some_and(|age| age <= MOMENT)
}

/// A comment, or what Asana wrote below a task.
pub(super) fn story(mut body: Map<String, Json>) -> SignalDraft {
    let gid = body.get("gid").and_then(text_or_digits).unwrap_or_default();
    let identity = vec![IdPart::Word("story"), IdPart::Said(gid)];
    let says = |name: &str, word: &str| body.get(name).and_then(Json::as_str) == Some(word);
    let is_comment = says("resource_subtype", "comment_added") || says("type", "comment");
    let kind = if is_comment { SignalKind::CommentCreated } else { SignalKind::TicketUpdated };
    let mut draft = SignalDraft::new(SignalSource::Asana, DraftKind::Known(kind), identity);
    draft.time = body.get("created_at").filter(|time| !time.is_null()).cloned();
    draft.sender = body.get("created_by").and_then(asana_user);
    draft.ticket = body.get("target").and_then(|target| text_at(target, "/gid"));
    draft.summary = body.get("target").and_then(|target| text_at(target, "/name"));
    let told_by_asana = body.get("resource_subtype").and_then(Json::as_str).filter(|_| !is_comment);
    if let Some(subtype) = told_by_asana {
        let text = body.get("text").and_then(Json::as_str);
        draft.field("change", story_change(subtype, text).unwrap_or_default());
    } else {
        draft.field("comment", take_value(&mut body, "text"));
        if let Some(html) = take_text(&mut body, "html_text") {
            draft.field("comments", Json::from(vec![html]));
        }
    }
    draft.field("other", Json::Object(body));
    draft
}

/// Asana's own entry below a task, as the change that it reports. A move names both sections between quotes, whatever
/// the language.
fn story_change(subtype: &str, text: Option<&str>) -> Option<Json> {
    let field = match subtype {
        "section_changed" => "section",
        "marked_complete" | "marked_incomplete" => "completed",
        "due_date_changed" => "due_on",
        "dependency_added" => "dependencies",
        _ => return None,
    };
    let quoted: Vec<&str> = text.unwrap_or_default().split('"').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        [from, to] if field == "section" => Some(json!({ "field": field, "from": from, "to": to })),
        _ => Some(json!({ "field": field })),
    }
}

fn asana_user(user: &Json) -> Option<DraftSender> {
    let text = |name: &str| user.get(name).and_then(text_or_digits).filter(|text| !text.is_empty());
    let account = text("gid")?;
    let authentication = SenderAuthentication::SourceAccount;
    Some(DraftSender { account: Some(account), address: text("email"), name: text("name"), authentication })
}
