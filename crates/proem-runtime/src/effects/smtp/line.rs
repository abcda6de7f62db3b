//! Commands out, replies in.
//!
//! Invariants: a reply is read only when a command waits for it; whoever speaks unasked is not listened to, so that
//! nothing which was said before the encryption counts behind it. A reply is bounded in lines and bytes.

use core::time::Duration;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The most bytes of a reply, all its lines together. RFC 5321, 4.5.3.1.5 allows 512 a line.
const REPLY_BYTES: usize = 32 * 1024;

/// The stream under a connection.
pub(super) trait SmtpStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> SmtpStream for S {}

/// A connection to a mail server.
pub(super) struct SmtpLine {
    stream: Box<dyn SmtpStream>,
    /// The bytes that were read and not yet taken.
    read: Vec<u8>,
}

/// A server's reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SmtpReply {
    /// Its code, of three digits.
    pub(super) code: u16,
    /// The text of its lines, one each.
    pub(super) text: String,
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub(super) enum SmtpBreak {
    #[error("the connection broke")]
    Closed,
    #[error("no answer came in time")]
    Slow,
    #[error("it answered in a form that no mail server uses")]
    Garbled,
    #[error("it answered before it was asked")]
    Unasked,
}

impl From<io::Error> for SmtpBreak {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

impl SmtpLine {
    pub(super) fn new(stream: Box<dyn SmtpStream>) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// Writes a command, which has no end of line yet, and reads the reply.
    pub(super) async fn ask(&mut self, command: &str, limit: Duration) -> Result<SmtpReply, SmtpBreak> {
        let line = format!("{command}\r\n");
        let asking = async {
            self.write(line.as_bytes()).await?;
            self.reply().await
        };
        timeout(limit, asking).await.unwrap_or(Err(SmtpBreak::Slow))
    }

    /// Reads a reply that comes by itself: the greeting, and the one behind the end of a mail.
    pub(super) async fn listen(&mut self, limit: Duration) -> Result<SmtpReply, SmtpBreak> {
        timeout(limit, self.reply()).await.unwrap_or(Err(SmtpBreak::Slow))
    }

    /// Writes what nobody answers to.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), SmtpBreak> {
        if !self.is_quiet() {
            return Err(SmtpBreak::Unasked);
        }
        self.stream.write_all(bytes).await?;
        self.stream.flush().await?;
        Ok(())
    }

    /// Whether nothing was said that nobody has taken.
    pub(super) fn is_quiet(&self) -> bool {
        self.read.is_empty()
    }

    /// Says that nothing more will be said.
    pub(super) async fn shut(&mut self) {
        // Whether the other side hears it changes nothing.
        _ = self.stream.shutdown().await;
    }

    /// The stream, to encrypt it, if nothing was said on it that is not taken.
    pub(super) fn into_stream(self) -> Result<Box<dyn SmtpStream>, SmtpBreak> {
        if self.read.is_empty() { Ok(self.stream) } else { Err(SmtpBreak::Unasked) }
    }

    async fn reply(&mut self) -> Result<SmtpReply, SmtpBreak> {
        let (mut code, mut text) = (None, String::new());
        let mut taken = 0;
        loop {
            let line = self.line().await?;
            taken += line.len() + 2;
            if taken > REPLY_BYTES {
                return Err(SmtpBreak::Garbled);
            }
            let (found, is_last, words) = reply_parts(&line).ok_or(SmtpBreak::Garbled)?;
            if *code.get_or_insert(found) != found {
                return Err(SmtpBreak::Garbled);
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(words.trim_end());
            if is_last {
                return Ok(SmtpReply { code: found, text });
            }
        }
    }

    /// The next line without its end.
    async fn line(&mut self) -> Result<String, SmtpBreak> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.read.drain(..=end).collect();
                line.truncate(end);
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if self.read.len() > REPLY_BYTES {
                return Err(SmtpBreak::Garbled);
            }
            let mut piece = [0; 1024];
            let count = self.stream.read(&mut piece).await?;
            match piece.get(..count) {
                Some(bytes) if count > 0 => self.read.extend_from_slice(bytes),
                _ => return Err(SmtpBreak::Closed),
            }
        }
    }
}

/// A line's code, whether it is its reply's last, and its text.
fn reply_parts(line: &str) -> Option<(u16, bool, &str)> {
    let (digits, rest) = line.split_at_checked(3)?;
    let is_code = digits.bytes().all(|byte| byte.is_ascii_digit());
    let code = digits.parse().ok().filter(|code| is_code && (200..600).contains(code))?;
    match rest.strip_prefix('-') {
        Some(text) => Some((code, false, text)),
        None if rest.is_empty() => Some((code, true, rest)),
        None => rest.strip_prefix(' ').map(|text| (code, true, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first reply in a server's words.
    async fn check(said: &str, expected: Result<(u16, &str), &str>) {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        theirs.write_all(said.as_bytes()).await.unwrap();
        drop(theirs);
        let found = SmtpLine::new(Box::new(ours)).listen(Duration::from_secs(60)).await;
        let found = found.as_ref().map(|reply| (reply.code, reply.text.as_str())).map_err(ToString::to_string);
        assert_eq!(found, expected.map_err(str::to_owned), "{said:?}");
    }

    #[tokio::test]
    async fn replies_have_one_code_and_an_end() {
        let garbled = "it answered in a form that no mail server uses";
        check("250 ok\r\n", Ok((250, "ok"))).await;
        check("250\r\n", Ok((250, ""))).await;
        check("250 ok\n", Ok((250, "ok"))).await;
        check("250-a\r\n250-b\r\n250 c\r\n", Ok((250, "a\nb\nc"))).await;
        check("", Err("the connection broke")).await;
        check("250 ok", Err("the connection broke")).await;
        check("250-a\r\n", Err("the connection broke")).await;
        check("250-a\r\n550 b\r\n", Err(garbled)).await;
        check("25 ok\r\n", Err(garbled)).await;
        check("+50 ok\r\n", Err(garbled)).await;
        check("199 ok\r\n", Err(garbled)).await;
        check("600 ok\r\n", Err(garbled)).await;
        check("2500 ok\r\n", Err(garbled)).await;
        check("é50 ok\r\n", Err(garbled)).await;
        check(&format!("250 {}", "x".repeat(40_000)), Err(garbled)).await;
        check(&"250-x\r\n".repeat(10_000), Err(garbled)).await;
    }

    #[tokio::test]
    async fn who_speaks_unasked_is_not_listened_to() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(b"220 go ahead\r\n250 ok\r\n").await.unwrap();
        let mut line = SmtpLine::new(Box::new(ours));
        assert_eq!(line.listen(Duration::from_secs(60)).await.unwrap().code, 220);
        assert!(matches!(line.ask("NOOP", Duration::from_secs(60)).await, Err(SmtpBreak::Unasked)));
        assert!(matches!(line.into_stream(), Err(SmtpBreak::Unasked)));
    }
}
