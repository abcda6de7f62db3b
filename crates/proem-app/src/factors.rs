//! The factors for counting models' tokens that were found on this machine: `proem cost fit` writes them, and every
//! counter reads them.

use std::collections::BTreeMap;

use proem_engine::providers::{Model, Tokeniser};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::message::Hint;
use crate::places::Places;
use crate::state_file::StateFile;

/// The file that keeps them.
const FILE: StateFile = StateFile { name: "token-factors.json", version: 1 };

/// The range of a factor, in hundredths, as `providers.toml` has it: never below the count, at most twice that.
pub const RANGE: std::ops::RangeInclusive<usize> = 100..=200;

/// The factors of all models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factors {
    version: u32,
    /// By the model's name.
    pub models: BTreeMap<String, Factor>,
}

/// How a model's tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Hundredths of the base's count.
    pub percent: usize,
    /// How many calls that was found from.
    pub calls: u64,
    /// The previous value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<usize>,
}

impl Default for Factors {
    fn default() -> Self {
        Self { version: FILE.version, models: BTreeMap::new() }
    }
}

impl Factors {
    /// Reads the file. No factors if it is missing.
    ///
    /// # Errors
    ///
    /// If it is there and can't be used: wrong counts would fit prompts into windows that are smaller.
    pub fn load(places: &Places) -> Result<Self, Error> {
        let fit_again = |error: Error| error.hinting(Hint::FitFactors);
        let Some(factors) = FILE.load::<Self>(places).map_err(fit_again)? else { return Ok(Self::default()) };
        let wrong = |why: String| fit_again(FILE.fault(places, why));
        match factors.models.iter().find(|(_, factor)| !RANGE.contains(&factor.percent)) {
            Some((name, factor)) => Err(wrong(format!(
                "the factor of `{name}` is {} %, not {} to {}",
                factor.percent,
                RANGE.start(),
                RANGE.end()
            ))),
            None => Ok(factors),
        }
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// If the file can't be written.
    pub fn store(&self, places: &Places) -> Result<(), Error> {
        FILE.store(places, self)
    }

    /// Has a model counted by its factor. Exact counts stay. The percentage, if there is one.
    pub fn apply(&self, model: &mut Model) -> Option<usize> {
        scale_model(model, self.models.get(&model.name)?.percent)
    }
}

/// Has a model counted by `factor` hundredths of its base. Exact counts stay. The factor, if it counts.
pub fn scale_model(model: &mut Model, factor: usize) -> Option<usize> {
    match &mut model.tokeniser {
        Tokeniser::Estimate { percent, .. } => {
            *percent = factor;
            Some(factor)
        }
        Tokeniser::Exact(_) => None,
    }
}
