//! The data file of models: how it is written, and what is wrong with it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use proem_text::{diagnostic::Diagnostic, span::Span};
use serde::Deserialize;
use toml::Spanned;

use super::{
    CacheRules, EnforcementSource, Model, OperatorRole, OutputKey, Prices, Provider, Providers, Quirk,
    SchemaEnforcement, Tokeniser,
};
use crate::error::{Error, error_at};
use crate::media::{MediaRules, MediaSupport};
use crate::tokens::OpenAi;

/// The file's name in messages.
const FILE_NAME: &str = "providers.toml";

impl Providers {
    /// Reads a file of models.
    ///
    /// # Errors
    ///
    /// [`InvalidFile`](crate::ErrorKind::InvalidFile) with the key and line of every problem.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file: ProvidersToml = toml::from_str(text).map_err(|error| {
            let problem = provider_problem(error.message().trim_end().to_owned(), error.span().unwrap_or_default());
            Error::in_file(FILE_NAME, text, &[problem])
        })?;
        let mut problems = Vec::new();
        let mut models = BTreeMap::new();
        let named = NamedRules { caching: file.caching, tokenisers: file.tokenisers, media: file.media };
        for (name, raw) in file.models {
            match raw.into_model(name.get_ref(), &named) {
                Ok(model) => drop(models.insert(name.into_inner(), model)),
                Err(found) => problems.extend(found.into_iter().map(|message| provider_problem(message, name.span()))),
            }
        }
        let mut roles = BTreeMap::new();
        for (role, model) in file.roles {
            if problems.is_empty() && !models.contains_key(model.get_ref()) {
                let message = format!("role `{role}` is set to `{}`, which is not a known model", model.get_ref());
                problems.push(provider_problem(message, model.span()));
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
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProvidersToml {
    version: String,
    roles: BTreeMap<String, Spanned<String>>,
    caching: BTreeMap<String, CacheRules>,
    tokenisers: BTreeMap<String, RawTokeniser>,
    #[serde(default)]
    media: BTreeMap<String, MediaRules>,
    models: BTreeMap<Spanned<String>, RawModel>,
}

/// The rules that models share, by name.
struct NamedRules {
    caching: BTreeMap<String, CacheRules>,
    tokenisers: BTreeMap<String, RawTokeniser>,
    media: BTreeMap<String, MediaRules>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    caching: String,
    tokeniser: String,
    media: Option<String>,
    #[serde(default)]
    operator: OperatorRole,
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
    fn into_model(self, name: &str, named: &NamedRules) -> Result<Model, Vec<String>> {
        let mut problems = Vec::new();
        let rules = named.caching.get(&self.caching);
        let media = match &self.media {
            None => MediaSupport::Refused,
            Some(media) => match named.media.get(media) {
                Some(rules) => MediaSupport::Known(rules.clone()),
                None => {
                    problems.push(format!("`media` of `{name}` is `{media}`, which is not under `media`"));
                    MediaSupport::Unknown
                }
            },
        };
        if rules.is_none() {
            problems.push(format!("`caching` of `{name}` is `{}`, which is not under `caching`", self.caching));
        }
        let tokeniser = match named.tokenisers.get(&self.tokeniser) {
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
                answers_by: EnforcementSource::Known,
                output_key: self.output_key,
                quirks: self.quirks,
                media,
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

fn provider_problem(message: String, span: Range<usize>) -> Diagnostic {
    error_at(message, Span::new(span.start, span.end))
}
