//! Lines for Proem: what `normalise` prints, and what somebody writes for a source that has no adapter.
//!
//! A line is an object with `"signal":1`. It needs a `type` and an `id`. `source`, `time`, `sender` (a text, or an
//! object with `account`, `address` and `name`), `ticket`, `project`, `summary`, `body` and `fields` are known, all
//! else is kept. Anybody could have written it, so its claims of authentication are not believed and every label has
//! `plain/line` in it.

use serde_json::{Map, Value as Json};

use super::{
    fields::{take_object, take_text, take_value},
    recognise::is_identifier,
};
use crate::{
    draft::{DraftKind, DraftSender, IdPart, SignalDraft},
    signal::{FORM, SenderAuthentication, SignalKind, SignalSource},
};

/// Names of fields that keep their own label when a line is read again, as the adapters make them.
const FIELDS: [&str; 52] = [
    "assignee",
    "attachments",
    "authentication_results",
    "bcc",
    "bodies",
    "body",
    "body_type",
    "categories",
    "cc",
    "change",
    "changes",
    "comment",
    "comment_id",
    "comments",
    "completed",
    "components",
    "conversation",
    "created",
    "custom_fields",
    "description",
    "due",
    "environment",
    "event",
    "fix_versions",
    "forwarded",
    "headers",
    "html_notes",
    "importance",
    "in_reply_to",
    "issue_type",
    "labels",
    "message_id",
    "notes",
    "notification",
    "parent",
    "preview",
    "priority",
    "project_key",
    "project_name",
    "read",
    "references",
    "reply_to",
    "reporter",
    "resolution",
    "resolved",
    "section",
    "status",
    "status_category",
    "tags",
    "text",
    "to",
    "updated",
];

/// The missing part of a line.
pub(super) fn line_fault(body: &Map<String, Json>) -> Option<&'static str> {
    let has = |name: &str| body.get(name).is_some_and(is_identifier);
    if body.get("signal").and_then(Json::as_u64) != Some(FORM) {
        Some("`signal` is not 1, the only form of lines that is known")
    } else if !has("id") {
        Some("no `id`; a line needs one, so that it can come twice")
    } else if !has("type") {
        Some("no `type`; a line needs one, such as `ticket_updated`")
    } else {
        None
    }
}

/// One line.
pub(super) fn line_draft(mut body: Map<String, Json>) -> SignalDraft {
    body.remove("signal");
    let id = take_text(&mut body, "id").unwrap_or_default();
    let kind = take_text(&mut body, "type").unwrap_or_default();
    let kind = match SignalKind::parse(&kind) {
        Some(kind) => DraftKind::Known(kind),
        None => DraftKind::Unknown(kind.strip_prefix("unknown:").unwrap_or(&kind).to_owned()),
    };
    let source = body.get("source").and_then(Json::as_str).and_then(SignalSource::parse);
    if source.is_some() {
        body.remove("source");
    }
    let source = source.unwrap_or(SignalSource::Plain);
    let identity = if is_ours(source, &id) { IdPart::Whole(id) } else { IdPart::Said(id) };
    let mut draft = SignalDraft::new(source, kind, vec![identity]);
    draft.time = Some(take_value(&mut body, "time")).filter(|time| !time.is_null());
    let said = take_value(&mut body, "time_said");
    if draft.time.is_none() {
        draft.time = Some(said).filter(|time| !time.is_null());
    }
    draft.sender = line_sender(&mut body);
    draft.ticket = take_text(&mut body, "ticket");
    draft.project = take_text(&mut body, "project");
    draft.summary = take_text(&mut body, "summary");
    // A line that was printed here has what is computed again.
    let computed = ["revision", "time_fault", "notes"];
    if computed.iter().all(|name| body.contains_key(*name)) {
        computed.iter().for_each(|name| _ = body.remove(*name));
    }
    body.retain(|_, value| !value.is_null());
    let mut fields = take_object(&mut body, "fields").unwrap_or_default();
    for name in FIELDS {
        draft.named_field(name, fields.remove(name));
    }
    if !draft.fields.iter().any(|(name, _)| *name == "body") {
        draft.field("body", take_value(&mut body, "body"));
    }
    let mut other = match fields.remove("other") {
        Some(Json::Object(other)) if body.is_empty() && fields.is_empty() => Json::Object(other),
        Some(other) => {
            fields.insert("other".to_owned(), other);
            Json::Null
        }
        None => Json::Null,
    };
    if other.is_null() && !(fields.is_empty() && body.is_empty()) {
        body.extend(fields);
        other = Json::Object(body);
    }
    draft.field("other", other);
    draft
}

/// Whether an id can be one that was made here: the source, and words, numbers and hashes behind colons.
fn is_ours(source: SignalSource, id: &str) -> bool {
    let mut parts = id.split(':');
    let is_part = |part: &str| {
        let is_number = (1..=20).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_hash =
            part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_number || is_hash || WORDS.contains(&part) || SignalKind::parse(part).is_some()
    };
    parts.next() == Some(source.as_str()) && id.len() <= 256 && id.contains(':') && parts.all(is_part)
}

/// Words of ours in ids, beside those of kinds.
const WORDS: [&str; 12] = [
    "comment",
    "event",
    "listed",
    "message",
    "none",
    "notice",
    "story",
    "task",
    "unknown",
    "unknown-server",
    "unproven",
    "aligned",
];

fn line_sender(body: &mut Map<String, Json>) -> Option<DraftSender> {
    let none =
        DraftSender { account: None, address: None, name: None, authentication: SenderAuthentication::Unverified };
    if let Some(name) = take_text(body, "sender") {
        return Some(DraftSender { name: Some(name), ..none });
    }
    let mut sender = take_object(body, "sender")?;
    let mut text = |name: &str| take_text(&mut sender, name);
    let read = DraftSender { account: text("account"), address: text("address"), name: text("name"), ..none };
    sender.remove("authentication");
    sender.retain(|_, value| !value.is_null());
    if !sender.is_empty() {
        body.insert("sender".to_owned(), Json::Object(sender));
    }
    Some(read)
}
