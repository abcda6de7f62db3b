//! A mail server that ends the dialogue at every place, and what is then said of the action.
//!
//! The rows are those of `docs/design/0015-delivery.md`. The oracle is the server's log.

use std::collections::BTreeSet;

use proem_runtime::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpPlace, SmtpReaction, SmtpScript};
use serde_json::{Value as Json, json};

use super::scene::{KNOWN, LOGIN, MailServer, Office, POLICY, id_of, plain, received};

/// A server's behaviour, and the outcome for the action.
struct Row {
    script: SmtpScript,
    security: &'static str,
    lines: &'static str,
    /// The state behind the sweep.
    state: &'static str,
    /// The event that led there.
    event: &'static str,
    /// How many mails the server read to their dot, and how many it said to have.
    mails: (usize, usize),
}

impl Row {
    const fn new(script: SmtpScript, state: &'static str, event: &'static str, mails: (usize, usize)) -> Self {
        Self { script, security: "tls", lines: LOGIN, state, event, mails }
    }

    fn by(mut self, security: &'static str, lines: &'static str) -> Self {
        (self.security, self.lines) = (security, lines);
        self
    }
}

fn whole_script() -> SmtpScript {
    SmtpScript::new(SmtpEncryption::Whole)
}

fn at(place: SmtpPlace, reaction: SmtpReaction) -> SmtpScript {
    whole_script().with(place, reaction)
}

fn says(place: SmtpPlace, words: &str) -> SmtpScript {
    at(place, SmtpReaction::Say(format!("{words}\r\n")))
}

/// Plays every row, each with a mail of its own, in one office.
fn check(rows: Vec<Row>) {
    let Some(office) = Office::open() else { return };
    let mut need_a_person = BTreeSet::new();
    for row in rows {
        let said = format!("{:?} by {} {:?}", row.script, row.security, row.lines);
        let ids = office.approve_notes(1);
        let id = ids[0].as_str();
        let server = ScriptedSmtp::start(row.script).unwrap();
        office.to_server(MailServer { port: server.port(), security: row.security, lines: row.lines });
        let swept = office.sweep();
        assert_eq!(office.states()[id], row.state, "{said}: {}", swept.stdout());
        let events = office.events(id);
        assert_eq!(events[events.len() - 2..], ["take-up", row.event], "{said}");
        let log = server.log();
        assert_eq!((log.mails.len(), log.accepted), row.mails, "{said}: {:?}", log.commands);
        assert!(log.mails.iter().all(|mail| id_of(mail) == id), "{said}");
        // One attempt, and none for what earlier rows have left.
        assert_eq!(server.finish().connections, 1, "{said}");
        assert_eq!(swept.code(), i32::from(row.state != "executed"), "{said}: {}", swept.stdout());
        if ["waiting", "unknown"].contains(&row.state) {
            need_a_person.insert(ids[0].clone());
        }
    }
    assert_eq!(office.open_actions().into_iter().collect::<BTreeSet<_>>(), need_a_person);
    assert_eq!(office.sweep().json()["changes"], json!([]), "what needs a person waits for one");
}

/// A file goes as its policy names it: shown before the yes, recorded with the mail, and received with exactly these bytes.
#[test]
fn a_file_goes_with_a_mail() {
    let Some(office) = Office::open() else { return };
    let server = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::None)).unwrap();
    office.to_server(plain(&server));
    let figures =
        "fields.figures = { role = \"text\", audience = \"internal\", attachment = \"figures.csv\", max_bytes = 40 }\n";
    office
        .fixture
        .configure("policy.toml", &POLICY.replace("[actions.reminder]", &format!("{figures}\n[actions.reminder]")));
    let with = |text: &str| {
        let mut note = office.note();
        note["fields"]["figures"] = text.into();
        office.propose(&note)
    };
    let id = with("week,points\n12,31\n").json()["id"].as_str().unwrap().to_owned();
    let shown = office.fixture.proem(&["queue", "show", &id]);
    assert!(shown.stdout().contains(" bytes with `figures.csv` goes to "), "{}", shown.stdout());
    office.approve(std::slice::from_ref(&id));
    assert_eq!(office.sweep().code(), 0);
    let log = server.log();
    assert_eq!(received(&log)[&id], 1);
    let mail = String::from_utf8(log.mails[0].clone()).unwrap();
    for part in ["multipart/mixed", "filename=\"figures.csv\"\r\n\r\nweek,points\r\n12,31\r\n\r\n--", "The last.\r\n"] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    let long = with(&"x".repeat(41));
    assert!(long.code() == 2 && long.stderr().contains("`figures` has more than 40 bytes"), "{}", long.transcript());
    assert_eq!(office.states().values().filter(|state| *state == "executed").count(), 1);
}

#[test]
fn a_server_that_goes_before_the_mail_has_nothing() {
    use SmtpPlace::{Data, Greeting, Hello, Login, Recipient, Sender};
    let places = [Greeting, Hello, Login, Sender, Recipient(1), Recipient(2), Data];
    let waits = |script| Row::new(script, "waiting", "not-sent", (0, 0));
    check(places.into_iter().map(|place| waits(at(place, SmtpReaction::Drop))).collect());
}

#[test]
fn a_server_that_goes_while_it_encrypts_has_nothing() {
    use SmtpPlace::{Handshake, SecondHello, StartTls};
    let script = |place| SmtpScript::new(SmtpEncryption::StartTls).with(place, SmtpReaction::Drop);
    let waits = |script| Row::new(script, "waiting", "not-sent", (0, 0));
    let mut rows: Vec<Row> =
        [StartTls, SecondHello].into_iter().map(|place| waits(script(place)).by("starttls", KNOWN)).collect();
    rows.push(waits(at(Handshake, SmtpReaction::Drop)));
    check(rows);
}

#[test]
fn a_server_that_goes_within_or_behind_the_mail_may_have_it() {
    use SmtpPlace::{Answered, Body, Dot};
    check(vec![
        Row::new(at(Body(1), SmtpReaction::Drop), "unknown", "lose", (0, 0)),
        Row::new(at(Body(9), SmtpReaction::Drop), "unknown", "lose", (0, 0)),
        Row::new(at(Dot, SmtpReaction::Drop), "unknown", "lose", (1, 0)),
        Row::new(says(Dot, "199 hm"), "unknown", "lose", (1, 0)),
        Row::new(at(Answered, SmtpReaction::Drop), "executed", "sent", (1, 1)),
        Row::new(whole_script(), "executed", "sent", (1, 1)),
        Row::new(SmtpScript::new(SmtpEncryption::StartTls), "executed", "sent", (1, 1)).by("starttls", KNOWN),
    ]);
}

#[test]
fn a_server_that_refuses_has_nothing() {
    use SmtpPlace::{Data, Dot, Recipient};
    check(vec![
        Row::new(says(Recipient(2), "450 later"), "waiting", "not-sent", (0, 0)),
        Row::new(says(Data, "451 later"), "waiting", "not-sent", (0, 0)),
        Row::new(says(Dot, "451 later"), "failed", "fail", (1, 0)),
        Row::new(says(Dot, "554 never"), "failed", "fail", (1, 0)),
    ]);
}

#[test]
fn nobody_gets_a_mail_of_which_one_recipient_is_refused() {
    let Some(office) = Office::open() else { return };
    for (number, to) in [(1, "ada"), (2, "bob")] {
        let ids = office.approve_notes(1);
        let server = ScriptedSmtp::start(
            SmtpScript::new(SmtpEncryption::None)
                .with(SmtpPlace::Recipient(number), SmtpReaction::Say("550 no such user\r\n".to_owned())),
        )
        .unwrap();
        office.to_server(plain(&server));
        let swept: Json = serde_json::from_str(office.sweep().stdout()).unwrap();
        let why = format!(
            "the server refused recipient {number} of 2 with code 550, and nobody got the mail; propose it without that \
             one; it said: no such user"
        );
        assert_eq!((&swept["changes"][0]["state"], &swept["changes"][0]["why"]), (&"failed".into(), &why.into()));
        assert_eq!(office.states()[&ids[0]], "failed");
        let log = server.finish();
        assert!(log.mails.is_empty());
        let refused = format!("RCPT TO:<{to}@corp.example>");
        assert_eq!(log.commands[log.commands.len() - 3..], [refused.as_str(), "RSET", "QUIT"], "{:?}", log.commands);
    }
}

#[test]
fn nothing_is_said_to_a_server_without_encryption_or_with_a_wrong_certificate() {
    let waits = |script, security, lines| Row::new(script, "waiting", "not-sent", (0, 0)).by(security, lines);
    let nothing = || SmtpScript::new(SmtpEncryption::None);
    check(vec![
        waits(nothing(), "starttls", KNOWN),
        waits(SmtpScript::new(SmtpEncryption::OtherHost), "tls", KNOWN),
        // An authority that nobody has named.
        waits(whole_script(), "tls", ""),
        waits(SmtpScript { password: Some("another".to_owned()), ..whole_script() }, "tls", LOGIN),
    ]);
}

#[test]
fn a_server_without_encryption_gets_no_word_where_encryption_is_wanted() {
    let Some(office) = Office::open() else { return };
    let server = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::None)).unwrap();
    office.to_server(MailServer { port: server.port(), security: "starttls", lines: LOGIN });
    let ids = office.approve_notes(1);
    let swept: Json = serde_json::from_str(office.sweep().stdout()).unwrap();
    let why = swept["changes"][0]["why"].as_str().unwrap();
    assert_eq!(why, "`localhost` offers no encryption on this port; try another port with TLS");
    let log = server.finish();
    assert_eq!(log.commands, ["EHLO corp.example"]);
    // When the server is mended, the same action goes with its key, after a second yes and once.
    let mended = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::StartTls)).unwrap();
    office.to_server(MailServer { port: mended.port(), security: "starttls", lines: LOGIN });
    office.approve(&ids);
    assert_eq!(office.sweep().code(), 0);
    let log = mended.finish();
    assert_eq!((log.mails.iter().map(|mail| id_of(mail)).collect::<Vec<_>>(), log.accepted), (ids, 1));
}
