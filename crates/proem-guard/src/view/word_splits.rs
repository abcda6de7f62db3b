//! Words that hidden characters part.

use super::{
    CleanView,
    draft::{DerivedReading, ReadingDraft, ReadingSource},
};
use alloc::string::String;
use proem_text::Span;

/// The clean text with a space wherever hidden characters were between two letters or digits.
pub(super) fn read_parted(clean: &CleanView) -> Option<DerivedReading> {
    let mut draft = ReadingDraft::new(ReadingSource { text: &clean.text, fresh: None });
    for (copy, _) in clean.map.copies() {
        let (before, behind) = clean.text.split_at_checked(copy.start).unwrap_or_default();
        let Some(last) = before.chars().next_back().filter(|last| is_partable_character(*last)) else { continue };
        if behind.chars().next().is_some_and(is_partable_character) {
            // A space alone would represent no place.
            let start = copy.start.saturating_sub(last.len_utf8());
            draft.replace(Span::new(start, copy.start), &String::from_iter([last, ' ']));
        }
    }
    draft.finish()
}

/// Whether the character can be in a word that others part. Thai, Lao, Burmese and Khmer write no spaces, and hidden
/// ones say where a line may be broken (UAX #14, class `SA`).
fn is_partable_character(c: char) -> bool {
    c.is_alphanumeric() && !matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}
