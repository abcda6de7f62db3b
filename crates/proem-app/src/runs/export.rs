//! Recorded calls to models as lines that other programs join: one object or one row for each call.
//!
//! Invariants: the lines have no text that was sent or answered. Columns keep their names, meanings and order, and a new
//! one goes to the end. No more than one page of runs is held, however many there are. Tokens from a cache are counted
//! once, and an unknown figure is null or an empty cell.

use proem_engine::call::Usage;
use proem_store::Store;
use proem_store::query::{AttemptRow, CallRow, RunPosition, RunRow, RunState, RunsWanted};
use proem_store::record::CallState;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::diff::run_call::call_prompt_name;
use crate::error::Error;
use crate::when;

/// The runs that are read at a time.
const PAGE: u32 = 100;

/// How each line of an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// An object of JSON for each call, one on each line.
    JsonLines,
    /// A row for each call, with a row of names in front: RFC 4180, with a line feed behind each row.
    Csv,
}

/// A call to a model as a line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedCall {
    #[serde(flatten)]
    place: ExportedPlace,
    #[serde(flatten)]
    prompt: ExportedPrompt,
    #[serde(flatten)]
    course: ExportedCourse,
    #[serde(flatten)]
    tokens: ExportedTokens,
    #[serde(flatten)]
    spent: ExportedSpending,
    #[serde(flatten)]
    contract: ExportedContract,
}

/// The place of a call in the records.
#[derive(Debug, Serialize, JsonSchema)]
struct ExportedPlace {
    /// The id of its run.
    run: String,
    /// Its place among the run's calls, from 0.
    call: usize,
    /// When it was made, as RFC 3339.
    at: String,
    /// The project whose records it is in.
    project: String,
    /// The kind of its run: `prompt` or an agent's name.
    kind: String,
}

/// The prompt of a call, and the model that was asked.
#[derive(Debug, Serialize, JsonSchema)]
struct ExportedPrompt {
    /// The prompt, as `agent/name`.
    prompt: String,
    /// The prompt's version.
    version: String,
    /// The hash of everything that the prompt was made of.
    closure: String,
    /// The model, as the configuration names it.
    model: String,
    /// The endpoint that was asked.
    endpoint: String,
}

/// The course of a call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExportedCourse {
    /// `pending`, `answered`, `failed` or `unknown`.
    #[schemars(with = "String")]
    state: CallState,
    /// Why the model stopped. Null without an answer.
    finish: Option<String>,
    /// How the run ended: `answered`, `fell-back`, `failed` or `refused`. Null if it has not.
    run_outcome: Option<&'static str>,
    /// How often it was sent.
    attempts: usize,
}

/// The tokens of a call's attempts together. Null where one of them is unknown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportedTokens {
    /// The tokens of the prompt, cached ones included: the sum of the three below.
    pub(crate) input_tokens: Option<u64>,
    /// Those of them that were neither read from a cache nor written to it.
    pub(crate) uncached_input_tokens: Option<u64>,
    /// Those of them that were read from a cache.
    pub(crate) cache_read_tokens: Option<u64>,
    /// Those of them that were written to a cache.
    pub(crate) cache_written_tokens: Option<u64>,
    /// The tokens of the answer, thinking included.
    pub(crate) output_tokens: Option<u64>,
    /// The tokens of one request by our own count.
    pub(crate) counted_tokens: u64,
}

/// The cost and the time of a call's attempts together. Null where one of them is unknown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportedSpending {
    /// The cost, in thousand-millionths of a dollar.
    pub(crate) cost_nano_dollars: Option<u64>,
    /// How long the provider took, in milliseconds.
    pub(crate) took_ms: Option<u64>,
    /// How long was waited before attempts, in milliseconds.
    pub(crate) waited_ms: Option<u64>,
}

/// The contract of an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExportedContract {
    /// `met` or `broken`. Null without an answer that the contract was applied to.
    pub(crate) contract: Option<&'static str>,
    /// The problems that the contract found. Null as above.
    pub(crate) problems: Option<usize>,
    /// The repairs that made the answer readable. Null as above.
    pub(crate) repairs: Option<usize>,
}

/// The columns, in their order. A new one goes to the end.
pub const COLUMNS: [&str; 26] = [
    "run",
    "call",
    "at",
    "project",
    "kind",
    "prompt",
    "version",
    "closure",
    "model",
    "endpoint",
    "state",
    "finish",
    "runOutcome",
    "attempts",
    "inputTokens",
    "uncachedInputTokens",
    "cacheReadTokens",
    "cacheWrittenTokens",
    "outputTokens",
    "countedTokens",
    "costNanoDollars",
    "tookMs",
    "waitedMs",
    "contract",
    "problems",
    "repairs",
];

/// Writes the calls of the wanted runs, the oldest first, a page of runs at a time. `limit` of `wanted` is not used.
/// The number of calls.
///
/// # Errors
///
/// If the records can't be read, or `write` fails.
pub async fn export_calls<E: From<Error>>(
    store: &Store,
    wanted: &RunsWanted,
    form: ExportForm,
    mut write: impl FnMut(&str) -> Result<(), E>,
) -> Result<u64, E> {
    let wanted = RunsWanted { limit: Some(PAGE), ..wanted.clone() };
    if form == ExportForm::Csv {
        write(&csv_row(COLUMNS.into_iter().map(str::to_owned)))?;
    }
    let (mut calls, mut behind) = (0_u64, Some(RunPosition::default()));
    while let Some(place) = behind {
        let page = store.run_calls(&wanted, place).await.map_err(Error::from)?;
        let mut lines = String::new();
        for (run, of_run) in &page.runs {
            // An assembly without a request is no call.
            for (number, call) in of_run.iter().enumerate().filter(|(_, call)| !call.body.is_empty()) {
                lines.push_str(&call_line(&ExportedCall::new(run, number, call), form)?);
                calls = calls.saturating_add(1);
            }
        }
        if !lines.is_empty() {
            write(&lines)?;
        }
        behind = page.next;
    }
    Ok(calls)
}

fn call_line(call: &ExportedCall, form: ExportForm) -> Result<String, Error> {
    let value = serde_json::to_value(call).map_err(|error| Error::bug("could not write a call as JSON", error))?;
    Ok(match form {
        ExportForm::JsonLines => format!("{}\n", json::compact(&value)),
        ExportForm::Csv => csv_row(COLUMNS.into_iter().map(|name| match value.get(name) {
            None | Some(Json::Null) => String::new(),
            Some(Json::String(text)) => inert_cell(text),
            Some(number) => number.to_string(),
        })),
    })
}

/// A text that no spreadsheet takes for a formula: an apostrophe goes in front of one that begins like it.
fn inert_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

/// A row with its end.
fn csv_row(cells: impl Iterator<Item = String>) -> String {
    let quoted = |cell: String| {
        if cell.contains([',', '"', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    };
    format!("{}\n", cells.map(quoted).collect::<Vec<_>>().join(","))
}

impl ExportedCall {
    fn new(run: &RunRow, number: usize, call: &CallRow) -> Self {
        let run_outcome = match run.state {
            RunState::Ended(outcome) => Some(outcome.as_str()),
            _ => None,
        };
        Self {
            place: ExportedPlace {
                run: run.id.0.clone(),
                call: number,
                at: when::rfc3339(call.at),
                project: run.project.0.clone(),
                kind: run.kind.clone(),
            },
            prompt: ExportedPrompt {
                prompt: call_prompt_name(call),
                version: call.prompt.version.clone(),
                closure: call.prompt.closure.clone(),
                model: call.model.clone(),
                endpoint: call.endpoint.clone(),
            },
            course: ExportedCourse {
                state: call.state,
                finish: call.finish.clone(),
                run_outcome,
                attempts: call.attempts.len(),
            },
            tokens: ExportedTokens::new(call),
            spent: ExportedSpending::new(&call.attempts),
            contract: ExportedContract::new(call),
        }
    }
}

impl ExportedTokens {
    pub(crate) fn new(call: &CallRow) -> Self {
        let sum = |tokens: fn(&Usage) -> Option<u64>| {
            attempt_sum(&call.attempts, |attempt| attempt.usage.as_ref().and_then(tokens))
        };
        Self {
            input_tokens: sum(|usage| usage.input),
            uncached_input_tokens: sum(Usage::uncached),
            cache_read_tokens: sum(|usage| usage.cache_read),
            cache_written_tokens: sum(|usage| Some(usage.cache_written())),
            output_tokens: sum(|usage| usage.output),
            counted_tokens: call.tokens,
        }
    }
}

impl ExportedSpending {
    pub(crate) fn new(attempts: &[AttemptRow]) -> Self {
        // An attempt of which nobody knows is booked in full, which is a bound and no cost, unless it could cost nothing.
        let cost = |attempt: &AttemptRow| {
            let is_known = attempt.state != "unknown" || attempt.corrected.is_some() || attempt.booked?.0 == 0;
            attempt.booked.filter(|_| is_known).map(|booked| booked.0)
        };
        let is_timed = |attempt: &&AttemptRow| attempt.status.is_some() || attempt.failed.is_some();
        Self {
            cost_nano_dollars: attempt_sum(attempts, cost),
            took_ms: attempt_sum(attempts, |attempt| Some(attempt).filter(is_timed).map(|timed| timed.took_ms)),
            waited_ms: attempt_sum(attempts, |attempt| Some(attempt).filter(is_timed).map(|timed| timed.waited_ms)),
        }
    }
}

impl ExportedContract {
    pub(crate) fn new(call: &CallRow) -> Self {
        let length = |list: &Json| list.as_array().map(Vec::len);
        // A refusal, and an answer that was cut off, do not meet it.
        let is_whole = !matches!(call.finish.as_deref(), Some("refusal" | "length"));
        let applied = call.state == CallState::Answered && call.tool.is_some();
        let problems = length(&call.problems).filter(|_| applied);
        let contract = problems.map(|count| if count == 0 && is_whole { "met" } else { "broken" });
        Self { contract, problems, repairs: length(&call.repairs).filter(|_| applied) }
    }
}

/// The sum over the attempts that were sent. `None` if there is none, or one figure is unknown.
fn attempt_sum(attempts: &[AttemptRow], figure: impl Fn(&AttemptRow) -> Option<u64>) -> Option<u64> {
    let mut sum = None;
    for attempt in attempts.iter().filter(|attempt| attempt.state != "unsent") {
        sum = Some(sum.unwrap_or(0_u64).saturating_add(figure(attempt)?));
    }
    sum
}

#[cfg(test)]
mod tests {
    use schemars::schema_for;

    use super::*;

    #[test]
    fn the_columns_are_those_of_the_schema() {
        let schema = schema_for!(ExportedCall).to_value();
        let mut named: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut columns = COLUMNS.to_vec();
        named.sort_unstable();
        columns.sort_unstable();
        assert_eq!(columns, named);
    }

    #[test]
    fn a_cell_is_no_formula_and_stays_in_its_place() {
        let check = |text: &str, expected: &str| {
            assert_eq!(csv_row([inert_cell(text), "1".to_owned()].into_iter()), format!("{expected},1\n"));
        };
        check("reviews/triage", "reviews/triage");
        check("=HYPERLINK(\"http://evil.example\")", "\"'=HYPERLINK(\"\"http://evil.example\"\")\"");
        check("+1", "'+1");
        check("-2+3|cmd", "'-2+3|cmd");
        check("@SUM(A1)", "'@SUM(A1)");
        check("\t=1", "'\t=1");
        check("＝1", "'＝1");
        check("a=1", "a=1");
        check("a,b\n\"c\"", "\"a,b\n\"\"c\"\"\"");
        check("", "");
    }
}
