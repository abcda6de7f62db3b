//! Scans what was read of a file, field by field.

use proem_guard::{Bar, Cut, Finding, Guard, LanguageFamily, Scan, UnreadReason, Untrusted, Verdict, cut_attacks};
use proem_runtime::readers::{Document, DocumentField, DocumentGap, DocumentKind, DocumentPosition};
use proem_text::{Source, Span};

use super::place::{self, Excerpt};
use crate::guarding::GuardSetup;

/// Whether attacks are to be cut out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutChoice {
    /// They are.
    Wanted,
    /// They are only told.
    NotWanted,
}

/// A file that was scanned.
#[derive(Debug)]
pub struct FileScan {
    /// Its name as it was given.
    pub path: String,
    /// What it was read as.
    pub kind: DocumentKind,
    /// The worst of its fields; at least a flag if something was not looked at.
    pub verdict: Verdict,
    /// The highest of its fields.
    pub score: f64,
    /// How many fields were looked at.
    pub field_count: usize,
    /// How many of them stay out of a prompt.
    pub filtered_count: usize,
    /// Those with something to say about; all of them where attacks are cut out.
    pub fields: Vec<ExaminedField>,
    /// What was not read, or not as it stands.
    pub gaps: Vec<DocumentGap>,
}

/// A field that was scanned.
#[derive(Debug)]
pub struct ExaminedField {
    /// What it is, in our words; empty for a file that is one text.
    pub name: String,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Suspicion, 0 to 1.
    pub score: f64,
    /// What was found, by place.
    pub findings: Vec<PlacedFinding>,
    /// What of it was not looked at, and why.
    pub unread: Vec<(Spot, UnreadReason)>,
    /// What is left of it, where attacks are cut out.
    pub cut: Option<Cut>,
}

/// A finding with its place.
#[derive(Debug)]
pub struct PlacedFinding {
    /// What was found.
    pub finding: Finding,
    /// Where it stands in the text.
    pub spot: Spot,
    /// All of its text.
    pub text: Untrusted<String>,
    /// What is shown of it.
    pub excerpt: Excerpt,
}

/// A place that a person can go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// In bytes of the field.
    pub span: Span,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What the line is counted in.
    pub within: LineScope,
}

/// What a line is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineScope {
    /// The file.
    File,
    /// The field, which stands in the file in another form.
    Field,
}

/// Scans all fields of a file.
#[must_use]
pub fn scan_document(
    guarding: &GuardSetup,
    path: String,
    document: Document,
    source: Option<&Source>,
    cutting: CutChoice,
) -> FileScan {
    let source = source.map_or_else(|| document.kind.source(), Source::as_str);
    let mut file = FileScan {
        path,
        kind: document.kind,
        verdict: if document.gaps.is_empty() { Verdict::Allow } else { Verdict::Flag },
        score: 0.0,
        field_count: document.fields.len(),
        filtered_count: 0,
        fields: Vec::new(),
        gaps: document.gaps,
    };
    for field in document.fields {
        let bar = guarding.policy.bar(source, &field.name);
        let scan = scan_syntax(&guarding.guard, document.syntax, &field.text);
        let field = examine_field(&guarding.guard, field, scan, bar, cutting);
        file.verdict = file.verdict.max(field.verdict);
        file.score = file.score.max(field.score);
        file.filtered_count = file.filtered_count.saturating_add(usize::from(field.verdict >= Verdict::Quarantine));
        if !field.findings.is_empty() || field.verdict > Verdict::Allow || cutting == CutChoice::Wanted {
            file.fields.push(field);
        }
    }
    file
}

/// Looks for attacks in a text of a file that marks in this way what people write in it.
pub(crate) fn scan_syntax(guard: &Guard, syntax: Option<LanguageFamily>, text: &Untrusted<String>) -> Scan {
    syntax.map_or_else(|| guard.scan(text), |syntax| guard.scan_source(text, syntax))
}

fn examine_field(guard: &Guard, field: DocumentField, scan: Scan, bar: Bar, cutting: CutChoice) -> ExaminedField {
    let verdict = bar.judge(&scan);
    let score = scan.score;
    let cut = (cutting == CutChoice::Wanted).then(|| cut_attacks(guard, bar, &field.text, &scan));
    let (findings, unread) = place_findings(&field.text, field.place, scan);
    ExaminedField { name: field.name, verdict, score, findings, unread, cut }
}

/// Findings and what was not looked at, with their places.
pub(crate) fn place_findings(
    text: &Untrusted<String>,
    at: Option<DocumentPosition>,
    scan: Scan,
) -> (Vec<PlacedFinding>, Vec<(Spot, UnreadReason)>) {
    let spans: Vec<Span> = scan.findings.iter().map(|finding| finding.span).collect();
    let located = place::locate_spans(text, &spans);
    let excerpts = place::excerpts(text, &located);
    let texts = place::copy_spans(text, &spans);
    // Each of the three has one for each span, in its order.
    let findings = scan.findings.into_iter().zip(located).zip(excerpts).zip(texts);
    let findings = findings
        .map(|(((finding, located), excerpt), text)| {
            let spot = spot(finding.span, (located.line, located.column), at);
            PlacedFinding { finding, spot, text, excerpt }
        })
        .collect();
    let spans: Vec<Span> = scan.unread.iter().map(|unread| unread.span).collect();
    let unread = scan.unread.iter().zip(place::locate_spans(text, &spans));
    let unread = unread
        .map(|(unread, located)| (spot(unread.span, (located.line, located.column), at), unread.reason))
        .collect();
    (findings, unread)
}

/// Where a place of a field is in the file, if the field stands in it as it is.
fn spot(span: Span, (line, column): (usize, usize), at: Option<DocumentPosition>) -> Spot {
    let Some(start) = at else { return Spot { span, line, column, within: LineScope::Field } };
    let column = if line == 1 { start.column.saturating_add(column).saturating_sub(1) } else { column };
    Spot { span, line: start.line.saturating_add(line).saturating_sub(1), column, within: LineScope::File }
}
