//! Assembles a prompt: inputs in, sections of a request and their account out.
//!
//! Invariants: same arguments, same bytes; nothing is left out without standing in the report;
//! text from outside stands only between the delimiters that [`proem_guard::contain()`] made;
//! volatile inputs never change a byte above the last boundary (stable sections are fitted first,
//! against half of each limit, without looking at the rest); nor does a profile, which no limit cuts.

mod choose;
mod learned;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use proem_guard::{Contained, Key};
use proem_text::{Label, span::Span};

use self::choose::Chosen;
use self::learned::Learned;
use crate::assembly::{Assembly, Placed};
use crate::error::{Error, ErrorKind};
use crate::input::{Checker, InputTrust, Inputs, Slots, complete};
use crate::ladder::shrink;
use crate::ordered::{Fields, Ordered};
use crate::profile::Profile;
use crate::prompt::file::Section;
use crate::prompt::loaded::Prompt;
use crate::report::{self, Report};
use crate::section::{Layer, Rank, Rung, Trust};
use crate::tokens::Counts;

/// Limits and keys of one assembly.
#[derive(Debug)]
pub struct Options<'o> {
    /// The installation's key, from which delimiters are derived.
    pub key: &'o Key,
    /// The most tokens by layer; a layer that isn't here is only bound by the whole.
    pub layers: &'o BTreeMap<Layer, usize>,
    /// The most tokens in all, the answer not counted; `None` leaves it to the prompt file.
    pub input_tokens: Option<usize>,
    /// The tokens kept free for the answer; `None` leaves it to the prompt file.
    pub output_tokens: Option<usize>,
    /// The tokens of the prompt that this one replaces, if it is known.
    pub monolithic: Option<usize>,
    /// What was learned from failures and is asked for: a section of its own below everything that is
    /// stable, always whole. `None`, or an empty one, leaves it out.
    pub profile: Option<&'o Profile>,
}

/// The tokens kept free for the answer where neither the caller nor the file says.
const DEFAULT_OUTPUT_TOKENS: usize = 4096;

/// Makes a request's sections from a prompt and its inputs.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] with every problem and its path, [`ErrorKind::TrustViolation`],
/// [`ErrorKind::BudgetTooSmall`] naming what can't shrink, or [`ErrorKind::Render`].
pub fn assemble(
    prompt: &Prompt,
    inputs: &Inputs,
    counts: &mut Counts<'_>,
    options: &Options<'_>,
) -> Result<(Assembly, Report), Error> {
    let mut bench = Bench::new(prompt, inputs, counts, options)?;
    let chosen = choose::choose(&mut bench)?;
    let rendered = bench.render_all(&chosen)?;
    Ok(bench.place(&rendered, &chosen))
}

/// One section's text.
#[derive(Debug, Default)]
struct Rendered {
    body: Body,
    tokens: usize,
}

/// Who wrote what stands in a section.
#[derive(Debug, Default)]
enum Body {
    /// Nothing stands there.
    #[default]
    Empty,
    /// We did.
    Ours(String),
    /// Somebody outside did, or may have; the text ends with a blank line of ours.
    Contained { text: String, contained: Arc<Contained> },
}

impl Rendered {
    fn text(&self) -> &str {
        match &self.body {
            Body::Empty => "",
            Body::Ours(text) => text,
            Body::Contained { text, .. } => text,
        }
    }

    const fn is_empty(&self) -> bool {
        matches!(self.body, Body::Empty)
    }

    fn contained(&self) -> Option<&Contained> {
        match &self.body {
            Body::Contained { contained, .. } => Some(contained),
            _ => None,
        }
    }
}

/// Everything one assembly works on.
struct Bench<'b, 'c> {
    prompt: &'b Prompt,
    inputs: &'b Inputs,
    counts: &'b mut Counts<'c>,
    options: &'b Options<'b>,
    slots: Slots,
    values: Ordered,
    full: Vec<Rc<Rendered>>,
    learned: Option<Learned>,
}

impl<'b, 'c> Bench<'b, 'c> {
    fn new(
        prompt: &'b Prompt,
        inputs: &'b Inputs,
        counts: &'b mut Counts<'c>,
        options: &'b Options<'b>,
    ) -> Result<Self, Error> {
        counts.remembered.under(options.key);
        Checker::trust(inputs, &prompt.file.strict.inputs)?;
        let defaults = prompt.file.header.input_default.as_ref();
        prompt.checker.check(inputs, defaults)?;
        let mut slots = Slots::new(inputs, defaults, &prompt.literals)?;
        let mut values = defaults.and_then(Ordered::fields).cloned().unwrap_or_default();
        for (name, value) in inputs {
            values.insert(name.as_str(), slots.fill(name, value, trust_of(prompt, name)));
        }
        let mut values = Ordered::from(values);
        complete(&mut values, &prompt.checker.schema);
        let learned = Learned::of(prompt, options.profile, counts.counter())?;
        let mut bench = Self { prompt, inputs, counts, options, slots, values, full: Vec::new(), learned };
        for section in &prompt.file.sections {
            let text = prompt.render(section, &bench.values)?;
            let rendered = bench.seal(section, text)?;
            bench.full.push(Rc::new(rendered));
        }
        Ok(bench)
    }

    fn section(&self, index: usize) -> Option<&'b Section> {
        self.prompt.file.sections.get(index)
    }

    /// Renders one section with its ladders on `rungs`.
    fn render(&mut self, index: usize, rungs: &[Rung]) -> Result<Rc<Rendered>, Error> {
        let Some(section) = self.section(index) else { return Ok(Rc::default()) };
        let mut notes = Vec::new();
        let mut shrunk_inputs: BTreeMap<&str, Ordered> = BTreeMap::new();
        for (ladder, rung) in section.spec.ladders.iter().zip(rungs).filter(|(_, rung)| **rung != Rung::Full) {
            let Some(value) = self.inputs.get(&ladder.input) else { continue };
            let shrunk = shrink(&ladder.input, value, *rung);
            notes.extend(shrunk.note);
            let mut value = self.slots.fill(&ladder.input, &shrunk.value, trust_of(self.prompt, &ladder.input));
            let properties = self.prompt.checker.schema.get("properties");
            if let Some(schema) = properties.and_then(|properties| properties.get(&ladder.input)) {
                complete(&mut value, schema);
            }
            shrunk_inputs.insert(&ladder.input, value);
        }
        if shrunk_inputs.is_empty() {
            return Ok(self.full.get(index).cloned().unwrap_or_default());
        }
        let read = section.inputs.iter().filter_map(|name| {
            let value = shrunk_inputs.remove(name.as_str()).or_else(|| self.values.get(name).cloned())?;
            Some((name.as_str(), value))
        });
        let values = read.collect::<Fields<_>>().into();
        let mut text = self.prompt.render(section, &values)?;
        for note in notes {
            text.push_str(&note);
            text.push('\n');
        }
        self.seal(section, text).map(Rc::new)
    }

    /// Puts texts from outside in their place, contained, and a blank line behind the section.
    fn seal(&mut self, section: &Section, mut text: String) -> Result<Rendered, Error> {
        if text.is_empty() {
            return Ok(Rendered::default());
        }
        if section.spec.trust == Trust::Untrusted {
            let pieces = self.slots.pieces(&text);
            let (name, tag) = (&section.spec.name, &section.spec.tag);
            let contained = self.counts.remembered.contain(name, &pieces, tag, self.options.key);
            let text = format!("{}\n", contained.text());
            let tokens = self.counts.count(&text);
            return Ok(Rendered { body: Body::Contained { text, contained }, tokens });
        }
        if self.slots.stand_in(&text) {
            let problem = format!("trust_violation: untrusted text reached section `{}`", section.spec.name);
            return Err(Error::new(ErrorKind::TrustViolation, problem));
        }
        text.push('\n');
        let tokens = self.counts.count(&text);
        Ok(Rendered { body: Body::Ours(text), tokens })
    }

    fn render_all(&mut self, chosen: &Chosen) -> Result<Vec<Rc<Rendered>>, Error> {
        let mut all = Vec::new();
        for (index, rungs) in chosen.rungs.iter().enumerate() {
            let dropped = chosen.dropped.get(index).copied().unwrap_or(false);
            all.push(if dropped { Rc::default() } else { self.render(index, rungs)? });
        }
        Ok(all)
    }

    /// The limits that hold: every capped layer, then the whole.
    fn limits(&self) -> Vec<(Option<Layer>, u64)> {
        let mut limits: Vec<(Option<Layer>, u64)> =
            self.options.layers.iter().map(|(layer, tokens)| (Some(*layer), wide(*tokens))).collect();
        limits.extend(self.whole().map(|tokens| (None, tokens)));
        limits
    }

    /// The tokens that the profile takes of a limit on `layer`, or on everything.
    fn learned_tokens(&self, layer: Option<Layer>) -> u64 {
        match &self.learned {
            Some(learned) if layer.is_none_or(|layer| layer == learned::LAYER) => wide(learned.tokens),
            _ => 0,
        }
    }

    /// The most tokens in all: the file's limit or the caller's, whichever is lower.
    fn whole(&self) -> Option<u64> {
        let limits = [self.prompt.file.strict.input_budget, self.options.input_tokens];
        limits.into_iter().flatten().min().map(wide)
    }

    fn place(self, rendered: &[Rc<Rendered>], chosen: &Chosen) -> (Assembly, Report) {
        let mut sections = Vec::new();
        let mut reports = Vec::new();
        let at = self.learned.as_ref().map_or(usize::MAX, |_| learned::place(&self.prompt.file.sections));
        let texts = texts(rendered, self.learned.as_ref(), at);
        let mut tokens = self.counts.count_joined(&texts).into_iter();
        let mut offset = 0usize;
        let mut next = |text: &str| {
            let range = Span::new(offset, offset.saturating_add(text.len()));
            offset = range.end;
            (range, tokens.next().unwrap_or(0))
        };
        for (index, (section, rendered)) in self.prompt.file.sections.iter().zip(rendered).enumerate() {
            if let Some(learned) = self.learned.as_ref().filter(|_| index == at) {
                learned.put(next(&learned.text), &mut sections, &mut reports);
            }
            let rungs = chosen.rungs.get(index).map_or(&[][..], Vec::as_slice);
            let full = self.full.get(index).map_or(0, |full| full.tokens);
            if rendered.is_empty() {
                reports.push(report::section(section, report::Place::Absent, full, rungs, None));
                continue;
            }
            let (range, tokens) = next(rendered.text());
            let placed = report::Place::At { range, tokens };
            reports.push(report::section(section, placed, full, rungs, rendered.contained()));
            sections.push(Placed {
                name: section.spec.name.clone(),
                role: section.role,
                trust: section.spec.trust,
                cache: section.spec.cache,
                layer: section.spec.layer,
                rank: section.spec.rank(),
                label: rendered.contained().map_or_else(Label::trusted, |c| c.label().clone()),
                text: rendered.text().to_owned(),
                tokens,
                range,
            });
        }
        if let Some(learned) = self.learned.as_ref().filter(|_| at >= rendered.len()) {
            learned.put(next(&learned.text), &mut sections, &mut reports);
        }
        self.account(sections, reports, (rendered, at), chosen)
    }

    fn account(
        &self,
        sections: Vec<Placed>,
        reports: Vec<report::SectionReport>,
        (rendered, at): (&[Rc<Rendered>], usize),
        chosen: &Chosen,
    ) -> (Assembly, Report) {
        let output = self.options.output_tokens.or(self.prompt.file.strict.output_budget);
        let assembly = Assembly {
            prompt: self.prompt.id.clone(),
            boundaries: boundaries(&sections),
            sections,
            output_tokens: output.unwrap_or(DEFAULT_OUTPUT_TOKENS),
        };
        let mut keyless: Vec<Cow<'_, str>> = Vec::new();
        for rendered in rendered {
            keyless.push(match &rendered.body {
                Body::Contained { contained, .. } => format!("{}\n", contained.keyless_text()).into(),
                _ => rendered.text().into(),
            });
        }
        if let Some(learned) = &self.learned {
            keyless.insert(at.min(keyless.len()), learned.text.as_str().into());
        }
        let facts = report::Facts {
            content_hash: report::hash(keyless.into_iter()),
            limit: self.whole(),
            worth: chosen.worth,
            bound: chosen.bound,
            monolithic: self.options.monolithic,
        };
        let report = report::report(self.prompt, &assembly, reports, self.counts.counter(), (self.options.key, &facts));
        (assembly, report)
    }
}

/// What stands in the request, in order: what each section shows, and the profile before `at`.
fn texts<'r>(rendered: &'r [Rc<Rendered>], learned: Option<&'r Learned>, at: usize) -> Vec<&'r str> {
    let mut texts: Vec<&str> = rendered.iter().map(|rendered| rendered.text()).collect();
    if let Some(learned) = learned {
        texts.insert(at.min(texts.len()), &learned.text);
    }
    texts.retain(|text| !text.is_empty());
    texts
}

fn wide(tokens: usize) -> u64 {
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

fn trust_of(prompt: &Prompt, input: &str) -> InputTrust {
    let declared = prompt.file.strict.inputs.iter().find(|(name, _)| name == input);
    declared.map_or(InputTrust::Untrusted, |(_, trust)| *trust)
}

/// The last section of each stable group that is there.
fn boundaries(sections: &[Placed]) -> Vec<usize> {
    let group = |rank: Rank| match rank {
        Rank::Constitution | Rank::Rules | Rank::TrustedStatic => 0,
        Rank::TrustedPerRun => 1,
        Rank::UntrustedStatic => 2,
        Rank::UntrustedPerRun => 3,
        _ => 4,
    };
    let last_of = |wanted: u8| sections.iter().rposition(|section| group(section.rank) == wanted);
    (0..4).filter_map(last_of).collect()
}
