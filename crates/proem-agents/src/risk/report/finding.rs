//! Findings and ranks as a report has them.

use proem_risk::assess::Assessment;
use proem_risk::finding::{Advice, Finding};
use proem_risk::level::percent_words;
use proem_risk::signal::{RowSource, SignalRow, Worth};
use schemars::JsonSchema;
use serde::Serialize;

use super::{FractionOut, IntervalOut, ReportPhrase, ReportSentence, changed_path, six_decimal_places};

/// A finding: something specific and true of this change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingOut {
    /// Its signal, such as `missing-partner`.
    pub signal: String,
    /// The changed file.
    pub path: String,
    /// The line: after the change, or before it for one that is gone.
    pub line: Option<u32>,
    /// How often, where it is a share.
    pub of: Option<FractionOut>,
    /// How many lines, importers, callers or commits.
    pub count: u32,
    /// The earlier commit.
    pub commit: Option<String>,
    /// Whole days since then.
    pub days: Option<u32>,
    /// It in a sentence.
    pub evidence: ReportSentence,
    /// The advice about it, with the reason. Null without one.
    pub advice: Option<ReportSentence>,
    /// The command that shows it. Null where a name in it would need quotes.
    pub command: Option<String>,
    /// The worth of such findings.
    pub worth: SignalOut,
}

/// The worth of a signal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SignalOut {
    /// The signal's name in `proem risk signals`.
    pub signal: String,
    /// Past commits with it that needed a fix, of all past commits with it.
    pub needed_a_fix: FractionOut,
    /// The share's 95 % interval. Null of no commits.
    pub interval: Option<IntervalOut>,
    /// The share over the base rate. Null if either is unknown.
    pub ratio: Option<f64>,
    /// The share over that of commits that add as many lines. Null if either is unknown.
    pub ratio_by_size: Option<f64>,
    /// `here`, `clones` where too few commits had it here, or `unmeasured`.
    pub source: String,
    /// Whether it raises a level.
    pub raises: bool,
}

/// The worth of the score in this repository.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WorthOut {
    /// Past changes that needed a fix, of all that are old enough.
    pub needed_a_fix: FractionOut,
    /// The same of changes in the same band of percentiles: below 80, below 95, or above. Null without a percentile.
    pub like_this: Option<FractionOut>,
    /// The AUC of the score among them.
    pub auc: f64,
    /// The AUC of lines added, over the same changes.
    pub auc_lines_added: f64,
}

impl FindingOut {
    pub(super) fn new(assessment: &Assessment, finding: &Finding) -> Self {
        Self {
            signal: finding.signal.as_str().to_owned(),
            path: changed_path(assessment, finding.file),
            line: finding.line,
            of: finding.of.map(FractionOut::from),
            count: finding.count,
            commit: finding.commit.clone(),
            days: finding.days,
            evidence: ReportSentence::from(&finding.evidence),
            advice: finding.advice.as_ref().map(|advice| ReportSentence::from(&advice.sentence)),
            command: finding.advice.as_ref().and_then(|advice| advice.command.clone()),
            worth: SignalOut::from(&finding.worth),
        }
    }
}

impl From<&SignalRow> for SignalOut {
    fn from(row: &SignalRow) -> Self {
        Self {
            signal: row.signal.as_str().to_owned(),
            needed_a_fix: row.with.fraction().into(),
            interval: row.between.map(IntervalOut::from),
            ratio: row.ratio.map(six_decimal_places),
            ratio_by_size: row.ratio_by_size.map(six_decimal_places),
            source: match row.source {
                RowSource::Here => "here",
                RowSource::Clones => "clones",
                RowSource::Unmeasured => "unmeasured",
            }
            .to_owned(),
            raises: row.raises,
        }
    }
}

impl From<Worth> for WorthOut {
    fn from(worth: Worth) -> Self {
        Self {
            needed_a_fix: worth.base.fraction().into(),
            like_this: worth.like_this.map(|base| base.fraction().into()),
            auc: six_decimal_places(worth.auc),
            auc_lines_added: six_decimal_places(worth.auc_lines),
        }
    }
}

/// An advice with its command, as one sentence.
pub(super) fn advice_sentence(advice: &Advice) -> ReportSentence {
    let sentence = ReportSentence::from(&advice.sentence);
    match &advice.command {
        Some(command) => sentence.and("; see ").then(ReportPhrase::Foreign(command.clone())),
        None => sentence,
    }
}

/// The place of a change among the repository's latest, with what such places have been worth. Nothing without a rank.
pub(super) fn rank_sentence(assessment: &Assessment) -> Option<String> {
    let rank = assessment.score.rank?;
    let place =
        format!("riskier than {} % of this repository's last {} changes", percent_words(rank.percentile), rank.among);
    let Some(worth) = assessment.found.worth else {
        return Some(format!("{place}; what that is worth here is unknown"));
    };
    let share = |base: proem_risk::signal::Base| base.share().filter(|share| *share > 0.0);
    let like = worth.like_this.and_then(|like| Some((like, like.share()?, share(worth.base)?)));
    let times = like.map(|(like, own, base)| {
        format!(
            "; {} of {} such changes needed a fix, {:.1} times the usual share",
            like.fixed,
            like.commits,
            own / base
        )
    });
    let (auc, lines) = (worth.auc, worth.auc_lines);
    Some(format!("{place}{} (AUC {auc:.2}, lines added {lines:.2})", times.unwrap_or_default()))
}
