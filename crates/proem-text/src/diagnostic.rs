//! Messages about a text, with the place they are about.
//!
//! A rendered message is safe for a terminal, whatever the text holds.

use crate::{character::is_hidden, span::Span};
use alloc::{
    format,
    string::{String, ToString},
};

/// The longest excerpt of a line, in characters.
const MAX_EXCERPT: usize = 160;

/// How much of a longer line is before the caret, in characters.
const BEFORE_CARET: usize = 60;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticSeverity {
    /// The text can't be used.
    Error,
    /// The text can be used, but probably not as meant.
    Warning,
}

impl DiagnosticSeverity {
    /// The word that starts a message.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One message about a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: DiagnosticSeverity,
    /// The problem: lower case, no full stop.
    pub message: String,
    /// The place, in bytes of the text. `None` if it is about the whole.
    pub span: Option<Span>,
    /// The remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// The message with its place and an excerpt. `name` is the text's, such as a path.
    ///
    /// A span over several lines is shown by its first.
    #[must_use]
    pub fn render(&self, name: &str, text: &str) -> String {
        let title = format!("{}: {}\n", self.severity.as_str(), safe_line(&self.message));
        let name = safe_line(name);
        let help = self.help.as_deref().map(|help| format!(" = help: {}\n", safe_line(help))).unwrap_or_default();
        let Some(span) = self.span else {
            return format!("{title} --> {name}\n{help}");
        };
        let (line, column) = line_column(text, span.start);
        let line = line.to_string();
        let margin = " ".repeat(line.len());
        let (excerpt, caret) = caret_excerpt(text, span);
        let code = format!("{line} | {excerpt}");
        let help = if help.is_empty() { help } else { format!("{margin}{help}") };
        format!(
            "{title}{margin}--> {name}:{line}:{column}\n{margin} |\n{}\n{margin} | {caret}\n{help}",
            code.trim_end()
        )
    }
}

/// The line and the column of a byte offset, both from 1. Columns count characters.
///
/// Lines end with `\n`. An offset inside a character counts as the character's start, one past
/// the end as the end.
#[must_use]
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(offset)).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let breaks = before.bytes().filter(|byte| *byte == b'\n').count();
    (breaks.saturating_add(1), line.chars().count().saturating_add(1))
}

/// The line that `span` starts in, safe and cut to size, and the line with carets below it.
fn caret_excerpt(text: &str, span: Span) -> (String, String) {
    let start = text.floor_char_boundary(span.start);
    let (before, after) = text.split_at_checked(start).unwrap_or_default();
    let before = before.rsplit('\n').next().unwrap_or_default();
    let after = after.split('\n').next().unwrap_or_default().trim_end_matches('\r');
    let marked = after.get(..after.floor_char_boundary(span.len())).unwrap_or_default();

    let fits = safe_width(before).saturating_add(safe_width(after)) <= MAX_EXCERPT;
    let before = safe_end(before, if fits { MAX_EXCERPT } else { BEFORE_CARET });
    let indent = before.chars().count();
    let room = MAX_EXCERPT.saturating_sub(indent);
    let carets = safe_start(marked, room).chars().count().max(1);
    (format!("{before}{}", safe_start(after, room)), format!("{}{}", " ".repeat(indent), "^".repeat(carets)))
}

/// The text as a terminal may show it, on one line.
fn safe_line(text: &str) -> String {
    safe_start(text, usize::MAX)
}

/// At most `max` characters of the safe text from its start, and `…` for the rest.
fn safe_start(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut left = max;
    for c in text.chars() {
        let Some(after) = left.checked_sub(safe_character(c).count()) else {
            out.push('…');
            break;
        };
        left = after;
        out.extend(safe_character(c));
    }
    out
}

/// At most `max` characters of the safe text from its end, after `…` for the rest.
fn safe_end(text: &str, max: usize) -> String {
    let mut start = text.len();
    let mut left = max;
    for (at, c) in text.char_indices().rev() {
        let Some(after) = left.checked_sub(safe_character(c).count()) else { break };
        left = after;
        start = at;
    }
    let kept = safe_line(text.get(start..).unwrap_or_default());
    if start == 0 { kept } else { format!("…{kept}") }
}

/// How many characters the safe text has.
fn safe_width(text: &str) -> usize {
    text.chars().map(|c| safe_character(c).count()).sum()
}

/// The safe form of a character: a space for a tab, so that carets align, and an escape for one that wouldn't be seen
/// as itself.
fn safe_character(c: char) -> impl Iterator<Item = char> {
    let c = if c == '\t' { ' ' } else { c };
    let (plain, escape) = if is_hidden(c) { (None, Some(c.escape_unicode())) } else { (Some(c), None) };
    plain.into_iter().chain(escape.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, marked: &str, expected: &str) {
        let start = text.find(marked).unwrap();
        let diagnostic = Diagnostic {
            severity: DiagnosticSeverity::Error,
            message: String::from("wrong"),
            span: Some(Span::new(start, start + marked.len())),
            help: None,
        };
        assert_eq!(diagnostic.render("a.prompt", text), expected, "{text:?}");
    }

    #[test]
    fn a_message_points_at_its_place() {
        let text = format!("{}    - {{ name: role, trust: foo }}\nrest\n", "x\n".repeat(11));
        let start = text.find("foo").unwrap();
        let mut diagnostic = Diagnostic {
            severity: DiagnosticSeverity::Error,
            message: String::from("`trust` is `foo`, expected one of constitution, rules"),
            span: Some(Span::new(start, start + 3)),
            help: Some(String::from("undeclared inputs are untrusted")),
        };
        assert_eq!(
            diagnostic.render("task/1.0.0.prompt", &text),
            "\
error: `trust` is `foo`, expected one of constitution, rules
  --> task/1.0.0.prompt:12:28
   |
12 |     - { name: role, trust: foo }
   |                            ^^^
   = help: undeclared inputs are untrusted
"
        );
        diagnostic.span = None;
        diagnostic.severity = DiagnosticSeverity::Warning;
        assert_eq!(
            diagnostic.render("task/1.0.0.prompt", &text),
            "\
warning: `trust` is `foo`, expected one of constitution, rules
 --> task/1.0.0.prompt
 = help: undeclared inputs are untrusted
"
        );
    }

    #[test]
    fn excerpts_are_safe_and_carets_align() {
        check("ab\n\tfoo", "foo", "error: wrong\n --> a.prompt:2:2\n  |\n2 |  foo\n  |  ^^^\n");
        check(
            "\u{202e}a\u{1b}b",
            "\u{1b}b",
            "error: wrong\n --> a.prompt:1:3\n  |\n1 | \\u{202e}a\\u{1b}b\n  |          ^^^^^^^\n",
        );
        check("é日foo\r\n", "foo", "error: wrong\n --> a.prompt:1:3\n  |\n1 | é日foo\n  |   ^^^\n");
        check("a\nb", "a\nb", "error: wrong\n --> a.prompt:1:1\n  |\n1 | a\n  | ^\n");
        check("", "", "error: wrong\n --> a.prompt:1:1\n  |\n1 |\n  | ^\n");
        check("ab\n", "\n", "error: wrong\n --> a.prompt:1:3\n  |\n1 | ab\n  |   ^\n");
    }

    #[test]
    fn long_lines_are_cut_around_the_caret() {
        let text = format!("{}foo{}", "a".repeat(100), "b".repeat(100));
        let excerpt = format!("…{}foo{}…", "a".repeat(60), "b".repeat(96));
        let caret = format!("{}^^^", " ".repeat(61));
        check(&text, "foo", &format!("error: wrong\n --> a.prompt:1:101\n  |\n1 | {excerpt}\n  | {caret}\n"));
        let text = "a".repeat(300);
        let excerpt = format!("{}…", "a".repeat(160));
        let caret = "^".repeat(161);
        check(&text, &text, &format!("error: wrong\n --> a.prompt:1:1\n  |\n1 | {excerpt}\n  | {caret}\n"));
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        for (text, offset, expected) in [
            ("", 0, (1, 1)),
            ("ab", 1, (1, 2)),
            ("ab\ncd", 3, (2, 1)),
            ("ab\ncd", 99, (2, 3)),
            ("é日x", 5, (1, 3)),
            ("é日x", 3, (1, 2)),
        ] {
            assert_eq!(line_column(text, offset), expected, "{text:?} {offset}");
        }
    }
}
