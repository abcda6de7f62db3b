//! Tools whose results are in a file.

use proem_engine::run::ToolUse;
use serde::Deserialize;
use serde_json::Value as Json;

use super::AttemptEnd;

/// The results of a file: a JSON list of objects with `arguments` and `result`, or `error` in its place.
#[derive(Debug)]
pub(super) struct RecordedResults(Vec<RecordedResult>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedResult {
    arguments: Json,
    #[serde(default, deserialize_with = "deserialize_present")]
    result: Option<Json>,
    error: Option<String>,
}

/// `null` is a result too, and no result that is missing.
fn deserialize_present<'d, D: serde::Deserializer<'d>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl RecordedResults {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// In words, what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let results: Vec<RecordedResult> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let is_one = |result: &RecordedResult| result.result.is_some() != result.error.is_some();
        match results.iter().position(|result| !is_one(result)) {
            None => Ok(Self(results)),
            Some(at) => Err(format!("entry {at} has not one of `result` and `error`")),
        }
    }
}

/// The result for a call's arguments.
pub(super) fn recorded_result(results: &RecordedResults, call: &ToolUse) -> AttemptEnd {
    let Ok(arguments) = serde_json::from_str::<Json>(&call.arguments) else {
        return AttemptEnd::Refused("its arguments can't be read".to_owned());
    };
    let found = results.0.iter().find(|result| result.arguments == arguments);
    match found.map(|found| (&found.result, &found.error)) {
        Some((Some(result), _)) => AttemptEnd::Answered(proem_text::json::compact(result)),
        Some((None, Some(error))) => AttemptEnd::Refused(error.clone()),
        Some((None, None)) | None => {
            AttemptEnd::Refused(format!("its file has no result for {}", proem_text::json::compact(&arguments)))
        }
    }
}
