//! How deep a template nests, found without recursion before the recursive parser sees it.
//!
//! Invariant: where this module and the parser could read a tag differently, the template is
//! refused. So quotes and brackets in a tag hold no braces, brackets hold no quotes, and a long
//! comment has its end.

use handlebars::Template;
use proem_text::diagnostic::line_column;

/// How deep blocks, else-chains and parentheses may nest.
const MAX_NESTING: usize = 48;

/// The most tags of one template: for each the parser counts lines and columns from the start.
const MAX_TAGS: usize = 2_000;

/// A template that can't be used, with where and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unparsed {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// Parses a template within the bounds of its nesting.
pub(crate) fn compile(body: &str) -> Result<Template, Unparsed> {
    if let Err(Refusal { at, message }) = check(body) {
        let (line, column) = line_column(body, at);
        return Err(Unparsed { line, column, message });
    }
    Template::compile(body).map_err(|e| {
        let (line, column) = e.pos().unwrap_or((1, 1));
        Unparsed { line, column, message: reason(e.reason()) }
    })
}

fn reason(reason: &handlebars::TemplateErrorReason) -> String {
    use handlebars::TemplateErrorReason as Reason;
    match reason {
        Reason::MismatchingClosedHelper(open, close) | Reason::MismatchingClosedDecorator(open, close) => {
            format!("block `{open}` is closed by `{close}`")
        }
        Reason::InvalidSyntax(_) => "this can't be read as a template".into(),
        other => other.to_string(),
    }
}

struct Refusal {
    at: usize,
    message: String,
}

fn refuse<T>(at: usize, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { at, message: message.into() })
}

/// Whether a template stays within the bounds.
fn check(body: &str) -> Result<(), Refusal> {
    // Where each open block starts and what it adds to the depth: one, and one for each link of
    // its else-chain.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut depth = 0usize;
    let mut tags = 0usize;
    let mut text = 0usize;
    while let Some(start) = find(body, text, "{{") {
        if escaped(body.get(text..start).unwrap_or_default()) {
            text = start.saturating_add(if starts(body, start, "{{{{") { 4 } else { 2 });
            continue;
        }
        let tag = tag(body, start)?;
        tags = tags.saturating_add(1);
        if tags > MAX_TAGS {
            return refuse(start, format!("more than {MAX_TAGS} tags in one template; put parts of it into partials"));
        }
        match tag.kind {
            Kind::Open => {
                open.push((start, 1));
                depth = depth.saturating_add(1);
            }
            Kind::Chain => {
                depth = depth.saturating_add(1);
                if let Some((_, levels)) = open.last_mut() {
                    *levels = levels.saturating_add(1);
                }
            }
            Kind::Close => match open.pop() {
                Some((_, levels)) => depth = depth.saturating_sub(levels),
                None => return refuse(start, "this closes a block that isn't open"),
            },
            Kind::Other => {}
        }
        if depth > MAX_NESTING {
            return refuse(start, format!("blocks nested deeper than {MAX_NESTING}"));
        }
        text = tag.end;
    }
    match open.last() {
        Some((start, _)) => refuse(*start, "this block is not closed"),
        None => Ok(()),
    }
}

/// Whether a tag behind `text` is text because of one backslash.
fn escaped(text: &str) -> bool {
    text.ends_with('\\') && !text.ends_with("\\\\")
}

fn find(body: &str, from: usize, what: &str) -> Option<usize> {
    body.get(from..)?.find(what).map(|at| at.saturating_add(from))
}

fn starts(body: &str, at: usize, what: &str) -> bool {
    body.get(at..).is_some_and(|rest| rest.starts_with(what))
}

struct Tag {
    kind: Kind,
    end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Open,
    Chain,
    Close,
    Other,
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Reads the tag that starts with the braces at `start`.
fn tag(body: &str, start: usize) -> Result<Tag, Refusal> {
    if starts(body, start, "{{{{") {
        return raw(body, start);
    }
    let inside = start.saturating_add(2);
    if starts(body, inside, "!") {
        return comment(body, inside);
    }
    let rest = body.get(inside..).unwrap_or_default();
    let name = rest.trim_start_matches(|c| is_space(c) || c == '~');
    let from = inside.saturating_add(rest.len().saturating_sub(name.len()));
    let end = end(body, from)?;
    let content = body.get(from..end).unwrap_or_default().trim_end_matches(|c| is_space(c) || c == '~');
    let kind = match content.chars().next() {
        Some('#') => Kind::Open,
        Some('/') => Kind::Close,
        _ => match content.strip_prefix("else").or_else(|| content.strip_prefix('^')) {
            Some(chain) if !chain.is_empty() => Kind::Chain,
            _ => Kind::Other,
        },
    };
    let partial = content.trim_start_matches('#').trim_start_matches(is_space);
    if partial.strip_prefix('>').is_some_and(|name| name.trim_start_matches(is_space).starts_with('[')) {
        return refuse(from, "a partial's name stands without brackets");
    }
    Ok(Tag { kind, end: end.saturating_add(2) })
}

/// Where the tag's closing braces stand.
fn end(body: &str, from: usize) -> Result<usize, Refusal> {
    let mut parentheses = 0usize;
    let mut at = from;
    while let Some(c) = body.get(at..).and_then(|rest| rest.chars().next()) {
        match c {
            '}' if starts(body, at, "}}") => return Ok(at),
            '"' | '\'' => at = quoted(body, at, c)?,
            '[' => at = bracketed(body, at)?,
            // Three braces print without escaping.
            '{' if at == from => {}
            '{' => return refuse(at, "braces inside a tag are not supported"),
            '(' => parentheses = parentheses.saturating_add(1),
            ')' => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        if parentheses > MAX_NESTING {
            return refuse(at, format!("parentheses nested deeper than {MAX_NESTING}"));
        }
        at = at.saturating_add(body.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    }
    refuse(from.saturating_sub(2), "this tag is not closed")
}

/// The closing quote of the text that starts at `start`.
fn quoted(body: &str, start: usize, quote: char) -> Result<usize, Refusal> {
    let mut before = quote;
    let mut skip = false;
    for (offset, c) in body.get(start..).unwrap_or_default().char_indices().skip(1) {
        if matches!((before, c), ('{', '{') | ('}', '}')) {
            return refuse(start, "double braces inside quotes in a tag, or quotes that are not closed");
        }
        if c == quote && !skip {
            return Ok(start.saturating_add(offset));
        }
        skip = c == '\\' && !skip;
        before = c;
    }
    refuse(start, "these quotes are not closed")
}

/// The bracket that closes the one at `start`.
fn bracketed(body: &str, start: usize) -> Result<usize, Refusal> {
    let Some(end) = find(body, start, "]") else { return refuse(start, "this bracket is not closed") };
    let inside = body.get(start.saturating_add(1)..end).unwrap_or_default();
    if inside.contains(['"', '\'', '[', '{', '}']) {
        return refuse(start, "brackets hold one name, without quotes, brackets and braces");
    }
    Ok(end)
}

/// A comment; `inside` is where its `!` stands.
fn comment(body: &str, inside: usize) -> Result<Tag, Refusal> {
    let behind = inside.saturating_add(1);
    let rest = body.get(behind..).unwrap_or_default();
    let text = rest.trim_start_matches(is_space);
    let (from, close) = match text.strip_prefix("--") {
        Some(long) => (body.len().saturating_sub(long.len()), "--}}"),
        None => (behind, "}}"),
    };
    match find(body, from, close) {
        Some(at) => Ok(Tag { kind: Kind::Other, end: at.saturating_add(close.len()) }),
        None => refuse(inside.saturating_sub(2), format!("this comment is not closed by `{close}`")),
    }
}

/// A raw block, whose text is no template.
fn raw(body: &str, start: usize) -> Result<Tag, Refusal> {
    let unclosed = "this raw block is not closed";
    let Some(head) = find(body, start, "}}}}") else { return refuse(start, unclosed) };
    if body.get(start.saturating_add(4)..head).unwrap_or_default().contains(['"', '\'', '[', '(', '{', '}']) {
        return refuse(start, "a raw block takes no arguments");
    }
    let mut from = head.saturating_add(4);
    loop {
        let Some(close) = find(body, from, "{{{{") else { return refuse(start, unclosed) };
        if escaped(body.get(from..close).unwrap_or_default()) {
            from = close.saturating_add(4);
            continue;
        }
        let Some(end) = find(body, close, "}}}}") else { return refuse(start, unclosed) };
        return Ok(Tag { kind: Kind::Other, end: end.saturating_add(4) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_template(body: &str, expected: &str) {
        let found = compile(body).err().map(|e| format!("{}:{}: {}", e.line, e.column, e.message));
        assert_eq!(found.unwrap_or_default(), expected, "{}", body.chars().take(80).collect::<String>());
    }

    #[test]
    fn depth_counts_blocks_chains_and_parentheses_however_they_are_written() {
        let deep = MAX_NESTING + 1;
        let blocks = "blocks nested deeper than 48";
        check_template(&"{{#if a}}".repeat(deep), &format!("1:433: {blocks}"));
        check_template(&"{{ ~ #if a}}".repeat(deep), &format!("1:577: {blocks}"));
        check_template(&"{{\n#if a}}".repeat(deep), &format!("49:8: {blocks}"));
        check_template(&format!("{{{{#if a}}}}{}", "{{else if a}}".repeat(deep)), &format!("1:621: {blocks}"));
        check_template(&"{{#if a}}{{! {{/if}} }}".repeat(deep), &format!("1:1105: {blocks}"));
        check_template(&"{{#if a}}{{!-- {{/if}} --}}".repeat(deep), &format!("1:1297: {blocks}"));
        check_template(&"{{#if a}}\\{{/if}}".repeat(deep), &format!("1:817: {blocks}"));
        check_template(&"{{#if a}}{{{{raw}}}}{{/if}}{{{{/raw}}}}".repeat(deep), &format!("1:1873: {blocks}"));
        check_template(&"{{#if a}}x{{/if}}".repeat(500), "");
        let parentheses = "parentheses nested deeper than 48";
        check_template(&format!("{{{{#if {}", "(not ".repeat(deep)), &format!("1:247: {parentheses}"));
        check_template(&format!("{{{{#if {}", "(not \"))\" ".repeat(deep)), &format!("1:487: {parentheses}"));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for (body, expected) in [
            ("{{json \"}}\"}}", "1:8: double braces inside quotes in a tag, or quotes that are not closed"),
            ("{{json ['a']}}", "1:8: brackets hold one name, without quotes, brackets and braces"),
            ("{{json [[1]]}}", "1:8: brackets hold one name, without quotes, brackets and braces"),
            ("{{json {\"a\":1}}}", "1:8: braces inside a tag are not supported"),
            ("{{> [a b]}}", "1:3: a partial's name stands without brackets"),
            ("a {{!-- b }}", "1:3: this comment is not closed by `--}}`"),
            ("a {{b", "1:3: this tag is not closed"),
            ("a {{#if b}}", "1:3: this block is not closed"),
            ("a {{/if}}", "1:3: this closes a block that isn't open"),
            ("a {{b c=}}", "1:9: this can't be read as a template"),
            ("{{#if b}}{{/each}}", "1:10: block `if` is closed by `each`"),
            ("{{{a}}}{{a.[b c]}}{{json \"a\\\"b\" indent=2}}", ""),
        ] {
            check_template(body, expected);
        }
    }
}
