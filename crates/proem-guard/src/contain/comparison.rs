//! Contained text as a person compares it: without the ids of its delimiters.

use super::Tag;
use alloc::string::String;

/// The text before an id in a delimiter.
const BEFORE: &str = " id=";

/// The digits of an id.
const DIGITS: usize = 16;

/// A text with `…` for the id of each delimiter, such as `<UNTRUSTED_CONTEXT id=…>`.
///
/// An id follows from the key and from every byte between its delimiters, so where a word differs both delimiters do
/// too, which says nothing more. For a screen: what is sent keeps its ids.
#[must_use]
pub fn without_ids(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEFORE) {
        let (head, tail) = rest.split_at(at);
        let (before, digits) = tail.split_at(BEFORE.len());
        shown.push_str(head);
        shown.push_str(before);
        rest = match after_id(digits) {
            Some(after) if opens(head) => {
                shown.push('…');
                after
            }
            _ => digits,
        };
    }
    shown.push_str(rest);
    shown
}

/// The text behind an id, if there is one.
fn after_id(text: &str) -> Option<&str> {
    let (id, after) = text.split_at_checked(DIGITS)?;
    let is_digits = id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_digits && after.starts_with([' ', '>'])).then_some(after)
}

/// Whether a text ends with the beginning of a delimiter: `<` or `</`, and a name.
fn opens(text: &str) -> bool {
    let Some((_, tag)) = text.rsplit_once('<') else { return false };
    Tag::new(tag.strip_prefix('/').unwrap_or(tag)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_of_delimiters_are_left_out() {
        for (text, expected) in [
            ("", ""),
            ("<UNTRUSTED_CONTEXT id=81e5e9936a9678f5 mark=ˆ>\na\n", "<UNTRUSTED_CONTEXT id=… mark=ˆ>\na\n"),
            ("a\n</signal_content id=df6d3fcfacbeca6b>", "a\n</signal_content id=…>"),
            ("<a id=81e5e9936a9678f5><b id=81e5e9936a9678f5>", "<a id=…><b id=…>"),
            ("<a id=81e5e9936a9678f>", "<a id=81e5e9936a9678f>"),
            ("<a id=81e5e9936a9678f5a>", "<a id=81e5e9936a9678f5a>"),
            ("<a id=81E5E9936A9678F5>", "<a id=81E5E9936A9678F5>"),
            ("the id=81e5e9936a9678f5 of a commit", "the id=81e5e9936a9678f5 of a commit"),
            ("<a b id=81e5e9936a9678f5>", "<a b id=81e5e9936a9678f5>"),
            ("<a id=", "<a id="),
            ("<a id=ééééééééé>", "<a id=ééééééééé>"),
        ] {
            assert_eq!(without_ids(text), expected, "{text}");
        }
    }
}
