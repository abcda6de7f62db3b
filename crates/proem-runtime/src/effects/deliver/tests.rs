use super::*;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proem_engine::effect::key::EffectKey;
use proem_guard::show;
use tempfile::TempDir;

use crate::effects::receiver_words;
use crate::effects::smtp::{ExtraAnchors, SmtpLimits, SmtpSecurity};

const SECRET: &str = "a-longer-secret-of-30-characters";

fn server() -> SmtpServer {
    SmtpServer {
        host: "localhost".to_owned(),
        port: 1,
        security: SmtpSecurity::Tls,
        roots: ExtraAnchors::default(),
        limits: SmtpLimits::default(),
    }
}

fn request<'a>() -> RequestRoute<'a> {
    RequestRoute {
        origin: "https://tickets.example",
        scope: HostScope::Public,
        credential: None,
        not_done: &[],
        limits: HostLimits::default(),
    }
}

/// Why bytes don't leave.
async fn check(form: OutboxForm, bytes: &[u8], route: &DeliveryRoute<'_>, expected: &str) {
    let delivery = DeliveryBytes { key: EffectKey::of_bytes([1; 32]), form, bytes };
    let secrets = [Secret::new("mail", SECRET)];
    let outcome = deliver(&delivery, route, &secrets).await;
    let DeliveryOutcome::NotSent(trouble) = outcome else { panic!("{outcome:?}") };
    assert_eq!(trouble.message, expected);
}

#[tokio::test]
async fn what_does_not_belong_on_a_route_does_not_leave_by_it() {
    let server = server();
    let smtp = DeliveryRoute::Smtp(SmtpRoute { server: &server, login: None });
    let request = DeliveryRoute::Request(request());
    let (mail, other) = (OutboxForm::Mail, OutboxForm::Request);
    check(mail, b"x", &request, "a mail can't go to a ticket system; correct the route in your configuration").await;
    check(other, b"x", &smtp, "a request can't go to a mail server; correct the route in your configuration").await;
    let not_ours = "the recorded bytes are not a mail that Proem made; propose the action anew";
    check(mail, b"x", &smtp, not_ours).await;
    let not_ours = "the recorded bytes are not a request that Proem made; propose the action anew";
    check(other, b"x", &request, not_ours).await;
}

#[tokio::test]
async fn a_loaded_credential_leaves_by_no_route() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let server = server();
    for route in [
        DeliveryRoute::Outbox(folder.path()),
        DeliveryRoute::Smtp(SmtpRoute { server: &server, login: None }),
        DeliveryRoute::Request(request()),
    ] {
        let expected = "the action's text holds the credential `mail`; take it out, and change it";
        for form in [OutboxForm::Mail, OutboxForm::Request] {
            check(form, format!("x {SECRET} y").as_bytes(), &route, expected).await;
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_a_receiver_echoes_of_a_credential_is_shown_nowhere() {
    let secrets = [Secret::new("mail", SECRET)];
    let words = || receiver_words(format!("535 wrong: {SECRET}"));
    let trouble = || DeliveryTrouble::told("x", words());
    for outcome in [
        DeliveryOutcome::Sent { answer: Some(words()) },
        DeliveryOutcome::Failed(trouble()),
        DeliveryOutcome::NotSent(trouble()),
        DeliveryOutcome::Unknown(trouble()),
    ] {
        let answer = match clear_credentials(outcome, &secrets) {
            DeliveryOutcome::Sent { answer } => answer,
            DeliveryOutcome::Failed(trouble)
            | DeliveryOutcome::NotSent(trouble)
            | DeliveryOutcome::Unknown(trouble) => trouble.answer,
        };
        assert_eq!(show::terminal_text(&answer.unwrap()).to_string(), "535 wrong: [redacted:mail]");
    }
}
