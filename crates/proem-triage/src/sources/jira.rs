//! Jira Cloud and Server: webhooks, and issues as a search answers with them.
//!
//! Sources: Atlassian, "Webhooks" (<https://developer.atlassian.com/cloud/jira/platform/webhooks/>) and "Issue search"
//! (<https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-search/>).

use serde_json::{Map, Value as Json, json};

use super::fields::{take_object, take_text, take_value, text_at, text_or_digits};
use crate::{
    draft::{DraftKind, DraftSender, IdPart, SignalDraft},
    rich_text,
    signal::{SenderAuthentication, SignalKind, SignalSource},
};

/// Values of an issue that have a name of ours, and where in the value its word is. They stay where they are, with all
/// that is around the word.
const NAMED: [(&str, &str); 14] = [
    ("/status/name", "status"),
    ("/status/statusCategory/key", "status_category"),
    ("/priority/name", "priority"),
    ("/issuetype/name", "issue_type"),
    ("/assignee/displayName", "assignee"),
    ("/reporter/displayName", "reporter"),
    ("/resolution/name", "resolution"),
    ("/resolutiondate", "resolved"),
    ("/duedate", "due"),
    ("/created", "created"),
    ("/updated", "updated"),
    ("/parent/key", "parent"),
    ("/project/name", "project_name"),
    ("/project/key", "project_key"),
];

/// A webhook.
pub(super) fn webhook(mut body: Map<String, Json>) -> SignalDraft {
    let event = take_text(&mut body, "webhookEvent").unwrap_or_default();
    let transition = workflow_transition(&body);
    let mut issue = body.get("issue").is_some_and(Json::is_object).then(|| take_value(&mut body, "issue"));
    let mut comment = take_object(&mut body, "comment");
    let detail = body.get("issue_event_type_name").and_then(Json::as_str).unwrap_or_default();
    let kind = jira_draft_kind(&event, detail, comment.as_ref());
    let host = instance([issue.as_ref(), body.get("user"), body.get("sprint")], comment.as_ref());
    let identity = webhook_identity(&kind, &body, issue.as_ref(), comment.as_ref());
    let mut draft = SignalDraft::new(SignalSource::Jira, kind, Vec::new());
    draft.identity.push(host);
    draft.identity.extend(identity);
    draft.time = body.remove("timestamp").filter(|time| !time.is_null());
    if draft.time.is_none() {
        draft.time = comment.as_ref().and_then(|comment| comment.get("updated")).cloned();
    }
    draft.sender = webhook_sender(&body, comment.as_ref());
    draft.field("event", Json::from(event));
    if let Some(issue) = &mut issue {
        take_issue(issue, &mut draft);
    }
    if let Some(comment) = &mut comment {
        draft.field("comment", document_as_text(take_value(comment, "body")));
        draft.field("comment_id", comment.get("id").cloned().unwrap_or_default());
    } else if transition.is_some() {
        // A comment written while the ticket was moved has no id of its own.
        draft.field("comment", Json::from(take_text(&mut body, "comment").unwrap_or_default()));
    }
    let changes = match (changelog_changes(&mut body), transition) {
        (Json::Null, Some(transition)) => transition,
        (Json::Null, None) => changes_beside(&body),
        (found, _) => found,
    };
    draft.field("changes", changes);
    if let Some(sprint) = body.get("sprint").and_then(|sprint| sprint.get("name")).and_then(text_or_digits) {
        draft.summary.get_or_insert(sprint);
    }
    let goal = body.get("sprint").and_then(|sprint| sprint.get("goal")).and_then(text_or_digits);
    draft.field("goal", goal.map_or(Json::Null, Json::from));
    if let Some(comment) = comment {
        body.insert("comment".to_owned(), Json::Object(comment));
    }
    if let Some(issue) = issue {
        body.insert("issue".to_owned(), issue);
    }
    draft.field("other", Json::Object(body));
    draft
}

/// An issue of a search, or alone.
pub(super) fn jira_issue_draft(body: Map<String, Json>) -> SignalDraft {
    let mut issue = Json::Object(body);
    let id = text_at(&issue, "/id").or_else(|| text_at(&issue, "/key")).unwrap_or_default();
    let kind = DraftKind::Known(SignalKind::TicketListed);
    let host = instance([Some(&issue), None, None], None);
    let identity = vec![host, IdPart::Word("listed"), IdPart::Said(id)];
    let mut draft = SignalDraft::new(SignalSource::Jira, kind, identity);
    draft.time = text_at(&issue, "/fields/updated").map(Json::from);
    let actor = ["/fields/reporter", "/fields/creator"].into_iter().find_map(|place| issue.pointer(place)?.as_object());
    draft.sender = actor.map(jira_sender);
    if issue.get("fields").is_none_or(Json::is_null) {
        draft.notes.push("fields unknown: the search asked for none".to_owned());
    }
    take_issue(&mut issue, &mut draft);
    draft.field("changes", Json::Array(histories(&mut issue)));
    draft.field("other", issue);
    draft
}

/// Takes what an issue says, and leaves the rest in it.
fn take_issue(issue: &mut Json, draft: &mut SignalDraft) {
    draft.ticket = text_at(issue, "/key");
    let of_key = || draft.ticket.as_deref().and_then(|key| key.rsplit_once('-')).map(|(project, _)| project.to_owned());
    draft.project = text_at(issue, "/fields/project/key").or_else(of_key);
    let Some(fields) = issue.get_mut("fields").and_then(Json::as_object_mut) else { return };
    draft.summary = take_text(fields, "summary");
    for name in ["description", "environment"] {
        draft.named_field(name, fields.remove(name).map(document_as_text));
    }
    for (name, ours) in [("labels", "labels"), ("components", "components"), ("fixVersions", "fix_versions")] {
        let items = fields.get(name).and_then(Json::as_array);
        let words = items.into_iter().flatten().filter_map(|item| text_or_digits(item.get("name").unwrap_or(item)));
        draft.field(ours, words.map(Json::from).collect());
    }
    let comments = fields.get_mut("comment").and_then(|comment| comment.get_mut("comments")).map(Json::take);
    if let Some(Json::Array(mut comments)) = comments {
        for comment in &mut comments {
            if let Some(body) = comment.get_mut("body") {
                *body = document_as_text(body.take());
            }
        }
        draft.field("comments", Json::Array(comments));
    }
    fields.values_mut().for_each(readable_sprints);
    let fields = Json::Object(std::mem::take(fields));
    for (place, ours) in NAMED {
        let is_unset = || place.split('/').nth(1).and_then(|name| fields.get(name)).is_some_and(Json::is_null);
        let value = text_at(&fields, place).map(Json::from).or_else(|| is_unset().then_some(Json::Null));
        draft.named_field(ours, value);
    }
    if let Some(rest) = issue.get_mut("fields") {
        *rest = fields;
    }
}

/// The change of status that a rule or a step of a workflow sends, which is no event
/// (<https://developer.atlassian.com/server/jira/platform/webhooks/>, "Adding a webhook as a post function").
fn workflow_transition(body: &Map<String, Json>) -> Option<Json> {
    let transition = body.get("transition")?.as_object()?;
    let status = |names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| transition.get(name));
        found.map(|status| status.get("name").unwrap_or(status).clone()).unwrap_or_default()
    };
    let (from, to) = (status(["from_status", "from"]), status(["to_status", "to"]));
    Some(json!([{ "field": "status", "from": from, "to": to }]))
}

/// Sprints as Jira Server writes them, `…Sprint@1f[id=5,state=ACTIVE,name=Sprint 12,…]`, as the objects that Jira Cloud
/// sends, with the text beside.
fn readable_sprints(value: &mut Json) {
    const NAMES: [&str; 10] = [
        "id",
        "rapidViewId",
        "state",
        "name",
        "startDate",
        "endDate",
        "completeDate",
        "sequence",
        "goal",
        "activatedDate",
    ];
    for item in value.as_array_mut().into_iter().flatten() {
        let inner = item.as_str().and_then(|text| {
            let (class, inner) = text.strip_suffix(']')?.split_once('[')?;
            class.contains("greenhopper.service.sprint.Sprint@").then_some(inner)
        });
        let Some(inner) = inner else { continue };
        let mut sprint = Map::from_iter([("written".to_owned(), item.clone())]);
        let mut last: Option<&str> = None;
        for part in inner.split(',') {
            let named = part.split_once('=').filter(|(name, _)| NAMES.contains(name));
            match (named, last) {
                (Some((name, said)), _) => {
                    last = Some(name);
                    if said != "<null>" {
                        sprint.insert(name.to_owned(), Json::from(said));
                    }
                }
                // A name or a goal may hold commas.
                (None, Some(name)) => {
                    if let Some(Json::String(said)) = sprint.get_mut(name) {
                        said.push(',');
                        said.push_str(part);
                    }
                }
                (None, None) => {}
            }
        }
        *item = Json::Object(sprint);
    }
}

/// A sprint as a board lists it.
pub(super) fn jira_sprint_draft(body: Map<String, Json>) -> SignalDraft {
    let whole = Json::Object(body);
    let text = |name: &str| whole.get(name).and_then(text_or_digits);
    let state = text("state").unwrap_or_default().to_ascii_lowercase();
    let kind = match state.as_str() {
        "active" => SignalKind::SprintStarted,
        "closed" => SignalKind::SprintClosed,
        _ => SignalKind::SprintUpdated,
    };
    let host = instance([Some(&whole), None, None], None);
    let id = text("id").unwrap_or_default();
    let identity = vec![host, IdPart::Word("sprint-listed"), IdPart::Said(id)];
    let mut draft = SignalDraft::new(SignalSource::Jira, DraftKind::Known(kind), identity);
    draft.time = text(if state == "closed" { "completeDate" } else { "startDate" }).map(Json::from);
    draft.summary = text("name");
    draft.field("goal", text("goal").map_or(Json::Null, Json::from));
    draft.field("other", json!({ "sprint": whole }));
    draft
}

/// A document as its text, anything else as it is.
fn document_as_text(value: Json) -> Json {
    if rich_text::is_document(&value) { Json::from(rich_text::document_text(&value)) } else { value }
}

fn jira_draft_kind(event: &str, detail: &str, comment: Option<&Map<String, Json>>) -> DraftKind {
    use SignalKind::{
        CommentCreated, CommentDeleted, CommentUpdated, SprintClosed, SprintStarted, SprintUpdated, TicketCreated,
        TicketDeleted, TicketUpdated,
    };
    DraftKind::Known(match (event, detail) {
        ("jira:issue_created", _) => TicketCreated,
        ("jira:issue_deleted", _) => TicketDeleted,
        ("jira:issue_updated", "issue_commented") | ("comment_created", _) => CommentCreated,
        ("jira:issue_updated", "issue_comment_edited") | ("comment_updated", _) => CommentUpdated,
        ("jira:issue_updated", "issue_comment_deleted") | ("comment_deleted", _) => CommentDeleted,
        // Old servers send a comment with an update and don't say what became of it.
        ("jira:issue_updated", "") => match comment {
            Some(comment) if comment.get("created") == comment.get("updated") => CommentCreated,
            Some(_) => CommentUpdated,
            None => TicketUpdated,
        },
        ("jira:issue_updated", _) => TicketUpdated,
        // A rule or a step of a workflow names no event. Only what moved or changed a ticket is recognised without one.
        ("", _) => TicketUpdated,
        ("sprint_started", _) => SprintStarted,
        ("sprint_closed", _) => SprintClosed,
        ("sprint_created" | "sprint_updated" | "sprint_deleted", _) => SprintUpdated,
        _ => return DraftKind::Unknown(event.to_owned()),
    })
}

/// The identity of a webhook's signal: a comment stays one signal, each change of a ticket is one of its own.
fn webhook_identity(
    kind: &DraftKind,
    body: &Map<String, Json>,
    issue: Option<&Json>,
    comment: Option<&Map<String, Json>>,
) -> Vec<IdPart> {
    if let Some(id) = comment.and_then(|comment| comment.get("id")).and_then(text_or_digits) {
        return vec![IdPart::Word("comment"), IdPart::Said(id)];
    }
    let of_issue = issue.and_then(|issue| text_at(issue, "/id").or_else(|| text_at(issue, "/key")));
    let of_sprint = body.get("sprint").and_then(|sprint| text_at(sprint, "/id"));
    let about = of_issue.or(of_sprint).map_or(IdPart::Word("none"), IdPart::Said);
    let (word, name) = match kind {
        DraftKind::Known(kind) => (kind.as_str(), None),
        DraftKind::Unknown(name) => ("unknown", Some(IdPart::Said(name.clone()))),
    };
    let mut parts = vec![IdPart::Word(word), about];
    parts.extend(name);
    let is_single = matches!(kind, DraftKind::Known(SignalKind::TicketCreated | SignalKind::TicketDeleted));
    let which = body.get("changelog").and_then(|changelog| text_at(changelog, "/id"));
    let which = which.or_else(|| text_or_digits(body.get("timestamp")?));
    if !is_single {
        // Without either, what it says tells it from others.
        parts.push(IdPart::Said(which.unwrap_or_else(|| Json::Object(body.clone()).to_string())));
    }
    parts
}

/// The server that it comes from: two of them number their issues alike.
fn instance(values: [Option<&Json>; 3], comment: Option<&Map<String, Json>>) -> IdPart {
    let of_values = values.into_iter().flatten().find_map(|value| value.get("self")?.as_str());
    let address = of_values.or_else(|| comment?.get("self")?.as_str());
    let host = address.and_then(|address| address.split_once("://")).and_then(|(_, rest)| rest.split('/').next());
    host.map_or(IdPart::Word("unknown-server"), |host| IdPart::Said(host.to_ascii_lowercase()))
}

fn webhook_sender(body: &Map<String, Json>, comment: Option<&Map<String, Json>>) -> Option<DraftSender> {
    let of_comment = || {
        let comment = comment?;
        comment.get("updateAuthor").or_else(|| comment.get("author"))?.as_object()
    };
    body.get("user").and_then(Json::as_object).or_else(of_comment).map(jira_sender)
}

fn jira_sender(user: &Map<String, Json>) -> DraftSender {
    let text = |name: &str| user.get(name).and_then(text_or_digits).filter(|text| !text.is_empty());
    let account = text("accountId").or_else(|| text("key")).or_else(|| text("name"));
    let authentication =
        if account.is_some() { SenderAuthentication::SourceAccount } else { SenderAuthentication::Unverified };
    DraftSender { account, address: text("emailAddress"), name: text("displayName"), authentication }
}

/// The changes, in names of ours. Other parts of a change stay behind.
fn changelog_changes(body: &mut Map<String, Json>) -> Json {
    let items = body.get_mut("changelog").and_then(|changelog| changelog.get_mut("items"));
    let Some(Json::Array(items)) = items.map(Json::take) else { return Json::Null };
    items.into_iter().map(renamed_change).collect()
}

/// The changes of an event that has no log of them: a new link, or a changed sprint.
fn changes_beside(body: &Map<String, Json>) -> Json {
    let whole = Json::Object(body.clone());
    let text = |place: &str| text_at(&whole, place).map_or(Json::Null, Json::from);
    let one = |field: &str, from: Json, to: Json| json!([{ "field": field, "from": from, "to": to }]);
    if body.contains_key("issueLink") {
        let kind = ["/issueLink/issueLinkType/outwardName", "/issueLink/issueLinkType/name"];
        let kind = kind.into_iter().map(text).find(|name| !name.is_null());
        return one("Link", Json::Null, kind.unwrap_or_default());
    }
    let ends = |name: &str| (text(&format!("/oldValue/{name}")), text(&format!("/sprint/{name}")));
    let ((goal_before, goal), (end_before, end)) = (ends("goal"), ends("endDate"));
    // A value that was absent before has changed, too. One that the event doesn't name has not.
    let is_named = |name: &str| whole.pointer(&format!("/oldValue/{name}")).is_some();
    if is_named("goal") && goal_before != goal {
        one("Sprint goal", goal_before, goal)
    } else if is_named("endDate") && end_before != end {
        one("Sprint end", end_before, end)
    } else {
        Json::Null
    }
}

/// The changes of an issue that was asked for with its history, with the time of each.
fn histories(issue: &mut Json) -> Vec<Json> {
    let histories = issue.pointer_mut("/changelog/histories").map(Json::take);
    let Some(Json::Array(histories)) = histories else { return Vec::new() };
    let of_one = |history: Json| {
        let at = history.get("created").cloned().unwrap_or_default();
        let items = history.get("items").and_then(Json::as_array).cloned().unwrap_or_default();
        items.into_iter().map(move |item| {
            let mut change = renamed_change(item);
            if let Some(change) = change.as_object_mut() {
                change.insert("at".to_owned(), at.clone());
            }
            change
        })
    };
    histories.into_iter().flat_map(of_one).collect()
}

fn renamed_change(item: Json) -> Json {
    let Json::Object(mut item) = item else { return item };
    for (theirs, ours) in [("from", "from_id"), ("to", "to_id"), ("fromString", "from"), ("toString", "to")] {
        if let Some(value) = item.remove(theirs) {
            item.insert(ours.to_owned(), value);
        }
    }
    Json::Object(item)
}
