//! Pages: the source is the text, in the character set that the page declares.

use super::{collect::Collector, push_whole};

/// The bytes within which a page must declare its character set (HTML, section 4.2.5.4).
const DECLARED_WITHIN: usize = 1024;

/// Adds the page's source as one field.
pub(super) fn read_html(bytes: &[u8], collector: &mut Collector<'_>) {
    let declared = declared_charset(bytes);
    if let Some(decoded) = collector.decode("", bytes, declared.as_deref()) {
        push_whole(decoded, collector);
    }
}

/// The character set that a `meta` element names. UTF-16 can't be what it is, since it was read,
/// and UTF-7 is none of a page's (HTML, section 13.2.3.3): both count as not declared.
pub(super) fn declared_charset(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..DECLARED_WITHIN).unwrap_or(bytes).to_ascii_lowercase();
    let at = start.windows(8).position(|window| window == b"charset=")?;
    let rest = start.get(at.saturating_add(8)..)?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let name: String = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'))
        .map(|byte| char::from(*byte))
        .collect();
    (!name.is_empty() && !name.starts_with("utf-16") && !name.starts_with("utf-7")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_declares_its_character_set() {
        for (page, expected) in [
            ("<meta charset=\"Shift_JIS\">", Some("shift_jis")),
            ("<meta http-equiv=content-type content='text/html; charset=windows-1251'>", Some("windows-1251")),
            ("<meta charset= latin1 >", Some("latin1")),
            ("<meta charset=utf-7>", None),
            ("<meta charset=utf-16le>", None),
            ("<meta charset=>", None),
            ("<p>none", None),
        ] {
            assert_eq!(declared_charset(page.as_bytes()).as_deref(), expected, "{page}");
        }
        let late = format!("{}<meta charset=latin1>", " ".repeat(DECLARED_WITHIN));
        assert_eq!(declared_charset(late.as_bytes()), None);
    }
}
