//! HTTP/1.1, as far as a client of an API needs it: <https://www.rfc-editor.org/rfc/rfc9112>.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// The longest head of a request.
const MOST_HEAD: usize = 64 * 1024;
/// The longest body of a request.
const MOST_BODY: usize = 64 * 1024 * 1024;
/// How much is read at once.
const READ: usize = 16 * 1024;

/// The requests of one connection.
#[derive(Debug)]
pub(super) struct Requests {
    stream: Arc<TcpStream>,
    /// The bytes that were read and not used yet.
    buffer: Vec<u8>,
    manner: Manner,
}

/// How a connection is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As much as there is.
    Greedy,
    /// All of a request but its last byte, which is only looked at: a socket that is closed with
    /// bytes unread resets its connection, and the standard library has no other way to do so.
    LastByteLeft,
}

/// A request as its bytes say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl HttpRequest {
    /// The first header of that name, which is lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Requests {
    pub(super) const fn new(stream: Arc<TcpStream>, manner: Manner) -> Self {
        Self { stream, buffer: Vec::new(), manner }
    }

    /// The next request. `None` when the client is done.
    ///
    /// # Errors
    ///
    /// If the connection breaks or what comes is no request.
    pub(super) fn next(&mut self) -> io::Result<Option<HttpRequest>> {
        let Some(head) = self.head()? else { return Ok(None) };
        let mut request = head;
        if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            (&*self.stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = if request.header("transfer-encoding").is_some() {
            self.chunks()?
        } else {
            let length = request.header("content-length").map_or(Ok(0), str::parse::<usize>);
            let length =
                length.ok().filter(|length| *length <= MOST_BODY).ok_or_else(|| bad_request("content-length"))?;
            self.take(length)?
        };
        Ok(Some(request))
    }

    /// Takes what [`Manner::LastByteLeft`] has left, so that the next request can be read.
    pub(super) fn finish(&mut self, request: &HttpRequest) -> io::Result<()> {
        if self.manner == Manner::LastByteLeft && !request.body.is_empty() {
            self.fill(1)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Everything before the body.
    fn head(&mut self) -> io::Result<Option<HttpRequest>> {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end.saturating_add(4);
            }
            if self.buffer.len() > MOST_HEAD {
                return Err(bad_request("head"));
            }
            let most = if self.manner == Manner::Greedy { READ } else { 1 };
            if self.fill(most)? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        };
        let body = self.buffer.split_off(end);
        let head = core::mem::replace(&mut self.buffer, body);
        parse_http_head(&String::from_utf8_lossy(&head)).map(Some).ok_or_else(|| bad_request("head"))
    }

    /// The next `length` bytes.
    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let left = usize::from(self.manner == Manner::LastByteLeft && length > 0);
        while self.buffer.len() < length.saturating_sub(left) {
            let missing = length.saturating_sub(left).saturating_sub(self.buffer.len());
            let most = if self.manner == Manner::Greedy { READ } else { missing };
            if self.fill(most)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if left > 0 {
            let mut last = [0];
            self.stream.peek(&mut last)?;
            let mut body = core::mem::take(&mut self.buffer);
            body.extend(last);
            return Ok(body);
        }
        let rest = self.buffer.split_off(length);
        Ok(core::mem::replace(&mut self.buffer, rest))
    }

    /// A body in chunks. Trailers are read and forgotten.
    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(digits, 16).map_err(|_| bad_request("chunk"))?;
            if body.len().saturating_add(length) > MOST_BODY {
                return Err(bad_request("chunk"));
            }
            if length == 0 {
                while !self.line()?.is_empty() {}
                return Ok(body);
            }
            let manner = core::mem::replace(&mut self.manner, Manner::Greedy);
            let chunk = self.take(length);
            self.manner = manner;
            body.extend(chunk?);
            self.line()?;
        }
    }

    /// The next line, without its end.
    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                let rest = self.buffer.split_off(end.saturating_add(2));
                let line = core::mem::replace(&mut self.buffer, rest);
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.buffer.len() > MOST_HEAD || self.fill(READ)? == 0 {
                return Err(bad_request("chunk"));
            }
        }
    }

    /// Reads at most `most` bytes more; 0 are the end.
    fn fill(&mut self, most: usize) -> io::Result<usize> {
        let mut bytes = [0; READ];
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let length = (&*self.stream).take(most).read(&mut bytes)?;
        self.buffer.extend(bytes.iter().take(length));
        Ok(length)
    }
}

fn bad_request(part: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the request's {part} is not HTTP/1.1 or too long"))
}

fn parse_http_head(head: &str) -> Option<HttpRequest> {
    let mut lines = head.split("\r\n").filter(|line| !line.is_empty());
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    if first.next()? != "HTTP/1.1" {
        return None;
    }
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers = lines.map(header).collect::<Option<_>>()?;
    Some(HttpRequest { method, path, headers, body: Vec::new() })
}

/// The head of an answer.
pub(super) fn render_http_head(status: u16, headers: &[(String, String)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason_phrase(status));
    for (name, value) in headers {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Puts `bytes` behind `out` as one chunk.
pub(super) fn push_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(format!("{:x}\r\n", bytes.len()).into_bytes());
    out.extend(bytes);
    out.extend(b"\r\n");
}

/// The end of a body in chunks.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

const fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Scripted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        for (head, expected) in [
            ("POST /v1/a HTTP/1.1\r\nA: b \r\nC-D:e:f\r\n\r\n", Some(("/v1/a", "a=b c-d=e:f"))),
            ("GET / HTTP/1.1\r\n\r\n", Some(("/", ""))),
            ("GET / HTTP/1.0\r\n\r\n", None),
            ("GET /\r\n\r\n", None),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", None),
            ("\r\n\r\n", None),
        ] {
            let headers = |request: &HttpRequest| {
                let pairs: Vec<_> = request.headers.iter().map(|(name, value)| format!("{name}={value}")).collect();
                pairs.join(" ")
            };
            let parsed = parse_http_head(head);
            let found = parsed.as_ref().map(|request| (request.path.clone(), headers(request)));
            assert_eq!(found, expected.map(|(path, headers)| (path.to_owned(), headers.to_owned())), "{head:?}");
        }
    }

    #[test]
    fn answers_on_the_wire() {
        let headers = [("a".to_owned(), "b".to_owned())];
        assert_eq!(render_http_head(429, &headers), b"HTTP/1.1 429 Too Many Requests\r\na: b\r\n\r\n");
        let mut out = Vec::new();
        push_chunk(&mut out, b"0123456789abcdef!");
        assert_eq!(out, b"11\r\n0123456789abcdef!\r\n");
    }
}
