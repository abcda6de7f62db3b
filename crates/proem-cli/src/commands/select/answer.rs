//! An answer as one line of JSON, or as a list for people.

use proem_guard::{Untrusted, show};
use proem_select::catalogue::{Approval, Capability};
use proem_select::select::{RankedEntry, Ranking};
use proem_text::{Label, Source};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::commands::catalogue::approval_word;
use crate::ui::{BLUE, BOLD, DIM, GREEN, YELLOW, style_text};
use proem_app::select::{CatalogueFrom, QueryRanking, Ranker};

/// The longest name, query and example in a list, in characters.
const MAX_NAME: usize = 60;
const MAX_QUERY: usize = 100;
const MAX_EXAMPLE: usize = 70;

/// The ranking for a query.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RankingOutput<'q> {
    query: &'q str,
    /// The entries, the likeliest first.
    ranked: Vec<RankedOutput>,
    /// Whether nothing fits.
    abstained: bool,
    /// Why words alone decided. Absent if they didn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
}

/// An entry of a catalogue.
#[derive(Debug, Serialize, JsonSchema)]
struct RankedOutput {
    /// The name in the catalogue, or in the file that was given.
    #[schemars(with = "String")]
    name: Json,
    /// The probability that it fits, from 0 to 1.
    score: f64,
}

impl<'q> RankingOutput<'q> {
    pub(super) fn new(ranker: &Ranker, answered: &QueryRanking, query: &'q str, top: usize) -> Self {
        let Ranking { ranked, degraded, .. } = &answered.ranking;
        let entry = |ranked: &RankedEntry| {
            let capability = ranker.entries().get(ranked.entry)?;
            let name = match ranker.from() {
                CatalogueFrom::File => show::exact_json(capability.own_name()),
                CatalogueFrom::Project => Json::from(capability.name().as_str()),
            };
            Some(RankedOutput { name, score: six_decimals(ranked.probability) })
        };
        Self {
            query,
            ranked: ranked.iter().take(top).filter_map(entry).collect(),
            abstained: answered.ranking.abstained(),
            degraded: degraded.as_ref().map(|reason| reason.as_str().to_owned()),
        }
    }
}

/// Six decimals: more would be noise of the last bits.
fn six_decimals(probability: f32) -> f64 {
    (f64::from(probability) * 1e6).round() / 1e6
}

/// The list. `heading` is the query where there are several.
pub(super) fn ranking_listing(ranker: &Ranker, answered: &QueryRanking, heading: Option<&str>, top: usize) -> String {
    let QueryRanking { ranking, .. } = answered;
    let mut out =
        heading.map_or_else(String::new, |query| format!("{}\n", style_text(BOLD, &from_outside(query, MAX_QUERY))));
    let rows: Vec<(&RankedEntry, &Capability)> = ranking
        .ranked
        .iter()
        .take(top)
        .filter_map(|ranked| Some((ranked, ranker.entries().get(ranked.entry)?)))
        .collect();
    if ranking.abstained() {
        let best = rows.first().map(|(ranked, capability)| {
            let name = ranked_name(ranker, capability);
            format!(" (best: {name} at {:.2}, below {:.2})", ranked.probability, ranking.threshold)
        });
        out.push_str(&format!("{}\n", style_text(YELLOW, &format!("nothing fits{}", best.unwrap_or_default()))));
    }
    let width = rows.iter().map(|(_, capability)| ranked_name(ranker, capability).chars().count()).max().unwrap_or(0);
    let mut fits = !ranking.abstained();
    for (ranked, capability) in rows {
        if fits && ranked.probability < ranking.threshold {
            fits = false;
            out.push_str(&format!(
                "{}\n",
                style_text(DIM, &format!("below {:.2}, too unlikely to be listed as a match:", ranking.threshold))
            ));
        }
        out.push_str(&ranking_row(ranker, ranked, capability, width));
        out.push_str(&ranking_evidence(ranker, answered, ranked, capability));
    }
    out
}

fn ranking_row(ranker: &Ranker, ranked: &RankedEntry, capability: &Capability, width: usize) -> String {
    let kind = capability.kind().as_str();
    let line = format!("{:.2}  {:width$}", ranked.probability, ranked_name(ranker, capability));
    match ranker.from() {
        // Nobody was asked about the definitions of a file.
        CatalogueFrom::File => format!("{line}  {}\n", style_text(BLUE, kind)),
        CatalogueFrom::Project => {
            let style = if capability.approval() == Approval::Approved { GREEN } else { YELLOW };
            format!(
                "{line}  {}  {}\n",
                style_text(BLUE, &format!("{kind:5}")),
                style_text(style, approval_word(capability))
            )
        }
    }
}

/// The words that it shares with the query, and the nearest of its examples.
fn ranking_evidence(ranker: &Ranker, answered: &QueryRanking, ranked: &RankedEntry, capability: &Capability) -> String {
    let words = ranker.selector().shared_words(ranker.index(), &answered.query, ranked);
    let mut out = String::new();
    if !words.is_empty() {
        let words: Vec<String> = words.iter().map(|word| from_outside(word, MAX_NAME)).collect();
        out.push_str(&format!("      {} {}\n", style_text(DIM, "shares"), words.join(", ")));
    }
    let example = ranker.selector().nearest_example(capability, &answered.query);
    if let Some(example) = example.and_then(|number| capability.definition().examples.get(number)) {
        out.push_str(&format!(
            "      {}   “{}”\n",
            style_text(DIM, "like"),
            show::terminal_capped(example, MAX_EXAMPLE)
        ));
    }
    out
}

fn ranked_name(ranker: &Ranker, capability: &Capability) -> String {
    match ranker.from() {
        CatalogueFrom::File => show::terminal_capped(capability.own_name(), MAX_NAME).into_string(),
        CatalogueFrom::Project => capability.name().as_str().to_owned(),
    }
}

fn from_outside(text: &str, most: usize) -> String {
    let label = Label::from_source(Source::named("query"));
    show::terminal_capped(&Untrusted::new(text.to_owned(), label), most).into_string()
}
