//! A server of HTTP that logs what it reads, and answers each request with what is next.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

/// An answer of the server.
#[derive(Debug, Clone)]
pub(crate) enum HostReply {
    /// A status, and an empty object.
    Status(&'static str),
    /// Success with this body.
    Body(&'static str),
    /// The end of the connection without a word.
    Silence,
}

/// A server on loopback.
pub(crate) struct ScriptedHost {
    pub(crate) port: u16,
    read: Arc<Mutex<Vec<(String, String)>>>,
}

impl ScriptedHost {
    /// A server of so many answers, in their order.
    pub(crate) fn start(replies: Vec<HostReply>) -> Self {
        Self::answering(replies.into_iter())
    }

    /// A server that goes on as long as there are answers.
    pub(crate) fn answering(replies: impl Iterator<Item = HostReply> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let read = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&read);
        thread::spawn(move || {
            for reply in replies {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = Vec::new();
                let request = loop {
                    let mut piece = [0; 4096];
                    let count = stream.read(&mut piece).unwrap_or(0);
                    if count == 0 {
                        break None;
                    }
                    bytes.extend_from_slice(&piece[..count]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length = head.to_ascii_lowercase();
                    let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
                    if body.len() >= length.trim().parse().unwrap() {
                        break Some((head.to_owned(), body.to_owned()));
                    }
                };
                // A client that was killed before its request was whole has asked nothing.
                let Some(request) = request else { continue };
                log.lock().unwrap().push(request);
                let (status, body) = match reply {
                    HostReply::Status(status) => (status, "{}"),
                    HostReply::Body(body) => ("200 OK", body),
                    HostReply::Silence => continue,
                };
                let length = body.len();
                _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            }
        });
        Self { port, read }
    }

    /// The requests so far: each head with its body.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        self.read.lock().unwrap().clone()
    }
}
