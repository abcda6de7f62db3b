//! Host names and numbers in their one canonical form.
//!
//! Strict on purpose: what two resolvers could read in two ways is no host at all.

use alloc::{format, string::String};
use core::net::{Ipv4Addr, Ipv6Addr};
use idna::{
    domain_to_unicode,
    uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46},
};

/// A host and the port that is behind it, if one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPort {
    pub(super) host: String,
    pub(super) port: Option<u16>,
}

impl HostPort {
    /// The canonical form, as in `corp.com` and `corp.com:8080`.
    pub(super) fn text(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }
}

/// Reads `host` or `host:port`.
pub(super) fn host_port(text: &str) -> Option<HostPort> {
    let name_end =
        if text.starts_with('[') { text.find(']')?.checked_add(1)? } else { text.find(':').unwrap_or(text.len()) };
    let (name, behind) = text.split_at_checked(name_end)?;
    let port = match behind.strip_prefix(':') {
        Some(port) => Some(plain_decimal::<u16>(port)?),
        None if behind.is_empty() => None,
        None => return None,
    };
    Some(HostPort { host: canonical_host(name)?, port })
}

/// A name in ASCII, four decimal numbers, or an address of version 6 in brackets.
pub(super) fn canonical_host(text: &str) -> Option<String> {
    if let Some(inner) = text.strip_prefix('[') {
        let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(format!("[{address}]"));
    }
    let plain = text.strip_suffix('.').unwrap_or(text);
    if ends_in_a_number(plain) {
        let address: Ipv4Addr = plain.parse().ok()?;
        return Some(format!("{address}"));
    }
    ascii_host_name(text)
}

/// The ASCII form of a name (UTS #46), without the final dot.
///
/// Only case and the two spellings of a label (Unicode, `xn--`) are equal. A name that the standard
/// would *map* to another, such as one in full-width letters or with invisible characters, is none.
pub(super) fn ascii_host_name(text: &str) -> Option<String> {
    let plain = text.strip_suffix('.').unwrap_or(text);
    let ascii = Uts46::new()
        .to_ascii(plain.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Verify)
        .ok()?;
    let same = |label: &str, ascii: &str| {
        if label.is_ascii() {
            return label.eq_ignore_ascii_case(ascii);
        }
        let (unicode, valid) = domain_to_unicode(ascii);
        valid.is_ok() && label.to_lowercase() == unicode
    };
    let equal = plain.split('.').count() == ascii.split('.').count()
        && plain.split('.').zip(ascii.split('.')).all(|(label, ascii)| same(label, ascii));
    (equal && !ends_in_a_number(&ascii)).then(|| ascii.into_owned())
}

/// A name with at least two labels, as mail needs.
pub(super) fn domain(text: &str) -> Option<String> {
    ascii_host_name(text).filter(|name| name.contains('.') && !text.ends_with('.'))
}

/// Whether the last label is a number in any notation, so that a resolver reads an address of
/// version 4 (URL Standard, "ends in a number checker").
fn ends_in_a_number(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    !last.is_empty() && (hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A number in decimal digits without leading zeros or sign.
fn plain_decimal<N: core::str::FromStr>(text: &str) -> Option<N> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}
