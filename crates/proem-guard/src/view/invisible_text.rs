//! Text in characters that nobody sees: tags, and variation selectors as bytes.

use super::{
    draft::{ApartTexts, DerivedReading},
    payload,
};
use alloc::{string::String, vec::Vec};
use proem_text::{Span, character};

const CANCEL_TAG: char = '\u{e007f}';
const BLACK_FLAG: char = '\u{1f3f4}';

/// How many other bytes may be between two hidden characters of one payload: one character.
const GAP: usize = 4;

/// The fewest variation selectors that are a payload.
const FEWEST_SELECTORS: usize = 4;

/// The message of the tag characters: U+E0020 to U+E007E are copies of ASCII. The flags of England, Scotland and Wales
/// are written with them too (UTS #51, annex C) and have no message.
pub(super) fn read_tags(raw: &str) -> Option<DerivedReading> {
    let mut gathered = ApartTexts::default();
    for run in hidden_runs(raw, character::is_tag) {
        if is_flag_payload(raw, &run) {
            continue;
        }
        let text: String =
            run.hidden.iter().filter_map(|c| shift_character(*c, 0xe0000)).filter(char::is_ascii).collect();
        if text.chars().any(|c| c.is_ascii_graphic()) {
            gathered.decoded(&text.replace(|c: char| c.is_ascii_control(), " "), run.place);
        }
    }
    gathered.finish()
}

fn is_flag_payload(raw: &str, run: &SmuggledPayload) -> bool {
    let before = raw.get(..run.place.start).unwrap_or_default();
    before.ends_with(BLACK_FLAG) && run.hidden.len() <= 7 && run.hidden.last() == Some(&CANCEL_TAG)
}

/// The message of the variation selectors: number 1 is byte 0, number 256 is byte 255. If only the first sixteen are
/// used, two make a byte.
pub(super) fn variation_selectors(raw: &str) -> Option<DerivedReading> {
    let mut gathered = ApartTexts::default();
    for run in hidden_runs(raw, character::is_variation_selector) {
        if run.hidden.len() < FEWEST_SELECTORS {
            continue;
        }
        let bytes: Vec<u8> = run.hidden.iter().filter_map(|c| selector_byte(*c)).collect();
        let halves = || {
            let (pairs, _) = bytes.as_chunks::<2>();
            let bytes: Option<Vec<u8>> =
                pairs.iter().map(|[high, low]| (*high < 16 && *low < 16).then_some(high << 4 | low)).collect();
            payload::payload_text(&bytes?)
        };
        if let Some(text) = payload::payload_text(&bytes).or_else(halves) {
            gathered.decoded(&text, run.place);
        }
    }
    gathered.finish()
}

fn selector_byte(c: char) -> Option<u8> {
    let code = u32::from(c);
    let number = if c <= '\u{fe0f}' { code.checked_sub(0xfe00) } else { code.checked_sub(0xe0100 - 16) };
    number.and_then(|number| u8::try_from(number).ok())
}

fn shift_character(c: char, base: u32) -> Option<char> {
    u32::from(c).checked_sub(base).and_then(char::from_u32)
}

/// Hidden characters of one payload.
struct SmuggledPayload {
    /// From the first to the last.
    place: Span,
    hidden: Vec<char>,
}

/// The runs of characters of a class, with at most one other character between two.
fn hidden_runs(raw: &str, class: fn(char) -> bool) -> Vec<SmuggledPayload> {
    let mut runs: Vec<SmuggledPayload> = Vec::new();
    // All of these are three or four bytes long and begin with one of these two.
    for (at, c) in raw.char_indices().filter(|(_, c)| *c >= '\u{fe00}' && class(*c)) {
        let end = at.saturating_add(c.len_utf8());
        match runs.last_mut() {
            Some(run) if at.saturating_sub(run.place.end) <= GAP => {
                run.place.end = end;
                run.hidden.push(c);
            }
            _ => runs.push(SmuggledPayload { place: Span::new(at, end), hidden: Vec::from([c]) }),
        }
    }
    runs
}
