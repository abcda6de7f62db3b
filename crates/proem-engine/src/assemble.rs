//! Assembles a prompt: inputs in, sections of a request and their account out.
//!
//! Invariants: same arguments, same bytes; nothing is left out without standing in the report;
//! text from outside stands only between the delimiters that [`proem_guard::contain()`] made;
//! volatile inputs never change a byte above the last boundary (stable sections are fitted first,
//! against their share of each limit, without looking at the rest); nor does a profile, which no limit cuts.

mod choose;
mod learned;
mod render;

use std::borrow::Cow;
use std::collections::BTreeMap;

use proem_guard::InstallationKey;
use proem_text::{Label, span::Span};

use self::choose::{Choice, Limit, ModelWindow, RungSelection};
use self::learned::ProfileText;
pub(crate) use self::render::PlacedContainment;
use self::render::Renderer;
use crate::assembly::{Assembly, PlacedSection};
use crate::budget::AnswerLength;
use crate::error::Error;
use crate::input::{DeclaredTrust, Inputs};
use crate::profile::Profile;
use crate::prompt::loaded::Prompt;
use crate::report::{self, Report, SectionReport};
use crate::section::{Layer, SectionGroup, Trust};
use crate::tokens::CachingCounter;

/// Limits and keys of one assembly.
#[derive(Debug)]
pub struct AssemblyOptions<'o> {
    /// The installation's key, from which delimiters are derived.
    pub key: &'o InstallationKey,
    /// The most tokens by layer; a layer that isn't here is only bound by the whole.
    pub layers: &'o BTreeMap<Layer, usize>,
    /// The most tokens of the layers `context` and `code` together; `None` leaves each to its own limit.
    pub context_and_code: Option<usize>,
    /// The most tokens in all, the answer not counted; `None` leaves it to the prompt file.
    pub input_tokens: Option<usize>,
    /// Whether `input_tokens` stands in place of the file's limit, because a person asked for it, and is not only a
    /// further one.
    pub replaces_budget: bool,
    /// The tokens of prompt and answer together, as far as the prompt may use them; `None` is unknown.
    pub window: Option<usize>,
    /// The tokens kept free for the answer, as [`AnswerLength::tokens`] gives them; `None` leaves it to the prompt file.
    pub output_tokens: Option<usize>,
    /// The tokens of the prompt that this one replaces, if it is known.
    pub monolithic: Option<usize>,
    /// Whether the prompt's declarations of trust hold for these inputs.
    pub declared: DeclaredTrust,
    /// What was learned from failures and is asked for: a section of its own below everything that is
    /// stable, always whole. `None`, or an empty one, leaves it out.
    pub profile: Option<&'o Profile>,
}

/// No caps of layers.
static UNCAPPED: BTreeMap<Layer, usize> = BTreeMap::new();

impl<'o> AssemblyOptions<'o> {
    /// An assembly under this key that only the prompt file limits, whose declarations of trust hold.
    #[must_use]
    pub const fn new(key: &'o InstallationKey) -> Self {
        Self {
            key,
            layers: &UNCAPPED,
            context_and_code: None,
            input_tokens: None,
            replaces_budget: false,
            window: None,
            output_tokens: None,
            monolithic: None,
            declared: DeclaredTrust::Holds,
            profile: None,
        }
    }
}

/// Makes a request's sections from a prompt and its inputs.
///
/// # Errors
///
/// [`InvalidInput`](crate::ErrorKind::InvalidInput) with every problem and its path,
/// [`TrustViolation`](crate::ErrorKind::TrustViolation), [`BudgetTooSmall`](crate::ErrorKind::BudgetTooSmall) naming what
/// can't shrink, or [`Render`](crate::ErrorKind::Render).
pub fn assemble_request(
    prompt: &Prompt,
    inputs: &Inputs,
    counts: &mut CachingCounter<'_>,
    options: &AssemblyOptions<'_>,
) -> Result<(Assembly, Report), Error> {
    let mut renderer = Renderer::new(prompt, inputs, counts, options)?;
    let learned = ProfileText::of(prompt, options.profile, renderer.counts.counter())?;
    let limits = token_limits(prompt, options, learned.as_ref());
    let choices = choose::everything(&mut renderer)?;
    let chosen = choose::choose_rungs(&mut renderer, choices, &limits)?;
    Ok(place_sections(prompt, &chosen, learned.as_ref(), options, renderer.counts))
}

/// The limits that hold: every capped layer, then the whole.
fn token_limits(prompt: &Prompt, options: &AssemblyOptions<'_>, learned: Option<&ProfileText>) -> Vec<Limit> {
    let limit = |layer: Option<Layer>, tokens: u64| {
        let learned = learned.filter(|_| layer.is_none_or(|layer| layer == learned::LAYER));
        Limit {
            layer,
            and: None,
            tokens,
            learned: learned.map_or(0, |learned| tokens_as_u64(learned.tokens)),
            window: None,
        }
    };
    let layers = options.layers.iter().map(|(layer, tokens)| limit(Some(*layer), tokens_as_u64(*tokens)));
    let both = options.context_and_code;
    let both =
        both.map(|tokens| Limit { and: Some(Layer::Code), ..limit(Some(Layer::Context), tokens_as_u64(tokens)) });
    let whole = whole_limit(prompt, options).map(|(tokens, window)| Limit { window, ..limit(None, tokens) });
    layers.chain(both).chain(whole).collect()
}

/// The most tokens in all, with the window where that is why: the lowest of the window less the answer, the caller's
/// limit, and the file's if the caller's doesn't replace it.
fn whole_limit(prompt: &Prompt, options: &AssemblyOptions<'_>) -> Option<(u64, Option<ModelWindow>)> {
    let of_file =
        prompt.file.strict.input_budget.filter(|_| !(options.replaces_budget && options.input_tokens.is_some()));
    let asked = [of_file, options.input_tokens].into_iter().flatten().min().map(tokens_as_u64);
    let window = options.window.map(|tokens| {
        let (tokens, answer) = (tokens_as_u64(tokens), tokens_as_u64(answer_tokens(prompt, options)));
        (tokens.saturating_sub(answer), Some(ModelWindow { tokens, answer }))
    });
    // Of equal limits the first is named.
    [asked.map(|tokens| (tokens, None)), window].into_iter().flatten().min_by_key(|(tokens, _)| *tokens)
}

/// The tokens that are kept free for the answer.
fn answer_tokens(prompt: &Prompt, options: &AssemblyOptions<'_>) -> usize {
    options.output_tokens.unwrap_or_else(|| AnswerLength::of(None, prompt).wanted())
}

/// What stands in a request, or would stand there if anything were left of it.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Section(&'a Choice<'a>),
    Learned(&'a ProfileText),
}

impl<'a> Item<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Section(choice) => choice.shown.text(),
            Self::Learned(learned) => &learned.text,
        }
    }

    fn keyless_text(self) -> Cow<'a, str> {
        match self {
            Self::Section(choice) => choice.shown.keyless_text(),
            Self::Learned(learned) => learned.text.as_str().into(),
        }
    }

    /// The section where it stands, if anything is left of it, and its account.
    fn placed(self, range: Span, tokens: usize) -> (Option<PlacedSection>, SectionReport) {
        match self {
            Self::Section(choice) => choice.placed(range, tokens),
            Self::Learned(learned) => {
                let (placed, report) = learned.placed(range, tokens);
                (Some(placed), report)
            }
        }
    }
}

impl Choice<'_> {
    fn placed(&self, range: Span, tokens: usize) -> (Option<PlacedSection>, SectionReport) {
        let (section, shown, full) = (self.section, &self.shown, self.full.tokens);
        if shown.is_empty() {
            return (None, report::report_section(section, report::SectionPlacement::Absent, full, self.shrunk(), &[]));
        }
        let at = report::SectionPlacement::At { range, tokens };
        let mut report = report::report_section(section, at, full, self.shrunk(), shown.contained());
        // Nobody vouches for a section that prints text from outside after all.
        let label = label_of(shown.contained());
        report.trust = if label.is_trusted() { section.spec.trust } else { Trust::Untrusted };
        let placed = PlacedSection {
            name: section.spec.name.clone(),
            role: section.role,
            trust: report.trust,
            cache: section.spec.cache,
            layer: section.spec.layer,
            rank: section.spec.rank(),
            label,
            text: shown.text().to_owned(),
            tokens,
            range,
        };
        (Some(placed), report)
    }
}

/// The join of the labels of what was contained.
pub(crate) fn label_of(contained: &[PlacedContainment]) -> Label {
    contained.iter().fold(Label::trusted(), |label, placed| label.join(placed.contained.label()))
}

/// Lays the chosen sections and the profile one behind the other, and accounts for them.
fn place_sections(
    prompt: &Prompt,
    chosen: &RungSelection<'_>,
    learned: Option<&ProfileText>,
    options: &AssemblyOptions<'_>,
    counts: &mut CachingCounter<'_>,
) -> (Assembly, Report) {
    let mut items: Vec<Item<'_>> = chosen.choices.iter().map(Item::Section).collect();
    if let Some(learned) = learned {
        items.insert(learned::profile_place(&prompt.file.sections).min(items.len()), Item::Learned(learned));
    }
    let texts: Vec<&str> = items.iter().map(|item| item.text()).collect();
    let (mut sections, mut reports) = (Vec::new(), Vec::new());
    let mut offset = 0usize;
    // Counted together: a token can reach over the line between two sections, and the sum is what a
    // provider charges for.
    for (item, tokens) in items.iter().zip(counts.count_joined(&texts)) {
        let range = Span::new(offset, offset.saturating_add(item.text().len()));
        offset = range.end;
        let (placed, report) = item.placed(range, tokens);
        sections.extend(placed);
        reports.push(report);
    }
    let assembly = Assembly {
        prompt: prompt.id.clone(),
        boundaries: boundaries(&sections),
        sections,
        output_tokens: answer_tokens(prompt, options),
    };
    let facts = report::AssemblyFigures {
        content_hash: report::texts_hash(items.iter().map(|item| item.keyless_text())),
        key_id: options.key.id(),
        limit: whole_limit(prompt, options).map(|(tokens, _)| tokens),
        worth: chosen.worth,
        bound: chosen.bound,
        monolithic: options.monolithic,
    };
    let report = report::assembly_report(prompt, &assembly, reports, counts.counter(), facts);
    (assembly, report)
}

fn tokens_as_u64(tokens: usize) -> u64 {
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// The last section of each stable group that is there.
fn boundaries(sections: &[PlacedSection]) -> Vec<usize> {
    // Three ranks are one group: only a file's change moves any of them, and providers take four breakpoints at
    // the most.
    let group = |rank: SectionGroup| match rank {
        SectionGroup::Constitution | SectionGroup::Rules | SectionGroup::TrustedStatic => 0,
        SectionGroup::TrustedPerRun => 1,
        SectionGroup::UntrustedStatic => 2,
        SectionGroup::UntrustedPerRun => 3,
        _ => 4,
    };
    let last_of = |wanted: u8| sections.iter().rposition(|section| group(section.rank) == wanted);
    (0..4).filter_map(last_of).collect()
}
