//! A stream of lines in which no line is longer than a bound.
//!
//! The transport drops a line that is too long without a word, and its client waits for ever. Here such a line is replaced
//! by one that is JSON and no message, which the transport answers with an error. Invariant: no more than the bound and
//! one block is held, whatever arrives.

use std::io::{BufRead as _, Cursor};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// The line that takes the place of one that is too long.
const REFUSED: &[u8] = b"{}\n";

/// The bytes that are read at a time.
const BLOCK: usize = 16 * 1024;

/// Reads lines up to a bound.
pub(crate) struct BoundedLines<R> {
    from: R,
    most: usize,
    /// Hears of each line that was refused.
    refused: fn(&str),
    block: Box<[u8]>,
    /// The line that is being read.
    line: Vec<u8>,
    is_skipping: bool,
    /// Whole lines to hand on, from its position on.
    whole: Cursor<Vec<u8>>,
}

impl<R> BoundedLines<R> {
    /// Reads lines of at most `most` bytes.
    pub(crate) fn new(from: R, most: usize, refused: fn(&str)) -> Self {
        let block = vec![0; BLOCK].into_boxed_slice();
        Self { from, most, refused, block, line: Vec::new(), is_skipping: false, whole: Cursor::default() }
    }

    /// Takes in what was read.
    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = piece.ends_with(b"\n");
            if !self.is_skipping && self.line.len().saturating_add(piece.len()) > self.most {
                self.is_skipping = true;
                self.line = Vec::new();
                self.whole.get_mut().extend_from_slice(REFUSED);
                (self.refused)(&format!("a message with more than {} bytes was refused", self.most));
            }
            if !self.is_skipping {
                self.line.extend_from_slice(piece);
            }
            if is_end {
                self.whole.get_mut().append(&mut self.line);
                self.is_skipping = false;
            }
        }
    }

    /// Hands on what is whole, as far as there is room.
    fn hand_on(&mut self, room: &mut ReadBuf<'_>) -> std::io::Result<()> {
        let rest = self.whole.fill_buf()?;
        let (now, behind) = rest.split_at(rest.len().min(room.remaining()));
        room.put_slice(now);
        if behind.is_empty() {
            // A long line's room is given back.
            self.whole = Cursor::default();
        } else {
            let handed = now.len();
            self.whole.consume(handed);
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let lines = self.get_mut();
        while lines.whole.get_ref().is_empty() {
            let mut block = std::mem::take(&mut lines.block);
            let mut read = ReadBuf::new(&mut block);
            let polled = Pin::new(&mut lines.from).poll_read(cx, &mut read);
            let filled = read.filled().len();
            lines.take(block.get(..filled).unwrap_or_default());
            lines.block = block;
            ready!(polled)?;
            if filled == 0 {
                // The end. A line without its end is no message.
                return Poll::Ready(Ok(()));
            }
        }
        Poll::Ready(lines.hand_on(room))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut read = String::new();
        runtime.block_on(BoundedLines::new(text.as_bytes(), 8, |_| {}).read_to_string(&mut read)).unwrap();
        assert_eq!(read, expected);
    }

    #[test]
    fn long_lines_are_replaced_and_the_others_stay() {
        check("", "");
        check("1234567\n12\n", "1234567\n12\n");
        check("12345678\n12\n", "{}\n12\n");
        check("1\n123456789012345678901\n2\n", "1\n{}\n2\n");
        check("1\nno end", "1\n");
        check("123456789 no end", "{}\n");
        let long = "x".repeat(3 * BLOCK);
        check(&format!("{long}\na\n{long}\nb\n"), "{}\na\n{}\nb\n");
    }
}
