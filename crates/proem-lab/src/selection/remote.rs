//! `proem-lab train select --embedding-url URL`: weights for a model at a server.
//!
//! They are learned as the shipped ones are, from the same requests. Only what depends on the model
//! is made: the file goes beside what ships, and nothing that ships changes.

use std::num::NonZeroU32;
use std::time::Duration;

use proem_engine::providers::Provider;
use proem_llm::endpoint::{Endpoint, EndpointKey, EndpointLimits};
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::remote_embedder::{EmbedderLimits, RemoteEmbedder};
use proem_select::embedding::Embedder as _;
use proem_select::select::Selector;

use super::data::{ToolCatalogue, requests};
use super::train::{RemoteModel, TrainSelect, shorten, weights_of};

/// How long embedding all requests may take.
const ALL: Duration = Duration::from_secs(3_600);

pub(super) fn run(args: &TrainSelect) -> Result<String, String> {
    let RemoteModel { embedding_url, embedding_model, embedding_key, embedding_dimensions, out } = &args.remote;
    let (Some(url), Some(model), Some(out)) = (embedding_url, embedding_model, out) else {
        return Err("name the server, its model and a file: --embedding-url, --embedding-model and --out".to_owned());
    };
    let endpoint = Endpoint {
        name: "embedding-url".to_owned(),
        provider: Provider::OpenAi,
        base_url: url.trim_end_matches('/').to_owned(),
        key: embedding_key.as_deref().map_or(EndpointKey::None, key),
        limits: EndpointLimits::default(),
    };
    let limits = EmbedderLimits { all: ALL, ..EmbedderLimits::default() };
    let dimensions = embedding_dimensions.map(NonZeroU32::get);
    let embedder = RemoteEmbedder::new(endpoint, model, dimensions, limits).map_err(|error| error.to_string())?;
    let training = requests(&args.data.join("selection/metatool.train.jsonl"))?;
    let tools = ToolCatalogue::read(&args.data.join("selection/metatool.tools.jsonl"))?;
    let shipped = Selector::shipped().map_err(|error| error.to_string())?;
    let calibrations = weights_of(&shipped, &training, &tools, &embedder)?;
    let mut json = serde_json::to_value(&calibrations).map_err(|error| error.to_string())?;
    shorten(&mut json);
    let text = format!("{}\n", proem_text::json::pretty(&json));
    std::fs::write(out, &text).map_err(|error| format!("could not write `{}`: {error}", out.display()))?;
    Ok(format!(
        "{}: {} requests, {} tools, asked {} times\n{text}",
        embedder.model(),
        training.len(),
        tools.entries().len(),
        embedder.requests()
    ))
}

fn key(variable: &str) -> EndpointKey {
    let variable = variable.to_owned();
    match Environment::inherited().get(&variable).and_then(|value| value.to_str()).map(str::trim) {
        Some(value) if !value.is_empty() => {
            EndpointKey::Loaded { secret: Secret::new(variable.as_str(), value), variable }
        }
        _ => EndpointKey::Missing { variable },
    }
}
