//! Goes through JSON without recursion, and tells of every string.

use super::{LONGEST_NAME, unescape_json};

/// The longest key that counts as a name, in bytes.
const LONGEST_KEY: usize = 64;

/// A string that was found.
pub(super) struct JsonString<'a> {
    /// Its place, its own key included. Percent-encoded, so ASCII.
    pub(super) pointer: &'a str,
    pub(super) role: JsonStringRole,
    /// The text between the quotes.
    pub(super) raw: &'a str,
    /// Its start, in bytes of the file.
    pub(super) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonStringRole {
    Value,
    /// A key that is more than a name.
    Key,
}

/// Why it isn't read as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsonFault {
    pub(super) at: usize,
    pub(super) kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    Invalid,
    TooDeep,
}

/// A list or an object that is open.
struct JsonContainer {
    /// The length of its own pointer.
    pointer: usize,
    /// The next index. `None` in an object.
    index: Option<usize>,
}

/// The way through a text.
pub(super) struct JsonWalk<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    open: Vec<JsonContainer>,
    pointer: String,
}

impl<'a> JsonWalk<'a> {
    pub(super) const fn new(text: &'a str, depth: usize) -> Self {
        Self { text, at: 0, depth, open: Vec::new(), pointer: String::new() }
    }

    /// Goes through all of it.
    pub(super) fn run(mut self, tell: &mut dyn FnMut(&JsonString<'_>)) -> Result<(), JsonFault> {
        loop {
            if self.value(tell)? {
                continue;
            }
            if self.after_value(tell)? {
                break;
            }
        }
        self.space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.invalid()) }
    }

    const fn invalid(&self) -> JsonFault {
        JsonFault { at: self.at, kind: FaultKind::Invalid }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    const fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.step();
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.step();
        }
        is_next
    }

    /// Reads the start of a value. True if another value starts inside it.
    fn value(&mut self, tell: &mut dyn FnMut(&JsonString<'_>)) -> Result<bool, JsonFault> {
        self.space();
        match self.peek() {
            Some(b'{') => {
                self.enter(None)?;
                if self.take(b'}') {
                    self.leave();
                    return Ok(false);
                }
                self.key(tell)?;
                Ok(true)
            }
            Some(b'[') => {
                self.enter(Some(0))?;
                if self.take(b']') {
                    self.leave();
                    return Ok(false);
                }
                self.pointer.push_str("/0");
                Ok(true)
            }
            Some(b'"') => {
                let (at, raw) = self.string()?;
                tell(&JsonString { pointer: &self.pointer, role: JsonStringRole::Value, raw, at });
                Ok(false)
            }
            _ => self.word().map(|()| false),
        }
    }

    /// Goes on behind a value. True at the end of everything.
    fn after_value(&mut self, tell: &mut dyn FnMut(&JsonString<'_>)) -> Result<bool, JsonFault> {
        loop {
            let Some(open) = self.open.last_mut() else { return Ok(true) };
            let (pointer, index) = (open.pointer, &mut open.index);
            self.pointer.truncate(pointer);
            if let Some(index) = index {
                *index = index.saturating_add(1);
                let next = format!("/{index}");
                if self.take(b',') {
                    self.pointer.push_str(&next);
                    return Ok(false);
                }
                if !self.take(b']') {
                    return Err(self.invalid());
                }
            } else {
                if self.take(b',') {
                    self.key(tell)?;
                    return Ok(false);
                }
                if !self.take(b'}') {
                    return Err(self.invalid());
                }
            }
            self.leave();
        }
    }

    fn enter(&mut self, index: Option<usize>) -> Result<(), JsonFault> {
        if self.open.len() >= self.depth {
            return Err(JsonFault { at: self.at, kind: FaultKind::TooDeep });
        }
        self.open.push(JsonContainer { pointer: self.pointer.len(), index });
        self.step();
        Ok(())
    }

    fn leave(&mut self) {
        self.open.pop();
    }

    /// Reads a key and its colon.
    fn key(&mut self, tell: &mut dyn FnMut(&JsonString<'_>)) -> Result<(), JsonFault> {
        self.space();
        let (at, raw) = self.string()?;
        push_segment(&mut self.pointer, raw);
        if !is_name_key(raw) {
            tell(&JsonString { pointer: &self.pointer, role: JsonStringRole::Key, raw, at });
        }
        if self.take(b':') { Ok(()) } else { Err(self.invalid()) }
    }

    /// Reads a string; where its content starts, and the content as it is.
    fn string(&mut self) -> Result<(usize, &'a str), JsonFault> {
        if self.peek() != Some(b'"') {
            return Err(self.invalid());
        }
        self.step();
        let start = self.at;
        loop {
            match self.peek() {
                None => return Err(self.invalid()),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.step();
                    self.escape()?;
                }
                // Control characters should be escaped, and most readers take them all the same.
                Some(_) => self.step(),
            }
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        self.step();
        Ok((start, raw))
    }

    fn escape(&mut self) -> Result<(), JsonFault> {
        let digits = match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 0,
            Some(b'u') => 4,
            _ => return Err(self.invalid()),
        };
        self.step();
        for _ in 0..digits {
            if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return Err(self.invalid());
            }
            self.step();
        }
        Ok(())
    }

    /// Reads a number, `true`, `false` or `null`. This reader doesn't judge whether a number is well written.
    fn word(&mut self) -> Result<(), JsonFault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')) {
            self.step();
        }
        let word = self.text.get(start..self.at).unwrap_or_default();
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
            && word.bytes().any(|byte| byte.is_ascii_digit());
        if is_number || matches!(word, "true" | "false" | "null") {
            return Ok(());
        }
        self.at = start;
        Err(self.invalid())
    }
}

/// Whether a key is a name, which nobody reads as a sentence.
fn is_name_key(raw: &str) -> bool {
    (1..=LONGEST_KEY).contains(&raw.len())
        && raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:$@/".contains(&byte))
}

/// Adds a key to a pointer (RFC 6901), with everything percent-encoded that isn't part of a name.
/// A long one is cut: the whole name is, too.
fn push_segment(pointer: &mut String, raw: &str) {
    pointer.push('/');
    let plain = if raw.contains('\\') { unescape_json(raw).0 } else { raw.to_owned() };
    for byte in plain.bytes().take(LONGEST_NAME) {
        match byte {
            b'~' => pointer.push_str("~0"),
            b'/' => pointer.push_str("~1"),
            byte if byte.is_ascii_alphanumeric() || b"_-.:$@".contains(&byte) => pointer.push(char::from(byte)),
            byte => pointer.push_str(&format!("%{byte:02X}")),
        }
    }
}
