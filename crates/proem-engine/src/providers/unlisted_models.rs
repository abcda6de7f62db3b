//! Models that the data file doesn't list, such as one on this machine.

use super::{
    CacheControl, CacheRules, EnforcementSource, Model, OperatorRole, OutputKey, Provider, Providers,
    SchemaEnforcement, Tokeniser,
};
use crate::media::MediaSupport;
use crate::tokens::OpenAi;

impl Providers {
    /// A model that isn't listed, behind a server that speaks `provider`'s protocol.
    ///
    /// Its limits and prices are unknown and its tokens an estimate that nobody measured. Of Anthropic's protocol the
    /// cache rules are known. A server that speaks OpenAI's may keep prefixes by itself, and takes the older name of
    /// the answer's limit.
    #[must_use]
    pub fn unlisted(&self, name: &str, provider: Provider) -> Model {
        let caching = match provider {
            Provider::Anthropic => self.models().find(|model| model.provider() == provider),
            Provider::OpenAi => None,
        };
        let implicit = || CacheRules {
            provider,
            mode: CacheControl::Implicit,
            order: Vec::new(),
            max_breakpoints: None,
            lifetimes: Vec::new(),
            read_percent: None,
            sources: Vec::new(),
        };
        Model {
            name: name.to_owned(),
            caching: caching.map_or_else(implicit, |model| model.caching.clone()),
            tokeniser: Tokeniser::Estimate {
                base: OpenAi::O200k,
                percent: 100,
                sources: vec!["unmeasured".to_owned()],
            },
            operator: OperatorRole::System,
            answers: match provider {
                Provider::Anthropic => SchemaEnforcement::Tool,
                Provider::OpenAi => SchemaEnforcement::Schema,
            },
            answers_by: match provider {
                Provider::Anthropic => EnforcementSource::Known,
                Provider::OpenAi => EnforcementSource::Tried,
            },
            output_key: OutputKey::MaxTokens,
            quirks: Vec::new(),
            media: MediaSupport::Unknown,
            context_tokens: None,
            output_tokens: None,
            min_prefix_tokens: None,
            prices: Vec::new(),
            sources: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlisted_model_is_unknown_in_all_that_costs() {
        let providers = Providers::load().unwrap();
        for provider in [Provider::Anthropic, Provider::OpenAi] {
            let model = providers.unlisted("llama3.1", provider);
            assert_eq!((model.name.as_str(), model.provider()), ("llama3.1", provider));
            assert!(model.prices.is_empty() && model.context_tokens.is_none() && model.min_prefix_tokens.is_none());
        }
        assert_eq!(providers.unlisted("m", Provider::Anthropic).caching.max_breakpoints.map(|n| n.get()), Some(4));
    }
}
