//! A mail to Microsoft Graph: the recorded bytes in one request, and one attempt.
//!
//! Sources: Microsoft, "Send messages with MIME content"
//! (<https://learn.microsoft.com/en-us/graph/outlook-send-mime-message>) and "user: sendMail"
//! (<https://learn.microsoft.com/en-us/graph/api/user-sendmail>): the mail goes in Base64 as `text/plain`, and 202 says
//! that Graph has it. Microsoft, "Throttling guidance" (<https://learn.microsoft.com/en-us/graph/throttling>): 429 says
//! that the request was not processed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use proem_llm::client::once::{HostMethod, HostRequest, send_once};
use url::Url;

use super::mail::MailEnvelope;
use super::request::{answered_outcome, unanswered_outcome};
use super::{DeliveryOutcome, DeliveryTrouble, GraphMailRoute, receiver_words};

/// Sends a mail as it was recorded, to whom its own headers say.
pub(super) async fn send_graph_mail(mail: &[u8], route: &GraphMailRoute<'_>) -> DeliveryOutcome {
    let not_sent = |message: String| DeliveryOutcome::NotSent(DeliveryTrouble::new(message));
    if let Err(refusal) = MailEnvelope::of(mail) {
        return not_sent(refusal.to_string());
    }
    let Some(url) = send_mail_address(route) else {
        return not_sent("`effects.mail.graph.url` is no address; write it as `https://HOST`".to_owned());
    };
    let request = HostRequest {
        method: HostMethod::Post,
        url: url.as_str(),
        scope: route.scope,
        headers: &[("content-type".to_owned(), "text/plain".to_owned())],
        credential: Some(route.credential),
        body: Bytes::from(STANDARD.encode(mail)),
    };
    match send_once(request, &route.limits).await {
        Ok(answer) if answer.head.status == 429 => {
            let words = receiver_words(String::from_utf8_lossy(&answer.body).into_owned());
            let message = "Graph takes no more mails for a while (status 429); approve the action again, then";
            DeliveryOutcome::NotSent(DeliveryTrouble::told(message, words))
        }
        Ok(answer) => answered_outcome(&answer, &[]),
        Err(failure) => unanswered_outcome(failure),
    }
}

fn send_mail_address(route: &GraphMailRoute<'_>) -> Option<Url> {
    let mut url = Url::parse(route.origin).ok()?;
    let mut segments = url.path_segments_mut().ok()?;
    segments.pop_if_empty().push("v1.0");
    match route.mailbox {
        Some(mailbox) => segments.extend(["users", mailbox]),
        None => segments.push("me"),
    };
    segments.push("sendMail");
    drop(segments);
    Some(url)
}
