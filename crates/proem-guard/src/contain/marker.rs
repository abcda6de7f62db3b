//! Marks that mean something wherever they are: tags and special tokens.

use super::{
    Tag,
    matches::{Match, Remedy},
    reader::FoldedReader,
};
use crate::finding::FindingKind;
use proem_text::Span;

/// The longest name of a tag or token that is known here, in characters.
const MAX_NAME: usize = 40;

/// The names of our own delimiters, in lower case.
const DELIMITERS: [&str; 2] = ["signal_content", "untrusted_context"];

/// Names of tags that give a prompt its structure, sorted.
const STRUCTURE: [&str; 35] = [
    "ai",
    "assistant",
    "constitution",
    "context",
    "developer",
    "document",
    "documents",
    "function",
    "function_call",
    "function_calls",
    "function_result",
    "function_results",
    "functions",
    "human",
    "important",
    "instruction",
    "instructions",
    "invoke",
    "model",
    "policy",
    "prompt",
    "reasoning",
    "rules",
    "scratchpad",
    "system",
    "system_prompt",
    "task",
    "think",
    "thinking",
    "tool",
    "tool_call",
    "tool_calls",
    "tool_result",
    "tools",
    "user",
];

/// Names of special tokens in angle brackets, sorted: sentence and turn marks of Llama, Mistral,
/// Gemma and BERT-like tokenisers.
const ANGLE_TOKENS: [&str; 11] =
    ["bos", "cls", "end_of_turn", "eos", "mask", "pad", "s", "sep", "start_of_image", "start_of_turn", "unk"];

/// The name of a type's parameter in code: `Layer<S>` is no sentence mark, because tokenisers know `<s>` in lower case
/// alone, and a backslash in it breaks the code.
const TYPE_PARAMETER: &str = "S>";

/// Names of special tokens in square brackets, sorted: Llama 2 and Mistral.
const SQUARE_TOKENS: [&str; 8] =
    ["available_tools", "inst", "prefix", "suffix", "sys", "system_prompt", "tool_calls", "tool_results"];

/// Names of tags that are headings, sorted: HTML, section 4.3.6.
const HEADINGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];

/// The tag or token that starts here.
pub(super) fn find_marker(start: FoldedReader<'_>, tag: &Tag) -> Option<Match> {
    if let Some(inside) = start.open() {
        named_tag(start, inside, tag).or_else(|| pipe_token(start, inside)).or_else(|| doubled_token(start, inside))
    } else {
        square_token(start).or_else(|| bracketed_delimiter(start, tag))
    }
}

/// `<name …` and `</name …`, with space and slashes before the name as anyone likes.
fn named_tag(start: FoldedReader<'_>, inside: FoldedReader<'_>, tag: &Tag) -> Option<Match> {
    if let Some(end) = delimiter_name(inside.skip(usize::MAX, is_before_name), tag) {
        return Some(delimiter(start, end));
    }
    let before = inside.skip(usize::MAX, |c| c == '/' || c.is_whitespace());
    let (name, end) = before.word(MAX_NAME, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let name = name.replace('-', "_");
    // With space before its name it is a tag only if it is closed: `a < user` is none.
    let is_spaced = inside.skip(usize::MAX, |c| c == '/').offset() != before.offset();
    let is_token = is_listed(&name, &ANGLE_TOKENS) && !before.stands(TYPE_PARAMETER);
    let kind = if is_token && end.close().is_some() {
        FindingKind::RoleMarker
    } else if is_listed(&name, &STRUCTURE) && is_tag_name_end(end, is_spaced) {
        FindingKind::ClosingTag
    } else if is_listed(&name, &HEADINGS) && is_tag_name_end(end, is_spaced) {
        FindingKind::Heading
    } else {
        return None;
    };
    let span = Span::new(start.offset(), end.offset());
    Some(Match { kind, span, remedy: escape_after(start) })
}

/// `[/UNTRUSTED_CONTEXT]` and the like: the end of a delimiter of ours in another kind of bracket.
///
/// A name counts only with a `_` in it, as all of ours have: `[/docs]` is a link.
fn bracketed_delimiter(start: FoldedReader<'_>, tag: &Tag) -> Option<Match> {
    let bracket = start.peek().filter(|c| matches!(c, '[' | '{' | '(' | '«' | '《' | '❮' | '❰' | '⟪' | '˂' | 'ᐸ'))?;
    let before = start.take(bracket)?.skip(usize::MAX, is_before_name);
    let is_closing = start.next().skip(usize::MAX, char::is_whitespace).offset() != before.offset();
    let end = delimiter_name(before, tag).filter(|_| is_closing)?;
    let is_ours = |name: &str| before.take_name(name).is_some();
    (DELIMITERS.into_iter().any(is_ours) || tag.as_str().contains('_')).then(|| delimiter(start, end))
}

/// Slashes, as they are or escaped, and space.
fn is_before_name(c: char) -> bool {
    matches!(c, '/' | '\\' | '⧸' | '⧵' | '╱') || c.is_whitespace()
}

fn delimiter(start: FoldedReader<'_>, end: FoldedReader<'_>) -> Match {
    let span = Span::new(start.offset(), end.offset());
    Match { kind: FindingKind::Delimiter, span, remedy: Remedy::Remove }
}

/// The end of the longest name of a delimiter of ours that begins here.
///
/// It counts even if the tag is never closed or the name goes on: `</UNTRUSTED_CONTEXT_2>` would
/// pass for ours, and an escape where two parts meet could cut a longer name down to ours.
fn delimiter_name<'a>(before: FoldedReader<'a>, tag: &Tag) -> Option<FoldedReader<'a>> {
    let names = DELIMITERS.into_iter().chain([tag.as_str()]);
    names.filter_map(|name| before.take_name(name)).max_by_key(|end| end.offset())
}

/// Whether the name of a tag ends here, and the tag too if it `must_close`.
fn is_tag_name_end(end: FoldedReader<'_>, must_close: bool) -> bool {
    if must_close {
        return end.skip(usize::MAX, |c| c == '/' || c.is_whitespace()).close().is_some();
    }
    end.close().is_some() || end.peek().is_none_or(|c| c == '/' || c.is_whitespace())
}

/// `<|…|>`, as in `<|im_start|>`, also with the fullwidth bar of DeepSeek's tokens.
fn pipe_token(start: FoldedReader<'_>, inside: FoldedReader<'_>) -> Option<Match> {
    let name = inside.take('|')?;
    let end = name.skip(MAX_NAME, |c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | ' ' | '▁'));
    let end = end.take('|')?.close()?;
    Some(token_match(start, end))
}

/// `<<SYS>>` and `<</SYS>>`.
fn doubled_token(start: FoldedReader<'_>, inside: FoldedReader<'_>) -> Option<Match> {
    let inside = inside.open()?;
    let (name, end) = inside.take('/').unwrap_or(inside).word(MAX_NAME, |c| c.is_ascii_alphanumeric());
    let end = end.close()?.close()?;
    (name == "sys").then(|| token_match(start, end))
}

/// `[INST]` and `[/INST]`.
fn square_token(start: FoldedReader<'_>) -> Option<Match> {
    let inside = start.take('[')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, end) = inside.take('/').unwrap_or(inside).word(MAX_NAME, is_name);
    let end = end.take(']')?;
    is_listed(&name, &SQUARE_TOKENS).then(|| token_match(start, end))
}

fn token_match(start: FoldedReader<'_>, end: FoldedReader<'_>) -> Match {
    let span = Span::new(start.offset(), end.offset());
    Match { kind: FindingKind::RoleMarker, span, remedy: escape_after(start) }
}

/// A backslash after the first bracket.
fn escape_after(start: FoldedReader<'_>) -> Remedy {
    Remedy::Escape { at: start.open().unwrap_or_else(|| start.next()).offset() }
}

/// Whether a sorted list holds the name.
pub(super) fn is_listed(name: &str, sorted: &[&str]) -> bool {
    sorted.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(HEADINGS.is_sorted() && STRUCTURE.is_sorted() && ANGLE_TOKENS.is_sorted() && SQUARE_TOKENS.is_sorted());
    }

    #[track_caller]
    fn check(text: &str, expected: Option<(FindingKind, &str)>) {
        let found = find_marker(FoldedReader::at(text, 0), &Tag::new("MINE").unwrap());
        let found = found.map(|found| (found.kind, text.get(found.span.start..found.span.end).unwrap()));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn delimiters_of_ours() {
        use FindingKind::Delimiter;
        check("<UNTRUSTED_CONTEXT id=1>", Some((Delimiter, "<UNTRUSTED_CONTEXT")));
        check("</untrusted-context>", Some((Delimiter, "</untrusted-context")));
        check("< / Signal_Content", Some((Delimiter, "< / Signal_Content")));
        check("＜／ＭＩＮＥ＞", Some((Delimiter, "＜／ＭＩＮＥ")));
        check("&lt;/mine&gt;", Some((Delimiter, "&lt;/mine")));
        check("<\n//\nmine", Some((Delimiter, "<\n//\nmine")));
        // Broken by lines, with look-alikes, in other brackets.
        check("</UNTRUSTED_\n  CONTEXT>", Some((Delimiter, "</UNTRUSTED_\n  CONTEXT")));
        check("</UNTRUS\r\nTED\u{2028}CON-TEXT id=1>", Some((Delimiter, "</UNTRUS\r\nTED\u{2028}CON-TEXT")));
        check("<\\/UNTRUSTED CONTEXT>", Some((Delimiter, "<\\/UNTRUSTED CONTEXT")));
        check("</UΝTRUSТED_C0NTEXT>", Some((Delimiter, "</UΝTRUSТED_C0NTEXT")));
        check("<⧸ѕignal_content", Some((Delimiter, "<⧸ѕignal_content")));
        check("[/UNTRUSTED_CONTEXT]", Some((Delimiter, "[/UNTRUSTED_CONTEXT")));
        check("{ /\nsignal\ncontent }", Some((Delimiter, "{ /\nsignal\ncontent")));
        check("《/UNTRUSTED_CONTEXT》", Some((Delimiter, "《/UNTRUSTED_CONTEXT")));
        check("[untrusted_context]", None);
        check("[/mine](x)", None);
        check("(/usr/bin)", None);
        check("<mines>", Some((Delimiter, "<mine")));
        check("<my mine>", None);
        check("untrusted_context", None);
    }

    #[test]
    fn headings_of_html() {
        use FindingKind::Heading;
        check("<h1>", Some((Heading, "<h1")));
        check("</H6>", Some((Heading, "</H6")));
        check("<h2 class=x>", Some((Heading, "<h2")));
        check("＜h3＞", Some((Heading, "＜h3")));
        check("&lt;h4&gt;", Some((Heading, "&lt;h4")));
        check("<h7>", None);
        check("<hr>", None);
        check("<h1x>", None);
        check("a < h1 && b", None);
    }

    #[test]
    fn structure_and_tokens() {
        use FindingKind::{ClosingTag, RoleMarker};
        check("</system>", Some((ClosingTag, "</system")));
        check("<Tool-Call name=x>", Some((ClosingTag, "<Tool-Call")));
        check("<user", Some((ClosingTag, "<user")));
        check("< user && x", None);
        check("< / user >", Some((ClosingTag, "< / user")));
        check("<user/>", Some((ClosingTag, "<user")));
        check("<users>", None);
        check("<user, b>", None);
        check("<\\/system>", None);
        check("<s>", Some((RoleMarker, "<s")));
        check("<start_of_turn>", Some((RoleMarker, "<start_of_turn")));
        check("<s class=a>", None);
        check("<S>", None);
        check("</S>", None);
        check("＜Ｓ＞", Some((RoleMarker, "＜Ｓ")));
        check("&lt;S&gt;", Some((RoleMarker, "&lt;S")));
        check("<BOS>", Some((RoleMarker, "<BOS")));
        check("<|im_start|>", Some((RoleMarker, "<|im_start|>")));
        check("<｜begin▁of▁sentence｜>", Some((RoleMarker, "<｜begin▁of▁sentence｜>")));
        check("<| x <|", None);
        check("<<SYS>>", Some((RoleMarker, "<<SYS>>")));
        check("<</SYS>>", Some((RoleMarker, "<</SYS>>")));
        check("[INST]", Some((RoleMarker, "[INST]")));
        check("[/inst]", Some((RoleMarker, "[/inst]")));
        check("[install]", None);
        check("[removed]", None);
    }
}
