//! One pass over the joined text that finds everything that must not stay as it is.
//!
//! Linear: each character is visited once, and what a pattern reads ahead is bounded, or ends at
//! the next bracket.

use super::{
    Tag,
    line::LineProgress,
    marker,
    matches::{Match, Remedy},
    reader::FoldedReader,
};
use alloc::vec::Vec;
use proem_text::{Span, character};

/// How long the attributes of a delimiter may be to be cut out with it, in characters.
const MAX_ATTRIBUTES: usize = 256;

/// Every pattern in `text` that touches one of the runs from outside, which are in order.
pub(crate) fn find_patterns(text: &str, outside: &[Span], tag: &Tag) -> Vec<Match> {
    let mut matches = Vec::new();
    let mut line = LineProgress::new(0);
    let mut starts = outside.iter().map(|run| run.start).peekable();
    let mut reader = FoldedReader::at(text, 0);
    while let Some(c) = reader.peek() {
        while let Some(start) = starts.next_if(|start| *start <= reader.offset()) {
            if start == reader.offset() {
                line.begin_part(reader);
            }
        }
        if line.is_inside() {
            let limit = starts.peek().copied().unwrap_or(text.len());
            let behind = plain_end(text, reader.offset(), limit);
            if behind > reader.offset() {
                reader = reader.moved_to(behind);
                continue;
            }
        }
        if let Some(mut found) = marker::find_marker(reader, tag).filter(|found| touches_outside(found.span, outside)) {
            if found.remedy == Remedy::Remove {
                found.span.end = attributes_end(reader.moved_to(found.span.end), outside);
                matches.push(found);
                reader = reader.moved_to(found.span.end);
                line.leave_start();
                continue;
            }
            matches.push(found);
            line.break_up();
        }
        for found in line.read(reader).into_iter().flatten().filter(|found| touches_outside(found.span, outside)) {
            matches.push(found);
            line.break_up();
        }
        let next = reader.next();
        // CR LF is one line break (UAX #14, LB5).
        if character::is_line_break(c)
            && !(c == '\r' && next.peek() == Some('\n'))
            && let Some(found) = line.begin(reader, next).filter(|found| touches_outside(found.span, outside))
        {
            matches.push(found);
            line.break_up();
        }
        reader = next;
    }
    matches
}

/// The end of the characters from `start` on, before `limit`, with which no pattern begins inside a
/// line: ASCII but for opening brackets, `&` and line breaks.
fn plain_end(text: &str, start: usize, limit: usize) -> usize {
    let bytes = text.as_bytes().get(start..limit).unwrap_or_default();
    let is_plain =
        |byte: &u8| byte.is_ascii() && !matches!(byte, b'<' | b'&' | b'[' | b'{' | b'(' | b'\n' | b'\r' | 0x0b | 0x0c);
    start.saturating_add(bytes.iter().take_while(|byte| is_plain(byte)).count())
}

fn touches_outside(span: Span, outside: &[Span]) -> bool {
    let after = outside.partition_point(|run| run.end <= span.start);
    outside.get(after).is_some_and(|run| run.overlaps(span))
}

/// The end of the attributes behind a delimiter's name: behind its closing bracket, if that is in the same run from
/// outside; else here.
fn attributes_end(name_end: FoldedReader<'_>, outside: &[Span]) -> usize {
    let run = outside.partition_point(|run| run.end <= name_end.offset());
    let limit = outside.get(run).filter(|run| run.start < name_end.offset()).map_or(0, |run| run.end);
    let mut reader = name_end;
    for _ in 0..MAX_ATTRIBUTES {
        if let Some(end) = reader.close() {
            return if end.offset() <= limit { end.offset() } else { name_end.offset() };
        }
        if reader.offset() >= limit || reader.open().is_some() {
            break;
        }
        reader = reader.next();
    }
    name_end.offset()
}
