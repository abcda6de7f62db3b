//! Connections and the threads that serve them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::http::{self, HttpRequest, Manner, Requests};
use super::rendered_answer::{AnswerRequest, Framing, PathProtocol, RenderedAnswer, header_pair};
use super::reply::{Connection, Delivery, DeliveryEnd, Reply, ReplyContent};
use super::{ReceivedRequest, ScriptEnd, ScriptRule, ServerScript, anthropic, check, embeddings, openai};

/// Bytes are collected up to here before they are written.
const WRITE: usize = 64 * 1024;
/// The stack of a connection's thread. The deepest thing on it is JSON of 128 levels.
const STACK: usize = 1024 * 1024;

/// Answers each request by a function.
pub(super) struct Answerer(Box<dyn Fn(&ReceivedRequest) -> Reply + Send + Sync>);

impl Answerer {
    pub(super) fn new(answer: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self(Box::new(answer))
    }
}

impl std::fmt::Debug for Answerer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Answerer")
    }
}

/// The state that all connections share.
#[derive(Debug)]
pub(super) struct SharedScript {
    script: ServerScript,
    /// It answers in the place of the script's rules.
    answerer: Option<Answerer>,
    /// How many answers of each rule were given.
    used: Vec<AtomicUsize>,
    pub(super) received: Mutex<Vec<ReceivedRequest>>,
    arrival: Condvar,
    answering: AtomicUsize,
    pub(super) most: AtomicUsize,
    pub(super) abandoned: AtomicUsize,
    stopping: Mutex<bool>,
    stopped: Condvar,
    open: Mutex<BTreeMap<usize, Weak<TcpStream>>>,
}

/// The value in a lock. A panic in another thread can't have left half a change: each is one call.
pub(super) fn lock_always<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedScript {
    pub(super) fn new(script: ServerScript, answerer: Option<Answerer>) -> Self {
        let used = script.rules.iter().map(|_| AtomicUsize::new(0)).collect();
        Self {
            script,
            answerer,
            used,
            received: Mutex::default(),
            arrival: Condvar::new(),
            answering: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            abandoned: AtomicUsize::new(0),
            stopping: Mutex::new(false),
            stopped: Condvar::new(),
            open: Mutex::default(),
        }
    }

    /// Ends all connections and pauses.
    pub(super) fn stop(&self) {
        *lock_always(&self.stopping) = true;
        self.stopped.notify_all();
        let open: Vec<_> = lock_always(&self.open).values().filter_map(Weak::upgrade).collect();
        for stream in open {
            // It may be closed already, which is what is wanted.
            _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn is_stopping(&self) -> bool {
        *lock_always(&self.stopping)
    }

    /// Waits. An error ends the connection because the server stops.
    fn pause(&self, milliseconds: u64) -> io::Result<()> {
        let time = Duration::from_millis(milliseconds);
        let guard = lock_always(&self.stopping);
        let waited = self.stopped.wait_timeout_while(guard, time, |stopping| !*stopping);
        match waited {
            Ok((stopping, _)) if !*stopping => Ok(()),
            _ => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    /// Keeps a request and says the how manieth it is, from 1.
    fn keep(&self, request: &HttpRequest) -> usize {
        let mut all = lock_always(&self.received);
        all.push(received_request(request));
        self.arrival.notify_all();
        all.len()
    }

    /// Waits until that many requests have come, but no longer than this. Whether they have.
    pub(super) fn arrived(&self, count: usize, patience: Duration) -> bool {
        let waited =
            self.arrival.wait_timeout_while(lock_always(&self.received), patience, |received| received.len() < count);
        waited.unwrap_or_else(PoisonError::into_inner).0.len() >= count
    }

    /// The answer to a request.
    fn answer(&self, request: &HttpRequest, number: usize) -> (RenderedAnswer, Delivery) {
        let protocol = PathProtocol::of(&request.path);
        let body = match check::check_scripted_request(&self.script, protocol, request, number) {
            Ok(body) => body,
            Err(refused) => return (refused, Delivery::default()),
        };
        let asked = AnswerRequest { number, body: &body };
        let Some(reply) = self.reply(request, number) else {
            let message = "the script has no answer for this request, or its answers are over";
            return (openai::render_openai_error(500, Some("script_is_over"), message, number), Delivery::default());
        };
        let body_bytes = proem_text::json::compact(asked.body).len();
        let mut rendered = match (&reply.say, protocol) {
            (ReplyContent::Raw(raw), _) => RenderedAnswer::raw(raw),
            (ReplyContent::Answer(answer), Some(PathProtocol::Anthropic)) => {
                anthropic::render_anthropic_answer(&answer.counted(body_bytes), &asked)
            }
            (ReplyContent::Answer(answer), Some(PathProtocol::OpenAi)) => {
                openai::render_openai_answer(&answer.counted(body_bytes), &asked)
            }
            (ReplyContent::Embeddings(vectors), Some(PathProtocol::Embeddings)) => {
                embeddings::render_vectors(vectors, &asked)
            }
            _ => openai::render_openai_error(
                404,
                Some("unknown_url"),
                "the script has another kind of answer for this path",
                number,
            ),
        };
        rendered.headers.extend(reply.how.retry_after.as_deref().map(|after| header_pair("retry-after", after)));
        (rendered, reply.how.clone())
    }

    /// The answer of the function, or of the first rule that fits.
    fn reply(&self, request: &HttpRequest, number: usize) -> Option<Cow<'_, Reply>> {
        if let Some(Answerer(answer)) = &self.answerer {
            return Some(Cow::Owned(answer(&received_request(request))));
        }
        let text = String::from_utf8_lossy(&request.body);
        let path = request.path.split('?').next().unwrap_or_default();
        let fits = |rule: &ScriptRule| {
            rule.when.path.as_deref().is_none_or(|end| path.ends_with(end))
                && rule.when.body.as_deref().is_none_or(|part| text.contains(part))
                && rule.when.nth.is_none_or(|nth| nth == number)
        };
        let (rule, used) = self.script.rules.iter().zip(&self.used).find(|(rule, _)| fits(rule))?;
        let place = used.fetch_add(1, Ordering::SeqCst);
        let reply = match rule.after {
            ScriptEnd::Repeat => rule.then.get(place).or(rule.then.last()),
            ScriptEnd::End => rule.then.get(place),
        };
        reply.map(Cow::Borrowed)
    }
}

/// A request as it is kept.
fn received_request(request: &HttpRequest) -> ReceivedRequest {
    ReceivedRequest {
        method: request.method.clone(),
        path: request.path.clone(),
        headers: request.headers.clone(),
        body: request.body.clone(),
        at: Instant::now(),
    }
}

/// Accepts connections until the server stops, and waits for their threads.
pub(super) fn accept_connections(listener: &TcpListener, shared: &Arc<SharedScript>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut number = 0_usize;
    for stream in listener.incoming() {
        if shared.is_stopping() {
            break;
        }
        let Ok(stream) = stream else { continue };
        number = number.saturating_add(1);
        threads.retain(|thread| !thread.is_finished());
        let stream = Arc::new(stream);
        lock_always(&shared.open).insert(number, Arc::downgrade(&stream));
        let sharing = Arc::clone(shared);
        let serve = move || {
            // The client's view of a broken connection is what tests look at. There is nobody else to tell.
            _ = connection(&sharing, &stream);
            lock_always(&sharing.open).remove(&number);
        };
        // Without a thread the connection is dropped, which the client sees.
        threads.extend(thread::Builder::new().stack_size(STACK).spawn(serve).ok());
    }
    // A connection may have come between the look at what is open and this one.
    shared.stop();
    for thread in threads {
        // A thread that panicked has said so on standard error.
        _ = thread.join();
    }
}

/// Answers all requests of one connection.
fn connection(shared: &SharedScript, stream: &Arc<TcpStream>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let resets = |reply: &Reply| matches!(reply.how.ending, DeliveryEnd::ResetAfter(_));
    let manner = match shared.script.rules.iter().flat_map(|rule| &rule.then).any(resets) {
        true => Manner::LastByteLeft,
        false => Manner::Greedy,
    };
    let mut requests = Requests::new(Arc::clone(stream), manner);
    while let Some(request) = requests.next()? {
        let number = shared.keep(&request);
        let answering = AnsweringCount::start(shared);
        let (rendered, how) = shared.answer(&request, number);
        if !matches!(how.ending, DeliveryEnd::ResetAfter(_)) {
            requests.finish(&request)?;
        }
        let next = send_answer(shared, answering, stream, &rendered, &how);
        if next.is_err() && !shared.is_stopping() {
            shared.abandoned.fetch_add(1, Ordering::SeqCst);
        }
        let asked = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if next? == Connection::Closed || asked {
            break;
        }
    }
    Ok(())
}

/// Counts the requests that are being answered.
struct AnsweringCount<'s>(&'s SharedScript);

impl<'s> AnsweringCount<'s> {
    fn start(shared: &'s SharedScript) -> Self {
        let now = shared.answering.fetch_add(1, Ordering::SeqCst).saturating_add(1);
        shared.most.fetch_max(now, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for AnsweringCount<'_> {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Sends an answer. An error if the client doesn't take it.
///
/// One that goes out at once counts as given before its last byte is: the client may ask again before
/// this thread goes on.
fn send_answer(
    shared: &SharedScript,
    answering: AnsweringCount<'_>,
    stream: &TcpStream,
    rendered: &RenderedAnswer,
    how: &Delivery,
) -> io::Result<Connection> {
    if how.delay_ms > 0 {
        shared.pause(how.delay_ms)?;
    }
    // A slow answer counts as being given until its last byte, so a test can ask in the middle of it.
    let _answering = if how.pause_ms > 0 { Some(answering) } else { None };
    let (most, endless) = match how.ending {
        DeliveryEnd::Whole => (usize::MAX, false),
        DeliveryEnd::ResetAfter(0) => return Ok(Connection::Closed),
        DeliveryEnd::CutAfter(bytes) | DeliveryEnd::ResetAfter(bytes) => (bytes, false),
        DeliveryEnd::Endless(bytes) => (bytes, true),
    };
    // A body without an end can't announce its length.
    let framing = if how.chunk_bytes.is_some() || endless { Framing::Chunks } else { rendered.framing };
    let mut headers = rendered.headers.clone();
    match framing {
        Framing::Chunks => headers.push(header_pair("transfer-encoding", "chunked")),
        Framing::Length => {
            let length: usize = rendered.pieces.iter().map(Vec::len).sum();
            headers.push(header_pair("content-length", &length.to_string()));
        }
    }
    if how.connection == Connection::Closed {
        headers.push(header_pair("connection", "close"));
    }
    let out = http::render_http_head(rendered.status, &headers);
    let mut writer = AnswerWriter { shared, stream, out, left: most, pause_ms: how.pause_ms, framing };
    let size = how.chunk_bytes.map_or(usize::MAX, core::num::NonZeroUsize::get);
    let said = if endless { rendered.again.unwrap_or(usize::MAX) } else { usize::MAX };
    for piece in rendered.pieces.iter().take(said) {
        writer.piece(piece, size)?;
    }
    if endless {
        let spaces = vec![b' '; 1024];
        let last = rendered.again.and_then(|again| rendered.pieces.get(again.checked_sub(1)?));
        while writer.left > 0 {
            writer.piece(last.unwrap_or(&spaces), size)?;
        }
    }
    if how.ending == DeliveryEnd::Whole && framing == Framing::Chunks {
        writer.out.extend(http::LAST_CHUNK);
    }
    writer.flush()?;
    Ok(if how.ending == DeliveryEnd::Whole { how.connection } else { Connection::Closed })
}

/// Collects an answer and writes it.
struct AnswerWriter<'a> {
    shared: &'a SharedScript,
    stream: &'a TcpStream,
    out: Vec<u8>,
    /// The bytes of the body that may still be sent.
    left: usize,
    pause_ms: u64,
    framing: Framing,
}

impl AnswerWriter<'_> {
    /// Sends a piece of the body in chunks of `size` bytes.
    fn piece(&mut self, piece: &[u8], size: usize) -> io::Result<()> {
        for chunk in piece.chunks(size) {
            let chunk = chunk.get(..self.left).unwrap_or(chunk);
            self.left = self.left.saturating_sub(chunk.len());
            // A chunk of no bytes would be the last one.
            if chunk.is_empty() {
                return Ok(());
            }
            match self.framing {
                Framing::Chunks => http::push_chunk(&mut self.out, chunk),
                Framing::Length => self.out.extend(chunk),
            }
            if self.pause_ms > 0 {
                self.flush()?;
                self.shared.pause(self.pause_ms)?;
            } else if self.out.len() >= WRITE {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}
