//! A server on loopback that answers for a [`SourceWorld`], with faults at chosen requests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{Value as Json, json};

use crate::source_worlds::{SourceWorld, split_address};

/// A server's behaviour instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceFault {
    /// A status, with one header.
    Status(u16, &'static str),
    /// Half of the answer, then the end of the connection.
    Cut,
    /// Half of the answer, then nothing until the client leaves.
    Slow,
    /// The end of the connection before any answer.
    Silent,
    /// A page of HTML with status 200.
    Html,
    /// JSON of another form with status 200.
    OtherForm,
    /// The answer to the request before.
    Repeated,
}

struct ServerState {
    world: Box<dyn SourceWorld>,
    /// Faults, by the number of the request from 1.
    faults: Vec<(usize, SourceFault)>,
    /// The first lines and credentials of requests.
    requests: Vec<(String, String)>,
    last: String,
}

/// A server that lives until it is dropped.
pub(crate) struct SourceServer {
    pub(crate) base: String,
    port: u16,
    state: Arc<Mutex<ServerState>>,
    over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl SourceServer {
    /// Starts a server. `world` is made of its address.
    pub(crate) fn start<W: SourceWorld + 'static>(world: impl FnOnce(&str) -> W) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let base = format!("http://127.0.0.1:{port}");
        let world = Box::new(world(&base));
        let state = ServerState { world, faults: Vec::new(), requests: Vec::new(), last: String::new() };
        let (state, over) = (Arc::new(Mutex::new(state)), Arc::new(AtomicBool::new(false)));
        let (shared, ended) = (Arc::clone(&state), Arc::clone(&over));
        let serving = thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    break;
                }
                // A client that leaves is its own matter.
                _ = stream.and_then(|stream| serve(stream, &shared));
            }
        });
        Self { base, port, state, over, serving: Some(serving) }
    }

    /// The faults from now on, by the number of the request from 1.
    pub(crate) fn set_faults(&self, faults: &[(usize, SourceFault)]) {
        let mut state = self.state.lock().unwrap();
        state.requests.clear();
        state.faults = faults.to_vec();
    }

    /// Puts another world in the place of this one.
    pub(crate) fn set_world(&self, world: impl SourceWorld + 'static) {
        self.state.lock().unwrap().world = Box::new(world);
    }

    /// The requests since the faults were set: each address with its credential.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        self.state.lock().unwrap().requests.clone()
    }
}

impl Drop for SourceServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(serving) = self.serving.take() {
            _ = serving.join();
        }
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<ServerState>) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let (head, form) = loop {
        let mut piece = [0; 8192];
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            break (head.to_owned(), body.to_owned());
        }
    };
    let address = head.split(' ').nth(1).unwrap().to_owned();
    let credential = head.lines().find_map(|line| line.strip_prefix("authorization: ")).unwrap_or("").to_owned();
    let (fault, status, body) = {
        let mut state = state.lock().unwrap();
        state.requests.push((address.clone(), credential));
        let number = state.requests.len();
        let fault = state.faults.iter().find(|(at, _)| *at == number).map(|(_, fault)| *fault);
        let (path, query) = split_address(&address);
        let (status, body) = if path == "/token" {
            (
                200,
                json!({ "access_token": format!("access-{number}-{}", form.len()), "refresh_token": "refresh-of-the-next-time" }),
            )
        } else if matches!(fault, None | Some(SourceFault::Cut | SourceFault::Slow)) {
            state.world.answer(&path, &query)
        } else {
            (200, Json::Null)
        };
        let body = if fault == Some(SourceFault::Repeated) { state.last.clone() } else { body.to_string() };
        state.last.clone_from(&body);
        (fault, status, body)
    };
    let head = |status: u16, header: &str, length: usize| {
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{header}content-length: {length}\r\nconnection: close\r\n\r\n"
        )
    };
    let half = body.get(..body.len() / 2).unwrap();
    match fault {
        None | Some(SourceFault::Repeated) => write!(stream, "{}{body}", head(status, "", body.len())),
        Some(SourceFault::Status(status, header)) => write!(stream, "{}{{}}", head(status, header, 2)),
        Some(SourceFault::Cut) => write!(stream, "{}{half}", head(status, "", body.len())),
        Some(SourceFault::Slow) => {
            write!(stream, "{}{half}", head(status, "", body.len()))?;
            stream.flush()?;
            // Until the client leaves.
            stream.read(&mut [0]).map(|_| ())
        }
        Some(SourceFault::Silent) => Ok(()),
        Some(SourceFault::Html) => write!(stream, "{}<html></html>", head(200, "", 13)),
        Some(SourceFault::OtherForm) => write!(stream, "{}{{\"a\":1}}", head(200, "", 7)),
    }
}
