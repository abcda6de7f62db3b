//! The end of one attempt to call a tool, and its result.

use proem_agents::lisp::CommandOutput;
use proem_engine::run::{ToolLack, ToolOutcome, hide_fields};
use proem_text::first_bytes;
use proem_text::json;
use serde_json::Value as Json;

/// The most bytes of a result.
pub const MAX_RESULT: usize = 4 << 20;

/// The most bytes that are kept of a tool's own words about a failure, about.
const MAX_WROTE: usize = 2 << 10;
/// The most bytes of them that are looked through.
const MOST_WORDS: usize = 16 << 10;

/// One attempt.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) end: AttemptEnd,
    /// The tool's own words where it gave no result, which may be anybody's. Empty if there are none.
    pub(super) wrote: String,
}

impl From<AttemptEnd> for Attempt {
    fn from(end: AttemptEnd) -> Self {
        Self { end, wrote: String::new() }
    }
}

/// How one attempt ended.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    /// With a result: the text of a JSON value.
    Answered(String),
    /// Without one. Nothing of it was begun.
    Unbegun(String),
    /// Without one, by the tool's own word.
    Refused(String),
    /// It was begun, and how it ended is not known.
    Doubtful(String),
    /// Without one, for the lack of something that carries it out.
    Lacking(ToolLack, String),
    /// A called agent ended it, with its turns and label.
    OfAgent(ToolOutcome),
}

/// A tool's own words, as far as they are looked through. A word that may be cut is left out: it could be a part of a
/// credential.
pub(super) fn tool_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(..MOST_WORDS).unwrap_or(bytes));
    let is_whole = bytes.len() < MOST_WORDS;
    let whole = if is_whole { &text } else { text.rsplit_once(char::is_whitespace).map_or("", |(before, _)| before) };
    whole.trim().to_owned()
}

/// A tool's words as they are kept: without fields that must stay hidden, and the beginning and the end of long ones,
/// because servers give their reason first and programs last. Text that may have such fields and is no JSON is left out.
pub(super) fn kept_words(words: &str) -> String {
    let may_hide = words.contains("\"_") || words.contains("\\u");
    let hidden = if may_hide { hide_fields(words) } else { Some(words.to_owned()) };
    let text = hidden.unwrap_or_default();
    if text.len() <= MAX_WROTE {
        return text;
    }
    let half = MAX_WROTE / 2;
    let begin = first_bytes(&text, half).rsplit_once(char::is_whitespace).map_or("", |(before, _)| before);
    let from = text.len().saturating_sub(half);
    let end = text.get(text.ceil_char_boundary(from)..).unwrap_or_default();
    let end = end.split_once(char::is_whitespace).map_or("", |(_, after)| after);
    format!("{}\n…\n{}", begin.trim_end(), end.trim_start())
}

/// The text that a tool wrote, if it is UTF-8.
pub(super) fn utf8_result(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes)
        .map_err(|error| format!("its result is not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))
}

/// The result that a tool wrote, if it is JSON in UTF-8.
pub(super) fn json_result(bytes: Vec<u8>) -> Result<String, String> {
    let text = utf8_result(bytes)?;
    // A mark of the byte order may be there and means nothing (RFC 8259, 8.1).
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).trim();
    if text.is_empty() {
        return Err("it wrote nothing; a tool without a result writes `null`".to_owned());
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            Err(format!("its result is not JSON alone: line {line}, column {column}"))
        }
    }
}

/// The result that a tool printed in this form, as the text of JSON.
pub(super) fn printed_result(bytes: Vec<u8>, output: CommandOutput) -> Result<String, String> {
    if output == CommandOutput::Json {
        return json_result(bytes)
            .map_err(|why| format!("{why}; for a tool that gives text, write `output = \"text\"` or `\"lines\"`"));
    }
    let text = utf8_result(bytes)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let result = match output {
        CommandOutput::Lines => text.lines().map(Json::from).collect(),
        CommandOutput::Json | CommandOutput::Text => Json::from(text.strip_suffix('\r').unwrap_or(text)),
    };
    Ok(json::compact(&result))
}
