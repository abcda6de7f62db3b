//! The surroundings of a value: white space, fences, elements, prose.

use proem_text::Span;

use super::RepairKind;
use super::repairs::Repairs;

/// The longest line that opens a fence, and the longest tag of a wrapper.
const MAX_MARK_BYTES: usize = 64;

/// Whether `c` may be between values without meaning anything.
pub(super) fn is_space_between_values(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}')
}

/// The span of the text without a byte order mark and white space around it.
pub(super) fn trimmed_text_span(text: &str) -> Span {
    trim_span(text, Span::new(0, text.len()))
}

pub(super) fn trim_span(text: &str, span: Span) -> Span {
    let part = text.get(span.start..span.end).unwrap_or_default();
    let start =
        span.start.saturating_add(part.len().saturating_sub(part.trim_start_matches(is_space_between_values).len()));
    let end = span.start.saturating_add(part.trim_end_matches(is_space_between_values).len());
    Span::new(start, end)
}

/// Lists what is in `text` before and after `value`.
pub(super) fn describe(text: &str, value: Span, repairs: &mut Repairs) {
    let mut before = trim_span(text, Span::new(0, value.start));
    while let Some((kind, start)) = opening(text.get(..before.end).unwrap_or_default()) {
        repairs.push(kind, Span::new(start, before.end));
        before = trim_span(text, Span::new(0, start));
    }
    if !before.is_empty() {
        repairs.push(RepairKind::Prose, before);
    }
    let mut after = trim_span(text, Span::new(value.end, text.len()));
    while let Some((kind, len)) = closing_mark(text.get(after.start..).unwrap_or_default()) {
        let end = after.start.saturating_add(len);
        repairs.push(kind, Span::new(after.start, end));
        after = trim_span(text, Span::new(end, text.len()));
    }
    if !after.is_empty() {
        repairs.push(RepairKind::Prose, after);
    }
}

/// The value's place without the fences and elements that are around all of `span`.
pub(super) fn peel_wrappers(text: &str, span: Span) -> Span {
    let mut span = span;
    loop {
        let part = text.get(span.start..span.end).unwrap_or_default();
        let Some(len) = opens_with(part) else { return span };
        let inner = trim_span(text, Span::new(span.start.saturating_add(len), span.end));
        let rest = text.get(inner.start..inner.end).unwrap_or_default();
        let end = closes_with(rest).map_or(inner.end, |start| inner.start.saturating_add(start));
        span = trim_span(text, Span::new(inner.start, end));
    }
}

/// The fence or tag that `text` ends with, and where it starts.
fn opening(text: &str) -> Option<(RepairKind, usize)> {
    let from = text.floor_char_boundary(text.len().saturating_sub(MAX_MARK_BYTES));
    let tail = text.get(from..)?;
    if let Some(at) = tail.rfind('<').filter(|at| tail.get(*at..).is_some_and(is_opening_tag)) {
        return Some((RepairKind::Wrapper, from.saturating_add(at)));
    }
    let language = tail.rfind(['`', '~'])?;
    let after = tail.get(language..)?.get(1..)?;
    let run = tail.get(..language.saturating_add(1))?;
    let start = run.trim_end_matches(if run.ends_with('`') { '`' } else { '~' }).len();
    let is_mark = run.len().saturating_sub(start) >= 3 || (run.ends_with('`') && after.is_empty());
    (is_mark && !after.contains('\n') && is_language(after)).then(|| (RepairKind::Fence, from.saturating_add(start)))
}

/// The fence or tag that `text` starts with, and its length.
fn closing_mark(text: &str) -> Option<(RepairKind, usize)> {
    if text.starts_with("</") {
        let len = text.bytes().take(MAX_MARK_BYTES).position(|byte| byte == b'>')?.saturating_add(1);
        return text
            .get(..len)
            .filter(|tag| is_tag_name(tag.get(2..tag.len().saturating_sub(1)).unwrap_or_default()))
            .map(|_| (RepairKind::Wrapper, len));
    }
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let len = text.len().saturating_sub(text.trim_start_matches(mark).len());
    (len >= 3 || mark == '`').then_some((RepairKind::Fence, len))
}

fn opens_with(text: &str) -> Option<usize> {
    if text.starts_with('<') {
        let len = text.bytes().take(MAX_MARK_BYTES).position(|byte| byte == b'>')?.saturating_add(1);
        return text.get(..len).filter(|tag| is_opening_tag(tag)).map(str::len);
    }
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let run = text.len().saturating_sub(text.trim_start_matches(mark).len());
    if run >= 3 {
        let line = text.lines().next().unwrap_or_default();
        return is_language(line.get(run..)?).then_some(line.len());
    }
    (mark == '`').then_some(run)
}

fn closes_with(text: &str) -> Option<usize> {
    if text.ends_with('>') {
        let from = text.floor_char_boundary(text.len().saturating_sub(MAX_MARK_BYTES));
        let start = from.saturating_add(text.get(from..)?.rfind("</")?);
        return closing_mark(text.get(start..)?).map(|_| start);
    }
    let mark = text.chars().next_back().filter(|c| matches!(c, '`' | '~'))?;
    Some(text.trim_end_matches(mark).len())
}

/// Whether `text` is what may be behind the opening of a fence.
fn is_language(text: &str) -> bool {
    let word = text.trim();
    word.len() <= 16
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'.'))
}

fn is_opening_tag(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')) else { return false };
    let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
    is_tag_name(name) && !attributes.contains(['<', '>', '{', '['])
}

fn is_tag_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'|'))
}
