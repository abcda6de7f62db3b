//! Tells whose a value is by the names in it.

use serde_json::{Map, Value as Json};

use super::plain;

/// What one signal looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalShape {
    JiraWebhook,
    JiraIssue,
    Plain,
}

impl SignalShape {
    /// What an object of this shape lacks to be a signal.
    pub(super) fn fault(self, fields: &Map<String, Json>) -> Option<&'static str> {
        match self {
            Self::JiraWebhook => None,
            Self::JiraIssue => {
                let is_named = ["id", "key"].into_iter().any(|name| fields.get(name).is_some_and(is_name));
                (!is_named).then_some("an issue without `id` and `key`; nothing tells which one it is")
            }
            Self::Plain => plain::fault(fields),
        }
    }
}

/// Whether a value can name something: a text that is not empty, or a number.
pub(super) fn is_name(value: &Json) -> bool {
    value.as_str().map_or(value.is_number(), |text| !text.is_empty())
}

/// One value, or several.
pub(super) enum PageKind {
    One(Json),
    Many(Vec<ListedItem>),
}

/// A value of a list, and what it has to be where the list says so.
pub(super) struct ListedItem {
    pub(super) value: Json,
    pub(super) shape: Option<SignalShape>,
}

/// The values of a list, or of the page that a server answers with.
pub(super) fn page(value: Json) -> PageKind {
    let Json::Object(mut fields) = value else {
        let Json::Array(items) = value else { return PageKind::One(value) };
        return PageKind::Many(flattened(items));
    };
    let is_signal = fields.contains_key("webhookEvent") || is_plain(&fields);
    for (name, shape) in [("issues", Some(SignalShape::JiraIssue))] {
        let is_list = fields.get(name).is_some_and(Json::is_array);
        if !is_signal && is_list {
            let Some(Json::Array(items)) = fields.remove(name) else { continue };
            return PageKind::Many(items.into_iter().map(|value| ListedItem { value, shape }).collect());
        }
    }
    PageKind::One(Json::Object(fields))
}

/// Pages in a list, one level of them, as a script that collects answers writes them.
fn flattened(items: Vec<Json>) -> Vec<ListedItem> {
    let items = items.into_iter().flat_map(|item| {
        if item.is_array() {
            return vec![ListedItem { value: item, shape: None }];
        }
        match page(item) {
            PageKind::One(value) => vec![ListedItem { value, shape: None }],
            PageKind::Many(items) => items,
        }
    });
    items.collect()
}

/// What a value is.
///
/// # Errors
///
/// What was looked for.
pub(super) fn shape(value: &Json) -> Result<SignalShape, &'static str> {
    let Json::Object(fields) = value else { return Err("no object; a signal is one") };
    let has = |name: &str| fields.contains_key(name);
    let is_object = |name: &str| fields.get(name).is_some_and(Json::is_object);
    let is_text = |name: &str| fields.get(name).is_some_and(Json::is_string);
    if is_text("webhookEvent") {
        Ok(SignalShape::JiraWebhook)
    } else if is_plain(fields) {
        Ok(SignalShape::Plain)
    } else if is_object("fields") && (has("key") || has("id")) {
        Ok(SignalShape::JiraIssue)
    } else {
        Err("of no known source: neither `webhookEvent` (a Jira webhook), `fields` and `key` (a Jira issue) nor \
             `signal` (a line for Proem)")
    }
}

fn is_plain(fields: &Map<String, Json>) -> bool {
    fields.contains_key("signal")
}
