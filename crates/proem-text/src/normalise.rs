//! One spelling for matching. It is never shown or sent, and always mapped back.

use crate::span::{OffsetMap, Span};
use alloc::string::String;
use unicode_normalization::{
    IsNormalized, UnicodeNormalization,
    char::{canonical_combining_class, decompose_compatible},
    is_nfc_quick,
};

/// A text derived from another, with the way back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// The derived text.
    pub text: String,
    /// Maps its offsets to the original.
    pub map: OffsetMap,
}

/// The text in NFKC (UAX #15) with each run of whitespace folded into one space.
///
/// Idempotent: the normal form of a normal form is itself.
#[must_use]
pub fn normalise_text(text: &str) -> View {
    let mut folding = NormalisedViewBuilder::default();
    let mut offset = 0;
    for chunk in chunks(text) {
        let span = Span::new(offset, offset.saturating_add(chunk.len()));
        offset = span.end;
        if chunk.bytes().all(|byte| byte.is_ascii_graphic()) || chunk.chars().nfkc().eq(chunk.chars()) {
            folding.copy(chunk, span);
        } else {
            for c in chunk.chars().nfkc() {
                folding.replace(c, span);
            }
        }
    }
    folding.finish()
}

/// The text without accents: combining diacritical marks (U+0300 to U+036F) are dropped after
/// canonical decomposition, everything else stays, and what remains is composed (NFC) again.
///
/// Marks of other scripts carry meaning and are kept.
#[must_use]
pub fn without_accents(text: &str) -> String {
    text.nfd().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).nfc().collect()
}

/// Cuts the text where normalising the pieces one by one equals normalising the whole.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let mut chars = rest.char_indices();
        chars.next()?;
        let end = chars.find(|(_, c)| starts_chunk(*c)).map_or(rest.len(), |(at, _)| at);
        let (chunk, tail) = rest.split_at_checked(end)?;
        rest = tail;
        Some(chunk)
    })
}

/// Whether nothing before `c` can reorder or compose with it: its decomposition starts with a
/// starter that never is the second of a composition (UAX #15, section 9.1).
fn starts_chunk(c: char) -> bool {
    if c.is_ascii() {
        return true;
    }
    let mut first = None;
    decompose_compatible(c, |part| first = first.or(Some(part)));
    first.is_none_or(|first| {
        canonical_combining_class(first) == 0 && is_nfc_quick(core::iter::once(first)) == IsNormalized::Yes
    })
}

/// The view so far, and the run of whitespace that waits for its end.
#[derive(Default)]
struct NormalisedViewBuilder {
    view: View,
    space: Option<Span>,
}

impl NormalisedViewBuilder {
    /// Appends a chunk that is in NFKC already.
    fn copy(&mut self, chunk: &str, span: Span) {
        let mut start = span.start;
        for c in chunk.chars() {
            let original = Span::new(start, start.saturating_add(c.len_utf8()));
            start = original.end;
            if self.waits(c, original) {
                continue;
            }
            self.view.text.push(c);
            self.view.map.push_verbatim(original);
        }
    }

    /// Appends one character of what represents `original`.
    fn replace(&mut self, c: char, original: Span) {
        if !self.waits(c, original) {
            self.view.text.push(c);
            self.view.map.push(c.len_utf8(), original);
        }
    }

    /// Takes whitespace into the waiting run; for anything else writes the run first.
    fn waits(&mut self, c: char, original: Span) -> bool {
        if c.is_whitespace() {
            let start = self.space.map_or(original.start, |space| space.start);
            self.space = Some(Span::new(start, original.end));
            return true;
        }
        self.write_space();
        false
    }

    fn write_space(&mut self) {
        if let Some(space) = self.space.take() {
            self.view.text.push(' ');
            self.view.map.push(1, space);
        }
    }

    fn finish(mut self) -> View {
        self.write_space();
        self.view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_go_and_other_marks_stay() {
        for (text, expected) in [
            ("ação", "acao"),
            ("Übersetzung", "Ubersetzung"),
            ("naïve e\u{301}", "naive e"),
            ("हिन्दी", "हिन्दी"),
            ("한국", "한국"),
            ("ёж й", "еж и"),
        ] {
            assert_eq!(without_accents(text), expected);
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(normalise_text(text).text, expected, "{text:?}");
    }

    #[test]
    fn one_spelling() {
        check("", "");
        check("plain text", "plain text");
        check("a \t\r\n\u{a0}\u{2003}b", "a b");
        check("  a  ", " a ");
        check("cafe\u{301}", "caf\u{e9}");
        check("ＡＢＣ１２３", "ABC123");
        check("ﬁne", "fine");
        check("\u{1100}\u{1161}\u{11a8}", "각");
        check("\u{ff76}\u{ff9e}", "ガ");
        check("q\u{307}\u{323}", "q\u{323}\u{307}");
    }

    #[track_caller]
    fn check_original(text: &str, found: &str, expected: &str) {
        let view = normalise_text(text);
        let start = view.text.find(found).unwrap();
        let span = view.map.original(Span::new(start, start + found.len()));
        assert_eq!(text.get(span.start..span.end), Some(expected), "{found:?} in {text:?}");
    }

    #[test]
    fn a_match_leads_back_to_what_it_was_made_of() {
        check_original("say  ｉｇｎｏｒｅ \n previous", "ignore previous", "ｉｇｎｏｒｅ \n previous");
        check_original("ab ﬁ cd", "f", "ﬁ");
        check_original("ab ﬁ cd", "i c", "ﬁ c");
        check_original("a  b", " ", "  ");
        check_original("xe\u{301}y", "\u{e9}", "e\u{301}");
        check_original("ＡＢＣ", "B", "Ｂ");
    }
}
