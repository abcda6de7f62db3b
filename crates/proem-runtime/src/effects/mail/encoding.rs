//! How texts are written into a mail: dates, names, encoded words and quoted-printable.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Zoned;
use jiff::fmt::rfc2822;

use super::Mailbox;

/// The most characters of a header's line (RFC 2047, 2, for those with encoded words).
const HEADER_LINE: usize = 76;
/// The most characters of a line of quoted-printable, without its end (RFC 2045, 6.7).
const LINE: usize = 76;
/// How many bytes of a text one encoded word holds: 52 characters of base64 and 12 around them, which leaves room for
/// the name of the header.
const WORD_BYTES: usize = 39;

/// A date as a mail has it. `None` if its year has not four digits.
pub(super) fn mail_date(date: &Zoned) -> Option<String> {
    (1900..=9999).contains(&date.year()).then(|| rfc2822::to_string(date).ok()).flatten()
}

/// An address as a header has it, with its name.
pub(super) fn mailbox_header(mailbox: &Mailbox) -> String {
    let Mailbox { name, address } = mailbox;
    if name.is_empty() {
        return format!("<{address}>");
    }
    // A name of its own line, so that neither it nor the address makes a line too long.
    format!("{}\r\n <{address}>", header_phrase(name))
}

/// A name before an address: quoted if that says it, else encoded.
fn header_phrase(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') && !name.contains("=?");
    if !is_plain || name.len() > 60 {
        return encoded_header_words(name);
    }
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A header's text: as it is if that says it, else encoded. `before` characters are on its first line already.
pub(super) fn unstructured_header(before: usize, text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        && !text.contains("=?")
        && text.trim() == text
        && before + text.len() <= HEADER_LINE;
    if is_plain { text.to_owned() } else { encoded_header_words(text) }
}

/// Encoded words (RFC 2047), each on a line of its own and of whole characters.
fn encoded_header_words(text: &str) -> String {
    let (mut words, mut word) = (Vec::new(), String::new());
    for c in text.chars() {
        if word.len() + c.len_utf8() > WORD_BYTES {
            words.push(core::mem::take(&mut word));
        }
        word.push(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    let encoded = words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
    encoded.collect::<Vec<_>>().join("\r\n ")
}

/// A text as quoted-printable with CRLF at the end of each line, the last one too.
///
/// Every end of a line in the text ends a line of the mail. A dot at the beginning of a line is encoded, so that no
/// server's way of hiding one changes the bytes, and so is the `F` of `From `, which begins a mail in some mailboxes.
pub(super) fn encode_quoted_printable(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 8);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
        encode_line(line, &mut encoded);
        encoded.push_str("\r\n");
    }
    encoded
}

fn encode_line(line: &str, encoded: &mut String) {
    let bytes = line.as_bytes();
    let mut width = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let is_last = at + 1 == bytes.len();
        let is_plain = match byte {
            b' ' | b'\t' => !is_last,
            b'=' => false,
            b'.' => width > 0,
            b'F' => width > 0 || !line.get(at..).is_some_and(|rest| rest.starts_with("From ")),
            byte => byte.is_ascii_graphic(),
        };
        let size = if is_plain { 1 } else { 3 };
        // One character is left for the `=` of a soft break, unless the line ends here.
        if width + size > if is_last { LINE } else { LINE - 1 } {
            encoded.push_str("=\r\n");
            width = 0;
            // A dot that was within the line begins one.
            if byte == b'.' {
                encoded.push_str("=2E");
                width = 3;
                continue;
            }
        }
        if is_plain {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("={byte:02X}"));
        }
        width += size;
    }
}
