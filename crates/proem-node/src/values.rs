//! Counted tokens, ranked tools and values of answers.

use std::sync::Arc;

use napi_derive::napi;
use proem::tokens::Exactness;
use serde_json::{Value, json};

use crate::job::{Job, error_of_failure, read_argument};

/// Counts the tokens of a text as a model cuts it: their number, and whether the model's own tokeniser counted.
#[napi(js_name = "countTokens")]
pub(crate) fn token_count_job(text: String, model: String) -> Job {
    Job::of(move || {
        let counted = proem::tokens::count(&model, &text)?;
        Ok(json!({ "tokens": counted.tokens, "exact": counted.exactness == Exactness::Exact }))
    })
}

/// The most tokens that a prompt can have, which is JSON.
#[napi(js_name = "promptTokenBound")]
pub(crate) fn token_bound_job(prompt: String) -> napi::Result<Job> {
    let prompt: Value = read_argument(&prompt, "the prompt")?;
    Ok(Job::of(move || proem::prompt_token_bound(&prompt)))
}

/// Reads the value that a schema asks for from a model's answer: the value, and a sentence for each repair.
#[napi(js_name = "decodeAnswer")]
pub(crate) fn answer_job(text: String, schema: String) -> napi::Result<Job> {
    let schema: Value = read_argument(&schema, "the schema")?;
    Ok(Job::of(move || proem::decode(&text, &schema)))
}

/// The tools that an agent has, ready to be ranked for many tasks.
#[napi(js_name = "Toolbox")]
pub(crate) struct NodeToolbox {
    tools: Arc<proem::Toolbox>,
}

#[napi]
impl NodeToolbox {
    /// Reads tools as JSON lines.
    #[napi(constructor)]
    pub fn new(lines: String) -> napi::Result<Self> {
        let tools = proem::Toolbox::of_lines(&lines).map_err(|error| error_of_failure(&error))?;
        Ok(Self { tools: Arc::new(tools) })
    }

    /// All tools, the likeliest first: name, probability, and whether it fits the task.
    #[napi]
    pub fn rank(&self, task: String) -> Job {
        let tools = Arc::clone(&self.tools);
        Job::of(move || tools.rank(&task))
    }
}
