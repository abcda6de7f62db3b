//! Texts in the cells of a terminal.
//!
//! A character takes the cells that Unicode Standard Annex 11 gives it: two for CJK and emoji, none for a combining
//! mark. Characters that join others into one, such as a zero width joiner, are escaped by then.

use unicode_width::UnicodeWidthChar as _;

/// The marks that one letter may bear without a cell of their own. Source: Unicode Standard Annex 15, Stream-Safe Text
/// Format, which allows thirty non-starters in a row. No orthography needs as many.
const MARKS: usize = 30;

/// The cells of a line so far.
#[derive(Debug, Clone, Copy, Default)]
struct LineWidth {
    cells: usize,
    /// The marks since the last letter.
    marks: usize,
}

impl LineWidth {
    /// The line with a character more.
    fn with(self, c: char) -> Self {
        match c.width().unwrap_or(0) {
            0 if self.marks < MARKS => Self { marks: self.marks.saturating_add(1), ..self },
            0 => Self { cells: self.cells.saturating_add(1), ..self },
            wide => Self { cells: self.cells.saturating_add(wide), marks: 0 },
        }
    }
}

/// The cells that a text takes on one line.
pub(crate) fn text_cells(text: &str) -> usize {
    text.chars().fold(LineWidth::default(), LineWidth::with).cells
}

/// A text in pieces of at most `width` cells, each of them cut where it is full.
pub(crate) fn fold_at_cells(text: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut line = LineWidth::default();
    for c in text.chars() {
        line = line.with(c);
        if line.cells > width {
            pieces.push(String::new());
            line = LineWidth::default().with(c);
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// A line in rows of at most `width` cells. Colours take none. A row after the first begins with the bar that the line
/// begins with, or with spaces: no text from outside begins a row. Lines of ours are cut between words where that is
/// possible.
pub(crate) fn page_rows(line: &str, width: usize) -> Vec<String> {
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let is_barred = line.trim_start_matches(' ').starts_with("│ ");
    let lead = if is_barred { format!("{}│ ", " ".repeat(indent.min(width / 4))) } else { "    ".to_owned() };
    let (mut rows, mut row) = (Vec::new(), String::new());
    let (mut used, mut is_colour) = (LineWidth::default(), false);
    for c in line.chars() {
        is_colour |= c == '\u{1b}';
        let next = if is_colour { used } else { used.with(c) };
        is_colour &= c != 'm';
        used = next;
        if used.cells > width {
            let word =
                row.rfind(' ').filter(|space| !is_barred && *space >= width / 2).map(|space| space.saturating_add(1));
            let rest = word.map_or_else(String::new, |word| row.split_off(word));
            rows.push(std::mem::replace(&mut row, format!("{lead}{rest}")));
            used = row.chars().fold(LineWidth::default(), LineWidth::with).with(c);
        }
        row.push(c);
    }
    rows.push(row);
    rows
}

/// A text in lines of at most `width` cells, cut between words where that is possible.
pub(crate) fn wrap_at_words(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(last) = lines.last_mut() else { continue };
        let gap = usize::from(!last.is_empty());
        if text_cells(last).saturating_add(gap).saturating_add(text_cells(word)) <= width {
            last.push_str(if gap == 1 { " " } else { "" });
            last.push_str(word);
        } else {
            if last.is_empty() {
                lines.pop();
            }
            lines.extend(fold_at_cells(word, width));
        }
    }
    lines
}

/// The beginning of a text, in at most `width` cells; what is cut off is marked.
pub(crate) fn cut_to_cells(text: &str, width: usize) -> String {
    if text_cells(text) <= width {
        return text.to_owned();
    }
    let mut pieces = fold_at_cells(text, width.saturating_sub(1)).into_iter();
    format!("{}…", pieces.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proem_guard::show::terminal_str;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    /// Text as attackers write it: of every width, with what joins, hides and steers.
    fn text() -> impl Strategy<Value = String> {
        let one = prop_oneof![
            any::<char>(),
            prop::char::range(' ', '~'),
            prop::sample::select(
                "木漢字かな한글👩🏽🚀🇩🇪é\u{301}\u{200d}\u{fe0f}\u{1160}\u{20e3}\u{202e}ﷺ⸻".chars().collect::<Vec<_>>()
            ),
        ];
        prop::collection::vec(one, 0..120).prop_map(|characters| characters.into_iter().collect())
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_it_may_be(text in text(), width in 4_usize..90) {
            let shown = terminal_str(&text).into_string();
            let barred = page_rows(&format!("    │ {shown}"), width.max(17));
            let is_barred = |row: &String| row.trim_start_matches(' ').starts_with("│ ") && row.width() <= width.max(17);
            prop_assert!(barred.iter().all(is_barred), "{barred:?}");
            for line in fold_at_cells(&shown, width).iter().chain(&wrap_at_words(&shown, width)).chain([&cut_to_cells(&shown, width)]) {
                prop_assert!(line.width() <= width, "{} cells: {line:?}", line.width());
            }
        }

        #[test]
        fn nothing_is_lost_but_what_is_cut_off(text in text(), width in 4_usize..90) {
            let shown = terminal_str(&text).into_string();
            prop_assert_eq!(fold_at_cells(&shown, width).concat(), shown.as_str());
            let words = |text: &str| text.replace(' ', "");
            prop_assert_eq!(words(&wrap_at_words(&shown, width).concat()), words(&shown));
            let short = cut_to_cells(&shown, width);
            prop_assert!(short == shown || shown.starts_with(short.trim_end_matches('…')));
        }
    }

    #[test]
    fn texts_are_cut_by_cells() {
        #[track_caller]
        fn check(text: &str, width: usize, expected: &[&str]) {
            assert_eq!(fold_at_cells(text, width), expected);
        }
        check("", 4, &[""]);
        check("abcdef", 4, &["abcd", "ef"]);
        check("木木木", 4, &["木木", "木"]);
        check("a木木", 4, &["a木", "木"]);
        check("e\u{301}e\u{301}", 1, &["e\u{301}", "e\u{301}"]);
        let tower = format!("a{}", "\u{301}".repeat(MARKS + 2));
        assert_eq!((text_cells(&tower), fold_at_cells(&tower, 2).len()), (3, 2), "no letter bears a tower");
        assert_eq!((cut_to_cells("木木木", 6).as_str(), cut_to_cells("木木木", 5).as_str()), ("木木木", "木木…"));
    }

    #[test]
    fn rows_of_a_page_keep_their_bar() {
        #[track_caller]
        fn check(line: &str, width: usize, expected: &[&str]) {
            assert_eq!(page_rows(line, width), expected);
        }
        check("", 20, &[""]);
        check("  │ abcdefgh", 8, &["  │ abcd", "  │ efgh"]);
        check("  │ 木木木", 8, &["  │ 木木", "  │ 木"]);
        check("        │ abcdefgh", 12, &["        │ ab", "   │ cdefgh"]);
        check("goes to ada and bob", 12, &["goes to ada ", "    and bob"]);
        check("\u{1b}[1mabcdef\u{1b}[0m gh", 8, &["\u{1b}[1mabcdef\u{1b}[0m ", "    gh"]);
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            assert_eq!(wrap_at_words(text, 8), expected);
        }
        check("", &[""]);
        check("one two three", &["one two", "three"]);
        check("abcdefghijk lm", &["abcdefgh", "ijk lm"]);
        check("a abcdefghijk", &["a", "abcdefgh", "ijk"]);
    }
}
