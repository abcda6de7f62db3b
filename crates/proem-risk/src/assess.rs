//! All metrics of a change, its score, its level and why.
//!
//! By [`LevelRules::Rank`] the level is that of the **score's percentile** among the repository's latest commits (HIGH
//! from the 95th, MEDIUM from the 80th), and at least MEDIUM with a sensitive file. Signals are evidence, and a HIGH
//! one asks for an investigation. They decide only without a percentile, as with fewer than 50 commits to compare with:
//! then the worst file is HIGH with two or more HIGH signals and MEDIUM with one. Unmeasured values raise nothing. If
//! nothing is known, the score included, the level is UNKNOWN. A change in which nothing runs is LOW and not
//! investigated.
//!
//! By [`LevelRules::Seed`] the worst file's HIGH signals decide, and a file of which nothing is known is MEDIUM.
//!
//! # Confidence
//!
//! The mean of two parts, of which a missing one counts as 0:
//!
//! - the score's: (1 − e) · (1 − w) · k, with e the model's expected calibration error, w the width of the
//!   percentile's 95 % interval as a share, and k the share of what usually decides that was known
//!   ([`RiskScore::known`](crate::score::RiskScore::known)); 0 without a signal of the score;
//! - the signals': known signals over all measured ones, of the files that count.
//!
//! A change without files that count has the score's part alone. If nothing is known at all, there is no confidence. An
//! unknown in place of a known value lowers one of the parts and raises none, so it never raises the confidence.
//! Confidence says how much is known, not how likely the level is right. The coefficients are a choice: no data says
//! how reviewers weigh the two.

mod confidence;
mod partners;
mod rules;
mod scoring;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::finding::{self, Found};
use crate::level::{Level, LevelReason, LevelRules};
use crate::metric::{Metric, MetricName, PercentileRank, Signal};
use crate::metrics::{AssessmentFacts, CoChange, Survey, co_change_of, decides_level};
use crate::patch::{Operation, changed_pins, operation_sites};
use crate::path::{Framework, PathClass};
use crate::score::{RiskModel, RiskScore};

use self::rules::LevelBasis;

/// The Tier 2 metrics that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// None: an investigation asks for them.
    TierOne,
    /// Those of every file that the rules would have investigated.
    TierTwo,
}

/// An assessed change. It holds no references, so that it can be part of a run's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// How risky.
    pub level: Level,
    /// The deciding rules.
    #[serde(default, skip_serializing_if = "LevelRules::are_of_before")]
    pub rules: LevelRules,
    /// Why, most important first.
    pub reasons: Vec<LevelReason>,
    /// How much of the evidence is there and how well the score is calibrated, 0 to 1. `None` if neither is known. [The
    /// module](self) has the formula.
    pub confidence: Option<f64>,
    /// How likely the change needs a fix, as far as that can be told.
    pub score: ChangeScore,
    /// The change's own metrics, those of Kamei et al. (2013).
    pub metrics: Vec<Metric>,
    /// Its files, most risky first.
    pub files: Vec<FileAssessment>,
    /// Usual partners that are missing from the change, most usual first. At most 20.
    pub partners: Vec<Partner>,
    /// How many more of them there are.
    #[serde(default, skip_serializing_if = "is_zero_count")]
    pub more_partners: u32,
    /// The findings about the change, and their worth.
    #[serde(default, skip_serializing_if = "Found::is_empty")]
    pub found: Found,
    /// Whether the rules want an investigation, and why not if they don't.
    pub investigate: Investigate,
    /// The unknown facts, in our words: gaps of the history, the tree and the change.
    pub gaps: Vec<String>,
    /// The score's expected calibration error, 0 to 1: a part of the confidence.
    pub calibration_error: f64,
}

/// Whether a change is worth an investigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Investigate {
    /// A HIGH signal, or a level above LOW.
    Yes,
    /// The level is LOW, and so are all signals, or MEDIUM.
    NothingHigh,
    /// Only documentation, generated files and the like.
    NothingThatRuns,
}

/// The score of a change and its place in the repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeScore {
    /// The probability with its contributions. `None` if too little is known.
    pub scored: Option<RiskScore>,
    /// Its place among the sampled past commits.
    pub rank: Option<PercentileRank>,
    /// Its place among the newest of them ([`RECENT`]). `None` in records that know none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<PercentileRank>,
    /// The range of that place in 95 of 100 samples, in percent.
    pub between: Option<crate::metric::ConfidenceInterval>,
    /// The rules' signal. Unknown for fewer than 50 sampled commits.
    pub signal: Signal,
}

/// An assessed file of a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileAssessment {
    /// Its place in [`crate::change::Change::files`].
    pub index: u32,
    /// Its path. From outside.
    pub path: String,
    /// Language and purpose, as the path and the rules tell.
    pub class: PathClass,
    /// Lines after the change.
    pub lines: Option<u32>,
    /// How it changed.
    pub status: crate::change::FileStatus,
    /// How risky.
    pub level: Level,
    /// The reasons for its level, most important first.
    pub reasons: Vec<LevelReason>,
    /// Its metrics, Tier 1 first.
    pub metrics: Vec<Metric>,
}

/// A file that usually changes with a changed one, and didn't.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partner {
    /// Its path. From outside.
    pub path: String,
    /// The changed file, by its place in the change.
    pub of: u32,
    /// Commits that touched both, out of those that touched the changed file.
    pub together: crate::metric::Fraction,
    /// The lower bound of that share.
    pub low: f64,
    /// Whether an import explains it. `None` if that is unknown.
    pub imported: Option<bool>,
}

/// How many of the newest past commits a change has to stand out among too. Changes of a growing project are larger than
/// its last 500 were, and would be above LOW for no other reason.
pub const RECENT: usize = 100;

/// The most files that get all metrics and details. The others get Tier 1 without details.
pub const DETAILED: usize = 50;

/// The most files that an assessment lists, besides those that findings name. All of them are measured.
pub const LISTED: usize = 3_000;

/// The metrics of Tier 1, in this order.
const TIER_ONE: [MetricName; 3] = [MetricName::Coupling, MetricName::CoChange, MetricName::TestRatio];

/// The metrics of Tier 2.
const TIER_TWO: [MetricName; 2] = [MetricName::OwnershipChurn, MetricName::IncidentSimilarity];

/// The metrics without a rule, measured for the files that get all metrics.
const BESIDE: [MetricName; 8] = [
    MetricName::TransitiveCoupling,
    MetricName::CallSites,
    MetricName::CoChangeGap,
    MetricName::PriorFixes,
    MetricName::PriorReverts,
    MetricName::MinorContributors,
    MetricName::OwnerShare,
    MetricName::RecentCommits,
];

/// Assesses a change.
///
/// # Errors
///
/// [`crate::ErrorKind::OutOfRange`] if the thresholds are not in order, or if the change has more files than
/// can be numbered.
pub fn assess_change(facts: &AssessmentFacts<'_>, model: &RiskModel, depth: Depth) -> Result<Assessment, crate::Error> {
    facts.thresholds.check()?;
    let survey = Survey::new(*facts);
    let files = facts.change.files.len();
    let number = u32::try_from(files).map_err(|_| {
        crate::Error::new(crate::ErrorKind::OutOfRange, format!("a change of {files} files can't be assessed"))
    })?;
    let (mut measured, mut together) = (Vec::new(), Vec::new());
    let (score, metrics) = scoring::score_change(facts, model);
    let is_ranked = facts.rules == LevelRules::Rank && score.signal != Signal::Unknown;
    for index in 0..number {
        let (file, co_change) = tier_one(&survey, index);
        measured.extend(file.map(|file| if is_ranked { without_calm_sensitivity(facts, file) } else { file }));
        together.push((index, co_change));
    }
    let found = finding::change_findings(facts, model, score.rank.map(|rank| rank.percentile));
    let (partners, more_partners) = partners::missing_partners(&survey, &together);
    let mut assessment = Assessment {
        level: Level::Low,
        rules: facts.rules,
        reasons: Vec::new(),
        confidence: None,
        score,
        metrics,
        files: measured,
        partners,
        more_partners,
        found,
        investigate: Investigate::NothingThatRuns,
        gaps: assessment_gaps(facts),
        calibration_error: model.expected_calibration_error(),
    };
    assessment.settle();
    assessment.list_riskiest(files);
    for (place, file) in assessment.files.iter_mut().enumerate() {
        if place < DETAILED {
            measure_beside(&survey, file, &BESIDE);
        } else {
            file.metrics.iter_mut().for_each(|metric| metric.details = Vec::new());
        }
    }
    if let Some(rest) = files.checked_sub(DETAILED).filter(|rest| *rest > 0) {
        assessment.gaps.push(format!(
            "{rest} of {files} files have only the fast (Tier 1) signals; the {DETAILED} riskiest have \
                           all signals"
        ));
    }
    assessment.settle();
    Ok(if depth == Depth::TierTwo { deepen_assessment(facts, assessment) } else { assessment })
}

/// An assessment of Tier 1 with the Tier 2 metrics of every file that the rules would have investigated.
#[must_use]
pub fn deepen_assessment(facts: &AssessmentFacts<'_>, mut assessment: Assessment) -> Assessment {
    let survey = Survey::new(*facts);
    let wants_two = |file: &FileAssessment| rules::wants_tier_two(&assessment, file);
    let wanting: Vec<bool> = assessment.files.iter().take(DETAILED).map(wants_two).collect();
    for (file, _) in assessment.files.iter_mut().zip(wanting).filter(|(_, wants_two)| *wants_two) {
        measure_beside(&survey, file, &TIER_TWO);
    }
    assessment.settle();
    assessment
}

const fn is_zero_count(number: &u32) -> bool {
    *number == 0
}

/// A sensitive file as an ordinary one where its lines are known and none of them changes who may do what: the place
/// alone has not meant a fix more often in any of the measured repositories, so the rank decides.
fn without_calm_sensitivity(facts: &AssessmentFacts<'_>, mut file: FileAssessment) -> FileAssessment {
    let changed = usize::try_from(file.index).ok().and_then(|index| facts.change.files.get(index));
    let patch = changed.and_then(|changed| facts.change.patch(&changed.path));
    let is_edit = file.status == crate::change::FileStatus::Modified;
    let is_calm = patch.is_some_and(|patch| {
        let mut sites = operation_sites(patch).into_iter();
        !patch.is_cut && !sites.any(|site| site.operation == Operation::Permissions) && changed_pins(patch).is_empty()
    });
    if is_edit && is_calm {
        file.class.sensitive = None;
    }
    file
}

/// A file with its Tier 1 metrics, and what it changed with.
fn tier_one(survey: &Survey<'_>, index: u32) -> (Option<FileAssessment>, CoChange) {
    let co_change = co_change_of(survey, index);
    let file = survey.file(index).map(|file| FileAssessment {
        index,
        path: file.path.to_text(),
        class: PathClass { framework: framework(survey, index), ..file.class.clone() },
        lines: file.lines_after,
        status: file.status,
        level: Level::Low,
        reasons: Vec::new(),
        metrics: TIER_ONE.iter().filter_map(|name| survey.measure_with(index, *name, &co_change)).collect(),
    });
    (file, co_change)
}

/// The framework that couples a file, if a file of the repository imports it: a name alone proves none.
fn framework(survey: &Survey<'_>, file: u32) -> Option<Framework> {
    survey.class(survey.tree_index(file)?)?.framework.clone()
}

/// Measures these of a file, in place of earlier values.
fn measure_beside(survey: &Survey<'_>, file: &mut FileAssessment, names: &[MetricName]) {
    let co_change = co_change_of(survey, file.index);
    for name in names {
        if let Some(metric) = survey.measure_with(file.index, *name, &co_change) {
            file.put(metric);
        }
    }
}

fn assessment_gaps(facts: &AssessmentFacts<'_>) -> Vec<String> {
    let mut gaps = facts.change.gaps.clone();
    match facts.tree {
        Some(tree) => gaps.extend(tree.gaps.iter().cloned()),
        None => gaps.push("the files of the repository could not be read".to_string()),
    }
    let missing = facts.past.history().missing();
    let named = [
        (missing.shallow, "the clone is shallow: older commits are missing; fetch the rest of the history"),
        (missing.partial, "the clone is partial: some file contents are missing"),
        (missing.capped, "the history is longer than what was read"),
    ];
    gaps.extend(named.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, words)| words.to_string()));
    if missing.since.is_some() {
        gaps.push("the history was read only back to a certain date".to_string());
    }
    if missing.misdated > 0 {
        gaps.push(format!(
            "{} commits have an impossible date; the date of the parent commit is used",
            missing.misdated
        ));
    }
    if facts.change.commits > 1 {
        gaps.push("the change has several commits, but is compared with single past commits".to_string());
    }
    if facts.change.is_merge {
        gaps.push("a merge is assessed against its first parent".to_string());
    }
    if facts.change.files.is_empty() {
        gaps.push("the change has no files".to_string());
    }
    gaps
}

impl FileAssessment {
    /// Puts a metric where it belongs, in place of an earlier one of its name.
    fn put(&mut self, metric: Metric) {
        match self.metrics.binary_search_by(|other| other.name.cmp(&metric.name)) {
            Ok(place) => {
                if let Some(slot) = self.metrics.get_mut(place) {
                    *slot = metric;
                }
            }
            Err(place) => self.metrics.insert(place, metric),
        }
    }

    /// The signals that the rules look at: those of the metrics with thresholds.
    pub(crate) fn signals(&self) -> impl Iterator<Item = (MetricName, Signal)> {
        self.metrics.iter().filter(|metric| metric.name.tier().is_some()).map(|metric| (metric.name, metric.signal))
    }
}

impl Assessment {
    /// The same with a metric of a file that was measured since. Level, reasons, confidence and order follow. A metric
    /// of a file that the change doesn't have changes nothing. A level that a model raised stays.
    #[must_use]
    pub fn with(mut self, file: u32, metric: Metric) -> Self {
        if let Some(file) = self.files.iter_mut().find(|assessed| assessed.index == file) {
            file.put(metric);
            self.settle();
        }
        self
    }

    /// Whether some value of this metric could raise the level of the change, or fill an unknown: its file
    /// counts, it is not measured yet, and a HIGH signal would raise the change, or be evidence that a model could
    /// cite to raise it above its rank, or nothing of Tier 1 is known of the file. Never at HIGH.
    #[must_use]
    pub fn could_raise(&self, file: u32, name: MetricName) -> bool {
        if self.level == Level::High || name.tier().is_none() {
            return false;
        }
        let Some(assessed) = self.files.iter().find(|assessed| assessed.index == file) else { return false };
        let is_measured = assessed.metrics.iter().any(|metric| metric.name == name);
        if is_measured || !decides_level(assessed.class.role) {
            return false;
        }
        let by = LevelBasis::of(self);
        by == LevelBasis::Kind
            || rules::is_unknown_file(assessed)
            || rules::level_with_high(assessed, 1, by) > self.level
    }

    /// Leaves out all but the riskiest files and those that findings name, since a report of each would take gigabytes.
    fn list_riskiest(&mut self, files: usize) {
        let named: BTreeSet<u32> = self.found.findings.iter().map(|finding| finding.file).collect();
        let mut place = 0_usize;
        self.files.retain(|file| {
            place = place.saturating_add(1);
            place <= LISTED || named.contains(&file.index)
        });
        if let Some(rest) = files.checked_sub(self.files.len()).filter(|rest| *rest > 0) {
            self.gaps.push(format!("{rest} of {files} files are not listed; the {LISTED} riskiest are"));
        }
    }

    /// Makes level, reasons, confidence and order follow from the metrics.
    fn settle(&mut self) {
        let by = LevelBasis::of(self);
        self.files.iter_mut().for_each(|file| rules::settle_file(file, by));
        self.files.sort_by_key(rules::file_order);
        rules::settle_level(self);
        self.confidence = confidence::assessment_confidence(self);
    }
}
