//! The end of one attempt to call a tool, and its result.

use proem_agents::lisp::CommandOutput;
use proem_engine::run::{ToolLack, ToolOutcome};
use proem_text::json;
use serde_json::Value as Json;

/// The most bytes of a result.
pub const MAX_RESULT: usize = 4 << 20;

/// The most bytes that are kept of a tool's own words about a failure.
const MAX_WROTE: usize = 2 << 10;

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

/// The beginning of a tool's words, as a server's refusal has its reason there.
pub(super) fn words_at_start(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_WROTE).unwrap_or(bytes)).trim().to_owned()
}

/// The end of a tool's words, as a program's last line says why it gave up.
pub(super) fn words_at_end(bytes: &[u8]) -> String {
    let surplus = bytes.len().saturating_sub(MAX_WROTE);
    String::from_utf8_lossy(bytes.get(surplus..).unwrap_or_default()).trim().to_owned()
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
