//! Assembles a prompt: inputs in, sections of a request and their account out.
//!
//! Invariants: same arguments, same bytes. Nothing is left out without standing in the report. Text from outside is
//! only between the delimiters that [`proem_guard::contain()`] made. Volatile inputs never change a byte above the last
//! boundary (stable sections are fitted first, against their share of each limit, without looking at the rest); nor
//! does a profile, which no limit cuts.

mod choose;
pub(crate) mod placement;
mod profile_section;
mod render;

use std::borrow::Cow;
use std::collections::BTreeMap;

use proem_guard::InstallationKey;
use proem_text::span::Span;

use self::choose::{Choice, Limit, ModelWindow, RungSelection};
use self::placement::label_of;
use self::profile_section::ProfileText;
use self::render::{RenderedMedia, Renderer};
use crate::assembly::{Assembly, PlacedSection, SectionPart};
use crate::budget::AnswerLength;
use crate::error::Error;
use crate::history::{self, HistoryReading, HistoryTurn};
use crate::input::{DeclaredTrust, Inputs};
use crate::profile::Profile;
use crate::prompt::compiled_prompt::Prompt;
use crate::prompt::file::Section;
use crate::providers::Model;
use crate::report::{self, Report, SectionReport};
use crate::section::{CacheClass, Layer, SectionGroup, Trust};
use crate::tokens::CachingCounter;

/// The most boundaries of a request. Providers that take breakpoints take four (`providers.toml`).
const MOST_BOUNDARIES: usize = 4;

/// Limits and keys of one assembly.
#[derive(Debug)]
pub struct AssemblyOptions<'o> {
    /// The installation's key, from which delimiters are derived.
    pub key: &'o InstallationKey,
    /// The most tokens by layer. A layer that isn't here is only bound by the whole.
    pub layers: &'o BTreeMap<Layer, usize>,
    /// The most tokens of the layers `context` and `code` together. `None` leaves each to its own limit.
    pub context_and_code: Option<usize>,
    /// The most tokens in all, the answer not counted. `None` leaves it to the prompt file.
    pub input_tokens: Option<usize>,
    /// Whether `input_tokens` is in place of the file's limit, because a person asked for it, and is not only a further
    /// one.
    pub replaces_budget: bool,
    /// The tokens of prompt and answer together, as far as the prompt may use them. `None` is unknown.
    pub window: Option<usize>,
    /// The tokens kept free for the answer, as [`AnswerLength::tokens`] gives them. `None` leaves it to the prompt
    /// file.
    pub output_tokens: Option<usize>,
    /// The tokens of the prompt that this one replaces, if it is known.
    pub monolithic: Option<usize>,
    /// Whether the prompt's declarations of trust hold for these inputs.
    pub declared: DeclaredTrust,
    /// The profile learned from failures, if it is asked for: a section of its own below everything stable, always
    /// whole. `None` or an empty profile leaves it out.
    pub profile: Option<&'o Profile>,
    /// The model that is asked, for what it takes of pictures and files. `None` takes the dearest counts.
    pub model: Option<&'o Model>,
    /// The text that `{{output_format}}` prints. `None` prints nothing.
    pub output_format: Option<&'o str>,
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
            model: None,
            output_format: None,
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
    let history = match inputs.get(history::INPUT).filter(|_| prompt.file.history.is_some()) {
        Some(value) => {
            let reading = HistoryReading { prompt, key: options.key, declared: options.declared };
            reading.turns(value, renderer.counts)?
        }
        None => Vec::new(),
    };
    let extras = Extras { learned, history };
    let limits = token_limits(prompt, options, &extras);
    let choices = choose::everything(&mut renderer)?;
    let chosen = choose::choose_rungs(&mut renderer, choices, &limits)?;
    Ok(place_sections(prompt, &chosen, &extras, options, renderer.counts))
}

/// The parts of a request beside the sections of its prompt file, always whole.
#[derive(Debug)]
struct Extras {
    learned: Option<ProfileText>,
    history: Vec<HistoryTurn>,
}

/// The limits that hold: every capped section, every capped layer, then the whole.
fn token_limits(prompt: &Prompt, options: &AssemblyOptions<'_>, extras: &Extras) -> Vec<Limit> {
    let turns = extras.history.iter().fold(0, |sum: u64, turn| sum.saturating_add(tokens_as_u64(turn.tokens)));
    let limit = |layer: Option<Layer>, tokens: u64| {
        let counts = |own: Layer| layer.is_none_or(|layer| layer == own);
        let learned = extras.learned.as_ref().filter(|_| counts(profile_section::LAYER));
        let learned = learned.map_or(0, |learned| tokens_as_u64(learned.tokens));
        let history = if counts(history::LAYER) { turns } else { 0 };
        Limit { layer, and: None, section: None, tokens, learned, history, window: None }
    };
    let own = |(number, section): (usize, &Section)| {
        let tokens = tokens_as_u64(section.spec.budget?);
        Some(Limit { section: Some(number), learned: 0, history: 0, ..limit(None, tokens) })
    };
    let sections = prompt.file.sections.iter().enumerate().filter_map(own);
    let layers = options.layers.iter().map(|(layer, tokens)| limit(Some(*layer), tokens_as_u64(*tokens)));
    let both = options.context_and_code;
    let both =
        both.map(|tokens| Limit { and: Some(Layer::Code), ..limit(Some(Layer::Context), tokens_as_u64(tokens)) });
    let whole = whole_limit(prompt, options).map(|(tokens, window)| Limit { window, ..limit(None, tokens) });
    sections.chain(layers).chain(both).chain(whole).collect()
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

/// An item in a request, or one that would be in it if anything of it were left.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Section(&'a Choice<'a>),
    Learned(&'a ProfileText),
    Turn(&'a HistoryTurn),
}

impl<'a> Item<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Section(choice) => choice.shown.text(),
            Self::Learned(learned) => &learned.text,
            Self::Turn(turn) => turn.text(),
        }
    }

    /// Its bytes in the request's text, and the tokens that pictures and files count beside it.
    fn size(self) -> (usize, usize) {
        let Self::Section(choice) = self else { return (self.text().len(), 0) };
        let tokens = choice.shown.media().iter().fold(0_usize, |sum, media| sum.saturating_add(media.tokens));
        (choice.shown.bytes(), tokens)
    }

    fn keyless_text(self) -> Cow<'a, str> {
        match self {
            Self::Section(choice) => choice.shown.keyless_text(),
            Self::Learned(learned) => learned.text.as_str().into(),
            Self::Turn(turn) => turn.keyless_text.as_str().into(),
        }
    }

    /// The section where it is, in as many parts as it has, and its account.
    fn place_at(self, range: Span, tokens: usize) -> (Vec<PlacedSection>, SectionReport) {
        let (placed, report) = match self {
            Self::Section(choice) => return choice.place_at(range, tokens),
            Self::Learned(learned) => learned.place_at(range, tokens),
            Self::Turn(turn) => turn.place_at(range, tokens),
        };
        (vec![placed], report)
    }
}

impl Choice<'_> {
    fn place_at(&self, range: Span, tokens: usize) -> (Vec<PlacedSection>, SectionReport) {
        let (section, shown, full) = (self.section, &self.shown, self.full.tokens);
        if shown.is_empty() {
            return (
                Vec::new(),
                report::report_section(section, report::SectionPlacement::Absent, full, self.shrunk(), &[]),
            );
        }
        let at = report::SectionPlacement::At { range, tokens };
        let mut report = report::report_section(section, at, full, self.shrunk(), shown.contained());
        // Nobody vouches for a section that prints text from outside after all.
        let media = shown.media();
        let label = media.iter().fold(label_of(shown.contained()), |label, media| label.join(&media.label));
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
            part: None,
        };
        if media.is_empty() {
            return (vec![placed], report);
        }
        report.sources = report::sources(&placed.label);
        report.media = media.iter().map(RenderedMedia::report).collect();
        (parts_of(&placed, media), report)
    }
}

/// A part of the request for each picture or file of a section.
fn parts_of(section: &PlacedSection, media: &[RenderedMedia]) -> Vec<PlacedSection> {
    let mut start = section.range.start;
    let part = |(number, media): (usize, &RenderedMedia)| {
        let range = Span::new(start, start.saturating_add(media.found.text.len()));
        start = range.end;
        let name = &section.name;
        PlacedSection {
            name: if number == 1 { name.clone() } else { format!("{name}/{number}") },
            label: media.label.clone(),
            text: media.found.text.clone(),
            tokens: media.tokens,
            range,
            part: Some(SectionPart::Media { source: media.found.source.clone(), most_tokens: media.most_tokens }),
            ..section.clone()
        }
    };
    (1_usize..).zip(media).map(part).collect()
}

/// Lays the chosen sections and the profile one behind the other, and accounts for them.
fn place_sections(
    prompt: &Prompt,
    chosen: &RungSelection<'_>,
    extras: &Extras,
    options: &AssemblyOptions<'_>,
    counts: &mut CachingCounter<'_>,
) -> (Assembly, Report) {
    let mut items: Vec<Item<'_>> = Vec::new();
    let profile = profile_section::profile_place(&prompt.file.sections);
    for place in 0..=chosen.choices.len() {
        // A profile is nobody's turn: it is before the conversation.
        items.extend(extras.learned.as_ref().filter(|_| place == profile).map(Item::Learned));
        if prompt.file.history == Some(place) {
            items.extend(extras.history.iter().map(Item::Turn));
        }
        items.extend(chosen.choices.get(place).map(Item::Section));
    }
    let texts: Vec<&str> = items.iter().map(|item| item.text()).collect();
    let (mut sections, mut reports) = (Vec::new(), Vec::new());
    let (mut last_turn, mut before_turns_is_stable) = (None, true);
    let mut offset = 0usize;
    // Counted together: a token can reach over the line between two sections, and the sum is what a
    // provider charges for.
    for (item, tokens) in items.iter().zip(counts.count_joined(&texts)) {
        let (bytes, media) = item.size();
        let range = Span::new(offset, offset.saturating_add(bytes));
        offset = range.end;
        let (placed, report) = item.place_at(range, tokens.saturating_add(media));
        match item {
            Item::Turn(_) if before_turns_is_stable => last_turn = Some(sections.len()),
            // A profile is the same in all turns of a run.
            Item::Turn(_) | Item::Learned(_) => {}
            Item::Section(choice) => {
                before_turns_is_stable &= placed.is_empty() || choice.section.spec.cache != CacheClass::Never;
            }
        }
        sections.extend(placed);
        reports.push(report);
    }
    let assembly = Assembly {
        prompt: prompt.id.clone(),
        boundaries: boundaries(&sections, last_turn),
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

/// The last section of each stable group that is there, and the last turn of a history: the next request of the
/// conversation has the same bytes up to there.
fn boundaries(sections: &[PlacedSection], last_turn: Option<usize>) -> Vec<usize> {
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
    let stable: Vec<usize> = (0..4).filter_map(last_of).collect();
    // The longest save the most.
    let surplus = stable.len().saturating_add(usize::from(last_turn.is_some())).saturating_sub(MOST_BOUNDARIES);
    stable.into_iter().skip(surplus).chain(last_turn).collect()
}
