use super::*;

use jiff::Timestamp;
use proem_engine::effect::key::EffectKey;
use tempfile::TempDir;

use crate::effects::mail::{MailDraft, Mailbox, write_mail};
use crate::effects::scripted_smtp::{
    ScriptedSmtp, SmtpEncryption, SmtpLog, SmtpPlace, SmtpReaction, SmtpScript, write_authority,
};

use SmtpReaction::{Drop, Hang, Say};

const ENCRYPTIONS: [(SmtpEncryption, SmtpSecurity); 3] = [
    (SmtpEncryption::None, SmtpSecurity::LoopbackPlain),
    (SmtpEncryption::Whole, SmtpSecurity::Tls),
    (SmtpEncryption::StartTls, SmtpSecurity::StartTls),
];

fn mail() -> Vec<u8> {
    let mailbox = |address: &str| Mailbox { name: String::new(), address: address.to_owned() };
    let draft = MailDraft {
        from: mailbox("proem@corp.example"),
        to: vec![mailbox("ana@corp.example"), mailbox("bo@corp.example")],
        subject: "x".to_owned(),
        body: "one\n.two\nthree\n".to_owned(),
        attachments: Vec::new(),
        date: Timestamp::UNIX_EPOCH,
    };
    write_mail(&draft, &EffectKey::of_bytes([1; 32]), "corp.example").unwrap()
}

/// A server, and how it is reached.
struct Scene {
    scripted: ScriptedSmtp,
    server: SmtpServer,
}

impl Scene {
    fn new(script: SmtpScript, security: SmtpSecurity) -> Self {
        let folder = TempDir::new().unwrap();
        let roots = ExtraAnchors::read(&write_authority(folder.path()).unwrap()).unwrap();
        let scripted = ScriptedSmtp::start(script).unwrap();
        let limits = SmtpLimits::default();
        let server = SmtpServer { host: "localhost".to_owned(), port: scripted.port(), security, roots, limits };
        Self { scripted, server }
    }

    /// The outcome of a mail, in a word and our message, and the server's log.
    async fn send(self, login: Option<SmtpLogin<'_>>) -> (&'static str, String, SmtpLog) {
        let outcome = transact(&mail(), &SmtpRoute { server: &self.server, login }).await;
        let log = self.scripted.finish();
        for read in &log.mails {
            assert_eq!(read, &mail());
        }
        assert!(log.mails.len() <= 1 && log.connections <= 1, "{log:?}");
        match outcome {
            DeliveryOutcome::Sent { .. } => ("sent", String::new(), log),
            DeliveryOutcome::Failed(trouble) => ("failed", trouble.message, log),
            DeliveryOutcome::NotSent(trouble) => ("not sent", trouble.message, log),
            DeliveryOutcome::Unknown(trouble) => ("unknown", trouble.message, log),
        }
    }
}

/// The outcome of a mail, and the number of mails a server has read, if it deviates at one place.
async fn check(at: SmtpPlace, reaction: SmtpReaction, expected: (&str, usize)) {
    for (encryption, security) in ENCRYPTIONS {
        let only_starttls = matches!(at, SmtpPlace::StartTls | SmtpPlace::SecondHello);
        let has_place = match encryption {
            SmtpEncryption::None => !only_starttls && at != SmtpPlace::Handshake,
            SmtpEncryption::StartTls => true,
            _ => !only_starttls,
        };
        if !has_place {
            continue;
        }
        let scene = Scene::new(SmtpScript::new(encryption).with(at, reaction.clone()), security);
        let (outcome, message, log) = scene.send(None).await;
        assert_eq!((outcome, log.mails.len()), expected, "{security:?} {at:?} {reaction:?}: {message} {log:?}");
        let believes = outcome == "sent";
        assert_eq!(log.accepted == 1, believes, "{at:?} {reaction:?}: {message}");
    }
}

/// Places before 354.
const BEFORE: [SmtpPlace; 9] = [
    SmtpPlace::Greeting,
    SmtpPlace::Hello,
    SmtpPlace::StartTls,
    SmtpPlace::Handshake,
    SmtpPlace::SecondHello,
    SmtpPlace::Sender,
    SmtpPlace::Recipient(1),
    SmtpPlace::Recipient(2),
    SmtpPlace::Data,
];

#[tokio::test]
async fn a_mail_is_sent_whole_and_once() {
    for (encryption, security) in ENCRYPTIONS {
        let (outcome, message, log) = Scene::new(SmtpScript::new(encryption), security).send(None).await;
        assert_eq!((outcome, log.mails.len(), log.accepted), ("sent", 1, 1), "{security:?}: {message}");
        let commands: Vec<_> = log.commands.iter().map(String::as_str).collect();
        let expected = [
            "EHLO corp.example",
            "MAIL FROM:<proem@corp.example>",
            "RCPT TO:<ana@corp.example>",
            "RCPT TO:<bo@corp.example>",
            "DATA",
            "QUIT",
        ];
        assert_eq!(commands[commands.len() - 6..], expected, "{security:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_mail_has_sent_nothing() {
    for at in BEFORE {
        check(at, Drop, ("not sent", 0)).await;
    }
}

#[tokio::test]
async fn a_connection_that_breaks_within_or_behind_the_mail_leaves_it_unknown() {
    check(SmtpPlace::Body(1), Drop, ("unknown", 0)).await;
    check(SmtpPlace::Body(9), Drop, ("unknown", 0)).await;
    check(SmtpPlace::Body(12), Drop, ("unknown", 0)).await;
    check(SmtpPlace::Dot, Drop, ("unknown", 1)).await;
    check(SmtpPlace::Answered, Drop, ("sent", 1)).await;
}

#[tokio::test]
async fn a_refusal_counts_where_it_is_final() {
    let say = |text: &str| Say(format!("{text}\r\n"));
    for at in BEFORE {
        if at != SmtpPlace::Handshake {
            check(at, say("421 closing"), ("not sent", 0)).await;
            check(at, say("hello"), ("not sent", 0)).await;
        }
    }
    check(SmtpPlace::Greeting, say("554 no"), ("not sent", 0)).await;
    check(SmtpPlace::Sender, say("550 no"), ("not sent", 0)).await;
    check(SmtpPlace::Recipient(1), say("550 no"), ("failed", 0)).await;
    check(SmtpPlace::Recipient(2), say("550-no\r\n550 such user"), ("failed", 0)).await;
    check(SmtpPlace::Recipient(2), say("450 try later"), ("not sent", 0)).await;
    check(SmtpPlace::Recipient(2), say("251 forwarding"), ("sent", 1)).await;
    check(SmtpPlace::Data, say("554 no"), ("not sent", 0)).await;
    check(SmtpPlace::Dot, say("451 no"), ("failed", 1)).await;
    check(SmtpPlace::Dot, say("552 too much"), ("failed", 1)).await;
    check(SmtpPlace::Dot, say("354 more"), ("unknown", 1)).await;
    check(SmtpPlace::Dot, say("hello"), ("unknown", 1)).await;
    check(SmtpPlace::Dot, say("250-and\r\n550 no"), ("unknown", 1)).await;
}

#[tokio::test]
async fn nobody_gets_a_mail_of_which_one_recipient_was_refused() {
    let refusal = Say("550 no such user\r\n".to_owned());
    let script = SmtpScript::new(SmtpEncryption::Whole).with(SmtpPlace::Recipient(2), refusal);
    let (outcome, message, log) = Scene::new(script, SmtpSecurity::Tls).send(None).await;
    assert_eq!(outcome, "failed");
    assert_eq!(
        message,
        "the server refused recipient 2 of 2 with code 550, and nobody got the mail; propose it without that one"
    );
    assert_eq!(log.commands[log.commands.len() - 3..], ["RCPT TO:<bo@corp.example>", "RSET", "QUIT"]);
}

#[tokio::test]
async fn a_server_that_hangs_is_left() {
    let short = Duration::from_millis(50);
    for (at, limits, expected) in [
        (SmtpPlace::Sender, SmtpLimits { command: short, ..SmtpLimits::default() }, "not sent"),
        (SmtpPlace::Sender, SmtpLimits { whole: short, ..SmtpLimits::default() }, "not sent"),
        (SmtpPlace::Dot, SmtpLimits { answer: short, ..SmtpLimits::default() }, "unknown"),
    ] {
        let mut scene = Scene::new(SmtpScript::new(SmtpEncryption::None).with(at, Hang), SmtpSecurity::LoopbackPlain);
        scene.server.limits = limits;
        let (outcome, message, _) = scene.send(None).await;
        assert_eq!(outcome, expected, "{at:?}: {message}");
    }
}

/// The message about a server that can't be trusted with a mail, and that got none.
async fn check_refusal(script: SmtpScript, change: impl FnOnce(&mut SmtpServer), expected: &str) {
    let mut scene = Scene::new(script, SmtpSecurity::Tls);
    change(&mut scene.server);
    let (outcome, message, log) = scene.send(None).await;
    assert_eq!((outcome, message.as_str()), ("not sent", expected));
    assert!(log.commands.iter().all(|command| command.starts_with("EHLO") || command == "STARTTLS"), "{log:?}");
}

#[tokio::test]
async fn without_encryption_and_the_right_certificate_nothing_is_said() {
    let new = SmtpScript::new;
    check_refusal(
        new(SmtpEncryption::Whole),
        |server| server.roots = ExtraAnchors::default(),
        "the certificate of `localhost` is not signed by an authority that this system trusts; if it is your own, name \
         the authority's certificate in your configuration",
    )
    .await;
    check_refusal(
        new(SmtpEncryption::OtherHost),
        |_| (),
        "the certificate of `localhost` is for other hosts; correct the server's name",
    )
    .await;
    check_refusal(
        new(SmtpEncryption::None),
        |_| (),
        "`localhost` doesn't speak TLS on this port; try another port, or STARTTLS",
    )
    .await;
    check_refusal(
        new(SmtpEncryption::None),
        |server| server.security = SmtpSecurity::StartTls,
        "`localhost` offers no encryption on this port; try another port with TLS",
    )
    .await;
    check_refusal(
        new(SmtpEncryption::None),
        |server| {
            server.security = SmtpSecurity::LoopbackPlain;
            server.host = "192.0.2.1".to_owned();
        },
        "`192.0.2.1` is not on this machine, where alone a mail goes unencrypted; configure TLS",
    )
    .await;
}

#[tokio::test]
async fn what_was_said_in_the_open_does_not_count_behind_the_encryption() {
    let ahead = "220 go ahead\r\n250-localhost\r\n250 AUTH PLAIN\r\n250 ok\r\n";
    check_refusal(
        SmtpScript::new(SmtpEncryption::StartTls).with(SmtpPlace::StartTls, Say(ahead.to_owned())),
        |server| server.security = SmtpSecurity::StartTls,
        "the dialogue with `localhost` ended at STARTTLS, before the mail: it answered before it was asked; try again",
    )
    .await;
    check(SmtpPlace::Data, Say("354 go ahead\r\n250 queued\r\n".to_owned()), ("not sent", 0)).await;
}

#[tokio::test]
async fn a_credential_is_given_once_and_never_shown() {
    let script = |password: &str| {
        let mut script = SmtpScript::new(SmtpEncryption::Whole);
        script.password = Some(password.to_owned());
        script
    };
    let secret = Secret::new("mail", "correct horse");
    let login = SmtpLogin { user: "proem", secret: &secret };
    let (outcome, message, log) = Scene::new(script("correct horse"), SmtpSecurity::Tls).send(Some(login)).await;
    assert_eq!((outcome, log.accepted), ("sent", 1), "{message}");
    let (outcome, message, log) = Scene::new(script("other"), SmtpSecurity::Tls).send(Some(login)).await;
    assert_eq!(
        (outcome, message.as_str()),
        ("not sent", "the server refused the credential `mail`; check it and the user's name")
    );
    assert_eq!(log.commands.iter().filter(|command| *command == "AUTH").count(), 1);
    let script = script("x").with(SmtpPlace::Hello, Say("250 localhost\r\n".to_owned()));
    let (outcome, message, _) = Scene::new(script, SmtpSecurity::Tls).send(Some(login)).await;
    assert_eq!(
        (outcome, message.as_str()),
        ("not sent", "`localhost` takes no password here (neither PLAIN nor LOGIN); try another port")
    );
}

#[tokio::test]
async fn a_mail_that_is_too_large_for_the_server_is_not_begun() {
    let hello = Say("250-localhost\r\n250 SIZE 100\r\n".to_owned());
    let script = SmtpScript::new(SmtpEncryption::Whole).with(SmtpPlace::Hello, hello);
    let (outcome, message, log) = Scene::new(script, SmtpSecurity::Tls).send(None).await;
    assert_eq!(
        (outcome, message.as_str()),
        ("not sent", "`localhost` takes mails of at most 100 bytes; shorten the mail")
    );
    assert_eq!(log.commands, ["EHLO corp.example"]);
}

#[test]
fn only_files_with_certificates_are_taken() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("roots.pem");
    for (text, expected) in [
        ("", "it holds none"),
        ("hello", "it holds none"),
        ("-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n", "it is not in PEM form"),
    ] {
        std::fs::write(&path, text).unwrap();
        let expected =
            format!("no certificate could be read from `{}`: {expected}; name a file in PEM form", path.display());
        assert_eq!(ExtraAnchors::read(&path).unwrap_err().to_string(), expected);
    }
}
