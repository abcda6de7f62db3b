use super::*;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};

use proem_engine::effect::key::OutboxForm;
use proem_llm::client::hosts::HostScope;
use proem_llm::client::once::{HostCredential, HostLimits};
use proem_llm::secret::Secret;
use proptest::prelude::*;

use crate::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpScript};
use serde_json::{Value as Json, json};

fn key() -> EffectKey {
    EffectKey::of_bytes([0xcd; 32])
}

fn template(url: &str, body: Json) -> RequestTemplate {
    RequestTemplate {
        kind: RequestKind::Comment,
        method: RequestMethod::Post,
        url: url.to_owned(),
        headers: BTreeMap::new(),
        body,
        not_done: Vec::new(),
    }
}

fn template_values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_template_becomes_these_bytes() {
    let mut template = template(
        "https://tickets.example/issue/{ticket}/comment?notify={who}",
        json!({"body": "{{code}} {text}", "visible": true, "tags": ["{who}"]}),
    );
    template.headers.insert("X-Tenant".to_owned(), "corp".to_owned());
    let values = template_values(&[("ticket", "T/1 é"), ("who", "a&b=c#d"), ("text", "say \"hi\"\n{ticket}")]);
    let expected = concat!(
        r#"{"body":"{\"body\":\"{code} say \\\"hi\\\"\\n{ticket}\",\"tags\":[\"a&b=c#d\"],\"visible\":true}","#,
        r#""form":1,"headers":{"content-type":"application/json","#,
        r#""idempotency-key":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","x-tenant":"corp"},"#,
        r#""method":"POST","url":"https://tickets.example/issue/T%2F1%20%C3%A9/comment?notify=a%26b%3Dc%23d"}"#,
    );
    assert_eq!(String::from_utf8(write_ticket_request(&template, &values, &key()).unwrap()).unwrap(), expected);
}

#[track_caller]
fn check(url: &str, body: Json, expected: &str) {
    let found = template(url, body).check();
    assert_eq!(found.map_or_else(|refusal| refusal.to_string(), |()| "fine".to_owned()), expected, "{url}");
}

#[test]
fn slots_stand_where_they_change_no_address() {
    let place = |what: &str| {
        format!(
            "the {what} of the template's address has a slot; only path segments and values of the query may have one"
        )
    };
    for (url, expected) in [
        ("https://host/{a}", "fine".to_owned()),
        ("https://host/x-{a}/y?b={c}&d=e{f}g", "fine".to_owned()),
        ("http://127.0.0.1:8080/{a}", "fine".to_owned()),
        ("{a}://host/", place("scheme")),
        ("https://{a}/", place("host or port")),
        ("https://{a}.example/", place("host or port")),
        ("https://host:{a}/", place("host or port")),
        ("https://user:{a}@host/", place("host or port")),
        ("https://host?{a}=b", place("name of a parameter")),
        ("https://host/?{a}", place("name of a parameter")),
        ("https://host/{{a}}", place("text")),
        ("{a}", place("scheme")),
        ("https://user:pw@host/", "the template's address can't be used: the URL of `host` contains a user name or password; remove it and name a credential".to_owned()),
        ("https://host/#{a}", "the template's address can't be used: the URL of `host` holds `#`; leave out what follows it".to_owned()),
        ("ftp://host/", "the template's address can't be used: `ftp:` is not asked; write `https:`".to_owned()),
        ("https://HOST/a/../{b}", "the template's address would be asked as `https://host/x`; write it like this".to_owned()),
        ("https://host/a b", "the template's address would be asked as `https://host/a%20b`; write it like this".to_owned()),
    ] {
        check(url, Json::Null, &expected);
    }
    let slot = |text: &str| {
        format!(
            "`{text}` is not a slot; write `{{name}}` with a name of lower-case letters, digits and `_`, and `{{{{` for a brace"
        )
    };
    for text in ["{", "{}", "{A}", "{a", "}", "{a b}"] {
        check("https://host/", json!([{"x": text}]), &slot(text));
    }
}

#[test]
fn headers_hold_no_credential_and_nothing_of_the_connection() {
    for (name, value, is_fine) in [
        ("x-tenant", "corp", true),
        ("Accept", "application/json", true),
        ("Authorization", "Bearer x", false),
        ("X-API-Key", "x", false),
        ("cookie", "a=b", false),
        ("x-auth-token", "x", false),
        ("host", "evil.example", false),
        ("Transfer-Encoding", "chunked", false),
        ("content-type", "text/plain", false),
        ("idempotency-key", "x", false),
        ("x-tenant", "a\r\nhost: b", false),
        ("x-tenant", "{slot}", false),
        ("x tenant", "a", false),
        ("", "a", false),
    ] {
        let mut template = template("https://host/", Json::Null);
        template.headers.insert(name.to_owned(), value.to_owned());
        assert_eq!(template.check().is_ok(), is_fine, "{name}: {value:?}");
    }
}

#[test]
fn values_and_slots_are_the_same() {
    let refused = |url: &str, pairs: &[(&str, &str)]| {
        write_ticket_request(&template(url, Json::Null), &template_values(pairs), &key())
            .map_or_else(|refusal| refusal.to_string(), |_| "fine".to_owned())
    };
    let url = "https://host/a/{b}";
    assert_eq!(refused(url, &[("b", "x")]), "fine");
    assert_eq!(refused(url, &[]), "the action has no `b`, which its request needs; give it");
    assert_eq!(
        refused(url, &[("b", "x"), ("c", "y")]),
        "the action has `c`, which its request has no place for; add it to the template or leave it out"
    );
    for value in ["", ".", "..", "a\nb", "\0"] {
        let expected =
            "`b` can't be part of an address: it is empty, `.` or `..`, or has a control character; change it";
        assert_eq!(refused(url, &[("b", value)]), expected, "{value:?}");
    }
    let long = write_ticket_request(
        &template("https://host/", json!("{a}")),
        &template_values(&[("a", &"x".repeat(MAX_REQUEST_BODY))]),
        &key(),
    );
    assert_eq!(long.unwrap_err(), RequestRefusal::TooLong);
}

proptest! {
    #[test]
    fn no_value_changes_where_a_request_goes(segment in ".{1,12}", parameter in ".{1,12}") {
        let template = template("https://host:8443/a/{b}/c?d={e}", Json::Null);
        let Ok(bytes) = write_ticket_request(&template, &template_values(&[("b", &segment), ("e", &parameter)]), &key()) else { return Ok(()) };
        let recorded: RecordedRequest = serde_json::from_slice(&bytes).unwrap();
        let url = Url::parse(&recorded.url).unwrap();
        prop_assert_eq!(url.as_str(), recorded.url.as_str());
        prop_assert_eq!((url.scheme(), url.host_str(), url.port()), ("https", Some("host"), Some(8443)));
        let segments: Vec<_> = url.path_segments().unwrap().collect();
        prop_assert!(segments.len() == 3 && segments[0] == "a" && segments[2] == "c", "{:?}", segments);
        let pairs: Vec<_> = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        prop_assert_eq!(pairs, [("d".to_owned(), parameter)]);
        prop_assert_eq!(url.fragment(), None);
    }
}

#[test]
fn a_status_means() {
    use AnswerMeaning::{Done, Doubt, NotDone};
    for (status, not_done, expected) in [
        (200, [].as_slice(), Done),
        (202, &[], Done),
        (204, &[], Done),
        (301, &[], NotDone),
        (302, &[], Doubt),
        (303, &[], Doubt),
        (307, &[], NotDone),
        (308, &[], NotDone),
        (400, &[], NotDone),
        (401, &[], NotDone),
        (404, &[], NotDone),
        (409, &[], NotDone),
        (429, &[], Doubt),
        (429, &[429], NotDone),
        (500, &[], Doubt),
        (500, &[503], Doubt),
        (501, &[], NotDone),
        (502, &[], Doubt),
        (503, &[503], NotDone),
        (504, &[], Doubt),
        (600, &[], Doubt),
    ] {
        assert_eq!(status_meaning(status, not_done), expected, "{status} {not_done:?}");
    }
}

/// A server that reads one request and answers with these bytes. It gives what it has read.
fn serve(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        (&stream).write_all(answer.as_bytes()).unwrap();
        head + &String::from_utf8(body).unwrap()
    });
    (origin, thread)
}

/// The outcome for bytes that are sent to an origin.
async fn send_request(bytes: &[u8], origin: &str) -> (&'static str, String) {
    sent_within(bytes, origin, HostLimits::default()).await
}

async fn sent_within(bytes: &[u8], origin: &str, limits: HostLimits) -> (&'static str, String) {
    let secret = Secret::new("tickets", "correct horse");
    let route = RequestRoute {
        origin,
        scope: HostScope::Private,
        credential: Some(HostCredential::Bearer(&secret)),
        not_done: &[],
        limits,
    };
    match send_ticket_request(&DeliveryBytes { key: key(), form: OutboxForm::Request, bytes }, &route).await {
        DeliveryOutcome::Sent { .. } => ("sent", String::new()),
        DeliveryOutcome::Failed(trouble) => ("failed", trouble.message),
        DeliveryOutcome::NotSent(trouble) => ("not sent", trouble.message),
        DeliveryOutcome::Unknown(trouble) => ("unknown", trouble.message),
    }
}

#[tokio::test]
async fn the_recorded_bytes_are_what_is_sent() {
    for (answer, expected) in [
        ("HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n", "sent"),
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "failed"),
        ("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", "unknown"),
        ("HTTP/1.1 303 See Other\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", "unknown"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\ncut", "sent"),
        ("HTTP/1.1 2", "unknown"),
        ("", "unknown"),
    ] {
        let (origin, server) = serve(answer);
        let template = template(&format!("{origin}/issue/{{ticket}}"), json!({"text": "{text}"}));
        let bytes =
            write_ticket_request(&template, &template_values(&[("ticket", "T 1"), ("text", "hi")]), &key()).unwrap();
        let (outcome, message) = send_request(&bytes, &origin).await;
        assert_eq!(outcome, expected, "{answer:?}: {message}");
        let asked = server.join().unwrap();
        assert!(asked.starts_with("POST /issue/T%201 HTTP/1.1\r\n"), "{asked}");
        for line in [format!("idempotency-key: {}\r\n", key()), "authorization: Bearer correct horse\r\n".to_owned()] {
            assert_eq!(asked.matches(&line).count(), 1, "{asked}");
        }
        assert!(asked.ends_with("\r\n\r\n{\"text\":\"hi\"}"), "{asked}");
    }
}

#[tokio::test]
async fn a_recorded_request_goes_to_the_configured_origin_or_nowhere() {
    let bytes = |url: &str| write_ticket_request(&template(url, Json::Null), &BTreeMap::new(), &key()).unwrap();
    let elsewhere = "the recorded request is for `evil.example`, and the configuration names `https://tickets.example`; \
                     propose the action anew";
    assert_eq!(
        send_request(&bytes("https://evil.example/"), "https://tickets.example").await,
        ("not sent", elsewhere.to_owned())
    );
    for (url, origin) in [
        ("http://tickets.example/", "https://tickets.example"),
        ("https://tickets.example:8443/", "https://tickets.example"),
        ("https://tickets.example.evil.example/", "https://tickets.example"),
    ] {
        assert_eq!(send_request(&bytes(url), origin).await.0, "not sent", "{url}");
    }
    let ours = String::from_utf8(bytes("http://127.0.0.1:1/")).unwrap();
    let not_ours = "the recorded bytes are not a request that Proem made; propose the action anew";
    for (from, to) in [
        ("cdcd", "cdce"),
        ("\"form\":1", "\"form\":2"),
        ("\"content-type\"", "\"authorization\""),
        ("\"method\":\"POST\"", "\"method\":\"DELETE\""),
        ("{", "["),
    ] {
        let changed = ours.replacen(from, to, 1);
        assert_ne!(changed, ours);
        assert_eq!(
            send_request(changed.as_bytes(), "http://127.0.0.1:1").await,
            ("not sent", not_ours.to_owned()),
            "{to}"
        );
    }
    // Nobody listens there.
    assert_eq!(send_request(ours.as_bytes(), "http://127.0.0.1:1").await.0, "not sent");
}

#[tokio::test]
async fn a_server_that_hangs_may_have_acted() {
    // The connection is made by the system. Nobody answers on it.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let bytes = write_ticket_request(&template(&format!("{origin}/"), Json::Null), &BTreeMap::new(), &key()).unwrap();
    let limits = HostLimits { whole: core::time::Duration::from_millis(50), ..HostLimits::default() };
    let host = origin.trim_start_matches("http://");
    let expected = ("unknown", format!("`{host}` has not answered within 0.05 s"));
    assert_eq!(sent_within(&bytes, &origin, limits).await, expected);
}

#[tokio::test]
async fn a_server_with_a_wrong_certificate_is_told_nothing() {
    let server = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::Whole)).unwrap();
    let origin = format!("https://localhost:{}", server.port());
    let bytes = write_ticket_request(&template(&format!("{origin}/"), Json::Null), &BTreeMap::new(), &key()).unwrap();
    let (outcome, message) = send_request(&bytes, &origin).await;
    let expected = format!(
        "the certificate of `localhost:{}` is not signed by an authority that this system trusts; check its address and \
         any proxy in between",
        server.port()
    );
    assert_eq!((outcome, message), ("not sent", expected));
    assert_eq!(server.finish().commands, Vec::<String>::new());
}
