//! The report of a change: the keys of `proem risk --json`, and the source of every other form.
//!
//! Invariants: the level is the rules', or higher where an investigation raised it; what is unknown is null or named
//! under `unknown`, never zero. Names, messages and a model's words are kept apart from ours in every sentence
//! ([`ReportSentence`]), so that each form can show them safely.

mod change;
mod file;
mod finding;
mod metric;
mod recommend;
mod schema;
mod weigh;
mod words;

pub use self::change::ChangeOut;
pub use self::file::FileOut;
pub use self::finding::{FindingOut, SignalOut, WorthOut};
pub use self::metric::{
    ContributionOut, ExcludedOut, FractionOut, IntervalOut, MetricOut, PartnerOut, RankOut, ScoreOut,
};
pub use self::words::{ReportPhrase, ReportSentence};

use std::collections::BTreeMap;

use proem_risk::assess::{Assessment, FileAssessment, Investigate};
use proem_risk::change::Change;
use proem_risk::level::{Level, LevelReason};
use proem_risk::metric::{Metric, MetricName, Signal};
use schemars::JsonSchema;
use serde::Serialize;

use super::feedback::Meter;
use super::investigation::{Hop, InvestigationEnd, Synthesis};
use crate::adapt::Lessons;

/// The answer of `proem risk --json`: one change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct RiskReport {
    /// The run that it is recorded as, for `proem risk feedback`. Null if it is not recorded.
    pub id: Option<String>,
    /// How risky the change is.
    #[schemars(schema_with = "schema::level_schema")]
    pub risk_level: Level,
    /// How much of the evidence is there and how well the score is calibrated. Null if neither is known.
    #[schemars(schema_with = "schema::share_schema")]
    pub confidence: Option<f64>,
    /// How sure the model says it is. Null without one.
    #[schemars(schema_with = "schema::share_schema")]
    pub model_confidence: Option<f64>,
    /// How the assessment came about.
    pub mode: AssessmentMode,
    /// Everything specific and true of this change, the most telling first.
    pub findings: Vec<FindingOut>,
    /// Its place among the repository's latest changes, in a sentence with what that has been worth. Null without one.
    pub rank: Option<String>,
    /// The worth of the score in this repository. Null with too little of the past.
    pub worth: Option<WorthOut>,
    /// The signals that it has and that earned it: past changes with each needed a fix more often than usual.
    pub earned: Vec<SignalOut>,
    /// The most important pieces of evidence, at most five: three by the rules, or what a model cited.
    pub key_evidence: Vec<ReportSentence>,
    /// Recommendations, most important first, at most three. None at `LOW`.
    pub recommendations: Vec<ReportSentence>,
    /// How the evidence makes the level.
    pub reasoning: ReportSentence,
    /// The hops of the investigation, in order.
    pub investigation_trace: Vec<HopOut>,
    /// Why the level is what it is, most important first.
    pub reasons: Vec<ReportSentence>,
    /// The assessed change.
    pub change: ChangeOut,
    /// The score and its place in the repository.
    pub score: ScoreOut,
    /// The change's own metrics.
    pub metrics: Vec<MetricOut>,
    /// Its files, most risky first.
    pub files: Vec<FileOut>,
    /// Usual partners of the changed files that did not change, most usual first. At most 20.
    pub missing_partners: Vec<PartnerOut>,
    /// How many there are of them in all.
    pub missing_partners_total: u64,
    /// Metrics of Tier 1 and Tier 2 that could not be measured.
    pub unknown: Vec<UnknownOut>,
    /// Other unknown facts: gaps of the history, the files and the change.
    pub gaps: Vec<String>,
    /// The problems on the way, such as a model's answer that could not be used.
    pub notes: Vec<String>,
    /// The history it was compared with.
    pub history: HistoryRead,
    /// The prompts that were used.
    pub prompts: Vec<PromptUsed>,
    /// The lessons of the prompts that were used. Absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<Lessons>,
    /// The usage of the investigation. Null if no model was asked.
    pub spent: Option<InvestigationUsage>,
}

/// How an assessment came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "Mode")]
pub enum AssessmentMode {
    /// A model investigated and summed up. The level is the rules', or higher.
    Investigated,
    /// No model was asked: there is none, or the rules needed none.
    Rules,
    /// A model was asked and gave no usable summary: the same score and evidence, by the rules.
    Degraded,
}

proem_text::word_table! {
    pub AssessmentMode {
        Investigated = "INVESTIGATED",
        Rules = "RULES",
        Degraded = "DEGRADED",
    }
}

/// A hop of the investigation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HopOut {
    /// The offer, the choice and the finding.
    #[serde(flatten)]
    pub hop: Hop,
    /// The path of the file that it looked at.
    pub path: Option<String>,
}

/// A metric that could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnknownOut {
    /// The metric that has no value.
    #[schemars(with = "String")]
    pub metric: MetricName,
    /// Of which file. Null for the change.
    pub path: Option<String>,
    /// The missing fact, in a sentence.
    pub why: ReportSentence,
}

/// The history that a change was compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryRead {
    /// Commits of the history.
    pub commits: u64,
    /// Those of them that were kept from an earlier time, and not read again.
    pub cached: u64,
    /// How far back changes count that were made together, in months.
    pub window_months: u16,
    /// Whether only first parents were followed.
    pub first_parent: bool,
    /// Merges, which no metric counts.
    pub merges: u64,
    /// Commits of programs, which no metric counts.
    pub bots: u64,
    /// Commits that `.git-blame-ignore-revs` names.
    pub ignored: u64,
    /// Past commits that the score is compared with.
    pub sampled: u32,
    /// How many they were drawn from.
    pub sampled_of: u32,
    /// Whether older commits are missing here.
    pub shallow: bool,
    /// Whether contents are missing here.
    pub partial: bool,
    /// Whether there are more commits than are read.
    pub capped: bool,
    /// Commits whose date can't be true.
    pub misdated: u32,
}

/// A prompt that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromptUsed {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The usage of an investigation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Spent")]
pub struct InvestigationUsage {
    /// The model that was asked.
    pub model: String,
    /// How often the model was called.
    pub calls: u32,
    /// Tokens of the prompts. Null if that is not known.
    pub input_tokens: Option<u64>,
    /// Those of them that were read from the provider's cache. Null if that is not known.
    pub cached_tokens: Option<u64>,
    /// Tokens of the answers. Null if that is not known.
    pub output_tokens: Option<u64>,
    /// Its cost, in billionths of a dollar. Null if it is unknown.
    pub cost_nano_dollars: Option<u64>,
}

/// How often something was said to be a false alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rate {
    /// How often it was.
    pub count: u64,
    /// How often anybody said anything of it.
    pub n: u64,
}

/// The context of a report beside the assessment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportContext {
    /// The run that it is recorded as.
    pub id: Option<String>,
    /// Why this change was assessed, where the choice was left open, in our words.
    pub chosen: Option<String>,
    /// The model that investigates, or would have. `None` without one.
    pub model: Option<String>,
    /// The prompts that were used.
    pub prompts: Vec<PromptUsed>,
    /// The learned part of them.
    pub learned: Vec<Lessons>,
    /// The usage of the investigation. `None` if no model was asked.
    pub spent: Option<InvestigationUsage>,
    /// The history that the change was compared with.
    pub history: HistoryRead,
    /// How often a HIGH was a false alarm, of metrics and of the score; what nobody judged is missing.
    pub false_positives: BTreeMap<Meter, Rate>,
    /// The caller's notes, in our words, such as the reason that no model was asked.
    pub notes: Vec<String>,
}

/// The basis of the reports of all files of a change.
#[derive(Debug, Clone, Copy)]
struct ReportBasis<'r> {
    change: &'r Change,
    /// The assessment that holds: the investigation's, if there was one.
    assessment: &'r Assessment,
    mode: AssessmentMode,
    /// All hops of the investigation.
    hops: &'r [HopOut],
    /// As in [`ReportContext::false_positives`].
    false_positives: &'r BTreeMap<Meter, Rate>,
}

impl RiskReport {
    /// The report of a change: by its investigation if there was one, otherwise by its assessment.
    #[must_use]
    pub fn new(
        change: &Change,
        assessment: &Assessment,
        investigated: Option<&InvestigationEnd>,
        about: ReportContext,
    ) -> Self {
        let assessment = investigated.map_or(assessment, |investigated| &investigated.assessment);
        let synthesis = investigated.and_then(|investigated| investigated.synthesis.as_ref());
        let hops = investigated.map(|investigated| hop_outputs(assessment, &investigated.hops)).unwrap_or_default();
        let mode = mode(assessment, synthesis, about.model.as_deref());
        let basis = ReportBasis { change, assessment, mode, hops: &hops, false_positives: &about.false_positives };
        let file = |file: &FileAssessment| FileOut::new(basis, file);
        let files = assessment.files.iter().map(file).collect();
        let partner =
            |partner: &proem_risk::assess::Partner| PartnerOut::new(partner, changed_path(assessment, partner.of));
        let mut notes = about.notes;
        notes.extend(investigated.into_iter().flat_map(|investigated| investigated.notes.iter().cloned()));
        Self {
            id: about.id,
            risk_level: assessment.level,
            confidence: assessment.confidence.map(six_decimal_places),
            model_confidence: synthesis.map(|synthesis| six_decimal_places(synthesis.model_confidence)),
            mode,
            findings: assessment.found.findings.iter().map(|one| FindingOut::new(assessment, one)).collect(),
            rank: finding::rank_sentence(assessment),
            worth: assessment.found.worth.map(WorthOut::from),
            earned: assessment.found.earned.iter().map(SignalOut::from).collect(),
            key_evidence: key_evidence(change, assessment, synthesis),
            recommendations: recommendations(change, assessment, synthesis),
            reasoning: report_reasoning(assessment.level, &reasons_of(change, assessment), synthesis),
            reasons: reasons_of(change, assessment),
            change: ChangeOut::new(change, about.chosen),
            score: ScoreOut::new(&assessment.score, about.false_positives.get(&Meter::Score).copied()),
            metrics: assessment.metrics.iter().map(|one| MetricOut::new(one, &about.false_positives)).collect(),
            files,
            missing_partners: assessment.partners.iter().map(partner).collect(),
            missing_partners_total: u64::from(assessment.more_partners) + assessment.partners.len() as u64,
            unknown: unknown_outputs(assessment),
            gaps: report_gaps(change, assessment),
            investigation_trace: hops,
            notes,
            history: about.history,
            prompts: about.prompts,
            learned: about.learned,
            spent: about.spent,
        }
    }
}

/// Without a summary, the mode says whether a model was asked for one.
fn mode(assessment: &Assessment, synthesis: Option<&Synthesis>, model: Option<&str>) -> AssessmentMode {
    match (synthesis, model, assessment.investigate) {
        (Some(_), _, _) => AssessmentMode::Investigated,
        (None, Some(_), Investigate::Yes) => AssessmentMode::Degraded,
        (None, ..) => AssessmentMode::Rules,
    }
}

fn hop_outputs(assessment: &Assessment, hops: &[Hop]) -> Vec<HopOut> {
    let path = |hop: &Hop| assessment.files.iter().find(|file| Some(file.index) == hop.file).map(|f| f.path.clone());
    hops.iter().map(|hop| HopOut { hop: hop.clone(), path: path(hop) }).collect()
}

fn key_evidence(change: &Change, assessment: &Assessment, synthesis: Option<&Synthesis>) -> Vec<ReportSentence> {
    match synthesis {
        Some(synthesis) if !synthesis.key_evidence.is_empty() => {
            synthesis.key_evidence.iter().take(5).map(ReportSentence::foreign).collect()
        }
        _ => weigh::change_evidence(change, assessment),
    }
}

/// A model's recommendations, if it made any, otherwise the rules'. Nothing at LOW.
fn recommendations(change: &Change, assessment: &Assessment, synthesis: Option<&Synthesis>) -> Vec<ReportSentence> {
    match synthesis {
        _ if assessment.level == Level::Low => Vec::new(),
        Some(synthesis) if !synthesis.recommendations.is_empty() => {
            synthesis.recommendations.iter().take(recommend::MOST).map(ReportSentence::foreign).collect()
        }
        _ => recommend::recommend(change, assessment, None),
    }
}

fn report_reasoning(level: Level, reasons: &[ReportSentence], synthesis: Option<&Synthesis>) -> ReportSentence {
    if let Some(synthesis) = synthesis {
        return ReportSentence::foreign(&synthesis.reasoning);
    }
    let Some((first, rest)) = reasons.split_first() else {
        return ReportSentence::ours(format!("{}, because no signal contradicts it", level.as_str()));
    };
    let start = ReportSentence::ours(format!("{}: ", level.as_str())).join(first.clone());
    rest.iter().fold(start, |words, reason| words.and("; ").join(reason.clone()))
}

/// Why a change has its level.
fn reasons_of(change: &Change, assessment: &Assessment) -> Vec<ReportSentence> {
    if change.files.is_empty() {
        return vec![ReportSentence::ours("there are no changes to assess")];
    }
    report_reasons(assessment, &assessment.reasons)
}

/// Reasons in our words, with the path that they speak of. Of the worst file its own first reason is told, and
/// that is not told again.
fn report_reasons(assessment: &Assessment, reasons: &[LevelReason]) -> Vec<ReportSentence> {
    let own =
        |index: u32| assessment.files.iter().find(|file| file.index == index).and_then(|file| file.reasons.first());
    let told = reasons.iter().find_map(|reason| match reason {
        LevelReason::WorstFile { file } => own(*file),
        _ => None,
    });
    let words = |reason: &LevelReason| match reason {
        LevelReason::WorstFile { file } => {
            let words = own(*file).unwrap_or(reason).in_words();
            ReportSentence::default().path(changed_path(assessment, *file)).and(": ").and(words)
        }
        LevelReason::Sensitive { file } | LevelReason::BreaksImporters { file } | LevelReason::OtherSource { file } => {
            ReportSentence::ours(reason.in_words()).and(": ").path(changed_path(assessment, *file))
        }
        _ => ReportSentence::ours(reason.in_words()),
    };
    reasons.iter().filter(|reason| Some(*reason) != told).map(words).collect()
}

/// The path of the file at a place of the change.
fn changed_path(assessment: &Assessment, index: u32) -> String {
    assessment.files.iter().find(|file| file.index == index).map(|file| file.path.clone()).unwrap_or_default()
}

/// Whether a metric decides something and could not be measured.
fn is_unknown_metric(metric: &Metric) -> bool {
    metric.signal == Signal::Unknown && metric.name.tier().is_some()
}

fn unknown_outputs(assessment: &Assessment) -> Vec<UnknownOut> {
    let of = |path: Option<&str>, metric: &Metric| UnknownOut {
        metric: metric.name,
        path: path.map(str::to_owned),
        why: ReportSentence::from(&metric.evidence),
    };
    let own = assessment.metrics.iter().filter(|metric| metric.value.is_none()).map(|metric| of(None, metric));
    let files = assessment.files.iter().flat_map(|file| {
        file.metrics.iter().filter(|metric| is_unknown_metric(metric)).map(|metric| of(Some(&file.path), metric))
    });
    own.chain(files).collect()
}

/// The unknown facts of the change and the assessment, once each.
fn report_gaps(change: &Change, assessment: &Assessment) -> Vec<String> {
    let mut gaps = assessment.gaps.clone();
    gaps.extend(change.gaps.iter().filter(|gap| !assessment.gaps.contains(gap)).cloned());
    gaps
}

/// Six decimals: more would be noise of the last bits.
fn six_decimal_places(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests;
