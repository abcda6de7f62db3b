//! A change of one threshold, as a proposal describes it.

use proem_agents::risk::feedback::{Meter, Suggestion};
use proem_guard::show;

use super::thresholds::ThresholdsFile;
use crate::error::Error;
use crate::project::OpenProject;

/// The table of the settings in a proposal.
const TABLE: &str = "risk";
/// The threshold between MEDIUM and HIGH, the only one that verdicts say something about.
const STEP: &str = "second";

/// Another value for the threshold between MEDIUM and HIGH of one meter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdChange {
    /// The kind of alarm whose threshold changes.
    pub meter: Meter,
    /// The value when the change was proposed, in the meter's unit.
    pub from: f64,
    /// The proposed value.
    pub to: f64,
}

impl ThresholdChange {
    /// The key of a meter's setting, such as `risk.coupling.second`.
    #[must_use]
    pub fn setting(meter: Meter) -> String {
        format!("{TABLE}.{}.{STEP}", meter.as_str())
    }

    /// Reads a change from the words of a proposal.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or a value is no finite number, in words for display.
    pub fn parse(setting: &str, from: &str, to: &str) -> Result<Self, String> {
        let known = Meter::ALL.into_iter().find(|meter| Self::setting(*meter) == setting);
        let meter = known.ok_or_else(|| {
            format!("there is no setting `{}` that a proposal can change", show::terminal_str(setting))
        })?;
        let number = |text: &str| {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            value.ok_or_else(|| format!("`{}` is no number", show::terminal_str(text)))
        };
        Ok(Self { meter, from: number(from)?, to: number(to)? })
    }

    /// The value in force in a project.
    ///
    /// # Errors
    ///
    /// If the project's thresholds are unusable.
    pub fn in_force(&self, project: &OpenProject) -> Result<f64, Error> {
        Ok(self.meter.steps(&super::thresholds(project)?).second)
    }

    /// Puts the proposed value in force. [`super::undo_thresholds`] takes it back.
    ///
    /// # Errors
    ///
    /// If another value is in force than the change was made from, the new one is out of its range, or the file can't be
    /// written.
    pub fn put_in_force(&self, project: &OpenProject) -> Result<(), Error> {
        let mut kept = ThresholdsFile::load(project)?;
        let mut new = kept.in_force()?;
        let steps = self.meter.steps(&new);
        if steps.second.to_bits() != self.from.to_bits() {
            let setting = Self::setting(self.meter);
            return Err(Error::negative(format!("{setting} is {}, and no longer {}", steps.second, self.from)));
        }
        self.meter.set_second(&mut new, self.to);
        new.check().map_err(|error| Error::negative(format!("the proposed value can't be used: {error}")))?;
        kept.take(new);
        kept.store(project)
    }
}

impl From<&Suggestion> for ThresholdChange {
    fn from(suggestion: &Suggestion) -> Self {
        Self { meter: suggestion.metric, from: suggestion.from.second, to: suggestion.to.second }
    }
}
