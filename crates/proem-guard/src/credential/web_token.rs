//! JSON Web Tokens in their compact form (RFC 7515, section 7.1).

/// What base64url makes of `{"`, with which header and claims begin.
const OBJECT: &str = "eyJ";
/// The fewest characters of a header and of claims: `{"a":1}` has ten.
const SHORTEST: usize = 10;
/// The fewest characters of a signature: HMAC-SHA256 has 43. Without one a token proves nothing.
const SIGNATURE: usize = 40;

/// The length of the token that a text begins with.
pub(super) fn length(text: &str) -> Option<usize> {
    let header = part(text)?;
    let claims = part(text.get(header.len()..)?.strip_prefix('.')?)?;
    let place = header.len().saturating_add(claims.len()).saturating_add(2);
    let signature = super::run(text.get(place.saturating_sub(1)..)?.strip_prefix('.')?, is_base64url);
    let is_token = header.starts_with(OBJECT) && claims.starts_with(OBJECT) && signature.len() >= SIGNATURE;
    is_token.then(|| place.saturating_add(signature.len()))
}

fn part(text: &str) -> Option<&str> {
    Some(super::run(text, is_base64url)).filter(|part| part.len() >= SHORTEST)
}

const fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
