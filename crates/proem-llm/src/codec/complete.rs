//! Notices that a text already holds the value that was asked for.
//!
//! Models go on after the object that they owe: they explain it, or write blank lines until they
//! reach their limit. Once the first object of a text has closed and nothing that could be another
//! one follows for [`MOST_AFTER`] bytes, the rest is not waited for. An array, braces that are no
//! JSON, an empty object or a second brace switch the watch off: then the whole text is read.

use serde_json::{Map, Value};

/// The most bytes that are read behind an object.
const MOST_AFTER: usize = 200;

/// The most bytes that are read before an object where the server is to write nothing else: one that writes words does
/// not hold to that, and a small model may go on to the end of its window.
const MOST_BEFORE: usize = 2_000;

/// A watch over one text.
#[derive(Debug)]
pub(crate) struct Watch(WatchState);

#[derive(Debug, Clone, Copy)]
enum WatchState {
    Off,
    Before,
    /// The same where nothing but an object should come.
    Alone {
        bytes: usize,
    },
    Inside(OpenObject),
    After {
        bytes: usize,
    },
}

/// An object or array that has begun and not ended.
#[derive(Debug, Clone, Copy)]
struct OpenObject {
    /// Its start, in bytes of the text.
    start: usize,
    /// How many braces and brackets are open.
    depth: usize,
    place: JsonLexState,
}

#[derive(Debug, Clone, Copy)]
enum JsonLexState {
    Code,
    Text,
    Escape,
}

impl Watch {
    pub(crate) const fn on() -> Self {
        Self(WatchState::Before)
    }

    /// The same over a text that should have nothing but a value.
    pub(crate) const fn on_value() -> Self {
        Self(WatchState::Alone { bytes: 0 })
    }

    pub(crate) const fn off() -> Self {
        Self(WatchState::Off)
    }

    /// Whether the value is there, now that `text` has grown from `start` on.
    pub(crate) fn is_complete(&mut self, text: &str, start: usize) -> bool {
        for (index, byte) in text.bytes().enumerate().skip(start) {
            self.0 = match self.0 {
                WatchState::Off => return false,
                WatchState::Before | WatchState::Alone { .. } if matches!(byte, b'{' | b'[') => {
                    WatchState::Inside(OpenObject { start: index, depth: 1, place: JsonLexState::Code })
                }
                WatchState::Before => WatchState::Before,
                WatchState::Alone { bytes: MOST_BEFORE } => return true,
                WatchState::Alone { bytes } => WatchState::Alone { bytes: bytes.saturating_add(1) },
                WatchState::Inside(open) => open.after(text, index, byte),
                WatchState::After { .. } if matches!(byte, b'{' | b'[') => WatchState::Off,
                WatchState::After { bytes } if bytes >= MOST_AFTER => return true,
                WatchState::After { bytes } => WatchState::After { bytes: bytes.saturating_add(1) },
            };
        }
        false
    }
}

impl OpenObject {
    /// The state after `byte`, which is at `index` of `text`.
    fn after(self, text: &str, index: usize, byte: u8) -> WatchState {
        let Self { start, depth, place } = self;
        let (depth, place) = match (place, byte) {
            (JsonLexState::Escape, _) | (JsonLexState::Code, b'"') => (depth, JsonLexState::Text),
            (JsonLexState::Text, b'\\') => (depth, JsonLexState::Escape),
            (JsonLexState::Text, b'"') => (depth, JsonLexState::Code),
            (JsonLexState::Code, b'{' | b'[') => (depth.saturating_add(1), place),
            (JsonLexState::Code, b'}' | b']') => (depth.saturating_sub(1), place),
            _ => (depth, place),
        };
        if depth > 0 {
            return WatchState::Inside(Self { start, depth, place });
        }
        let object = text.get(start..=index).and_then(|value| serde_json::from_str::<Map<String, Value>>(value).ok());
        if object.is_some_and(|object| !object.is_empty()) { WatchState::After { bytes: 0 } } else { WatchState::Off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How many bytes are read of a text that arrives byte by byte. All, if it never is complete.
    fn read(text: &str) -> usize {
        let mut watch = Watch::on();
        let (mut so_far, mut read) = (String::new(), 0);
        for c in text.chars() {
            let start = so_far.len();
            so_far.push(c);
            read += c.len_utf8();
            if watch.is_complete(&so_far, start) {
                return read;
            }
        }
        read
    }

    #[track_caller]
    fn check(text: &str, is_complete: bool) {
        let prose = "x".repeat(300);
        let read = read(&format!("{text}{prose}"));
        let object = text.rfind('}').map_or(0, |end| end + 1);
        let expected = if is_complete { object + MOST_AFTER + 1 } else { text.len() + 300 };
        assert_eq!(read, expected, "{text:?}");
    }

    #[test]
    fn what_follows_an_object_is_not_waited_for() {
        check(r#"{"a": 1}"#, true);
        check("Sure, it's:\n```json\n{\"a\": {\"b\": [1, \"}\\\"\"]}}\n```\n", true);
        check(r#"{"é": "日{本"}"#, true);
        check("{\"a\": 1}\n\n\n", true);
    }

    #[test]
    fn anything_else_is_read_to_its_end() {
        check("", false);
        check(r#"{"a": 1"#, false);
        check("{}", false);
        check(r#"[{"a": 1}]"#, false);
        check(r#"Fill {placeholder} in. {"a": 1}"#, false);
        check(r#"{'a': 1}"#, false);
        check(r#"{"a": 1} or {"#, false);
        check(r#"{"a": 1} or [1]"#, false);
        check(&format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)), false);
    }

    #[test]
    fn words_where_only_a_value_should_come_are_not_read_for_ever() {
        let stops = |text: &str| Watch::on_value().is_complete(text, 0);
        let words = "It is bad. ".repeat(1_000);
        assert!(stops(&words) && !Watch::on().is_complete(&words, 0));
        assert!(!stops("It is bad."));
        // A value that begins in time is read to its end, however long it is.
        let long = format!("{{\"reason\": \"{words}");
        assert!(!stops(&long) && !stops(&format!("Here it is: {long}")));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in r#"(\{|\}|\[|\]|"|\\|a|é|:|1){0,30}"#, size in 1usize..9) {
            let text = format!("{{\"a\":1}}{text}{}", " ".repeat(300));
            let mut whole = Watch::on();
            let whole = whole.is_complete(&text, 0);
            let mut watch = Watch::on();
            let (mut so_far, mut is_complete) = (String::new(), false);
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(size) {
                let start = so_far.len();
                so_far.extend(piece);
                is_complete = is_complete || watch.is_complete(&so_far, start);
            }
            prop_assert_eq!(is_complete, whole);
        }
    }
}
