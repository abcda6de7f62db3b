//! Web addresses, mail addresses, handles and bare hosts in running text.

use super::ValueMentions;
use crate::check::{ReferentKind, mail};
use alloc::vec::Vec;
use proem_text::{Span, character};
use unicode_script::{Script, UnicodeScript};

/// Schemes that lead to a host even without slashes (URL Standard, "special scheme").
const WEB: [&str; 6] = ["http", "https", "ftp", "ws", "wss", "file"];
/// Schemes without a host that do something when they are followed.
const ACTIVE: [&str; 14] = [
    "javascript",
    "vbscript",
    "data",
    "blob",
    "tel",
    "sms",
    "callto",
    "facetime",
    "skype",
    "intent",
    "view-source",
    "jar",
    "ms-msdt",
    "search-ms",
];
/// The longest scheme that is looked for.
const MAX_SCHEME: usize = 32;
/// The most bytes before an `@` that can belong to an address.
const MAX_LOCAL: usize = 256;

/// File extensions that are no top-level domains, so that `report.pdf` is no host. Everything else
/// with a dot and letters behind it is taken for one: what is a domain tomorrow can't be known.
const EXTENSIONS: [&str; 59] = [
    "avi", "bak", "bat", "bin", "bmp", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "dll", "doc", "docx", "eml",
    "env", "exe", "gif", "gz", "hpp", "htm", "html", "ini", "ipynb", "jar", "java", "jpeg", "jpg", "js", "json",
    "jsonl", "jsx", "kt", "lock", "log", "msg", "odt", "pdf", "php", "png", "ppt", "pptx", "proto", "rb", "rtf", "sql",
    "svg", "tar", "tex", "tmp", "toml", "ts", "tsx", "txt", "xls", "xlsx", "xml", "yaml",
];

/// Adds every address in running text, none inside another.
pub(super) fn add_plain_addresses<'a>(text: &'a str, tokens: &mut ValueMentions<'a>) {
    let mut taken: Vec<Span> = Vec::new();
    web(text, &mut taken, tokens);
    let gaps = gaps_between(text, &taken);
    for gap in gaps {
        mails(text, gap, &mut taken, tokens);
    }
    taken.sort_unstable();
    for gap in self::gaps_between(text, &taken) {
        add_bare_hosts(text, gap, tokens);
    }
}

/// The gaps between the spans, which are in order.
fn gaps_between(text: &str, taken: &[Span]) -> Vec<Span> {
    let starts = core::iter::once(0).chain(taken.iter().map(|span| span.end));
    let ends = taken.iter().map(|span| span.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| Span::new(start, end)).filter(|gap| !gap.is_empty()).collect()
}

/// Whether a text starts with a scheme that is known to lead away, or with two slashes.
pub(super) fn leads_away_surely(text: &str) -> bool {
    let mut start = text.chars();
    if let (Some('/' | '\\'), Some('/' | '\\')) = (start.next(), start.next()) {
        return true;
    }
    let name = scheme_len(text).and_then(|len| text.get(..len));
    name.is_some_and(|name| WEB.iter().chain(&ACTIVE).any(|known| name.eq_ignore_ascii_case(known)))
}

/// The length of the scheme's name that a text starts with.
pub(super) fn scheme_len(text: &str) -> Option<usize> {
    let len = text.bytes().take(MAX_SCHEME).take_while(|byte| is_scheme_byte(*byte)).count();
    let named = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.get(len..)?.starts_with(':');
    named.then_some(len)
}

/// The text behind `mailto:`.
pub(super) fn mailto(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    scheme.eq_ignore_ascii_case("mailto").then_some(rest)
}

const fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Addresses with a scheme.
fn web<'a>(text: &'a str, taken: &mut Vec<Span>, tokens: &mut ValueMentions<'a>) {
    let mut done = 0;
    for (colon, byte) in text.bytes().enumerate() {
        if colon < done {
            continue;
        }
        let found = match byte {
            b':' => with_scheme(text, done, colon),
            b'\\' => network_share(text, colon),
            _ => None,
        };
        if let Some((kind, span, body)) = found {
            tokens.push(kind, span, text.get(body..span.end).unwrap_or_default());
            taken.push(span);
            done = span.end;
        }
    }
}

/// The address around a colon: its kind, its span, and where what counts starts.
fn with_scheme(text: &str, from: usize, colon: usize) -> Option<(ReferentKind, Span, usize)> {
    let before = text.get(from..colon).unwrap_or_default();
    let len = before.bytes().rev().take(MAX_SCHEME).take_while(|byte| is_scheme_byte(*byte)).count();
    let name = before.get(before.len().saturating_sub(len)..)?;
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    // `end.https://…`: what is before the last dot belongs to the sentence.
    let last = name.rsplit(['.', '+', '-']).next().unwrap_or(name);
    let is_one_of = |names: &[&str], name: &str| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let name = if is_one_of(&WEB, last) || last.eq_ignore_ascii_case("mailto") { last } else { name };
    let body = colon.saturating_add(1);
    let rest = text.get(body..)?;
    let first = rest.chars().next().filter(|c| !c.is_whitespace())?;
    let is_slash = |c: Option<char>| matches!(c, Some('/' | '\\'));
    let start = colon.saturating_sub(name.len());
    let is_mail = name.eq_ignore_ascii_case("mailto");
    // `data:` is a word too. An address of that scheme has a comma behind its type.
    let is_data =
        || rest.bytes().take(MAX_LOCAL).take_while(|byte| !byte.is_ascii_whitespace()).any(|byte| byte == b',');
    let leads = is_mail
        || (is_one_of(&WEB, name) && (first.is_alphanumeric() || matches!(first, '/' | '\\' | '[' | '%')))
        || (is_one_of(&ACTIVE, name) && (!name.eq_ignore_ascii_case("data") || is_data()))
        || (!name.is_empty() && is_slash(Some(first)) && is_slash(rest.chars().nth(1)));
    if !leads {
        return None;
    }
    let end = end_of_address(text, body);
    let kind = if is_mail { ReferentKind::Recipient } else { ReferentKind::Url };
    (end > body).then_some((kind, Span::new(start, end), if is_mail { body } else { start }))
}

/// A share as in `\\host\name`.
fn network_share(text: &str, at: usize) -> Option<(ReferentKind, Span, usize)> {
    let rest = text.get(at..)?.strip_prefix("\\\\")?;
    let len = rest
        .bytes()
        .take(256)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'@'))
        .count();
    let is_share = len > 0 && rest.get(len..)?.starts_with('\\');
    is_share.then(|| (ReferentKind::Url, Span::new(at, end_of_address(text, at)), at))
}

/// The end of an address that goes on at `from`. In its host, only a sign that no reader takes for a part of it ends
/// it. Punctuation at the end belongs to the sentence.
fn end_of_address(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let (mut round, mut square) = (0_usize, 0_usize);
    let (mut in_slashes, mut in_host) = (true, true);
    let mut len = rest.len();
    for (at, c) in rest.char_indices() {
        in_slashes = in_slashes && is_slash(c);
        in_host = in_host && (in_slashes || !matches!(c, '/' | '\\' | '?' | '#'));
        let closes = match c {
            '(' => {
                round = round.saturating_add(1);
                false
            }
            '[' => {
                square = square.saturating_add(1);
                false
            }
            ')' => {
                let open = round > 0;
                round = round.saturating_sub(1);
                !open
            }
            ']' => {
                let open = square > 0;
                square = square.saturating_sub(1);
                !open
            }
            '<' | '>' | '"' | '`' | '|' => true,
            c => c.is_whitespace() || (c.is_ascii_control()) || (!in_host && is_wide_punctuation(c)),
        };
        if closes {
            len = at;
            break;
        }
    }
    let kept =
        rest.get(..len).unwrap_or_default().trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~']);
    from.saturating_add(kept.len())
}

const fn is_wide_punctuation(c: char) -> bool {
    matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '，' | '；' | '：' | '！' | '？' | '（' | '）' | '”' | '’' | '»')
}

/// Mail addresses and handles.
fn mails<'a>(text: &'a str, gap: Span, taken: &mut Vec<Span>, tokens: &mut ValueMentions<'a>) {
    let piece = text.get(gap.start..gap.end).unwrap_or_default();
    let mut done = 0;
    for (at, byte) in piece.bytes().enumerate() {
        let name_at = at.saturating_add(1);
        let is_mention = byte == b'~' && at > 0 && piece.as_bytes().get(at.saturating_sub(1)) == Some(&b'[');
        if at < done || !(byte == b'@' || is_mention) {
            continue;
        }
        let mut end = name_at.saturating_add(run_len(piece.get(name_at..).unwrap_or_default()));
        // `a@b@c` and `a@[192.0.2.1]` are one thing that nobody should read in two ways.
        while let Some(rest) = piece.get(end..)
            && rest.starts_with(['@', '['])
            && (end > name_at || rest.starts_with('['))
            && !is_mention
        {
            end = end.saturating_add(1);
            end = end.saturating_add(run_len(piece.get(end..).unwrap_or_default()));
        }
        let name = piece.get(name_at..end).unwrap_or_default().trim_end_matches(['.', '-', '_']);
        end = name_at.saturating_add(name.len());
        let (start, end) = strip_wrapping(piece, local_start(piece, done, at), at, end);
        let quoted = start == at && piece.get(..at).is_some_and(|before| before.ends_with(['"', ')']));
        let is_handle = start == at && name.starts_with(|c: char| c.is_alphabetic());
        let is_address = start < at || (quoted && name.contains('.'));
        if name.is_empty() || !(is_address || is_handle) || (!is_address && is_host(name)) {
            continue;
        }
        let span = Span::new(gap.start.saturating_add(start), gap.start.saturating_add(end));
        let from = if is_mention { span.start.saturating_add(1) } else { span.start };
        tokens.push(ReferentKind::Recipient, span, text.get(from..span.end).unwrap_or_default());
        taken.push(span);
        done = end;
    }
}

/// The start of the part before the `@`.
fn local_start(text: &str, from: usize, at: usize) -> usize {
    let before = text.get(from..at).unwrap_or_default();
    let is_local = |c: &char| *c == '.' || mail::is_atom(*c) || character::is_invisible(*c);
    let len: usize = before.chars().rev().take(MAX_LOCAL).take_while(is_local).map(char::len_utf8).sum();
    at.saturating_sub(len)
}

/// Takes away what is around an address on both sides, such as asterisks.
fn strip_wrapping(text: &str, mut start: usize, at: usize, mut end: usize) -> (usize, usize) {
    let mut behind = end;
    while start < at
        && let Some(first) = text.get(start..).and_then(|rest| rest.chars().next())
        && matches!(first, '*' | '_' | '~' | '`' | '\'' | '|' | '{')
    {
        let closing = if first == '{' { '}' } else { first };
        let inner = text.get(..end).is_some_and(|text| text.ends_with(closing));
        if inner {
            end = end.saturating_sub(1);
        } else if text.get(behind..).is_some_and(|rest| rest.starts_with(closing)) {
            behind = behind.saturating_add(1);
        } else {
            break;
        }
        start = start.saturating_add(1);
    }
    (start, end)
}

/// The bytes of what looks like a host name at the start of a text.
fn run_len(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let belongs = match c {
            '.' => next != Some('.'),
            '-' | '_' => true,
            // A full stop of Chinese and Japanese text is also a dot to resolvers (UTS #46).
            '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => {
                next.is_some_and(|next| next.is_alphanumeric() && !is_east_asian(next))
            }
            c => c.is_alphanumeric() || character::is_mark(c) || character::is_invisible(c),
        };
        if !belongs {
            return at;
        }
    }
    text.len()
}

fn is_east_asian(c: char) -> bool {
    matches!(c.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo)
}

/// Hosts without a scheme, with a path or without.
fn add_bare_hosts<'a>(text: &'a str, gap: Span, tokens: &mut ValueMentions<'a>) {
    let piece = text.get(gap.start..gap.end).unwrap_or_default();
    let mut at = 0_usize;
    while let Some(rest) = piece.get(at..).filter(|rest| !rest.is_empty()) {
        let len = run_len(rest);
        let run = rest.get(..len).unwrap_or_default();
        let name = run.trim_matches(['.', '-', '_']);
        let trimmed = run.len().saturating_sub(run.trim_start_matches(['.', '-', '_']).len());
        let start = gap.start.saturating_add(at).saturating_add(trimmed);
        let mut end = start.saturating_add(name.len());
        let behind = text.get(end..gap.end).unwrap_or_default();
        let goes_on = behind.starts_with(['/', '?', '#', '\\'])
            || (behind.starts_with(':')
                && behind.get(1..2).is_some_and(|c| c.starts_with(|c: char| c.is_ascii_digit())));
        if is_host(name) || (goes_on && has_domain(name)) {
            let address_end = if goes_on { end_of_address(text, end).clamp(end, gap.end) } else { end };
            let kind = if address_end > end { ReferentKind::Url } else { ReferentKind::Host };
            end = address_end;
            tokens.push(kind, Span::new(start, end), text.get(start..end).unwrap_or_default());
        }
        let step = end.saturating_sub(gap.start).saturating_sub(at);
        let next = rest.get(len..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        at = at.saturating_add(step.max(len.saturating_add(next)));
    }
}

/// Whether a name would be taken for a host without anything around it.
fn is_host(name: &str) -> bool {
    let last = name.rsplit(is_dot).next().unwrap_or_default();
    has_domain(name) && !EXTENSIONS.iter().any(|extension| last.eq_ignore_ascii_case(extension))
}

/// Whether a name has a dot and ends in what can be a top-level domain, or is an address of
/// version 4.
fn has_domain(name: &str) -> bool {
    let mut labels = name.rsplit(is_dot);
    let (Some(last), Some(_)) = (labels.next(), labels.next()) else { return false };
    if last.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--")) {
        return true;
    }
    if !last.is_ascii() {
        return last.chars().any(char::is_alphabetic);
    }
    let is_number = |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    let numeric = name.split('.').count() == 4 && name.split('.').all(is_number);
    numeric || (last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

const fn is_dot(c: char) -> bool {
    matches!(c, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}')
}
