//! Numbers and texts as people read them on a line.

use proem_guard::show;
use proem_text::shorten_text;

/// `1 run`, `2 runs`, `12,345 runs`.
#[must_use]
pub fn count_with_noun(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", group_thousands(usize::try_from(number).unwrap_or(usize::MAX)))
}

/// A number with its thousands apart.
#[must_use]
pub fn group_thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A text from anywhere on one line of at most `width` cells, with what is hidden or wider
/// than a cell escaped.
#[must_use]
pub fn cut_to_width(text: &str, width: usize) -> String {
    let shown = show::terminal_str(text).into_string();
    let shown: String =
        shown.chars().map(|c| if is_narrow(c) { c.to_string() } else { c.escape_unicode().to_string() }).collect();
    shorten_text(&shown, width).into_owned()
}

/// Whether a character surely takes one cell: those of the Latin, Greek and Cyrillic alphabets,
/// general punctuation, arrows, mathematics and box drawing. Source: Unicode Standard Annex 11, East
/// Asian Width, whose wide characters are all elsewhere.
const fn is_narrow(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2190}'..='\u{22ff}' | '\u{2500}'..='\u{259f}'
        | '\u{27e8}' | '\u{27e9}')
}

/// A number with at most two digits behind its point.
#[must_use]
pub fn two_decimals(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
