//! Cleans a source before it is read, and says what was changed and where.
//!
//! Models write curly quotes, and texts that went through other programs carry characters that nobody
//! sees. Only what can't be meant is changed: inside strings a curly quote stays.

use alloc::{format, string::String, vec::Vec};
use proem_text::{
    Diagnostic, DiagnosticSeverity, OffsetMap, Span,
    character::{is_bidi_control, is_invisible},
};

/// A source that can be read, and how it differs from what was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanSource {
    /// The source to be read. Spans of problems refer to it.
    pub text: String,
    /// Leads from places in it to places in what was given.
    pub map: OffsetMap,
    /// One warning for each kind of change, at the first place in what was given.
    pub changes: Vec<Diagnostic>,
}

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    ByteOrderMark,
    CurlyQuote,
    Invisible,
    Space,
    LineBreak,
}

impl Change {
    const ALL: [Self; 5] = [Self::ByteOrderMark, Self::CurlyQuote, Self::Invisible, Self::Space, Self::LineBreak];

    const fn phrase(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "the byte-order mark was taken out",
            Self::CurlyQuote => "curly quotes were made straight",
            Self::Invisible => "invisible characters were taken out",
            Self::Space => "unusual spaces were made plain",
            Self::LineBreak => "unusual line breaks were made plain",
        }
    }
}

/// Cleans a source.
#[must_use]
pub fn sanitise_source(source: &str) -> CleanSource {
    let mut cleaning = Cleaning { text: String::new(), map: OffsetMap::new(), is_curly_text: false, found: Vec::new() };
    // The meaning of a character depends on whether it is in a string or a comment.
    let mut context = SourceContext::Code;
    let mut is_escaped = false;
    for (at, c) in source.char_indices() {
        let span = Span::new(at, at.saturating_add(c.len_utf8()));
        let kept = cleaning.take(c, span, context);
        context = match (context, kept) {
            (SourceContext::Code, Some('"')) if !is_escaped => SourceContext::Text,
            (SourceContext::Code, Some(';')) if !is_escaped => SourceContext::Comment,
            (SourceContext::Text, Some('"')) if !is_escaped => SourceContext::Code,
            (SourceContext::Comment, Some('\n')) => SourceContext::Code,
            (context, _) => context,
        };
        if kept.is_some() {
            is_escaped = kept == Some('\\') && !is_escaped && context != SourceContext::Comment;
        }
    }
    let changes = Change::ALL.iter().filter_map(|kind| cleaning.warning(*kind)).collect();
    CleanSource { text: cleaning.text, map: cleaning.map, changes }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceContext {
    Code,
    Text,
    Comment,
}

struct Cleaning {
    text: String,
    map: OffsetMap,
    /// Whether a curly quote opened the string at hand.
    is_curly_text: bool,
    found: Vec<(Change, Span)>,
}

impl Cleaning {
    /// Appends what represents a character. `None` if nothing does.
    fn take(&mut self, c: char, span: Span, context: SourceContext) -> Option<char> {
        let (change, kept) = match c {
            '\u{feff}' if span.start == 0 => (Some(Change::ByteOrderMark), None),
            '“' | '”' | '„' | '‟' | '«' | '»' if context == SourceContext::Code => {
                (Some(Change::CurlyQuote), Some('"'))
            }
            // A string that a curly quote opened is closed by one.
            '”' | '“' if context == SourceContext::Text && self.is_curly_text => {
                (Some(Change::CurlyQuote), Some('"'))
            }
            '‘' | '’' | '′' if context == SourceContext::Code => (Some(Change::CurlyQuote), Some('\'')),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
                if context == SourceContext::Code =>
            {
                (Some(Change::Space), Some(' '))
            }
            '\u{85}' | '\u{2028}' | '\u{2029}' if context != SourceContext::Text => {
                (Some(Change::LineBreak), Some('\n'))
            }
            // Joiners belong to words and emoji in texts.
            '\u{200c}' | '\u{200d}' | '\u{fe0f}' if context == SourceContext::Text => (None, Some(c)),
            c if is_bidi_control(c) || is_invisible(c) => (Some(Change::Invisible), None),
            c => (None, Some(c)),
        };
        if context == SourceContext::Code && kept == Some('"') {
            self.is_curly_text = c != '"';
        }
        if let Some(change) = change {
            self.found.push((change, span));
        }
        match kept {
            Some(kept) if kept == c => self.map.push_verbatim(span),
            Some(kept) => self.map.push(kept.len_utf8(), span),
            None => {}
        }
        self.text.extend(kept);
        kept
    }

    fn warning(&self, kind: Change) -> Option<Diagnostic> {
        let mut places = self.found.iter().filter(|(change, _)| *change == kind).map(|(_, span)| *span);
        let first = places.next()?;
        let more = places.count();
        let phrase = kind.phrase();
        let message =
            if more == 0 { String::from(phrase) } else { format!("{phrase}, {} times", more.saturating_add(1)) };
        Some(Diagnostic { severity: DiagnosticSeverity::Warning, message, span: Some(first), help: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str, changes: &[&str]) {
        let clean = sanitise_source(source);
        assert_eq!(clean.text, expected, "{source:?}");
        let messages: Vec<&str> = clean.changes.iter().map(|change| change.message.as_str()).collect();
        assert_eq!(messages, changes, "{source:?}");
        assert_eq!(sanitise_source(&clean.text).text, clean.text, "{source:?}");
    }

    #[test]
    fn what_cannot_be_meant_is_cleaned() {
        check("(+ 1 2)", "(+ 1 2)", &[]);
        check("\u{feff}(+ 1 2)", "(+ 1 2)", &["the byte-order mark was taken out"]);
        check("(str “a” ‘b)", "(str \"a\" 'b)", &["curly quotes were made straight, 3 times"]);
        check("(+ 1\u{a0}2)", "(+ 1 2)", &["unusual spaces were made plain"]);
        check("(+\u{200b} 1 2)\u{202e}", "(+ 1 2)", &["invisible characters were taken out, 2 times"]);
        check("; a\u{2028}1", "; a\n1", &["unusual line breaks were made plain"]);
    }

    #[test]
    fn texts_keep_what_they_say() {
        check("\"“quoted” \u{a0} 👩\u{200d}💻\"", "\"“quoted” \u{a0} 👩\u{200d}💻\"", &[]);
        check("\"a \\\" “b”\" “c”", "\"a \\\" “b”\" \"c\"", &["curly quotes were made straight, 2 times"]);
        check("“say ‘hi’”", "\"say ‘hi’\"", &["curly quotes were made straight, 2 times"]);
        check("\"a\u{202e}b\"", "\"ab\"", &["invisible characters were taken out"]);
    }

    #[test]
    fn places_lead_back() {
        let clean = sanitise_source("\u{feff}(str “é” x)");
        let at = clean.text.find('x').unwrap();
        let original = clean.map.original(Span::new(at, at + 1));
        assert_eq!("\u{feff}(str “é” x)".get(original.start..original.end), Some("x"));
    }
}
