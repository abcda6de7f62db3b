//! Marks that mean something wherever they stand: tags and special tokens.

use super::{
    Tag,
    found::{Match, Remedy},
    reader::Reader,
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

/// Names of special tokens in square brackets, sorted: Llama 2 and Mistral.
const SQUARE_TOKENS: [&str; 8] =
    ["available_tools", "inst", "prefix", "suffix", "sys", "system_prompt", "tool_calls", "tool_results"];

/// The tag or token that starts here.
pub(super) fn find(start: Reader<'_>, tag: &Tag) -> Option<Match> {
    if let Some(inside) = start.open() {
        named_tag(start, inside, tag).or_else(|| pipe_token(start, inside)).or_else(|| doubled_token(start, inside))
    } else {
        square_token(start)
    }
}

/// `<name …` and `</name …`, with space and slashes before the name as anyone likes.
fn named_tag(start: Reader<'_>, inside: Reader<'_>, tag: &Tag) -> Option<Match> {
    let before = inside.skip(usize::MAX, |c| c == '/' || c.is_whitespace());
    if let Some(end) = delimiter_name(before, tag) {
        let span = Span::new(start.offset(), end.offset());
        return Some(Match { kind: FindingKind::Delimiter, span, remedy: Remedy::Remove });
    }
    let (name, end) = before.word(MAX_NAME, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let name = name.replace('-', "_");
    // With space before its name it is a tag only if it is closed: `a < user` is none.
    let is_spaced = inside.skip(usize::MAX, |c| c == '/').offset() != before.offset();
    let kind = if is_listed(&name, &ANGLE_TOKENS) && end.close().is_some() {
        FindingKind::RoleMarker
    } else if is_listed(&name, &STRUCTURE) && ends_name(end, is_spaced) {
        FindingKind::ClosingTag
    } else {
        return None;
    };
    let span = Span::new(start.offset(), end.offset());
    Some(Match { kind, span, remedy: escape_after(start) })
}

/// The end of the longest name of a delimiter of ours that begins here.
///
/// It counts even if the tag is never closed or the name goes on: `</UNTRUSTED_CONTEXT_2>` would
/// pass for ours, and an escape where two parts meet could cut a longer name down to ours.
fn delimiter_name<'a>(before: Reader<'a>, tag: &Tag) -> Option<Reader<'a>> {
    let names = DELIMITERS.into_iter().chain([tag.as_str()]);
    names.filter_map(|name| before.take_name(name)).max_by_key(|end| end.offset())
}

/// Whether the name of a tag ends here, and the tag too if it `must_close`.
fn ends_name(end: Reader<'_>, must_close: bool) -> bool {
    if must_close {
        return end.skip(usize::MAX, |c| c == '/' || c.is_whitespace()).close().is_some();
    }
    end.close().is_some() || end.peek().is_none_or(|c| c == '/' || c.is_whitespace())
}

/// `<|…|>`, as in `<|im_start|>`, also with the fullwidth bar of DeepSeek's tokens.
fn pipe_token(start: Reader<'_>, inside: Reader<'_>) -> Option<Match> {
    let name = inside.take('|')?;
    let end = name.skip(MAX_NAME, |c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | ' ' | '▁'));
    let end = end.take('|')?.close()?;
    Some(token(start, end))
}

/// `<<SYS>>` and `<</SYS>>`.
fn doubled_token(start: Reader<'_>, inside: Reader<'_>) -> Option<Match> {
    let inside = inside.open()?;
    let (name, end) = inside.take('/').unwrap_or(inside).word(MAX_NAME, |c| c.is_ascii_alphanumeric());
    let end = end.close()?.close()?;
    (name == "sys").then(|| token(start, end))
}

/// `[INST]` and `[/INST]`.
fn square_token(start: Reader<'_>) -> Option<Match> {
    let inside = start.take('[')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, end) = inside.take('/').unwrap_or(inside).word(MAX_NAME, is_name);
    let end = end.take(']')?;
    is_listed(&name, &SQUARE_TOKENS).then(|| token(start, end))
}

fn token(start: Reader<'_>, end: Reader<'_>) -> Match {
    let span = Span::new(start.offset(), end.offset());
    Match { kind: FindingKind::RoleMarker, span, remedy: escape_after(start) }
}

/// A backslash after the first bracket.
fn escape_after(start: Reader<'_>) -> Remedy {
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
        assert!(STRUCTURE.is_sorted() && ANGLE_TOKENS.is_sorted() && SQUARE_TOKENS.is_sorted());
    }

    #[track_caller]
    fn check(text: &str, expected: Option<(FindingKind, &str)>) {
        let found = find(Reader::at(text, 0), &Tag::new("MINE").unwrap());
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
        check("<mines>", Some((Delimiter, "<mine")));
        check("<my mine>", None);
        check("untrusted_context", None);
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
