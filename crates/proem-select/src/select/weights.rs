//! The learned weights: of words, and of each kind of evidence.
//!
//! Made by `cargo lab train select`. The data card is beside the scores under `evals/`.

use std::collections::{BTreeMap, BTreeSet};

use proem_score::linear::Logistic;
use serde::{Deserialize, Serialize};

use super::kinds::FEATURES;
use super::terms::{bare_words, id_of_stem, word_stem};
use crate::embedding::ModelId;
use proem_engine::error::{Error, ErrorKind};

/// How telling words of a request are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WordWeights(BTreeMap<u64, f32>);

impl WordWeights {
    /// The worth of a word that only makes a request, 0 to 1.
    pub(super) const SILENT: f32 = 0.1;

    /// Reads lines of `stem<TAB>weight`, weights from 0 to 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] naming the first line that is not of that form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let line = |(number, line): (usize, &str)| {
            let parts = line.split_once('\t').and_then(|(stem, weight)| Some((stem, weight.parse::<f32>().ok()?)));
            match parts {
                Some((stem, weight)) if (0.0..=1.0).contains(&weight) => Ok((id_of_stem(stem), weight)),
                _ => {
                    let problem = format!("word weights: line {number} is not `stem<TAB>weight` with 0 ≤ weight ≤ 1");
                    Err(Error::new(ErrorKind::InvalidFile, problem))
                }
            }
        };
        (1_usize..)
            .zip(text.lines())
            .filter(|(_, line)| !line.starts_with('#'))
            .map(line)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Learns weights from requests, written as [`Self::parse`] reads them.
    ///
    /// A stem of many requests tells little: its weight is `ln((N + 1) / (n + 1)) / ln(N / 8)`, at
    /// most 1, for `n` of `N` requests. Stems worth 1 are left out.
    #[must_use]
    pub fn learn<'r>(requests: impl Iterator<Item = &'r str>) -> String {
        let (mut all, mut with) = (0_usize, BTreeMap::<String, usize>::new());
        for request in requests {
            all = all.saturating_add(1);
            let stems: BTreeSet<String> = bare_words(request).map(|word| word_stem(&word).to_owned()).collect();
            for stem in stems {
                let count = with.entry(stem).or_default();
                *count = count.saturating_add(1);
            }
        }
        let line = |(stem, count): (String, usize)| {
            let weight = rarity(count, all);
            (weight < 1.0).then(|| format!("{stem}\t{weight:.3}\n"))
        };
        with.into_iter().filter_map(line).collect()
    }

    /// The weight of a stem by its number.
    pub(super) fn of_id(&self, stem: u64) -> f32 {
        self.0.get(&stem).copied().unwrap_or(1.0)
    }

    /// The weight of a stem. One that was never seen in a request is worth most.
    pub(super) fn of(&self, stem: &str) -> f32 {
        self.of_id(id_of_stem(stem))
    }
}

/// How telling something is that `with` of `all` requests have, 0 to 1.
#[must_use]
pub fn rarity(with: usize, all: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    let (with, all) = (with as f64, all as f64);
    #[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1")]
    let rarity = (libm::log((all + 1.0) / (with + 1.0)) / libm::log((all / 8.0).max(2.0))).clamp(0.0, 1.0) as f32;
    rarity
}

/// The weights for one embedding model, or for none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionWeights {
    /// A weight for each of [`FEATURE_NAMES`](super::kinds::FEATURE_NAMES).
    pub weights: [f32; FEATURES],
    /// From a candidate's sum, and its logarithm of the share among all candidates, to log-odds.
    pub slope: [f32; 2],
    /// The log-odds at 0.
    pub offset: f32,
    /// The probability below which nothing fits, 0 to 1.
    pub threshold: f32,
}

impl SelectionWeights {
    /// The sum of weighted evidence.
    pub(super) fn sum(&self, features: &[f32; FEATURES]) -> f32 {
        self.weights.iter().zip(features).fold(0.0, |sum, (weight, feature)| sum + weight * feature)
    }

    /// From a candidate's sum and the logarithm of its share to a probability.
    pub(super) fn curve(&self) -> Logistic {
        Logistic { weights: self.slope.to_vec(), bias: self.offset }
    }
}

/// All calibrations, by the id of the embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionWeightSet {
    /// The version of this form.
    pub version: u32,
    /// Without an embedding model.
    pub lexical: SelectionWeights,
    /// With one.
    pub models: BTreeMap<String, SelectionWeights>,
    /// For memories: the least cosine that counts as related, by model.
    pub related: BTreeMap<String, f32>,
}

impl SelectionWeightSet {
    /// The version that is read.
    pub const VERSION: u32 = 1;

    /// Reads the file that training wrote.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if it is of another form or version, or a number is not finite.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |why: String| Error::new(ErrorKind::InvalidFile, format!("selection weights: {why}"));
        let read: Self = serde_json::from_str(text).map_err(|e| invalid(e.to_string()))?;
        if read.version != Self::VERSION {
            return Err(invalid(format!("version {} is not {}", read.version, Self::VERSION)));
        }
        let finite = |c: &SelectionWeights| {
            let numbers = c.weights.iter().chain(&c.slope).chain([&c.offset]);
            numbers.into_iter().all(|number| number.is_finite()) && (0.0..=1.0).contains(&c.threshold)
        };
        if !std::iter::once(&read.lexical).chain(read.models.values()).all(finite) {
            return Err(invalid("a weight is not finite, or a threshold not a probability".into()));
        }
        Ok(read)
    }

    /// The calibration for a model. `None` if it was never calibrated.
    #[must_use]
    pub fn of(&self, model: &ModelId) -> Option<&SelectionWeights> {
        self.models.get(model.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_weights_and_unknown_ones_the_most() {
        let weights = WordWeights::parse("# a comment\nhelp\t0.05\nplan\t0.5\n").expect("well formed");
        assert_eq!([weights.of("help"), weights.of("plan"), weights.of("kubernet")], [0.05, 0.5, 1.0]);
        // A stem that has an ending of its own isn't stemmed again.
        let weights = WordWeights::parse("the\t0.1\nthes\t0.7\n").expect("well formed");
        assert_eq!([weights.of("the"), weights.of("thes")], [0.1, 0.7]);
        for (text, line) in [("help", 1), ("help\t2", 1), ("help\t0.1\nx\ty", 2)] {
            let error = WordWeights::parse(text).expect_err(text);
            assert!(error.to_string().contains(&format!("line {line} is not")), "{error}");
        }
    }

    #[test]
    fn a_file_of_another_version_or_with_infinite_weights_is_refused() {
        let text = |version: u32, offset: &str| {
            format!(
                r#"{{"version":{version},"lexical":{{"weights":[0,0,0,0,0,0,0,0,0],"slope":[1,1],"offset":{offset},"threshold":0.5}},"models":{{}},"related":{{}}}}"#
            )
        };
        assert!(SelectionWeightSet::parse(&text(1, "0")).is_ok());
        for bad in [text(2, "0"), text(1, "1e999"), "{}".into()] {
            assert_eq!(SelectionWeightSet::parse(&bad).expect_err("bad").kind(), ErrorKind::InvalidFile);
        }
    }
}
