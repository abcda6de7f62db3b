//! How strongly a part is kept apart from the words around it.

use crate::{verdict::Verdict, view::CleanView};
use alloc::string::String;
use proem_text::{OffsetMap, Span, View, base64::encode_base64, character};

/// How a part from outside is written between the delimiters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContainmentMode {
    /// As it is, but for what is neutralised everywhere.
    #[default]
    Delimit,
    /// To the letter of its clean view: headings, roles and tags are as they were written, for whoever has the text
    /// translated, corrected or summed up. Only what imitates the delimiters is cut out.
    Exact,
    /// With a sign before each line and instead of each space, so that no line and no word is where ours are. Models
    /// follow instructions in such a text far less often (Hines et al., *Defending Against Indirect Prompt Injection
    /// Attacks With Spotlighting*, 2024, section 3.2).
    Datamark,
    /// In Base64 (RFC 4648, section 4): nothing in it reads as words (ibid., section 3.3).
    Encode,
}

impl ContainmentMode {
    /// The mode for a text with this verdict: the worse, the stronger. Blocked text isn't written at all, and
    /// quarantined text only for a reviewer.
    #[must_use]
    pub const fn of(verdict: Verdict) -> Option<Self> {
        match verdict {
            Verdict::Allow => Some(Self::Delimit),
            Verdict::Flag => Some(Self::Datamark),
            Verdict::Quarantine => Some(Self::Encode),
            Verdict::Block => None,
        }
    }
}

/// The signs that mark data, in the order tried. All are visible, rare in prose and two bytes long.
pub(super) const MARKS: [char; 10] = ['ˆ', '¤', '¦', '¬', '¶', '·', '¯', '°', '÷', '§'];

/// The first sign that occurs in none of the texts. `None` if somebody used them all: such a text
/// is encoded instead.
pub(super) fn free_mark(texts: &[&str]) -> Option<char> {
    MARKS.into_iter().find(|mark| !texts.iter().any(|text| text.contains(*mark)))
}

/// The view with `mark` at the start of each line and instead of each space or tab.
pub(super) fn datamark_view(view: &CleanView, mark: char) -> View {
    let mut marked = View { text: String::with_capacity(view.text.len()), map: OffsetMap::new() };
    let mut starts_line = true;
    let mut before = None;
    for (at, c) in view.text.char_indices() {
        let span = Span::new(at, at.saturating_add(c.len_utf8()));
        // CR LF is one line break (UAX #14, LB5).
        if starts_line && !(c == '\n' && before == Some('\r')) {
            marked.text.push(mark);
            marked.map.push(mark.len_utf8(), Span::new(at, at));
        }
        let is_break = character::is_line_break(c);
        if c.is_whitespace() && !is_break {
            marked.text.push(mark);
            marked.map.push(mark.len_utf8(), span);
        } else {
            marked.text.push(c);
            marked.map.push_verbatim(span);
        }
        starts_line = is_break;
        before = Some(c);
    }
    View { map: marked.map.then(&view.map), ..marked }
}

pub(super) fn base64_view(view: &CleanView, original: usize) -> View {
    let mut map = OffsetMap::new();
    let text = encode_base64(view.text.as_bytes());
    map.push(text.len(), Span::new(0, original));
    View { text, map }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::clean_view;

    #[test]
    fn marks_stand_before_lines_and_between_words() {
        for (text, expected) in [
            ("", ""),
            ("one", "¤one"),
            ("one two\tthree", "¤one¤two¤three"),
            ("one\n\n  two\r\nthree", "¤one\n¤\n¤¤¤two\r\n¤three"),
            ("a\u{200b}b\u{3000}c", "¤ab¤c"),
        ] {
            let marked = datamark_view(&clean_view(text), '¤');
            assert_eq!(marked.text, expected, "{text:?}");
            for (copy, original) in marked.map.copies() {
                assert_eq!(marked.text.get(copy.start..copy.end), text.get(original.start..original.end));
            }
        }
    }

    #[test]
    fn a_mark_never_occurs_in_the_text() {
        assert_eq!(free_mark(&["plain"]), Some('ˆ'));
        assert_eq!(free_mark(&["a ˆ", "b ¤"]), Some('¦'));
        let all: String = MARKS.iter().collect();
        assert_eq!(free_mark(&[&all]), None);
    }
}
