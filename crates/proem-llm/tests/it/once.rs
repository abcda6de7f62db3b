//! Requests to servers that are no providers.
#![expect(clippy::unwrap_used, reason = "a test server that fails fails its test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use proem_llm::client::hosts::HostScope;
use proem_llm::client::once::{
    HostAnswer, HostCredential, HostFailure, HostLimits, HostMethod, HostRequest, HostStage, send_once,
};
use proem_llm::secret::Secret;

/// A server's behaviour on the one connection that it takes.
enum Serving {
    /// Answers with these bytes behind the whole request.
    Answer(String),
    /// Closes it at once.
    Close,
    /// Closes it behind the request.
    Swallow,
}

/// Serves one connection and says what was asked.
fn serve_once(serving: Serving) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        match serving {
            Serving::Close => String::new(),
            Serving::Swallow => asked_request(&stream),
            Serving::Answer(answer) => {
                let asked = asked_request(&stream);
                (&stream).write_all(answer.as_bytes()).unwrap();
                asked
            }
        }
    });
    (port, thread)
}

/// Reads a request with its body.
fn asked_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

async fn send(url: &str, scope: HostScope, credential: Option<HostCredential<'_>>) -> Result<HostAnswer, HostFailure> {
    let headers = [("content-type".to_owned(), "application/json".to_owned())];
    let body = "{\"a\":1}".into();
    send_once(
        HostRequest { method: HostMethod::Post, url, scope, headers: &headers, credential, body },
        &HostLimits::default(),
    )
    .await
}

#[tokio::test]
async fn a_request_is_sent_as_it_is_and_its_credential_beside_it() {
    let (port, server) = serve_once(Serving::Answer("HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok".to_owned()));
    let secret = Secret::new("TICKETS", "hunter2");
    let url = format!("http://127.0.0.1:{port}/issues?x=%20y");
    let answer =
        send(&url, HostScope::Private, Some(HostCredential::Basic { user: "me", secret: &secret })).await.unwrap();
    assert_eq!((answer.head.status, answer.body.as_slice()), (201, b"ok".as_slice()));
    let asked = server.join().unwrap();
    assert!(asked.starts_with("POST /issues?x=%20y HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("authorization: Basic bWU6aHVudGVyMg==\r\n"), "{asked}");
    assert!(asked.ends_with("\r\n\r\n{\"a\":1}"), "{asked}");
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let elsewhere = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = elsewhere.local_addr().unwrap();
    let answer = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{target}/\r\ncontent-length: 0\r\n\r\n");
    let (port, server) = serve_once(Serving::Answer(answer));
    let answer = send(&format!("http://127.0.0.1:{port}/"), HostScope::Private, None).await.unwrap();
    assert_eq!(answer.head.status, 307);
    server.join().unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    assert_eq!(elsewhere.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn a_name_is_judged_by_the_address_that_it_has() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let failure = send(&format!("http://localhost:{port}/"), HostScope::Public, None).await.unwrap_err();
    assert_eq!(failure.stage, HostStage::Unsent);
    assert_eq!(failure.message, "`localhost` is an address of this machine; if it is meant, declare it as private");
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn a_failure_says_how_far_the_request_came() {
    for (serving, expected) in [
        (Serving::Swallow, Err(HostStage::Begun)),
        (Serving::Close, Err(HostStage::Begun)),
        (Serving::Answer("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhal".to_owned()), Ok(200)),
        (Serving::Answer("HTTP/1.1 20".to_owned()), Err(HostStage::Begun)),
    ] {
        let (port, server) = serve_once(serving);
        let found = send(&format!("http://127.0.0.1:{port}/"), HostScope::Private, None).await;
        assert_eq!(found.map(|answer| answer.head.status).map_err(|failure| failure.stage), expected);
        server.join().unwrap();
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let failure = send(&format!("http://{free}/"), HostScope::Private, None).await.unwrap_err();
    assert_eq!(failure.stage, HostStage::Unsent);
}

#[tokio::test]
async fn a_credential_leaves_this_machine_encrypted_only() {
    let secret = Secret::new("TICKETS", "hunter2");
    let failure = send("http://tickets.example/", HostScope::Public, Some(HostCredential::Bearer(&secret))).await;
    assert_eq!(
        failure.unwrap_err().message,
        "the credential would go to `tickets.example` unencrypted; write `https:`"
    );
}
