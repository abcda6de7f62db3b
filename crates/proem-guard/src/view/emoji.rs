//! The characters that may be in an emoji sequence.

/// Whether the character is an emoji, or one that becomes an emoji with a variation selector.
///
/// `Extended_Pictographic` and `Emoji_Modifier` in `emoji-data.txt`, Unicode 16 (UTS #51, section 1.4). Digits, `#` and
/// `*` are emoji by that file too. They count as [`is_keycap_base`] only.
pub(crate) const fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{2199}'
        | '\u{21a9}'..='\u{21aa}' | '\u{231a}'..='\u{231b}' | '\u{2328}' | '\u{2388}' | '\u{23cf}'
        | '\u{23e9}'..='\u{23f3}' | '\u{23f8}'..='\u{23fa}' | '\u{24c2}' | '\u{25aa}'..='\u{25ab}' | '\u{25b6}'
        | '\u{25c0}' | '\u{25fb}'..='\u{25fe}' | '\u{2600}'..='\u{2605}' | '\u{2607}'..='\u{2612}'
        | '\u{2614}'..='\u{2685}' | '\u{2690}'..='\u{2705}' | '\u{2708}'..='\u{2712}' | '\u{2714}' | '\u{2716}'
        | '\u{271d}' | '\u{2721}' | '\u{2728}' | '\u{2733}'..='\u{2734}' | '\u{2744}' | '\u{2747}' | '\u{274c}'
        | '\u{274e}' | '\u{2753}'..='\u{2755}' | '\u{2757}' | '\u{2763}'..='\u{2767}' | '\u{2795}'..='\u{2797}'
        | '\u{27a1}' | '\u{27b0}' | '\u{27bf}' | '\u{2934}'..='\u{2935}' | '\u{2b05}'..='\u{2b07}'
        | '\u{2b1b}'..='\u{2b1c}' | '\u{2b50}' | '\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1f0ff}' | '\u{1f10d}'..='\u{1f10f}' | '\u{1f12f}' | '\u{1f16c}'..='\u{1f171}'
        | '\u{1f17e}'..='\u{1f17f}' | '\u{1f18e}' | '\u{1f191}'..='\u{1f19a}' | '\u{1f1ad}'..='\u{1f1e5}'
        | '\u{1f201}'..='\u{1f20f}' | '\u{1f21a}' | '\u{1f22f}' | '\u{1f232}'..='\u{1f23a}'
        | '\u{1f23c}'..='\u{1f23f}' | '\u{1f249}'..='\u{1f53d}' | '\u{1f546}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}' | '\u{1f774}'..='\u{1f77f}' | '\u{1f7d5}'..='\u{1f7ff}'
        | '\u{1f80c}'..='\u{1f80f}' | '\u{1f848}'..='\u{1f84f}' | '\u{1f85a}'..='\u{1f85f}'
        | '\u{1f888}'..='\u{1f88f}' | '\u{1f8ae}'..='\u{1f8ff}' | '\u{1f90c}'..='\u{1f93a}'
        | '\u{1f93c}'..='\u{1f945}' | '\u{1f947}'..='\u{1faff}' | '\u{1fc00}'..='\u{1fffd}'
    )
}

/// Whether the character becomes a keycap with [`KEYCAP`] after it (UTS #51, ED-14c).
pub(crate) const fn is_keycap_base(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*')
}

/// COMBINING ENCLOSING KEYCAP.
pub(crate) const KEYCAP: char = '\u{20e3}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_large_as_the_data_file() {
        // 3537 pictographic code points, reserved ones included, and five skin tones.
        assert_eq!(('\0'..=char::MAX).filter(|c| is_emoji(*c)).count(), 3537 + 5);
    }

    #[test]
    fn letters_and_digits_are_no_emoji() {
        for (c, expected) in [('👍', true), ('❤', true), ('©', true), ('🏽', true), ('1', false), ('a', false)] {
            assert_eq!(is_emoji(c), expected, "{c:?}");
        }
    }
}
