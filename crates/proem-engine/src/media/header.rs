//! Types and dimensions of files, read off their headers.
//!
//! Each reader goes forward through the bytes and looks at each once at most.

use super::{MediaFault, MediaKind};

/// The first bytes of each type:
/// <https://www.w3.org/TR/png-3/#5PNG-file-signature>, <https://www.w3.org/Graphics/JPEG/itu-t81.pdf> (B.1.1.3),
/// <https://www.w3.org/Graphics/GIF/spec-gif89a.txt>, <https://developers.google.com/speed/webp/docs/riff_container>,
/// ISO 32000-1, 7.5.2.
const SIGNATURES: [(&[u8], MediaKind); 5] = [
    (b"\x89PNG\r\n\x1a\n", MediaKind::Png),
    (b"\xff\xd8\xff", MediaKind::Jpeg),
    (b"GIF87a", MediaKind::Gif),
    (b"GIF89a", MediaKind::Gif),
    (b"%PDF-", MediaKind::Pdf),
];

/// The type of a file by its first bytes.
pub(super) fn kind_of(bytes: &[u8]) -> Result<MediaKind, MediaFault> {
    if bytes.is_empty() {
        return Err(MediaFault::Empty);
    }
    if let Some((_, kind)) = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature)) {
        return Ok(*kind);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Ok(MediaKind::Webp);
    }
    // Git calls a file binary that has a zero within its first bytes.
    let head = bytes.get(..8_000).unwrap_or(bytes);
    Err(if head.contains(&0) || head.starts_with(b"\x89PNG") { MediaFault::Unknown } else { MediaFault::Text })
}

/// Width and height of a picture in pixels. Neither is zero.
pub(super) fn dimensions(kind: MediaKind, bytes: &[u8]) -> Option<(u32, u32)> {
    let (width, height) = match kind {
        MediaKind::Png => {
            (bytes.get(12..16)? == b"IHDR").then_some((big_endian(bytes, 16, 4)?, big_endian(bytes, 20, 4)?))?
        }
        MediaKind::Gif => (little_endian(bytes, 6, 2)?, little_endian(bytes, 8, 2)?),
        MediaKind::Jpeg => jpeg_size(bytes)?,
        MediaKind::Webp => webp_size(bytes)?,
        MediaKind::Pdf => return None,
    };
    (width > 0 && height > 0).then_some((width, height))
}

/// The frame header of a JPEG, behind any number of segments that say how long they are.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2_usize;
    loop {
        // Any number of fill bytes may be before a marker.
        while bytes.get(at) == Some(&0xff) && bytes.get(at.checked_add(1)?) == Some(&0xff) {
            at = at.checked_add(1)?;
        }
        let marker = (*bytes.get(at)? == 0xff).then(|| bytes.get(at.saturating_add(1)).copied())??;
        at = at.checked_add(2)?;
        match marker {
            // SOF0 to SOF15 without DHT, JPG and DAC, which are between them.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big_endian(bytes, at.checked_add(5)?, 2)?, big_endian(bytes, at.checked_add(3)?, 2)?));
            }
            // Markers without a segment.
            0x01 | 0xd0..=0xd7 => {}
            // The picture's data, or its end, before any frame.
            0xd8..=0xda => return None,
            _ => {
                let length = usize::try_from(big_endian(bytes, at, 2)?).ok()?;
                at = at.checked_add(length.max(2))?;
            }
        }
    }
}

/// The first chunk of a WebP, which is one of three: <https://datatracker.ietf.org/doc/html/rfc9649>.
fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => {
            Some((little_endian(bytes, 24, 3)?.saturating_add(1), little_endian(bytes, 27, 3)?.saturating_add(1)))
        }
        b"VP8L" => {
            let packed = (*bytes.get(20)? == 0x2f).then(|| little_endian(bytes, 21, 4))??;
            Some(((packed & 0x3fff).saturating_add(1), ((packed >> 14) & 0x3fff).saturating_add(1)))
        }
        b"VP8 " => {
            (bytes.get(23..26)? == [0x9d, 0x01, 0x2a]).then_some(())?;
            Some((little_endian(bytes, 26, 2)? & 0x3fff, little_endian(bytes, 28, 2)? & 0x3fff))
        }
        _ => None,
    }
}

/// The pages of a PDF whose page objects are there uncompressed. `None` where none does.
pub(super) fn count_pages(bytes: &[u8]) -> Option<u32> {
    const KEY: &[u8] = b"/Type";
    let mut count = 0_u32;
    let mut at = 0_usize;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'/')) {
        at = at.saturating_add(found);
        let rest = bytes.get(at..).unwrap_or_default();
        at = at.saturating_add(1);
        let Some(value) = rest.strip_prefix(KEY) else { continue };
        let blanks = value.iter().take(MAX_BLANKS).take_while(|byte| byte.is_ascii_whitespace()).count();
        let Some(behind) = value.get(blanks..).and_then(|value| value.strip_prefix(b"/Page")) else { continue };
        if !behind.first().is_some_and(u8::is_ascii_alphanumeric) {
            count = count.saturating_add(1);
        }
    }
    (count > 0).then_some(count)
}

/// The most blanks between a key and its value that are read past.
const MAX_BLANKS: usize = 16;

/// A number of so many bytes, the highest first.
fn big_endian(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(count)?)?;
    Some(bytes.iter().fold(0, |number: u32, byte| (number << 8) | u32::from(*byte)))
}

/// A number of so many bytes, the lowest first.
fn little_endian(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(count)?)?;
    Some(bytes.iter().rev().fold(0, |number: u32, byte| (number << 8) | u32::from(*byte)))
}
