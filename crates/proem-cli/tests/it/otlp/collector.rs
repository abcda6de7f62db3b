//! An endpoint on loopback that takes spans, or does not, as a script says.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// The answer to one request. After the last of a script, everything is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// All spans are taken.
    Taken,
    /// So many are not.
    Rejected(i64),
    /// A status with a header line, which may be empty.
    Status(u16, &'static str),
    /// Nothing comes until the client leaves.
    Silence,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The spans in it, by the official definitions.
    pub(super) fn spans(&self) -> Vec<Span> {
        let request = ExportTraceServiceRequest::decode(self.body.as_slice()).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

/// The endpoint.
pub(super) struct Collector {
    port: u16,
    state: Arc<Mutex<State>>,
    over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    script: Vec<Answer>,
    requests: Vec<Request>,
}

impl Collector {
    pub(super) fn start(script: &[Answer]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State { script: script.to_vec(), requests: Vec::new() }));
        let over = Arc::new(AtomicBool::new(false));
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
        Self { port, state, over, serving: Some(serving) }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests since the last look.
    pub(super) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }

    /// The spans of all requests since the last look.
    pub(super) fn take_spans(&self) -> Vec<Span> {
        self.take().iter().flat_map(Request::spans).collect()
    }

    /// The answers from now on.
    pub(super) fn follow(&self, script: &[Answer]) {
        self.state.lock().unwrap().script = script.to_vec();
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(serving) = self.serving.take() {
            _ = serving.join();
        }
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let mut piece = [0; 8192];
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let body = bytes[end + 4..].to_vec();
        if body.len() >= length.unwrap_or(0) {
            break (head, body);
        }
    };
    let answer = {
        let mut state = state.lock().unwrap();
        state.requests.push(Request { head, body });
        if state.script.is_empty() { Answer::Taken } else { state.script.remove(0) }
    };
    let (status, header, body) = match answer {
        Answer::Taken => (200, "", Vec::new()),
        Answer::Rejected(spans) => {
            let partial =
                ExportTracePartialSuccess { rejected_spans: spans, error_message: "too old\n::error::a".to_owned() };
            (200, "", ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec())
        }
        Answer::Status(status, header) => (status, header, b"<p>no</p>".to_vec()),
        Answer::Silence => {
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            _ = stream.read(&mut [0; 1]);
            return Ok(());
        }
    };
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    let head = format!("HTTP/1.1 {status} X\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

/// The value of a span's attribute, as text. A list is its first value.
pub(super) fn value(span: &Span, name: &str) -> Option<String> {
    fn text(value: Value) -> String {
        match value {
            Value::StringValue(text) => text,
            Value::IntValue(number) => number.to_string(),
            Value::ArrayValue(list) => text(list.values.into_iter().next().unwrap().value.unwrap()),
            other => format!("{other:?}"),
        }
    }
    let found = span.attributes.iter().find(|attribute| attribute.key == name)?;
    Some(text(found.value.clone()?.value?))
}
