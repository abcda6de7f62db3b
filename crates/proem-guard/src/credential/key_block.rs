//! Private keys as text.

use proem_text::first_bytes;

/// The fewest characters of base64 that a key has: an Ed25519 key of RFC 8410 has 64.
const SHORTEST: usize = 60;
/// The fewest characters of its longest line. Armour has lines of 64 or 76 characters.
const LINE: usize = 40;
/// How far a block goes at most, in bytes: a key of 16,384 bits has about 13,000.
const LONGEST: usize = 32_768;
/// The text before the name of the contents, and before that at its end.
const OPENING: &str = "-----BEGIN ";
const CLOSING: &str = "-----END ";
/// The most bytes of that name.
const MOST_NAME: usize = 80;

/// The length of the block that a text begins with, its last line included; without one, to the end of
/// what reads as base64.
///
/// The text between the lines may be quoted, indented or escaped, as in JSON. A header without a key, as in programs
/// that look for keys, is none.
pub(super) fn key_block_length(text: &str) -> Option<usize> {
    let name = text.strip_prefix("-----BEGIN ")?;
    let (name, _) = name.get(..name.floor_char_boundary(80))?.split_once("-----")?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    if !is_name || !name.contains("PRIVATE KEY") {
        return None;
    }
    let start = 11_usize.saturating_add(name.len()).saturating_add(5);
    let body = text.get(start..)?;
    let body = body.get(..body.floor_char_boundary(LONGEST))?;
    let end = body.find("-----").unwrap_or_else(|| base64_lines_length(body));
    let content = body.get(..end)?;
    if longest_line(content) < LINE || content.bytes().filter(u8::is_ascii_alphanumeric).count() < SHORTEST {
        return None;
    }
    let closing = closing_line(body.get(end..).unwrap_or_default());
    Some(start.saturating_add(end).saturating_add(closing))
}

/// Whether what follows a text decides if it begins a block, or where that ends.
pub(super) fn is_open(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(OPENING) else { return OPENING.starts_with(text) };
    let is_name = |name: &str| name.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'-'));
    let Some((name, body)) = rest.split_once("-----") else { return rest.len() < MOST_NAME && is_name(rest) };
    if name.len() > MOST_NAME || !is_name(name) || !name.contains("PRIVATE KEY") || body.len() >= LONGEST {
        return false;
    }
    match body.find("-----") {
        Some(end) => {
            let closing = body.get(end..).unwrap_or_default();
            match closing.strip_prefix(CLOSING) {
                Some(rest) => rest.len() < MOST_NAME && !rest.contains("-----"),
                None => CLOSING.starts_with(closing),
            }
        }
        // Headers of an encrypted key may stand there, and whatever else a block may have before its last line.
        None => true,
    }
}

/// Whether a text that is known to be open stays so behind `last`, its last character: it is within the lines of a
/// block.
pub(super) fn stays_open(text: &str, last: char) -> bool {
    let header = OPENING.len().saturating_add(MOST_NAME).saturating_add(16);
    let is_inside = last != '-' || !text.ends_with("-----");
    is_inside && (header..LONGEST).contains(&text.len()) && text.starts_with(OPENING)
}

/// The length of `-----END … -----`.
fn closing_line(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("-----END ") else { return 0 };
    let rest = first_bytes(rest, 80);
    rest.find("-----").map_or(0, |name| 9_usize.saturating_add(name).saturating_add(5))
}

/// How far a text reads as lines of base64 in any quoting.
fn base64_lines_length(text: &str) -> usize {
    text.find(|c| !is_key_block_character(c)).unwrap_or(text.len())
}

fn is_key_block_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "+/=\\\"',|>#*".contains(c)
}

/// The longest run of base64.
fn longest_line(text: &str) -> usize {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    text.split(|c| !is_base64(c)).map(str::len).max().unwrap_or(0)
}
