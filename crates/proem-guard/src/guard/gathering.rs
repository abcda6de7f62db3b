//! The findings so far, mapped to the original.

use crate::{
    finding::{Finding, FindingKind, Severity},
    scan::{Hit, MAX_FINDINGS, Scan, UnreadReason, UnreadSpan},
    scanners::payload,
    score::{Growth, ScoreEvidence, TextScorer},
    source::LanguageFamily,
    view::{Reading, ReadingStep, Readings},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::{cmp::Reverse, mem};
use proem_text::{OffsetMap, Span};

/// How many windows with the highest learned scores are remembered.
const TOP_WINDOWS: usize = 8;

/// Hidden characters with fewer bytes between them are one finding.
const NEAR: usize = 64;

/// The log-odds from which a window says that the learned scorer hears an attack too: what one harmless text
/// in a hundred has, about (`window` in `data/score.json`).
const WITNESS: f32 = 1.0;

/// The score of a rule that needs no witness: nobody who writes of something else says that. A sentence
/// full of other words would drown the learned scorer.
const SURE: f32 = 0.9;

/// A window with a high score.
#[derive(Debug, Clone)]
struct ScoredWindow {
    span: Span,
    score: f32,
    steps: Vec<ReadingStep>,
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    findings: Vec<Finding>,
    /// Those of the block at hand.
    block: Vec<Finding>,
    unread: BTreeSet<UnreadSpan>,
    /// The beginning of the current block in the text.
    offset: usize,
    /// The way from the text that is read to the original, if it is a part of that.
    part: Option<OffsetMap>,
    /// Hidden characters of the block at hand, in bytes of the original, in order.
    removed: Vec<Span>,
    windows: Vec<ScoredWindow>,
    window_count: usize,
    likeness: f32,
    /// Windows in plain sight that the learned scorer takes for an attack.
    witnesses: Vec<Span>,
    /// Whether a window only counts beside a reason that doesn't depend on the learned scorer.
    needs_reason: bool,
    /// The places of such reasons.
    reasons: BTreeSet<Span>,
    /// The places of words that address a machine that reads. They back what a page hides, and no window.
    addresses: BTreeSet<Span>,
    /// The places of what only a page hides, such as a comment, and no encoding: the mildest finding there as it would
    /// be in plain sight.
    page_hidden: BTreeMap<Span, Severity>,
}

impl Gathering {
    pub(super) fn begin_block(&mut self, offset: usize, block: &str, readings: &Readings) {
        self.offset = offset;
        self.removed = readings.clean.removed.iter().map(|(_, span)| self.moved(*span)).collect();
        let mut last: Option<Finding> = None;
        let is_whole = self.part.is_none();
        for hit in payload::hidden_character_hits(block, &readings.clean.removed).into_iter().filter(|_| is_whole) {
            let Hit { kind, rule, severity, score, .. } = hit;
            let span = self.moved(hit.span);
            match last.as_mut().filter(|last| last.rule == rule && span.start <= last.span.end.saturating_add(NEAR)) {
                Some(last) => last.span.end = span.end,
                None => {
                    let found = Finding { kind, rule, span, steps: Vec::new(), hidden: false, severity, score };
                    self.block.extend(last.replace(found));
                }
            }
        }
        self.block.extend(last);
        for span in &readings.undecoded {
            self.leave_unread(*span, UnreadReason::DecodingLimit);
        }
    }

    /// The text from here on is a part of the original, to which this map leads. Its hidden characters were found in
    /// the whole.
    pub(super) fn read(&mut self, part: OffsetMap) {
        self.part = Some(part);
        self.needs_reason = true;
    }

    /// Takes the places, in the reading's text, where words speak to a machine or of keeping a secret.
    pub(super) fn take_reasons(&mut self, reading: &Reading, places: impl Iterator<Item = Span>) {
        let places: Vec<Span> = places.map(|place| self.moved(reading.view.map.original(place))).collect();
        self.reasons.extend(places);
    }

    /// Takes the places, in the reading's text, where words address a machine that reads.
    pub(super) fn take_addresses(&mut self, reading: &Reading, places: impl Iterator<Item = Span>) {
        let places: Vec<Span> = places.map(|place| self.moved(reading.view.map.original(place))).collect();
        self.addresses.extend(places);
    }

    /// Whether a rule or a word says at this place, or right beside it, what the learned scorer says.
    fn has_reason(&self, place: Span) -> bool {
        overlaps_any(&self.reasons, place)
    }

    /// A place in the block at hand, in bytes of the original.
    fn moved(&self, span: Span) -> Span {
        let span = span.moved(self.offset);
        self.part.as_ref().map_or(span, |part| part.original(span))
    }

    pub(super) fn leave_unread(&mut self, span: Span, reason: UnreadReason) {
        self.unread.insert(UnreadSpan { span: self.moved(span), reason });
    }

    /// Takes the hits of one scanner in one reading.
    pub(super) fn take_hits(&mut self, reading: &Reading, hits: &mut Vec<Hit>) {
        for hit in hits.drain(..) {
            let span = self.moved(reading.view.map.original(hit.span));
            // Words that a hidden character cuts don't read in the original as they do here.
            let next = self.removed.partition_point(|removed| removed.start <= span.start);
            let is_cut = self.removed.get(next).is_some_and(|removed| removed.end < span.end);
            let hidden = is_cut || reading.steps.iter().any(|step| step.hides());
            let Hit { kind, rule, severity, score, .. } = hit;
            if kind == FindingKind::Similar {
                self.likeness = self.likeness.max(score);
            }
            // An order to ignore something that is only mild is a quotation. A mild start of a turn is any key before a
            // colon, such as `model: haiku` in front matter.
            let is_mild = severity < Severity::Medium;
            let is_chance = is_mild && matches!(kind, FindingKind::Override | FindingKind::RoleMarker);
            if self.needs_reason && !is_chance && is_reason(kind, rule) {
                self.reasons.insert(span);
            }
            self.block.push(Finding { kind, rule, span, steps: reading.steps.clone(), hidden, severity, score });
        }
    }

    /// Takes a window's learned score. `place` is in the reading's text.
    pub(super) fn take_window(&mut self, reading: &Reading, place: Span, score: f32) {
        self.window_count = self.window_count.saturating_add(1);
        if score >= WITNESS && reading.steps.is_empty() {
            self.witnesses.push(self.moved(reading.view.map.original(place)));
        }
        if self.needs_reason && !self.has_reason(self.moved(reading.view.map.original(place))) {
            return;
        }
        let lowest = self.windows.last().filter(|_| self.windows.len() >= TOP_WINDOWS);
        if lowest.is_none_or(|lowest| lowest.score < score) {
            let span = self.moved(reading.view.map.original(place));
            self.remember(ScoredWindow { span, score, steps: reading.steps.clone() });
        }
    }

    /// Keeps a window among the highest. One place counts once.
    fn remember(&mut self, scored: ScoredWindow) {
        if let Some(known) = self.windows.iter_mut().find(|known| known.span == scored.span) {
            if known.score < scored.score {
                *known = scored;
            }
        } else {
            self.windows.push(scored);
        }
        self.windows.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.span.cmp(&b.span)));
        self.windows.truncate(TOP_WINDOWS);
    }

    /// Puts the block's findings to the others: those that are hidden, and in plain sight those that are at
    /// least this severe. With more than the mildest, the block is code, whose names make phrases by chance.
    pub(super) fn end_block(&mut self, least: Severity) {
        let found = mem::take(&mut self.block);
        // Text in plain sight must be known here, or it would pass for hidden.
        let is_code = least > Severity::Low;
        let counts = |found: &Finding| {
            let is_chance = is_code && is_wording(found.kind) && found.score < SURE;
            found.hidden || (found.severity >= least && !is_chance)
        };
        let found = distinct_findings(found, &mut self.page_hidden).into_iter().filter(counts);
        self.findings.extend(found);
        if self.findings.len() > MAX_FINDINGS.saturating_mul(4) {
            self.keep_worst();
        }
    }

    /// Keeps the worst findings, the first of them where they are as bad.
    fn keep_worst(&mut self) {
        self.findings.sort_by_key(|finding| (Reverse(finding.severity), finding.span, finding.kind, finding.rule));
        // A finding in two overlapping blocks was found twice.
        self.findings.dedup();
        self.findings.truncate(MAX_FINDINGS);
    }

    /// Holds phrases in plain sight to what else speaks for an attack at their place.
    ///
    /// A file is long, and its words speak of other machines: prompts are shown, lists skipped, functions called. So a
    /// severe phrase keeps a file out only if the learned scorer and a rule of another family agree, and is suspicious
    /// alone. A medium phrase is suspicious only if one of the two agrees.
    pub(super) fn heed_witnesses(&mut self, syntax: LanguageFamily) {
        self.witnesses.sort();
        let is_prose = matches!(syntax, LanguageFamily::Document | LanguageFamily::Plain);
        let reasons = self.findings.iter().filter(|found| is_reason(found.kind, found.rule));
        let phrases: Vec<(Span, FindingKind, Severity)> = reasons.map(|f| (f.span, f.kind, f.severity)).collect();
        for finding in &mut self.findings {
            // Text that nobody sees without decoding it needs no second reason.
            let is_chance = is_mark(finding.kind) || finding.rule == "payload/blob";
            let is_disguised = finding.hidden && !self.page_hidden.contains_key(&finding.span) && !is_chance;
            if !needs_backing(finding) || is_disguised || finding.severity < Severity::Medium {
                continue;
            }
            // Windows overlap by one sentence, so a few before the last that begins in time reach far enough.
            let next = self.witnesses.partition_point(|window| window.start < finding.span.end);
            let near = self.witnesses.get(next.saturating_sub(8)..next).unwrap_or_default();
            let is_heard = near.iter().any(|window| window.overlaps(finding.span));
            let is_sure = finding.score >= SURE;
            let around = Span::new(finding.span.start.saturating_sub(BESIDE), finding.span.end.saturating_add(BESIDE));
            let backing = phrases.iter().filter(|(span, kind, _)| *kind != finding.kind && span.overlaps(around));
            let backing = backing.map(|(.., severity)| *severity).max();
            let is_backed = backing >= Some(Severity::Medium);
            let is_raised = self.page_hidden.get(&finding.span) == Some(&Severity::Low);
            let has_second_reason = || {
                // The scorer hears a quotation of an attack as it hears the attack, so its word counts for commands only.
                backing.is_some()
                    || (is_heard && finding.kind == FindingKind::Exfiltration)
                    || overlaps_any(&self.addresses, around)
                    || speaks_beside(&self.reasons, finding.span, around)
            };
            finding.severity = match finding.severity {
                Severity::Medium if is_raised && !has_second_reason() => Severity::Low,
                Severity::Medium if is_role(finding.rule) => Severity::Low,
                _ if is_password(finding.rule) && !is_backed && (finding.hidden || !is_prose) => Severity::Low,
                Severity::Medium if is_mark(finding.kind) && !is_backed => Severity::Low,
                Severity::Medium if is_heard || is_backed || is_sure || finding.hidden => Severity::Medium,
                Severity::Medium => Severity::Low,
                severity if is_mark(finding.kind) && is_backed => severity,
                severity if backing.is_some() && (is_heard || is_sure) => severity,
                _ if finding.rule == "payload/blob" && !is_backed => Severity::Low,
                _ => Severity::Medium,
            };
        }
    }

    pub(super) fn finish(mut self, stage: &TextScorer, growth: Growth) -> Scan {
        self.keep_worst();
        let scores: Vec<f32> = self.windows.iter().map(|window| window.score).collect();
        let evidence = ScoreEvidence {
            findings: &self.findings,
            windows: &scores,
            window_count: self.window_count,
            likeness: self.likeness,
            growth,
        };
        let features = evidence.features();
        let logit = stage.logit(&features);
        let score = stage.score(logit, self.findings.iter().map(|finding| finding.severity).max());
        if stage.flags(logit) {
            self.findings.extend(self.windows.iter().enumerate().filter_map(|(index, window)| {
                let shown = index == 0 || window.score >= stage.window();
                shown.then(|| learned_finding(window))
            }));
        }
        self.findings.sort_by_key(|finding| (finding.span, finding.kind, finding.rule));
        Scan {
            findings: self.findings,
            unread: self.unread.into_iter().collect(),
            score,
            features,
            window_count: self.window_count,
        }
    }
}

/// How far from a severe phrase another family's may be to back it, in bytes.
const BESIDE: usize = 240;

/// Whether a finding is a reason to believe the learned scorer. Orders and roles are what files for agents are made of,
/// and headings what documents are; likeness to an attack is no other method.
fn is_reason(kind: FindingKind, rule: &str) -> bool {
    let is_order = matches!(kind, FindingKind::Order | FindingKind::StandingOrder);
    let is_common = is_order || matches!(kind, FindingKind::Heading | FindingKind::Similar | FindingKind::Learned);
    !is_common && !is_role(rule) && !is_password(rule)
}

/// Whether a finding in a file counts for little alone: words have other meanings, marks of turns are keys of data, and
/// what is decoded may be a picture.
fn needs_backing(finding: &Finding) -> bool {
    is_wording(finding.kind) || is_mark(finding.kind) || finding.rule == "payload/blob"
}

/// Whether a finding is a mark of a turn or a section, as prompts and data of conversations have them.
const fn is_mark(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::RoleMarker | FindingKind::SystemLine | FindingKind::ClosingTag | FindingKind::Heading)
}

/// Whether a rule finds the words that give a role, as every prompt does.
fn is_role(rule: &str) -> bool {
    matches!(rule, "persona/now" | "persona/act_as")
}

/// Whether a rule finds a request for a password, as programs show them to people.
fn is_password(rule: &str) -> bool {
    matches!(rule, "social/secret" | "social/secret_weak")
}

/// Whether one of the reasons `around` a finding is not the finding itself: a machine is addressed, or told to keep
/// quiet.
fn speaks_beside(reasons: &BTreeSet<Span>, finding: Span, around: Span) -> bool {
    let is_itself = |place: &Span| place.start <= finding.start && finding.start < place.end;
    let end = Span::new(around.end, around.end);
    reasons.range(..end).rev().take(16).any(|place| place.overlaps(around) && !is_itself(place))
}

/// Whether a finding is about what words mean together, and not about marks that nobody writes by chance.
const fn is_wording(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::Override
            | FindingKind::Persona
            | FindingKind::Extraction
            | FindingKind::SocialEngineering
            | FindingKind::ToolRequest
            | FindingKind::Exfiltration
    )
}

fn learned_finding(window: &ScoredWindow) -> Finding {
    Finding {
        kind: FindingKind::Learned,
        rule: "learned/window",
        span: window.span,
        steps: window.steps.clone(),
        hidden: window.steps.iter().any(|step| step.hides()),
        severity: Severity::Medium,
        score: crate::score::probability_of_log_odds(window.score),
    }
}

/// The places of findings in what a page hides and in what it shows. The page's source holds the words of both, so that
/// it doesn't tell which of them a reader sees.
#[derive(Debug, Default)]
struct PagePlaces {
    hidden: BTreeMap<(FindingKind, &'static str), BTreeSet<Span>>,
    shown: BTreeMap<(FindingKind, &'static str), BTreeSet<Span>>,
}

impl PagePlaces {
    fn of(found: &[Finding]) -> Self {
        let mut places = Self::default();
        for finding in found {
            let key = (finding.kind, finding.rule);
            let hides = |step: &ReadingStep| matches!(step, ReadingStep::HiddenMarkup | ReadingStep::Comment);
            let side = if finding.steps.iter().any(hides) {
                &mut places.hidden
            } else if finding.steps.contains(&ReadingStep::Markup) {
                &mut places.shown
            } else {
                continue;
            };
            side.entry(key).or_default().insert(finding.span);
        }
        places
    }

    /// Whether a page hides what was found, wherever else its words are in the source.
    fn hide(&self, finding: &Finding) -> bool {
        let key = (finding.kind, finding.rule);
        let holds = |side: &BTreeMap<_, BTreeSet<Span>>| {
            side.get(&key).is_some_and(|places| overlaps_any(places, finding.span))
        };
        holds(&self.hidden) && !holds(&self.shown)
    }
}

/// The severity that hiding adds to a finding. A mild one in plain sight stays mild, except commands and text that
/// changes an answer: a page has no reason to hide those from the people who read it.
fn severity_of_hidden(finding: &Finding, by_page: bool) -> Severity {
    let has_no_reason =
        matches!(finding.kind, FindingKind::Exfiltration | FindingKind::Override | FindingKind::ToolRequest);
    if finding.severity > Severity::Low || (by_page && has_no_reason) {
        finding.severity.worse()
    } else {
        finding.severity
    }
}

/// One finding for each rule and place: the reading that needs the fewest steps is kept. A finding in a hidden reading
/// only is worse than one in plain sight.
fn distinct_findings(mut found: Vec<Finding>, page_hidden: &mut BTreeMap<Span, Severity>) -> Vec<Finding> {
    let page = PagePlaces::of(&found);
    found.sort_by(|a, b| {
        let key = |finding: &Finding| (finding.kind, finding.rule, finding.steps.len(), finding.span);
        key(a).cmp(&key(b)).then_with(|| a.steps.cmp(&b.steps))
    });
    let mut kept: Vec<Finding> = Vec::new();
    // The places of the rule at hand, by start, so that a flood of findings stays quick.
    let mut places: BTreeSet<Span> = BTreeSet::new();
    let mut rule = None;
    for mut finding in found {
        if rule != Some((finding.kind, finding.rule)) {
            places.clear();
            rule = Some((finding.kind, finding.rule));
        }
        let is_known = !finding.steps.is_empty() && overlaps_any(&places, finding.span);
        if is_known {
            continue;
        }
        places.insert(finding.span);
        let by_page = page.hide(&finding);
        finding.hidden |= by_page;
        if by_page {
            let plain = page_hidden.entry(finding.span).or_insert(finding.severity);
            *plain = finding.severity.min(*plain);
        }
        if finding.hidden {
            finding.severity = severity_of_hidden(&finding, by_page);
        }
        kept.push(finding);
    }
    kept
}

/// Whether one of the places shares bytes with `span`. Looks at the nearest ones on both sides.
fn overlaps_any(places: &BTreeSet<Span>, span: Span) -> bool {
    let end = Span::new(span.end, span.end);
    places.range(..end).rev().take(8).any(|place| place.overlaps(span))
}
