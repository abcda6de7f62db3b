//! Cuts a text at its placeholders: one scanner, which each language of templates parameterises.
//!
//! A text is read once from left to right. Only plain placeholders pass: loops, conditions, filters, calls and formats
//! are refused where they are.

use super::TextPiece;
use super::source::{Fragment, ImportReader};

/// How a language writes placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceholderStyle {
    /// `{{name}}`, `{# comment #}`. `{% … %}` is code. Jinja, and Nunjucks as promptfoo has it.
    Jinja,
    /// `{{name}}`, `{{! comment }}`. Sections are code.
    Mustache,
    /// `{name}`. `{{` and `}}` are braces.
    FString,
    /// `{{$name}}` and `{{"text"}}`. Anything else is a call.
    SemanticKernel,
    /// `$ARGUMENTS`, `$1` to `$9`. `` !`command` `` runs a program.
    Claude,
    /// `${input:name}`, `${selection}`.
    Copilot,
}

/// The kind of a tag.
enum Tag {
    Piece(TextPiece),
    Comment,
    Fault(&'static str),
}

const LOGIC: &str = "a loop, condition or statement is code, which is not imported";
const FILTER: &str = "this is more than a name: filters, calls and expressions are not imported";
const OPEN: &str = "this placeholder has no end";
const CALL: &str = "a call of a function is not imported";
const FORMAT: &str = "a format, conversion, number or empty placeholder is not imported";
const LONE: &str = "a `}` without `{`; an f-string writes `}}` for a brace";
const COMMAND: &str = "`!` before backticks runs a program, which is not imported";
const EDITOR: &str = "this variable of the editor is not imported";
const REMEDY: &str = "write the text with plain placeholders, and let the caller compute their values";

/// Cuts a text; what can't be carried over is refused at its line.
pub(super) fn scan_placeholders(
    fragment: &Fragment<'_>,
    style: PlaceholderStyle,
    reader: &mut ImportReader<'_>,
) -> Vec<TextPiece> {
    let mut scanner = Scanner { pieces: Vec::new(), text: String::new(), trims_next: false };
    let mut rest = fragment.text.as_str();
    while let Some(at) = next_tag(rest, style) {
        let (before, tag) = rest.split_at_checked(at).unwrap_or((rest, ""));
        scanner.push_text(before);
        let (length, parsed) = parse_tag(tag, style);
        let (written, behind) = tag.split_at_checked(length.max(1)).unwrap_or((tag, ""));
        if style == PlaceholderStyle::Jinja {
            scanner.trim(written);
        }
        match parsed {
            Tag::Piece(TextPiece::Text(text)) => scanner.text.push_str(&text),
            Tag::Piece(piece) => scanner.push(piece),
            Tag::Comment => {}
            Tag::Fault(message) => {
                reader.refuse_in(fragment, fragment.text.len().saturating_sub(tag.len()), message, REMEDY);
            }
        }
        rest = behind;
    }
    scanner.push_text(rest);
    scanner.finish()
}

struct Scanner {
    pieces: Vec<TextPiece>,
    text: String,
    /// Whether the tag before took the white space behind it.
    trims_next: bool,
}

impl Scanner {
    fn push_text(&mut self, text: &str) {
        let text = if self.trims_next { text.trim_start() } else { text };
        self.trims_next &= text.is_empty();
        self.text.push_str(text);
    }

    /// Does what `-` beside a tag's braces says.
    fn trim(&mut self, written: &str) {
        if written.get(2..).is_some_and(|rest| rest.starts_with('-')) {
            self.text.truncate(self.text.trim_end().len());
        }
        self.trims_next =
            written.strip_suffix("}}").or_else(|| written.strip_suffix("#}")).is_some_and(|t| t.ends_with('-'));
    }

    fn push(&mut self, piece: TextPiece) {
        if !self.text.is_empty() {
            self.pieces.push(TextPiece::Text(core::mem::take(&mut self.text)));
        }
        self.pieces.push(piece);
    }

    fn finish(mut self) -> Vec<TextPiece> {
        if !self.text.is_empty() {
            self.pieces.push(TextPiece::Text(self.text));
        }
        self.pieces
    }
}

/// The start of the next tag.
fn next_tag(text: &str, style: PlaceholderStyle) -> Option<usize> {
    let find = |signs: &[&str]| signs.iter().filter_map(|sign| text.find(sign)).min();
    match style {
        PlaceholderStyle::Jinja => text
            .match_indices('{')
            .map(|(at, _)| at)
            .find(|at| text.get(at.saturating_add(1)..).is_some_and(|rest| rest.starts_with(['{', '%', '#']))),
        PlaceholderStyle::Mustache | PlaceholderStyle::SemanticKernel => find(&["{{"]),
        PlaceholderStyle::FString => text.find(['{', '}']),
        PlaceholderStyle::Claude => text.match_indices(['$', '!']).map(|(at, _)| at).find(|at| {
            let rest = text.get(*at..).unwrap_or_default();
            rest.starts_with("!`") || argument(rest).is_some()
        }),
        PlaceholderStyle::Copilot => find(&["${"]),
    }
}

/// The tag at the start of `text` with its length in bytes.
fn parse_tag(text: &str, style: PlaceholderStyle) -> (usize, Tag) {
    match style {
        PlaceholderStyle::Jinja => parse_jinja(text),
        PlaceholderStyle::Mustache => parse_braces(text, |inner| match inner.chars().next() {
            Some('!') => Tag::Comment,
            Some('#' | '^' | '/' | '>' | '=') => Tag::Fault(LOGIC),
            _ => name_tag(inner.strip_prefix('&').unwrap_or(inner)),
        }),
        PlaceholderStyle::SemanticKernel => {
            parse_braces(text, |inner| match (inner.strip_prefix('$'), quoted_literal(inner)) {
                (Some(name), _) => name_tag(name),
                (None, Some(text)) => Tag::Piece(TextPiece::Text(text.to_owned())),
                (None, None) => Tag::Fault(CALL),
            })
        }
        PlaceholderStyle::FString => parse_f_string(text),
        PlaceholderStyle::Claude => match argument(text) {
            Some((name, length)) => (length, Tag::Piece(TextPiece::Input(vec![name]))),
            None => (2, Tag::Fault(COMMAND)),
        },
        PlaceholderStyle::Copilot => parse_copilot(text),
    }
}

fn parse_jinja(text: &str) -> (usize, Tag) {
    let (close, kind) = match text.as_bytes().get(1) {
        Some(b'%') => ("%}", Tag::Fault(LOGIC)),
        Some(b'#') => ("#}", Tag::Comment),
        _ => {
            return parse_braces(text, |inner| {
                let inner = inner.strip_prefix('-').unwrap_or(inner);
                let inner = inner.strip_suffix('-').unwrap_or(inner).trim();
                match quoted_literal(inner) {
                    Some(text) => Tag::Piece(TextPiece::Text(text.to_owned())),
                    None => name_tag(inner),
                }
            });
        }
    };
    match text.find(close) {
        Some(end) => (end.saturating_add(2), kind),
        // Jinja refuses an open comment too.
        None => (text.len(), Tag::Fault(OPEN)),
    }
}

/// A tag in two braces, or in three.
fn parse_braces(text: &str, read: impl FnOnce(&str) -> Tag) -> (usize, Tag) {
    let (open, close) = if text.starts_with("{{{") { (3, "}}}") } else { (2, "}}") };
    let Some(length) = text.get(open..).and_then(|rest| rest.find(close)) else {
        return (text.len(), Tag::Fault(OPEN));
    };
    let inner = text.get(open..open.saturating_add(length)).unwrap_or_default().trim();
    (open.saturating_add(length).saturating_add(close.len()), read(inner))
}

fn parse_f_string(text: &str) -> (usize, Tag) {
    for (twice, brace) in [("{{", "{"), ("}}", "}")] {
        if text.starts_with(twice) {
            return (2, Tag::Piece(TextPiece::Text(brace.to_owned())));
        }
    }
    if text.starts_with('}') {
        return (1, Tag::Fault(LONE));
    }
    let Some(end) = text.find('}') else { return (text.len(), Tag::Fault(OPEN)) };
    let inner = text.get(1..end).unwrap_or_default();
    let tag = if is_placeholder_name(inner) { name_tag(inner) } else { Tag::Fault(FORMAT) };
    (end.saturating_add(1), tag)
}

fn parse_copilot(text: &str) -> (usize, Tag) {
    let Some(end) = text.find('}') else { return (text.len(), Tag::Fault(OPEN)) };
    let inner = text.get(2..end).unwrap_or_default();
    let name = match inner.strip_prefix("input:") {
        Some(rest) => rest.split(':').next().unwrap_or_default(),
        None if matches!(inner, "selection" | "selectedText" | "file" | "fileBasename") => inner,
        None => return (end.saturating_add(1), Tag::Fault(EDITOR)),
    };
    (end.saturating_add(1), name_tag(name))
}

/// `$ARGUMENTS` or `$1` to `$9` with its length.
fn argument(text: &str) -> Option<(String, usize)> {
    let rest = text.strip_prefix('$')?;
    if let Some(behind) = rest.strip_prefix("ARGUMENTS") {
        let is_whole = !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        return is_whole.then(|| ("arguments".to_owned(), "$ARGUMENTS".len()));
    }
    let digit = rest.chars().next().filter(|c| ('1'..='9').contains(c))?;
    // `$100` is money, `$1.50` too.
    let behind = rest.get(1..).unwrap_or_default();
    let is_amount = behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        || behind.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    (!is_amount).then(|| (format!("argument_{digit}"), 2))
}

/// A text in quotes of one kind, without escapes.
fn quoted_literal(inner: &str) -> Option<&str> {
    ['"', '\''].iter().find_map(|quote| {
        let text = inner.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!text.contains([*quote, '\\'])).then_some(text)
    })
}

fn name_tag(text: &str) -> Tag {
    let path: Vec<String> = text.split('.').map(str::to_owned).collect();
    match path.iter().all(|name| is_placeholder_name(name)) {
        // Each tool fills these from its surroundings, which no caller passes.
        true if path.first().is_some_and(|name| name == "env") && path.len() > 1 => Tag::Fault(ENVIRONMENT),
        true => Tag::Piece(TextPiece::Input(path)),
        false => Tag::Fault(FILTER),
    }
}

const ENVIRONMENT: &str = "this reads a variable of the environment, which is not imported";

/// Whether a text is a name: letters, digits, `_` and `-`, no digit or `-` first.
pub(super) fn is_placeholder_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        && !text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}
