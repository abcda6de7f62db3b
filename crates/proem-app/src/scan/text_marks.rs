//! A text with the places of its findings, cut into lines and pieces for a page.
//!
//! Invariant: a piece is as untrusted as the text. The pieces of a line, gaps included, are the line.

use proem_guard::Untrusted;
use proem_text::Span;

use super::examine::{ExaminedField, FieldContents, LineScope};
use super::place::copy_spans;

/// Longer texts are shown around their findings only, in lines.
const WHOLE_LINES: usize = 200;

/// How many lines are shown before and after a finding.
const AROUND_LINES: usize = 3;

/// The most of a piece that is shown at each end, in bytes.
const PIECE_END: usize = 300;

/// A line of a text.
#[derive(Debug)]
pub struct MarkedLine {
    /// Its number in the file, from 1.
    pub number: usize,
    /// Its pieces, in order.
    pub pieces: Vec<MarkedPiece>,
}

/// A part of a line.
#[derive(Debug)]
pub struct MarkedPiece {
    /// The text. Of a long one, the two ends.
    pub ends: [Untrusted<String>; 2],
    /// Whether something is missing between the ends.
    pub is_cut: bool,
    /// The number of the mark that it belongs to.
    pub mark: Option<usize>,
}

/// A piece before its text is copied.
struct PieceSpans {
    ends: [Span; 2],
    mark: Option<usize>,
}

/// The lines of a field around `marks`, which are in order: all of them if the text is short. None if the scan did not
/// keep the text.
#[must_use]
pub fn marked_lines(field: &ExaminedField, marks: &[Span]) -> Vec<MarkedLine> {
    let FieldContents::Reasons(text) = &field.detail else { return Vec::new() };
    let mut lines: Vec<(usize, Vec<PieceSpans>)> = Vec::new();
    let mut first = 1;
    text.measure(|text| {
        let whole = text.lines().count() <= WHOLE_LINES;
        let ranges = marks.iter().map(|mark| line_number(text, mark.start)..=line_number(text, mark.end));
        let near: Vec<_> = ranges
            .map(|range| range.start().saturating_sub(AROUND_LINES)..=range.end().saturating_add(AROUND_LINES))
            .collect();
        first = first_line(text, field);
        let mut start = 0_usize;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let span = Span::new(start, start.saturating_add(line.trim_end_matches(['\n', '\r']).len()));
            start = start.saturating_add(line.len());
            if whole || near.iter().any(|range| range.contains(&index)) {
                lines.push((index, line_pieces(text, span, marks)));
            }
        }
    });
    let spans: Vec<Span> = lines.iter().flat_map(|(_, pieces)| pieces).flat_map(|piece| piece.ends).collect();
    let mut copies = copy_spans(text, &spans).into_iter();
    let mut out = Vec::with_capacity(lines.len());
    for (index, pieces) in lines {
        let mut line = MarkedLine { number: first.saturating_add(index), pieces: Vec::new() };
        for piece in pieces {
            let (Some(head), Some(tail)) = (copies.next(), copies.next()) else { break };
            let is_cut = piece.ends[0].end < piece.ends[1].start;
            line.pieces.push(MarkedPiece { ends: [head, tail], is_cut, mark: piece.mark });
        }
        out.push(line);
    }
    out
}

/// The number of the text's first line in its file.
fn first_line(text: &str, field: &ExaminedField) -> usize {
    let in_file = field.findings.iter().find(|found| found.spot.within == LineScope::File);
    in_file.map_or(1, |found| found.spot.line.saturating_sub(line_number(text, found.spot.span.start)).max(1))
}

/// The number of lines before a place.
fn line_number(text: &str, at: usize) -> usize {
    let before = text.get(..text.floor_char_boundary(at)).unwrap_or_default();
    before.bytes().filter(|byte| *byte == b'\n').count()
}

/// The pieces of a line, each in one mark or in none.
fn line_pieces(text: &str, line: Span, marks: &[Span]) -> Vec<PieceSpans> {
    let mut pieces = Vec::new();
    let mut at = line.start;
    for (number, mark) in marks.iter().enumerate().filter(|(_, mark)| mark.start < line.end && line.start < mark.end) {
        let start = text.floor_char_boundary(mark.start).clamp(at, line.end);
        let end = text.ceil_char_boundary(mark.end).clamp(start, line.end);
        push_piece(text, Span::new(at, start), None, &mut pieces);
        push_piece(text, Span::new(start, end), Some(number), &mut pieces);
        at = end;
    }
    push_piece(text, Span::new(at, line.end), None, &mut pieces);
    pieces
}

fn push_piece(text: &str, span: Span, mark: Option<usize>, pieces: &mut Vec<PieceSpans>) {
    if span.is_empty() {
        return;
    }
    let head = text.floor_char_boundary(span.start.saturating_add(PIECE_END)).min(span.end);
    let tail = text.ceil_char_boundary(span.end.saturating_sub(PIECE_END)).max(head);
    pieces.push(PieceSpans { ends: [Span::new(span.start, head), Span::new(tail, span.end)], mark });
}

#[cfg(test)]
mod tests {
    use proem_guard::{Verdict, show};
    use proem_text::{Label, Source};

    use super::*;

    /// The lines as `number:text`, marks in brackets.
    fn shown_lines(text: &str, marks: &[(usize, usize)]) -> Vec<String> {
        let text = Untrusted::new(text.to_owned(), Label::from_source(Source::named("test")));
        let field = ExaminedField {
            name: String::new(),
            verdict: Verdict::Flag,
            score: 0.0,
            findings: Vec::new(),
            unread: Vec::new(),
            unread_verdict: Verdict::Allow,
            detail: FieldContents::Reasons(text),
        };
        let marks: Vec<Span> = marks.iter().map(|(start, end)| Span::new(*start, *end)).collect();
        let piece = |piece: MarkedPiece| {
            let [head, tail] = piece.ends.each_ref().map(show::terminal_text);
            let text = format!("{head}{}{tail}", if piece.is_cut { "…" } else { "" });
            if piece.mark.is_some() { format!("[{text}]") } else { text }
        };
        let line =
            |line: MarkedLine| format!("{}:{}", line.number, line.pieces.into_iter().map(piece).collect::<String>());
        marked_lines(&field, &marks).into_iter().map(line).collect()
    }

    #[test]
    fn a_mark_over_lines_and_inside_characters_is_whole() {
        assert_eq!(shown_lines("a é b\nc d\n", &[(3, 8)]), ["1:a [é b]", "2:[c] d"]);
        assert_eq!(shown_lines("ab", &[(0, 1), (0, 2)]), ["1:[a][b]"]);
        assert_eq!(shown_lines("ab", &[(7, 9)]), ["1:ab"]);
    }

    #[test]
    fn a_long_text_is_shown_around_its_marks_and_a_long_line_by_its_ends() {
        let text = "x\n".repeat(1000);
        let lines = shown_lines(&text, &[(800, 801)]);
        assert_eq!((lines.len(), lines[0].as_str(), lines[3].as_str()), (7, "398:x", "401:[x]"));
        let line = shown_lines(&"y".repeat(100_000), &[(50_000, 50_001)]);
        assert!(line[0].len() < 2000 && line[0].contains("…") && line[0].contains("[y]"), "{}", line[0]);
    }
}
