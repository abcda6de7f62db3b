//! One field against the rules.

use super::{
    CaseSensitivity, CheckContext, FieldRole, Figures, Sighting, allow,
    evidence::SightingIndex,
    extract::{self, ValueMention, ValueMentions},
    mail, number,
    readings::DecodedTexts,
    rule::{ActionRule, ProvenanceGap, ReferentKind},
    url::{self, UrlParse},
};
use alloc::{string::String, vec::Vec};
use core::cell::OnceCell;
use proem_text::{Label, Secrecy, Span};

/// The fewest digits of a phone or account number in a text that is checked: local numbers have
/// seven.
const MIN_DIGITS: usize = 7;

/// A failure without its field.
#[derive(Debug)]
pub(super) struct RuleBreach {
    pub(super) rule: ActionRule,
    /// The place in the field's value.
    pub(super) span: Span,
    /// The text from outside that says the value, if one does.
    pub(super) seen: Option<Sighting>,
}

impl RuleBreach {
    /// A breach that no text from outside has to do with.
    pub(super) const fn new(rule: ActionRule, span: Span) -> Self {
        Self { rule, span, seen: None }
    }
}

/// The basis for comparing values. The texts are read when the first value is searched for in them, because most values
/// are on an allowlist.
#[derive(Debug)]
pub(super) struct ProvenanceBasis<'a> {
    rules: &'a CheckContext<'a>,
    trusted: OnceCell<SightingIndex>,
    outside: OnceCell<SightingIndex>,
}

/// Why a value fails.
#[derive(Debug)]
enum ProvenanceResult {
    Passes,
    Fails(ActionRule, Option<Sighting>),
}

impl<'a> ProvenanceBasis<'a> {
    pub(super) const fn new(rules: &'a CheckContext<'a>) -> Self {
        Self { rules, trusted: OnceCell::new(), outside: OnceCell::new() }
    }

    fn trusted(&self) -> &SightingIndex {
        self.trusted.get_or_init(|| SightingIndex::trusted(self.rules.trusted))
    }

    fn outside(&self) -> &SightingIndex {
        self.outside.get_or_init(|| SightingIndex::outside(self.rules.untrusted))
    }

    /// The rules that a field's value breaks, by the field's meaning.
    pub(super) fn field(
        &self,
        role: FieldRole,
        value: &str,
        label: &Label,
        readings: &DecodedTexts,
    ) -> Vec<RuleBreach> {
        let whole = Span::new(0, value.len());
        let kind = match role {
            FieldRole::Recipient => ReferentKind::Recipient,
            FieldRole::Host => ReferentKind::Host,
            FieldRole::Url => ReferentKind::Url,
            FieldRole::Amount => ReferentKind::Amount,
            FieldRole::Number => ReferentKind::Number,
            FieldRole::Id(case) => return provenance_breach(self.id(value, case), whole).into_iter().collect(),
            FieldRole::Plain => return Vec::new(),
            FieldRole::FreeText(text) => {
                let mut found = self.running(value, text.figures, readings);
                let label = label.join(self.rules.request);
                if label.audience() > text.audience || label.secrecy() == Secrecy::Secret {
                    found.push(RuleBreach::new(ActionRule::Audience, whole));
                }
                return found;
            }
        };
        provenance_breach(self.value(kind, value), whole).into_iter().collect()
    }

    fn value(&self, kind: ReferentKind, text: &str) -> ProvenanceResult {
        let malformed = ProvenanceResult::Fails(ActionRule::Provenance(kind, ProvenanceGap::Malformed), None);
        if kind == ReferentKind::Url {
            return match url::parse_url(text) {
                UrlParse::Url(url) if self.rules.allow.has_prefix_of(&url) => ProvenanceResult::Passes,
                UrlParse::Url(url) => self.provenance(kind, &url.accepted().collect::<Vec<String>>()),
                UrlParse::Refused => ProvenanceResult::Fails(ActionRule::SchemeRefused, None),
                UrlParse::Malformed => malformed,
            };
        }
        let Some(form) = allow::vouched_forms(kind, text).and_then(|forms| forms.into_iter().next()) else {
            return malformed;
        };
        if kind == ReferentKind::Recipient && self.rules.allow.has_domain_of(&form.1) {
            return ProvenanceResult::Passes;
        }
        self.provenance(kind, &[form.1])
    }

    fn id(&self, text: &str, case: CaseSensitivity) -> ProvenanceResult {
        let Some(id) = number::canonical_id(text) else {
            return ProvenanceResult::Fails(ActionRule::Provenance(ReferentKind::Id, ProvenanceGap::Malformed), None);
        };
        if self.rules.allow.has_prefix_of_id(id) {
            return ProvenanceResult::Passes;
        }
        let form = match case {
            CaseSensitivity::Exact => String::from(id),
            CaseSensitivity::Folded => allow::folded_id(id),
        };
        self.provenance(ReferentKind::Id, &[form])
    }

    /// Whether one of the forms is allowed or is in a trusted text.
    fn provenance(&self, kind: ReferentKind, forms: &[String]) -> ProvenanceResult {
        let is_allowed = forms.iter().any(|form| self.rules.allow.has(kind, form));
        if is_allowed || forms.iter().any(|form| self.trusted().get(kind, form).is_some()) {
            return ProvenanceResult::Passes;
        }
        match forms.iter().find_map(|form| self.outside().get(kind, form)) {
            Some(sighting) => ProvenanceResult::Fails(
                ActionRule::Provenance(kind, ProvenanceGap::UntrustedOnly),
                Some(sighting.clone()),
            ),
            None => ProvenanceResult::Fails(ActionRule::Provenance(kind, ProvenanceGap::NotFound), None),
        }
    }

    /// Everything in a running text that leads somewhere, in the text and its readings.
    fn running(&self, value: &str, figures: Figures, readings: &DecodedTexts) -> Vec<RuleBreach> {
        let mut judged: Vec<(Span, ProvenanceResult)> = Vec::new();
        let mut settled: Vec<Span> = Vec::new();
        let mut too_many = false;
        let texts = core::iter::once((value, None))
            .chain(readings.decoded.iter().map(|reading| (reading.text.as_str(), Some(reading))));
        for (text, reading) in texts {
            let mut all: Vec<ValueMentions<'_>> = Vec::from([extract::find_addresses(text)]);
            if figures == Figures::Checked {
                all.push(extract::find_figures(text, MIN_DIGITS));
            }
            too_many = too_many || all.iter().any(|tokens| tokens.too_many);
            for token in all.iter().flat_map(|tokens| &tokens.found) {
                let judgement = self.token(token);
                match (reading, &judgement) {
                    // A decoded piece maps to all of its code, so only what is there as it is settles what is inside
                    // it.
                    (None, ProvenanceResult::Passes) => settled.push(token.span),
                    (_, ProvenanceResult::Passes) => {}
                    (None, ProvenanceResult::Fails(..)) => judged.push((token.span, judgement)),
                    (Some(reading), ProvenanceResult::Fails(..)) => {
                        judged.push((reading.map.original(token.span), judgement));
                    }
                }
            }
        }
        let mut found = outermost(judged, settled);
        if too_many {
            found.push(RuleBreach::new(ActionRule::TooLarge, Span::new(0, value.len())));
        }
        found
    }

    fn token(&self, token: &ValueMention<'_>) -> ProvenanceResult {
        // In running text an address is alone. `name <address>` is for fields.
        if token.kind == ReferentKind::Recipient && token.text.contains(['<', '>', ' ']) {
            return ProvenanceResult::Fails(
                ActionRule::Provenance(ReferentKind::Recipient, ProvenanceGap::Malformed),
                None,
            );
        }
        let is_mail = token.text.trim_start_matches('@').contains('@');
        if token.kind == ReferentKind::Recipient && is_mail && mail::canonical_address(&token.text).is_none() {
            return ProvenanceResult::Fails(
                ActionRule::Provenance(ReferentKind::Recipient, ProvenanceGap::Malformed),
                None,
            );
        }
        self.value(token.kind, &token.text)
    }
}

fn provenance_breach(judgement: ProvenanceResult, span: Span) -> Option<RuleBreach> {
    match judgement {
        ProvenanceResult::Passes => None,
        ProvenanceResult::Fails(rule, seen) => Some(RuleBreach { rule, span, seen }),
    }
}

/// The failures that are in no settled span and in no other failure.
fn outermost(mut judged: Vec<(Span, ProvenanceResult)>, mut settled: Vec<Span>) -> Vec<RuleBreach> {
    let widest_first = |a: &Span, b: &Span| a.start.cmp(&b.start).then(b.end.cmp(&a.end));
    settled.sort_unstable_by(widest_first);
    judged.sort_by(|(a, _), (b, _)| widest_first(a, b));
    let mut settled = settled.into_iter().peekable();
    let (mut settled_end, mut failed) = (0, Span::default());
    let mut found = Vec::new();
    for (span, judgement) in judged {
        while let Some(next) = settled.next_if(|next| next.start <= span.start) {
            settled_end = settled_end.max(next.end);
        }
        let inside = failed.start <= span.start && span.end <= failed.end && failed != span;
        if span.end <= settled_end || (inside && !failed.is_empty()) {
            continue;
        }
        failed = span;
        found.extend(provenance_breach(judgement, span));
    }
    found
}
