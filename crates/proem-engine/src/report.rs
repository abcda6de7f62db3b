//! The account of an assembly: every token, every decision, every cut.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proem_text::{Label, Sources, span::Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::assemble::placement::{PlacedContainment, label_of};
use crate::assembly::{Assembly, PlacedSection};
use crate::media::MediaFacts;
use crate::message::Role;
use crate::prompt::compiled_prompt::Prompt;
use crate::prompt::file::Section;
use crate::prompt::origin::Origin;
use crate::section::{CacheClass, Layer, Rung, SectionPriority, Trust};
use crate::tokens::{Exactness, TokenCounter};

/// The account of one assembly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The prompt, its version and its files.
    pub prompt: PromptReport,
    /// The counter of the tokens.
    pub counter: CounterReport,
    /// Every declared section in request order, those left out too.
    pub sections: Vec<SectionReport>,
    /// The tokens of all sections together.
    pub totals: Totals,
    /// How good the fit is.
    pub fit: FitReport,
    /// SHA-256 of the request's text, hexadecimal.
    pub hash: String,
    /// The same with every delimiter's id blanked, so that it is equal under every key.
    pub content_hash: String,
    /// The installation key's id. The key itself is in no report.
    pub key_id: String,
}

impl Report {
    /// The inputs that limits kept out of the request: one sentence for each section that was shortened or left out.
    #[must_use]
    pub fn cuts(&self) -> Vec<String> {
        let cut = |section: &SectionReport| section.state.cut_in_words(&section.name, section.reason.as_deref());
        self.sections.iter().filter_map(cut).collect()
    }
}

/// The prompt that was assembled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptReport {
    /// `agent/name`.
    pub name: String,
    /// Its version. `1.0.0+hash` if it is not locked.
    pub version: String,
    /// SHA-256 of the file with its partials and schemas.
    pub closure: String,
    /// The files and who wrote each.
    pub files: Vec<FileReport>,
}

/// One file of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileReport {
    /// Its path in the book.
    pub path: String,
    /// The origin.
    pub origin: Origin,
}

/// The counter of the tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CounterReport {
    /// Its name, such as `o200k`.
    pub name: String,
    /// How far it can be relied on.
    pub exactness: Exactness,
}

/// The state of a section after assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "State")]
pub enum SectionState {
    /// All of it is there.
    Kept,
    /// Some of it is there.
    Shrunk,
    /// None of it is there, for want of tokens.
    Dropped,
    /// There was nothing to say.
    Empty,
}

proem_text::word_table! {
    /// Its word in reports and cases.
    pub SectionState {
        Kept = "kept",
        Shrunk = "shrunk",
        Dropped = "dropped",
        Empty = "empty",
    }
}

impl SectionState {
    /// The missing part of the section of this name and the reason, in one sentence. `None` if nothing is missing.
    #[must_use]
    pub fn cut_in_words(self, section: &str, reason: Option<&str>) -> Option<String> {
        let became = match self {
            Self::Dropped => "is not in the request",
            Self::Shrunk => "is shortened",
            Self::Kept | Self::Empty => return None,
        };
        Some(format!("section `{section}` {became}: {}", reason.unwrap_or("over budget")))
    }
}

/// The account of one section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionReport {
    /// Its name in the prompt file.
    pub name: String,
    /// The role of its message.
    pub role: Role,
    /// How much it may bind the model.
    pub trust: Trust,
    /// How long its bytes stay the same.
    pub cache: CacheClass,
    /// The layer whose cap it counts towards.
    pub layer: Layer,
    /// The section's state after all limits.
    pub state: SectionState,
    /// Why it is smaller than it was, or absent.
    pub reason: Option<String>,
    /// Its tokens.
    pub tokens: usize,
    /// Its tokens before anything was cut.
    pub full_tokens: usize,
    /// Its bytes in the request's text. Null if it is absent.
    pub range: Option<Range>,
    /// The sources of its text from outside. `many` if there are too many to name.
    pub sources: Vec<String>,
    /// The inputs that shrank, and to what.
    pub shrunk: Vec<ShrunkReport>,
    /// The counts of neutralised or removed pieces of outside text, by kind.
    pub neutralised: BTreeMap<String, usize>,
    /// The place of each piece of outside text in the request's text.
    pub contained: Vec<Range>,
    /// The pictures and files that it brings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediaReport>,
}

/// The account of a picture or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaReport {
    /// Its facts. Absent if the provider fetches it.
    #[serde(flatten)]
    pub facts: Option<MediaFacts>,
    /// The address for the provider. Absent if the file is in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its tokens, as its provider publishes how they are counted.
    pub tokens: usize,
    /// Whether they are a guess or the most that it can count, since nothing tells its size or how the model counts.
    pub is_bound: bool,
}

impl MediaReport {
    /// It in a few words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let about = if self.is_bound { "at most about" } else { "about" };
        let what = match (&self.facts, &self.address) {
            (Some(facts), _) => format!("{}, sha256 {}", facts.in_words(), facts.hash.get(..12).unwrap_or_default()),
            (None, Some(address)) => format!("`{}`", proem_guard::show::terminal_str(address)),
            (None, None) => "nothing".to_owned(),
        };
        let unit = if self.tokens == 1 { "token" } else { "tokens" };
        format!("{what}, {about} {} {unit}", self.tokens)
    }
}

/// A range of bytes, half open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Range {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}

impl From<Span> for Range {
    fn from(span: Span) -> Self {
        Self { start: span.start, end: span.end }
    }
}

/// An input that is not shown in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShrunkReport {
    /// The input's name.
    pub input: String,
    /// The item of it, from 0, where each item shrinks for itself. Null is the input as a whole.
    pub item: Option<usize>,
    /// How much of it is shown.
    pub rung: Rung,
    /// The name of the version that is shown, of a text that brings several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Sums over the sections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// All tokens of the request's text.
    pub tokens: usize,
    /// Those whose bytes stay the same from task to task.
    pub prefix: usize,
    /// The tokens behind the last boundary, which every task pays for in full.
    pub suffix: usize,
    /// The limit they were fitted into. Null if there is none.
    pub limit: Option<u64>,
    /// The tokens kept free for the answer.
    pub output: usize,
    /// The tokens of the prompt that this one replaces. Null if none was given.
    pub monolithic: Option<usize>,
    /// Tokens saved against it, negative if this one is larger. Null if none was given.
    pub saved: Option<i64>,
}

/// How good the fit is, in priority × tenths kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FitReport {
    /// The value that is kept.
    pub worth: u64,
    /// The upper bound of every choice.
    pub bound: u64,
    /// The difference between the two.
    pub gap: u64,
}

/// The place of a section.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SectionPlacement {
    Absent,
    At { range: Span, tokens: usize },
}

/// Figures that only the assembly knows.
#[derive(Debug)]
pub(crate) struct AssemblyFigures {
    pub(crate) content_hash: String,
    pub(crate) key_id: String,
    pub(crate) limit: Option<u64>,
    pub(crate) worth: u64,
    pub(crate) bound: u64,
    pub(crate) monolithic: Option<usize>,
}

/// The account of one section.
pub(crate) fn report_section(
    section: &Section,
    place: SectionPlacement,
    full: usize,
    shrunk: Vec<ShrunkReport>,
    contained: &[PlacedContainment],
) -> SectionReport {
    let (range, tokens) = match place {
        SectionPlacement::Absent => (None, 0),
        SectionPlacement::At { range, tokens } => (Some(range), tokens),
    };
    // A lower rung may show all the same, such as the first line of a text of one line; where no token
    // is saved nothing shrank.
    let state = match (range, full) {
        (None, 0) => SectionState::Empty,
        (None, _) => SectionState::Dropped,
        (Some(_), _) if tokens < full && !shrunk.is_empty() => SectionState::Shrunk,
        (Some(_), _) => SectionState::Kept,
    };
    let start = range.map_or(0, |range| range.start);
    SectionReport {
        name: section.spec.name.clone(),
        role: section.role,
        trust: section.spec.trust,
        cache: section.spec.cache,
        layer: section.spec.layer,
        reason: section_reason(section, state, &shrunk, full.saturating_sub(tokens)),
        state,
        tokens,
        full_tokens: full,
        range: range.map(Range::from),
        sources: sources(&label_of(contained)),
        shrunk: if state == SectionState::Shrunk { shrunk } else { Vec::new() },
        neutralised: neutralised_counts(contained),
        contained: contained.iter().flat_map(|placed| ranges(placed, start)).collect(),
        media: Vec::new(),
    }
}

/// The account of what no limit cuts and no prompt file declares: a profile, the turns of a history.
pub(crate) fn unfitted_section(placed: &PlacedSection, full: usize, contained: &[PlacedContainment]) -> SectionReport {
    SectionReport {
        name: placed.name.clone(),
        role: placed.role,
        trust: placed.trust,
        cache: placed.cache,
        layer: placed.layer,
        state: SectionState::Kept,
        reason: None,
        tokens: placed.tokens,
        full_tokens: full,
        range: Some(Range::from(placed.range)),
        sources: sources(&placed.label),
        shrunk: Vec::new(),
        neutralised: neutralised_counts(contained),
        contained: contained.iter().flat_map(|inner| ranges(inner, placed.range.start)).collect(),
        media: Vec::new(),
    }
}

/// The places of outside pieces in a request whose section begins at `start`.
fn ranges(placed: &PlacedContainment, start: usize) -> impl Iterator<Item = Range> {
    let start = start.saturating_add(placed.at);
    let map = placed.contained.source_map().iter();
    map.map(move |at| Range { start: start.saturating_add(at.output.start), end: start.saturating_add(at.output.end) })
}

fn section_reason(section: &Section, state: SectionState, shrunk: &[ShrunkReport], lost: usize) -> Option<String> {
    let priority = match section.spec.keep {
        SectionPriority::Required => "required".to_owned(),
        SectionPriority::Priority(priority) => format!("priority {priority}"),
    };
    match state {
        SectionState::Kept => None,
        SectionState::Empty => Some("it has no input".into()),
        SectionState::Dropped => Some(format!("over budget ({priority}): {lost} tokens left out")),
        SectionState::Shrunk => {
            let steps = shrunk_steps(shrunk);
            Some(format!("over budget ({priority}): {}, {lost} tokens left out", steps.join(", ")))
        }
    }
}

/// The steps that items shrank by, equal ones counted together.
fn shrunk_steps(shrunk: &[ShrunkReport]) -> Vec<String> {
    let mut items: BTreeMap<(&str, Rung), usize> = BTreeMap::new();
    for step in shrunk.iter().filter(|step| step.item.is_some()) {
        let count = items.entry((&step.input, step.rung)).or_default();
        *count = count.saturating_add(1);
    }
    let inputs = shrunk.iter().filter(|step| step.item.is_none());
    let inputs = inputs.map(|step| match &step.version {
        Some(version) => format!("{} in the version `{version}`", step.input),
        None => format!("{} {}", step.input, rung_in_words(step.rung)),
    });
    inputs.chain(items.iter().map(|((input, rung), n)| format!("{n} of {input} {}", rung_in_words(*rung)))).collect()
}

/// The rest of an item at a rung of its ladder, in words.
const fn rung_in_words(rung: Rung) -> &'static str {
    match rung {
        Rung::Full => "in full",
        Rung::Parts => "in parts",
        Rung::Excerpt => "as an excerpt",
        Rung::Brief => "shortened",
        Rung::Outline => "as an outline",
        Rung::Named => "by name only",
        Rung::Count => "counted only",
        Rung::Omitted => "left out",
    }
}

pub(crate) fn sources(label: &Label) -> Vec<String> {
    match label.sources() {
        Sources::Named(named) => named.iter().map(ToString::to_string).collect(),
        Sources::Many => vec!["many".into()],
    }
}

fn neutralised_counts(contained: &[PlacedContainment]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for finding in contained.iter().flat_map(|placed| placed.contained.findings()) {
        let count: &mut usize = counts.entry(finding.kind.as_str().to_owned()).or_default();
        *count = count.saturating_add(1);
    }
    counts
}

/// SHA-256 of texts one behind the other, hexadecimal.
pub(crate) fn texts_hash<'t>(texts: impl Iterator<Item = Cow<'t, str>>) -> String {
    let mut hasher = Sha256::new();
    texts.for_each(|text| hasher.update(text.as_bytes()));
    proem_text::hex::encode_hex(hasher.finalize())
}

pub(crate) fn assembly_report(
    prompt: &Prompt,
    assembly: &Assembly,
    sections: Vec<SectionReport>,
    counter: &dyn TokenCounter,
    facts: AssemblyFigures,
) -> Report {
    let sum = |sections: &[PlacedSection]| sections.iter().fold(0usize, |sum, s| sum.saturating_add(s.tokens));
    let tokens = assembly.tokens();
    let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    Report {
        prompt: PromptReport {
            name: format!("{}/{}", assembly.prompt.agent, assembly.prompt.name),
            version: assembly.prompt.version.clone(),
            closure: assembly.prompt.closure.clone(),
            files: prompt
                .files
                .iter()
                .map(|(path, origin)| FileReport { path: path.clone(), origin: *origin })
                .collect(),
        },
        counter: CounterReport { name: counter.name().to_owned(), exactness: counter.exactness() },
        sections,
        totals: Totals {
            tokens,
            prefix: sum(assembly.prefix()),
            suffix: sum(assembly.suffix()),
            limit: facts.limit,
            output: assembly.output_tokens,
            monolithic: facts.monolithic,
            saved: facts.monolithic.map(|all| signed(all).saturating_sub(signed(tokens))),
        },
        fit: FitReport { worth: facts.worth, bound: facts.bound, gap: facts.bound.saturating_sub(facts.worth) },
        hash: texts_hash(assembly.sections.iter().map(|section| section.text.as_str().into())),
        content_hash: facts.content_hash,
        key_id: facts.key_id,
    }
}
