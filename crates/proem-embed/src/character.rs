//! Classes of characters as the tokeniser of BERT has them.
//!
//! Source: `BasicTokenizer` in `tokenization.py` of <https://github.com/google-research/bert>.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether the character vanishes: a control, format or private one, NUL or U+FFFD. Tab and line
/// ends don't.
pub(crate) fn is_removed(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    }
    let category = get_general_category(c);
    c == '\u{fffd}'
        || matches!(category, GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse)
}

/// Whether the character is an accent: general category `Mn`.
pub(crate) fn is_accent(c: char) -> bool {
    !c.is_ascii() && get_general_category(c) == GeneralCategory::NonspacingMark
}

/// Whether the character is a word of its own: every ASCII character that is neither letter, digit,
/// space nor control, though Unicode calls some of them symbols, and general category `P`.
pub(crate) fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    matches!(
        get_general_category(c),
        GeneralCategory::ConnectorPunctuation
            | GeneralCategory::DashPunctuation
            | GeneralCategory::OpenPunctuation
            | GeneralCategory::ClosePunctuation
            | GeneralCategory::InitialPunctuation
            | GeneralCategory::FinalPunctuation
            | GeneralCategory::OtherPunctuation
    )
}

/// Whether the character is an ideograph, which is a word of its own. Hiragana, katakana and hangul
/// are not.
pub(crate) const fn is_ideograph(c: char) -> bool {
    matches!(
        c,
        '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2ceaf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is: impl Fn(char) -> bool, yes: &str, no: &str) {
        assert_eq!(yes.chars().find(|c| !is(*c)), None);
        assert_eq!(no.chars().find(|c| is(*c)), None);
    }

    #[test]
    fn classes_are_those_of_bert() {
        check(is_punctuation, "!/:@[`{~$+<=>^|_-«»–—…“”‘’、。¿¡·§¶‽", "a0 \n\u{0}é€°©→＋🎉");
        check(
            is_removed,
            "\0\u{7}\u{b}\u{7f}\u{85}\u{ad}\u{200b}\u{feff}\u{fffd}\u{e000}\u{e0041}",
            "\t\n\r a\u{a0}\u{2028}é",
        );
        check(is_accent, "\u{300}\u{308}\u{327}\u{20d0}\u{93c}\u{fe0f}", "a`^¨\u{903}");
        check(is_ideograph, "中文𠀀豈㐀", "あアー가ㄱa、");
    }

    #[test]
    fn ascii_is_what_bert_spells_out() {
        for c in (0..0x80_u8).map(char::from) {
            let spelled = matches!(u32::from(c), 33..=47 | 58..=64 | 91..=96 | 123..=126);
            assert_eq!(is_punctuation(c), spelled, "{c:?}");
        }
    }
}
