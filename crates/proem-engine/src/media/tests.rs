use proptest::prelude::*;

use super::*;
use crate::providers::Providers;

/// A PNG of that size, as far as its header goes.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes
}

#[test]
fn a_type_is_read_off_the_first_bytes() {
    let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08\x01\x02\x03\x04";
    let lossy = b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\x01\0\x9d\x01\x2a\x05\0\x07\0";
    let lossless = b"RIFF\x24\0\0\0WEBPVP8L\x18\0\0\0\x2f\x04\x80\x01\0";
    let extended = b"RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x04\0\0\x06\0\0";
    for (bytes, kind, width, height) in [
        (png(1_024, 768).as_slice(), MediaKind::Png, 1_024, 768),
        (jpeg, MediaKind::Jpeg, 0x304, 0x102),
        (b"GIF89a\x05\0\x07\0", MediaKind::Gif, 5, 7),
        (lossy, MediaKind::Webp, 5, 7),
        (lossless, MediaKind::Webp, 5, 7),
        (extended, MediaKind::Webp, 5, 7),
    ] {
        let facts = MediaFacts::of(bytes).unwrap();
        assert_eq!((facts.kind, facts.width, facts.height), (kind, Some(width), Some(height)));
        assert_eq!(facts.bytes, bytes.len());
    }
    let pdf = b"%PDF-1.7\n<</Type /Pages /Count 2>> <</Type/Page>> <</Type\n /Page /X 1>> <</Type/PageLabel>>";
    assert_eq!(MediaFacts::of(pdf).unwrap().pages, Some(2));
    assert_eq!(MediaFacts::of(b"%PDF-1.7\n").unwrap().pages, None);
}

#[test]
fn bytes_that_are_no_picture_say_why() {
    for (bytes, expected) in [
        (b"".as_slice(), MediaFault::Empty),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", MediaFault::Text),
        (b"\xef\xbb\xbf<?xml version='1.0'?><svg/>", MediaFault::Text),
        (b"II*\0\x08\0\0\0", MediaFault::Unknown),
        (b"\0\0\0\x20ftypheic", MediaFault::Unknown),
        (b"\x89PNG\n\x1a\n", MediaFault::Unknown),
        (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0", MediaFault::Broken(MediaKind::Png)),
        (b"\xff\xd8\xff\xe0\xff\xff", MediaFault::Broken(MediaKind::Jpeg)),
        (b"\xff\xd8\xff\xda\0\x02", MediaFault::Broken(MediaKind::Jpeg)),
        (b"GIF89a\0\0\0\0", MediaFault::Broken(MediaKind::Gif)),
        (b"RIFF\0\0\0\0WEBPXXXX", MediaFault::Broken(MediaKind::Webp)),
    ] {
        assert_eq!(MediaFacts::of(bytes), Err(expected), "{bytes:?}");
    }
    assert_eq!(MediaFacts::of(&png(0, 5)), Err(MediaFault::Broken(MediaKind::Png)));
}

#[test]
fn an_address_from_outside_is_never_fetched() {
    let png = data_address(&png(8, 8)).unwrap();
    let check = |address: &str, author, expected: &str| {
        let found = find_media(address, author, None);
        let found = found.map_or_else(|why| why, |found| format!("{:?}", found.source.is_image()));
        assert!(found.starts_with(expected), "{address}: {found}");
    };
    check(&png, AddressAuthor::Outside, "true");
    check(&png.replace("image/png", "IMAGE/JPEG"), AddressAuthor::Outside, "true");
    check("https://example.com/a.png", AddressAuthor::Trusted, "true");
    check("https://example.com/a.png", AddressAuthor::Outside, "is a web address from outside");
    check("https://example.com/a b", AddressAuthor::Trusted, "is no web address");
    for address in ["http://example.com/a.png", "file:///etc/passwd", "../x.png", "", "ftp://x", "blob:x", "https://"] {
        check(address, AddressAuthor::Trusted, "is neither a file's data nor an https address");
    }
    check("data:image/png;base64,!!!!", AddressAuthor::Trusted, "is not well-formed Base64");
    check("data:image/png,abc", AddressAuthor::Trusted, "is not in Base64");
    check("data:image/png;base64", AddressAuthor::Trusted, "has no comma");
    check("data:image/svg+xml;base64,PHN2Zy8+", AddressAuthor::Trusted, "is a text and no picture");
}

#[test]
fn pictures_count_as_their_providers_publish() {
    let providers = Providers::load().unwrap();
    let tokens = |model: &str, width: u32, height: u32| {
        let facts = MediaFacts::of(&png(width, height)).unwrap();
        providers.model(model).unwrap().media.tokens(&MediaSource::Inline(facts))
    };
    for (model, width, height, expected) in [
        // 1,000 × 1,000 has 36 × 36 squares of 28 pixels.
        ("claude-haiku-4-5", 1_000, 1_000, 1_296),
        ("claude-haiku-4-5", 4_000, 4_000, 1_568),
        ("claude-opus-5", 4_000, 4_000, 4_784),
        ("claude-haiku-4-5", 1, 1, 1),
        // OpenAI's own examples: 1,024 × 1,024 is four tiles, 2,048 × 4,096 is six.
        ("gpt-4o", 1_024, 1_024, 765),
        ("gpt-4o", 2_048, 4_096, 1_105),
        ("gpt-4o-mini", 1_024, 1_024, 2_833 + 4 * 5_667),
        // 1,024 × 1,024 has 1,024 squares of 32 pixels, each 1.62 tokens.
        ("gpt-5-mini", 1_024, 1_024, 1_659),
        ("gpt-4o", u32::MAX, 1, 85 + 170 * 4),
    ] {
        assert_eq!(tokens(model, width, height), expected, "{model} {width} × {height}");
    }
}

proptest! {
    /// Nobody is charged more than the bound says, whatever a header claims.
    #[test]
    fn an_estimate_is_never_above_the_bound(width in 1_u32.., height in 1_u32..) {
        let source = MediaSource::Inline(MediaFacts::of(&png(width, height)).unwrap());
        for model in Providers::load().unwrap().models() {
            prop_assert!(model.media.tokens(&source) <= model.media.most_tokens(&source), "{}", model.name);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(head in 0_usize..7, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let heads: [&[u8]; 7] =
            [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"%PDF-", b"RIFF\0\0\0\0WEBPVP8 ", b"RIFF\0\0\0\0WEBPVP8L"];
        let bytes = [heads[head], &bytes].concat();
        if let Ok(facts) = MediaFacts::of(&bytes) {
            prop_assert_eq!(facts.kind.is_image(), facts.width.is_some());
            let address = data_address(&bytes).unwrap();
            let found = find_media(&address, AddressAuthor::Outside, None).unwrap();
            prop_assert_eq!(found.source, MediaSource::Inline(facts));
        }
    }
}
