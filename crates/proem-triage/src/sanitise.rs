//! The part of a signal that may go on: the guard looks at every text that is read, and the text loses its formatting.
//!
//! A text has one of three ends: it goes on, part of it goes on, or it stays out and a person may look at it. The
//! guard's table of verdicts decides, under the text's name as a source, such as `jira/comment`. The system's own facts
//! (kind, status, priority, transitions) are no text and go on by [`classify_signals`](super::classify_signals), whatever the texts
//! contain.
//!
//! Invariants: what passes holds no formatting (see `formatting`) and was looked at as it passes; what is out leaves
//! only numbers and closed words behind. A signal that is blocked stops its own actions and nobody else's. The same
//! signal gives the same result whatever is beside it.

mod fields;
mod formatting;

use std::{cmp::Ordering, collections::BTreeSet};

use proem_guard::{Bar, Cut, Finding, LabelTree, Scan, Untrusted, Verdict, credential, cut_attacks};
use proem_text::{OffsetMap, Span};
use serde_json::Number;

pub(crate) use self::fields::SPRINT;
use self::fields::SignalText;
use super::signal::{ProjectSignal, SignalKind, SignalSource};
use proem_agents::screen::Screening;

/// How often all texts of a signal are looked at together.
const MAX_ROUNDS: usize = 3;
/// The most threats that are listed, the worst first.
const MAX_THREATS: usize = 20;
/// The most characters of the content of one signal.
const MAX_CONTENT: usize = 65_536;
/// Below this share of a text that is left, a person should look at it.
const LITTLE_LEFT: f64 = 0.5;

/// A signal without what may not go on.
#[derive(Debug, Clone, PartialEq)]
pub struct SanitisedSignal {
    /// The signal's id.
    pub id: String,
    /// The system that it comes from.
    pub source: SignalSource,
    /// The event.
    pub kind: SignalKind,
    /// The sender: the address, else the account, else the name. For grouping.
    pub sender: Option<Untrusted<String>>,
    /// Its texts, in the order in which they are read.
    pub fields: Vec<SanitisedField>,
    /// Its names for its ticket and the ticket's assignee. A name carries no news. One that holds an attack is out.
    pub names: Vec<SanitisedField>,
    /// The worst verdict of a field, or of a name that is out.
    pub verdict: Verdict,
    /// How much of all texts is left, 0 to 1: visible bytes that are no whitespace.
    pub content_preserved_ratio: f64,
    /// The findings, the worst first.
    pub threats: Vec<SignalThreat>,
    /// The guard's suspicion of what passes, 0 to 1.
    pub suspicion: f64,
    /// Texts that are not read, since there are too many in their field.
    pub unread: usize,
}

/// One text of a signal.
#[derive(Debug, Clone, PartialEq)]
pub struct SanitisedField {
    /// The name that the table of verdicts knows it by, behind the signal's source: `comment`.
    pub name: &'static str,
    /// Which of several with that name, from 0.
    pub index: usize,
    /// The strictest answer of the guard about the text.
    pub verdict: Verdict,
    /// The readable text. `None` if it is out.
    pub text: Option<Untrusted<String>>,
    /// The parts that were taken out, in order, in bytes of the original.
    pub removed: Vec<Span>,
    /// How much of it is left without the attacks, 0 to 1, whether or not that may be read.
    pub preserved: f64,
    /// The rules that gave the verdict, sorted.
    pub rules: Vec<&'static str>,
    /// The rest without the attacks, for questions whose answer is no text.
    rest: Untrusted<String>,
    score: f64,
}

/// Something that the guard found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignalThreat {
    /// The resulting verdict.
    pub verdict: Verdict,
    /// As the source calls it.
    pub field: &'static str,
    /// The rule, as documentation names it: `override/ignore`.
    pub rule: &'static str,
    /// The aim of the attack, in words of ours.
    pub meaning: &'static str,
}

/// The effects that a signal may have, as far as its texts are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalEffects {
    /// As the policy permits.
    ByPolicy,
    /// Only what a person approves.
    WithApproval,
    /// None at all.
    Nothing,
}

impl SanitisedField {
    /// Asks something of what is left without the attacks, also where it may not be read.
    ///
    /// The answers are numbers and closed words, so that a poisoned comment can't hide that it is about a blocker.
    pub(super) fn measure_rest(&self, question: impl FnOnce(&str)) {
        self.rest.measure(|text| question(text));
    }

    /// Whether it is out.
    #[must_use]
    pub fn is_out(&self) -> bool {
        self.text.is_none()
    }
}

impl SanitisedSignal {
    /// The effects that it may have.
    #[must_use]
    pub const fn effects(&self) -> SignalEffects {
        match self.verdict {
            Verdict::Allow => SignalEffects::ByPolicy,
            Verdict::Flag | Verdict::Quarantine => SignalEffects::WithApproval,
            Verdict::Block => SignalEffects::Nothing,
        }
    }

    /// Whether a guard or a model has anything against it: nothing that its texts say changes anything by itself.
    #[must_use]
    pub fn is_suspected(&self) -> bool {
        self.verdict >= Verdict::Flag
    }

    /// Whether a field of it is suspected, or all of them are because a model suspects the whole.
    #[must_use]
    pub fn suspects(&self, field: &SanitisedField) -> bool {
        let mut all = self.fields.iter().chain(&self.names);
        field.verdict >= Verdict::Flag
            || (self.is_suspected() && all.all(|field| field.verdict < Verdict::Flag && !field.is_out()))
    }

    /// A name, unless it is out or there is none.
    #[must_use]
    pub fn name(&self, name: &str) -> Option<&SanitisedField> {
        self.names.iter().find(|known| known.name == name && !known.is_out())
    }

    fn outs(&self) -> impl Iterator<Item = &SanitisedField> {
        self.fields.iter().chain(&self.names).filter(|field| field.is_out())
    }

    /// Everything that is out or has lost something, as a person may look at it.
    pub fn reviewed(&self) -> impl Iterator<Item = &SanitisedField> {
        self.fields.iter().chain(&self.names).filter(|field| field.is_out() || !field.removed.is_empty())
    }

    /// Why a person should look at it, in words of ours. `None` if nobody needs to.
    #[must_use]
    pub fn review_reason(&self) -> Option<String> {
        let mut reasons: Vec<String> = self
            .outs()
            .map(|field| {
                let why = if field.rules.is_empty() { "its score".to_owned() } else { field.rules.join(", ") };
                format!("{} kept out ({}: {why})", field.name, field.verdict.as_str())
            })
            .collect();
        if self.content_preserved_ratio < LITTLE_LEFT {
            reasons.push(format!("{:.0} % of the text is left", self.content_preserved_ratio * 100.0));
        }
        if self.unread > 0 {
            reasons.push(format!("texts not read: {}", self.unread));
        }
        reasons.dedup();
        let mut reason = reasons.join("; ");
        // All of it is ASCII but for what the platform may add to rule names, of which there is nothing.
        reason.truncate(reason.floor_char_boundary(super::contract::MAX_SENTENCE));
        (!reason.is_empty()).then_some(reason)
    }

    /// All its texts that may be read, a line each, up to the most characters of one content.
    #[must_use]
    pub fn content(&self) -> Untrusted<String> {
        let texts: Vec<&Untrusted<String>> = self.fields.iter().filter_map(|field| field.text.as_ref()).collect();
        Untrusted::join(&texts, "\n").0.map(|mut text| {
            if let Some((end, _)) = text.char_indices().nth(MAX_CONTENT) {
                text.truncate(credential::uncut_prefix(&text, end).len());
            }
            text
        })
    }

    /// The same signal under suspicion: what may be done because of it needs approval.
    #[must_use]
    pub fn suspected(self) -> Self {
        Self { verdict: self.verdict.max(Verdict::Flag), ..self }
    }

    /// The whole as `sanitise_signal` answers it: the content keeps its labels, all else is ours.
    #[must_use]
    pub fn to_tree(&self) -> LabelTree {
        let content = self.content();
        let content = if self.verdict > Verdict::Allow { LabelTree::Flagged(content) } else { content.into() };
        let kind = match &self.kind {
            SignalKind::Unknown(name) => LabelTree::Outside(name.clone()),
            kind => kind.as_str().into(),
        };
        let number = |value: f64| Number::from_f64(value).map_or(LabelTree::Null, LabelTree::Number);
        let reason = self.review_reason();
        let threats = self.threats.iter().map(SignalThreat::in_words);
        let mut parts = vec![
            ("signal_id", LabelTree::from(self.id.as_str())),
            ("original_source", self.source.as_str().into()),
            ("original_type", kind),
            ("sanitised_content", content),
            ("threat_detected", LabelTree::Bool(!self.threats.is_empty())),
            ("threats_found", LabelTree::list(threats)),
            ("content_preserved_ratio", number(self.content_preserved_ratio)),
            ("confidence_score", number(1.0 - self.suspicion)),
            ("requires_human_review", LabelTree::Bool(reason.is_some())),
        ];
        parts.extend(reason.map(|reason| ("review_reason", reason.into())));
        LabelTree::map(parts)
    }
}

/// The text of a signal that a sanitised field was made from, as it came: for a person who looks at it.
#[must_use]
pub fn original<'s>(signal: &'s ProjectSignal, field: &SanitisedField) -> Option<&'s Untrusted<String>> {
    let (texts, _) = fields::signal_texts(signal);
    let mut all = texts.into_iter().chain(fields::signal_names(signal));
    all.find(|text| text.name == field.name && text.index == field.index).map(|text| text.text)
}

impl SignalThreat {
    /// The threat in a few words of ours.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{}: {} ({}, {})", self.field, self.meaning, self.rule, self.verdict.as_str())
    }
}

/// Takes out of a signal what may not go on.
#[must_use]
pub fn sanitise_signal(signal: &ProjectSignal, screening: Screening<'_>) -> SanitisedSignal {
    let (texts, unread) = fields::signal_texts(signal);
    let mut threats = BTreeSet::new();
    let (mut left, mut all) = (0_usize, 0_usize);
    let mut fields: Vec<SanitisedField> = texts
        .iter()
        .map(|text| {
            let (field, counts) = sanitise_text(text, signal.source, screening, &mut threats);
            left = left.saturating_add(counts.0);
            all = all.saturating_add(counts.1);
            field
        })
        .collect();
    look_at_all(&mut fields, screening, &mut threats);
    let names: Vec<SanitisedField> = fields::signal_names(signal)
        .iter()
        .map(|name| one_name(name, signal.source, screening, &mut threats))
        .collect();
    // A sprint's name is repeated by every ticket in it: it goes into nothing if it is out, and keeps no ticket out.
    let out = names.iter().filter(|name| name.is_out() && name.name != fields::SPRINT);
    let worst = fields.iter().chain(out).map(|field| field.verdict).max();
    let sender = signal
        .sender
        .as_ref()
        .and_then(|sender| sender.address.as_ref().or(sender.account.as_ref()).or(sender.name.as_ref()).cloned());
    let passing = fields.iter().filter(|field| !field.is_out());
    SanitisedSignal {
        id: signal.id.clone(),
        source: signal.source,
        kind: signal.kind.clone(),
        sender,
        verdict: worst.unwrap_or(Verdict::Allow),
        content_preserved_ratio: kept_share(left, all),
        suspicion: passing.map(|field| field.score).fold(0.0, f64::max).clamp(0.0, 1.0),
        threats: threats.into_iter().rev().take(MAX_THREATS).collect(),
        fields,
        names,
        unread,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of two lengths")]
fn kept_share(left: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { left as f64 / all as f64 }
}

/// One text, with how many bytes of it are left of how many.
fn sanitise_text(
    SignalText { name, index, text }: &SignalText<'_>,
    source: SignalSource,
    screening: Screening<'_>,
    threats: &mut BTreeSet<SignalThreat>,
) -> (SanitisedField, (usize, usize)) {
    let guard = screening.guard;
    let bar = screening.policy.bar(&source.verdict_name(name), "text");
    let found = guard.scan(text);
    let first = bar.judge(&found);
    list_threats(name, bar, &found, threats);
    let mut plain = PlainText::new(text);
    // If nothing was taken out, the findings in the original are those in it.
    let again = plain.is_changed.then(|| guard.scan(&plain.text));
    let scan = again.as_ref().unwrap_or(&found);
    let verdict = bar.judge(scan);
    let mut cut = if verdict >= Verdict::Quarantine {
        list_threats(name, bar, scan, threats);
        cut_attacks(guard, bar, &plain.text, scan)
    } else {
        Cut { text: Some(plain.text.clone()), verdict, removed: Vec::new(), content_preserved_ratio: 1.0 }
    };
    if first >= Verdict::Quarantine {
        cut.verdict = cut.verdict.max(Verdict::Flag);
    }
    if first == Verdict::Block {
        cut.verdict = Verdict::Block;
    }
    // A cut may put formatting together. Then nobody reads it.
    let is_formatted = |text: &Untrusted<String>| text.measure(|text| !formatting::has_no_formatting(text));
    if plain.is_stubborn || cut.text.as_ref().is_some_and(is_formatted) {
        cut.verdict = cut.verdict.max(Verdict::Quarantine);
    }
    if cut.verdict >= Verdict::Quarantine {
        cut.text = None;
    }
    let kept = formatting::kept_original_spans(&plain.map, &cut.removed);
    let mut counts = (0, 0);
    text.measure(|text| counts = formatting::preserved_ratio(text, &kept));
    let rest = cut.text.clone().unwrap_or_else(|| plain.without(&cut.removed));
    let score = if cut.removed.is_empty() { scan.score } else { 0.0 };
    let field = SanitisedField {
        name,
        index: *index,
        verdict: cut.verdict,
        removed: spans_between(&kept, text.len()),
        preserved: kept_share(counts.0, counts.1),
        rules: worst_rules(bar, [&found, scan]),
        text: cut.text,
        rest,
        score,
    };
    if field.is_out() {
        counts.0 = 0;
    }
    (field, counts)
}

/// A name, whole or not at all. A finding by score alone counts for nothing: names are too short to resemble anything.
fn one_name(
    SignalText { name, index, text }: &SignalText<'_>,
    source: SignalSource,
    screening: Screening<'_>,
    threats: &mut BTreeSet<SignalThreat>,
) -> SanitisedField {
    let bar = screening.policy.bar(&source.verdict_name(name), "text");
    let plain = PlainText::new(text);
    let first = screening.guard.scan(text);
    let changed = plain.is_changed.then(|| screening.guard.scan(&plain.text));
    let again = changed.as_ref().unwrap_or(&first);
    let worst = bar.judge(&first).max(bar.judge(again));
    let is_formatted = plain.text.measure(|text| !formatting::has_no_formatting(text));
    let worst = if plain.is_stubborn || is_formatted { worst.max(Verdict::Quarantine) } else { worst };
    let is_out = worst >= Verdict::Quarantine;
    if is_out {
        [&first, again].into_iter().for_each(|scan| list_threats(name, bar, scan, threats));
    }
    SanitisedField {
        name,
        index: *index,
        verdict: if is_out { worst } else { Verdict::Allow },
        removed: Vec::new(),
        preserved: if is_out { 0.0 } else { 1.0 },
        rules: if is_out { worst_rules(bar, [&first, again]) } else { Vec::new() },
        rest: plain.text.clone(),
        text: (!is_out).then_some(plain.text),
        score: 0.0,
    }
}

/// A text without formatting.
struct PlainText {
    text: Untrusted<String>,
    map: OffsetMap,
    is_changed: bool,
    /// Whether there was always more to take out.
    is_stubborn: bool,
}

impl PlainText {
    fn new(original: &Untrusted<String>) -> Self {
        let (mut map, mut is_changed, mut is_stubborn) = (OffsetMap::new(), true, false);
        let text = original.clone().map(|text| match formatting::without_formatting(&text) {
            Some(view) => {
                map = view.map;
                is_changed = view.text != text;
                view.text
            }
            None => {
                is_stubborn = true;
                String::new()
            }
        });
        Self { text, map, is_changed, is_stubborn }
    }

    /// The rest without these spans of it.
    fn without(&mut self, spans: &[Span]) -> Untrusted<String> {
        let kept = spans_between(spans, self.text.len());
        self.text.clone().map(|text| {
            let parts = kept.iter().filter_map(|span| text.get(span.start..span.end));
            parts.collect::<Vec<_>>().join(" ")
        })
    }
}

/// The parts of `len` bytes outside these spans, which are in order.
fn spans_between(spans: &[Span], len: usize) -> Vec<Span> {
    let (mut gaps, mut position) = (Vec::new(), 0);
    for span in spans {
        if span.start > position {
            gaps.push(Span::new(position, span.start));
        }
        position = position.max(span.end);
    }
    if position < len {
        gaps.push(Span::new(position, len));
    }
    gaps
}

/// Looks at all texts that pass as one, and takes out those that are an attack only together.
fn look_at_all(fields: &mut [SanitisedField], screening: Screening<'_>, threats: &mut BTreeSet<SignalThreat>) {
    let bar = screening.policy.bar("joined", "text");
    for _ in 0..MAX_ROUNDS {
        let passing: Vec<usize> =
            (0..).zip(fields.iter()).filter(|(_, field)| !field.is_out()).map(|(at, _)| at).collect();
        let texts: Vec<&Untrusted<String>> = fields.iter().filter_map(|field| field.text.as_ref()).collect();
        if texts.len() < 2 {
            return;
        }
        let (joined, spans) = Untrusted::join(&texts, "\n");
        let scan = screening.guard.scan(&joined);
        let mut is_clean = true;
        for finding in scan.findings.iter().filter(|finding| bar.of(finding) >= Verdict::Quarantine) {
            let touched = passing.iter().zip(&spans).filter(|(_, span)| span.overlaps(finding.span));
            let touched: Vec<usize> = touched.map(|(at, _)| *at).collect();
            // A finding in one text alone was judged by that text's own bar.
            if touched.len() < 2 {
                continue;
            }
            is_clean = false;
            for at in touched {
                let Some(field) = fields.get_mut(at) else { continue };
                field.verdict = field.verdict.max(Verdict::Quarantine);
                field.text = None;
                field.rules.push(finding.rule);
                threats.insert(threat(field.name, Verdict::Quarantine, finding));
            }
        }
        if is_clean {
            return;
        }
    }
    for field in fields.iter_mut().filter(|field| !field.is_out()) {
        field.verdict = field.verdict.max(Verdict::Quarantine);
        field.text = None;
    }
}

const fn threat(field: &'static str, verdict: Verdict, finding: &Finding) -> SignalThreat {
    SignalThreat { verdict, field, rule: finding.rule, meaning: finding.kind.in_words() }
}

fn list_threats(field: &'static str, bar: Bar, scan: &Scan, threats: &mut BTreeSet<SignalThreat>) {
    let found = scan.findings.iter().map(|finding| (bar.of(finding), finding));
    threats
        .extend(found.filter(|(verdict, _)| *verdict > Verdict::Allow).map(|(verdict, of)| threat(field, verdict, of)));
    let verdict = bar.judge(scan);
    let is_explained = scan.findings.iter().any(|finding| bar.of(finding) > Verdict::Allow);
    if verdict > Verdict::Allow && !is_explained {
        let (rule, meaning) = if scan.unread.is_empty() {
            ("score", "text that is alike to attacks as a whole")
        } else {
            ("unread", "a part that could not be looked at")
        };
        threats.insert(SignalThreat { verdict, field, rule, meaning });
    }
}

/// The rules that gave the worst verdict.
fn worst_rules(bar: Bar, scans: [&Scan; 2]) -> Vec<&'static str> {
    let found = || scans.into_iter().flat_map(|scan| &scan.findings);
    let worst = found().map(|finding| bar.of(finding)).max().unwrap_or(Verdict::Allow);
    let of_worst = found().filter(|finding| worst > Verdict::Allow && bar.of(finding) == worst);
    of_worst.map(|finding| finding.rule).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The quarantined part of one sender's signals.
#[derive(Debug, Clone, PartialEq)]
pub struct SenderQuarantine {
    /// The sender. `None` for signals that name nobody.
    pub sender: Option<Untrusted<String>>,
    /// How many fields are in quarantine.
    pub quarantined: usize,
    /// How many fields are blocked.
    pub blocked: usize,
    /// The signals, in order.
    pub signals: Vec<String>,
}

/// The quarantined parts of each sender's signals, the largest first.
#[must_use]
pub fn kept_out_by_sender(signals: &[SanitisedSignal]) -> Vec<SenderQuarantine> {
    let mut with: Vec<&SanitisedSignal> = signals.iter().filter(|signal| signal.outs().next().is_some()).collect();
    with.sort_by(|a, b| by_text(a.sender.as_ref(), b.sender.as_ref()).then_with(|| a.id.cmp(&b.id)));
    let mut groups: Vec<SenderQuarantine> = Vec::new();
    for signal in with {
        let is_new =
            groups.last().is_none_or(|last| by_text(last.sender.as_ref(), signal.sender.as_ref()) != Ordering::Equal);
        if is_new {
            let sender = signal.sender.clone();
            groups.push(SenderQuarantine { sender, quarantined: 0, blocked: 0, signals: Vec::new() });
        }
        let Some(group) = groups.last_mut() else { continue };
        let count = |verdict| signal.outs().filter(|field| field.verdict == verdict).count();
        group.quarantined = group.quarantined.saturating_add(count(Verdict::Quarantine));
        group.blocked = group.blocked.saturating_add(count(Verdict::Block));
        group.signals.push(signal.id.clone());
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.quarantined.saturating_add(group.blocked)));
    groups
}

/// The order of two senders, without regard to capitals.
fn by_text(a: Option<&Untrusted<String>>, b: Option<&Untrusted<String>>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.measure(|a| b.measure(|b| a.to_lowercase().cmp(&b.to_lowercase()))),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}
