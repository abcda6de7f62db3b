//! Server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.
//!
//! Invariants: what comes out does not depend on how the bytes were cut into chunks. No line and no event is kept that
//! is longer than [`MAX_BYTES`]. Nothing comes after the first [`SseError`]. `id` and `retry` are left out: nobody here
//! connects again.

use core::str;

/// The longest line, and the longest data of an event, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// One event of a stream, as a blank line ended it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name. Empty if it has none.
    pub name: String,
    /// Its data, lines separated by `\n`.
    pub data: String,
}

/// Why the bytes are no events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A byte that no UTF-8 text has there.
    #[error("byte {0} is not UTF-8")]
    NotUtf8(usize),
    /// A line or an event is longer than [`MAX_BYTES`].
    #[error("the server-sent event at byte {0} is longer than {MAX_BYTES} bytes")]
    TooLong(usize),
}

/// Takes bytes and gives events.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    /// The byte at which the line starts.
    start: usize,
    /// The line's number, from 0.
    number: usize,
    /// A `\r` ended the line before: a `\n` belongs to it.
    after_return: bool,
    event: SseEvent,
    /// The event has data, if only an empty line.
    has_data: bool,
    is_broken: bool,
    is_strange: bool,
}

impl Events {
    /// A parser of bytes of which the first one is counted as `start`.
    #[must_use]
    pub fn starting_at(start: usize) -> Self {
        Self { start, ..Self::default() }
    }

    /// The events that end in these bytes, up to the first that is broken.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<SseEvent, SseError>> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while !self.is_broken && !rest.is_empty() {
            if core::mem::take(&mut self.after_return)
                && let Some(behind) = rest.strip_prefix(b"\n")
            {
                self.start = self.start.saturating_add(1);
                rest = behind;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, behind) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
            self.line.extend_from_slice(part);
            rest = match behind.split_first() {
                Some((ending, behind)) => {
                    self.after_return = *ending == b'\r';
                    events.extend(self.end_line().transpose());
                    behind
                }
                None => &[],
            };
            // While the line is still open: a server that never ends it must not fill the memory.
            if self.line.len() > MAX_BYTES && !self.is_broken {
                self.is_broken = true;
                events.push(Err(SseError::TooLong(self.start)));
            }
        }
        events
    }

    /// The event that the bytes ended in, if one had begun. The standard throws it away. Some servers leave out the
    /// last empty line.
    pub fn finish(&mut self) -> Option<SseEvent> {
        if !self.line.is_empty() && !self.is_broken {
            _ = self.end_line();
        }
        if self.is_broken { None } else { self.take_event() }
    }

    /// Whether a line was neither a field nor a comment: then this may be no stream at all.
    #[must_use]
    pub const fn is_strange(&self) -> bool {
        self.is_strange
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let line = core::mem::take(&mut self.line);
        let (start, number) = (self.start, self.number);
        self.start = start.saturating_add(line.len()).saturating_add(1);
        self.number = number.saturating_add(1);
        let read = if line.len() > MAX_BYTES {
            Err(SseError::TooLong(start))
        } else {
            str::from_utf8(&line).map_err(|error| SseError::NotUtf8(start.saturating_add(error.valid_up_to())))
        };
        let read = read.and_then(|text| {
            // A byte order mark is one only at the very start of the stream.
            let text = if number == 0 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
            if text.is_empty() { Ok(self.take_event()) } else { self.field(text, start).map(|()| None) }
        });
        self.is_broken = read.is_err();
        // The allocation serves the next line.
        self.line = line;
        self.line.clear();
        read
    }

    fn field(&mut self, line: &str, start: usize) -> Result<(), SseError> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event.name),
            // llama.cpp writes its errors under a field of their own.
            "data" | "error" => {
                if name == "error" {
                    name.clone_into(&mut self.event.name);
                }
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
                // Of many short lines that belong together, none of which is too long.
                if self.event.data.len() > MAX_BYTES {
                    return Err(SseError::TooLong(start));
                }
            }
            "" | "id" | "retry" => {}
            _ => self.is_strange = true,
        }
        Ok(())
    }

    fn take_event(&mut self) -> Option<SseEvent> {
        let event = core::mem::take(&mut self.event);
        core::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn read<'b>(chunks: impl Iterator<Item = &'b [u8]>) -> (Vec<Result<SseEvent, SseError>>, Option<SseEvent>, bool) {
        let mut events = Events::default();
        let read = chunks.flat_map(|chunk| events.push(chunk)).collect();
        (read, events.finish(), events.is_strange())
    }

    /// Events as `name=data`, separated by `;`, an unfinished one behind `…`.
    #[track_caller]
    fn check(text: impl AsRef<[u8]>, expected: &str) {
        let show = |event: SseEvent| format!("{}={}", event.name, event.data);
        let (events, last, _) = read(core::iter::once(text.as_ref()));
        let events = events.into_iter().map(|event| event.map_or_else(|broken| broken.to_string(), show));
        let found: Vec<String> = events.chain(last.map(|event| format!("…{}", show(event)))).collect();
        assert_eq!(found.join(";"), expected, "{:?}", String::from_utf8_lossy(text.as_ref()));
    }

    #[test]
    fn the_standards_examples() {
        check("data: YHOO\ndata: +2\ndata: 10\n\n", "=YHOO\n+2\n10");
        check(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
            "=first event;=second event;…= third event",
        );
        check("data\n\ndata\ndata\n\ndata:", "=;=\n;…=");
        check("data:test\n\ndata: test\n\n", "=test;=test");
        check("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", "add=73857293;remove=2153");
    }

    #[test]
    fn lines_end_in_every_way() {
        check("data: a\r\ndata: b\r\rdata: c\n\n", "=a\nb;=c");
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", "=a");
        check("event: e\n\ndata: a\n\n", "=a");
        check("\n\r\n\r: ping\n\n", "");
        check("", "");
    }

    #[test]
    fn what_is_broken_has_a_place() {
        check(b"data: a\n\ndata: \xff\n\ndata: b\n\n", "=a;byte 15 is not UTF-8");
        check(b"\r\n\xe2\x82\n\n", "byte 2 is not UTF-8");
        let long = "x".repeat(MAX_BYTES);
        check(format!("data: a\n\n{long}x"), "=a;the server-sent event at byte 9 is longer than 1048576 bytes");
        check(format!("{long}\n\ndata: a\n\n"), "=a");
        check(
            format!("data:{}\ndata: {long}\n\n", "x".repeat(MAX_BYTES - 9)),
            "the server-sent event at byte 1048573 is longer than 1048576 bytes",
        );
    }

    #[test]
    fn other_text_is_strange() {
        for (text, strange) in
            [("Bad gateway\n", true), ("<html>", true), (": a\ndata: b\nretry: 1", false), ("", false)]
        {
            assert_eq!(read(core::iter::once(text.as_bytes())).2, strange, "{text:?}");
        }
    }

    /// Bytes that often are events.
    fn any_stream() -> impl Strategy<Value = Vec<u8>> {
        let parts = ["data: a", "data:b", "event: e", ": c", "\n", "\r", "\r\n", "\n\n", "\u{feff}", "é", "id: 1"];
        let part = prop_oneof![
            8 => prop::sample::select(parts.to_vec()).prop_map(|part| part.as_bytes().to_vec()),
            1 => vec(any::<u8>(), 1..3),
        ];
        vec(part, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(bytes in any_stream(), size in 1usize..7) {
            let whole = read(core::iter::once(bytes.as_slice()));
            prop_assert_eq!(&read(bytes.chunks(size)), &whole);
            for cut in 0..bytes.len() {
                let (one, other) = bytes.split_at(cut);
                prop_assert_eq!(&read([one, other].into_iter()), &whole);
            }
        }
    }
}
