//! Several needles in one pass, by the shift table of Wu and Manber (*A fast algorithm for
//! multi-pattern searching*, University of Arizona TR-94-17, 1994).
//!
//! A text is read in steps of almost the shortest needle's length, because most pairs of bytes are
//! in no needle.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The fewest bytes but space that a secret has to be searched for without it.
const SHORTEST_BARE: usize = 12;

pub(super) struct NeedleSearch {
    needles: Vec<Needle>,
    /// The length of the window: the shortest needle's.
    window: usize,
    /// By pair of bytes: how far the window may move when the pair is at its end. A byte each, so that the table is
    /// made and read from a processor's nearest memory.
    shifts: Vec<u8>,
}

/// A way in which a secret may be in a text.
struct Needle {
    /// Which secret it is.
    secret: usize,
    bytes: Vec<u8>,
}

impl NeedleSearch {
    /// A search for secrets of at least two bytes, as they are and in base64.
    pub(super) fn new<'s>(secrets: impl Iterator<Item = &'s [u8]>) -> Self {
        let mut needles = Vec::new();
        for (secret, value) in secrets.enumerate() {
            needles.push(Needle { secret, bytes: value.to_vec() });
            for before in 0..3 {
                let standard = base64_core(value, before);
                let url: Vec<u8> = standard.iter().map(|byte| url_safe(*byte)).collect();
                if url != standard {
                    needles.push(Needle { secret, bytes: url });
                }
                needles.push(Needle { secret, bytes: standard });
            }
        }
        Self::of(needles)
    }

    /// A search in what is left of a text without space and capitals: for secrets as they are, in
    /// hexadecimal digits and turned round, all without space and capitals too.
    pub(super) fn folded<'s>(secrets: impl Iterator<Item = &'s [u8]>) -> Self {
        let mut needles = Vec::new();
        for (secret, value) in secrets.enumerate() {
            let mut bare = value.to_ascii_lowercase();
            bare.retain(|byte| !byte.is_ascii_whitespace());
            // Little but space is everywhere.
            if bare.len() >= SHORTEST_BARE {
                let turned = reversed_value(&bare);
                needles.extend([bare, turned].map(|bytes| Needle { secret, bytes }));
            }
            needles.push(Needle { secret, bytes: hex_value(value) });
        }
        Self::of(needles)
    }

    fn of(needles: Vec<Needle>) -> Self {
        let window = needles.iter().map(|needle| needle.bytes.len()).min().unwrap_or(0);
        let byte = |shift: usize| u8::try_from(shift).unwrap_or(u8::MAX);
        let pairs = window.saturating_sub(1);
        let mut shifts = vec![byte(pairs.max(1)); 1 << 16];
        for needle in &needles {
            for (place, pair) in needle.bytes.windows(2).take(pairs).enumerate() {
                let &[first, second] = pair else { continue };
                let shift = byte(window.saturating_sub(place).saturating_sub(2));
                if let Some(known) = shifts.get_mut(index(first, second)) {
                    *known = shift.min(*known);
                }
            }
        }
        Self { needles, window, shifts }
    }

    /// The needles, each with which secret it is.
    pub(super) fn needles(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.needles.iter().map(|needle| (needle.secret, needle.bytes.as_slice()))
    }

    /// Which secret is in `text`.
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        let mut end = self.window;
        while let Some(&[first, second]) = end.checked_sub(2).and_then(|pair| text.get(pair..end)) {
            let shift = self.shifts.get(index(first, second)).copied().unwrap_or(1);
            if shift > 0 {
                end = end.saturating_add(usize::from(shift));
                continue;
            }
            let rest = text.get(end.saturating_sub(self.window)..).unwrap_or_default();
            if let Some(needle) = self.needles.iter().find(|needle| rest.starts_with(&needle.bytes)) {
                return Some(needle.secret);
            }
            end = end.saturating_add(1);
        }
        None
    }
}

/// The value from its last character to its first.
fn reversed_value(value: &[u8]) -> Vec<u8> {
    match core::str::from_utf8(value) {
        Ok(text) => text.chars().rev().collect::<String>().into_bytes(),
        Err(_) => value.iter().rev().copied().collect(),
    }
}

fn hex_value(value: &[u8]) -> Vec<u8> {
    proem_text::hex::encode_hex(value).into_bytes()
}

fn index(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}

/// The characters of base64 that depend on `value` alone when `before` bytes are before it, taken modulo 3: those whose
/// six bits all come from it.
fn base64_core(value: &[u8], before: usize) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend(value);
    let text = STANDARD_NO_PAD.encode(&bytes);
    let first = before.saturating_mul(8).div_ceil(6);
    let end = bytes.len().saturating_mul(8).div_euclid(6);
    text.into_bytes().get(first..end).unwrap_or_default().to_vec()
}

/// The other alphabet: RFC 4648, section 5.
const fn url_safe(byte: u8) -> u8 {
    match byte {
        b'+' => b'-',
        b'/' => b'_',
        byte => byte,
    }
}
