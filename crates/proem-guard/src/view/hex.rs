//! Bytes as pairs of hexadecimal digits: together, or with spaces, colons, commas or `0x` between.

use super::{
    draft::{ApartTexts, DerivedReading, ReadingSource},
    payload,
};
use alloc::vec::Vec;
use proem_text::{Span, hex::hex_byte};

/// The fewest bytes that are decoded.
const SHORTEST: usize = 8;

/// How many bytes may be between two blocks of digits.
const GAP: usize = 4;

/// All that hexadecimal digits hide in the text.
pub(super) fn read_hex(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let text = source.text.as_bytes();
    let mut gathered = ApartTexts::default();
    let mut run = HexBlocks::default();
    let mut at = 0usize;
    while let Some(block) = next_block(text, at) {
        at = block.end;
        if !run.takes(text, block) {
            run.give(&source, &mut gathered);
        }
        run.push(text, block);
    }
    run.give(&source, &mut gathered);
    gathered.finish()
}

/// The next run of hexadecimal digits that no letter or digit touches, without its `0x`.
fn next_block(text: &[u8], from: usize) -> Option<Span> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        let start = at.saturating_add(rest.iter().position(u8::is_ascii_alphanumeric)?);
        let word = text.get(start..)?;
        let end = start.saturating_add(word.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count());
        let prefix = usize::from(matches!(word, [b'0', b'x' | b'X', ..])).saturating_mul(2);
        let prefix = if matches!(word, [b'x' | b'X', ..]) { 1 } else { prefix };
        let digits = Span::new(start.saturating_add(prefix), end);
        let block = text.get(digits.start..digits.end).unwrap_or_default();
        if !block.is_empty() && block.len() % 2 == 0 && block.iter().all(u8::is_ascii_hexdigit) {
            return Some(digits);
        }
        at = end;
    }
}

/// Blocks of digits that follow each other.
#[derive(Default)]
struct HexBlocks {
    place: Option<Span>,
    bytes: Vec<u8>,
}

impl HexBlocks {
    /// Whether the block continues the run.
    fn takes(&self, text: &[u8], block: Span) -> bool {
        let Some(place) = self.place else { return true };
        let between = text.get(place.end..block.start).unwrap_or_default();
        let is_separator = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b':' | b',' | b';' | b'-' | b'\\');
        let between = between.strip_suffix(b"0x").or_else(|| between.strip_suffix(b"x")).unwrap_or(between);
        between.len() <= GAP && between.iter().all(is_separator)
    }

    fn push(&mut self, text: &[u8], block: Span) {
        let (pairs, _) = text.get(block.start..block.end).unwrap_or_default().as_chunks::<2>();
        self.bytes.extend(pairs.iter().map(|pair| hex_byte(*pair).unwrap_or_default()));
        self.place = Some(Span::new(self.place.map_or(block.start, |place| place.start), block.end));
    }

    /// Ends the run.
    fn give(&mut self, source: &ReadingSource<'_>, gathered: &mut ApartTexts) {
        let place = self.place.take().filter(|place| source.is_fresh(*place));
        if let Some(place) = place
            && self.bytes.len() >= SHORTEST
            && let Some(text) = payload::payload_text(&self.bytes)
        {
            gathered.decoded(&text, place);
        }
        self.bytes.clear();
    }
}
