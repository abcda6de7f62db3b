//! A scan as JSON.

mod reasons;

use proem_guard::show;
use proem_guard::{Cut, ReadingStep, Verdict};
use proem_text::{Span, json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use self::reasons::ReasonsOut;
use super::examine::{ExaminedField, FileScan, LineScope, PlacedFinding, Spot};
use super::folder::SkipReason;
use crate::error::Error;

/// The answer of `proem scan --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Output")]
pub struct ScanOutput {
    /// The worst of all files: `allow`, `flag`, `quarantine` or `block`. A file that could not be
    /// read counts as `flag`.
    verdict: &'static str,
    /// Each file that was read, in the order given.
    files: Vec<ScanFileOut>,
    /// Each file that could not be read.
    unreadable: Vec<UnreadableOut>,
}

/// One file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FileOut")]
pub struct ScanFileOut {
    /// Its name as it was given. `-` is standard input.
    path: String,
    /// The kind it was read as: `text`, `markdown`, `html`, `mail`, `json` or `source`.
    kind: &'static str,
    /// The worst of its fields. At least `flag` if something was not looked at.
    verdict: &'static str,
    /// The highest of its fields: 0 to 1, 0.5 is where one harmless text in a hundred is above.
    score: f64,
    /// How many fields stay out of a prompt: those with `quarantine` or `block`.
    filtered_count: usize,
    /// How many fields were looked at.
    field_count: usize,
    /// The fields with something to say about. All of them with `--cut`.
    fields: Vec<FieldOut>,
    /// The parts that were not read, or not literally.
    gaps: Vec<ScanGapOut>,
}

/// One text of a file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FieldOut {
    /// Its name: `subject`, `body[0]`, a JSON pointer. Empty if the file is one text.
    name: String,
    verdict: &'static str,
    /// Suspicion, 0 to 1.
    score: f64,
    /// The findings, by place.
    findings: Vec<FindingOut>,
    /// The parts of it that were not looked at.
    unread: Vec<UnreadOut>,
    /// With `--cut`: what is left of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<CutOut>,
}

/// One thing that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingOut {
    /// Its kind: `override`, `exfiltration`, `learned` …
    kind: &'static str,
    /// The rule that found it.
    rule: &'static str,
    /// The id that `--accept` takes.
    id: String,
    /// The place in the field.
    #[serde(flatten)]
    place: PlaceOut,
    /// How it was made readable, outermost step first. Empty for what a model reads.
    view: Vec<&'static str>,
    /// Whether it was hidden on purpose.
    hidden: bool,
    /// `low`, `medium`, `high` or `critical`.
    severity: &'static str,
    /// How sure the rule is, 0 to 1.
    score: f64,
    /// The text there, exactly.
    #[schemars(with = "String")]
    text: Json,
    /// With `--agent-files`: what would happen if an agent took the file as it is, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    consequence: Option<String>,
    /// With `--explain`: why it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<ReasonsOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlaceOut {
    /// Bytes of the field's text in UTF-8.
    span: SpanOut,
    /// The line, from 1.
    line: usize,
    /// The column in characters, from 1.
    column: usize,
    /// The scope of line and column: `file`, or `field` if the file contains the field in another form.
    within: &'static str,
}

/// A half-open range of byte offsets.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SpanOut {
    /// The first byte.
    start: usize,
    /// The byte after the last.
    end: usize,
}

/// A part of a field that was not looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadOut {
    #[serde(flatten)]
    place: PlaceOut,
    /// Why.
    reason: String,
}

/// A field without its attacks.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CutOut {
    /// The readable text, with `[removed]` for each cut. Null if all of it stays out.
    #[schemars(with = "Option<String>")]
    text: Json,
    /// The verdict on the rest.
    verdict: &'static str,
    /// How much is left, 0 to 1.
    content_preserved_ratio: f64,
}

/// Something that was not read, or not as it is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GapOut")]
struct ScanGapOut {
    /// `too-long`, `too-many`, `too-deep`, `not-text`, `unknown`, `replaced` or `malformed`.
    reason: &'static str,
    /// The field. Empty for the whole file.
    field: String,
    /// The detail.
    about: String,
}

/// A file that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadableOut {
    /// Its name as it was given.
    path: String,
    why: String,
}

impl ScanOutput {
    /// The answer about these files, and about those that could not be read, with the reason.
    #[must_use]
    pub fn new(files: &[FileScan], unreadable: &[(String, String)]) -> Self {
        let least = if unreadable.is_empty() { Verdict::Allow } else { Verdict::Flag };
        let worst = files.iter().map(|file| file.verdict).fold(least, Verdict::max);
        let unreadable = unreadable.iter().map(|(path, why)| UnreadableOut { path: path.clone(), why: why.clone() });
        Self {
            verdict: worst.as_str(),
            files: files.iter().map(ScanFileOut::new).collect(),
            unreadable: unreadable.collect(),
        }
    }

    /// As JSON.
    ///
    /// # Errors
    ///
    /// Never, but for a bug.
    pub fn to_json(&self) -> Result<Json, Error> {
        serde_json::to_value(self).map_err(|error| Error::bug("the scan as JSON", error))
    }
}

/// The result for one path of a folder: a file, one that could not be read, or one that was left out.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum LineOut {
    /// It was looked at.
    File(Box<ScanFileOut>),
    /// It could not be read.
    Unreadable(UnreadableOut),
    /// It was not looked at.
    #[serde(rename_all = "camelCase")]
    LeftOut {
        /// Its name.
        path: String,
        /// Why, in a word.
        left_out: &'static str,
    },
}

impl LineOut {
    /// A file that was looked at.
    #[must_use]
    pub fn file(file: &FileScan) -> Self {
        Self::File(Box::new(ScanFileOut::new(file)))
    }

    /// A file that could not be read.
    #[must_use]
    pub fn unreadable(path: &str, why: &str) -> Self {
        Self::Unreadable(UnreadableOut { path: path.to_owned(), why: why.to_owned() })
    }

    /// A path that was not looked at.
    #[must_use]
    pub fn left_out(path: &str, why: SkipReason) -> Self {
        Self::LeftOut { path: path.to_owned(), left_out: why.as_str() }
    }

    /// As a line.
    ///
    /// # Errors
    ///
    /// Never, but for a bug.
    pub fn line(&self) -> Result<String, Error> {
        let value = serde_json::to_value(self).map_err(|error| Error::bug("the scan as JSON", error))?;
        Ok(json::compact(&value))
    }
}

impl ScanFileOut {
    fn new(file: &FileScan) -> Self {
        let gap = |gap: &proem_runtime::readers::DocumentGap| ScanGapOut {
            reason: gap.reason.as_str(),
            field: gap.field.clone(),
            about: gap.about.clone(),
        };
        Self {
            path: file.path.clone(),
            kind: file.kind.as_str(),
            verdict: file.verdict.as_str(),
            score: round_to_six(file.score),
            filtered_count: file.filtered_count,
            field_count: file.field_count,
            fields: file.fields.iter().map(FieldOut::new).collect(),
            gaps: file.gaps.iter().map(gap).collect(),
        }
    }
}

impl FieldOut {
    fn new(field: &ExaminedField) -> Self {
        Self {
            name: field.name.clone(),
            verdict: field.verdict.as_str(),
            score: round_to_six(field.score),
            findings: field.findings.iter().map(FindingOut::new).collect(),
            unread: field.unread.iter().map(|(spot, reason)| UnreadOut::new(spot, reason.to_string())).collect(),
            cut: field.text_without_attacks().map(CutOut::new),
        }
    }
}

impl FindingOut {
    pub(crate) fn new(found: &PlacedFinding) -> Self {
        let finding = &found.finding;
        Self {
            kind: finding.kind.as_str(),
            rule: finding.rule,
            id: found.id.clone(),
            place: PlaceOut::new(&found.spot),
            view: finding.steps.iter().copied().map(ReadingStep::as_str).collect(),
            hidden: finding.hidden,
            severity: finding.severity.as_str(),
            score: round_to_six(f64::from(finding.score)),
            text: show::exact_json(&found.text),
            consequence: found.account.consequence.clone(),
            reasons: found.account.reasons.as_ref().map(ReasonsOut::new),
        }
    }
}

impl UnreadOut {
    pub(crate) const fn new(spot: &Spot, reason: String) -> Self {
        Self { place: PlaceOut::new(spot), reason }
    }
}

impl SpanOut {
    pub(super) const fn new(span: Span) -> Self {
        Self { start: span.start, end: span.end }
    }
}

impl PlaceOut {
    const fn new(spot: &Spot) -> Self {
        let span = SpanOut::new(spot.span);
        let within = match spot.within {
            LineScope::File => "file",
            LineScope::Field => "field",
        };
        Self { span, line: spot.line, column: spot.column, within }
    }
}

impl CutOut {
    fn new(cut: &Cut) -> Self {
        Self {
            text: cut.text.as_ref().map_or(Json::Null, show::exact_json),
            verdict: cut.verdict.as_str(),
            content_preserved_ratio: round_to_six(cut.content_preserved_ratio),
        }
    }
}

/// Six decimals: more would be noise of the last bits.
pub(crate) fn round_to_six(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}
