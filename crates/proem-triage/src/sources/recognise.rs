//! Tells whose a value is by the names in it.

use serde_json::{Map, Value as Json};

use super::{AnswerEnd, asana, fields::is_identifier, graph, plain};

/// The shape of one signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalShape {
    JiraWebhook,
    JiraIssue,
    JiraSprint,
    GraphMessage,
    GraphNotification,
    AsanaEvent,
    AsanaTask,
    AsanaStory,
    Plain,
}

impl SignalShape {
    /// The part that an object of this shape lacks as a signal.
    pub(super) fn fault(self, fields: &Map<String, Json>) -> Option<&'static str> {
        match self {
            Self::JiraWebhook => None,
            Self::JiraIssue => {
                let is_named = ["id", "key"].into_iter().any(|name| fields.get(name).is_some_and(is_identifier));
                (!is_named).then_some("an issue without `id` and `key`; nothing tells which one it is")
            }
            Self::JiraSprint => {
                let is_named = fields.get("id").is_some_and(is_identifier);
                (!is_named).then_some("a sprint without `id`; nothing tells which one it is")
            }
            Self::GraphMessage => graph::message_fault(fields),
            Self::GraphNotification => graph::notification_fault(fields),
            Self::AsanaEvent => asana::event_fault(fields),
            Self::AsanaTask | Self::AsanaStory => asana::asana_fault(fields),
            Self::Plain => plain::line_fault(fields),
        }
    }
}

/// One value, or several.
pub(super) enum PageKind {
    One(Json),
    /// The values of a list, or of pages, and what of them the pages are if there is one.
    Many(Vec<ListedItem>, Option<PageRun>),
}

/// Pages of an answer, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageRun {
    /// Whether the first one is marked as the first. If a server hands out tokens, no page says so.
    pub(super) begins: bool,
    /// The end after the last one.
    pub(super) end: AnswerEnd,
}

/// A value of a list, and what it has to be where the list says so.
pub(super) struct ListedItem {
    pub(super) value: Json,
    pub(super) shape: Option<SignalShape>,
}

/// Names of the lists that servers answer with, and what has to be in each.
const LISTS: [(&str, Option<SignalShape>); 5] = [
    ("issues", Some(SignalShape::JiraIssue)),
    ("events", Some(SignalShape::AsanaEvent)),
    ("value", None),
    (BOARD_LIST, None),
    ("data", None),
];

/// The name of what a board of Jira answers with, such as its sprints.
const BOARD_LIST: &str = "values";

/// The values of a list, or of the page that a server answers with.
pub(super) fn page_kind(value: Json) -> PageKind {
    let mut fields = match value {
        Json::Object(fields) => fields,
        Json::Array(items) => return flatten_pages(items),
        value => return PageKind::One(value),
    };
    if fields.contains_key("webhookEvent") || is_proem_line(&fields) {
        return PageKind::One(Json::Object(fields));
    }
    let list = LISTS.into_iter().find(|(name, _)| fields.get(*name).is_some_and(Json::is_array));
    match list.and_then(|(name, shape)| Some((name, fields.remove(name)?, shape))) {
        Some((name, Json::Array(items), shape)) => {
            // A board's list is no part of a search.
            if name == BOARD_LIST {
                return PageKind::Many(items.into_iter().map(|value| ListedItem { value, shape }).collect(), None);
            }
            let run =
                PageRun { begins: fields.get("startAt") == Some(&0.into()), end: answer_end(&fields, items.len()) };
            PageKind::Many(items.into_iter().map(|value| ListedItem { value, shape }).collect(), Some(run))
        }
        _ => PageKind::One(unwrap_asana_data(fields)),
    }
}

/// The contents of the `data` that Asana puts around one task or story.
fn unwrap_asana_data(mut fields: Map<String, Json>) -> Json {
    match fields.remove("data") {
        Some(Json::Object(inner)) if inner.contains_key("gid") => Json::Object(inner),
        Some(other) => {
            fields.insert("data".to_owned(), other);
            Json::Object(fields)
        }
        None => Json::Object(fields),
    }
}

/// Whether more pages follow: by a token or link to the next, or by counts.
fn answer_end(page: &Map<String, Json>, count: usize) -> AnswerEnd {
    let number = |name: &str| page.get(name).and_then(Json::as_u64);
    let is_linked = ["nextPageToken", "@odata.nextLink", "next_page"]
        .into_iter()
        .any(|name| page.get(name).is_some_and(|next| !next.is_null()));
    let is_open = page.get("isLast") == Some(&Json::Bool(false)) || page.get("has_more") == Some(&Json::Bool(true));
    let read = number("startAt").map(|start| start.saturating_add(count as u64));
    let is_short = read.zip(number("total")).is_some_and(|(read, total)| read < total);
    if is_linked || is_open || is_short { AnswerEnd::More } else { AnswerEnd::Whole }
}

/// Pages in a list, one level of them, as a script that collects answers writes them.
fn flatten_pages(items: Vec<Json>) -> PageKind {
    let mut run: Option<PageRun> = None;
    let mut all = Vec::new();
    for item in items {
        if item.is_array() {
            all.push(ListedItem { value: item, shape: None });
            continue;
        }
        match page_kind(item) {
            PageKind::One(value) => all.push(ListedItem { value, shape: None }),
            PageKind::Many(items, page) => {
                let joined = |page: PageRun| PageRun { begins: run.map_or(page.begins, |run| run.begins), ..page };
                run = page.map(joined).or(run);
                all.extend(items);
            }
        }
    }
    PageKind::Many(all, run)
}

/// The shape of a value.
///
/// # Errors
///
/// The shape of a search.
pub(super) fn signal_shape(value: &Json) -> Result<SignalShape, &'static str> {
    let Json::Object(fields) = value else { return Err("no object; a signal is one") };
    let has = |name: &str| fields.contains_key(name);
    let is_object = |name: &str| fields.get(name).is_some_and(Json::is_object);
    let is_text = |name: &str| fields.get(name).is_some_and(Json::is_string);
    let kind = fields.get("resource_type").and_then(Json::as_str);
    let moves = ["transition", "changelog"].into_iter().any(is_object);
    if is_text("webhookEvent") || (is_object("issue") && moves) {
        Ok(SignalShape::JiraWebhook)
    } else if is_proem_line(fields) {
        Ok(SignalShape::Plain)
    } else if has("subscriptionId") {
        Ok(SignalShape::GraphNotification)
    } else if is_object("fields") && (has("key") || has("id")) {
        Ok(SignalShape::JiraIssue)
    } else if is_text("state") && is_text("name") && (has("originBoardId") || has("startDate")) {
        Ok(SignalShape::JiraSprint)
    } else if MESSAGE.into_iter().any(has) {
        Ok(SignalShape::GraphMessage)
    } else if is_object("resource") && is_text("action") {
        Ok(SignalShape::AsanaEvent)
    } else if has("gid") && kind == Some("story") {
        Ok(SignalShape::AsanaStory)
    } else if has("gid") && kind.is_none_or(|kind| kind == "task") {
        Ok(SignalShape::AsanaTask)
    } else {
        Err(
            "of no known source: neither `webhookEvent` (a Jira webhook), `issue` and `transition` (a Jira transition), `fields` and `key` (a Jira issue), \
             `state` and `originBoardId` (a Jira sprint), \
             `subscriptionId` (a Graph notification), `internetMessageId` or `receivedDateTime` (a Graph message), \
             `resource` and `action` (an Asana event), `gid` (an Asana task or story) nor `signal` (a line for Proem)",
        )
    }
}

/// The marks of a Graph message, or of the rest of one.
const MESSAGE: [&str; 4] = ["internetMessageId", "receivedDateTime", "bodyPreview", "@removed"];

fn is_proem_line(fields: &Map<String, Json>) -> bool {
    fields.contains_key("signal")
}
