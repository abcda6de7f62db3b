//! The basis of a run's requests, so that its record alone makes its first request anew.
//!
//! Texts are kept as files by their content: the prompts' closures, the table of models, the user's files for the
//! guard. Everything else is small and is in the run's settings.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use proem_engine::assembly::PromptId;
use proem_engine::call::Arrival;
use proem_engine::ledger::Pricing;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::book::experiment::VersionAssignment;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::providers::{EnforcementSource, Model, Provider, Providers, SchemaEnforcement};
use proem_llm::endpoint::{Endpoint, EndpointKey, EndpointLimits};
use proem_store::Store;
use proem_store::query::{RunDetail, RunRow};
use proem_store::record;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::server_lessons::ModelLesson;
use crate::calling::{self, ModelEndpoint};
use crate::config::{ProviderFile, ServerProtocol};
use crate::error::Error;
use crate::factors::scale_model;
use crate::guarding::GuardFiles;

/// The names of a run's files.
const MODELS_FILE: &str = "providers.toml";
const VERDICTS_FILE: &str = "guard/verdicts.tsv";
const CALIBRATION_FILE: &str = "guard/calibration.json";
/// The key of the assignments in the settings of a run.
pub(crate) const EXPERIMENTS: &str = "experiments";
/// The folder of the prompt's files.
const BOOK: &str = "book/";

/// The basis of a run's requests, for any machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunBasis {
    /// The author of each file of the prompts, and whether it is a template.
    book: BTreeMap<String, PromptFileOrigin>,
    /// The protocol of the endpoint.
    protocol: ServerProtocol,
    /// The configuration of the endpoint and its models.
    provider: ProviderFile,
    /// The scale of a token estimate, in hundredths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_percent: Option<usize>,
    /// The context window that the server named, where it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<NonZeroUsize>,
    /// How the model was found to be held to a schema, where that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    way: Option<SchemaEnforcement>,
    /// The influences of the installation and of its experiments.
    #[serde(flatten)]
    local: LocalBasis,
}

/// The part of a basis that another machine or another subject would have otherwise.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LocalBasis {
    /// The versions that experiments chose for its subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    experiments: Vec<VersionAssignment>,
    /// The id of the installation's key, without which delimiters differ.
    key: String,
}

/// Another model of the same run, as it was known then.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelBasis {
    model: String,
    /// The endpoint's name in configuration.
    pub endpoint: String,
    /// The protocol of the endpoint.
    protocol: ServerProtocol,
    /// The configuration of the endpoint and its models.
    provider: ProviderFile,
    /// The scale of a token estimate, in hundredths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_percent: Option<usize>,
    /// The context window that is known of a model that isn't listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<NonZeroUsize>,
    /// How the model was found to be held to a schema, where that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    way: Option<SchemaEnforcement>,
}

impl ModelBasis {
    /// The record of a model whose configuration is `provider`.
    #[must_use]
    pub fn new(asked: &ModelEndpoint, provider: ProviderFile, token_percent: Option<usize>) -> Self {
        let protocol = protocol(asked.model.provider());
        let (model, endpoint) = (asked.model.name.clone(), asked.endpoint.name.clone());
        let window = asked.model.context_tokens.filter(|_| asked.model.sources.is_empty());
        let way = Some(asked.model.answers).filter(|_| asked.model.answers_by == EnforcementSource::Found);
        Self { model, endpoint, protocol, provider, token_percent, window, way }
    }

    /// The model as the recorded table and configuration have it. Nothing can be sent to it before it is given an
    /// endpoint.
    ///
    /// # Errors
    ///
    /// In words, if the table is missing or can't be read.
    pub fn read(&self, texts: &RecordedTexts, arrival: Arrival) -> Result<ModelEndpoint, String> {
        let providers = recorded_models(texts)?;
        let mut model = calling::model_at_endpoint(
            &providers,
            &self.model,
            &self.endpoint,
            provider(self.protocol),
            &self.provider,
        );
        if let Some(percent) = self.token_percent {
            scale_model(&mut model, percent);
        }
        ModelLesson { way: self.way, window: self.window }.apply(&mut model);
        let endpoint = unconnected_endpoint(&self.endpoint, model.provider());
        Ok(ModelEndpoint { model, endpoint, arrival, diagnoses_cache: false, pricing: Pricing::Listed })
    }
}

/// The settings of a model about which something was learned, as in [`RunBasis`] and [`ModelBasis`].
pub(crate) fn learned_settings(model: &Model) -> impl Iterator<Item = (String, Json)> {
    let window = model.context_tokens.filter(|_| model.sources.is_empty()).map(|window| json!(window));
    let way = Some(json!(model.answers)).filter(|_| model.answers_by == EnforcementSource::Found);
    let kept = [("window", window), ("way", way)].into_iter();
    kept.filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// An endpoint that nothing can be sent to.
#[must_use]
pub fn unconnected_endpoint(name: &str, provider: Provider) -> Endpoint {
    Endpoint {
        name: name.to_owned(),
        provider,
        base_url: String::new(),
        key: EndpointKey::None,
        limits: EndpointLimits::default(),
        authorities: None,
    }
}

const fn protocol(provider: Provider) -> ServerProtocol {
    match provider {
        Provider::Anthropic => ServerProtocol::Anthropic,
        Provider::OpenAi => ServerProtocol::OpenAi,
    }
}

const fn provider(protocol: ServerProtocol) -> Provider {
    match protocol {
        ServerProtocol::Anthropic => Provider::Anthropic,
        ServerProtocol::OpenAi => Provider::OpenAi,
    }
}

/// The recorded table of models.
fn recorded_models(texts: &RecordedTexts) -> Result<Providers, String> {
    let table = texts.files.get(MODELS_FILE).ok_or_else(|| format!("`{MODELS_FILE}` is missing"))?;
    Providers::parse(table).map_err(|error| error.to_string())
}

/// The author of a file of the prompt, and its kind.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct PromptFileOrigin {
    by: PromptFileWriter,
    form: PromptFileForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PromptFileWriter {
    Embedded,
    User,
    Project,
    Configured,
    Named,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PromptFileForm {
    Template,
    Literal,
}

#[derive(Debug)]
pub(crate) struct BasisSource<'b> {
    /// The book with the prompts' files.
    pub book: &'b Book,
    /// The prompts that it asks with.
    pub prompts: &'b [&'b Prompt],
    /// The user's files for the guard.
    pub guard: &'b GuardFiles,
    /// The model that is asked.
    pub model: &'b Model,
    /// The configuration of its endpoint.
    pub provider: ProviderFile,
    /// The scale of a token estimate, in hundredths.
    pub token_percent: Option<usize>,
    /// The lessons about its server.
    pub(crate) lesson: ModelLesson,
    /// The installation's key.
    pub key: &'b proem_guard::InstallationKey,
}

impl BasisSource<'_> {
    /// The files of each run, and what is kept beside them.
    pub(crate) fn kept(self) -> (BTreeMap<String, String>, RunBasis) {
        let (mut files, book) = closures(self.book, self.prompts);
        files.insert(MODELS_FILE.to_owned(), Providers::shipped().to_owned());
        files.extend(guard_files(self.guard));
        let protocol = protocol(self.model.provider());
        let experiments = self.book.assignments_of(self.prompts);
        let Self { provider, token_percent, lesson, key, .. } = self;
        let ModelLesson { way, window } = lesson;
        (
            files,
            RunBasis {
                book,
                protocol,
                provider,
                token_percent,
                window,
                way,
                local: LocalBasis { experiments, key: key.id() },
            },
        )
    }
}

fn guard_files(guard: &GuardFiles) -> impl Iterator<Item = (String, String)> {
    let named = [(VERDICTS_FILE, &guard.verdicts), (CALIBRATION_FILE, &guard.calibration)];
    named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text.clone()?)))
}

/// Files by name, and their authors by path.
type WrittenFiles = (BTreeMap<String, String>, BTreeMap<String, PromptFileOrigin>);

/// The files of prompts' closures, with who wrote each.
fn closures(book: &Book, prompts: &[&Prompt]) -> WrittenFiles {
    let (mut files, mut written) = WrittenFiles::default();
    for prompt in prompts {
        let (texts, by) = closure(book, prompt);
        files.extend(texts);
        written.extend(by);
    }
    (files, written)
}

/// The files of a prompt's closure, with who wrote each.
fn closure(book: &Book, prompt: &Prompt) -> WrittenFiles {
    let (mut files, mut written) = (BTreeMap::new(), BTreeMap::new());
    for (path, origin) in &prompt.files {
        let Some((text, _)) = book.file(path) else { continue };
        let by = match origin {
            Origin::Embedded => PromptFileWriter::Embedded,
            Origin::User => PromptFileWriter::User,
            Origin::Project => PromptFileWriter::Project,
            Origin::Configured => PromptFileWriter::Configured,
            Origin::Named => PromptFileWriter::Named,
        };
        let form = match text {
            PartialText::Template(_) => PromptFileForm::Template,
            PartialText::Literal(_) => PromptFileForm::Literal,
        };
        files.insert(format!("{BOOK}{path}"), text.as_str().to_owned());
        written.insert(path.clone(), PromptFileOrigin { by, form });
    }
    (files, written)
}

/// The files of an assembly without a call: its prompt's and the guard's.
pub fn of_assembly(book: &Book, prompt: &Prompt, guard: &GuardFiles) -> BTreeMap<String, String> {
    let (mut files, _) = closure(book, prompt);
    files.extend(guard_files(guard));
    files
}

/// The texts that a run was made from, read back from its record.
#[derive(Debug, Clone)]
pub struct RecordedTexts {
    /// Its files, by name.
    pub files: BTreeMap<String, String>,
    /// The values that the prompt was filled with, in their written order.
    pub inputs: OrderedJson,
    /// The recorded part that was changed, in words, if one was.
    pub changed: Option<String>,
}

impl RecordedTexts {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// In words, if one isn't kept.
    pub async fn read(store: &Store, detail: &RunDetail) -> Result<Self, String> {
        let hashes: Vec<String> = detail.files.values().chain([&detail.inputs]).cloned().collect();
        let contents = store.contents(&hashes).await.map_err(|error| error.to_string())?;
        let mut changed = None;
        let mut text = |name: &str, hash: &str| {
            let bytes = contents.get(hash).ok_or_else(|| format!("the text of `{name}` is not kept"))?;
            if record::content_hash(bytes) != hash {
                changed.get_or_insert_with(|| format!("the recorded text of `{name}` was changed: its hash differs"));
            }
            String::from_utf8(bytes.clone()).map_err(|_| format!("`{name}` is not UTF-8 in the record"))
        };
        let mut files = BTreeMap::new();
        for (name, hash) in &detail.files {
            files.insert(name.clone(), text(name, hash)?);
        }
        let inputs = serde_json::from_str(&text("inputs", &detail.inputs)?)
            .map_err(|error| format!("its inputs are not JSON: {error}"))?;
        Ok(Self { files, inputs, changed })
    }

    /// The user's files for the guard.
    pub fn guard(&self) -> GuardFiles {
        let file = |name: &str| self.files.get(name).cloned();
        GuardFiles { verdicts: file(VERDICTS_FILE), calibration: file(CALIBRATION_FILE) }
    }
}

/// A prompt from the recorded files.
#[derive(Debug)]
pub struct RecordedPrompt {
    /// It, under the id that it had.
    pub prompt: Prompt,
    /// The reason why it differs from the one that the run was made from, if it does: its files were changed in the
    /// record.
    pub changed: Option<String>,
}

impl RunBasis {
    /// The versions that experiments chose for the run's subject.
    #[must_use]
    pub(super) fn experiments(&self) -> &[VersionAssignment] {
        &self.local.experiments
    }

    /// The files and the basis of a run with other versions of its prompts, where `files` are those of this one.
    pub(super) fn with_versions(
        &self,
        files: &BTreeMap<String, String>,
        book: &Book,
        prompts: &[&Prompt],
    ) -> (BTreeMap<String, String>, Self) {
        let mut files: BTreeMap<String, String> = files
            .iter()
            .filter(|(name, _)| !name.starts_with(BOOK))
            .map(|(n, text)| (n.clone(), text.clone()))
            .collect();
        let (texts, written) = closures(book, prompts);
        files.extend(texts);
        let local = LocalBasis { experiments: book.assignments_of(prompts), key: self.local.key.clone() };
        (files, Self { book: written, local, ..self.clone() })
    }

    /// The same with the versions that experiments chose for another subject.
    pub(crate) fn with_assignments(mut self, assigned: &[VersionAssignment]) -> Self {
        self.local.experiments = assigned.to_vec();
        self
    }

    /// Writes it over the basis in the settings of a run.
    ///
    /// # Errors
    ///
    /// If it can't be serialised, which is a bug.
    pub(crate) fn write_into(&self, settings: &mut Json) -> Result<(), Error> {
        let own = serde_json::to_value(self).map_err(|error| Error::bug("the settings can't be serialised", error))?;
        if let (Json::Object(settings), Json::Object(own)) = (settings, own) {
            // Without an assignment there is no such key.
            settings.remove(EXPERIMENTS);
            settings.extend(own);
        }
        Ok(())
    }

    /// Refuses another key than the installation's today, whose id is `key`.
    ///
    /// # Errors
    ///
    /// In words, if it is another one.
    pub fn under(&self, key: &str) -> Result<(), String> {
        if self.local.key == key {
            return Ok(());
        }
        Err(format!(
            "it was made with installation key {}, and this installation has {key}, so its delimiters would differ",
            self.local.key
        ))
    }

    /// The scale of a token estimate, in hundredths, if one was known.
    pub(crate) const fn token_percent(&self) -> Option<usize> {
        self.token_percent
    }

    /// The model of a run as the recorded table and configuration have it.
    ///
    /// # Errors
    ///
    /// In words, if the table is missing or can't be read.
    pub fn model(&self, row: &RunRow, texts: &RecordedTexts) -> Result<Model, String> {
        let providers = recorded_models(texts)?;
        let mut model =
            calling::model_at_endpoint(&providers, &row.model, &row.endpoint, provider(self.protocol), &self.provider);
        if let Some(percent) = self.token_percent {
            scale_model(&mut model, percent);
        }
        self.way.into_iter().for_each(|way| model.hold_as_found(way));
        model.context_tokens = self.window.or(model.context_tokens);
        Ok(model)
    }

    /// A prompt from the recorded files, whatever the book of today says.
    ///
    /// # Errors
    ///
    /// In words, if a file is missing or can't be read.
    pub fn prompt(&self, id: &PromptId, texts: &RecordedTexts) -> Result<RecordedPrompt, String> {
        let mut layers: BTreeMap<PromptFileWriter, BookLayer> = BTreeMap::new();
        for (path, written) in &self.book {
            let text = texts.files.get(&format!("{BOOK}{path}")).ok_or_else(|| format!("`{path}` is missing"))?.clone();
            let text = match written.form {
                PromptFileForm::Template => PartialText::Template(text),
                PromptFileForm::Literal => PartialText::Literal(text),
            };
            let origin = match written.by {
                PromptFileWriter::Embedded => Origin::Embedded,
                PromptFileWriter::User => Origin::User,
                PromptFileWriter::Project => Origin::Project,
                PromptFileWriter::Configured => Origin::Configured,
                PromptFileWriter::Named => Origin::Named,
            };
            let layer = layers.entry(written.by).or_insert_with(|| BookLayer { origin, files: BTreeMap::new() });
            layer.files.insert(path.clone(), text);
        }
        let book = Book::new(layers.into_values().collect()).map_err(|error| error.to_string())?;
        // An unlocked version carries the beginning of its closure's hash.
        let version = id.version.split('+').next().unwrap_or(&id.version);
        let name = format!("{}/{}", id.agent, id.name);
        let mut prompt = book.prompt(&name, Some(version)).map_err(|error| error.to_string())?;
        let is_changed = prompt.id.closure != id.closure;
        let changed = is_changed.then(|| format!("the recorded files of `{name}` are not those that the run used"));
        prompt.id = id.clone();
        Ok(RecordedPrompt { prompt, changed })
    }
}
