//! Models: their limits, tokenisers, cache rules and prices, from one data file.
//!
//! What the file doesn't say is `None`, never zero; the types don't allow a zero. Nothing here
//! knows how a request is written: that is `proem-llm`.

mod unlisted;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::ops::Range;

use proem_text::{diagnostic::Diagnostic, span::Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::error::{Error, ErrorKind, error_at};
use crate::tokens::{OpenAi, ScaledCounter, TokenCounter};

/// The file that is built in.
const BUILT_IN: &str = include_str!("../data/providers.toml");

/// What messages call the file.
const FILE_NAME: &str = "providers.toml";

/// Every known model, and the roles that prompt files name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    version: String,
    roles: BTreeMap<String, String>,
    models: BTreeMap<String, Model>,
}

/// A model of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name on the wire, such as `claude-haiku-4-5`.
    pub name: String,
    /// What its provider caches.
    pub caching: CacheRules,
    /// How its tokens are counted.
    pub tokeniser: Tokeniser,
    /// The role under which it takes what the operator says.
    pub operator: Operator,
    /// How it is held to a schema.
    pub answers: SchemaEnforcement,
    /// What its protocol calls the most tokens of an answer.
    pub output_key: OutputKey,
    /// What it refuses of what its protocol allows.
    pub quirks: Vec<Quirk>,
    /// The tokens of prompt and answer together, at most.
    pub context_tokens: Option<NonZeroUsize>,
    /// The tokens of an answer, at most.
    pub output_tokens: Option<NonZeroUsize>,
    /// The tokens of the shortest prefix that its provider caches.
    pub min_prefix_tokens: Option<NonZeroUsize>,
    /// Its prices by prompt length, shortest first; empty if unknown.
    pub prices: Vec<Prices>,
    /// Where its figures were read, as addresses.
    pub sources: Vec<String>,
}

/// A service that runs models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
}

/// What a provider caches and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheRules {
    /// Whose rules these are.
    pub provider: Provider,
    /// Whether a request has to say where its prefixes end.
    pub mode: CacheControl,
    /// The order in which a prefix is made; empty if unknown.
    #[serde(default)]
    pub order: Vec<PrefixStage>,
    /// How many breakpoints a request may have; absent for any mode but [`Mode::Explicit`].
    pub max_breakpoints: Option<NonZeroUsize>,
    /// The lifetimes on offer, the default first; none for [`Mode::Never`].
    pub lifetimes: Vec<Lifetime>,
    /// What a cached token costs, in hundredths of an input token.
    pub read_percent: Option<NonZeroU32>,
    /// Where the rules were read, as addresses.
    pub sources: Vec<String>,
}

/// Who decides which prefixes are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheControl {
    /// The request, by breakpoints.
    Explicit,
    /// The provider, by the longest prefix it has seen.
    Implicit,
    /// Nobody: nothing is cached.
    Never,
}

/// A part of a request, as prefixes order them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrefixStage {
    /// Tool definitions.
    Tools,
    /// The operator's text.
    System,
    /// The turns of user and model.
    Messages,
}

/// How long a cache entry lives after its last use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifetime {
    /// In seconds.
    pub seconds: Option<NonZeroU32>,
    /// What a written token costs, in hundredths of an input token.
    pub write_percent: NonZeroU32,
}

/// What tokens cost, in nano-dollars each ($3 per million tokens is 3,000).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The month in which they were seen, as in `2026-11`.
    pub as_of: String,
    /// The longest prompt they hold for, in tokens; absent for any.
    pub up_to_tokens: Option<NonZeroUsize>,
    /// A token that is read and not cached.
    pub input: NonZeroU64,
    /// A token that is written by the model.
    pub output: NonZeroU64,
    /// A token that is read from the cache.
    pub cache_read: Option<NonZeroU64>,
    /// A token that is written to the cache, by lifetime; empty if unknown or never charged.
    #[serde(default)]
    pub cache_writes: Vec<CacheWrite>,
}

/// What writing a token to the cache costs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheWrite {
    /// The lifetime that is bought, in seconds.
    pub seconds: NonZeroU32,
    /// In nano-dollars, the reading of the token included.
    pub price: NonZeroU64,
}

/// How a model's tokens are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tokeniser {
    /// By its own tokeniser.
    Exact(OpenAi),
    /// By another tokeniser's count.
    Estimate {
        /// Whose count it is.
        base: OpenAi,
        /// Hundredths of that count, 100 to 200.
        percent: usize,
        /// Where the factor was read, or `unmeasured`.
        sources: Vec<String>,
    },
}

/// The role under which a model takes what the operator says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operator {
    /// `system`.
    #[default]
    System,
    /// `developer`, in OpenAI's reasoning models.
    Developer,
}

/// How a model is held to the schema of the value that it owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SchemaEnforcement {
    /// The value is the argument of a tool that must be called.
    Tool,
    /// The provider writes only what the schema allows.
    Schema,
    /// The provider writes one JSON object, of whatever shape; the prompt says which.
    Object,
    /// The prompt says what to write, and nothing enforces it.
    Text,
}

/// What OpenAI's protocol calls the most tokens of an answer; Anthropic's has one name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKey {
    /// `max_completion_tokens`, which OpenAI's reasoning models want.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, which compatible servers know.
    MaxTokens,
}

/// Something that a model refuses although its protocol allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quirk {
    /// It takes no temperature.
    NoTemperature,
    /// It can't be made to call a tool.
    NoForcedTools,
    /// It takes tools only if it is told not to reason.
    ToolsWithoutReasoning,
}

impl Providers {
    /// The file of the models that are built in, for records.
    #[must_use]
    pub const fn shipped() -> &'static str {
        BUILT_IN
    }

    /// The models that are built in. Parses the file: call it once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the file that was built in is not well formed.
    pub fn load() -> Result<Self, Error> {
        Self::parse(BUILT_IN)
    }

    /// Reads a file of models.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] with the key and line of every problem.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file: ProvidersToml = toml::from_str(text).map_err(|error| {
            let problem = problem(error.message().trim_end().to_owned(), error.span().unwrap_or_default());
            Error::in_file(FILE_NAME, text, &[problem])
        })?;
        let mut problems = Vec::new();
        let mut models = BTreeMap::new();
        for (name, raw) in file.models {
            match raw.into_model(name.get_ref(), &file.caching, &file.tokenisers) {
                Ok(model) => drop(models.insert(name.into_inner(), model)),
                Err(found) => problems.extend(found.into_iter().map(|message| problem(message, name.span()))),
            }
        }
        let mut roles = BTreeMap::new();
        for (role, model) in file.roles {
            if problems.is_empty() && !models.contains_key(model.get_ref()) {
                let message = format!("role `{role}` is set to `{}`, which is not a known model", model.get_ref());
                problems.push(problem(message, model.span()));
            }
            roles.insert(role, model.into_inner());
        }
        if problems.is_empty() {
            Ok(Self { version: file.version, roles, models })
        } else {
            problems.sort_by_key(|problem| problem.span.map(|span| span.start));
            Err(Error::in_file(FILE_NAME, text, &problems))
        }
    }

    /// The file's version, as in `2026-11`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// All models, by name.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.models.values()
    }

    /// The model of that name, or the one that a role stands for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnknownModel`] with the nearest name and all that are known.
    pub fn model(&self, name_or_role: &str) -> Result<&Model, Error> {
        let name = self.roles.get(name_or_role).map_or(name_or_role, String::as_str);
        self.models.get(name).ok_or_else(|| Error::new(ErrorKind::UnknownModel, self.unknown(name_or_role)))
    }

    fn unknown(&self, name: &str) -> String {
        let names = self.roles.keys().chain(self.models.keys());
        // At most a third of the letters may differ, or the suggestion is no help.
        let near = names
            .map(|known| (distance(name, known), known))
            .filter(|(distance, known)| distance.saturating_mul(3) <= known.chars().count())
            .min();
        let hint = near.map_or_else(String::new, |(_, known)| format!("; did you mean `{known}`?"));
        let roles: Vec<String> = self.roles.iter().map(|(role, model)| format!("{role} ({model})")).collect();
        let models: Vec<&str> = self.models.keys().map(String::as_str).collect();
        format!("no model or role `{name}`{hint}\n  roles: {}\n  models: {}", roles.join(", "), models.join(", "))
    }
}

impl Model {
    /// Whose model it is.
    #[must_use]
    pub const fn provider(&self) -> Provider {
        self.caching.provider
    }

    /// A counter of its tokens.
    #[must_use]
    pub fn counter(&self) -> Box<dyn TokenCounter> {
        match &self.tokeniser {
            Tokeniser::Exact(tokeniser) => Box::new(*tokeniser),
            Tokeniser::Estimate { base, percent, .. } => Box::new(ScaledCounter::new(*base, *percent)),
        }
    }

    /// The prices that hold for a prompt of that many tokens.
    #[must_use]
    pub fn prices_for(&self, prompt_tokens: usize) -> Option<&Prices> {
        self.prices.iter().find(|prices| prices.up_to_tokens.is_none_or(|limit| prompt_tokens <= limit.get()))
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProvidersToml {
    version: String,
    roles: BTreeMap<String, Spanned<String>>,
    caching: BTreeMap<String, CacheRules>,
    tokenisers: BTreeMap<String, RawTokeniser>,
    models: BTreeMap<Spanned<String>, RawModel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    caching: String,
    tokeniser: String,
    #[serde(default)]
    operator: Operator,
    answers: Option<SchemaEnforcement>,
    #[serde(default)]
    output_key: OutputKey,
    #[serde(default)]
    quirks: Vec<Quirk>,
    context_tokens: Option<NonZeroUsize>,
    output_tokens: Option<NonZeroUsize>,
    min_prefix_tokens: Option<NonZeroUsize>,
    #[serde(default)]
    prices: Vec<Prices>,
    sources: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTokeniser {
    base: BpeVocabulary,
    percent: Option<usize>,
    sources: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BpeVocabulary {
    O200k,
    Cl100k,
}

impl RawModel {
    fn into_model(
        self,
        name: &str,
        caching: &BTreeMap<String, CacheRules>,
        tokenisers: &BTreeMap<String, RawTokeniser>,
    ) -> Result<Model, Vec<String>> {
        let mut problems = Vec::new();
        let rules = caching.get(&self.caching);
        if rules.is_none() {
            problems.push(format!("`caching` of `{name}` is `{}`, which is not under `caching`", self.caching));
        }
        let tokeniser = match tokenisers.get(&self.tokeniser) {
            Some(raw) => raw.tokeniser(&self.tokeniser),
            None => Err(format!("`tokeniser` of `{name}` is `{}`, which is not under `tokenisers`", self.tokeniser)),
        };
        let limits = self.prices.iter().map(|prices| prices.up_to_tokens.map_or(usize::MAX, NonZeroUsize::get));
        if !limits.is_sorted_by(|a, b| a < b) {
            problems
                .push(format!("`prices` of `{name}` must be sorted by `up_to_tokens`, and only the last may omit it"));
        }
        match (rules, tokeniser) {
            (Some(rules), Ok(tokeniser)) if problems.is_empty() => Ok(Model {
                name: name.to_owned(),
                caching: rules.clone(),
                tokeniser,
                operator: self.operator,
                answers: self.answers.unwrap_or(match rules.provider {
                    Provider::Anthropic => SchemaEnforcement::Tool,
                    Provider::OpenAi => SchemaEnforcement::Schema,
                }),
                output_key: self.output_key,
                quirks: self.quirks,
                context_tokens: self.context_tokens,
                output_tokens: self.output_tokens,
                min_prefix_tokens: self.min_prefix_tokens,
                prices: self.prices,
                sources: self.sources,
            }),
            (_, tokeniser) => {
                problems.extend(tokeniser.err());
                Err(problems)
            }
        }
    }
}

impl RawTokeniser {
    fn tokeniser(&self, name: &str) -> Result<Tokeniser, String> {
        let base = match self.base {
            BpeVocabulary::O200k => OpenAi::O200k,
            BpeVocabulary::Cl100k => OpenAi::Cl100k,
        };
        match self.percent {
            None => Ok(Tokeniser::Exact(base)),
            Some(percent @ 100..=200) => Ok(Tokeniser::Estimate { base, percent, sources: self.sources.clone() }),
            Some(percent) => Err(format!("`percent` of tokeniser `{name}` is {percent}, expected 100 to 200")),
        }
    }
}

fn problem(message: String, span: Range<usize>) -> Diagnostic {
    error_at(message, Span::new(span.start, span.end))
}

/// The characters to insert, delete or replace to make `a` from `b` (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (index, from) in a.chars().enumerate() {
        let mut next = vec![index.saturating_add(1)];
        for ((to, &diagonal), &above) in b.chars().zip(&row).zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or_default();
            let replaced = diagonal.saturating_add(usize::from(from != to));
            next.push(replaced.min(above.saturating_add(1)).min(left.saturating_add(1)));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Exactness;

    const SMALL: &str = r#"version = "1"
[roles]
small = "m"
[caching.c]
provider = "anthropic"
mode = "explicit"
lifetimes = []
sources = []
[tokenisers.t]
base = "o200k"
sources = []
[models.m]
caching = "c"
tokeniser = "t"
sources = []
"#;

    #[test]
    fn the_built_in_file_is_well_formed() {
        let providers = Providers::load().unwrap();
        assert_eq!(providers.version(), "2026-11");
        assert_eq!(providers.model("small").unwrap().name, "claude-haiku-4-5");
        for model in providers.models() {
            assert!(!model.sources.is_empty(), "{}", model.name);
            assert!(!model.caching.sources.is_empty(), "{}", model.name);
            assert_eq!(model.caching.lifetimes.is_empty(), model.caching.mode == CacheControl::Never, "{}", model.name);
            assert_eq!(
                model.caching.max_breakpoints.is_some(),
                model.caching.mode == CacheControl::Explicit,
                "{}",
                model.name
            );
        }
    }

    #[test]
    fn writes_cost_what_the_provider_says() {
        for model in Providers::load().unwrap().models() {
            for prices in &model.prices {
                for write in &prices.cache_writes {
                    let mut lifetimes = model.caching.lifetimes.iter();
                    let lifetime = lifetimes.find(|lifetime| lifetime.seconds == Some(write.seconds)).unwrap();
                    let expected = prices.input.get() * u64::from(lifetime.write_percent.get()) / 100;
                    assert_eq!(write.price.get(), expected, "{}", model.name);
                }
                assert!(prices.cache_read.is_none_or(|read| read < prices.input), "{}", model.name);
            }
        }
    }

    #[test]
    fn counters_say_how_exact_they_are() {
        let providers = Providers::load().unwrap();
        for (name, counter, exactness) in [
            ("claude-haiku-4-5", "o200k × 1.30", Exactness::Estimate),
            ("claude-haiku-5-5", "o200k × 1.76", Exactness::Estimate),
            ("gpt-4o", "o200k", Exactness::Exact),
            // OpenAI's table, `tiktoken/model.py`, has these three under cl100k.
            ("gpt-4", "cl100k", Exactness::Exact),
            ("gpt-4-turbo", "cl100k", Exactness::Exact),
            ("gpt-3.5-turbo", "cl100k", Exactness::Exact),
        ] {
            let model = providers.model(name).unwrap();
            assert_eq!((model.counter().name(), model.counter().exactness()), (counter, exactness), "{name}");
        }
    }

    #[test]
    fn prices_depend_on_the_prompt() {
        let providers = Providers::load().unwrap();
        for (name, tokens, input) in [
            ("claude-haiku-5-5", 100_000, Some(100)),
            ("claude-haiku-5-5", 100_001, Some(500)),
            ("claude-haiku-4-5", 150_000, Some(1_000)),
            ("gpt-6-sol", 272_001, None),
        ] {
            let prices = providers.model(name).unwrap().prices_for(tokens);
            assert_eq!(prices.map(|prices| prices.input.get()), input, "{name} {tokens}");
        }
    }

    #[test]
    fn an_unknown_model_is_answered_with_the_known_ones() {
        let text = SMALL.replace("models.m", "models.claude-one").replace("\"m\"", "\"claude-one\"");
        let providers = Providers::parse(&text).unwrap();
        let known = "\n  roles: small (claude-one)\n  models: claude-one";
        for (name, expected) in [
            ("claude-ome", format!("no model or role `claude-ome`; did you mean `claude-one`?{known}")),
            ("smal", format!("no model or role `smal`; did you mean `small`?{known}")),
            ("llama", format!("no model or role `llama`{known}")),
        ] {
            let error = providers.model(name).unwrap_err();
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::UnknownModel, expected));
        }
    }

    #[test]
    fn problems_name_key_and_line() {
        for (old, new, expected) in [
            (
                "small = \"m\"",
                "small = \"n\"",
                "role `small` is set to `n`, which is not a known model\n --> providers.toml:3:9",
            ),
            (
                "tokeniser = \"t\"",
                "tokeniser = \"u\"",
                "`tokeniser` of `m` is `u`, which is not under `tokenisers`\n  --> providers.toml:12:9",
            ),
            (
                "base = \"o200k\"",
                "base = \"o200k\"\npercent = 20",
                "`percent` of tokeniser `t` is 20, expected 100 to 200\n  --> providers.toml:13:9",
            ),
            (
                "[models.m]",
                "[models.m]\noutput_tokens = 0",
                "invalid value: integer `0`, expected a nonzero usize\n  --> providers.toml:13:17",
            ),
            ("base = \"o200k\"\n", "", "missing field `base`\n --> providers.toml:9:1"),
            ("mode = \"explicit\"", "mood = 1", "unknown field `mood`, expected one of `provider`"),
        ] {
            let error = Providers::parse(&SMALL.replace(old, new)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidFile);
            assert!(error.to_string().starts_with(&format!("error: {expected}")), "{error}");
        }
    }

    #[test]
    fn all_problems_are_reported() {
        let text =
            SMALL.replace("caching = \"c\"", "caching = \"d\"").replace("tokeniser = \"t\"", "tokeniser = \"u\"");
        assert_eq!(Providers::parse(&text).unwrap_err().problems().len(), 2);
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("é", "e", 1)]
        {
            assert_eq!(distance(a, b), expected, "{a:?} {b:?}");
        }
    }
}
