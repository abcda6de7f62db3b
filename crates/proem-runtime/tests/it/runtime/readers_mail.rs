//! The reading of mails.

use proem_runtime::readers::{DocumentKind, DocumentLimits, DocumentOptions, UnreadTail, extract};

use crate::runtime::readers::{lines, of_kind};

#[track_caller]
fn check(mail: &str, expected: &str) {
    assert_eq!(lines(&of_kind(DocumentKind::Mail, mail.as_bytes())), expected, "{mail}");
}

#[test]
fn a_plain_mail() {
    check(
        "Return-Path: <x@example.org>\r\nFrom: =?utf-8?q?J=C3=B6rg?= <joerg@example.org>\r\nTo: \"Ann B\" <ann@example.org>,\r\n \
         bob@example.org\r\nSubject: =?iso-8859-1?b?Y2Fm6Q==?=\r\n  time\r\nSubject: again\r\n\r\nHello Ann,\r\nbye\r\n",
        "from \"Jörg <joerg@example.org>\"\nto \"\\\"Ann B\\\" <ann@example.org>, bob@example.org\"\n\
         subject \"café time\"\nsubject \"again\"\nbody[0] @9:1 \"Hello Ann,\\r\\nbye\\r\\n\"\n",
    );
    check("\nFrom x@y Mon Jan 1\nSubject: a\n\nb", "subject \"a\"\nbody[0] @5:1 \"b\"\n");
    check("no headers at all", "body[0] @1:1 \"no headers at all\"\n");
    check("", "");
    check("Subject: only", "subject \"only\"\n");
}

#[test]
fn encodings_and_character_sets_are_undone() {
    let mail = |headers: &str, body: &str| format!("Subject: s\nContent-Type: text/plain{headers}\n\n{body}");
    let body = |text: &str| format!("subject \"s\"\nbody[0] {text}\n");
    check(&mail("; charset=utf-8\nContent-Transfer-Encoding: base64", "aWdub3JlIGFsbA=="), &body("\"ignore all\""));
    check(&mail("; charset=iso-8859-15\nContent-Transfer-Encoding: quoted-printable", "=A4 1=\n0"), &body("\"€ 10\""));
    check(&mail("; charset=shift_jis\nContent-Transfer-Encoding: base64", "g26DjYFb"), &body("\"ハロー\""));
    check(
        &mail("; charset=klingon", "a"),
        &(body("@4:1 \"a\"") + "! unknown body[0]: unknown character set; read as UTF-8\n"),
    );
    check(
        &mail("\nContent-Transfer-Encoding: x-own", "a"),
        &(body("@5:1 \"a\"") + "! unknown body[0]: unknown transfer encoding; read without decoding\n"),
    );
    check(
        &mail("\nContent-Transfer-Encoding: base64\nContent-Transfer-Encoding: 7bit", "aGk="),
        &(body("\"hi\"")
            + "! malformed part: two headers contradict each other about the type of a part; the first was used\n"),
    );
}

const PARTS: &str = "\
Subject: s
Content-Type: multipart/mixed; boundary=\"out er\"

before
--out er
Content-Type: multipart/alternative; boundary=in

--in
Content-Type: text/plain

plain
--in
Content-Type: text/html; charset=utf-8

<p style=\"display:none\">hidden</p>
--in--
--out er
Content-Type: application/pdf; name=a.pdf
Content-Disposition: attachment; filename*=utf-8''do%20this.pdf
Content-Transfer-Encoding: base64

JVBERi0xLjQK/wA=
--out er
Content-Type: application/octet-stream
Content-Disposition: attachment; filename=notes.txt

text all the same
--out er
Content-Type: message/rfc822

Subject: inner
From: eve@example.org

forwarded
--out er
Content-Type: text/calendar; name=invite.ics

BEGIN:VCALENDAR
--out er--
after
";

#[test]
fn every_part_is_read_or_a_gap() {
    let expected = "\
subject \"s\"
preamble @4:1 \"before\"
body[0] @11:1 \"plain\"
body[1] @15:1 \"<p style=\\\"display:none\\\">hidden</p>\"
attachment[0] name \"do this.pdf\\na.pdf\"
attachment[1] name \"notes.txt\"
attachment[1] @27:1 \"text all the same\"
message[0]/subject \"inner\"
message[0]/from \"eve@example.org\"
message[0]/body[0] @34:1 \"forwarded\"
attachment[2] name \"invite.ics\"
attachment[2] @38:1 \"BEGIN:VCALENDAR\"
epilogue @40:1 \"after\\n\"
! not-text attachment[0]: application/pdf, 11 bytes
";
    check(PARTS, expected);
}

#[test]
fn broken_structure_is_read_as_text() {
    let multipart = |body: &str| format!("Content-Type: multipart/mixed; boundary=b\n\n{body}");
    let announced = "! malformed body[0]: a multipart message has no boundary; read as plain text\n";
    check(&multipart("never"), &format!("body[0] @3:1 \"never\"\n{announced}"));
    check("Content-Type: multipart/mixed\n\nx", &format!("body[0] @3:1 \"x\"\n{announced}"));
    check(&multipart("--b\n\nopen end"), "body[0] @5:1 \"open end\"\n");
    check(&multipart("--b\n\n1\n--b--\n--b\n\n2"), "body[0] @5:1 \"1\"\nepilogue @7:1 \"--b\\n\\n2\"\n");
    check(
        "Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: d\n\nx\n--b--",
        "message[0]/subject \"d\"\nmessage[0]/body[0] @7:1 \"x\"\n",
    );
    check("Content-Type: ;;;===\n\nx", "body[0] @3:1 \"x\"\n");
}

/// Mails in mails in mails, a hundred thousand deep, plain and encoded.
#[test]
fn depth_is_bounded() {
    let mail = format!("{}innermost", "Content-Type: message/rfc822\n\n".repeat(100_000));
    let document = of_kind(DocumentKind::Mail, mail.as_bytes());
    assert_eq!((document.fields.len(), document.gaps.len()), (1, 1));
    assert!(document.gaps[0].about.starts_with("parts are nested too deeply"), "{:?}", document.gaps);
    let mail: String = (0..5000).map(|n| format!("Content-Type: multipart/mixed; boundary={n}x\n\n--{n}x\n")).collect();
    let document = of_kind(DocumentKind::Mail, mail.as_bytes());
    assert_eq!((document.fields.len(), document.gaps.len()), (1, 1));
}

#[test]
fn ten_thousand_parts_are_read_and_a_million_are_a_gap() {
    let mail = |parts: usize| {
        let parts: String = (0..parts).map(|n| format!("--b\n\npart {n}\n")).collect();
        format!("Content-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n")
    };
    let document = of_kind(DocumentKind::Mail, mail(10_000).as_bytes());
    assert_eq!((document.fields.len(), document.gaps.len()), (10_000, 0));
    let limits = DocumentLimits { fields: 50, ..DocumentLimits::default() };
    let ask = DocumentOptions { kind: Some(DocumentKind::Mail), limits, ..DocumentOptions::default() };
    let document = extract(mail(1000).as_bytes(), UnreadTail::Nothing, &ask);
    assert_eq!(document.fields.len(), 50);
    assert_eq!(document.gaps.last().unwrap().about, "13252 bytes of parts not read, after the first 50");
    let attachments: String = (0..1000).map(|_| "--b\nContent-Type: image/png\n\n\0\n").collect();
    let document = extract(
        format!("Content-Type: multipart/mixed; boundary=b\n\n{attachments}--b--\n").as_bytes(),
        UnreadTail::Nothing,
        &ask,
    );
    assert_eq!((document.fields.len(), document.gaps.len()), (0, 51));
}

/// The library starts again at every encoded word that doesn't end.
#[test]
fn headers_that_cost_too_much_are_read_as_they_stand() {
    let subject = "=?aa?q?x".repeat(200_000);
    let document = of_kind(DocumentKind::Mail, format!("Subject: {subject}\n\nbody").as_bytes());
    assert_eq!(document.fields[0].text.len(), subject.len());
    assert_eq!(document.gaps[0].about, "a header too long, or with too many encoded words; read without decoding");
    let parameters: String = (0..100_000).map(|n| format!("a{n}*1=x;")).collect();
    let document = of_kind(DocumentKind::Mail, format!("Content-Type: text/plain;{parameters}\n\nbody").as_bytes());
    assert_eq!(lines(&document), "body[0] @3:1 \"body\"\n");
}

#[test]
fn headers_without_number_are_bounded() {
    let document = of_kind(DocumentKind::Mail, format!("{}\nbody", "To: a\n".repeat(30_000)).as_bytes());
    assert_eq!(document.fields.len(), 20_000);
    let about: Vec<&str> = document.gaps.iter().map(|gap| gap.about.as_str()).collect();
    assert_eq!(about, ["10000 headers not read, after the limit", "4 bytes not read, after the limit of 20000 fields"]);
}

/// A mail with one plain text.
fn plain_mail(headers: &str, body: &[u8]) -> String {
    let mail = [format!("Subject: s\nContent-Type: text/plain{headers}\n\n").as_bytes(), body].concat();
    lines(&of_kind(DocumentKind::Mail, &mail))
}

#[test]
fn a_text_that_nobody_can_read_keeps_its_place_and_its_bytes() {
    let unreadable = plain_mail("; charset=x-own", b"\x94[\x95i caf\xe9");
    assert_eq!(
        unreadable,
        "subject \"s\"\nbody[0] \"\\\\x94[\\\\x95i caf\\\\xE9\"\n! unknown body[0]: 9 bytes in an unknown character set; \
         what is no UTF-8 is read as escapes\n"
    );
    assert_ne!(unreadable, plain_mail("; charset=x-own", b"\x94[\x95i caf\xe8"), "two such bodies are two revisions");
    let binary = plain_mail("", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01");
    assert!(binary.contains("body[0] \"\\\\x89PNG"), "{binary}");
}

#[test]
fn character_sets_of_windows_are_known_by_their_numbers() {
    for (charset, bytes, expected) in [
        ("cp932", &b"\x83n\x83\x8d\x81["[..], "ハロー"),
        ("windows-31j", b"\x83n\x83\x8d\x81[", "ハロー"),
        ("cp949", b"\xc7\xd1", "한"),
        ("win-1251", b"\xef\xf0", "пр"),
        ("\"windows-1252\"", b"caf\xe9", "café"),
    ] {
        let read = plain_mail(&format!("; charset={charset}"), bytes);
        assert_eq!(read, format!("subject \"s\"\nbody[0] \"{expected}\"\n"), "{charset}");
    }
}
