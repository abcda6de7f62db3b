//! Mail as Microsoft Graph tells of it: messages, and notifications that there are some.
//!
//! Sources: Microsoft, "message resource type"
//! (<https://learn.microsoft.com/en-us/graph/api/resources/message?view=graph-rest-1.0>), "changeNotification resource
//! type" (<https://learn.microsoft.com/en-us/graph/api/resources/changenotification?view=graph-rest-1.0>) and "Get
//! incremental changes to messages in a folder" (<https://learn.microsoft.com/en-us/graph/delta-query-messages>).

use serde_json::{Map, Value as Json};

use super::{
    SourceContext,
    authentication::authentication,
    fields::{is_identifier, take_object, take_text, take_value, text_or_digits},
};
use crate::{
    draft::{DraftKind, DraftSender, IdPart, SignalDraft},
    signal::{SignalKind, SignalSource},
};

/// Values of a message that have a name of ours.
const NAMED: [(&str, &str); 10] = [
    ("toRecipients", "to"),
    ("ccRecipients", "cc"),
    ("bccRecipients", "bcc"),
    ("replyTo", "reply_to"),
    ("internetMessageId", "message_id"),
    ("conversationId", "conversation"),
    ("importance", "importance"),
    ("categories", "categories"),
    ("isRead", "read"),
    ("bodyPreview", "preview"),
];

/// The missing part of a message.
pub(super) fn message_fault(body: &Map<String, Json>) -> Option<&'static str> {
    let is_named = ["id", "internetMessageId"].into_iter().any(|name| body.get(name).is_some_and(is_identifier));
    (!is_named).then_some("a message without `id` and `internetMessageId`; nothing tells which one it is")
}

/// The missing part of a notification.
pub(super) fn notification_fault(body: &Map<String, Json>) -> Option<&'static str> {
    let is_named = body.get("resource").is_some_and(is_identifier)
        || body.get("resourceData").and_then(|data| data.get("id")).is_some_and(is_identifier)
        || body.get("lifecycleEvent").is_some_and(is_identifier);
    (!is_named).then_some("a notification without `resource`; nothing tells what it is about")
}

/// A message, or what is left of one in a list of changes.
pub(super) fn graph_message_draft(mut body: Map<String, Json>, context: &SourceContext<'_>) -> SignalDraft {
    let id = take_text(&mut body, "id").filter(|id| !id.is_empty());
    let id = id.or_else(|| body.get("internetMessageId").and_then(text_or_digits)).unwrap_or_default();
    let kind = if body.contains_key("@removed") {
        DraftKind::Known(SignalKind::EmailDeleted)
    } else if body.get("isDraft") == Some(&Json::Bool(true)) {
        // Nobody sent it: what it says is what its writer may say one day.
        DraftKind::Unknown("draft".to_owned())
    } else {
        DraftKind::Known(SignalKind::EmailReceived)
    };
    let identity = vec![IdPart::Word("message"), IdPart::Said(id)];
    let mut draft = SignalDraft::new(SignalSource::Outlook, kind, identity);
    // A message itself never gives the address of a list or an answer. A tag tells that the mailbox keeps it anew, as
    // when somebody opens it, and says nothing of the mail.
    for name in ["@odata.context", "@odata.etag", "changeKey"] {
        body.remove(name);
    }
    draft.time = ["receivedDateTime", "sentDateTime", "lastModifiedDateTime"]
        .into_iter()
        .find_map(|name| body.get(name).filter(|time| !time.is_null()))
        .cloned();
    let results = headers(&body, "authentication-results");
    let texts: Vec<&str> = results.iter().map(String::as_str).collect();
    // Servers judge the domain of `From` (RFC 7489, section 3.1), of which a mail has one.
    let nothing: &[&str] = &[];
    let on_from = if headers(&body, "from").len() > 1 { nothing } else { &texts };
    draft.sender = [("from", on_from), ("sender", nothing)]
        .into_iter()
        .find_map(|(name, results)| graph_sender(body.get(name)?, results, context));
    draft.field("authentication_results", results.iter().map(|result| Json::from(result.as_str())).collect());
    draft.summary = take_text(&mut body, "subject");
    if let Some(mut text) = take_object(&mut body, "body") {
        draft.field("body", take_value(&mut text, "content"));
        draft.field("body_type", take_value(&mut text, "contentType"));
        if !text.is_empty() {
            body.insert("body".to_owned(), Json::Object(text));
        }
    }
    if let Some(unique) = take_object(&mut body, "uniqueBody") {
        draft.field("bodies", Json::Object(unique));
    }
    for (theirs, ours) in NAMED {
        draft.field(ours, take_value(&mut body, theirs));
    }
    let attachments = attachments(&mut body, &mut draft.notes);
    draft.field("attachments", attachments);
    if !draft.fields.iter().any(|(name, _)| *name == "body") && draft.summary.is_some() {
        draft.notes.push("body unknown".to_owned());
    }
    draft.field("other", Json::Object(body));
    draft
}

/// A notification: with the message in it, or only that there is one.
pub(super) fn notification(mut body: Map<String, Json>, context: &SourceContext<'_>) -> SignalDraft {
    let mut notes = Vec::new();
    if body.remove("clientState").is_some() {
        notes.push("clientState left out: it is a secret of the subscription".to_owned());
    }
    if body.remove("encryptedContent").is_some() {
        notes.push("content unknown: it is encrypted".to_owned());
    }
    let change = body.get("changeType").and_then(text_or_digits).unwrap_or_default();
    let has_content = body.get("resourceData").is_some_and(|data| {
        message_fault(data.as_object().unwrap_or(&Map::new())).is_none()
            && ["subject", "body", "bodyPreview", "from"].into_iter().any(|name| data.get(name).is_some())
    });
    let data = if has_content { take_object(&mut body, "resourceData") } else { None };
    let mut draft = match data {
        Some(data) => {
            let mut draft = graph_message_draft(data, context);
            if change == "deleted" {
                draft.kind = DraftKind::Known(SignalKind::EmailDeleted);
            }
            draft.field("event", Json::from(change));
            draft.field("notification", Json::Object(body));
            draft
        }
        None => announcement(body, change),
    };
    draft.notes.append(&mut notes);
    draft
}

/// A notification without content.
fn announcement(body: Map<String, Json>, change: String) -> SignalDraft {
    let text = |name: &str| body.get(name).and_then(text_or_digits).filter(|text| !text.is_empty());
    let data = |name: &str| body.get("resourceData").and_then(|data| data.get(name)).and_then(text_or_digits);
    let lifecycle = text("lifecycleEvent");
    let is_message = data("@odata.type").is_none_or(|kind| kind.to_ascii_lowercase().ends_with(".message"));
    let kind = match (&lifecycle, change.as_str()) {
        (Some(event), _) => DraftKind::Unknown(event.clone()),
        (None, "deleted") if is_message => DraftKind::Known(SignalKind::EmailDeleted),
        (None, "created" | "updated") if is_message => DraftKind::Known(SignalKind::EmailAnnounced),
        (None, change) => DraftKind::Unknown(data("@odata.type").unwrap_or_else(|| change.to_owned())),
    };
    let about = lifecycle.as_ref().and_then(|_| text("subscriptionId"));
    let about = about.or_else(|| data("id")).or_else(|| text("resource")).unwrap_or_default();
    let which = lifecycle.unwrap_or_else(|| change.clone());
    let identity = vec![IdPart::Word("notice"), IdPart::Said(about), IdPart::Said(which)];
    let mut draft = SignalDraft::new(SignalSource::Outlook, kind, identity);
    draft.field("event", Json::from(change));
    draft.field("other", Json::Object(body));
    draft
}

fn graph_sender(of: &Json, results: &[&str], context: &SourceContext<'_>) -> Option<DraftSender> {
    let address = of.get("emailAddress")?;
    let text = |name: &str| address.get(name).and_then(text_or_digits).filter(|text| !text.is_empty());
    let (name, address) = (text("name"), text("address"));
    let authentication = authentication(results, context.mail_servers, address.as_deref());
    (name.is_some() || address.is_some()).then_some(DraftSender { account: None, address, name, authentication })
}

/// The headers of a name, the topmost first, if headers were asked for.
///
/// One whose name ends with a blank has no value, as in a mail that is read from a file.
fn headers(body: &Map<String, Json>, wanted: &str) -> Vec<String> {
    let headers = body.get("internetMessageHeaders").and_then(Json::as_array);
    let found = headers.into_iter().flatten().filter_map(|header| {
        let name = header.get("name").and_then(Json::as_str)?;
        let value = || header.get("value").and_then(text_or_digits).filter(|_| name.len() == wanted.len());
        name.trim().eq_ignore_ascii_case(wanted).then(|| value().unwrap_or_default())
    });
    found.collect()
}

/// Attachments without their bytes, which no rule and no model reads.
fn attachments(body: &mut Map<String, Json>, notes: &mut Vec<String>) -> Json {
    let mut attachments = take_value(body, "attachments");
    let items = attachments.as_array_mut().map_or(&mut [][..], Vec::as_mut_slice).iter_mut();
    let bytes = items.filter_map(|item| item.as_object_mut()?.remove("contentBytes")).count();
    if bytes > 0 {
        notes.push(format!("attachments without their bytes, which are left out: {bytes}"));
    }
    attachments
}
