//! Web addresses in their one canonical form.
//!
//! Equality is that of RFC 3986, section 6.2.2: case of scheme and host, percent-encoding of unreserved characters, dot
//! segments; and the default port. Addresses that browsers and other readers take for different places (a backslash, a
//! user name, a tab) have no canonical form.

use super::host::{self, HostPort};
use alloc::{format, string::String, vec::Vec};
use core::fmt::Write;
use proem_text::{character, hex::hex_byte};

/// The reading of a text as a web address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UrlParse {
    Url(Url),
    /// It has a scheme that no answer may use, such as `javascript:`.
    Refused,
    Malformed,
}

/// A web address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    /// `http`, `https`, or nothing for either.
    pub(super) scheme: &'static str,
    pub(super) place: HostPort,
    /// Path, query and fragment.
    pub(super) rest: String,
}

impl Url {
    /// The canonical form; without a scheme it starts with `//`.
    pub(super) fn text(&self) -> String {
        self.with_scheme(self.scheme)
    }

    /// The forms that a trusted text may have for this address: itself. One without a scheme for one with, since
    /// whoever wrote it left that open; and the other way round.
    pub(super) fn accepted(&self) -> impl Iterator<Item = String> {
        let others: &[&str] = if self.scheme.is_empty() { &["https", "http"] } else { &[""] };
        core::iter::once(self.scheme).chain(others.iter().copied()).map(|scheme| self.with_scheme(scheme))
    }

    fn with_scheme(&self, scheme: &str) -> String {
        let colon = if scheme.is_empty() { "" } else { ":" };
        format!("{scheme}{colon}//{}{}", self.place.text(), self.rest)
    }

    /// Whether path, query and fragment are a plain path that names no other place.
    pub(super) fn is_plain_path(&self) -> bool {
        !self.rest.contains(['?', '#', '%', '@', ';']) && !self.rest.contains("//") && !self.rest.contains(":/")
    }
}

/// Reads a web address; without a scheme it is `host/path`.
pub(super) fn parse_url(text: &str) -> UrlParse {
    let ambiguous = |c: char| {
        c.is_whitespace() || c.is_control() || character::is_hidden(c) || matches!(c, '\\' | '<' | '>' | '"' | '`')
    };
    let (scheme, behind) = match scheme(text) {
        Some(("http", rest)) => ("http", rest.strip_prefix("//")),
        Some(("https", rest)) => ("https", rest.strip_prefix("//")),
        Some(_) => return UrlParse::Refused,
        None => ("", Some(text.strip_prefix("//").unwrap_or(text))),
    };
    let url = behind.filter(|_| !text.contains(ambiguous)).and_then(|rest| place_and_rest(scheme, rest));
    url.map_or(UrlParse::Malformed, UrlParse::Url)
}

/// The scheme in lower case, if it is a known one, else some name; and what follows the colon.
///
/// `host:8080` has none.
fn scheme(text: &str) -> Option<(&'static str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    let is_port = rest.starts_with(|c: char| c.is_ascii_digit());
    if !is_name || (is_port && (name.contains('.') || name.eq_ignore_ascii_case("localhost"))) {
        return None;
    }
    let known = ["http", "https"].into_iter().find(|known| name.eq_ignore_ascii_case(known));
    Some((known.unwrap_or("other"), rest))
}

fn place_and_rest(scheme: &'static str, text: &str) -> Option<Url> {
    let (authority, rest) = text.split_at_checked(text.find(['/', '?', '#']).unwrap_or(text.len()))?;
    let mut place = host::host_port(authority)?;
    if matches!((scheme, place.port), ("http", Some(80)) | ("https", Some(443))) {
        place.port = None;
    }
    let (path, tail) = rest.split_at_checked(rest.find(['?', '#']).unwrap_or(rest.len()))?;
    let path = without_dot_segments(&canonical_percent_encoding(path)?);
    Some(Url { scheme, place, rest: format!("{path}{}", canonical_percent_encoding(tail)?) })
}

/// Percent-encoding as RFC 3986 has it: unreserved characters plain, others in upper-case digits.
fn canonical_percent_encoding(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let coded = byte == b'%';
        let byte = if coded { hex_byte([bytes.next()?, bytes.next()?])? } else { byte };
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let reserved = !coded && b"!#$&'()*+,/:;=?@[]".contains(&byte);
        if unreserved || reserved {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").ok()?;
        }
    }
    Some(out)
}

/// RFC 3986, section 5.2.4. An empty path is `/`.
fn without_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let segments = path.strip_prefix('/').unwrap_or(path).split('/');
    let mut ends_in_folder = false;
    for segment in segments {
        ends_in_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            segment => kept.push(segment),
        }
    }
    if ends_in_folder {
        kept.push("");
    }
    format!("/{}", kept.join("/"))
}
