//! Texts: counted, and prompts of the book, rendered.

use proem_app::Error;
use proem_app::tokens::output::TokensOutput;
use proem_app::tokens::{TokensOptions, token_columns};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::ToolCall;
use crate::rendering::{RenderedPrompt, render_prompt};
use crate::tool::McpTool;

/// Answers with how many tokens a model makes of the words.
pub(super) struct TokensCount;

/// The text, and the model that reads it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokensArguments {
    /// The text to count
    text: String,
    /// Count for this model or role only
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    model: Option<String>,
}

impl McpTool for TokensCount {
    const NAME: &'static str = "tokens_count";
    const TITLE: &'static str = "Count the tokens of a text";
    const DESCRIPTION: &'static str = "Count the tokens of a text, by OpenAI's tokenisers and for this project's small \
        model, or for the model that you name. Says which counts are exact and which are estimates.";
    const OUTSIDE: &'static [&'static str] = &[];
    type Arguments = TokensArguments;
    type Answer = TokensOutput;

    fn answer(call: &ToolCall, arguments: TokensArguments) -> Result<(String, TokensOutput), Error> {
        let options = TokensOptions { model: arguments.model, provider: None, root: call.setting.root.clone() };
        // The notes are about the project's files, which the counts don't depend on.
        let columns = token_columns(&options, &call.setting.places, &mut Vec::new())?;
        let output = TokensOutput::of_text(&columns, &arguments.text);
        let totals: Vec<String> = output.totals().map(|(name, tokens)| format!("{tokens} ({name})")).collect();
        Ok((format!("{} bytes, tokens: {}.", arguments.text.len(), totals.join(", ")), output))
    }
}

/// Answers with what a model would read.
pub(super) struct PromptRender;

/// The prompt, and its inputs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptArguments {
    /// The prompt of the book, as `agent/name` or `agent/name@version`
    #[schemars(length(min = 1, max = 200))]
    prompt: String,
    /// Its inputs by name. All count as text from outside
    #[serde(default)]
    inputs: std::collections::BTreeMap<String, Json>,
    /// The model or role whose window and tokeniser count
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    model: Option<String>,
}

impl McpTool for PromptRender {
    const NAME: &'static str = "prompt_render";
    const TITLE: &'static str = "Render a prompt of the book";
    const DESCRIPTION: &'static str = "Render a prompt of the book with inputs, as `proem run` would send it, without \
        sending it: system and user text, with each section's trust and tokens. Inputs are contained between delimiters.";
    const OUTSIDE: &'static [&'static str] = &["/user"];
    type Arguments = PromptArguments;
    type Answer = RenderedPrompt;

    fn answer(call: &ToolCall, arguments: PromptArguments) -> Result<(String, RenderedPrompt), Error> {
        let PromptArguments { prompt, inputs, model } = arguments;
        let inputs = Json::Object(inputs.into_iter().collect());
        let rendered = render_prompt(&call.setting, &prompt, inputs, model)?;
        Ok((rendered.summary(), rendered))
    }
}
