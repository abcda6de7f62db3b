//! The permitted statements and names of an action, decided without a model.
//!
//! A model that obeys an attacker can write anything into an answer. These rules say what of it may
//! go out: [`check_action`] compares an action with allowlists, with the texts that its request was built
//! from, and with the prompt, and returns every failure at once. It knows no prompt, model or schema.
//!
//! - An effectful value (recipient, host, web address, amount, id, number) has to be as a whole token, in its canonical
//!   form, in a trusted text or an [`Allowlist`]. One that is nowhere fails like one that is only in text from outside.
//! - Running text is searched for all of these, in the text and in what it says decoded.
//! - No field repeats the prompt or holds its [`Canary`].
//! - A model's statements about its own action may only make code stricter: [`tighten()`].
//!
//! Invariants: a failure holds text of the answer only as [`Untrusted`]. The result doesn't depend on the order of
//! fields, evidence or lists; what is too large or too deep to look at fails. The cost is linear in the sum of all
//! texts (times the logarithm of the number of values in them). The concepts page `docs/concepts/checks.md` says what
//! each rule can't promise.

mod allow;
mod amount;
mod canary;
mod evidence;
mod extract;
mod host;
mod judge;
mod leak;
mod mail;
mod number;
mod readings;
mod referent;
mod rule;
mod tighten;
mod url;

pub use self::{
    allow::{Allowlist, AllowlistEntryKind, NotCanonical},
    canary::Canary,
    readings::MAX_FIELD,
    referent::Referent,
    rule::{ActionRule, ProvenanceGap, ReferentKind},
    tighten::{ApprovalNeed, Confidence, HoldMinutes, InternalDomains, Reach, Strictness, reach, tighten},
};

use self::{
    judge::{ProvenanceBasis, RuleBreach},
    leak::{Letters, SecretOverlap, SecretShingles},
    readings::{DecodedTexts, decoded_readings},
};
use crate::untrusted::Untrusted;
use alloc::{string::String, vec::Vec};
use core::cell::OnceCell;
use proem_text::{Audience, Label, Span, normalise_text};

/// The most fields of one action.
pub const MAX_FIELDS: usize = 1_024;

/// The path under which failures of the action's name are.
pub const ACTION: &str = "$action";

/// The most bytes of a value that a failure carries.
const MAX_EXCERPT: usize = 80;

/// The letters of a canary that are enough to recognise it: 48 bits, which no text has by chance.
const CANARY_PART: usize = 12;

/// An action that a model wants.
#[derive(Debug, Clone, Copy)]
pub struct Action<'a> {
    /// The action's name.
    pub name: &'a Untrusted<String>,
    /// Every value that goes out with it.
    pub fields: &'a [ActionField<'a>],
}

/// One value of an action.
#[derive(Debug, Clone, Copy)]
pub struct ActionField<'a> {
    /// Its place, in words of the schema, such as `to[0]`.
    pub path: &'a str,
    /// Its meaning.
    pub role: FieldRole,
    /// The model's value.
    pub value: &'a Untrusted<String>,
}

/// The meaning of a field, which decides the source that its value needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldRole {
    /// One mail address, with a display name or without, or a handle.
    Recipient,
    /// One host, with a port or without.
    Host,
    /// One web address.
    Url,
    /// One amount of money with its currency. If a schema has two fields, join them into one.
    Amount,
    /// One id.
    Id(CaseSensitivity),
    /// One phone or account number.
    Number,
    /// Text that people read.
    FreeText(FreeText),
    /// A number or a member of a closed list, as the schema makes sure. It mustn't leak the prompt.
    Plain,
}

/// Whether ids that differ in case are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseSensitivity {
    /// They are different.
    Exact,
    /// They are the same, for ASCII letters.
    Folded,
}

/// Text that people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeText {
    /// The widest circle that will read it.
    pub audience: Audience,
    /// Whether amounts, phone and account numbers need provenance too.
    pub figures: Figures,
}

/// Whether figures in a running text need provenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// Amounts, phone and account numbers have to be found like addresses.
    Checked,
    /// They may say anything.
    Ignored,
}

/// A trusted stretch of a text, which vouches for the values in it.
#[derive(Debug, Clone, Copy)]
pub struct TrustedExcerpt<'a> {
    /// The name of the text, for reports.
    pub name: &'a str,
    /// The whole text, so that a value that goes on outside the stretch is not found in it.
    pub text: &'a str,
    /// The trusted stretch, in bytes.
    pub span: Span,
}

impl<'a> TrustedExcerpt<'a> {
    /// A text that is trusted as a whole.
    #[must_use]
    pub const fn whole(name: &'a str, text: &'a str) -> Self {
        Self { name, text, span: Span { start: 0, end: text.len() } }
    }
}

/// A text from outside. It vouches for nothing. A failure says when the value is in it.
#[derive(Debug, Clone, Copy)]
pub struct OutsideText<'a> {
    /// The name of the text, for reports.
    pub name: &'a str,
    /// The text that a value may have been copied from.
    pub text: &'a Untrusted<String>,
}

/// The texts that an action is compared with.
#[derive(Debug, Clone, Copy)]
pub struct CheckContext<'a> {
    /// The names of the actions that exist, exactly as they are spelled.
    pub actions: &'a [&'a str],
    /// The names of those that are never taken, in any case and with any separators. They win.
    pub denied: &'a [&'a str],
    /// The values that may be named although no trusted text has them.
    pub allow: &'a Allowlist,
    /// The parts of the request that a person vouches for.
    pub trusted: &'a [TrustedExcerpt<'a>],
    /// The parts of the request from outside.
    pub untrusted: &'a [OutsideText<'a>],
    /// The label of the request: the join of those of all its sections.
    pub request: &'a Label,
    /// The prompt, which must not leak.
    pub prompt: ConfidentialPrompt<'a>,
}

/// A prompt whose words must not come out.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConfidentialPrompt<'a> {
    /// The system prompt.
    pub text: &'a str,
    /// The token in it that gives it away.
    pub canary: Option<&'a Canary>,
    /// Texts that anybody may repeat although the prompt has them too, such as the user's own task.
    /// The texts from outside are among them anyway: who wrote them knows them.
    pub quotable: &'a [&'a str],
}

/// A place in a text that the request was built from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// The name of the text.
    pub name: String,
    /// The place, in bytes.
    pub span: Span,
}

/// One rule that an action breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionViolation {
    /// The rule that the value breaks.
    pub rule: ActionRule,
    /// The path of the field, as given, or [`ACTION`].
    pub field: String,
    /// The place, in bytes of the field's value.
    pub span: Span,
    /// The text there, at most 80 bytes of it.
    pub excerpt: Untrusted<String>,
    /// The other place of the value, for one that only text from outside has.
    pub seen: Option<Sighting>,
}

impl ActionViolation {
    /// The rule's expectation.
    #[must_use]
    pub const fn expectation(&self) -> &'static str {
        self.rule.expectation()
    }
}

/// What [`check_action`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct ActionCheck {
    /// Every failure once, by field, place and rule.
    pub failures: Vec<ActionViolation>,
}

impl ActionCheck {
    /// Whether no rule is broken.
    #[must_use]
    pub const fn passes(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Compares an action with the rules. Every failure at once.
pub fn check_action(action: &Action<'_>, rules: &CheckContext<'_>) -> ActionCheck {
    let grounds = ProvenanceBasis::new(rules);
    let secrets = PromptSecrets::new(rules);

    let mut failures = Vec::new();
    check_action_name(action.name, rules, &mut failures);
    if action.fields.len() > MAX_FIELDS {
        failures.push(fail(RuleBreach::new(ActionRule::TooLarge, Span::default()), ACTION, action.name));
    }
    let mut leaks: Vec<(&ActionField<'_>, SecretOverlap)> = Vec::new();
    for field in action.fields.iter().take(MAX_FIELDS) {
        let value = field.value.value();
        let whole = Span::new(0, value.len());
        if value.len() > MAX_FIELD {
            failures.push(fail(RuleBreach::new(ActionRule::TooLarge, whole), field.path, field.value));
            continue;
        }
        let readings = decoded_readings(value);
        let mut found = grounds.field(field.role, value, field.value.label(), &readings);
        if !readings.complete {
            found.push(RuleBreach::new(ActionRule::TooDeep, whole));
        }
        let (of_prompt, of_canary) = secrets.compare(value, &readings);
        found.extend(of_canary.iter().map(|run| RuleBreach::new(ActionRule::CanaryLeak, run.span)));
        failures.extend(found.into_iter().map(|found| fail(found, field.path, field.value)));
        leaks.push((field, of_prompt));
    }
    failures.extend(leaked_prompt_runs(&secrets, &leaks));

    let order = |failure: &ActionViolation| (failure.field.clone(), failure.span, failure.rule);
    failures.sort_by_cached_key(|failure| (order(failure), failure.excerpt.value().clone(), failure.seen.clone()));
    failures.dedup_by(|a, b| order(a) == order(b));
    ActionCheck { failures }
}

/// The action's name: denied before allowed, unknown refused.
fn check_action_name(name: &Untrusted<String>, rules: &CheckContext<'_>, failures: &mut Vec<ActionViolation>) {
    let text = name.value();
    let fold = |name: &str| -> String {
        normalise_text(name).text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let whole = Span::new(0, text.len());
    if text.len() <= MAX_EXCERPT.saturating_mul(4) && rules.denied.iter().any(|denied| fold(denied) == fold(text)) {
        failures.push(fail(RuleBreach::new(ActionRule::ActionDenied, whole), ACTION, name));
    } else if !rules.actions.contains(&text.as_str()) {
        failures.push(fail(RuleBreach::new(ActionRule::ActionUnknown, whole), ACTION, name));
    }
}

/// The parts of a prompt that must not leak.
struct PromptSecrets<'a> {
    rules: &'a CheckContext<'a>,
    /// Made when the first value is long enough to repeat something.
    prompt: OnceCell<SecretShingles>,
    canary: SecretShingles,
}

impl<'a> PromptSecrets<'a> {
    fn new(rules: &'a CheckContext<'a>) -> Self {
        let canary = SecretShingles::token(rules.prompt.canary.map_or("", Canary::as_str), CANARY_PART);
        Self { rules, prompt: OnceCell::new(), canary }
    }

    fn prompt(&self) -> &SecretShingles {
        self.prompt.get_or_init(|| {
            let outside = self.rules.untrusted.iter().map(|outside| outside.text.value().as_str());
            let quotable = self.rules.prompt.quotable.iter().copied().chain(outside);
            SecretShingles::prompt(self.rules.prompt.text, quotable)
        })
    }

    /// The common parts of a value and its readings with the prompt, and with its canary.
    fn compare(&self, value: &str, readings: &DecodedTexts) -> (SecretOverlap, SecretOverlap) {
        let (mut of_prompt, mut of_canary) = (SecretOverlap::default(), SecretOverlap::default());
        if self.rules.prompt.text.is_empty() && self.canary.is_empty() {
            return (of_prompt, of_canary);
        }
        let decoded = readings.decoded.iter().map(|reading| (reading.text.as_str(), Some(reading)));
        for (text, reading) in core::iter::once((value, None)).chain(decoded) {
            let letters = Letters::of(text);
            if letters.len() >= leak::SHINGLE {
                self.prompt().compare(&letters, reading, &mut of_prompt);
            }
            self.canary.compare(&letters, reading, &mut of_canary);
        }
        (of_prompt, of_canary)
    }
}

/// Runs of the prompt that are long enough, or all runs if there are many in all fields together.
fn leaked_prompt_runs(
    secrets: &PromptSecrets<'_>,
    leaks: &[(&ActionField<'_>, SecretOverlap)],
) -> Vec<ActionViolation> {
    let many = leak::shared_letters(leaks.iter().flat_map(|(_, shared)| shared)) >= leak::MANY_LETTERS;
    let mut failures = Vec::new();
    for (field, shared) in leaks {
        let mut runs: Vec<Span> =
            shared.iter().filter(|run| many || secrets.prompt().is_leak(run)).map(|run| run.span).collect();
        runs.sort_unstable();
        let mut merged: Vec<Span> = Vec::new();
        for run in runs {
            match merged.last_mut() {
                Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                _ => merged.push(run),
            }
        }
        failures.extend(
            merged.into_iter().map(|span| fail(RuleBreach::new(ActionRule::PromptLeak, span), field.path, field.value)),
        );
    }
    failures
}

fn fail(breach: RuleBreach, path: &str, value: &Untrusted<String>) -> ActionViolation {
    let RuleBreach { rule, span, seen } = breach;
    let text = value.value();
    let end = text.floor_char_boundary(span.end.min(span.start.saturating_add(MAX_EXCERPT)));
    let excerpt = text.get(span.start..end).unwrap_or_default();
    let excerpt = Untrusted::new(String::from(excerpt), value.label().clone());
    ActionViolation { rule, field: String::from(path), span, excerpt, seen }
}

/// The example on the concepts page runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/concepts/checks.md")]
struct Page;
