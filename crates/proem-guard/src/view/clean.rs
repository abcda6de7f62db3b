//! The text that a model reads instead of the original: the same without hidden characters.
//!
//! Invariants: what is kept is copied unchanged and maps back exactly, nothing is added, what was
//! taken out is listed, and cleaning a clean text changes nothing.
//!
//! Line breaks, tabs, indentation, every script and every diacritic stay. An invisible character
//! stays only where writing needs it: one joiner between letters of a script that has joined
//! forms, one between emoji, one variation selector on an emoji or an ideograph. Whether it is
//! needed depends on the *kept* neighbours, so a run of them can't carry a message.

use super::emoji::{KEYCAP, is_emoji, is_keycap_base};
use crate::finding::FindingKind;
use alloc::{string::String, vec::Vec};
use proem_text::{OffsetMap, Span, character};
use unicode_script::{Script, UnicodeScript};

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
/// Variation selector 15: the text form of an emoji.
const TEXT_STYLE: char = '\u{fe0e}';
/// Variation selector 16: the emoji form of a character.
const EMOJI_STYLE: char = '\u{fe0f}';

/// The scripts whose letters change shape next to each other, so that joiners mean something:
/// those with `Joining_Type` in `ArabicShaping.txt`, and those whose virama forms conjuncts
/// (The Unicode Standard, chapters 9, 12–16 and 23.2).
const JOINING_SCRIPTS: [Script; 37] = [
    Script::Arabic,
    Script::Syriac,
    Script::Mongolian,
    Script::Nko,
    Script::Mandaic,
    Script::Phags_Pa,
    Script::Manichaean,
    Script::Psalter_Pahlavi,
    Script::Hanifi_Rohingya,
    Script::Sogdian,
    Script::Chorasmian,
    Script::Old_Uyghur,
    Script::Adlam,
    Script::Devanagari,
    Script::Bengali,
    Script::Gurmukhi,
    Script::Gujarati,
    Script::Oriya,
    Script::Tamil,
    Script::Telugu,
    Script::Kannada,
    Script::Malayalam,
    Script::Sinhala,
    Script::Myanmar,
    Script::Khmer,
    Script::Tibetan,
    Script::Balinese,
    Script::Javanese,
    Script::Sundanese,
    Script::Meetei_Mayek,
    Script::Newa,
    Script::Tirhuta,
    Script::Modi,
    Script::Sharada,
    Script::Grantha,
    Script::Brahmi,
    Script::Chakma,
];

/// A text without hidden characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanView {
    /// The rest.
    pub text: String,
    /// Maps its offsets to the original.
    pub map: OffsetMap,
    /// The removed parts, in order, in bytes of the original. Neighbours of a kind are one entry.
    pub removed: Vec<(FindingKind, Span)>,
}

/// The clean view of a text.
#[must_use]
pub fn clean_view(text: &str) -> CleanView {
    let mut view = CleanView::default();
    let mut last_kept = None;
    // Looks ahead for the next plain character. Moved on only where one is asked for.
    let mut plain = text.char_indices().filter(|(_, c)| hidden_kind(*c).is_none()).peekable();
    let mut at = 0usize;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let plain_end = plain_prefix(rest);
        if let Some(run) = rest.get(..plain_end).filter(|run| !run.is_empty()) {
            let end = at.saturating_add(plain_end);
            view.text.push_str(run);
            view.map.push_verbatim(Span::new(at, end));
            last_kept = run.chars().next_back();
            at = end;
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        let span = Span::new(at, at.saturating_add(c.len_utf8()));
        let kind = hidden_kind(c).filter(|_| {
            while plain.next_if(|(place, _)| *place <= at).is_some() {}
            !is_needed(last_kept, c, plain.peek().map(|(_, c)| *c))
        });
        match kind {
            Some(kind) => view.remove(kind, span),
            None => {
                view.text.push(c);
                view.map.push_verbatim(span);
                last_kept = Some(c);
            }
        }
        at = span.end;
    }
    view
}

/// The length of the start of the text in which nothing is hidden.
fn plain_prefix(text: &str) -> usize {
    let mut at = 0usize;
    while let Some(rest) = text.get(at..) {
        at = at.saturating_add(rest.bytes().take_while(|byte| is_plain_ascii(*byte)).count());
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { return at };
        if hidden_kind(c).is_some() {
            return at;
        }
        at = at.saturating_add(c.len_utf8());
    }
    at
}

/// Whether the byte is a visible ASCII character, a space, a tab or a line break: most of any text.
const fn is_plain_ascii(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

impl CleanView {
    fn remove(&mut self, kind: FindingKind, span: Span) {
        match self.removed.last_mut() {
            Some((last, place)) if *last == kind && place.end == span.start => place.end = span.end,
            _ => self.removed.push((kind, span)),
        }
    }
}

/// The kind of a hidden character in reports. `None` for one that a reader sees.
const fn hidden_kind(c: char) -> Option<FindingKind> {
    if matches!(c, ' '..='~' | '\t' | '\n' | '\r') {
        None
    } else if character::is_tag(c) {
        Some(FindingKind::Tag)
    } else if character::is_bidi_control(c) {
        Some(FindingKind::BidiControl)
    } else if character::is_invisible(c) {
        Some(FindingKind::Invisible)
    } else if character::is_control(c) || character::is_noncharacter(c) {
        Some(FindingKind::Control)
    } else {
        None
    }
}

/// Whether writing needs the hidden character `c` after the last kept and before the next plain
/// character.
fn is_needed(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match c {
        ZERO_WIDTH_NON_JOINER => after.is_some_and(|after| can_join(before, after)),
        ZERO_WIDTH_JOINER => after.is_some_and(|after| {
            can_join(before, after) || (is_emoji(after) && (is_emoji(before) || before == EMOJI_STYLE))
        }),
        TEXT_STYLE | EMOJI_STYLE => is_emoji(before) || (is_keycap_base(before) && after == Some(KEYCAP)),
        // Ideographic variation sequences (UTS #37).
        '\u{e0100}'..='\u{e01ef}' => before.script() == Script::Han && before.is_alphabetic(),
        _ => false,
    }
}

/// Whether both are letters, or marks on letters, of the same joining script.
fn can_join(before: char, after: char) -> bool {
    let is_part_of_word = |c: char| c.is_alphabetic() || character::is_mark(c);
    if !is_part_of_word(before) || !is_part_of_word(after) {
        return false;
    }
    let (before, after) = (before.script_extension(), after.script_extension());
    // Characters of all scripts would count as Arabic too.
    let is_of_any = before.is_common() || before.is_inherited() || after.is_common() || after.is_inherited();
    let both = before.intersection(after);
    !is_of_any && JOINING_SCRIPTS.iter().any(|script| both.contains_script(*script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, removed: &[FindingKind]) {
        let view = clean_view(text);
        assert_eq!(view.text, expected, "{text:?}");
        assert_eq!(view.removed.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), removed, "{text:?}");
    }

    #[test]
    fn writing_stays() {
        for text in [
            "",
            "plain\n\ttext\r\n  indented\u{85}\u{2028}\u{2029}",
            "cafe\u{301} Zürich naïve",
            "👨\u{200d}👩\u{200d}👧\u{200d}👦",
            "👩🏽\u{200d}🚒 👍🏿",
            "❤\u{fe0f}\u{200d}🔥 ☁\u{fe0e}",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
            "🇩🇪🇫🇷",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष र\u{94d}\u{200c}य",
            "র\u{200d}\u{9cd}য",
            "葛\u{e0100}城",
            "日本語 한국어 עברית العربية ไทย",
            "private \u{e000}",
        ] {
            check(text, text, &[]);
        }
    }

    #[test]
    fn hidden_characters_go() {
        use FindingKind::{BidiControl, Control, Invisible, Tag};
        check("ig\u{200b}no\u{2060}re\u{feff}", "ignore", &[Invisible, Invisible, Invisible]);
        check("soft\u{ad}ly \u{34f}\u{3164}\u{ffa0}", "softly ", &[Invisible, Invisible]);
        check("hi\u{e0068}\u{e0069}\u{e007f}!", "hi!", &[Tag]);
        check("invoice\u{202e}fdp.exe", "invoicefdp.exe", &[BidiControl]);
        check("a\u{2066}b\u{2069}", "ab", &[BidiControl, BidiControl]);
        check("\u{1b}[31mred\0\u{7f}\u{9b}", "[31mred", &[Control, Control]);
        check("\u{fdd0}x\u{ffff}", "x", &[Control, Control]);
        check("a\u{200b}\u{202e}b", "ab", &[Invisible, BidiControl]);
    }

    #[test]
    fn invisible_characters_go_where_no_writing_needs_them() {
        use FindingKind::{Invisible, Tag};
        check("👍\u{fe0f}\u{fe00}\u{fe0f}\u{e0101}\u{e0102}", "👍\u{fe0f}", &[Invisible]);
        check("👍\u{e0101}\u{fe0f}\u{fe0f}", "👍\u{fe0f}", &[Invisible, Invisible]);
        check("葛\u{e0100}\u{e0101}", "葛\u{e0100}", &[Invisible]);
        check("a\u{fe0f}b\u{200d}c\u{200c}d", "abcd", &[Invisible, Invisible, Invisible]);
        check("1\u{fe0f}2\u{fe0f}", "12", &[Invisible, Invisible]);
        check("می\u{200c}\u{200c}\u{200d}خ", "می\u{200c}خ", &[Invisible]);
        check("می\u{200c} خ", "می خ", &[Invisible]);
        check("\u{200d}क", "क", &[Invisible]);
        check("م\u{200c}क", "مक", &[Invisible]);
        check("👨\u{200d}\u{200d}👩", "👨\u{200d}👩", &[Invisible]);
        check("👨\u{200d}x", "👨x", &[Invisible]);
        check("🏴\u{e0067}\u{e0062}\u{e007f}", "🏴", &[Tag]);
    }

    #[test]
    fn offsets_lead_back() {
        let view = clean_view("a\u{202e}b\u{200b}c");
        assert_eq!(
            view.removed,
            [(FindingKind::BidiControl, Span::new(1, 4)), (FindingKind::Invisible, Span::new(5, 8))]
        );
        assert_eq!(view.map.original(Span::new(1, 2)), Span::new(4, 5));
        assert_eq!(view.map.original(Span::new(0, 3)), Span::new(0, 9));
    }
}
