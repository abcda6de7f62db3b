//! `proem-lab train select`: learns what selection ships.
//!
//! Four files, each made from the training requests of MetaTool and nothing else: the weights of
//! word pieces (in the static model's scales), the weights of words, the usage table, and the
//! weights of evidence with their calibration. The same input gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use proem_embed::StaticModel;
use proem_select::embedding::Embedder as _;
use proem_select::select::{FEATURES, SelectionWeightSet, Selector, TranslationLexicon, WordWeights};

use super::public_sets::{SelectionRequest, ToolCatalogue, read_data_file, read_requests};
use super::remote::{self, RemoteModel};
use super::trainer::{EpisodeKnowledge, Trainer, shorten_numbers, untrained_weights};
use crate::pack;

/// Learns the selection of tools.
#[derive(Debug, Args)]
pub(crate) struct TrainSelect {
    /// Folder with `embed/` and `selection/`.
    #[arg(long, value_name = "DIR", default_value = concat!("../", "shared/data"))]
    data: PathBuf,
    /// The workspace's folder, whose files are written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
    #[command(flatten)]
    remote: RemoteModel,
}

/// The place of the files, from the workspace's folder.
pub(crate) const MODEL: &str = "crates/proem-embed/data/static-1.bin";
pub(crate) const WORDS: &str = "crates/proem-select/data/select-words.tsv";
const USAGE: &str = "crates/proem-select/data/select-usage.tsv";
const WEIGHTS: &str = "crates/proem-select/data/select-weights.json";
pub(crate) const LEXICON: &str = "crates/proem-select/data/lexicon.tsv";

/// All evidence, and that of words alone.
const ALL: [usize; FEATURES] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const LEXICAL: [usize; 5] = [0, 1, 2, 6, 8];

pub(crate) fn run_train_select(args: &TrainSelect) -> Result<String, String> {
    if args.remote.embedding_url.is_some() {
        return remote::run_train_remote(&args.data, &args.remote);
    }
    let training = read_requests(&args.data.join("selection/metatool.train.jsonl"))?;
    let tools = ToolCatalogue::read(&args.data.join("selection/metatool.tools.jsonl"))?;
    let file = weighted_static_model(&args.data.join("embed"), &training)?;
    let embedder = StaticModel::load(&file).map_err(|error| error.to_string())?;
    let words = WordWeights::learn(training.iter().map(|request| request.query.as_str()));
    let selector = Selector::new(
        TranslationLexicon::parse(&read_data_file(&args.to.join(LEXICON))?).map_err(|error| error.to_string())?,
        WordWeights::parse(&words).map_err(|error| error.to_string())?,
        untrained_weights(),
    );
    let mut trainer = Trainer::new(&training, &tools, &selector, &embedder, EpisodeKnowledge::Meaning)?;
    let usage = trainer.usage_of(&(0..training.len()).collect::<Vec<_>>(), &BTreeSet::new(), None).write();
    let related = trainer.related()?;
    let mut calibrations = SelectionWeightSet {
        version: SelectionWeightSet::VERSION,
        lexical: trainer.calibrate(&LEXICAL, EpisodeKnowledge::Words)?,
        models: BTreeMap::new(),
        related: BTreeMap::from([(embedder.model().to_string(), related)]),
    };
    calibrations.models.insert(embedder.model().to_string(), trainer.calibrate(&ALL, EpisodeKnowledge::Meaning)?);
    let mut json = serde_json::to_value(&calibrations).map_err(|error| error.to_string())?;
    shorten_numbers(&mut json);
    let write = |name: &str, bytes: &[u8]| {
        let path = args.to.join(name);
        std::fs::write(&path, bytes).map_err(|error| format!("could not write `{}`: {error}", path.display()))
    };
    write(MODEL, &file)?;
    write(WORDS, words.as_bytes())?;
    write(USAGE, usage.as_bytes())?;
    write(WEIGHTS, format!("{}\n", proem_text::json::pretty(&json)).as_bytes())?;
    Ok(format!(
        "{}: {} requests, {} tools, {} words, {} KiB of usage\n{}\n",
        embedder.model(),
        training.len(),
        tools.entries().len(),
        words.lines().count(),
        usage.len() / 1024,
        proem_text::json::pretty(&json)
    ))
}

/// The static model, its pieces weighted by how telling they are in requests.
pub(crate) fn weighted_static_model(raw: &Path, training: &[SelectionRequest]) -> Result<Vec<u8>, String> {
    let plain = pack::pack_raw_folder(raw, &|_, scale| scale)?;
    let plain = StaticModel::load(&plain).map_err(|error| error.to_string())?;
    let mut with = vec![0_usize; plain.rows()];
    for request in training {
        for piece in plain.tokens(&request.query).into_iter().collect::<BTreeSet<u32>>() {
            if let Some(count) = with.get_mut(piece as usize) {
                *count = count.saturating_add(1);
            }
        }
    }
    pack::pack_raw_folder(raw, &|row, scale| {
        let token = u32::try_from(row).ok().and_then(|row| plain.token(row)).unwrap_or_default();
        let punctuation = token.chars().count() == 1 && !token.chars().all(char::is_alphanumeric);
        let weight = proem_select::select::rarity(with.get(row).copied().unwrap_or(0), training.len());
        if punctuation { 0.0 } else { scale * weight }
    })
}
