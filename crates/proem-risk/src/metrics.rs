//! The metrics, one file each.
//!
//! Every metric counts over the past strictly before the change, in the window of [`AssessmentFacts::window_days`] if
//! it has one, and leaves out merges, commits of programs, ignored commits and, for files that are counted together,
//! commits of more than [`WIDE`] files. A value that can't be measured is unknown, with the reason as its evidence.

mod co_change;
mod contributors;
mod coupling;
mod incidents;
pub mod kamei;
mod ownership;
mod prior;
mod survey;
mod test_ratio;
mod words;

pub(crate) use self::co_change::{CoChange, is_partner_imported, missing_usual_partners};
pub(crate) use self::survey::{Survey, time_of};

use crate::change::{Change, FileKind};
use crate::coverage::Coverage;
use crate::finding::FindingFacts;
use crate::history::Past;
use crate::incident::Corpus;
use crate::level::{LevelRules, Thresholds};
use crate::metric::{Metric, MetricName};
use crate::path::FileRole;
use crate::sample::Sample;
use crate::tree::FileTree;

/// The most files of a commit that still says which files belong together. Wider ones are sweeps. 30 as in Zimmermann
/// et al., *Mining Version Histories to Guide Software Changes*, 2005.
pub const WIDE: usize = 30;

/// The usual window, in days.
pub const WINDOW_DAYS: u32 = 365;

/// The length of the recent period, in days: a quarter.
pub const RECENT_DAYS: u32 = 90;

/// How many files are looked at for the place among the files of the repository.
pub(crate) const RANKED: usize = 200;

/// The most details of a metric.
const DETAILS: usize = 20;

/// The facts that metrics are made from.
#[derive(Debug, Clone, Copy)]
pub struct AssessmentFacts<'f> {
    /// The assessed files, with added and removed lines.
    pub change: &'f Change,
    /// The history that the change is compared with.
    pub past: &'f Past<'f>,
    /// The files with the change in them. `None` if they could not be read.
    pub tree: Option<&'f FileTree>,
    /// A report of measured coverage.
    pub coverage: Option<&'f Coverage>,
    /// Past incidents.
    pub incidents: &'f Corpus,
    /// The sample to compare with.
    pub sample: &'f Sample,
    /// The thresholds of signals.
    pub thresholds: &'f Thresholds,
    /// The rules for the level.
    pub rules: LevelRules,
    /// How far co-change and ownership look back, in days: [`WINDOW_DAYS`] unless somebody wants another.
    pub window_days: u32,
    /// The facts for findings.
    pub finding: FindingFacts<'f>,
}

/// Measures one metric of a file of the change, by its place in [`Change::files`]. `None` for a metric that files of
/// its kind don't have, or a place that there is not.
#[must_use]
pub fn measure_metric(facts: &AssessmentFacts<'_>, file: u32, name: MetricName) -> Option<Metric> {
    Survey::new(*facts).measure(file, name)
}

/// Whether a file of the change decides about its level: code and configuration do, tests don't, nor does
/// what a program or somebody else made.
#[must_use]
pub(crate) const fn decides_level(role: FileRole) -> bool {
    matches!(role, FileRole::Code | FileRole::Configuration)
}

/// Counts with what a file of the change changed together.
pub(crate) fn co_change_of(survey: &Survey<'_>, file: u32) -> CoChange {
    co_change::co_change_of_file(survey, file)
}

impl Survey<'_> {
    /// Measures one metric of a file of the change.
    fn measure(&self, file: u32, name: MetricName) -> Option<Metric> {
        self.measure_with(file, name, &co_change_of(self, file))
    }

    /// Measures one metric of a file of the change, whose co-change was counted before.
    pub(crate) fn measure_with(&self, file: u32, name: MetricName, co_change: &CoChange) -> Option<Metric> {
        let changed = self.file(file)?;
        let role = changed.class.role;
        let has_history = decides_level(role) || role == FileRole::Test;
        let has_code = changed.kind == FileKind::Regular && role == FileRole::Code;
        match name {
            MetricName::Coupling if has_code => Some(coupling::coupling(self, file)),
            MetricName::TransitiveCoupling if has_code => Some(coupling::transitive(self, file)),
            MetricName::CallSites if has_code => Some(coupling::call_sites(self, file)),
            MetricName::TestRatio if has_code => test_ratio::test_ratio(self, file, co_change),
            MetricName::CoChange if decides_level(role) => Some(co_change::co_change_metric(self, file, co_change)),
            MetricName::CoChangeGap if decides_level(role) => Some(co_change::co_change_gap(self, co_change)),
            MetricName::OwnershipChurn if decides_level(role) => Some(ownership::churn(self, file)),
            MetricName::IncidentSimilarity if decides_level(role) => Some(incidents::similarity(self, file)),
            MetricName::PriorFixes | MetricName::PriorReverts if has_history => {
                Some(prior::prior_fix_metric(self, file, name))
            }
            MetricName::MinorContributors | MetricName::OwnerShare | MetricName::RecentCommits if has_history => {
                Some(contributors::contributors(self, file, name))
            }
            _ => None,
        }
    }
}
