//! The model that compares meanings, and the weights that it was calibrated with.
//!
//! Without configuration it is the model that ships with Proem. Another one gets the text of tasks, memories and the
//! catalogue, so only the user's configuration or a trusted `proem.toml` may name it. A model that nobody calibrated is
//! not asked: its vectors would decide nothing. Its requests belong to no run, so they can't be booked. If a budget is
//! configured, only a model on this machine is asked.

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use proem_embed::StaticModel;
use proem_runtime::Environment;
use proem_runtime::files::{self, FileContent};
use proem_runtime::remote_embedder::{EmbedderLimits, RemoteEmbedder};
use proem_select::embedding::{Embedder, ModelId, PieceVocabulary, Vector};
use proem_select::select::{SelectionWeightSet, Selector};

use crate::calling::locate_provider;
use crate::config::{Config, EmbeddingFile};
use crate::error::Error;
use crate::places::Places;
use crate::records::booking::Unbudgeted;

/// The largest file of weights that is read, in bytes.
const MAX_CALIBRATION_BYTES: usize = 1024 * 1024;

/// A model that says how near texts are in meaning.
#[derive(Debug)]
pub enum EmbeddingModel {
    /// The one that ships with Proem.
    BuiltIn(StaticModel<'static>),
    /// One at a provider.
    Remote(RemoteEmbedder),
}

/// The configured model.
#[derive(Debug)]
pub struct EmbeddingSetup {
    /// The model, or why there is none.
    pub model: Result<EmbeddingModel, String>,
    /// Selection, with the weights of that model.
    pub selector: Selector,
    /// For the user, one line each.
    pub notes: Vec<String>,
}

impl EmbeddingSetup {
    /// Sets up the configured model.
    ///
    /// # Errors
    ///
    /// If the configuration names a model or a calibration that can't be used.
    pub fn new(config: &Config, places: &Places) -> Result<Self, Error> {
        let model = EmbeddingModel::new(config)?;
        let (selector, note) = selector(&config.embedding, places)?;
        Ok(Self { model, selector, notes: note.into_iter().collect() })
    }

    /// The model if it is of use, that is if there are weights for it; else why not.
    pub fn calibrated(self) -> (Result<EmbeddingModel, String>, Selector, Vec<String>) {
        let Self { model, selector, notes } = self;
        let model = model.and_then(|model| match &model {
            EmbeddingModel::Remote(remote) if selector.calibrations().of(remote.model()).is_none() => {
                Err(format!("`{}` is not calibrated, so nothing is sent to it; {HOW_TO_CALIBRATE}", remote.model()))
            }
            _ => Ok(model),
        });
        (model, selector, notes)
    }
}

/// The remedy for a model without weights.
pub const HOW_TO_CALIBRATE: &str = "name the file with its weights as `calibration` under `[embedding]`";

impl EmbeddingModel {
    fn new(config: &Config) -> Result<Result<Self, String>, Error> {
        let file = &config.embedding;
        let (provider, model) = match (&file.provider, &file.model) {
            (Some(provider), Some(model)) => (provider, model),
            (None, None) => return Ok(StaticModel::built_in().map(Self::BuiltIn).map_err(|error| error.to_string())),
            (Some(_), None) => return Err(Error::invalid("`[embedding]` names a provider; set `model` beside it")),
            (None, Some(_)) => return Err(Error::invalid("`[embedding]` names a model; set `provider` beside it")),
        };
        let endpoint = locate_provider(config, provider, &Environment::inherited())?;
        // On this machine it costs nothing, unless the configuration has a price for it.
        let models = config.providers.get(provider).map(|provider| &provider.models);
        let is_priced = models
            .and_then(|models| models.get(model))
            .is_some_and(|model| model.input_price.is_some_and(|price| price > 0));
        if (is_priced || !endpoint.is_loopback())
            && let Err(why) = Unbudgeted::of_everybody(&config.budget)
        {
            return Ok(Err(format!("nothing is sent to `{model}`: {why}")));
        }
        let usual = EmbedderLimits::default();
        let limits = EmbedderLimits {
            all: file.seconds.map_or(usual.all, |seconds| Duration::from_secs(u64::from(seconds.get()))),
            texts: file.texts.unwrap_or(usual.texts),
            text_bytes: file.text_bytes.unwrap_or(usual.text_bytes),
        };
        let remote = RemoteEmbedder::new(endpoint, model, file.dimensions.map(NonZeroU32::get), limits);
        Ok(Ok(Self::Remote(remote?)))
    }

    /// How many requests were sent for it. `None` if it needs none.
    pub fn requests(&self) -> Option<usize> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Remote(remote) => Some(remote.requests()),
        }
    }

    /// The model that ships, if it is that one: asking it costs so little that nothing it said need be
    /// kept.
    pub const fn built_in(&self) -> Option<&StaticModel<'static>> {
        match self {
            Self::BuiltIn(model) => Some(model),
            Self::Remote(_) => None,
        }
    }
}

impl Embedder for EmbeddingModel {
    fn model(&self) -> &ModelId {
        match self {
            Self::BuiltIn(model) => model.model(),
            Self::Remote(remote) => remote.model(),
        }
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, proem_engine::Error> {
        match self {
            Self::BuiltIn(model) => model.embed(texts),
            Self::Remote(remote) => remote.embed(texts),
        }
    }

    fn pieces(&self) -> Option<&dyn PieceVocabulary> {
        match self {
            Self::BuiltIn(model) => model.pieces(),
            Self::Remote(remote) => remote.pieces(),
        }
    }
}

/// Selection with the shipped weights and, beside them, the user's. A note if those are not used.
fn selector(file: &EmbeddingFile, places: &Places) -> Result<(Selector, Option<String>), Error> {
    let shipped = Selector::shipped()?;
    let Some(path) = &file.calibration else { return Ok((shipped, None)) };
    // An absolute path stays what it is.
    let path = places.config.join(path);
    let own = match read_calibration(&path) {
        Ok(own) => own,
        Err(problem) => {
            let note = format!(
                "the weights `{}` are not used: {problem}; remove `calibration` under `[embedding]` to do without them",
                proem_guard::show::terminal_str(&path.display().to_string())
            );
            return Ok((shipped, Some(note)));
        }
    };
    let mut all = shipped.calibrations().clone();
    // Shipped weights are not replaced, because they belong to the shipped data.
    for (model, weights) in own.models {
        all.models.entry(model).or_insert(weights);
    }
    for (model, related) in own.related.into_iter().filter(|(_, related)| related.is_finite()) {
        all.related.entry(model).or_insert(related);
    }
    Ok((Selector::new(shipped.lexicon().clone(), shipped.words().clone(), all), None))
}

fn read_calibration(path: &Path) -> Result<SelectionWeightSet, String> {
    match files::read_regular(path, MAX_CALIBRATION_BYTES).map_err(|error| error.to_string())? {
        None => Err("there is no such file".to_owned()),
        Some(FileContent::Cut(_)) => Err(format!("it is larger than {MAX_CALIBRATION_BYTES} bytes")),
        Some(FileContent::Whole(bytes)) => {
            SelectionWeightSet::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_sent_to_an_embedding_model_that_a_budget_does_not_cover() {
        let check = |base_url: &str, rest: &str, is_refused: bool| {
            let provider = format!("[providers.vectors]\nbase_url = \"{base_url}\"\n");
            let config = format!("{provider}[embedding]\nprovider = \"vectors\"\nmodel = \"small\"\n{rest}");
            let model = EmbeddingModel::new(&Config::parse("config.toml", &config).unwrap()).unwrap();
            assert_eq!(model.is_err(), is_refused, "{config}: {model:?}");
        };
        let (there, here) = ("https://vectors.example/v1", "http://127.0.0.1:1/v1");
        check(there, "", false);
        check(there, "[budget.project]\nday = 1", true);
        check(there, "[budget.user]\nmonth_tokens = 1", true);
        check(there, "[budget.agent.risk]\nday = 1", true);
        check(here, "[budget.project]\nday = 1", false);
        let price = "[providers.vectors.models.small]\ninput_price = 1\noutput_price = 1\n";
        check(here, &format!("{price}[budget.project]\nday = 1"), true);
    }
}
