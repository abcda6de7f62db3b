//! The meaning of each mode, as sentences that show it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Mode, ModeBasis, ModeInference};
use crate::embedding::Vector;
use proem_engine::error::{Error, ErrorKind};

/// Sentences that show what each mode is about, as vectors of one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModeExamples(BTreeMap<Mode, Vec<Vector>>);

/// How many of a mode's nearest examples count.
const NEAREST: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleFile {
    examples: Vec<String>,
}

impl ModeExamples {
    /// The sentences of an example file, `[mode.language] examples = […]`, with their modes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the file is not of that form.
    pub fn sentences(text: &str) -> Result<Vec<(Mode, String)>, Error> {
        let file: BTreeMap<Mode, BTreeMap<String, ExampleFile>> = toml::from_str(text)
            .map_err(|e| Error::new(ErrorKind::InvalidFile, format!("mode examples: {}", e.to_string().trim_end())))?;
        let languages = file.into_iter().flat_map(|(mode, languages)| languages.into_values().map(move |l| (mode, l)));
        Ok(languages.flat_map(|(mode, language)| language.examples.into_iter().map(move |text| (mode, text))).collect())
    }

    /// Adds an example.
    pub fn add(&mut self, mode: Mode, vector: Vector) {
        self.0.entry(mode).or_default().push(vector);
    }

    /// How much nearer than those of the second mode the examples of the first have to be, as a difference of cosines.
    /// `cargo lab eval mode` shows what other leads are worth.
    pub const LEAD: f32 = 0.05;

    /// The mode whose three nearest examples are nearest in the mean, if they are at least as near
    /// as `least` and by `lead` nearer than those of the next mode.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidVector`] if the task's vector is of another model.
    pub fn nearest(&self, task: &Vector, least: f32, lead: f32) -> Result<Option<ModeInference>, Error> {
        let mut best: Option<(f32, Mode)> = None;
        let mut second = -1.0_f32;
        for mode in Mode::ALL {
            let vectors = self.0.get(&mode).into_iter().flatten();
            let mut cosines = vectors.map(|vector| vector.cosine(task)).collect::<Result<Vec<f32>, Error>>()?;
            cosines.sort_by(|a, b| b.total_cmp(a));
            cosines.truncate(NEAREST);
            #[expect(clippy::cast_precision_loss, reason = "at most three")]
            let mean = cosines.iter().sum::<f32>() / cosines.len().max(1) as f32;
            match best {
                Some((most, _)) if mean <= most => second = second.max(mean),
                _ => {
                    second = best.map_or(second, |(most, _)| most);
                    best = Some((mean, mode));
                }
            }
        }
        Ok(best.filter(|(mean, _)| *mean >= least && mean - second >= lead).map(|(mean, mode)| ModeInference {
            mode,
            basis: ModeBasis::Meaning,
            reason: format!("examples of {} are nearest in meaning ({mean:.2})", mode.as_str()),
        }))
    }
}
