//! Undoes transfer encodings (RFC 2045, section 6), as leniently as mail programs do.

use std::borrow::Cow;

use mail_parser::decoders::base64::base64_decode;
use proem_text::hex::hex_byte;

use super::parts::Chunk;

/// A body as it was before it was encoded.
#[derive(Debug)]
pub(super) struct TransferBody<'a> {
    bytes: Cow<'a, [u8]>,
    at: Option<usize>,
    /// Whether the encoding's name means nothing. The body is as it was.
    pub(super) is_unknown: bool,
}

impl TransferBody<'_> {
    pub(super) fn chunk(&self) -> Chunk<'_> {
        Chunk { bytes: &self.bytes, at: self.at }
    }
}

/// Undoes the encoding that is named. An empty name is none.
pub(super) fn decode_transfer<'a>(body: Chunk<'a>, encoding: &str) -> TransferBody<'a> {
    let bytes = match encoding.to_ascii_lowercase().as_str() {
        "base64" => {
            let (data, footer) = without_footer(body.bytes);
            let mut bytes = lenient_base64(data);
            if !footer.is_empty() {
                bytes.push(b'\n');
                bytes.extend_from_slice(footer);
            }
            bytes
        }
        "x-uuencode" | "x-uue" | "uuencode" => uudecode(body.bytes),
        "quoted-printable" => lenient_quoted_printable(body.bytes),
        other => {
            let is_unknown = !matches!(other, "" | "7bit" | "8bit" | "binary");
            return TransferBody { bytes: Cow::Borrowed(body.bytes), at: body.at, is_unknown };
        }
    };
    TransferBody { bytes: Cow::Owned(bytes), at: None, is_unknown: false }
}

/// Data, and what a mailing list added behind it without encoding it: lines from the first on that has other characters
/// than the alphabet, if what is before is whole lines of data and nothing else.
fn without_footer(bytes: &[u8]) -> (&[u8], &[u8]) {
    let is_data = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\r' | b' ' | b'\t');
    let (mut start, mut digits) = (0_usize, 0_usize);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if !text.iter().all(is_data) {
            let is_whole = digits > 0 && digits.is_multiple_of(4);
            return if is_whole { bytes.split_at_checked(start).unwrap_or((bytes, &[])) } else { (bytes, &[]) };
        }
        digits = digits.saturating_add(text.iter().filter(|byte| !byte.is_ascii_whitespace()).count());
        start = start.saturating_add(line.len());
    }
    (bytes, &[])
}

/// The encoding of Unix mail programs before MIME: between `begin MODE NAME` and `end`, lines that begin with their
/// length (POSIX.1-2017, uuencode). Lines outside stay as they are.
fn uudecode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut is_inside = false;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        match text {
            _ if !is_inside && text.starts_with(b"begin ") => is_inside = true,
            b"end" if is_inside => is_inside = false,
            [length, digits @ ..] if is_inside => {
                let sextet = |byte: &u8| byte.wrapping_sub(b' ') & 0x3f;
                let length = usize::from(sextet(length));
                let mut group = Vec::with_capacity(length);
                for four in digits.chunks(4) {
                    let of = |at: usize| four.get(at).map_or(0, sextet);
                    let [a, b, c, d] = [of(0), of(1), of(2), of(3)];
                    group.extend([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
                }
                group.truncate(length);
                out.extend(group);
            }
            _ if is_inside => {}
            _ => out.extend_from_slice(line),
        }
    }
    out
}

/// Characters outside the alphabet are passed over, as the standard wants. The library refuses them.
pub(super) fn lenient_base64(bytes: &[u8]) -> Vec<u8> {
    let mut kept: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut open = 0_usize;
    for byte in bytes {
        match byte {
            b'=' => {
                // One character alone represents nothing.
                if open == 1 {
                    kept.pop();
                } else {
                    kept.push(b'=');
                }
                open = 0;
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => {
                kept.push(*byte);
                open = open.saturating_add(1) % 4;
            }
            _ => {}
        }
    }
    match open {
        1 => _ = kept.pop(),
        2 | 3 => kept.push(b'='),
        _ => {}
    }
    base64_decode(&kept).unwrap_or_default()
}

/// A character that is no escape is literal. The library refuses it.
pub(super) fn lenient_quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'=' {
            out.push(*byte);
            continue;
        }
        let blank = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        match (after, after.get(blank)) {
            // A soft line break, with white space that was added on the way.
            (_, Some(b'\n')) => rest = after.get(blank.saturating_add(1)..).unwrap_or_default(),
            (_, None) => rest = &[],
            ([high, low, after @ ..], _) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.extend(hex_byte([*high, *low]));
                rest = after;
            }
            _ => out.push(b'='),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(encoding: &str, body: &str, expected: &[u8]) {
        let plain = decode_transfer(Chunk::whole(body.as_bytes()), encoding);
        assert_eq!(plain.chunk().bytes, expected, "{encoding} {body:?}");
        assert!(!plain.is_unknown);
    }

    #[test]
    fn encodings_are_undone_leniently() {
        check("Base64", "aGVs\r\nbG8=\r\n", b"hello");
        check("base64", "aG!V-s bG8", b"hello");
        check("base64", "aGk=aGk=", b"hihi");
        check("base64", "aGVsbG8=x", b"hello");
        check("base64", "aGVsx=bG8=", b"hello");
        check("base64", "=", b"");
        check("quoted-printable", "caf=C3=A9 =3d=\r\nx= \t\ny=\r\n", "caf\u{e9} =xy".as_bytes());
        check("QUOTED-PRINTABLE", "a=zzb=4", b"a=zzb=4");
        check("quoted-printable", "a=  b=", b"a=  b");
        check("8bit", "a=41", b"a=41");
        check("x-uuencode", "begin 644 a.txt\r\n%:&5L;&\\\r\n`\r\nend\r\n", b"hello");
        assert!(decode_transfer(Chunk::whole(b"x"), "x-none").is_unknown);
    }

    #[test]
    fn a_footer_that_nobody_encoded_spoils_no_body() {
        check(
            "base64",
            "aGVsbG8=\r\n____\r\nlist mailing list\r\nlist@corp.example\r\n",
            b"hello\n____\r\nlist mailing list\r\nlist@corp.example\r\n",
        );
        check("base64", "aGVs\nbG8h\n-- \nlist", b"hello!\n-- \nlist");
        // In incomplete data, a stray character is one.
        check("base64", "aGV\ns-bG8=", b"hello");
    }
}
