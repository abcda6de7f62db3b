use super::*;

use mail_parser::{Address, MessageParser};
use proptest::{collection::vec, prelude::*};

fn key() -> EffectKey {
    EffectKey::of_bytes([0xab; 32])
}

fn mailbox(name: &str, address: &str) -> Mailbox {
    Mailbox { name: name.to_owned(), address: address.to_owned() }
}

fn draft() -> MailDraft {
    MailDraft {
        from: mailbox("Proem", "proem@corp.example"),
        to: vec![mailbox("", "ana@corp.example"), mailbox("Bo \"B\" Lee", "bo@corp.example")],
        subject: "Build is red".to_owned(),
        body: "Hello,\n.the build = red.\nFrom here on €\n".to_owned(),
        attachments: Vec::new(),
        date: "2026-11-23T18:44:10Z".parse().unwrap(),
    }
}

#[test]
fn the_same_fields_make_these_bytes() {
    let mail = String::from_utf8(write_mail(&draft(), &key(), "Corp.example").unwrap()).unwrap();
    let expected = "Message-ID: <abababababababababababababababababababababababababababababababab@corp.example>\r\n\
                    Date: Mon, 23 Nov 2026 18:44:10 +0000\r\n\
                    From: \"Proem\"\r\n <proem@corp.example>\r\n\
                    To: <ana@corp.example>,\r\n \"Bo \\\"B\\\" Lee\"\r\n <bo@corp.example>\r\n\
                    Subject: Build is red\r\n\
                    MIME-Version: 1.0\r\n\
                    Content-Type: text/plain; charset=utf-8\r\n\
                    Content-Transfer-Encoding: quoted-printable\r\n\
                    \r\n\
                    Hello,\r\n=2Ethe build =3D red.\r\n=46rom here on =E2=82=AC\r\n";
    assert_eq!(mail, expected);
}

/// The message about a draft that `change` has changed.
#[track_caller]
fn check(change: impl FnOnce(&mut MailDraft), expected: &str) {
    let mut draft = draft();
    change(&mut draft);
    let found = write_mail(&draft, &key(), "corp.example");
    assert_eq!(found.map_or_else(|refusal| refusal.to_string(), |_| "fine".to_owned()), expected);
}

#[test]
fn what_could_begin_a_header_is_refused_and_named() {
    for (text, found) in [
        ("a\r\nBcc: eve@evil.example", "a line break"),
        ("a\nb", "a line break"),
        ("a\rb", "a line break"),
        ("a\u{2028}b", "a line break"),
        ("a\u{85}b", "a line break"),
        ("a\0b", "a NUL character"),
        ("a\u{1b}[2J", "a control character"),
        ("a\tb", "a control character"),
    ] {
        let expected =
            |field: &str| format!("{field} contains {found}, which could begin a header of its own; take it out");
        check(|draft| draft.subject = text.to_owned(), &expected("the subject"));
        check(|draft| draft.from.name = text.to_owned(), &expected("the sender's name"));
        check(|draft| draft.from.address = text.to_owned(), &expected("the sender's address"));
        check(|draft| draft.to[1].name = text.to_owned(), &expected("a recipient's name"));
        check(|draft| draft.to[1].address = text.to_owned(), &expected("a recipient's address"));
        assert_eq!(check_attachment_name(text).unwrap_err().to_string(), expected("the name of an attachment"));
    }
    let body = "the body contains a NUL character, which could begin a header of its own; take it out";
    check(|draft| draft.body = "a\0".to_owned(), body);
    check(|draft| draft.body = "a\u{2028}b\tc\r\n\r\nd\re".to_owned(), "fine");
}

#[test]
fn addresses_are_plain_ones() {
    for address in ["a@b.c", "a.b+c@d-e.example", "o'neil@corp.example", "x@xn--bcher-kva.example"] {
        assert!(is_address(address), "{address}");
    }
    let long = format!("{}@corp.example", "x".repeat(65));
    for address in [
        "",
        "a",
        "@",
        "a@",
        "@b.c",
        "a@b",
        "a@b.c,d@e.f",
        "a@b.c d@e.f",
        "<a@b.c>",
        "a@b.c>",
        "\"a b\"@b.c",
        "a b@c.d",
        "a..b@c.d",
        ".a@b.c",
        "a@-b.c",
        "a@b..c",
        "a@[127.0.0.1]",
        "a@b.c SIZE=1",
        "ä@b.c",
        "a@bücher.example",
        &long,
    ] {
        assert!(!is_address(address), "{address}");
    }
    let address = "a recipient's address is not a mail address; write it as `name@domain.example` in ASCII";
    check(|draft| draft.to[0].address = "ana@corp.example, eve@evil.example".to_owned(), address);
}

#[test]
fn what_is_too_much_is_refused() {
    check(|draft| draft.body = "x".repeat(MAX_BODY), "fine");
    check(|draft| draft.body = "x".repeat(MAX_BODY + 1), "the body has more than 262144 bytes; shorten it");
    check(|draft| draft.body = "x".repeat(5 << 20), "the body has more than 262144 bytes; shorten it");
    check(|draft| draft.subject = "x".repeat(501), "the subject has more than 500 bytes; shorten it");
    check(|draft| draft.to.clear(), "the mail has no recipient; name one");
    let many = "the mail has more than 100 recipients; name fewer";
    check(|draft| draft.to = vec![mailbox("", "a@b.c"); 101], many);
    check(|draft| draft.to = vec![mailbox("", "a@b.c"); 100], "fine");
    let domain = "`localhost` can't be part of a message id; configure the domain that mails come from";
    assert_eq!(write_mail(&draft(), &key(), "localhost").unwrap_err().to_string(), domain);
}

#[test]
fn attachments_are_named_like_files_of_one_folder() {
    assert_eq!(check_attachment_name("report 1.pdf"), Ok(()));
    let expected = "the name of an attachment is a path or hidden; name a file without `/`, `\\` and a leading dot";
    for name in ["", "../a", "..", "a/b", "a\\b", ".hidden", "/etc/passwd", "C:a"] {
        assert_eq!(check_attachment_name(name).unwrap_err().to_string(), expected, "{name}");
    }
    for name in ["a\";b", "résumé.txt", &"a".repeat(101)] {
        let said = check_attachment_name(name).unwrap_err().to_string();
        assert!(said.contains("others than ASCII letters"), "{said}");
    }
}

fn file(name: &str, text: &str) -> MailAttachment {
    MailAttachment { name: name.to_owned(), text: text.to_owned() }
}

#[test]
fn files_that_go_along_are_checked_and_stand_behind_the_body() {
    let attach = |files: Vec<MailAttachment>| move |draft: &mut MailDraft| draft.attachments = files;
    check(attach(vec![file("a.txt", "x"), file("A.TXT", "y")]), "two attachments have one name; name each otherwise");
    check(
        attach(vec![file("a.txt", "\0")]),
        "an attachment contains a NUL character, which could begin a header of its own; take it out",
    );
    check(
        attach(vec![file("a.txt", &"x".repeat(MAX_BODY + 1))]),
        "an attachment has more than 262144 bytes; shorten it",
    );
    let many = (0..=MAX_ATTACHMENTS).map(|number| file(&format!("{number}.txt"), "")).collect();
    check(attach(many), "the mail has more than 10 attachments; send fewer");
    check(
        attach(vec![file("a.txt\r\nBcc: eve@evil.example", "")]),
        "the name of an attachment contains a line break, which could begin a header of its own; take it out",
    );

    let ending = "--=_abababababababababababababababab--";
    let mut draft = draft();
    attach(vec![file("figures.csv", &format!("a,b\n{ending}\n.€\n")), file("empty.txt", "")])(&mut draft);
    let mail = write_mail(&draft, &key(), "corp.example").unwrap();
    assert_eq!(MailEnvelope::of(&mail).unwrap().to, ["ana@corp.example", "bo@corp.example"]);
    let message = MessageParser::new().parse(&mail).unwrap();
    assert_eq!(lines(&message.body_text(0).unwrap()), lines(&draft.body));
    let files: Vec<_> = message.attachments().collect();
    let found = files.iter().map(|part| {
        let text = String::from_utf8(part.contents().to_vec()).unwrap();
        (mail_parser::MimeHeaders::attachment_name(*part).unwrap().to_owned(), lines(&text))
    });
    let expected = draft.attachments.iter().map(|file| (file.name.clone(), lines(&file.text)));
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(message.text_body_count(), 1);
}

#[test]
fn an_envelope_is_read_from_our_own_mails_only() {
    let mail = String::from_utf8(write_mail(&draft(), &key(), "corp.example").unwrap()).unwrap();
    let envelope = MailEnvelope::of(mail.as_bytes()).unwrap();
    assert_eq!(envelope.from, "proem@corp.example");
    assert_eq!(envelope.to, ["ana@corp.example", "bo@corp.example"]);
    for (from, to) in [
        ("Subject: ", "Bcc: eve@evil.example\r\nSubject: "),
        ("Subject: ", "cc: eve@evil.example\r\nSubject: "),
        ("Subject: ", "To: eve@evil.example\r\nSubject: "),
        ("Subject: ", "From: eve@evil.example\r\nSubject: "),
        ("<ana@corp.example>", "friends: <ana@corp.example>, eve@evil.example;"),
        ("<ana@corp.example>", "<ana@corp>"),
        ("Hello", "Héllo"),
        ("Hello,\r\n", "Hello,\n"),
        ("Hello,\r\n", "Hello,\r"),
        ("Hello", "Hel\0lo"),
    ] {
        let changed = mail.replacen(from, to, 1);
        assert_ne!(changed, mail);
        assert_eq!(MailEnvelope::of(changed.as_bytes()), Err(MailRefusal::NotOurs), "{to}");
    }
    for bytes in [b"".as_slice(), b"\r\n", b"x\r\n"] {
        assert_eq!(MailEnvelope::of(bytes), Err(MailRefusal::NotOurs));
    }
}

/// Text with what is hard about texts in mails.
fn text() -> impl Strategy<Value = String> {
    let hard = ["=?utf-8?B?eA==?=", "\"", "\\", "é", "🦀", "=", ".", " ", "From ", "<a@b.c>", ",", "(x)", "\r\n", "\0"];
    vec(
        prop_oneof![3 => "[ -~]{0,12}", 2 => ".{0,8}", 2 => prop::sample::select(hard.to_vec()).prop_map(String::from)],
        0..12,
    )
    .prop_map(|parts| parts.concat())
}

fn drafts() -> impl Strategy<Value = MailDraft> {
    let body = vec(prop_oneof![text(), Just("\n".to_owned()), "x{70,80}"], 0..8).prop_map(|parts| parts.concat());
    (text(), vec(text(), 1..4), text(), body).prop_map(|(from, to, subject, body)| MailDraft {
        from: mailbox(&from, "proem@corp.example"),
        to: to.iter().zip('a'..).map(|(name, letter)| mailbox(name, &format!("{letter}@corp.example"))).collect(),
        subject,
        body,
        ..draft()
    })
}

/// A body as its reader sees it, without the ends of its lines and without the last of them.
fn lines(body: &str) -> Vec<String> {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    body.strip_suffix('\n').unwrap_or(&body).split('\n').map(str::to_owned).collect()
}

proptest! {
    #[test]
    fn a_mail_says_what_its_fields_say_and_nothing_else(draft in drafts()) {
        let Ok(mail) = write_mail(&draft, &key(), "corp.example") else { return Ok(()) };
        prop_assert_eq!(&write_mail(&draft, &key(), "corp.example").unwrap(), &mail);
        let text = String::from_utf8(mail.clone()).unwrap();
        prop_assert!(text.is_ascii());
        let body_lines = text.split_once("\r\n\r\n").unwrap().1;
        for line in body_lines.split_terminator("\r\n") {
            prop_assert!(line.len() <= 76 && !line.starts_with('.') && !line.starts_with("From "), "{}", line);
        }
        let message = MessageParser::new().parse(&mail).unwrap();
        prop_assert_eq!(message.headers().len(), 8);
        prop_assert_eq!(message.subject().unwrap_or_default(), draft.subject.as_str());
        prop_assert_eq!(lines(&message.body_text(0).unwrap()), lines(&draft.body));
        let Some(Address::List(people)) = message.to() else { panic!("no list") };
        let found: Vec<_> = people.iter().map(|person| person.name().unwrap_or_default().to_owned()).collect();
        let expected: Vec<_> = draft.to.iter().map(|person| person.name.clone()).collect();
        prop_assert_eq!(found, expected);
        let envelope = MailEnvelope::of(&mail).unwrap();
        prop_assert_eq!(envelope.from, draft.from.address);
        prop_assert_eq!(envelope.to, draft.to.into_iter().map(|person| person.address).collect::<Vec<_>>());
    }
}
