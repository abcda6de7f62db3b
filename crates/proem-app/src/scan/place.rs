//! Finds lines, columns and excerpts for places in a text from outside.
//!
//! Invariant: numbers come out, and pieces of the text that are as untrusted as the text is.

use proem_guard::Untrusted;
use proem_text::Span;

/// How much of a line is shown before and after a place, in characters.
const AROUND: usize = 40;

/// How much is shown of the place itself, in characters.
const MARKED: usize = 80;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextPlace {
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    before: Span,
    marked: Span,
    after: Span,
    /// Whether the line has more before, the place itself has more, the line has more after.
    clipped: [bool; 3],
}

/// The excerpt of a place.
#[derive(Debug)]
pub struct Excerpt {
    /// The text before the place on its line.
    pub before: Untrusted<String>,
    /// The place itself.
    pub marked: Untrusted<String>,
    /// The text behind it.
    pub after: Untrusted<String>,
    /// Whether something is missing before, at the end of the place, and after it.
    pub clipped: [bool; 3],
}

/// The places of spans, in one pass over the text. Give spans in order: each one before the last starts over.
pub(crate) fn locate_spans(text: &Untrusted<String>, spans: &[Span]) -> Vec<TextPlace> {
    let mut found = Vec::with_capacity(spans.len());
    text.measure(|text| {
        let (mut at, mut line, mut column) = (0_usize, 1_usize, 1_usize);
        for span in spans {
            let start = text.floor_char_boundary(span.start);
            if start < at {
                (at, line, column) = (0, 1, 1);
            }
            for c in text.get(at..start).unwrap_or_default().chars() {
                (line, column) = if c == '\n' { (line.saturating_add(1), 1) } else { (line, column.saturating_add(1)) };
            }
            at = start;
            found.push(place_around_span(text, Span::new(start, text.ceil_char_boundary(span.end)), (line, column)));
        }
    });
    found
}

fn place_around_span(text: &str, span: Span, (line, column): (usize, usize)) -> TextPlace {
    let (head, tail) = text.split_at_checked(span.start).unwrap_or((text, ""));
    let before: usize = head.chars().rev().take_while(|c| *c != '\n').take(AROUND).map(char::len_utf8).sum();
    let before = Span::new(span.start.saturating_sub(before), span.start);
    let marked: usize =
        tail.chars().scan(0_usize, |at, c| next_within(at, c, span.len())).take(MARKED).map(char::len_utf8).sum();
    let marked = Span::new(span.start, span.start.saturating_add(marked));
    let rest = if marked.end < span.end { "" } else { text.get(marked.end..).unwrap_or_default() };
    // A line break at the end is part of no line.
    let after: usize = rest.chars().take_while(|c| !matches!(c, '\n' | '\r')).take(AROUND).map(char::len_utf8).sum();
    let after = Span::new(marked.end, marked.end.saturating_add(after));
    let is_break = |c: Option<char>| matches!(c, None | Some('\n' | '\r'));
    let first = text.get(..before.start).and_then(|text| text.chars().next_back());
    let last = text.get(after.end..).and_then(|text| text.chars().next());
    let clipped = [!is_break(first), marked.end < span.end, marked.end >= span.end && !is_break(last)];
    TextPlace { line, column, before, marked, after, clipped }
}

/// The characters of the first `len` bytes.
fn next_within(at: &mut usize, c: char, len: usize) -> Option<char> {
    let start = *at;
    *at = at.saturating_add(c.len_utf8());
    (start < len).then_some(c)
}

/// The excerpts of places, and the texts of whole spans.
pub(crate) fn excerpts(text: &Untrusted<String>, located: &[TextPlace]) -> Vec<Excerpt> {
    let spans: Vec<Span> = located.iter().flat_map(|place| [place.before, place.marked, place.after]).collect();
    let mut pieces = copy_spans(text, &spans).into_iter();
    let mut out = Vec::with_capacity(located.len());
    for place in located {
        let (Some(before), Some(marked), Some(after)) = (pieces.next(), pieces.next(), pieces.next()) else { break };
        out.push(Excerpt { before, marked, after, clipped: place.clipped });
    }
    out
}

/// Copies of pieces of a text, under its label.
pub(crate) fn copy_spans(text: &Untrusted<String>, spans: &[Span]) -> Vec<Untrusted<String>> {
    let mut out = Vec::with_capacity(spans.len());
    text.measure(|whole| {
        for span in spans {
            let piece = whole.get(span.start..span.end).unwrap_or_default().to_owned();
            out.push(Untrusted::new(piece, text.label().clone()));
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use proem_guard::show;
    use proem_text::{Label, Source};

    use super::*;

    fn outside(text: &str) -> Untrusted<String> {
        Untrusted::new(text.to_owned(), Label::from_source(Source::named("test")))
    }

    /// `line:column before|marked|after`, with `…` where something is missing.
    fn shown(text: &str, span: Span) -> String {
        let text = outside(text);
        let located = locate_spans(&text, &[span]);
        let excerpt = &excerpts(&text, &located)[0];
        let [before, marked, after] = excerpt.clipped.map(|clipped| if clipped { "…" } else { "" });
        format!(
            "{}:{} {before}{}|{}{marked}|{}{after}",
            located[0].line,
            located[0].column,
            show::terminal_text(&excerpt.before),
            show::terminal_text(&excerpt.marked),
            show::terminal_text(&excerpt.after)
        )
    }

    #[test]
    fn a_place_is_shown_with_its_line() {
        let check = |text: &str, marked: &str, expected: &str| {
            let start = text.find(marked).unwrap();
            assert_eq!(shown(text, Span::new(start, start + marked.len())), expected, "{text:?}");
        };
        check("é do it now\nnext", "do it", "1:3 é |do it| now");
        check("a\r\nb do\r\nc", "do", "2:3 b |do|");
        check("a\nb c\nd", "b c\nd", "2:1 |b c\\nd|");
        check("x", "x", "1:1 |x|");
        let long = format!("{}do{}", "a".repeat(100), "b".repeat(100));
        check(&long, "do", &format!("1:101 …{}|do|{}…", "a".repeat(40), "b".repeat(40)));
        check(&long, &long, &format!("1:1 |{}…|", "a".repeat(80)));
    }

    #[test]
    fn spans_inside_characters_and_past_the_end_are_places_too() {
        assert_eq!(shown("aéb", Span::new(2, 3)), "1:2 a|é|b");
        assert_eq!(shown("ab", Span::new(5, 9)), "1:3 ab||");
        assert_eq!(shown("", Span::new(0, 0)), "1:1 ||");
    }

    #[test]
    fn many_places_are_found_in_any_order() {
        let text = outside("a\nbb\nccc");
        let spans = [Span::new(0, 1), Span::new(6, 7), Span::new(3, 4)];
        let places: Vec<(usize, usize)> =
            locate_spans(&text, &spans).iter().map(|place| (place.line, place.column)).collect();
        assert_eq!(places, [(1, 1), (3, 2), (2, 2)]);
    }
}
