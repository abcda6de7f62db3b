//! Writes values into addresses.

/// The characters that stand for themselves in any part of an address (RFC 3986, section 2.3).
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// A text as one path segment, or one value of a query.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// An address with a query.
pub(super) fn address_with(path: &str, query: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", percent_encoded(name), percent_encoded(value))).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}
