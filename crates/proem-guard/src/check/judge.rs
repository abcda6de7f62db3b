//! One field against the rules.

use super::{
    Case, Figures, Lack, Role, Rule, Rules, Sighting, allow,
    evidence::Index,
    extract::{self, Token, Tokens},
    mail, number,
    readings::Readings,
    rule::Kind,
    url::{self, Parsed},
};
use alloc::{string::String, vec::Vec};
use proem_text::{Label, Secrecy, Span};

/// The fewest digits of a phone or account number in a text that is checked: local numbers have
/// seven.
const MIN_DIGITS: usize = 7;

/// A failure without its field.
pub(super) type Found = (Rule, Span, Option<Sighting>);

/// What values are compared with.
#[derive(Debug)]
pub(super) struct Grounds<'a> {
    pub(super) rules: &'a Rules<'a>,
    pub(super) trusted: Index,
    pub(super) outside: Index,
}

/// Why a value fails.
#[derive(Debug)]
enum Judgement {
    Passes,
    Fails(Rule, Option<Sighting>),
}

impl Grounds<'_> {
    /// What a field's value breaks, by what the field means.
    pub(super) fn field(&self, role: Role, value: &str, label: &Label, readings: &Readings) -> Vec<Found> {
        let whole = Span::new(0, value.len());
        let kind = match role {
            Role::Recipient => Kind::Recipient,
            Role::Host => Kind::Host,
            Role::Url => Kind::Url,
            Role::Amount => Kind::Amount,
            Role::Number => Kind::Number,
            Role::Id(case) => return failure(self.id(value, case), whole).into_iter().collect(),
            Role::Plain => return Vec::new(),
            Role::FreeText(text) => {
                let mut found = self.running(value, text.figures, readings);
                let label = label.join(self.rules.request);
                if label.audience() > text.audience || label.secrecy() == Secrecy::Secret {
                    found.push((Rule::Audience, whole, None));
                }
                return found;
            }
        };
        failure(self.value(kind, value), whole).into_iter().collect()
    }

    fn value(&self, kind: Kind, text: &str) -> Judgement {
        let malformed = Judgement::Fails(Rule::Provenance(kind, Lack::Malformed), None);
        if kind == Kind::Url {
            return match url::parse(text) {
                Parsed::Url(url) if self.rules.allow.has_prefix_of(&url) => Judgement::Passes,
                Parsed::Url(url) => self.provenance(kind, &url.accepted().collect::<Vec<String>>()),
                Parsed::Refused => Judgement::Fails(Rule::SchemeRefused, None),
                Parsed::Malformed => malformed,
            };
        }
        let Some(form) = allow::forms(kind, text).and_then(|forms| forms.into_iter().next()) else { return malformed };
        if kind == Kind::Recipient && self.rules.allow.has_domain_of(&form.1) {
            return Judgement::Passes;
        }
        self.provenance(kind, &[form.1])
    }

    fn id(&self, text: &str, case: Case) -> Judgement {
        let Some(id) = number::id(text) else {
            return Judgement::Fails(Rule::Provenance(Kind::Id, Lack::Malformed), None);
        };
        let form = match case {
            Case::Exact => String::from(id),
            Case::Folded => allow::folded_id(id),
        };
        self.provenance(Kind::Id, &[form])
    }

    /// Whether one of the forms is allowed or stands in a trusted text.
    fn provenance(&self, kind: Kind, forms: &[String]) -> Judgement {
        if forms.iter().any(|form| self.rules.allow.has(kind, form) || self.trusted.get(kind, form).is_some()) {
            return Judgement::Passes;
        }
        match forms.iter().find_map(|form| self.outside.get(kind, form)) {
            Some(sighting) => Judgement::Fails(Rule::Provenance(kind, Lack::UntrustedOnly), Some(sighting.clone())),
            None => Judgement::Fails(Rule::Provenance(kind, Lack::NotFound), None),
        }
    }

    /// Everything in a running text that leads somewhere, in the text and its readings.
    fn running(&self, value: &str, figures: Figures, readings: &Readings) -> Vec<Found> {
        let mut judged: Vec<(Span, Judgement)> = Vec::new();
        let mut settled: Vec<Span> = Vec::new();
        let mut too_many = false;
        let texts = core::iter::once((value, None))
            .chain(readings.decoded.iter().map(|reading| (reading.text.as_str(), Some(reading))));
        for (text, reading) in texts {
            let mut all: Vec<Tokens<'_>> = Vec::from([extract::addresses(text)]);
            if figures == Figures::Checked {
                all.push(extract::figures(text, MIN_DIGITS));
            }
            too_many = too_many || all.iter().any(|tokens| tokens.too_many);
            for token in all.iter().flat_map(|tokens| &tokens.found) {
                let judgement = self.token(token);
                match (reading, &judgement) {
                    // A decoded piece maps to all of its code, so only what stands there as it is
                    // settles what is inside it.
                    (None, Judgement::Passes) => settled.push(token.span),
                    (_, Judgement::Passes) => {}
                    (None, Judgement::Fails(..)) => judged.push((token.span, judgement)),
                    (Some(reading), Judgement::Fails(..)) => judged.push((reading.map.original(token.span), judgement)),
                }
            }
        }
        let mut found = outermost(judged, settled);
        if too_many {
            found.push((Rule::TooLarge, Span::new(0, value.len()), None));
        }
        found
    }

    fn token(&self, token: &Token<'_>) -> Judgement {
        // In running text an address stands alone; `name <address>` is for fields.
        if token.kind == Kind::Recipient && token.text.contains(['<', '>', ' ']) {
            return Judgement::Fails(Rule::Provenance(Kind::Recipient, Lack::Malformed), None);
        }
        let is_mail = token.text.trim_start_matches('@').contains('@');
        if token.kind == Kind::Recipient && is_mail && mail::address(&token.text).is_none() {
            return Judgement::Fails(Rule::Provenance(Kind::Recipient, Lack::Malformed), None);
        }
        self.value(token.kind, &token.text)
    }
}

fn failure(judgement: Judgement, span: Span) -> Option<Found> {
    match judgement {
        Judgement::Passes => None,
        Judgement::Fails(rule, sighting) => Some((rule, span, sighting)),
    }
}

/// The failures that lie in no settled span and in no other failure.
fn outermost(mut judged: Vec<(Span, Judgement)>, mut settled: Vec<Span>) -> Vec<Found> {
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
        found.extend(failure(judgement, span));
    }
    found
}
