//! `config.toml`, the user's, and `proem.toml`, a project's.
//!
//! A project's file counts as written only if this user trusted it. Until then it may only
//! restrict: its caps apply where they are lower, everything else in it is ignored.

mod amount;
pub mod document;
pub mod effects;
pub mod lisp;
pub mod login;
pub mod mcp;
pub mod sources;
pub mod store;
pub mod telemetry;
pub mod webhooks;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proem_agents::assemble::settings::AssembleSettings;
use proem_engine::ledger::ModelMix;
use proem_engine::providers::SchemaEnforcement;
use proem_runtime::files;
use proem_runtime::git::GitLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::amount::deserialize_tokens;
pub use self::amount::{Dollars, parse_dollars};
use self::effects::EffectsFile;
use self::lisp::LispFile;
use self::mcp::McpServerFile;
use self::sources::SignalSourceFile;
use self::store::StoreFile;
use self::telemetry::TelemetryFile;
use self::webhooks::WebhookFile;
use crate::error::Error;

/// The keys of `config.toml` and `proem.toml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The model or role whose tokeniser, limits and API format apply; without it, what the prompt
    /// file names.
    pub model: Option<String>,
    /// The sources of prompts.
    pub assemble: AssembleSettings,
    /// The prompt that Proem's prompt replaces, relative to this file. Token savings are measured against it.
    pub baseline: Option<String>,
    /// The places of tools and skills, in addition to those that are always searched.
    pub catalogue: CatalogueFiles,
    /// The model that a role represents, such as `small`: a model's name, or `PROVIDER/MODEL`.
    pub roles: BTreeMap<String, String>,
    /// Servers that run models, each under a name that you choose. `anthropic` and `openai` are known and may be
    /// changed.
    pub providers: BTreeMap<String, ProviderFile>,
    /// Limits on the cost of calls. A project's file can only lower yours, unless you trust it.
    pub budget: BudgetFile,
    /// The retention of runs: contents and time.
    pub records: RecordsFile,
    /// The place of the records: a database instead of a file. Only your own configuration decides this.
    pub store: StoreFile,
    /// The endpoint of OpenTelemetry that runs are exported to. Only your own configuration decides this.
    pub telemetry: TelemetryFile,
    /// The lessons that prompts take from failures, and their constant wishes.
    pub adapt: AdaptFile,
    /// How actions leave: mails, requests and the outbox.
    pub effects: EffectsFile,
    /// Whether triage asks models. Only your own configuration decides this.
    pub triage: TriageFile,
    /// Servers that triage reads signals from, each under a name that you choose. Only your own configuration decides
    /// this.
    pub sources: BTreeMap<String, SignalSourceFile>,
    /// Servers of the Model Context Protocol whose tools agents may call, each under a name that you choose. Only your own
    /// configuration decides this.
    pub mcp: BTreeMap<String, McpServerFile>,
    /// Whether a model may see lines of a change that it assesses. Only your own configuration decides this.
    pub risk: RiskFile,
    /// How long git may take.
    pub git: GitFile,
    /// How much a program of PTC-Lisp may do. A project's file can only lower yours, unless you trust it.
    pub lisp: LispFile,
    /// The embedding model, which says how similar texts are in meaning; without it, the one that
    /// ships with Proem, which runs on this machine.
    pub embedding: EmbeddingFile,
    /// Webhooks that `proem serve` takes, each under a name that you choose, which is the end of its address. Only your
    /// own configuration decides this.
    pub webhooks: BTreeMap<String, WebhookFile>,
}

/// The most that a configuration may have, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The protocol that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerProtocol {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which Ollama, vLLM, llama.cpp and OpenRouter speak too.
    OpenAi,
}

/// One server that runs models. Defaults: the provider's own, or 8 requests in parallel, 4
/// attempts, 10 seconds to connect, 120 for a call, 60 without a byte, 4 MiB for an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderFile {
    /// The protocol that it speaks, `anthropic` or `openai`; without it, `openai`.
    pub protocol: Option<ServerProtocol>,
    /// The base URL of the API, to which every path is added, such as `http://127.0.0.1:11434/v1`.
    pub base_url: Option<String>,
    /// The name of the environment variable that holds its key. If unset, the server gets no key. The key itself is
    /// never here.
    pub key: Option<String>,
    /// How the answers of its models are constrained to a schema: `tool`, `schema`, `object` or `text`.
    pub answers: Option<SchemaEnforcement>,
    /// Whether answers come in pieces, so that they can be stopped. They do unless this is `false`.
    pub stream: Option<bool>,
    /// Whether its cache is asked why it missed, as Anthropic's own API can be. Only that one is asked unless this is
    /// `true`.
    pub cache_diagnostics: Option<bool>,
    /// The most requests at once.
    pub concurrency: Option<NonZeroUsize>,
    /// The most requests a minute; without it, as many as the server takes.
    pub requests_per_minute: Option<NonZeroU32>,
    /// How often a request is sent at most, the first time included.
    pub attempts: Option<NonZeroU32>,
    /// The longest that a connection may take, in seconds.
    pub connect_seconds: Option<NonZeroU32>,
    /// The longest that an attempt may take, in seconds.
    pub call_seconds: Option<NonZeroU32>,
    /// The longest pause within an answer, in seconds.
    pub idle_seconds: Option<NonZeroU32>,
    /// The most bytes that a model may write in an answer. Of an answer that is not streamed, with what encloses them.
    pub answer_bytes: Option<NonZeroUsize>,
    /// A file in PEM form with certificate authorities that count for this server beside those of the system, by its
    /// absolute path. The environment variable `SSL_CERT_FILE` names one that counts instead of the system's.
    pub authorities: Option<PathBuf>,
    /// The known facts about its models, by their names there.
    pub models: BTreeMap<String, ModelFile>,
}

/// One model of a server. Missing values are unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelFile {
    /// The tokens of prompt and answer together, at most.
    pub context_tokens: Option<NonZeroUsize>,
    /// The tokens of an answer, at most.
    pub output_tokens: Option<NonZeroUsize>,
    /// How it is held to a schema, if not as the server's other models.
    pub answers: Option<SchemaEnforcement>,
    /// The price of a token of the prompt, in nano-dollars: dollars per million tokens × 1,000. With 0 here and in
    /// `output_price`, it costs nothing, as on this machine.
    pub input_price: Option<u64>,
    /// The price of a token of the answer, in nano-dollars.
    pub output_price: Option<u64>,
    /// The price of a token that is read from the cache, in nano-dollars.
    pub cache_read_price: Option<NonZeroU64>,
}

/// The keys of `[catalogue]`. Paths are relative to the file that names them. Yours may be absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CatalogueFiles {
    /// Saved answers to `tools/list`, each called `SERVER.json`.
    pub manifests: Vec<String>,
    /// Folders with a folder for each skill.
    pub skills: Vec<String>,
    /// Files with one entry on each line, as JSON.
    pub lines: Vec<String>,
}

/// The keys of `[embedding]`: a model at one of your providers, which gets the text of tasks,
/// memories and your catalogue. Defaults: 20 seconds, 96 texts a request, 8,000 bytes a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddingFile {
    /// The provider, by its name under `providers`. One of protocol `openai`.
    pub provider: Option<String>,
    /// The model's name there.
    pub model: Option<String>,
    /// How many numbers its vectors are to have, for models that can shorten them. At most 4,096.
    pub dimensions: Option<NonZeroU32>,
    /// A file with weights for the model, which `cargo lab train select` makes. Below the folder of your `config.toml`,
    /// or absolute. If unset, words decide and nothing is sent.
    pub calibration: Option<String>,
    /// How long embedding the texts of one step may take, in seconds.
    pub seconds: Option<NonZeroU32>,
    /// The most texts of one request, at most 96.
    pub texts: Option<NonZeroUsize>,
    /// The most bytes of one text. The rest of a longer one is not sent.
    pub text_bytes: Option<NonZeroUsize>,
}

/// The keys of `[git]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GitFile {
    /// The longest that a question to git may take, such as what is uncommitted, in seconds; without it, 10.
    pub question_seconds: Option<NonZeroU32>,
    /// The longest that reading the history may take, in seconds; without it, 120.
    pub history_seconds: Option<NonZeroU32>,
}

impl GitFile {
    /// The limits of each git that is run.
    pub fn limits(self) -> GitLimits {
        let usual = GitLimits::default();
        let time = |seconds: Option<NonZeroU32>, usual| seconds.map_or(usual, |n| Duration::from_secs(n.get().into()));
        GitLimits {
            question: time(self.question_seconds, usual.question),
            history: time(self.history_seconds, usual.history),
            ..usual
        }
    }
}

/// The keys of `[budget]`: a limit that is unset does not apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetFile {
    /// The time zone in which days and months begin, such as "Europe/Berlin"; without it, UTC.
    pub zone: Option<String>,
    /// The limit of all this user's projects together.
    pub user: SpendLimits,
    /// The limit of one project.
    pub project: SpendLimits,
    /// The limit of one agent in one project, by the agent's folder in the book. Triage has a budget of its own. Values
    /// given here replace its values.
    pub agent: BTreeMap<String, AgentBudget>,
}

/// The most that an agent may spend in one project, and how it gets by with less before that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentBudget {
    /// Dollars a day.
    pub day: Option<Dollars>,
    /// Dollars a month.
    pub month: Option<Dollars>,
    /// Dollars a run.
    pub run: Option<Dollars>,
    /// Tokens a day.
    #[serde(deserialize_with = "deserialize_tokens")]
    pub day_tokens: Option<u64>,
    /// Tokens a month.
    #[serde(deserialize_with = "deserialize_tokens")]
    pub month_tokens: Option<u64>,
    /// Tokens a run.
    #[serde(deserialize_with = "deserialize_tokens")]
    pub run_tokens: Option<u64>,
    /// The rules from an amount of the day on, the lowest first: `models` is `both`, `large-if-demanded` or
    /// `small-only`, `every_minutes` the shortest time from one cycle to the next.
    pub steps: Option<Vec<BudgetStep>>,
}

/// The rule from an amount of the day on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct BudgetStep {
    /// Dollars of the day, spent and reserved together.
    pub from: Dollars,
    /// The models that may be asked.
    pub models: ModelMix,
    /// The least minutes from one cycle to the next.
    #[serde(default)]
    pub every_minutes: Option<NonZeroU32>,
}

impl AgentBudget {
    /// The caps in it.
    #[must_use]
    pub const fn limits(&self) -> SpendLimits {
        let Self { day, month, run, day_tokens, month_tokens, run_tokens, .. } = *self;
        SpendLimits { day, month, run, day_tokens, month_tokens, run_tokens }
    }

    /// The same with other caps.
    #[must_use]
    pub fn with(self, limits: SpendLimits) -> Self {
        let SpendLimits { day, month, run, day_tokens, month_tokens, run_tokens } = limits;
        Self { day, month, run, day_tokens, month_tokens, run_tokens, ..self }
    }

    /// This with what it leaves out as `usual` has it.
    #[must_use]
    pub fn or(self, usual: Self) -> Self {
        Self {
            day: self.day.or(usual.day),
            month: self.month.or(usual.month),
            run: self.run.or(usual.run),
            day_tokens: self.day_tokens.or(usual.day_tokens),
            month_tokens: self.month_tokens.or(usual.month_tokens),
            run_tokens: self.run_tokens.or(usual.run_tokens),
            steps: self.steps.or(usual.steps),
        }
    }
}

/// The most that may be spent, in dollars and in tokens of prompts and answers. All limits that are set apply. The
/// lowest is reached first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpendLimits {
    /// Dollars a day.
    pub day: Option<Dollars>,
    /// Dollars a month.
    pub month: Option<Dollars>,
    /// Dollars a run.
    pub run: Option<Dollars>,
    /// Tokens a day.
    #[serde(deserialize_with = "deserialize_tokens")]
    pub day_tokens: Option<u64>,
    /// Tokens a month.
    #[serde(deserialize_with = "deserialize_tokens")]
    pub month_tokens: Option<u64>,
    /// Tokens a run.
    #[serde(deserialize_with = "deserialize_tokens")]
    pub run_tokens: Option<u64>,
}

/// How much of a run is kept, the most first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeepRecords {
    /// Requests and answers, exactly.
    #[default]
    Content,
    /// Hashes, counts, times and money, and no text.
    Hashes,
    /// Nothing. Refused where a budget is configured.
    Nothing,
}

/// The keys of `[records]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecordsFile {
    /// The recorded form of texts: their `content`, only `hashes`, or `nothing`.
    pub keep: KeepRecords,
    /// After how many days runs are deleted, those of all projects; without it, 90. Only your own
    /// configuration decides this.
    pub days: Option<NonZeroU32>,
}

/// The keys of `[triage]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TriageFile {
    /// Whether signals go to the models of the roles `small` and `large`. They don't unless this is `true`.
    pub models: Option<bool>,
    /// How often a call that failed is made again after a pause; without it, 2.
    pub retries: Option<u32>,
}

/// The keys of `[risk]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RiskFile {
    /// Whether `proem risk --show-diff` may send lines of a change to the model. It may not unless this is `true`.
    pub show_diff: Option<bool>,
}

/// The keys of `[adapt]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptFile {
    /// Whether prompts show what was learned. They do if this is `true`. With `false`, what is asked for below is left
    /// out as well.
    pub enabled: Option<bool>,
    /// For how many days a failure counts; without it, 7.
    pub days: Option<NonZeroU32>,
    /// How many failures count at most; without it, 50.
    pub failures: Option<NonZeroU32>,
    /// How often recovery steps are asked for after a failed result; without it, 2.
    pub retries: Option<u32>,
    /// Whether answers should always be short.
    pub time_sensitive: bool,
    /// Whether compliance should always be considered.
    pub compliance_required: bool,
    /// The format that is always asked for, such as "Markdown".
    pub preferred_format: Option<String>,
}

impl RecordsFile {
    /// After how many days runs are deleted.
    pub fn days(self) -> u32 {
        self.days.map_or(90, NonZeroU32::get)
    }
}

impl BudgetFile {
    /// Whether nothing is capped.
    pub fn is_empty(&self) -> bool {
        self.user == SpendLimits::default() && self.project == SpendLimits::default() && self.agent.is_empty()
    }
}

impl Config {
    /// Takes what only the user's own file decides from that file.
    pub(crate) fn keep_users_own(&mut self, users: Self) {
        self.records.days = users.records.days;
        self.effects = users.effects;
        self.triage = users.triage;
        self.mcp = users.mcp;
        self.sources = users.sources;
        self.store = users.store;
        self.telemetry = users.telemetry;
        self.webhooks = users.webhooks;
        self.risk = users.risk;
    }

    /// Reads a file's text. `name` is used in messages.
    ///
    /// # Errors
    ///
    /// If it is no TOML, or a key is unknown or has a wrong value. Each with its place.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|error| {
            let span = error.span().map(|span| proem_text::span::Span::new(span.start, span.end));
            let diagnostic = proem_text::diagnostic::Diagnostic {
                severity: proem_text::diagnostic::DiagnosticSeverity::Error,
                message: error.message().to_owned(),
                span,
                help: Some("every key is documented in docs/reference/configuration.md".into()),
            };
            Error::invalid(diagnostic.render(name, text).trim_end())
        })
    }

    /// The user's file; without one, the defaults.
    ///
    /// # Errors
    ///
    /// If it is there and can't be read or parsed. A missing file is an empty configuration.
    pub fn of_user(path: &Path) -> Result<Self, Error> {
        match files::read_text(path, MAX_BYTES) {
            Ok(text) => Self::parse(&path.display().to_string(), &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::invalid(format!("could not read `{}`: {error}", path.display()))),
        }
    }
}
