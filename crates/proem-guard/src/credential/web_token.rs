//! JSON Web Tokens in their compact form (RFC 7515, section 7.1).

use super::{Shape, leading_run};

/// The base64url of `{"`, with which header and claims begin.
const OBJECT: &str = "eyJ";
/// The fewest characters of a header and of claims: `{"a":1}` has ten.
const SHORTEST: usize = 10;
/// The fewest characters of a signature: HMAC-SHA256 has 43. Without one a token proves nothing.
const SIGNATURE: usize = 40;

/// The token that a text begins with.
pub(super) fn leading_web_token(text: &str) -> Shape {
    if !text.starts_with(OBJECT) {
        return Shape::NotBegun;
    }
    let header = leading_run(text, is_base64url);
    match (header.len() >= SHORTEST).then(|| behind_header(text, header.len())).flatten() {
        Some(length) => Shape::Credential(length),
        // A token that begins later in the same header is followed by the same.
        None => Shape::NoneIn(header.len()),
    }
}

/// The length of a token whose header has this length.
fn behind_header(text: &str, header: usize) -> Option<usize> {
    let claims = leading_run(text.get(header..)?.strip_prefix('.')?, is_base64url);
    let place = header.saturating_add(claims.len()).saturating_add(2);
    let signature = leading_run(text.get(place.saturating_sub(1)..)?.strip_prefix('.')?, is_base64url);
    let is_token = claims.len() >= SHORTEST && claims.starts_with(OBJECT) && signature.len() >= SIGNATURE;
    is_token.then(|| place.saturating_add(signature.len()))
}

const fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
