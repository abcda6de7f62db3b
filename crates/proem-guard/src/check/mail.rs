//! Recipients: mail addresses and handles in their one canonical form.

use super::host;
use alloc::{format, string::String};
use proem_text::{character, normalise_text};

/// The most bytes before the `@` (RFC 5321, section 4.5.3.1.1).
const MAX_LOCAL: usize = 64;
/// More bytes than any handle has.
const MAX_HANDLE: usize = 64;

/// A recipient as a field gives it: an address, with a display name or without, or a handle.
pub(super) fn canonical_recipient(text: &str) -> Option<String> {
    let text = text.trim_matches(' ');
    if text.chars().any(character::is_hidden) {
        return None;
    }
    let is_handle = !text.trim_start_matches('@').contains('@') && !text.contains('<');
    if is_handle { handle(text) } else { canonical_mailbox(text) }
}

/// `name <address>` or `address` (RFC 5322, section 3.4, without comments and groups).
fn canonical_mailbox(text: &str) -> Option<String> {
    let Some(rest) = text.strip_suffix('>') else { return canonical_address(text) };
    let (display, inside) = rest.rsplit_once('<')?;
    let display = display.trim_matches(' ');
    let quoted = display.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let refused: &[char] = if quoted.is_some() {
        &['@', '<', '>', '"', '\\']
    } else {
        &['@', '<', '>', '"', '\\', ',', ';', ':', '(', ')']
    };
    let plain = !quoted.unwrap_or(display).contains(refused);
    plain.then(|| canonical_address(inside)).flatten()
}

/// `local@domain`: the local part in lower-case ASCII, the domain as resolved.
///
/// Nothing is dropped: `a+x@corp.com` is another address than `a@corp.com`. Quoted local parts,
/// comments and address literals are refused.
pub(super) fn canonical_address(text: &str) -> Option<String> {
    let (local, domain) = text.split_once('@')?;
    let plain = !local.is_empty()
        && local.len() <= MAX_LOCAL
        && local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom))
        && (local.is_ascii() || normalise_text(local).text == local);
    let domain = plain.then(|| host::domain(domain)).flatten()?;
    Some(format!("{}@{domain}", local.to_ascii_lowercase()))
}

/// `@name`, `name` or `#channel`, in lower-case ASCII; without a sigil it is a name.
pub(super) fn handle(text: &str) -> Option<String> {
    let (sigil, name) = match text.strip_prefix('#') {
        Some(name) => ('#', name),
        None => ('@', text.strip_prefix('@').unwrap_or(text)),
    };
    let plain = name.len() <= MAX_HANDLE
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':'));
    plain.then(|| format!("{sigil}{}", name.to_ascii_lowercase()))
}

/// `atext` of RFC 5322, section 3.2.3, with the letters that RFC 6532 adds.
pub(super) fn is_atom(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    }
    c.is_alphanumeric() || character::is_mark(c)
}
