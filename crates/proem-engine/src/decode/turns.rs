//! Finds where a model's own turn begins and ends.
//!
//! A small model, or a server with another chat template than the model's, writes the marks of turns as text, and
//! goes on with a turn that nobody took. Only what the model says in its first turn is its answer.

use proem_text::first_bytes;

/// Marks that end a turn, in lower case without their brackets (the templates of ChatML, Llama, Phi, Gemma, Mistral,
/// Command R, DeepSeek, GPT-NeoX and gpt-oss).
const ENDS: [&str; 14] = [
    "im_end",
    "endoftext",
    "eot_id",
    "eom_id",
    "end_of_text",
    "end",
    "return",
    "call",
    "end_of_turn",
    "end_of_turn_token",
    "end▁of▁sentence",
    "eos",
    "/s",
    "im_sep",
];

/// Marks behind which a role or a channel is.
const STARTS: [&str; 7] =
    ["im_start", "start_header_id", "start_of_turn", "start_of_turn_token", "start", "channel", "begin_of_text"];

/// Roles and channels that are the model's.
const OWN: [&str; 9] = ["assistant", "model", "final", "chatbot_token", "ai", "bot", "im_assistant", "/inst", "gpt"];

/// Roles and channels that are not its answer.
const FOREIGN: [&str; 12] = [
    "user",
    "system",
    "human",
    "tool",
    "observation",
    "analysis",
    "commentary",
    "user_token",
    "system_token",
    "im_user",
    "im_system",
    "inst",
];

/// Words that open somebody else's turn where they start a line and a colon follows.
const LABELS: [&str; 13] = [
    "human",
    "user",
    "instruction",
    "input",
    "question",
    "q",
    "query",
    "prompt",
    "task",
    "system",
    "text",
    "request",
    "customer",
];

/// The longest mark, in bytes.
const MAX_MARK_BYTES: usize = 48;

/// The meaning of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnMark {
    /// The turn ends.
    End,
    /// The model's own turn starts.
    Own,
    /// A turn starts that is not the model's, or what it writes before its answer.
    Foreign,
    /// A word that may open somebody else's turn.
    Label,
}

/// A mark in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundMark {
    pub(super) kind: TurnMark,
    pub(super) start: usize,
    /// Its end, with the role behind it.
    pub(super) end: usize,
}

/// The first mark of a turn that starts in `text` at `until` at the latest. `starts_line` says whether `text` does.
pub(super) fn next_turn(text: &str, until: usize, starts_line: bool) -> Option<FoundMark> {
    let mut at_line_start = starts_line;
    let last = text.floor_char_boundary(until.saturating_add(1));
    for (at, c) in text.get(..last).unwrap_or(text).char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        let found = match c {
            '<' | '[' => template_token(rest),
            _ if at_line_start && !c.is_whitespace() => label(rest),
            _ => None,
        };
        if let Some((kind, len)) = found {
            return Some(FoundMark { kind, start: at, end: at.saturating_add(len) });
        }
        at_line_start = c == '\n' || (at_line_start && (c.is_whitespace() || matches!(c, '#' | '*' | '>')));
    }
    None
}

/// Whether a mark of a chat template starts `text` that ends or opens a turn.
pub(super) fn is_template_token(text: &str) -> bool {
    template_token(text).is_some()
}

/// The start of the first mark of a chat template in `text` that ends or opens a turn.
pub(super) fn first_template_token(text: &str) -> Option<usize> {
    text.match_indices(['<', '[']).map(|(at, _)| at).find(|at| text.get(*at..).is_some_and(is_template_token))
}

/// The mark of a chat template that `text` starts with, and its length with the role behind it.
fn template_token(text: &str) -> Option<(TurnMark, usize)> {
    let (name, len) = token_name(text)?;
    let name = name.to_lowercase();
    let name = name.as_str();
    if ENDS.contains(&name) {
        return Some((TurnMark::End, len));
    }
    if let Some(kind) = turn_mark(name) {
        return Some((kind, len));
    }
    if !STARTS.contains(&name) {
        return None;
    }
    let behind = text.get(len..).unwrap_or_default();
    let word = behind.trim_start_matches(' ');
    let space = behind.len().saturating_sub(word.len());
    let word = word.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    // Without a known role it opens the model's own turn: nobody else's is named.
    let kind = turn_mark(&word.to_ascii_lowercase());
    let end = len.saturating_add(if kind.is_some() { space.saturating_add(word.len()) } else { 0 });
    Some((kind.unwrap_or(TurnMark::Own), end))
}

fn turn_mark(name: &str) -> Option<TurnMark> {
    if OWN.contains(&name) { Some(TurnMark::Own) } else { FOREIGN.contains(&name).then_some(TurnMark::Foreign) }
}

/// The name in the brackets of the token that `text` starts with, and the token's length.
fn token_name(text: &str) -> Option<(&str, usize)> {
    let window = first_bytes(text, MAX_MARK_BYTES);
    for (open, close) in [("<|", "|>"), ("<｜", "｜>")] {
        if let Some(inner) = window.strip_prefix(open) {
            let name = inner.split_once(close)?.0;
            return Some((name, open.len().saturating_add(name.len()).saturating_add(close.len())));
        }
    }
    // Without bars only the few names that are no ordinary elements of markup.
    for token in ["<start_of_turn>", "<end_of_turn>", "<eos>", "</s>", "[INST]", "[/INST]"] {
        if window.starts_with(token) {
            return Some((token.get(1..token.len().saturating_sub(1))?, token.len()));
        }
    }
    None
}

/// The word with its colon that `text` starts with, if it may open somebody else's turn.
fn label(text: &str) -> Option<(TurnMark, usize)> {
    let line = first_bytes(text, MAX_MARK_BYTES).lines().next()?;
    let (word, _) = line.split_once(':')?;
    let bare = word.trim_matches(|c: char| c == '#' || c == '*' || c == ' ' || c.is_ascii_digit());
    let bare = bare.to_ascii_lowercase();
    LABELS.contains(&bare.as_str()).then(|| (TurnMark::Label, word.len().saturating_add(1)))
}
