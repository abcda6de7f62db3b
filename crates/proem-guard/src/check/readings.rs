//! The readings of a text for those who decode it: without invisible characters, with entities, escapes,
//! percent-encoding, base64 and hexadecimal digits read.
//!
//! Bounded: [`ROUNDS`] rounds of each decoder over the whole text. Whether anything is left then is told, and so is a
//! reading longer than any field may be (one character can represent eighteen). A decoded piece is where its code was.

use crate::view::{percent_run, reference};
use alloc::{string::String, vec::Vec};
use proem_text::{
    OffsetMap, Span,
    base64::{decode_base64_digits, is_base64_digit},
    character,
    hex::hex_byte,
    normalise_text,
};

/// The most bytes of one field's value: 256 KiB. A larger one fails without a further look.
pub const MAX_FIELD: usize = 256 << 10;

/// How deep encodings may nest.
const ROUNDS: usize = 3;
/// The fewest characters of base64 that are decoded: nine bytes, about two words.
const MIN_BASE64: usize = 12;
/// The fewest hexadecimal digits that are decoded: eight bytes.
const MIN_HEX: usize = 16;
/// A line of base64 this long may go on behind a line break (RFC 2045 breaks after 76).
const MIN_WRAPPED: usize = 32;
/// So many characters of wrapped lines are put together at once. More lines are a piece of their own.
const MAX_WRAPPED: usize = 1_024;

/// A decoded text with the way back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DecodedText {
    pub(super) text: String,
    pub(super) map: OffsetMap,
}

/// All readings but the text itself.
#[derive(Debug, Default)]
pub(super) struct DecodedTexts {
    pub(super) decoded: Vec<DecodedText>,
    /// Whether nothing was left to decode.
    pub(super) complete: bool,
}

/// A decoder: what a text says to it, and nothing where that is the text itself.
type Decoder = fn(&str) -> Option<DecodedText>;

/// The readings of a text.
pub(super) fn decoded_readings(text: &str) -> DecodedTexts {
    let mut readings = DecodedTexts::default();
    // Tags are letters to one decoder and nothing to the other.
    let undone = plain_reading(text);
    readings.decoded.extend(undone.clone());
    let mut undone = Some(undone);
    let mut base: Option<DecodedText> = None;
    let decoders: [Decoder; 5] = [escapes, plain_reading, entities, percent_reading, unpacked_reading];
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (decoder, index) in decoders.into_iter().zip(0..) {
            // Without escapes, the first reading is this one, which is in the list already.
            let first = if index == PLAIN && base.is_none() { undone.take() } else { None };
            let is_known = first.is_some();
            let next = first.unwrap_or_else(|| apply_decoder(text, base.as_ref(), decoder));
            let Some(next) = next else { continue };
            if next.text.len() > MAX_FIELD {
                readings.decoded.clear();
                return readings;
            }
            if !is_known {
                readings.decoded.push(next.clone());
            }
            base = Some(next);
            changed = true;
        }
        if !changed {
            readings.complete = true;
            return readings;
        }
    }
    readings.complete = decoders.iter().all(|decoder| apply_decoder(text, base.as_ref(), *decoder).is_none());
    readings
}

/// The place of [`plain_reading`] among the decoders.
const PLAIN: usize = 1;

/// One decoder over a reading, or over the text itself where there is none yet. `None` if it changed nothing.
fn apply_decoder(text: &str, base: Option<&DecodedText>, decoder: Decoder) -> Option<DecodedText> {
    let Some(base) = base else { return decoder(text) };
    let next = decoder(&base.text)?;
    Some(DecodedText { map: next.map.then(&base.map), text: next.text })
}

impl DecodedText {
    fn keep(&mut self, text: &str, from: usize, to: usize) {
        if let Some(piece) = text.get(from..to) {
            self.text.push_str(piece);
            self.map.push_verbatim(Span::new(from, to));
        }
    }

    fn replace(&mut self, with: &str, original: Span) {
        self.text.push_str(with);
        self.map.push(with.len(), original);
    }
}

/// Copies a text but for the places where `read` finds something: its length and what it represents. `None` where that
/// gives the same text.
fn rewrite_places(text: &str, mut read: impl FnMut(&str, usize) -> Option<(usize, String)>) -> Option<DecodedText> {
    let mut reading = DecodedText::default();
    let mut kept = 0;
    let mut at = 0_usize;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match read(text, at) {
            Some((len, with)) => {
                reading.keep(text, kept, at);
                let end = at.saturating_add(len.max(1));
                reading.replace(&with, Span::new(at, end));
                (at, kept) = (end, end);
            }
            None => at = at.saturating_add(c.len_utf8()),
        }
    }
    if kept == 0 {
        return None;
    }
    reading.keep(text, kept, text.len());
    (reading.text != text).then_some(reading)
}

/// NFKC without invisible characters. `evil[.]com`, `hxxp` and backslashes before punctuation undone.
fn plain_reading(text: &str) -> Option<DecodedText> {
    if is_normal(text) { rewrite_places(text, undo_defanging) } else { visible_plain(text) }
}

/// The same for any text.
fn visible_plain(text: &str) -> Option<DecodedText> {
    let visible = rewrite_places(text, |text, at| {
        let c = text.get(at..)?.chars().next()?;
        (character::is_invisible(c) || (character::is_control(c) && c != '\u{b}'))
            .then(|| (c.len_utf8(), String::new()))
    });
    let normal = normalise_text(visible.as_ref().map_or(text, |visible| &visible.text));
    let (meant, map) = match rewrite_places(&normal.text, undo_defanging) {
        Some(fanged) => (fanged.text, fanged.map.then(&normal.map)),
        None => (normal.text, normal.map),
    };
    let map = if let Some(visible) = &visible { map.then(&visible.map) } else { map };
    (meant != text).then_some(DecodedText { text: meant, map })
}

/// Whether a text is visible ASCII with single blanks, which is its own normal form.
fn is_normal(text: &str) -> bool {
    let mut before = 0;
    text.bytes().all(|byte| {
        let is_double = byte == b' ' && before == b' ';
        before = byte;
        (byte.is_ascii_graphic() || byte == b' ') && !is_double
    })
}

/// How people write an address that nobody should click on, and what it represents.
const DEFANGED: [(&str, &str); 17] = [
    ("[.]", "."),
    ("(.)", "."),
    ("{.}", "."),
    ("[dot]", "."),
    ("(dot)", "."),
    ("{dot}", "."),
    ("[at]", "@"),
    ("(at)", "@"),
    ("{at}", "@"),
    ("[@]", "@"),
    ("(@)", "@"),
    ("[:]", ":"),
    ("[://]", "://"),
    ("[/]", "/"),
    ("hxxps", "https"),
    ("hxxp", "http"),
    ("h**p", "http"),
];

fn undo_defanging(text: &str, at: usize) -> Option<(usize, String)> {
    let rest = text.get(at..)?;
    let first = rest.bytes().next()?;
    if first == b'\\' {
        let next = *rest.as_bytes().get(1)?;
        return (next.is_ascii_punctuation() && next != b'\\').then(|| (1, String::new()));
    }
    // ` [.] ` and ` (dot) ` with spaces around them too.
    let (spaces, inner) = match rest.strip_prefix(' ') {
        Some(inner) if inner.starts_with(['[', '(', '{']) => (1_usize, inner),
        _ => (0, rest),
    };
    if spaces == 0 && !matches!(first, b'[' | b'(' | b'{' | b'h' | b'H') {
        return None;
    }
    // Every other word begins with these letters.
    if matches!(first, b'h' | b'H') && !matches!(rest.as_bytes().get(1), Some(b'x' | b'X' | b'*')) {
        return None;
    }
    let starts = |text: &str, with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    let (written, meant) = DEFANGED.iter().find(|(written, _)| starts(inner, written))?;
    let behind = inner.get(written.len()..)?;
    let space_behind = usize::from(spaces == 1 && behind.starts_with(' '));
    Some((written.len().saturating_add(spaces).saturating_add(space_behind), String::from(*meant)))
}

fn entities(text: &str) -> Option<DecodedText> {
    if !text.contains('&') {
        return None;
    }
    rewrite_places(text, |text, at| reference(text.get(at..)?).map(|(c, length)| (length, String::from(c))))
}

/// Runs of `%41`; what is not UTF-8 stays, but for its ASCII characters.
fn percent_reading(text: &str) -> Option<DecodedText> {
    if !text.contains('%') {
        return None;
    }
    rewrite_places(text, |text, at| {
        let bytes = percent_run(text.as_bytes().get(at..)?);
        let valid = match core::str::from_utf8(&bytes) {
            Ok(decoded) => decoded,
            Err(error) => core::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
        };
        (!valid.is_empty()).then(|| (valid.len().saturating_mul(3), String::from(valid)))
    })
}

/// `\x41`, `\u0041`, `\u{41}`, and tag characters, which are invisible copies of ASCII.
fn escapes(text: &str) -> Option<DecodedText> {
    if text.is_ascii() && !text.contains('\\') {
        return None;
    }
    rewrite_places(text, |text, at| {
        let rest = text.get(at..)?;
        let first = rest.chars().next()?;
        if character::is_tag(first) {
            let c = char::from_u32(u32::from(first).wrapping_sub(0xe0000)).filter(|c| !c.is_control());
            return Some((first.len_utf8(), c.map(String::from).unwrap_or_default()));
        }
        let rest = rest.strip_prefix('\\')?;
        let (digits, frame) = if let Some(rest) = rest.strip_prefix("u{") {
            let len = rest.bytes().take(7).position(|byte| byte == b'}')?;
            (rest.get(..len)?, 4)
        } else if let Some(rest) = rest.strip_prefix('u') {
            (rest.get(..4)?, 2)
        } else {
            (rest.strip_prefix('x')?.get(..2)?, 2)
        };
        let hexadecimal = digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let c = hexadecimal.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)).flatten()?;
        Some((digits.len().saturating_add(frame), String::from(c)))
    })
}

/// Base64 (both alphabets, padded or not, wrapped, out of step by a few characters) and
/// hexadecimal digits (with separators or not), where what comes out is text.
fn unpacked_reading(text: &str) -> Option<DecodedText> {
    let (mut passed, mut pairs_passed) = (0, 0);
    rewrite_places(text, |text, at| {
        let rest = text.as_bytes().get(at..)?;
        if at >= pairs_passed
            && let Some((len, decoded)) = separated_hex(rest)
        {
            pairs_passed = at.saturating_add(len);
            if let Some(decoded) = decoded {
                return Some((len, decoded));
            }
        }
        if at < passed {
            return None;
        }
        // Most words are too short to be looked at as a run.
        let word = rest.iter().take(MIN_BASE64).take_while(|byte| is_base64_digit(**byte)).count();
        if word < MIN_BASE64 {
            passed = at.saturating_add(word);
            return None;
        }
        let (lines, codes) = base64_run(rest);
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return None };
        let before_last = lines.iter().rev().nth(1).unwrap_or(first);
        // A word behind the last line may look like one more.
        let decoded = [last, before_last, first].into_iter().find_map(|line| {
            let codes = codes.get(..line.codes)?;
            whole_hex(codes).or_else(|| decode_base64_run(codes)).map(|decoded| (line.len, decoded))
        });
        passed = at.saturating_add(decoded.as_ref().map_or(last.len, |(len, _)| *len));
        decoded
    })
}

/// A run of base64 up to the end of one line.
#[derive(Debug, Clone, Copy)]
struct Base64Line {
    /// The bytes up to here.
    len: usize,
    /// The characters of base64 up to here.
    codes: usize,
}

/// The run of base64 at the start: where each of its lines ends, and its characters.
fn base64_run(bytes: &[u8]) -> (Vec<Base64Line>, Vec<u8>) {
    let (mut lines, mut codes) = (Vec::new(), Vec::new());
    let mut len = 0_usize;
    loop {
        let rest = bytes.get(len..).unwrap_or_default();
        let line = rest.iter().take_while(|byte| is_base64_digit(**byte)).count();
        codes.extend(rest.iter().take(line));
        len = len.saturating_add(line);
        let padding = bytes.get(len..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=').count();
        len = len.saturating_add(padding);
        if line > 0 {
            lines.push(Base64Line { len, codes: codes.len() });
        }
        let rest = bytes.get(len..).unwrap_or_default();
        let blank = rest.iter().take(4).take_while(|byte| byte.is_ascii_whitespace()).count();
        if line < MIN_WRAPPED || padding > 0 || blank == 0 || codes.len() > MAX_WRAPPED {
            return (lines, codes);
        }
        len = len.saturating_add(blank);
    }
}

fn decode_base64_run(codes: &[u8]) -> Option<String> {
    (0..4).find_map(|skipped| {
        let codes = codes.get(skipped..).filter(|codes| codes.len() >= MIN_BASE64)?;
        utf8_text(decode_base64_digits(codes))
    })
}

fn whole_hex(codes: &[u8]) -> Option<String> {
    (codes.len() >= MIN_HEX).then(|| bytes_of_hex_pairs(codes.chunks(2))).flatten().and_then(utf8_text)
}

/// `68 74 74 70`, with the same separator throughout: its length, and what it says if it is text.
fn separated_hex(bytes: &[u8]) -> Option<(usize, Option<String>)> {
    let separator = *bytes.get(2).filter(|byte| matches!(byte, b' ' | b':' | b'-' | b','))?;
    let is_pair = |group: &&[u8]| {
        group.iter().take(2).all(u8::is_ascii_hexdigit)
            && group.len() >= 2
            && group.get(2).is_none_or(|byte| *byte == separator)
    };
    let mut pairs = 0_usize;
    for group in bytes.chunks(3).take_while(is_pair) {
        pairs = pairs.saturating_add(1);
        if group.len() < 3 {
            break;
        }
    }
    if pairs < MIN_HEX / 2 {
        return None;
    }
    let decoded =
        bytes_of_hex_pairs(bytes.chunks(3).take(pairs).filter_map(|group| group.get(..2))).and_then(utf8_text);
    Some((pairs.saturating_mul(3).saturating_sub(1), decoded))
}

fn bytes_of_hex_pairs<'a>(pairs: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    pairs.map(|pair| if let [high, low] = pair { hex_byte([*high, *low]) } else { None }).collect()
}

/// The bytes as text, if that is what they are.
fn utf8_text(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let plain = !text
        .chars()
        .any(|c| character::is_control(c) || character::is_noncharacter(c) || character::is_private_use(c));
    (plain && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A text that is taken for its own normal form is read as if nobody had looked.
        #[test]
        fn the_short_way_reads_the_same(text in "([a-cHhxX*tpSs:/@. \\\\(){}\\[\\]]|dot|hxxp|\\[\\.\\]| \\(dot\\) ){0,24}") {
            prop_assume!(is_normal(&text));
            let (short, long) = (plain_reading(&text), visible_plain(&text));
            prop_assert_eq!(short.as_ref().map(|read| &read.text), long.as_ref().map(|read| &read.text));
            let (Some(short), Some(long)) = (short, long) else { return Ok(()) };
            for start in 0..=short.text.len() {
                for end in start..=short.text.len() {
                    let span = Span::new(start, end);
                    prop_assert_eq!(short.map.original(span), long.map.original(span), "{:?} of {:?}", span, text);
                }
            }
        }

        /// A text is read once where nothing in it is an escape, and lacks no reading for that.
        #[test]
        fn no_reading_stands_twice(text in "([a-f0-9 %&;#x\\n\\u{200b}]|%41|&#65;|\\\\x41|aHR0cHM6Ly9l){0,12}") {
            let all = decoded_readings(&text).decoded;
            prop_assert!(all.iter().all(|reading| reading.text != text));
            prop_assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        }
    }
}
