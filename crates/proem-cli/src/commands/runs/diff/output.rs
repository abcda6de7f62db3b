//! The findings about requests, for programs.

use proem_store::query::RunDetail;
use serde_json::{Value as Json, json};

use super::draw::{SectionPair, section_pairs, tools_state};
use crate::failure::CommandFailure;
use proem_app::runs::diff::Pair;
use proem_app::runs::diff::run_call::{RunCall, call_prompt_name};
use proem_app::when;

/// Two requests.
pub(super) fn pair_json(pairs: &[Pair<'_>]) -> Result<Json, CommandFailure> {
    match pairs {
        [pair] => pair_object(pair),
        _ => Err(CommandFailure::bug("could not write JSON", "there are not exactly two requests")),
    }
}

/// Each call of a run with the one that its cache could have been written by.
pub(super) fn run_pairs_json(run: &RunDetail, pairs: &[Pair<'_>]) -> Result<Json, CommandFailure> {
    let comparisons: Vec<Json> = pairs.iter().map(pair_object).collect::<Result<_, _>>()?;
    Ok(json!({ "run": run.row.id.0, "calls": run.calls.len(), "comparisons": comparisons }))
}

fn pair_object(pair: &Pair<'_>) -> Result<Json, CommandFailure> {
    let mut json = serde_json::to_value(&pair.compared).map_err(|e| CommandFailure::bug("could not write JSON", e))?;
    if let Some(fields) = json.as_object_mut() {
        let texts = pair.texts.as_ref();
        let texts = texts.map(|texts| json!({ "what": texts.what, "before": texts.before, "after": texts.after }));
        fields.insert("first".to_owned(), compared_call_json(&pair.first));
        fields.insert("second".to_owned(), compared_call_json(&pair.second));
        fields.insert("words".to_owned(), json!(pair.words()));
        fields.insert("provider".to_owned(), json!(pair.diagnosis()));
        fields.insert("tools".to_owned(), json!(tools_state(pair).map(|state| state.as_str())));
        fields.insert("sections".to_owned(), section_pairs(pair).iter().map(SectionPair::json).collect());
        fields.insert("texts".to_owned(), json!(texts));
        let answers = pair.answers.as_ref();
        let answers = answers.map(|one| json!({ "same": one.is_same, "before": one.before, "after": one.after }));
        fields.insert("answers".to_owned(), json!(answers));
    }
    Ok(json)
}

fn compared_call_json(call: &RunCall<'_>) -> Json {
    let row = call.row;
    json!({
        "run": call.run.row.id.0,
        "call": call.number,
        "at": when::rfc3339(call.at()),
        "prompt": call_prompt_name(row),
        "version": row.prompt.version,
        "model": row.model,
        "endpoint": row.endpoint,
        "sent": call.is_sent(),
        "stableTokens": row.stable_tokens,
        "tokensBeforeSections": call.tokens_before(),
        "usage": call.usage(),
    })
}
