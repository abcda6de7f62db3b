//! Classes of characters that a reader doesn't see, or that change how others are seen.
//!
//! The lists follow Unicode 17. Each names the data file it comes from. Code points that Unicode reserves for later
//! default-ignorable characters are included, so a newer standard doesn't open a hole.

use unicode_normalization::char::is_combining_mark;

/// Whether the character steers the direction of text.
///
/// `Bidi_Control` in `PropList.txt` (UAX #9, section 2): marks, embeddings, overrides, isolates.
#[must_use]
pub const fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether the character has no shape of its own.
///
/// `Default_Ignorable_Code_Point` in `DerivedCoreProperties.txt` (UAX #44, section 5.1), which
/// includes bidi controls, tags, joiners and variation selectors, and the interlinear annotation
/// characters U+FFF9–U+FFFB (The Unicode Standard, section 23.8).
#[must_use]
pub const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    ) || is_variation_selector(c)
}

/// Whether the character chooses a variant of the one before it.
///
/// `Variation_Selector` in `PropList.txt`, without the Mongolian ones.
#[must_use]
pub const fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether the character is an invisible copy of an ASCII character.
///
/// The block *Tags* in `Blocks.txt`, U+E0000–U+E007F, assigned or not.
#[must_use]
pub const fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Whether the character is a control other than tab and the line ends of plain text.
///
/// General category `Cc` in `UnicodeData.txt` but U+0009, U+000A, U+000D and U+0085.
#[must_use]
pub const fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}')
}

/// Whether the code point will never be a character.
///
/// `Noncharacter_Code_Point` in `PropList.txt`: U+FDD0–U+FDEF and the last two of each plane.
#[must_use]
pub const fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || (c as u32) & 0xfffe == 0xfffe
}

/// Whether the code point has no meaning outside a private agreement.
///
/// General category `Co` in `UnicodeData.txt`: the private-use area and planes 15 and 16.
#[must_use]
pub const fn is_private_use(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
}

/// Whether the character combines with the one before it.
///
/// General category `M` in `UnicodeData.txt`.
#[must_use]
pub fn is_mark(c: char) -> bool {
    is_combining_mark(c)
}

/// Whether the character ends a line.
///
/// Classes `BK`, `CR`, `LF` and `NL` in `LineBreak.txt` (UAX #14, rules LB4 and LB5).
#[must_use]
pub const fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a screen must not get the character as it is: it would be invisible, move or colour what is around it, end
/// the line, or show whatever a private agreement says.
#[must_use]
pub const fn is_hidden(c: char) -> bool {
    is_control(c) || c == '\t' || is_line_break(c) || is_invisible(c) || is_noncharacter(c) || is_private_use(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the characters of a class, to be compared with the totals in the data files.
    fn count(class: fn(char) -> bool) -> usize {
        ('\0'..=char::MAX).filter(|c| class(*c)).count()
    }

    #[test]
    fn classes_are_as_large_as_in_the_data_files() {
        assert_eq!(count(is_bidi_control), 12);
        // 4174 default-ignorable code points and 3 interlinear annotation characters.
        assert_eq!(count(is_invisible), 4174 + 3);
        assert_eq!(count(is_variation_selector), 256);
        assert_eq!(count(is_tag), 128);
        assert_eq!(count(is_control), 65 - 4);
        assert_eq!(count(is_noncharacter), 66);
        assert_eq!(count(is_private_use), 137_468);
        assert_eq!(count(is_line_break), 7);
    }

    #[test]
    fn text_that_a_reader_sees_is_in_no_class() {
        for c in "aé日ह्ی👍🏽🇩🇪\u{301} ~".chars() {
            assert!(!is_hidden(c), "{c:?}");
        }
    }
}
