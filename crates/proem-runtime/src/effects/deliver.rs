//! The way out: a delivery, a route, and what became of it.
//!
//! Invariants: nothing that holds a loaded credential leaves; what a receiver says is rid of credentials before anybody
//! sees it.

use std::path::Path;

use proem_engine::effect::key::OutboxForm;
use proem_guard::Untrusted;
use proem_llm::client::hosts::HostScope;
use proem_llm::client::once::{HostCredential, HostLimits};
use proem_llm::secret::{Secret, redact_secrets};

use super::smtp::{SmtpLogin, SmtpServer};
use super::{DeliveryBytes, DeliveryOutcome, DeliveryTrouble, credentials, graph_mail, outbox, request, smtp};

/// How a delivery leaves.
#[derive(Debug, Clone, Copy)]
pub enum DeliveryRoute<'a> {
    /// As a file in this folder.
    Outbox(&'a Path),
    /// As a mail to this server.
    Smtp(SmtpRoute<'a>),
    /// As a mail to a mailbox of Microsoft Graph.
    Graph(GraphMailRoute<'a>),
    /// As a request to this server.
    Request(RequestRoute<'a>),
}

/// A mailbox of Microsoft Graph and who sends from it.
#[derive(Debug, Clone, Copy)]
pub struct GraphMailRoute<'a> {
    /// The origin of Graph.
    pub origin: &'a str,
    /// The address of the mailbox. `None` is that of whoever signed in.
    pub mailbox: Option<&'a str>,
    /// The addresses that its host may have.
    pub scope: HostScope,
    /// The access token.
    pub credential: HostCredential<'a>,
    /// How long it may take.
    pub limits: HostLimits,
}

/// A mail server and who asks it.
#[derive(Debug, Clone, Copy)]
pub struct SmtpRoute<'a> {
    /// Host, port and kind of encryption.
    pub server: &'a SmtpServer,
    /// The login, if the server wants one.
    pub login: Option<SmtpLogin<'a>>,
}

/// A ticket system and who asks it.
#[derive(Debug, Clone, Copy)]
pub struct RequestRoute<'a> {
    /// The one origin that requests go to: `https://tickets.example`.
    pub origin: &'a str,
    /// The addresses that its host may have.
    pub scope: HostScope,
    /// The credential of the sender.
    pub credential: Option<HostCredential<'a>>,
    /// Those of status 429 and 5xx by which it says that it did nothing.
    pub not_done: &'a [u16],
    /// How long it may take.
    pub limits: HostLimits,
}

/// Hands a delivery over, once. `secrets` are all credentials that are loaded.
///
/// The future must not be dropped while it runs: what became of the action would be unknown.
pub(crate) async fn deliver(
    delivery: &DeliveryBytes<'_>,
    route: &DeliveryRoute<'_>,
    secrets: &[Secret],
) -> DeliveryOutcome {
    if let Some(secret) = credentials::leaking(delivery, secrets) {
        let message = format!("the action's text holds the credential `{}`; take it out, and change it", secret.name());
        return DeliveryOutcome::NotSent(DeliveryTrouble::new(message));
    }
    let outcome = match (route, delivery.form) {
        (DeliveryRoute::Outbox(folder), _) => outbox::put_in_outbox(delivery, folder).await,
        (DeliveryRoute::Smtp(route), OutboxForm::Mail) => smtp::transact(delivery.bytes, route).await,
        (DeliveryRoute::Graph(route), OutboxForm::Mail) => graph_mail::send_graph_mail(delivery.bytes, route).await,
        (DeliveryRoute::Request(route), OutboxForm::Request) => request::send_ticket_request(delivery, route).await,
        (DeliveryRoute::Smtp(_) | DeliveryRoute::Graph(_), OutboxForm::Request) => {
            wrong_route("a request can't go to a mail server")
        }
        (DeliveryRoute::Request(_), OutboxForm::Mail) => wrong_route("a mail can't go to a ticket system"),
    };
    clear_credentials(outcome, secrets)
}

/// [`deliver`] without a permit, for tests and benches of other crates.
#[cfg(feature = "scripted")]
pub async fn deliver_unpermitted(
    delivery: &DeliveryBytes<'_>,
    route: &DeliveryRoute<'_>,
    secrets: &[Secret],
) -> DeliveryOutcome {
    deliver(delivery, route, secrets).await
}

fn wrong_route(problem: &str) -> DeliveryOutcome {
    DeliveryOutcome::NotSent(DeliveryTrouble::new(format!("{problem}; correct the route in your configuration")))
}

/// The outcome without what a receiver echoes of a credential.
fn clear_credentials(outcome: DeliveryOutcome, secrets: &[Secret]) -> DeliveryOutcome {
    let clear = |words: Untrusted<String>| words.map(|text| redact_secrets(secrets, &text).unwrap_or(text));
    let trouble = |DeliveryTrouble { message, answer }| DeliveryTrouble { message, answer: answer.map(clear) };
    match outcome {
        DeliveryOutcome::Sent { answer } => DeliveryOutcome::Sent { answer: answer.map(clear) },
        DeliveryOutcome::Failed(found) => DeliveryOutcome::Failed(trouble(found)),
        DeliveryOutcome::NotSent(found) => DeliveryOutcome::NotSent(trouble(found)),
        DeliveryOutcome::Unknown(found) => DeliveryOutcome::Unknown(trouble(found)),
    }
}

#[cfg(test)]
mod tests;
