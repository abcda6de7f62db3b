//! A file of the change, as a report has it.

use proem_risk::assess::{Assessment, FileAssessment};
use proem_risk::change::FileStatus;
use proem_risk::level::Level;
use proem_risk::metric::Signal;
use proem_risk::path::{FileRole, Sensitive};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    AssessmentMode, HopOut, MetricOut, ReportBasis, ReportSentence, recommend, report_reasoning, report_reasons,
    schema, six_decimal_places, weigh,
};

/// A file of the change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FileOut {
    /// Its path.
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed` or `type-changed`.
    pub status: String,
    /// Its language. Null if the name doesn't tell.
    pub language: Option<String>,
    /// Its purpose: `code`, `test`, `documentation` …
    pub role: String,
    /// `security` or `production` for a sensitive file.
    pub sensitive: Option<String>,
    /// The framework that couples it by design.
    pub framework: Option<String>,
    /// Its lines after the change.
    pub lines: Option<u32>,
    /// How risky it is.
    #[schemars(schema_with = "schema::level_schema")]
    pub risk_level: Level,
    /// The share of its Tier metrics that could be measured, at most the change's confidence.
    #[schemars(schema_with = "schema::share_schema")]
    pub confidence: Option<f64>,
    /// How the assessment came about.
    pub mode: AssessmentMode,
    /// The most important pieces of evidence, at most three.
    pub key_evidence: Vec<ReportSentence>,
    /// Recommendations, at most three. None at `LOW`.
    pub recommendations: Vec<ReportSentence>,
    /// How the evidence makes the level.
    pub reasoning: ReportSentence,
    /// The hops of the investigation that looked at it.
    pub investigation_trace: Vec<HopOut>,
    /// Why the level is what it is.
    pub reasons: Vec<ReportSentence>,
    /// Its metrics.
    pub metrics: Vec<MetricOut>,
}

impl FileOut {
    pub(super) fn new(basis: ReportBasis<'_>, file: &FileAssessment) -> Self {
        let ReportBasis { change, assessment, mode, hops, false_positives } = basis;
        let reasons = report_reasons(assessment, &file.reasons);
        let sensitive = file.class.sensitive.map(|sensitive| match sensitive {
            Sensitive::Security => "security".to_owned(),
            Sensitive::Production => "production".to_owned(),
        });
        let recommendations = match file.level {
            Level::Low | Level::Unknown => Vec::new(),
            Level::Medium | Level::High => recommend::recommend(change, assessment, Some(file.index)),
        };
        Self {
            path: file.path.clone(),
            status: status_key(file.status).to_owned(),
            language: file.class.language.as_ref().map(|language| language.0.clone()),
            role: role_key(file.class.role).to_owned(),
            sensitive,
            framework: file.class.framework.as_ref().map(|framework| framework.0.clone()),
            lines: file.lines,
            risk_level: file.level,
            confidence: file_confidence(assessment, file),
            mode,
            key_evidence: weigh::file_key_evidence(file),
            recommendations,
            reasoning: report_reasoning(file.level, &reasons, None),
            investigation_trace: hops.iter().filter(|hop| hop.hop.file == Some(file.index)).cloned().collect(),
            reasons,
            metrics: file.metrics.iter().map(|one| MetricOut::new(one, false_positives)).collect(),
        }
    }
}

/// The share of a file's Tier metrics that could be measured, at most the change's confidence.
fn file_confidence(assessment: &Assessment, file: &FileAssessment) -> Option<f64> {
    let tier = file.metrics.iter().filter(|metric| metric.name.tier().is_some());
    let (known, all) = tier.fold((0_u32, 0_u32), |(known, all), metric| {
        (known.saturating_add(u32::from(metric.signal != Signal::Unknown)), all.saturating_add(1))
    });
    if all == 0 {
        return None;
    }
    assessment.confidence.map(|confidence| six_decimal_places(confidence.min(f64::from(known) / f64::from(all))))
}

const fn status_key(status: FileStatus) -> &'static str {
    match status {
        FileStatus::Added => "added",
        FileStatus::Modified => "modified",
        FileStatus::Deleted => "deleted",
        FileStatus::Renamed => "renamed",
        FileStatus::TypeChanged => "type-changed",
    }
}

const fn role_key(role: FileRole) -> &'static str {
    match role {
        FileRole::Code => "code",
        FileRole::Test => "test",
        FileRole::Documentation => "documentation",
        FileRole::Configuration => "configuration",
        FileRole::Generated => "generated",
        FileRole::Vendored => "vendored",
        FileRole::Lock => "lock",
        FileRole::Asset => "asset",
    }
}
