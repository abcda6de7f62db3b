//! The findings about two requests as a document for programs.

use proem_engine::cache::miss::CacheComparison;
use proem_store::record::SectionRow;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::Pair;
use super::run_call::RunCall;
use super::sections::{SectionPair, section_pairs, tools_state};
use crate::runs::output::CallIdentity;

/// The requests of one run, each with the one that its cache could have been written by, or two requests.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunDiffOutput {
    /// The run, or the earlier of two.
    pub run: String,
    /// How many calls it has.
    pub calls: usize,
    /// The comparisons, in the order of the calls.
    pub comparisons: Vec<RequestPairOutput>,
}

/// Two requests.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPairOutput {
    /// The changes, and the cache's behaviour.
    #[serde(flatten)]
    compared: CacheComparison,
    /// The earlier request.
    first: ComparedCallOut,
    /// The later one.
    second: ComparedCallOut,
    #[serde(flatten)]
    cache: CacheAccount,
    /// The change of the tools: `same`, `changed`, `only-first` or `only-second`. Null if it is unknown or there are
    /// none.
    tools: Option<&'static str>,
    /// The sections of both.
    sections: Vec<SectionPairOut>,
    #[serde(flatten)]
    kept: KeptTexts,
}

/// The cache's behaviour.
#[derive(Debug, Serialize, JsonSchema)]
struct CacheAccount {
    /// The cache's behaviour, in a sentence.
    words: String,
    /// The provider's own account of its cache.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Json>>")]
    provider: Json,
}

/// The texts that differ, as far as the records keep them.
#[derive(Debug, Serialize, JsonSchema)]
struct KeptTexts {
    /// The texts of what changed first, as far as they are kept.
    texts: Option<ChangedTextsOut>,
    /// The answers of two runs.
    answers: Option<AnswersOut>,
}

/// A request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ComparedCallOut {
    /// The id in the records.
    run: String,
    #[serde(flatten)]
    identity: CallIdentity,
    /// Whether a provider may have seen it.
    sent: bool,
    /// The tokens in front of the last boundary of the cache, by our count.
    stable_tokens: u64,
    /// The tokens in front of all sections, by our count.
    tokens_before_sections: u64,
    /// The tokens that the provider reported.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Json>>")]
    usage: Json,
}

/// A section of one request, of the other, or of both.
#[derive(Debug, Serialize, JsonSchema)]
struct SectionPairOut {
    /// As the prompt file names it.
    name: Option<String>,
    /// `same`, `changed`, `only-first` or `only-second`.
    state: &'static str,
    /// As it was.
    first: Option<SectionSideOut>,
    /// As it is.
    second: Option<SectionSideOut>,
}

/// A section of one request.
#[derive(Debug, Serialize, JsonSchema)]
struct SectionSideOut {
    /// Its tokens, by our count.
    tokens: u64,
    /// The hash of its text.
    hash: String,
    /// Whether a boundary of the cache is behind it.
    boundary: bool,
}

/// The texts of what changed first. Null for one that is not kept.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangedTextsOut {
    /// The changed part, such as `section role`.
    what: String,
    /// As it was.
    before: Option<String>,
    /// As it is.
    after: Option<String>,
}

/// The answers of two runs.
#[derive(Debug, Serialize, JsonSchema)]
struct AnswersOut {
    /// Whether they are the same.
    same: bool,
    /// The earlier one.
    before: Option<String>,
    /// The later one.
    after: Option<String>,
}

impl RequestPairOutput {
    /// The document of two requests.
    #[must_use]
    pub fn new(pair: &Pair<'_>) -> Self {
        let texts = pair.texts.as_ref().map(|texts| ChangedTextsOut {
            what: texts.what.clone(),
            before: texts.before.clone(),
            after: texts.after.clone(),
        });
        let answers = pair.answers.as_ref().map(|answers| AnswersOut {
            same: answers.is_same,
            before: answers.before.clone(),
            after: answers.after.clone(),
        });
        Self {
            compared: pair.compared.clone(),
            first: ComparedCallOut::new(&pair.first),
            second: ComparedCallOut::new(&pair.second),
            cache: CacheAccount { words: pair.words(), provider: json!(pair.diagnosis()) },
            tools: tools_state(pair).map(|state| state.as_str()),
            sections: section_pairs(pair).iter().map(SectionPairOut::new).collect(),
            kept: KeptTexts { texts, answers },
        }
    }

    /// Shortens each text to that many bytes, with a mark that says how many are missing.
    pub fn shorten_texts(&mut self, most: usize) {
        let texts = self.kept.texts.iter_mut().flat_map(|texts| [&mut texts.before, &mut texts.after]);
        let answers = self.kept.answers.iter_mut().flat_map(|answers| [&mut answers.before, &mut answers.after]);
        for text in texts.chain(answers).flatten().filter(|text| text.len() > most) {
            let bytes = text.len();
            text.truncate(text.floor_char_boundary(most));
            text.push_str(&format!(" [{} bytes more]", bytes.saturating_sub(text.len())));
        }
    }
}

impl ComparedCallOut {
    fn new(call: &RunCall<'_>) -> Self {
        let row = call.row;
        Self {
            run: call.run.row.id.0.clone(),
            identity: CallIdentity::new(call.number, row, call.at()),
            sent: call.is_sent(),
            stable_tokens: row.stable_tokens,
            tokens_before_sections: call.tokens_before(),
            usage: json!(call.usage()),
        }
    }
}

impl SectionPairOut {
    fn new(pair: &SectionPair<'_>) -> Self {
        let side = |section: &SectionRow| SectionSideOut {
            tokens: section.tokens,
            hash: section.text.clone(),
            boundary: section.boundary,
        };
        Self {
            name: pair.either().map(|section| section.name.clone()),
            state: pair.state().as_str(),
            first: pair.first.map(side),
            second: pair.second.map(side),
        }
    }
}
