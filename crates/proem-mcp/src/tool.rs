//! The contract of tools.

use std::sync::Arc;

use proem_app::Error;
use proem_app::records::served_calls::RecordDepth;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::answer::ToolAnswer;
use crate::arguments::parse_tool_arguments;
use crate::call::{ToolCall, ToolPace};
use crate::page::{cut_page, parse_cursor};
use crate::schema::inline_schema;

/// A use case that clients may call. All of them only read.
pub(crate) trait McpTool {
    /// Its name: letters, digits and underscores.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// Its purpose, for the model that chooses.
    const DESCRIPTION: &'static str;
    /// The texts of its answers that come from outside, as JSON pointers with `*` for each entry.
    const OUTSIDE: &'static [&'static str];
    /// The lists that long answers are cut in, as JSON pointers, the outermost first.
    const LISTS: &'static [&'static str] = &[];
    /// How long it takes.
    const PACE: ToolPace = ToolPace::Works;
    /// The part of an answer that is recorded. A copy of a recorded run would outlive that run when it is purged.
    const RECORDED: RecordDepth = RecordDepth::Content;
    /// The schema that a call must meet.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The schema that every result meets.
    type Answer: Serialize + JsonSchema;

    /// The cursor among its arguments.
    fn cursor(arguments: &Self::Arguments) -> Option<&str> {
        let _ = arguments;
        None
    }

    /// Answers, with a sentence about it. This may block.
    ///
    /// # Errors
    ///
    /// Those of the use case.
    fn answer(call: &ToolCall, arguments: Self::Arguments) -> Result<(String, Self::Answer), Error>;
}

/// A tool as the server lists and calls it.
#[derive(Debug, Clone)]
pub(crate) struct ToolEntry {
    pub(crate) definition: Tool,
    pub(crate) pace: ToolPace,
    pub(crate) recorded: RecordDepth,
    pub(crate) outside: &'static [&'static str],
    pub(crate) perform: fn(&ToolCall, JsonObject, &JsonObject) -> Result<ToolAnswer, Error>,
}

impl ToolEntry {
    /// The entry of a tool.
    pub(crate) fn of<T: McpTool>() -> Self {
        // Nothing here reaches further than this machine and this user's project.
        let annotations =
            ToolAnnotations::with_title(T::TITLE).read_only(true).destructive(false).idempotent(true).open_world(false);
        let definition = Tool::new(T::NAME, T::DESCRIPTION, inline_schema::<T::Arguments>())
            .with_title(T::TITLE)
            .with_raw_output_schema(Arc::new(inline_schema::<T::Answer>()))
            .with_annotations(annotations);
        Self { definition, pace: T::PACE, recorded: T::RECORDED, outside: T::OUTSIDE, perform: perform_call::<T> }
    }
}

/// Reads the arguments, answers, and cuts the answer into a page.
fn perform_call<T: McpTool>(call: &ToolCall, given: JsonObject, schema: &JsonObject) -> Result<ToolAnswer, Error> {
    let arguments: T::Arguments = parse_tool_arguments(given, schema)?;
    let start = parse_cursor(T::cursor(&arguments))?;
    let (summary, answer) = T::answer(call, arguments)?;
    let mut document: Json =
        serde_json::to_value(&answer).map_err(|error| Error::bug("could not write an answer as JSON", error))?;
    cut_page(&mut document, T::LISTS, start)?;
    Ok(ToolAnswer { summary, document })
}
