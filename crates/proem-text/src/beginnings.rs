//! Beginnings of texts: cut at a character, and with a mark where the reader should know.

use alloc::{borrow::Cow, format};

/// The beginning of a text: at most `most` characters.
///
/// ```
/// assert_eq!(proem_text::first_characters("über", 2), "üb");
/// ```
#[must_use]
pub fn first_characters(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// The beginning of a text: at most `most` bytes, and no half of a character.
///
/// ```
/// assert_eq!(proem_text::first_bytes("über", 1), "");
/// ```
#[must_use]
pub fn first_bytes(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// A text of at most `most` characters. One that was longer ends in `…`.
///
/// ```
/// assert_eq!(proem_text::shorten_text("über", 4), "über");
/// assert_eq!(proem_text::shorten_text("übers", 4), "übe…");
/// ```
#[must_use]
pub fn shorten_text(text: &str, most: usize) -> Cow<'_, str> {
    if first_characters(text, most).len() == text.len() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", first_characters(text, most.saturating_sub(1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_left_of_no_room() {
        assert_eq!((first_characters("a", 0), first_bytes("a", 0)), ("", ""));
        assert_eq!(shorten_text("", 0), "");
        // The mark alone says that there was more.
        assert_eq!(shorten_text("ab", 1), "…");
    }

    proptest! {
        #[test]
        fn a_beginning_fits_and_a_mark_says_that_it_is_one(text in ".{0,20}", most in 1_usize..24) {
            prop_assert_eq!(first_characters(&text, most).chars().count(), text.chars().count().min(most));
            prop_assert!(first_bytes(&text, most).len() <= most && text.starts_with(first_bytes(&text, most)));
            let short = shorten_text(&text, most);
            prop_assert!(short.chars().count() <= most);
            prop_assert_eq!(*short == *text, text.chars().count() <= most);
        }
    }
}
