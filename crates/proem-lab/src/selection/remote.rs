//! `proem-lab train select --embedding-url URL`: weights for a model at a server.
//!
//! They are learned as the shipped ones are, from the same requests. Only what depends on the model
//! is made: the file goes beside what ships, and nothing that ships changes.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use proem_engine::providers::Provider;
use proem_llm::endpoint::{Endpoint, EndpointKey, EndpointLimits};
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::remote_embedder::{EmbedderLimits, RemoteEmbedder};
use proem_select::embedding::Embedder;
use proem_select::select::{SelectionWeightSet, Selector};

use super::public_sets::{SelectionRequest, ToolCatalogue, read_requests};
use super::trainer::{EpisodeKnowledge, Trainer, shorten_numbers, untrained_weights};

/// How long embedding all requests may take.
const ALL: Duration = Duration::from_secs(3_600);

/// The features for a model that shows no pieces and has made no direction of the shipped usage.
const REMOTE: [usize; 6] = [0, 1, 2, 3, 6, 8];

/// A model at a server: only the weights of evidence are learned for it, into a file of the user's.
#[derive(Debug, Args)]
pub(crate) struct RemoteModel {
    /// The address of a server of embeddings, such as `http://127.0.0.1:11434/v1`.
    #[arg(long, value_name = "URL", requires_all = ["embedding_model", "out"])]
    pub(super) embedding_url: Option<String>,
    /// The model's name there.
    #[arg(long, value_name = "MODEL", requires = "embedding_url")]
    embedding_model: Option<String>,
    /// The environment variable that holds its key.
    #[arg(long, value_name = "VARIABLE", requires = "embedding_url")]
    embedding_key: Option<String>,
    /// How many numbers its vectors are to have.
    #[arg(long, value_name = "N", requires = "embedding_url")]
    embedding_dimensions: Option<NonZeroU32>,
    /// The file that is written, for `calibration` under `[embedding]`.
    #[arg(long, value_name = "FILE", requires = "embedding_url")]
    out: Option<PathBuf>,
}

pub(super) fn run_train_remote(data: &Path, remote: &RemoteModel) -> Result<String, String> {
    let RemoteModel { embedding_url, embedding_model, embedding_key, embedding_dimensions, out } = remote;
    let (Some(url), Some(model), Some(out)) = (embedding_url, embedding_model, out) else {
        return Err("name the server, its model and a file: --embedding-url, --embedding-model and --out".to_owned());
    };
    let endpoint = Endpoint {
        authorities: None,
        name: "embedding-url".to_owned(),
        provider: Provider::OpenAi,
        base_url: url.trim_end_matches('/').to_owned(),
        key: embedding_key.as_deref().map_or(EndpointKey::None, key_of_variable),
        limits: EndpointLimits::default(),
    };
    let limits = EmbedderLimits { all: ALL, ..EmbedderLimits::default() };
    let dimensions = embedding_dimensions.map(NonZeroU32::get);
    let embedder = RemoteEmbedder::new(endpoint, model, dimensions, limits).map_err(|error| error.to_string())?;
    let training = read_requests(&data.join("selection/metatool.train.jsonl"))?;
    let tools = ToolCatalogue::read(&data.join("selection/metatool.tools.jsonl"))?;
    let shipped = Selector::shipped().map_err(|error| error.to_string())?;
    let calibrations = remote_weights(&shipped, &training, &tools, &embedder)?;
    let mut json = serde_json::to_value(&calibrations).map_err(|error| error.to_string())?;
    shorten_numbers(&mut json);
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

/// The weights of a model that comes from outside, and its least related cosine. The rest is as shipped.
fn remote_weights(
    shipped: &Selector,
    training: &[SelectionRequest],
    tools: &ToolCatalogue,
    embedder: &dyn Embedder,
) -> Result<SelectionWeightSet, String> {
    let selector = Selector::new(shipped.lexicon().clone(), shipped.words().clone(), untrained_weights());
    let mut trainer = Trainer::new(training, tools, &selector, embedder, EpisodeKnowledge::Words)?;
    let id = embedder.model().to_string();
    Ok(SelectionWeightSet {
        version: SelectionWeightSet::VERSION,
        lexical: shipped.calibrations().lexical.clone(),
        related: BTreeMap::from([(id.clone(), trainer.related()?)]),
        models: BTreeMap::from([(id, trainer.calibrate(&REMOTE, EpisodeKnowledge::Meaning)?)]),
    })
}

fn key_of_variable(variable: &str) -> EndpointKey {
    let variable = variable.to_owned();
    match Environment::inherited().get(&variable).and_then(|value| value.to_str()).map(str::trim) {
        Some(value) if !value.is_empty() => {
            EndpointKey::Loaded { secret: Secret::new(variable.as_str(), value), variable }
        }
        _ => EndpointKey::Missing { variable },
    }
}
