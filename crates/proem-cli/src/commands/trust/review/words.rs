//! The change inside a line: marks below its words.

use proem_guard::show;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_width::UnicodeWidthStr;

/// The least share of a line that has to be the same for marks to say more than the two lines do: one in so many.
const SAME: usize = 4;

/// Marks for a line as it was and as it is. `None` for a side on which nothing was added or taken away.
pub(super) type WordMarks = (Option<String>, Option<String>);

/// The marks below two lines. Nothing if one is wider than `width` cells, or if they have too little in common.
pub(super) fn word_marks(old: &str, new: &str, width: usize) -> Option<WordMarks> {
    let shown = [old, new].map(|line| show::terminal_str(line.strip_suffix('\n').unwrap_or(line)).into_string());
    let [old, new] = shown.each_ref().map(String::as_str);
    if old.width() > width || new.width() > width {
        return None;
    }
    let (olds, news) = (line_words(old), line_words(new));
    let (mut below_old, mut below_new, mut same) = (String::new(), String::new(), 0_usize);
    for op in capture_diff_slices(Algorithm::Myers, &olds, &news) {
        let is_same = matches!(op, DiffOp::Equal { .. });
        let mark = if is_same { ' ' } else { '^' };
        let cells = |words: &[&str], range| {
            words
                .get::<std::ops::Range<usize>>(range)
                .unwrap_or_default()
                .iter()
                .map(|word| word.width())
                .sum::<usize>()
        };
        let (before, after) = (cells(&olds, op.old_range()), cells(&news, op.new_range()));
        below_old.extend(std::iter::repeat_n(mark, before));
        below_new.extend(std::iter::repeat_n(mark, after));
        same = same.saturating_add(if is_same { before } else { 0 });
    }
    let enough = same.saturating_mul(SAME) >= old.width().max(new.width());
    let row = |marks: &str| Some(marks.trim_end().to_owned()).filter(|marks| !marks.is_empty());
    enough.then(|| (row(&below_old), row(&below_new)))
}

/// The words of a line, what is between them character by character. All of the line, in order.
fn line_words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let of_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if of_word(first) { rest.find(|c| !of_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_marked_word_by_word() {
        for (old, new, expected) in [
            ("- on main\n", "- on feature\n", Some((Some("     ^^^^"), Some("     ^^^^^^^")))),
            ("day 12, 3 files", "day 12, 14 files", Some((Some("        ^"), Some("        ^^")))),
            ("a b", "a b c", Some((None, Some("   ^^")))),
            ("宽宽 = one", "宽宽 = two", Some((Some("       ^^^"), Some("       ^^^")))),
            ("a\u{1b}b = c", "a\u{1b}b = d", Some((Some("           ^"), Some("           ^")))),
            ("nothing alike", "something else?", None),
            ("wide wide wide wide wide wide wide wide wide", "wide wide", None),
        ] {
            let marks = word_marks(old, new, 40);
            let found = marks.as_ref().map(|(old, new)| (old.as_deref(), new.as_deref()));
            assert_eq!(found, expected, "{old}");
        }
    }
}
