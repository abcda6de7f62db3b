//! A mail to a mail server: one connection, one transaction, one attempt.
//!
//! Invariants: until the server has said 354 nobody has the mail, and every failure is [`DeliveryOutcome::NotSent`], or
//! [`DeliveryOutcome::Failed`] for a recipient that is refused for good. From then on only its answer to the whole mail
//! decides, and whatever keeps that from coming is [`DeliveryOutcome::Unknown`] (T7). Nobody gets a mail of which one
//! recipient was refused. Without encryption nothing is said but on this machine.
//!
//! This speaks the few commands that a submission has (RFC 5321, 3207, 4954) itself:
//! `docs/design/0015-delivery.md` says why.

mod connection;
mod dialogue;
mod line;
#[cfg(test)]
mod tests;

use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use proem_llm::secret::Secret;
use proem_store::failpoint;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use self::dialogue::{Dialogue, PreparedDialogue};
use super::mail::MailEnvelope;
use super::{DeliveryOutcome, DeliveryTrouble, SmtpRoute, receiver_words};
use crate::files::read_text;

/// The most bytes of a file with certificates.
const ROOT_BYTES: usize = 1024 * 1024;

/// A mail server.
#[derive(Debug, Clone)]
pub struct SmtpServer {
    /// Its name, as its certificate has it.
    pub host: String,
    /// Its port: 465 and 587 as a rule.
    pub port: u16,
    /// How the connection is encrypted.
    pub security: SmtpSecurity,
    /// Authorities that count beside those of the system.
    pub roots: ExtraAnchors,
    /// How long it may take.
    pub limits: SmtpLimits,
}

/// How a connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// From its first byte (RFC 8314).
    Tls,
    /// From the command STARTTLS on, which must succeed before anything else is said (RFC 3207).
    StartTls,
    /// Not at all: only on this machine.
    LoopbackPlain,
}

/// How long a mail server may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmtpLimits {
    /// For a connection, encryption apart.
    pub connect: Duration,
    /// For the answer to each command.
    pub command: Duration,
    /// For the answer to the whole mail.
    pub answer: Duration,
    /// For everything.
    pub whole: Duration,
}

impl Default for SmtpLimits {
    /// 10 s, 60 s, 5 min and 10 min. RFC 5321, 4.5.3.2 asks for 5 min a command and 10 min for the last answer, since
    /// who gives up there leaves it open whether the mail was sent. A queue behind it waits meanwhile.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            command: Duration::from_secs(60),
            answer: Duration::from_secs(300),
            whole: Duration::from_secs(600),
        }
    }
}

/// The login for a mail server.
#[derive(Debug, Clone, Copy)]
pub struct SmtpLogin<'a> {
    /// The user's name.
    pub user: &'a str,
    /// The password.
    pub secret: &'a Secret,
}

/// Certificates of authorities that count beside those of the system, such as a company's own.
#[derive(Debug, Clone, Default)]
pub struct ExtraAnchors(Arc<[CertificateDer<'static>]>);

/// A file without certificates.
#[derive(Debug, thiserror::Error)]
#[error("no certificate could be read from `{path}`: {problem}; name a file in PEM form")]
pub struct AnchorRefusal {
    path: String,
    problem: String,
}

impl ExtraAnchors {
    /// The certificates of a file in PEM form.
    ///
    /// # Errors
    ///
    /// [`AnchorRefusal`] if it is unreadable or holds none.
    pub fn read(path: &Path) -> Result<Self, AnchorRefusal> {
        let refusal = |problem: String| AnchorRefusal { path: crate::error::path_on_screen(path), problem };
        let text = read_text(path, ROOT_BYTES).map_err(|error| refusal(error.to_string()))?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        match found {
            Ok(found) if !found.is_empty() => Ok(Self(found.into())),
            Ok(_) => Err(refusal("it holds none".to_owned())),
            Err(_) => Err(refusal("it is not in PEM form".to_owned())),
        }
    }

    /// The certificates in DER form.
    pub fn der(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.0.iter().map(|certificate| certificate.to_vec())
    }

    fn certificates(&self) -> impl Iterator<Item = CertificateDer<'static>> + '_ {
        self.0.iter().cloned()
    }
}

/// Sends a mail as it was recorded, to whom its own headers say.
pub(super) async fn transact(mail: &[u8], route: &SmtpRoute<'_>) -> DeliveryOutcome {
    let envelope = match MailEnvelope::of(mail) {
        Ok(envelope) => envelope,
        Err(refusal) => return DeliveryOutcome::NotSent(DeliveryTrouble::new(refusal.to_string())),
    };
    let SmtpServer { host, limits, .. } = route.server;
    let until = Instant::now() + limits.whole.min(Duration::from_secs(86_400));
    // The two halves are apart, so that nothing of the second can be taken for the first.
    let mut dialogue = match timeout_at(until, dialogue::prepare_dialogue(route, &envelope, mail.len())).await {
        Ok(PreparedDialogue::Ready(dialogue)) => dialogue,
        Ok(PreparedDialogue::Refused(trouble, dialogue)) => {
            dialogue.take_back().await;
            return DeliveryOutcome::Failed(trouble);
        }
        Ok(PreparedDialogue::Ended(trouble)) => return DeliveryOutcome::NotSent(trouble),
        Err(_) => {
            let message = format!("`{host}` was not ready for the mail within {} s; try again", limits.whole.as_secs());
            return DeliveryOutcome::NotSent(DeliveryTrouble::new(message));
        }
    };
    let open = format!("`{host}` may have the mail");
    let outcome = timeout_at(until, send_content(&mut dialogue, mail, &open)).await.unwrap_or_else(|_| {
        let message = format!("{open}: it has not answered to it within {} s", limits.whole.as_secs());
        DeliveryOutcome::Unknown(DeliveryTrouble::new(message))
    });
    if matches!(outcome, DeliveryOutcome::Sent { .. } | DeliveryOutcome::Failed(_)) {
        // Behind the outcome, which a slow goodbye must not change; and never into a mail that is not whole.
        dialogue.close().await;
    }
    outcome
}

/// The mail itself, behind 354.
async fn send_content(dialogue: &mut Dialogue, mail: &[u8], open: &str) -> DeliveryOutcome {
    failpoint::pass("before-mail");
    let answer = dialogue.hand_over(mail).await;
    failpoint::pass("after-mail");
    match answer {
        Ok(reply) => {
            let words = receiver_words(reply.text);
            match reply.code {
                200..=299 => DeliveryOutcome::Sent { answer: Some(words) },
                400..=599 => {
                    let message = format!("the server refused the mail with code {}; see what it says", reply.code);
                    DeliveryOutcome::Failed(DeliveryTrouble::told(message, words))
                }
                code => {
                    let message = format!("{open}: it answered with code {code}, which says neither");
                    DeliveryOutcome::Unknown(DeliveryTrouble::told(message, words))
                }
            }
        }
        Err(broken) => {
            let message = format!("{open}: {broken} before its answer came; ask the recipient or look into its log");
            DeliveryOutcome::Unknown(DeliveryTrouble::new(message))
        }
    }
}
