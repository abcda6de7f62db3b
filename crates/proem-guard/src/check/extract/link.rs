//! Destinations of links: Markdown's inline links, images and reference definitions, HTML's
//! attributes, CSS's `url(…)`.
//!
//! The start of a destination is recognised without parsing its surroundings, so that no broken markup before it can
//! hide it.

use super::{MAX_LINK, MAX_TOKENS, ValueMentions, plain};
use crate::check::ReferentKind;
use alloc::string::String;
use proem_text::Span;

/// Attributes that hold an address, styles with addresses, or a refresh (HTML Standard, index of
/// attributes; the rest are old or SVG's).
const ATTRIBUTES: [&str; 19] = [
    "action",
    "archive",
    "background",
    "cite",
    "classid",
    "codebase",
    "data",
    "data-src",
    "dynsrc",
    "formaction",
    "href",
    "icon",
    "longdesc",
    "lowsrc",
    "manifest",
    "ping",
    "poster",
    "profile",
    "src",
];
const MIXED_ATTRIBUTES: [&str; 5] = ["content", "imagesrcset", "srcdoc", "srcset", "style"];

/// Mentions that reach many people at once, in Slack's messages.
const BROADCASTS: [&str; 4] = ["!channel", "!here", "!everyone", "!subteam"];

/// Adds every destination that leads somewhere else.
pub(super) fn add_destinations<'a>(text: &'a str, tokens: &mut ValueMentions<'a>) {
    let mut seen = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        let opening = match byte {
            b'(' if ends_with(text, at, "]") || ends_with(text, at, "url") => LinkSyntax::Bracket,
            b':' if ends_with(text, at, "]") => LinkSyntax::Definition,
            b'=' => match link_attribute(text, at) {
                Some(opening) => opening,
                None => continue,
            },
            b'<' => LinkSyntax::Tag,
            b'|' | b'[' | b'!' if is_share(text, at) => LinkSyntax::Wiki,
            _ => continue,
        };
        let start = at.saturating_add(1);
        let start = if opening == LinkSyntax::Tag { start } else { skip_blank(text, start) };
        let span = destination_span(text, start, opening);
        if span.is_empty() {
            continue;
        }
        // A text in `<…>` ends at the next `<`, so it is read once at most.
        seen = seen.saturating_add(usize::from(opening != LinkSyntax::Tag));
        if seen > MAX_TOKENS {
            tokens.too_many = true;
            return;
        }
        add_destination(text, span, opening, tokens);
    }
}

/// The syntax before a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkSyntax {
    /// `](` or `url(`.
    Bracket,
    /// `]:`
    Definition,
    /// `href=` and its like.
    Attribute,
    /// `style=` and its like, which hold more than an address.
    Mixed,
    /// `<`
    Tag,
    /// `[text|`, `[` or `!` of wikis, before two slashes.
    Wiki,
}

/// Whether two slashes of either kind follow.
fn is_share(text: &str, at: usize) -> bool {
    let next = |ahead: usize| text.as_bytes().get(at.saturating_add(ahead));
    matches!((next(1), next(2)), (Some(b'/' | b'\\'), Some(b'/' | b'\\')))
}

fn ends_with(text: &str, at: usize, what: &str) -> bool {
    at.checked_sub(what.len()).and_then(|start| text.get(start..at)).is_some_and(|end| end.eq_ignore_ascii_case(what))
}

/// The place of the next character that isn't blank. At most 64 bytes ahead.
fn skip_blank(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let blank = rest.iter().take(64).take_while(|byte| **byte <= b' ').count();
    at.saturating_add(blank)
}

/// The known attribute whose name is before the `=`.
fn link_attribute(text: &str, at: usize) -> Option<LinkSyntax> {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let blank = before.iter().rev().take(16).take_while(|byte| byte.is_ascii_whitespace()).count();
    let end = at.saturating_sub(blank);
    let len = before
        .get(..end)
        .unwrap_or_default()
        .iter()
        .rev()
        .take(16)
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'-')
        .count();
    let name = text.get(end.saturating_sub(len)..end)?;
    let is_in = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let mixed = is_in(&MIXED_ATTRIBUTES).then_some(LinkSyntax::Mixed);
    mixed.or_else(|| is_in(&ATTRIBUTES).then_some(LinkSyntax::Attribute))
}

/// The destination that starts here: up to its closing quote or bracket, or to a blank.
fn destination_span(text: &str, start: usize, opening: LinkSyntax) -> Span {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let (skipped, close): (usize, &[u8]) = match rest.first() {
        _ if opening == LinkSyntax::Tag => (0, b"<> \t\r\n"),
        _ if opening == LinkSyntax::Wiki => (0, b"]|! \t\r\n"),
        Some(b'<') => (1, b">"),
        Some(b'"') => (1, b"\""),
        Some(b'\'') => (1, b"'"),
        _ => (0, b" \t\r\n>"),
    };
    let start = start.saturating_add(skipped);
    let body = rest.get(skipped..).unwrap_or_default();
    let mut depth = 0_usize;
    let ends = |byte: &u8| {
        if opening == LinkSyntax::Bracket && skipped == 0 {
            match byte {
                b'(' => depth = depth.saturating_add(1),
                b')' if depth == 0 => return true,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        close.contains(byte)
    };
    let mut len = body.iter().take(MAX_LINK).position(ends).unwrap_or(body.len().min(MAX_LINK));
    // A definition may also be a sentence with a note in brackets, which ends with a stop.
    while opening == LinkSyntax::Definition
        && skipped == 0
        && len > 0
        && body.get(len.saturating_sub(1)).is_some_and(|byte| b".,;:!?".contains(byte))
    {
        len = len.saturating_sub(1);
    }
    Span::new(start, text.floor_char_boundary(start.saturating_add(len)))
}

/// Adds a destination that leads away, and the pieces of one that has several.
fn add_destination<'a>(text: &'a str, span: Span, opening: LinkSyntax, tokens: &mut ValueMentions<'a>) {
    let whole = text.get(span.start..span.end).unwrap_or_default();
    // As in the URL Standard: blanks and controls around it, tabs and line breaks in it don't count.
    let followed: String = whole.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let followed = followed.trim_matches(|c: char| c <= ' ');
    if opening == LinkSyntax::Mixed {
        for piece in followed.split([',', ';', ' ', '=', '\'', '"']).filter(|piece| plain::leads_away_surely(piece)) {
            tokens.push(ReferentKind::Url, span, String::from(piece));
        }
    } else if opening == LinkSyntax::Tag && BROADCASTS.iter().any(|broadcast| followed.starts_with(broadcast)) {
        tokens.push(ReferentKind::Recipient, span, String::from(followed));
    } else if leads_away(followed) && !(opening == LinkSyntax::Tag && followed.starts_with('/')) {
        match plain::mailto(followed) {
            Some(address) => tokens.push(ReferentKind::Recipient, span, String::from(address)),
            None => tokens.push(ReferentKind::Url, span, String::from(followed)),
        }
    }
}

/// Whether a destination names another place: by a scheme, or by two slashes of either kind.
fn leads_away(text: &str) -> bool {
    plain::leads_away_surely(text) || plain::scheme_len(text).is_some_and(|len| text.len() > len.saturating_add(1))
}
