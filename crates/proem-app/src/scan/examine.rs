//! Scans what was read of a file, field by field.

use proem_guard::{Bar, Cut, Finding, Guard, LanguageFamily, Scan, UnreadReason, Untrusted, Verdict, cut_attacks};
use proem_runtime::readers::{Document, DocumentField, DocumentGap, DocumentKind, DocumentPosition};
use proem_text::{Source, Span};

use super::place::{self, Excerpt};
use super::reasons::PlacedReasons;
use crate::guarding::GuardSetup;

/// The hexadecimal digits of a finding's id: 48 bits, so that two of a million are the same once in 500 projects.
const ID_DIGITS: usize = 12;

/// The end of a consequence that somebody accepted in another form.
const CHANGED: &str = " It has changed since somebody accepted it.";

/// The detail that a scan tells of each field, beside its findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScanDepth {
    /// Nothing more.
    #[default]
    FindingsOnly,
    /// The text without its attacks.
    Cut,
    /// Why each finding was made, and the text that it is in.
    Reasons,
}

/// The detail of a field.
#[derive(Debug)]
pub enum FieldContents {
    /// None.
    FindingsOnly,
    /// The rest of it, if attacks are cut out.
    Cut(Cut),
    /// The whole text. The reasons are in its findings.
    Reasons(Untrusted<String>),
}

/// A file that was scanned.
#[derive(Debug)]
pub struct FileScan {
    /// Its name as it was given.
    pub path: String,
    /// The kind it was read as.
    pub kind: DocumentKind,
    /// The worst of its fields. At least a flag if something was not looked at.
    pub verdict: Verdict,
    /// The highest of its fields.
    pub score: f64,
    /// How many fields were looked at.
    pub field_count: usize,
    /// How many of them stay out of a prompt.
    pub filtered_count: usize,
    /// Those with something to say about. All of them where attacks are cut out.
    pub fields: Vec<ExaminedField>,
    /// The parts that were not read, or not literally.
    pub gaps: Vec<DocumentGap>,
}

/// A field that was scanned.
#[derive(Debug)]
pub struct ExaminedField {
    /// Its name, in our words. Empty for a file that is one text.
    pub name: String,
    /// The strictest answer of the guard about the field.
    pub verdict: Verdict,
    /// Suspicion, 0 to 1.
    pub score: f64,
    /// The findings, by place.
    pub findings: Vec<PlacedFinding>,
    /// The parts of it that were not looked at, and the reasons.
    pub unread: Vec<(Spot, UnreadReason)>,
    /// The verdict that the unread parts give.
    pub unread_verdict: Verdict,
    /// The detail that was asked for.
    pub detail: FieldContents,
}

/// A finding with its place.
#[derive(Debug)]
pub struct PlacedFinding {
    /// The attack or credential, with its span in the text.
    pub finding: Finding,
    /// Its place in the text.
    pub spot: Spot,
    /// The whole text that it was found in.
    pub text: Untrusted<String>,
    /// The excerpt to show.
    pub excerpt: Excerpt,
    /// The id that an acceptance names: a hash of the rule, its severity and the text around, so that it moves with
    /// the text.
    pub id: String,
    /// The verdict that it gives alone.
    pub verdict: Verdict,
    /// Its meaning, as far as somebody asked.
    pub account: FindingAccount,
}

/// The meaning of a finding, as far as somebody asked.
#[derive(Debug, Default)]
pub struct FindingAccount {
    /// The effect if an agent took the file as it is, and when it happens, in our words.
    pub consequence: Option<String>,
    /// Why it was made.
    pub reasons: Option<PlacedReasons>,
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
    /// The scope of the line number.
    pub within: LineScope,
}

/// The scope of a line number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineScope {
    /// Lines are counted from the file's beginning.
    File,
    /// The field, which is in the file in another form.
    Field,
}

/// Scans all fields of a file.
#[must_use]
pub fn scan_document(
    guarding: &GuardSetup,
    path: String,
    document: Document,
    source: Option<&Source>,
    detail: ScanDepth,
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
        let field = examine_field(&guarding.guard, field, scan, bar, detail);
        file.verdict = file.verdict.max(field.verdict);
        file.score = file.score.max(field.score);
        file.filtered_count = file.filtered_count.saturating_add(usize::from(field.verdict >= Verdict::Quarantine));
        if !field.findings.is_empty() || field.verdict > Verdict::Allow || detail == ScanDepth::Cut {
            file.fields.push(field);
        }
    }
    file
}

/// Looks for attacks in a text of a file that marks in this way what people write in it.
pub(crate) fn scan_syntax(guard: &Guard, syntax: Option<LanguageFamily>, text: &Untrusted<String>) -> Scan {
    syntax.map_or_else(|| guard.scan(text), |syntax| guard.scan_source(text, syntax))
}

fn examine_field(guard: &Guard, field: DocumentField, scan: Scan, bar: Bar, detail: ScanDepth) -> ExaminedField {
    let verdict = bar.judge(&scan);
    let score = scan.score;
    let mut kept = match detail {
        ScanDepth::Cut => FieldContents::Cut(cut_attacks(guard, bar, &field.text, &scan)),
        ScanDepth::FindingsOnly | ScanDepth::Reasons => FieldContents::FindingsOnly,
    };
    let unread_verdict = scan.unread.iter().map(|unread| unread.verdict()).max().unwrap_or(Verdict::Allow);
    let (mut findings, unread) = place_findings(&field.text, field.place, scan, bar);
    if detail == ScanDepth::Reasons && !findings.is_empty() {
        for found in &mut findings {
            found.account.reasons = Some(PlacedReasons::of_finding(guard, &field.text, &found.finding));
        }
        kept = FieldContents::Reasons(field.text);
    }
    ExaminedField { name: field.name, verdict, score, findings, unread, unread_verdict, detail: kept }
}

impl FileScan {
    /// Leaves out the findings that `is_kept` refuses, and the verdicts that rest on them alone.
    ///
    /// A part that was not looked at keeps its verdict.
    pub fn retain_findings(&mut self, mut is_kept: impl FnMut(&PlacedFinding) -> bool) {
        for field in &mut self.fields {
            let count = field.findings.len();
            field.findings.retain(&mut is_kept);
            if field.findings.len() < count {
                let found = field.findings.iter().map(|found| found.verdict).max().unwrap_or(Verdict::Allow);
                field.verdict = found.max(field.unread_verdict);
            }
        }
        self.fields.retain(|field| !field.findings.is_empty() || field.verdict > Verdict::Allow);
        let least = if self.gaps.is_empty() { Verdict::Allow } else { Verdict::Flag };
        self.verdict = self.fields.iter().map(|field| field.verdict).fold(least, Verdict::max);
        self.filtered_count = self.fields.iter().filter(|field| field.verdict >= Verdict::Quarantine).count();
    }

    /// Marks the finding about an agent's file that is nearest to `line` as one that has changed since somebody accepted
    /// it, which keeps the file out. One of the same rule comes first.
    pub(crate) fn mark_changed(&mut self, rule: &str, line: usize) {
        let family = rule.split('/').next().unwrap_or_default();
        let findings =
            self.fields.iter().enumerate().flat_map(|(number, field)| {
                field.findings.iter().enumerate().map(move |(at, found)| (number, at, found))
            });
        let of_family = findings.filter(|(.., found)| {
            let is_marked = found.account.consequence.as_ref().is_some_and(|text| text.ends_with(CHANGED));
            found.finding.rule.split('/').next() == Some(family) && !is_marked
        });
        let nearest = of_family.min_by_key(|(.., found)| (found.finding.rule != rule, found.spot.line.abs_diff(line)));
        let Some((number, at, _)) = nearest else { return };
        let Some(field) = self.fields.get_mut(number) else { return };
        if let Some(found) = field.findings.get_mut(at) {
            found.verdict = found.verdict.max(Verdict::Quarantine);
            let consequence = found.account.consequence.get_or_insert_default();
            consequence.push_str(CHANGED);
        }
        field.verdict = field.verdict.max(Verdict::Quarantine);
        self.verdict = self.verdict.max(field.verdict);
        self.filtered_count = self.fields.iter().filter(|field| field.verdict >= Verdict::Quarantine).count();
    }

    /// All findings, field by field.
    pub fn findings(&self) -> impl Iterator<Item = &PlacedFinding> {
        self.fields.iter().flat_map(|field| &field.findings)
    }
}

impl ExaminedField {
    /// The rest of it, if attacks were cut out.
    #[must_use]
    pub const fn text_without_attacks(&self) -> Option<&Cut> {
        if let FieldContents::Cut(cut) = &self.detail { Some(cut) } else { None }
    }
}

impl PlacedFinding {
    /// The last line of the finding, counted like the first.
    #[must_use]
    pub fn last_line(&self) -> usize {
        let breaks = self.text.measure(|text| text.trim_end().bytes().filter(|byte| *byte == b'\n').count());
        self.spot.line.saturating_add(breaks)
    }
}

/// Findings and what was not looked at, with their places.
pub(crate) fn place_findings(
    text: &Untrusted<String>,
    at: Option<DocumentPosition>,
    scan: Scan,
    bar: Bar,
) -> (Vec<PlacedFinding>, Vec<(Spot, UnreadReason)>) {
    let findings = place_finding_list(text, at, scan.findings, bar);
    let spans: Vec<Span> = scan.unread.iter().map(|unread| unread.span).collect();
    let unread = scan.unread.iter().zip(place::locate_spans(text, &spans));
    let unread = unread
        .map(|(unread, located)| (spot(unread.span, (located.line, located.column), at), unread.reason))
        .collect();
    (findings, unread)
}

/// Findings with their places. One for each, in their order.
pub(crate) fn place_finding_list(
    text: &Untrusted<String>,
    at: Option<DocumentPosition>,
    findings: Vec<Finding>,
    bar: Bar,
) -> Vec<PlacedFinding> {
    let spans: Vec<Span> = findings.iter().map(|finding| finding.span).collect();
    let located = place::locate_spans(text, &spans);
    let excerpts = place::excerpts(text, &located);
    let texts = place::copy_spans(text, &spans);
    let ids: Vec<String> = findings.iter().map(|finding| finding_id(finding, text)).collect();
    // Each of the four has one for each span, in its order.
    let findings = findings.into_iter().zip(located).zip(excerpts).zip(texts).zip(ids);
    findings
        .map(|((((finding, located), excerpt), text), id)| {
            let spot = spot(finding.span, (located.line, located.column), at);
            let verdict = bar.of(&finding);
            PlacedFinding { finding, spot, text, excerpt, id, verdict, account: FindingAccount::default() }
        })
        .collect()
}

/// The id of a finding: the same for the same rule about the same words in the same line, wherever the line is.
///
/// Blanks don't count. A finding that is worse or hidden has another id, so that nobody accepted it.
fn finding_id(finding: &Finding, text: &Untrusted<String>) -> String {
    let hidden = if finding.hidden { "hidden" } else { "" };
    let head = format!("{}\0{}\0{hidden}\0", finding.rule, finding.severity.as_str());
    let mut id = place::line_hash(&head, text, finding.span);
    id.truncate(ID_DIGITS);
    id
}

/// A field's place in the file, if the file contains the field literally.
fn spot(span: Span, (line, column): (usize, usize), at: Option<DocumentPosition>) -> Spot {
    let Some(start) = at else { return Spot { span, line, column, within: LineScope::Field } };
    let column = if line == 1 { start.column.saturating_add(column).saturating_sub(1) } else { column };
    Spot { span, line: start.line.saturating_add(line).saturating_sub(1), column, within: LineScope::File }
}
