//! Decides how the backslashes of one text are meant.
//!
//! A model that forgets to double the backslashes of a formula or path writes some that JSON doesn't know (`\a`, `\U`)
//! beside some that it does (`\f`, `\t`). The first kind shows how the second is meant: as a backslash, too. If that
//! can't be told of every one, the text has two readings.

use proem_text::Span;

/// Commands of LaTeX that begin like an escape of JSON, without their backslash (the commands of LaTeX2e and amsmath).
const COMMANDS: [&str; 66] = [
    "backslash",
    "bar",
    "because",
    "begin",
    "beta",
    "between",
    "bf",
    "big",
    "bigcap",
    "bigcup",
    "bigl",
    "bigr",
    "binom",
    "bmod",
    "boldsymbol",
    "bot",
    "bullet",
    "fbox",
    "flat",
    "forall",
    "frac",
    "frown",
    "nabla",
    "ne",
    "nearrow",
    "neg",
    "neq",
    "newline",
    "ni",
    "nmid",
    "nolimits",
    "nonumber",
    "not",
    "notin",
    "nu",
    "rangle",
    "rbrace",
    "rceil",
    "rfloor",
    "rho",
    "right",
    "rightarrow",
    "rightleftharpoons",
    "rm",
    "root",
    "rvert",
    "tan",
    "tanh",
    "tau",
    "tbinom",
    "text",
    "textbf",
    "textit",
    "textrm",
    "tfrac",
    "therefore",
    "theta",
    "tilde",
    "times",
    "to",
    "top",
    "triangle",
    "triangleq",
    "ast",
    "rightharpoonup",
    "nexists",
];

/// The reading of the backslashes in one text.
#[derive(Debug, Default)]
pub(super) struct Backslashes {
    /// Whether one is before a letter that makes no escape.
    pub(super) kept: bool,
    /// Whether a doubled one is before a letter.
    pub(super) doubled: bool,
    /// Control characters that escapes spelled: their places in the text and in the answer.
    pub(super) controls: Vec<(usize, Span)>,
}

/// The reading of a text's control characters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As JSON escapes.
    Escapes,
    /// Backslashes before letters.
    Literal,
    /// One or the other.
    Ambiguous,
}

impl Backslashes {
    /// How the control characters in `text` are meant.
    pub(super) fn reading(&self, text: &str) -> Reading {
        let after = |at: usize| text.get(at.saturating_add(1)..).unwrap_or_default();
        // Form feeds and backspaces have no use before a letter.
        let odd = |at: usize| {
            text.get(at..).is_some_and(|rest| rest.starts_with(['\u{8}', '\u{c}']))
                && after(at).starts_with(|c: char| c.is_ascii_alphabetic())
        };
        let is_path = is_windows_path(text);
        if is_path && self.controls.first().is_some_and(|(at, _)| *at == 2) {
            return Reading::Literal;
        }
        let is_doubtful = self.kept || (self.doubled && self.controls.iter().any(|(at, _)| odd(*at)));
        if !is_doubtful || self.controls.is_empty() {
            return Reading::Escapes;
        }
        let is_command = |at: usize| {
            let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()).and_then(letter_of) else {
                return false;
            };
            let rest = after(at);
            let len = rest.bytes().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
            let word = rest.get(..len).unwrap_or_default();
            COMMANDS.iter().any(|command| command.strip_prefix(letter) == Some(word))
        };
        if is_path || self.controls.iter().all(|(at, _)| is_command(*at)) {
            Reading::Literal
        } else {
            Reading::Ambiguous
        }
    }

    /// `text` with backslashes and letters in place of its control characters.
    pub(super) fn to_literal(&self, text: &str) -> String {
        let mut literal = String::new();
        let mut from = 0_usize;
        for (at, _) in &self.controls {
            literal.push_str(text.get(from..*at).unwrap_or_default());
            literal.push('\\');
            literal.extend(text.get(*at..).and_then(|rest| rest.chars().next()).and_then(letter_of));
            from = at.saturating_add(1);
        }
        literal.push_str(text.get(from..).unwrap_or_default());
        literal
    }
}

/// Whether a text is a path of Windows, which has no control characters.
pub(super) fn is_windows_path(text: &str) -> bool {
    matches!(text.as_bytes(), [drive, b':', b'\\' | 8 | 9 | 10 | 12 | 13, ..] if drive.is_ascii_alphabetic())
        && !text.contains(' ')
}

/// The letter that spells a control character behind a backslash.
const fn letter_of(control: char) -> Option<char> {
    match control {
        '\u{8}' => Some('b'),
        '\u{c}' => Some('f'),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        _ => None,
    }
}
