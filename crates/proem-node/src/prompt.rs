//! Prompts and what they render to.

use std::sync::Arc;

use napi_derive::napi;
use proem::RenderOptions;
use proem::proem_engine::ordered_json::OrderedJson;

use crate::job::{Job, error_of_failure, read_argument};

/// A prompt file.
#[napi(js_name = "Prompt")]
pub(crate) struct NodePrompt {
    prompt: Arc<proem::Prompt>,
}

#[napi]
impl NodePrompt {
    /// Reads a prompt from the text of a file.
    #[napi(constructor)]
    pub fn new(text: String) -> napi::Result<Self> {
        let prompt = proem::Prompt::parse(&text).map_err(|error| error_of_failure(&error))?;
        Ok(Self { prompt: Arc::new(prompt) })
    }

    /// The names of the inputs that are declared trusted.
    #[napi(getter)]
    pub fn trusted_inputs(&self) -> Vec<String> {
        self.prompt.trusted_inputs().map(str::to_owned).collect()
    }

    /// Renders the prompt with inputs and options, both JSON.
    #[napi]
    pub fn render(&self, inputs: String, options: String) -> napi::Result<Job> {
        let (inputs, options) = (
            read_argument::<OrderedJson>(&inputs, "the inputs")?,
            read_argument::<RenderOptions>(&options, "the options")?,
        );
        let prompt = Arc::clone(&self.prompt);
        Ok(Job::of(move || options.render(&prompt, &inputs)))
    }
}
