//! Microsoft Graph: the mails of a mailbox's inbox, by their changes.
//!
//! Sources: Microsoft, "message: delta"
//! (<https://learn.microsoft.com/en-us/graph/api/message-delta?view=graph-rest-1.0>) and "Use delta query to track
//! changes" (<https://learn.microsoft.com/en-us/graph/delta-query-overview>): a reading ends with a `deltaLink`, which
//! the next one begins with. One that is too old is answered with 410, and everything is read anew.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::query::{address_with, percent_encoded};
use super::walk::{SyncAnswer, SyncFault, SyncPage, SyncPlan, SyncRequest, SyncWalk, check_status, take_list};
use crate::date::utc_timestamp;

/// The parts of a mail that are read. Whether somebody has opened it is none: that would make a new revision.
const PARTS: &str = "id,internetMessageId,conversationId,subject,from,sender,toRecipients,ccRecipients,bccRecipients,\
    replyTo,receivedDateTime,sentDateTime,body,importance,categories,isDraft,hasAttachments,internetMessageHeaders";

/// The mailbox of a plan as a part of an address: that of the account, or of a user.
fn mailbox_path(plan: &SyncPlan) -> String {
    let owner = if plan.part == "me" { "me".to_owned() } else { format!("users/{}", percent_encoded(&plan.part)) };
    format!("{}/v1.0/{owner}", plan.base)
}

/// The address of one mail.
pub(super) fn message_request(plan: &SyncPlan, id: &str) -> SyncRequest {
    let path = format!("{}/messages/{}", mailbox_path(plan), percent_encoded(id));
    SyncRequest { url: address_with(&path, &[("$select", PARTS)]), headers: graph_headers() }
}

fn graph_headers() -> Vec<(String, String)> {
    vec![("accept".to_owned(), "application/json".to_owned()), ("prefer".to_owned(), "odata.maxpagesize=50".to_owned())]
}

/// A reading of a mailbox.
#[derive(Debug)]
pub(super) struct GraphWalk {
    plan: SyncPlan,
    /// The next address. `None` at the end.
    link: Option<String>,
    seen: BTreeSet<String>,
    restarted: bool,
}

impl GraphWalk {
    pub(super) fn new(plan: SyncPlan, cursor: Option<&Json>) -> Self {
        let known = cursor.and_then(|cursor| cursor.get("link")?.as_str()).map(str::to_owned);
        // The address of the source may have changed since the link was kept.
        let link = known.filter(|link| is_of_server(&plan, link)).unwrap_or_else(|| first_link(&plan));
        Self { plan, link: Some(link), seen: BTreeSet::new(), restarted: false }
    }
}

fn first_link(plan: &SyncPlan) -> String {
    let since = plan.since.map(|since| format!("receivedDateTime ge {}", utc_timestamp(since)));
    let mut query = vec![("$select", PARTS)];
    query.extend(since.as_deref().map(|since| ("$filter", since)));
    address_with(&format!("{}/mailFolders/inbox/messages/delta", mailbox_path(plan)), &query)
}

/// Whether a link leads to the server of the plan: the rest of a host's name, a port or a name before it would follow
/// the base without a slash.
fn is_of_server(plan: &SyncPlan, link: &str) -> bool {
    link.strip_prefix(plan.base.as_str()).is_some_and(|rest| rest.starts_with('/'))
}

impl SyncWalk for GraphWalk {
    fn request(&self) -> Option<SyncRequest> {
        self.link.clone().map(|url| SyncRequest { url, headers: graph_headers() })
    }

    fn take(&mut self, answer: SyncAnswer) -> Result<SyncPage, SyncFault> {
        let code = answer.body.pointer("/error/code").and_then(Json::as_str).unwrap_or_default();
        let is_stale = answer.status == 410
            || (answer.status == 400
                && ["syncStateNotFound", "syncStateInvalid", "resyncRequired"]
                    .into_iter()
                    .any(|stale| code.eq_ignore_ascii_case(stale)));
        if is_stale && !self.restarted {
            self.restarted = true;
            self.seen.clear();
            self.link = Some(first_link(&self.plan));
            return Ok(SyncPage::default());
        }
        check_status(answer.status, "the changes of the mailbox")?;
        let mut body = answer.body;
        let values = take_list(&mut body, "value")?;
        let link = |name: &str| body.get(name).and_then(Json::as_str).map(str::to_owned);
        let next = link("@odata.nextLink");
        let Some(following) = next.clone().or_else(|| link("@odata.deltaLink")) else {
            return Err(SyncFault::Shape("`@odata.nextLink` or `@odata.deltaLink`"));
        };
        if !is_of_server(&self.plan, &following) {
            return Err(SyncFault::OtherServer);
        }
        if next.is_some() && (self.link.as_ref() == Some(&following) || !self.seen.insert(following.clone())) {
            return Err(SyncFault::Circle);
        }
        self.link = next;
        Ok(SyncPage { values, missing: 0, cursor: Some(json!({ "link": following })) })
    }
}
