//! The peers that the score has to beat: size alone, and a logistic regression over the same metrics.

use proem_risk::score::{ChangeFeatures, Feature};
use proem_score::linear::{self, Logistic};

use super::labelled_commits::LabelledCommit;

/// A logistic regression over the logarithms of the fourteen metrics.
#[derive(Debug)]
pub(crate) struct Regression {
    model: Logistic,
    means: [f32; Feature::ALL.len()],
}

impl Regression {
    pub(crate) fn fit(commits: &[LabelledCommit]) -> Result<Self, String> {
        let mut means = [0.0; Feature::ALL.len()];
        for (mean, feature) in means.iter_mut().zip(Feature::ALL) {
            let known: Vec<f32> = commits.iter().filter_map(|commit| logarithm(&commit.features, feature)).collect();
            #[expect(clippy::cast_precision_loss, reason = "a count of commits")]
            let count = known.len().max(1) as f32;
            *mean = known.iter().sum::<f32>() / count;
        }
        let rows: Vec<[f32; Feature::ALL.len()]> =
            commits.iter().map(|commit| regression_row(&commit.features, &means)).collect();
        let labels: Vec<bool> = commits.iter().map(|commit| commit.is_bug).collect();
        let fitted = linear::fit_logistic(&rows, &labels, &[], linear::TrainingOptions::default())
            .map_err(|error| error.to_string())?;
        Ok(Self { model: fitted.model, means })
    }

    /// The log-odds of a change.
    pub(crate) fn score(&self, features: &ChangeFeatures) -> f64 {
        f64::from(self.model.score(&regression_row(features, &self.means)))
    }
}

/// `ln(1 + x)`. `None` for an unknown metric.
fn logarithm(features: &ChangeFeatures, feature: Feature) -> Option<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm")]
    features.get(feature).map(|value| libm::log1p(value) as f32)
}

/// All metrics. The mean of the training commits represents an unknown one.
fn regression_row(features: &ChangeFeatures, means: &[f32; Feature::ALL.len()]) -> [f32; Feature::ALL.len()] {
    let mut row = *means;
    for (slot, feature) in row.iter_mut().zip(Feature::ALL) {
        *slot = logarithm(features, feature).unwrap_or(*slot);
    }
    row
}
