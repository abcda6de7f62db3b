//! Looks at every text from outside before it is put into a prompt.
//!
//! Text that the policy allows goes in contained, flagged text goes in with a mark at each word, and quarantined or
//! blocked text stays out and is noted. Long texts lose the sentences with the attack instead, if the rest is clean.
//! Finally, all remaining text is looked at as one, because an attack may be spread over several.

use std::collections::{BTreeMap, BTreeSet};

use proem_guard::{
    Bar, Finding, Guard, LabelTree, LanguageFamily, Policy, Scan, Severity, Untrusted, Verdict, cut_attacks,
};
use proem_text::Span;

/// The means of looking at text from outside.
#[derive(Debug, Clone, Copy)]
pub struct Screening<'r> {
    /// The guard that looks for attacks in text from outside.
    pub guard: &'r Guard,
    /// The policy on their findings.
    pub policy: &'r Policy,
}

/// One text that didn't go in as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreeningNote {
    /// Which one, in our words: `memory line 3`.
    pub what: String,
    /// The strictest answer of the guard about the text.
    pub verdict: Verdict,
    /// The rules that decided, sorted.
    pub rules: Vec<&'static str>,
    /// How much of it is left, 0 to 1. `None` if nothing was cut.
    pub preserved: Option<f64>,
    /// Its replacement in the prompt, in our words. `None` if there is none.
    pub instead: Option<&'static str>,
}

impl ScreeningNote {
    /// The note as a sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { what, verdict, rules, preserved, instead } = self;
        let became = match (verdict, preserved) {
            _ if *instead == Some(SHOWN) => "included without marks, because you have read it before".to_owned(),
            _ if instead.is_some() => format!("only {} is included", instead.unwrap_or_default()),
            (Verdict::Allow, _) => "included unchanged".to_owned(),
            (Verdict::Flag, None) => "included with a mark at each word".to_owned(),
            (Verdict::Flag, Some(left)) => {
                format!(
                    "included with a mark at each word, after an attack was removed; {:.0} % of the text is left",
                    left * 100.0
                )
            }
            (Verdict::Quarantine | Verdict::Block, _) => "kept out of the prompt".to_owned(),
        };
        let why = if rules.is_empty() { "its score".to_owned() } else { rules.join(", ") };
        format!("{what}: {became} ({}: {why})", verdict.as_str())
    }
}

/// Stands in [`ScreeningNote::instead`] of a text that goes in as it is, although it is suspicious.
const SHOWN: &str = "what you have read before";

/// The place of a text in a prompt, in the prompt's order.
pub(crate) trait PromptPlace: Ord + Clone {
    /// The source and field that the policy knows the text by.
    fn names(&self) -> (&str, &str);

    /// The place of its section in the prompt.
    fn section(&self) -> usize;

    /// Whether the text is long enough that a part of it is worth keeping.
    fn is_long(&self) -> bool;
}

/// A text that stays.
#[derive(Debug)]
struct ScreenedText {
    /// How many were looked at before, which is its order within its section.
    order: usize,
    what: String,
    text: Untrusted<String>,
    is_flagged: IsFlagged,
}

/// Whether the guard flagged a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IsFlagged {
    Yes,
    No,
}

/// The guard's result for a text, before it is put in.
#[derive(Debug)]
pub(crate) struct ScreeningResult {
    pub(crate) verdict: Verdict,
    text: Untrusted<String>,
    rules: Vec<&'static str>,
    preserved: Option<f64>,
}

impl ScreeningResult {
    /// Whether it may be put in.
    pub(crate) fn stays(&self) -> bool {
        self.verdict < Verdict::Quarantine
    }
}

/// The guard's result for a file's text.
#[derive(Debug)]
pub(crate) struct SourceLook {
    pub(crate) verdict: Verdict,
    rules: Vec<&'static str>,
}

/// The most lines that are left out of a file's text for what is suspicious in them.
const MOST_LINES_OUT: usize = 40;

/// A text without the lines that these spans touch. `None` if that is none of them, or too many.
fn lines_without(text: &str, out: &[Span]) -> Option<String> {
    let (mut rest, mut at, mut gap, mut all) = (String::with_capacity(text.len()), 0_usize, 0_usize, 0_usize);
    let say = |gap: &mut usize, rest: &mut String| {
        if *gap > 0 {
            let s = if *gap == 1 { "" } else { "s" };
            rest.push_str(&format!("[{gap} line{s} kept out as suspicious]\n"));
            *gap = 0;
        }
    };
    for line in text.split_inclusive('\n') {
        let end = at.saturating_add(line.len());
        if out.iter().any(|span| span.start < end && at < span.end) {
            gap = gap.saturating_add(1);
            all = all.saturating_add(1);
        } else {
            say(&mut gap, &mut rest);
            rest.push_str(line);
        }
        at = end;
    }
    say(&mut gap, &mut rest);
    (1..=MOST_LINES_OUT).contains(&all).then_some(rest)
}

/// How often all texts are looked at together, each time without those that were at fault.
const MAX_ROUNDS: usize = 3;

/// The texts of one prompt.
#[derive(Debug)]
pub(crate) struct Screen<'r, P> {
    screening: Screening<'r>,
    kept: BTreeMap<P, ScreenedText>,
    noted: Vec<ScreeningNote>,
    /// How many texts were looked at one by one.
    scanned: usize,
}

/// The parts that are an attack only together.
#[derive(Debug)]
pub(crate) struct JoinedAttack<P> {
    /// The places of its parts. None if there is no such attack.
    places: BTreeSet<P>,
    /// The rules that decided, sorted.
    rules: Vec<&'static str>,
}

impl<P> JoinedAttack<P> {
    /// Whether there is none.
    pub(crate) fn is_none(&self) -> bool {
        self.places.is_empty()
    }
}

impl<'r, P: PromptPlace> Screen<'r, P> {
    pub(crate) const fn new(screening: Screening<'r>) -> Self {
        Self { screening, kept: BTreeMap::new(), noted: Vec::new(), scanned: 0 }
    }

    fn bar(&self, place: &P) -> Bar {
        let (source, field) = place.names();
        self.screening.policy.bar(source, field)
    }

    /// Looks at a text. Whether it stays. With `least`, a score from there on keeps it out too.
    pub(crate) fn admit(&mut self, place: P, what: &str, text: &Untrusted<String>, least: Option<f64>) -> bool {
        let looked = self.look(&place, text, least);
        self.hold(place, what, looked)
    }

    /// Looks at a text that may not be put in at all.
    pub(crate) fn look(&mut self, place: &P, text: &Untrusted<String>, least: Option<f64>) -> ScreeningResult {
        if text.is_empty() {
            return ScreeningResult { verdict: Verdict::Allow, text: text.clone(), rules: Vec::new(), preserved: None };
        }
        self.scanned = self.scanned.saturating_add(1);
        let (guard, bar) = (self.screening.guard, self.bar(place));
        let scan = guard.scan(text);
        let mut verdict = bar.judge(&scan);
        if least.is_some_and(|least| scan.score >= least) {
            verdict = verdict.max(Verdict::Quarantine);
        }
        let (mut text, mut preserved) = (text.clone(), None);
        if verdict == Verdict::Quarantine && place.is_long() {
            let rest = cut_attacks(guard, bar, &text, &scan);
            verdict = rest.verdict;
            if let Some(rest_text) = rest.text {
                (text, preserved) = (rest_text, Some(rest.content_preserved_ratio));
            }
        }
        ScreeningResult { verdict, text, rules: worst_verdict_rules(bar, &scan), preserved }
    }

    /// Looks at a file's text, or at code or a patch without a name. Returns whether it stays. Its prose is separated
    /// from its code. A mark at each word leaves nothing to read of code, so suspicious lines are left out instead if
    /// the rest is clean.
    pub(crate) fn admit_source(
        &mut self,
        place: P,
        what: &str,
        text: &Untrusted<String>,
        syntax: LanguageFamily,
    ) -> bool {
        self.looked(1);
        let look = self.clears(&place, text, Some(syntax));
        if matches!(look.verdict, Verdict::Flag | Verdict::Quarantine)
            && let Some(rest) = self.without_lines(&place, text, Some(syntax))
        {
            self.note_instead(what, look, Some("the rest of it, without suspicious lines,"));
            self.keep_cleared(place, what, &rest);
            return true;
        }
        let SourceLook { verdict, rules } = look;
        self.hold(place, what, ScreeningResult { verdict, text: text.clone(), rules, preserved: None })
    }

    /// Looks at a text that the person who asks has read before. Whether it stays. A model's harmless sentences often
    /// resemble an attack's, and a mark at each word would leave little to go on from. The text is contained like any
    /// other, and one that is worse than suspicious is kept out like any other.
    pub(crate) fn admit_shown(&mut self, place: P, what: &str, text: &Untrusted<String>) -> bool {
        let looked = self.look(&place, text, None);
        if looked.verdict != Verdict::Flag || looked.preserved.is_some() {
            return self.hold(place, what, looked);
        }
        let look = SourceLook { verdict: looked.verdict, rules: looked.rules };
        self.note_instead(what, look, Some(SHOWN));
        self.keep_cleared(place, what, text);
        true
    }

    /// Keeps a text that was looked at, or notes why not. Whether it stays.
    pub(crate) fn hold(&mut self, place: P, what: &str, looked: ScreeningResult) -> bool {
        let stays = looked.stays();
        let ScreeningResult { verdict, text, rules, preserved } = looked;
        if verdict > Verdict::Allow {
            self.noted.push(ScreeningNote { what: what.to_owned(), verdict, rules, preserved, instead: None });
        }
        if stays {
            let is_flagged = if verdict > Verdict::Allow { IsFlagged::Yes } else { IsFlagged::No };
            self.keep(place, what, text, is_flagged);
        }
        stays
    }

    /// Looks at a file's text, of which marks would leave nothing to read: returns whether nothing in it is suspicious.
    /// In a known language, its prose is separated from its code. A caller that uses the answer [counts](Self::looked)
    /// it.
    pub(crate) fn clears(&self, place: &P, text: &Untrusted<String>, syntax: Option<LanguageFamily>) -> SourceLook {
        let (guard, bar) = (self.screening.guard, self.bar(place));
        let scan = match syntax {
            Some(syntax) => guard.scan_source(text, syntax),
            None => guard.scan(text),
        };
        SourceLook { verdict: bar.judge(&scan), rules: worst_verdict_rules(bar, &scan) }
    }

    /// Counts texts that were looked at.
    pub(crate) const fn looked(&mut self, texts: usize) {
        self.scanned = self.scanned.saturating_add(texts);
    }

    /// A file's text without the lines in which something is suspicious, each gap said, if what is left is not. `None`
    /// if more than a few lines would go.
    pub(crate) fn without_lines(
        &mut self,
        place: &P,
        text: &Untrusted<String>,
        syntax: Option<LanguageFamily>,
    ) -> Option<Untrusted<String>> {
        let scan = match syntax {
            Some(syntax) => self.screening.guard.scan_source(text, syntax),
            None => self.screening.guard.scan(text),
        };
        let out: Vec<Span> =
            scan.findings.iter().filter(|found| found.severity > Severity::Low).map(|found| found.span).collect();
        let rest = text.clone().map(|text| lines_without(&text, &out));
        let is_text = rest.measure(Option::is_some);
        let rest = rest.map(Option::unwrap_or_default);
        self.looked(usize::from(is_text));
        (is_text && self.clears(place, &rest, syntax).verdict == Verdict::Allow).then_some(rest)
    }

    /// Keeps a text that was cleared, so that it is looked at together with the others.
    pub(crate) fn keep_cleared(&mut self, place: P, what: &str, text: &Untrusted<String>) {
        self.keep(place, what, text.clone(), IsFlagged::No);
    }

    /// Notes that something else is in the place of a text.
    pub(crate) fn note_instead(&mut self, what: &str, look: SourceLook, instead: Option<&'static str>) {
        let SourceLook { verdict, rules } = look;
        self.noted.push(ScreeningNote { what: what.to_owned(), verdict, rules, preserved: None, instead });
    }

    fn keep(&mut self, place: P, what: &str, text: Untrusted<String>, is_flagged: IsFlagged) {
        let kept = ScreenedText { order: self.kept.len(), what: what.to_owned(), text, is_flagged };
        self.kept.insert(place, kept);
    }

    /// Looks at everything that stays as one text, and takes out what is an attack only together.
    pub(crate) fn rejoin(&mut self) {
        let found = self.joined(0);
        self.take_out(found);
    }

    /// The parts that are an attack only together, among everything that stays.
    pub(crate) fn joined(&self, round: usize) -> JoinedAttack<P> {
        let nothing = JoinedAttack { places: BTreeSet::new(), rules: Vec::new() };
        let mut kept: Vec<(P, &ScreenedText)> = self.kept.iter().map(|(place, kept)| (place.clone(), kept)).collect();
        kept.sort_by_key(|(place, kept)| (place.section(), kept.order));
        let places: Vec<P> = kept.iter().map(|(place, _)| place.clone()).collect();
        let texts: Vec<&Untrusted<String>> = kept.iter().map(|(_, kept)| &kept.text).collect();
        if texts.len() < 2 {
            return nothing;
        }
        let (joined, spans) = Untrusted::join(&texts, "\n");
        let scan = self.screening.guard.scan(&joined);
        let bar = self.screening.policy.bar("joined", "text");
        let across: Vec<&Finding> = scan.findings.iter().filter(|found| bar.of(found) >= Verdict::Quarantine).collect();
        let broken = scan.unread.iter().any(|_| bar.judge(&scan) >= Verdict::Quarantine);
        // A finding in one text alone was judged by that text's own bar.
        let touched = |found: &&Finding| -> Vec<P> {
            let touches = |span: &Span| span.overlaps(found.span);
            places.iter().zip(&spans).filter(|(_, span)| touches(span)).map(|(place, _)| place.clone()).collect()
        };
        let at_fault: BTreeSet<P> = across.iter().map(touched).filter(|places| places.len() > 1).flatten().collect();
        let at_fault = if broken || (round == MAX_ROUNDS && !at_fault.is_empty()) {
            places.iter().cloned().collect()
        } else {
            at_fault
        };
        JoinedAttack {
            rules: if at_fault.is_empty() { Vec::new() } else { worst_verdict_rules(bar, &scan) },
            places: at_fault,
        }
    }

    /// Takes out what [`Self::joined`] found at first, and goes on until nothing more is found.
    pub(crate) fn take_out(&mut self, first: JoinedAttack<P>) {
        let mut found = first;
        for round in 1..=MAX_ROUNDS.saturating_add(1) {
            if found.is_none() {
                return;
            }
            for place in found.places {
                if let Some(kept) = self.kept.remove(&place) {
                    let what = format!("{}, together with other texts", kept.what);
                    self.noted.push(ScreeningNote {
                        what,
                        verdict: Verdict::Quarantine,
                        rules: found.rules.clone(),
                        preserved: None,
                        instead: None,
                    });
                }
            }
            if round > MAX_ROUNDS {
                return;
            }
            found = self.joined(round);
        }
    }

    /// The text at a place as an input of the prompt, changed by `write`. `None` if it stays out.
    pub(crate) fn value(
        &self,
        place: &P,
        write: impl FnOnce(Untrusted<String>) -> Untrusted<String>,
    ) -> Option<LabelTree> {
        let kept = self.kept.get(place)?;
        let text = write(kept.text.clone());
        Some(if kept.is_flagged == IsFlagged::Yes { LabelTree::Flagged(text) } else { LabelTree::Outside(text) })
    }

    /// Whether the text at a place stays.
    pub(crate) fn keeps(&self, place: &P) -> bool {
        self.kept.contains_key(place)
    }

    /// The texts so far that didn't go in unchanged.
    pub(crate) fn noted(&self) -> &[ScreeningNote] {
        &self.noted
    }

    /// How many texts were looked at. Empty ones need no look.
    pub(crate) const fn scanned(&self) -> usize {
        self.scanned
    }

    /// The texts that didn't go in unchanged, in the order met.
    pub(crate) fn into_noted(self) -> Vec<ScreeningNote> {
        self.noted
    }
}

/// The rules that gave the worst verdict.
fn worst_verdict_rules(bar: Bar, scan: &Scan) -> Vec<&'static str> {
    let worst = scan.findings.iter().map(|found| bar.of(found)).max().unwrap_or(Verdict::Allow);
    let found = scan.findings.iter().filter(|found| bar.of(found) == worst).map(|found| found.rule);
    found.collect::<BTreeSet<_>>().into_iter().collect()
}
