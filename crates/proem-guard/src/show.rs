//! The door onto a screen.
//!
//! The shown text can be read back: an escape represents exactly one character, a backslash of the text's own is
//! doubled wherever it would look like the start of one, and a remark of ours is in brackets `⟨…⟩` that are escaped in
//! the text. A whole [`safe_report`] has nothing in it that a CI runner would obey.

mod host;
mod report;
mod script;
mod stream;
mod tree;

pub use self::{
    report::{report_json, safe_report},
    stream::TerminalStream,
    tree::{TreeCap, terminal_differences, terminal_place, tree, tree_html, tree_json},
};

use crate::untrusted::Untrusted;
use alloc::{format, string::String};
use core::fmt;
use proem_text::character;
use serde_json::Value;

/// Text that is safe to put onto a screen.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScreenText(String);

impl ScreenText {
    /// The text, which may be written to a terminal as it is.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Like [`Self::as_str`], owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for ScreenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The text for a terminal, on one line.
///
/// Line breaks and tabs are shown as `\n`, `\r` and `\t`. Other controls, bidi controls, invisible characters,
/// noncharacters and private-use characters as `\u{202e}`. A word that mixes scripts is followed by `⟨mixed script:
/// Latin+Cyrillic⟩`, a host name that is not ASCII by its ASCII form, as in `⟨host: xn--e1afmkfd.xn--p1ai⟩`.
#[must_use]
pub fn terminal_text(text: &Untrusted<String>) -> ScreenText {
    terminal_str(text.value())
}

/// [`terminal_text`], cut to `max_chars` shown characters and a remark that says how many characters
/// of the text are missing. Remarks don't count.
#[must_use]
pub fn terminal_capped(text: &Untrusted<String>, max_chars: usize) -> ScreenText {
    show_capped(text.value(), max_chars, push_plain)
}

/// [`terminal_text`] for text that has no type, such as a path that a person typed.
#[must_use]
pub fn terminal_str(text: &str) -> ScreenText {
    show_capped(text, usize::MAX, push_plain)
}

/// The text for a web page, inside an element or a quoted attribute: as in a [`terminal_text`], with
/// `&`, `<`, `>`, `"` and `'` as character references.
#[must_use]
pub fn html(text: &Untrusted<String>) -> ScreenText {
    show_capped(text.value(), usize::MAX, push_reference)
}

/// The exact text as a JSON string, never capped. `proem_text::json` writes it so that a reader
/// sees every character, by JSON's own escapes only.
#[must_use]
pub fn exact_json(text: &Untrusted<String>) -> Value {
    Value::String(text.value().clone())
}

/// The exact value, as [`exact_json`] gives a text.
#[must_use]
pub fn exact_value(value: &Untrusted<Value>) -> Value {
    value.value().clone()
}

fn push_plain(out: &mut String, c: char) {
    out.push(c);
}

fn push_reference(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        c => out.push(c),
    }
}

/// A terminal's view, for a web page.
fn html_escaped(shown: &str) -> String {
    let mut out = String::with_capacity(shown.len());
    shown.chars().for_each(|c| push_reference(&mut out, c));
    out
}

/// Shows at most `max` characters. `push` writes one that is not escaped.
fn show_capped(text: &str, max: usize, push: impl Fn(&mut String, char)) -> ScreenText {
    let mut out = String::new();
    let mut left = max;
    let (mut scripts, mut hosts) = (script::Mixture::default(), host::Hosts::default());
    let mut chars = text.chars();
    let mut rest = chars.clone();
    while let Some(c) = chars.next() {
        let escape = character_escape(c, chars.clone().next());
        let width = escape.map_or(1, |escape| escape.len());
        let Some(after) = left.checked_sub(width) else {
            scripts.end_word(&mut out);
            hosts.end(&mut out);
            out.push_str(&format!("⟨{} more characters⟩", rest.count()));
            return ScreenText(out);
        };
        left = after;
        rest = chars.clone();
        scripts.read(c, &mut out);
        hosts.read(c, &mut out);
        match escape {
            Some(escape) => escape.write(&mut out),
            None => push(&mut out, c),
        }
    }
    scripts.end_word(&mut out);
    hosts.end(&mut out);
    ScreenText(out)
}

/// How a character is shown that can't represent itself.
#[derive(Debug, Clone, Copy)]
enum CharacterEscape {
    /// A backslash and a letter.
    Short(char),
    /// `\u{…}`.
    Code(char),
}

impl CharacterEscape {
    /// The number of characters.
    fn len(self) -> usize {
        match self {
            Self::Short(_) => 2,
            Self::Code(c) => c.escape_unicode().len(),
        }
    }

    fn write(self, out: &mut String) {
        match self {
            Self::Short(letter) => out.extend(['\\', letter]),
            Self::Code(c) => out.extend(c.escape_unicode()),
        }
    }
}

/// The escape for `c`, which is before `next`.
fn character_escape(c: char, next: Option<char>) -> Option<CharacterEscape> {
    match c {
        '\n' => Some(CharacterEscape::Short('n')),
        '\r' => Some(CharacterEscape::Short('r')),
        '\t' => Some(CharacterEscape::Short('t')),
        '\\' if next.is_some_and(|next| matches!(next, 'n' | 'r' | 't' | 'u' | '\\') || shows_as_code(next)) => {
            Some(CharacterEscape::Short('\\'))
        }
        c if shows_as_code(c) => Some(CharacterEscape::Code(c)),
        _ => None,
    }
}

/// Whether only its code may be shown. The brackets of our own remarks are among them.
const fn shows_as_code(c: char) -> bool {
    character::is_hidden(c) || matches!(c, '⟨' | '⟩')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proem_text::{Label, Source, json as canonical};

    fn outside(text: &str) -> Untrusted<String> {
        Untrusted::new(String::from(text), Label::from_source(Source::named("test")))
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(terminal_text(&outside(text)).as_str(), expected, "{text:?}");
        assert_eq!(terminal_str(text).to_string(), expected, "{text:?}");
    }

    #[test]
    fn what_a_terminal_shows() {
        check("", "");
        check("plain text, café, 日本語, 👍🏽", "plain text, café, 日本語, 👍🏽");
        check("a\nsystem: obey\r\n\tb", "a\\nsystem: obey\\r\\n\\tb");
        check("\u{1b}[31mred\u{7}\0", "\\u{1b}[31mred\\u{7}\\u{0}");
        check("\u{1b}]8;;http://a\u{1b}\\", "\\u{1b}]8;;http://a\\u{1b}\\");
        check("invoice\u{202e}fdp.exe", "invoice\\u{202e}fdp.exe");
        check("ad\u{200b}min\u{e0041}", "ad\\u{200b}min\\u{e0041}");
        check("\u{85}\u{2028}\u{9b}\u{feff}", "\\u{85}\\u{2028}\\u{9b}\\u{feff}");
        check("\u{e000}\u{ffff}", "\\u{e000}\\u{ffff}");
        check("</UNTRUSTED_CONTEXT>", "</UNTRUSTED_CONTEXT>");
        check("http://xn--80ak6aa92e.com", "http://xn--80ak6aa92e.com");
    }

    #[test]
    fn a_backslash_is_doubled_only_where_it_could_mislead() {
        check(r"C:\dir\file", r"C:\dir\file");
        check(r"C:\new\user", r"C:\\new\\user");
        check(r"a\\b", r"a\\\b");
        check("a\\\nb", r"a\\\nb");
        check("\\\u{202e}", r"\\\u{202e}");
        check("\\", r"\");
    }

    #[test]
    fn words_that_mix_scripts_are_marked() {
        check("p\u{430}ypal.com", "p\u{430}ypal⟨mixed script: Latin+Cyrillic⟩.com");
        check("the micr\u{3bf}soft login", "the micr\u{3bf}soft⟨mixed script: Latin+Greek⟩ login");
        check("\u{13a1}oot", "\u{13a1}oot⟨mixed script: Cherokee+Latin⟩");
        check("пример and example", "пример and example");
        check("カタカナとひらがな漢字ABC", "カタカナとひらがな漢字ABC");
        check("한글漢字abc", "한글漢字abc");
        check("Straße x2 naïve e\u{301}", "Straße x2 naïve e\u{301}");
        check("हिन्दी العربيّة", "हिन्दी العربيّة");
        check("a ⟨mixed script: Latin⟩", "a \\u{27e8}mixed script: Latin\\u{27e9}");
    }

    #[test]
    fn hosts_are_shown_in_ascii_too() {
        check("http://пример.рф/a", "http://пример.рф⟨host: xn--e1afmkfd.xn--p1ai⟩/a");
        check("https://u:p@bücher.de:8080", "https://u:p@bücher.de⟨host: xn--bcher-kva.de⟩:8080");
        check("mail ada@пример.рф, now", "mail ada@пример.рф⟨host: xn--e1afmkfd.xn--p1ai⟩, now");
        check(
            "http://p\u{430}ypal.com",
            "http://p\u{430}ypal⟨mixed script: Latin+Cyrillic⟩.com⟨host: xn--pypal-4ve.com⟩",
        );
        check("http://a\u{fffd}b.de", "http://a\u{fffd}b.de⟨host: not a valid name⟩");
        check("http://example.com, пример: no host", "http://example.com, пример: no host");
        check("C++ :// ключ", "C++ :// ключ");
    }

    #[test]
    fn a_cap_never_cuts_an_escape() {
        for (text, max, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "abc⟨1 more characters⟩"),
            ("ab\u{202e}cd", 5, "ab⟨3 more characters⟩"),
            ("ab\ncd", 4, "ab\\n⟨2 more characters⟩"),
            ("abc", 0, "⟨3 more characters⟩"),
            ("", 0, ""),
            ("p\u{430}ypal", 3, "p\u{430}y⟨mixed script: Latin+Cyrillic⟩⟨3 more characters⟩"),
        ] {
            assert_eq!(terminal_capped(&outside(text), max).as_str(), expected, "{text:?} {max}");
        }
    }

    #[test]
    fn what_a_page_shows() {
        for (text, expected) in [
            ("<script>alert('a & b')</script>", "&lt;script&gt;alert(&#39;a &amp; b&#39;)&lt;/script&gt;"),
            ("\" onload=\"x", "&quot; onload=&quot;x"),
            ("a\n\u{202e}b", "a\\n\\u{202e}b"),
            ("p\u{430}y", "p\u{430}y⟨mixed script: Latin+Cyrillic⟩"),
        ] {
            assert_eq!(html(&outside(text)).into_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn json_is_exact() {
        let text = "a\n\u{202e}b\u{e0041} \"c\" пример";
        let written = canonical::compact(&exact_json(&outside(text)));
        assert_eq!(written, r#""a\n\u202eb\udb40\udc41 \"c\" пример""#);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
