//! One spelling for matching.

use alloc::{string::String, vec, vec::Vec};
use proem_text::{Span, View, character};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization,
    char::{canonical_combining_class, decompose_compatible},
    is_nfc_quick,
};

/// The text in one spelling: NFKC, lower case, without the accents and strokes of Latin letters, with ASCII quotes and
/// dashes. A run of whitespace is one space, one line break if it holds one, two if it holds more. The map leads to
/// `text`.
///
/// Idempotent. Marks of other scripts than U+0300 to U+036F carry meaning and are kept.
#[must_use]
pub fn folded_view(text: &str) -> View {
    let mut folding = FoldedViewBuilder::new(text);
    let mut at = 0usize;
    while let Some(byte) = text.as_bytes().get(at) {
        at = match byte_class(*byte) {
            ByteClass::Plain => folding.plain(at),
            ByteClass::Upper => folding.upper(at),
            ByteClass::Space => {
                let end = at.saturating_add(1);
                folding.wait(char::from(*byte), Span::new(at, end));
                end
            }
            ByteClass::Beyond => folding.beyond(at),
        };
    }
    folding.write_space();
    folding.view
}

/// The class of a byte of UTF-8.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    /// An ASCII character that stays.
    Plain,
    Upper,
    Space,
    /// A part of a character beyond ASCII.
    Beyond,
}

const fn byte_class(byte: u8) -> ByteClass {
    match byte {
        b'A'..=b'Z' => ByteClass::Upper,
        b'\t'..=b'\r' | b' ' => ByteClass::Space,
        0x80.. => ByteClass::Beyond,
        _ => ByteClass::Plain,
    }
}

/// A run of whitespace that waits for its end.
#[derive(Clone, Copy)]
struct Space {
    span: Span,
    breaks: usize,
    after_return: bool,
}

/// The fate of a character that no neighbour changes.
#[derive(Clone, Copy)]
struct Fate {
    c: char,
    /// Whether nothing before it can reorder or compose with it.
    starts: bool,
    /// The one character that represents it, if it is one and no whitespace.
    becomes: Option<char>,
}

/// How many fates are remembered: an alphabet is smaller.
const FATES: usize = 256;

struct FoldedViewBuilder<'a> {
    text: &'a str,
    view: View,
    space: Option<Space>,
    /// By the lowest bits of the character. Empty until one beyond ASCII is met.
    fates: Vec<Fate>,
}

impl<'a> FoldedViewBuilder<'a> {
    fn new(text: &'a str) -> Self {
        let mut view = View::default();
        view.text.reserve(text.len());
        Self { text, view, space: None, fates: Vec::new() }
    }

    /// Copies what stays, with single spaces and line breaks between. Gives the end.
    fn plain(&mut self, at: usize) -> usize {
        self.write_space();
        let bytes = self.text.as_bytes();
        let is_plain = |at: usize| bytes.get(at).is_some_and(|byte| byte_class(*byte) == ByteClass::Plain);
        let mut end = at;
        while let Some(byte) = bytes.get(end) {
            let next = end.saturating_add(1);
            if byte_class(*byte) != ByteClass::Plain && !(matches!(byte, b' ' | b'\n') && is_plain(next)) {
                break;
            }
            end = next;
        }
        self.copy(Span::new(at, end));
        end
    }

    /// Writes a run of capitals as one piece, so that a map doesn't grow by one for each of them.
    fn upper(&mut self, at: usize) -> usize {
        self.write_space();
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        let run = rest.iter().take_while(|byte| byte.is_ascii_uppercase());
        let mut length = 0usize;
        for byte in run {
            self.view.text.push(char::from(byte.to_ascii_lowercase()));
            length = length.saturating_add(1);
        }
        let end = at.saturating_add(length);
        self.view.map.push(length, Span::new(at, end));
        end
    }

    /// Folds the characters from the one at `at`, which is beyond ASCII, to the next that nothing
    /// before it changes.
    ///
    /// No mark that stays composes with an ASCII letter, so those never belong to what follows.
    fn beyond(&mut self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let mut chars = rest.char_indices();
        let Some((_, first)) = chars.next() else { return self.text.len() };
        let length = chars.find(|(_, c)| c.is_ascii() || self.fate(*c).starts).map_or(rest.len(), |(length, _)| length);
        let span = Span::new(at, at.saturating_add(length));
        match self.fate(first).becomes.filter(|_| length == first.len_utf8()) {
            Some(c) if c == first => {
                self.write_space();
                self.copy(span);
            }
            Some(c) => self.replace(c, span),
            None => {
                for c in fold_until_settled(rest.get(..length).unwrap_or_default()).chars() {
                    if c.is_whitespace() {
                        self.wait(c, span);
                    } else {
                        self.replace(c, span);
                    }
                }
            }
        }
        span.end
    }

    fn fate(&mut self, c: char) -> Fate {
        if is_settled(c) {
            return Fate { c, starts: true, becomes: Some(c) };
        }
        if self.fates.is_empty() {
            self.fates = vec![Fate { c: '\0', starts: true, becomes: Some('\0') }; FATES];
        }
        let Some(known) = usize::try_from(u32::from(c)).ok().and_then(|code| self.fates.get_mut(code % FATES)) else {
            return fate(c);
        };
        if known.c != c {
            *known = fate(c);
        }
        *known
    }

    fn copy(&mut self, span: Span) {
        self.view.text.push_str(self.text.get(span.start..span.end).unwrap_or_default());
        self.view.map.push_verbatim(span);
    }

    fn replace(&mut self, c: char, span: Span) {
        self.write_space();
        self.view.text.push(c);
        self.view.map.push(c.len_utf8(), span);
    }

    /// Takes a character of whitespace into the run that waits.
    fn wait(&mut self, c: char, span: Span) {
        let space = self.space.get_or_insert(Space { span, breaks: 0, after_return: false });
        space.span.end = span.end;
        if character::is_line_break(c) && !(c == '\n' && space.after_return) {
            space.breaks = space.breaks.saturating_add(1);
        }
        space.after_return = c == '\r';
    }

    fn write_space(&mut self) {
        let Some(Space { span, breaks, .. }) = self.space.take() else { return };
        let written = match breaks {
            0 => " ",
            1 => "\n",
            _ => "\n\n",
        };
        if self.text.get(span.start..span.end) == Some(written) {
            self.copy(span);
        } else {
            self.view.text.push_str(written);
            self.view.map.push(written.len(), span);
        }
    }
}

/// Whether the character is one of the frequent ones that are known to stay: CJK ideographs, kana
/// and Hangul syllables. Others are looked up.
const fn is_settled(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{ac00}'..='\u{d7a3}')
}

fn fate(c: char) -> Fate {
    let folded = fold_until_settled(c.encode_utf8(&mut [0; 4]));
    let mut chars = folded.chars();
    let becomes = chars.next().filter(|first| !first.is_whitespace() && chars.next().is_none());
    Fate { c, starts: starts_composition(c), becomes }
}

/// Whether nothing before `c` can reorder or compose with it: its decomposition starts with a
/// starter that never is the second of a composition (UAX #15, section 9.1).
fn starts_composition(c: char) -> bool {
    let mut first = None;
    decompose_compatible(c, |part| first = first.or(Some(part)));
    first.is_none_or(|first| {
        canonical_combining_class(first) == 0 && is_nfc_quick(core::iter::once(first)) == IsNormalized::Yes
    })
}

/// Folds until nothing changes, which two rounds reach for all but a few characters.
fn fold_until_settled(text: &str) -> String {
    let mut last = fold_once(text);
    for _ in 0..3 {
        let next = fold_once(&last);
        if next == last {
            break;
        }
        last = next;
    }
    last
}

fn fold_once(text: &str) -> String {
    let lower = text.nfkc().flat_map(char::to_lowercase).map(plain_sign);
    lower.nfd().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).nfc().collect()
}

/// The ASCII character for a typographic quote, a dash or a Latin letter with a stroke.
const fn plain_sign(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' | '\u{2039}' | '\u{203a}' | '\u{2bc}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{301d}'..='\u{301f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        'ı' => 'i',
        'ø' => 'o',
        'ł' => 'l',
        'đ' => 'd',
        'ħ' => 'h',
        'ŧ' => 't',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let view = folded_view(text);
        assert_eq!(view.text, expected, "{text:?}");
        assert_eq!(view.map.view_len(), view.text.len(), "{text:?}");
        assert_eq!(folded_view(expected).text, expected, "{text:?} twice");
    }

    #[test]
    fn one_spelling() {
        for (text, expected) in [
            ("", ""),
            ("plain text, 1 + 1", "plain text, 1 + 1"),
            ("Ignore ALL Previous", "ignore all previous"),
            ("ＩＧＮＯＲＥ 𝐢𝐠𝐧𝐨𝐫𝐞 ⓘⓖⓝⓞⓡⓔ", "ignore ignore ignore"),
            ("Übersetzung ação cafe\u{301} Đường", "ubersetzung acao cafe duong"),
            ("DIKKAT: Sınır İzmir", "dikkat: sinir izmir"),
            ("Straße Łódź smørrebrød", "straße lodz smorrebrod"),
            ("ИГНОРИРУЙ Ёжик", "игнорируи ежик"),
            ("ΑΓΝΌΗΣΕ", "αγνοησε"),
            ("“quoted” ‘it’s’ «x» — – ‐ −", "\"quoted\" 'it's' \"x\" - - - -"),
            ("指示を無視して ｶﾞｷﾞ", "指示を無視して ガギ"),
            ("हिन्दी ज़ 한국어 각", "हिन्दी ज\u{93c} 한국어 각"),
            ("x\u{2260}y …", "x=y ..."),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn whitespace_is_one_space_or_one_or_two_line_breaks() {
        for (text, expected) in [
            ("a  \t b", "a b"),
            (" a\u{a0}\u{2003}b ", " a b "),
            ("a\r\nb \n c", "a\nb\nc"),
            ("a\r\n\r\nb\n \n\n c", "a\n\nb\n\nc"),
            ("a\u{2028}b\u{85}c\u{b}d\r\re", "a\nb\nc\nd\n\ne"),
            ("a\u{b4}b A \n", "a b a\n"),
        ] {
            check(text, expected);
        }
    }

    #[track_caller]
    fn check_place(text: &str, found: &str, expected: &str) {
        let view = folded_view(text);
        let start = view.text.find(found).unwrap();
        let span = view.map.original(Span::new(start, start.saturating_add(found.len())));
        assert_eq!(text.get(span.start..span.end), Some(expected), "{found:?} in {text:?}");
    }

    #[test]
    fn a_match_leads_back_to_what_it_was_made_of() {
        check_place("say  Ｉｇｎｏｒｅ \n Previous!", "ignore\nprevious", "Ｉｇｎｏｒｅ \n Previous");
        check_place("ab ﬁ cd", "i c", "ﬁ c");
        check_place("xe\u{301}y ALL", "y all", "y ALL");
        check_place("Ünïcode", "ni", "nï");
        check_place("a\r\nb", "\n", "\r\n");
    }
}
