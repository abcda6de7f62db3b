//! Every reading of a text, within limits.
//!
//! Readings are made breadth first: from the clean view, then from what was made of it. A step
//! that changes places in a text is followed only by what its changes bring to light, so that a
//! text isn't read again and again for one link in it.

use super::{
    CleanView, Reading, ReadingStep, base64, clean_view,
    draft::{DerivedReading, ReadingSource},
    entities, escapes, hex, html, invisible_text, leet, letter_spacing, percent, reversals, skeleton, word_splits,
};
use alloc::{collections::BTreeMap, vec, vec::Vec};
use core::mem;
use proem_text::{OffsetMap, Span, View};

/// How much is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodingLimits {
    /// How many steps one behind the other.
    pub depth: usize,
    /// How many readings besides the clean view.
    pub readings: usize,
    /// How many bytes all of them may hold together, besides the clean view.
    pub bytes: usize,
}

impl DecodingLimits {
    /// The limits for a text of `len` bytes: four steps, 256 readings, four times the text and
    /// 64 KiB.
    #[must_use]
    pub const fn for_text(len: usize) -> Self {
        Self { depth: 4, readings: 256, bytes: len.saturating_mul(4).saturating_add(64 * 1024) }
    }
}

/// The readings of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readings {
    /// The text that a model reads, and the removed parts.
    pub clean: CleanView,
    /// The clean view, then what was made from it. Sorted by depth, then by place, then by step.
    pub all: Vec<Reading>,
    /// Places that a limit left undecoded, in bytes of the original, in order and apart.
    pub undecoded: Vec<Span>,
}

/// Reads a text in every way known here.
///
/// A step that changes only some places of a long text ([`ReadingStep::Skeleton`], [`ReadingStep::Percent`] …) gives
/// these places with a few hundred bytes around each, an empty line between two of them. Texts that were hidden as a
/// whole ([`ReadingStep::Base64`], [`ReadingStep::Comment`] …) have a reading of their own, all of a kind in one, an
/// empty line between two. Readings other than the clean view are cleaned too.
///
/// Not seen: encodings with a key, a picture or a table of their own, base64 cut by spaces, fewer than 12 bytes of
/// base64 or 8 of hexadecimal digits, and text that a style sheet hides by class. [`Readings::undecoded`] lists the
/// parts that a limit stopped, except for guesses ([`ReadingStep::Leet`] …) about text that was decoded as deep as is
/// allowed.
#[must_use]
pub fn all_readings(text: &str, limits: &DecodingLimits) -> Readings {
    let clean = clean_view(text);
    let view = View { text: clean.text.clone(), map: clean.map.clone() };
    let hidden = (!clean.removed.is_empty()).then(|| HiddenText {
        raw: View { text: text.into(), map: OffsetMap::identity(text.len()) },
        clean: clean.clone(),
    });
    let first = ReadingNode { reading: Reading { steps: Vec::new(), view }, fresh: None, hidden };
    let mut making =
        ReadingSearch { limits, nodes: vec![first], bytes: 0, by_checksum: BTreeMap::new(), undecoded: Vec::new() };
    let mut next = 0usize;
    // The list grows while it is walked: what was made is read in its turn, and depth never falls.
    while let Some(node) = making.nodes.get_mut(next) {
        // Taken out, as only this turn needs it and it holds the text twice.
        let hidden = mem::take(&mut node.hidden);
        let Children { made, unread } = child_readings(node, hidden.as_ref());
        if let Some(unread) = unread {
            making.undecoded.push(node.reading.view.map.original(unread));
        }
        for (step, made) in made {
            let is_raw = matches!(step, ReadingStep::Tags | ReadingStep::VariationSelectors);
            let raw = hidden.as_ref().filter(|_| is_raw).map(|hidden| &hidden.raw.map);
            making.add(next, raw, step, made);
        }
        next = next.saturating_add(1);
    }
    making.finish(clean)
}

/// The steps that only guess at what somebody means. They follow each other in this order only.
const GUESSES: [ReadingStep; 4] = [ReadingStep::Parted, ReadingStep::Skeleton, ReadingStep::Spaced, ReadingStep::Leet];

/// A reading, and what is known about it.
#[derive(Debug)]
struct ReadingNode {
    reading: Reading,
    /// The changes of its last step, in its text. `None` if it is all new.
    fresh: Option<Vec<Span>>,
    hidden: Option<HiddenText>,
}

/// A text in which characters were hidden.
#[derive(Debug)]
struct HiddenText {
    /// With them. The map leads to the original.
    raw: View,
    /// Without them. The map leads to `raw`.
    clean: CleanView,
}

/// The steps' results for one reading.
#[derive(Debug, Default)]
struct Children {
    made: Vec<(ReadingStep, DerivedReading)>,
    /// The part that is nested too deep to be read, in the reading's text.
    unread: Option<Span>,
}

impl Children {
    fn push(&mut self, step: ReadingStep, made: Option<DerivedReading>) {
        self.made.extend(made.map(|made| (step, made)));
    }
}

fn child_readings(node: &ReadingNode, hidden: Option<&HiddenText>) -> Children {
    let mut children = Children::default();
    let text = node.reading.view.text.as_str();
    let source = ReadingSource { text, fresh: node.fresh.as_deref() };
    let bytes = ByteCensus::of(text);
    let last = node.reading.steps.last().copied();
    let guess = last.and_then(|last| GUESSES.iter().position(|step| *step == last));
    if let Some(hidden) = hidden {
        children.push(ReadingStep::Parted, word_splits::read_parted(&hidden.clean));
        children.push(ReadingStep::Tags, invisible_text::read_tags(&hidden.raw.text));
        children.push(ReadingStep::VariationSelectors, invisible_text::variation_selectors(&hidden.raw.text));
    }
    if bytes.beyond_ascii && guess.is_none_or(|guess| guess < 1) {
        children.push(ReadingStep::Skeleton, skeleton::read_skeleton(source));
    }
    if guess.is_none_or(|guess| guess < 2) {
        children.push(ReadingStep::Spaced, letter_spacing::read_spaced(source));
    }
    if bytes.has(b"013457890") && guess.is_none_or(|guess| guess < 3) {
        children.push(ReadingStep::Leet, leet::read_leet(source));
    }
    // These two put other letters and digits in place of those that are there: what could be decoded of them would be
    // chance.
    if matches!(last, Some(ReadingStep::Skeleton | ReadingStep::Leet)) {
        return children;
    }
    // Turned twice it is the text itself, or the other way of turning it, which is made from its parent.
    if !matches!(last, Some(ReadingStep::Reversed | ReadingStep::Rot13)) {
        let (reversed, rot13) = reversals::read_turned(source);
        children.push(ReadingStep::Reversed, reversed);
        children.push(ReadingStep::Rot13, rot13);
    }
    add_decoded_readings(source, &bytes, &mut children);
    marked_up(source, &bytes, last, &mut children);
    children
}

/// Text that is encoded character by character or as a whole.
fn add_decoded_readings(source: ReadingSource<'_>, bytes: &ByteCensus, children: &mut Children) {
    if bytes.longest_run >= base64::SHORTEST {
        children.push(ReadingStep::Base64, base64::read_base64(source));
    }
    if bytes.has(b"0123456789") {
        children.push(ReadingStep::Hex, hex::read_hex(source));
    }
    if bytes.has(b"%") {
        children.push(ReadingStep::Percent, percent::read_percent(source));
    }
    if bytes.has(b"\\") {
        children.push(ReadingStep::Escapes, escapes::read_escapes(source));
    }
}

/// The shown and the hidden text of HTML and Markdown.
fn marked_up(source: ReadingSource<'_>, bytes: &ByteCensus, last: Option<ReadingStep>, children: &mut Children) {
    // Comments, values and code may hold a page of their own.
    let is_part = matches!(last, Some(ReadingStep::Comment | ReadingStep::Attribute | ReadingStep::HiddenMarkup));
    let source = ReadingSource { fresh: source.fresh.filter(|_| !is_part), ..source };
    let page = if bytes.has(b"<") { html::read_page(source) } else { html::PageReadings::default() };
    // A page's references are read with it.
    if bytes.has(b"&") && !page.is_page {
        children.push(ReadingStep::Entities, entities::read_entities(source));
    }
    children.push(ReadingStep::Markup, page.markup);
    children.push(ReadingStep::HiddenMarkup, page.hidden);
    children.push(ReadingStep::Comment, page.comments);
    if bytes.has(b"[") {
        children.push(ReadingStep::Comment, html::markdown_comments(source));
    }
    children.push(ReadingStep::Attribute, page.attributes);
    children.unread = page.unread;
}

struct ReadingSearch<'a> {
    limits: &'a DecodingLimits,
    nodes: Vec<ReadingNode>,
    /// How many bytes the readings besides the first hold.
    bytes: usize,
    /// The first reading of each length and checksum, to find the same text again.
    by_checksum: BTreeMap<(usize, u64), usize>,
    undecoded: Vec<Span>,
}

impl ReadingSearch<'_> {
    /// Takes in what a step made of a reading, if it is new and the limits allow. `raw` leads from
    /// what the step read to the original, if that is not the reading itself.
    fn add(&mut self, parent: usize, raw: Option<&OffsetMap>, step: ReadingStep, made: DerivedReading) {
        let Some(ReadingNode { reading: parent, .. }) = self.nodes.get(parent) else { return };
        let to_original = raw.unwrap_or(&parent.view.map);
        let bytes = self.bytes.saturating_add(made.view.text.len());
        let is_full = self.nodes.len() > self.limits.readings || bytes > self.limits.bytes;
        if is_full || parent.steps.len() >= self.limits.depth {
            if is_full || !GUESSES.contains(&step) {
                self.undecoded.push(to_original.original(made.place));
            }
            return;
        }
        let mut node = ReadingNode::new(parent, step, made, to_original);
        let text = node.reading.view.text.as_str();
        let key = (text.len(), text_checksum(text));
        match self.by_checksum.get(&key).and_then(|index| self.nodes.get(*index)) {
            Some(same) if same.reading.view.text == text => {
                if node.hidden.is_none() {
                    return;
                }
                // Only what is hidden in it is new.
                node.fresh = Some(Vec::new());
            }
            Some(_) => {}
            None => {
                self.by_checksum.insert(key, self.nodes.len());
            }
        }
        self.bytes = bytes;
        self.nodes.push(node);
    }

    fn finish(mut self, clean: CleanView) -> Readings {
        let mut all: Vec<Reading> = self.nodes.into_iter().map(|node| node.reading).collect();
        all.sort_by_cached_key(|reading| {
            let start = reading.view.map.original(Span::new(0, 1)).start;
            (reading.steps.len(), start, reading.steps.clone())
        });
        self.undecoded.sort_unstable();
        let mut undecoded: Vec<Span> = Vec::new();
        for span in self.undecoded {
            match undecoded.last_mut() {
                Some(last) if last.end >= span.start => last.end = last.end.max(span.end),
                _ => undecoded.push(span),
            }
        }
        Readings { clean, all, undecoded }
    }
}

impl ReadingNode {
    fn new(parent: &Reading, step: ReadingStep, made: DerivedReading, to_original: &OffsetMap) -> Self {
        let mut steps = parent.steps.clone();
        steps.push(step);
        let raw = View { map: made.view.map.then(to_original), text: made.view.text };
        let clean = clean_view(&raw.text);
        if clean.removed.is_empty() {
            return Self { reading: Reading { steps, view: raw }, fresh: made.fresh, hidden: None };
        }
        let view = View { text: clean.text.clone(), map: clean.map.then(&raw.map) };
        Self { reading: Reading { steps, view }, fresh: None, hidden: Some(HiddenText { raw, clean }) }
    }
}

/// FNV-1a, 64 bits. Nothing is trusted to it: texts with the same sum are compared.
fn text_checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Which bytes occur in a text, so that a step without its signs costs nothing.
struct ByteCensus {
    occurs: [bool; 256],
    beyond_ascii: bool,
    /// The length of the longest run that could be base64 without its padding.
    longest_run: usize,
}

impl ByteCensus {
    fn of(text: &str) -> Self {
        let mut bytes = Self { occurs: [false; 256], beyond_ascii: false, longest_run: 0 };
        let mut run = 0usize;
        for byte in text.bytes() {
            if let Some(occurs) = bytes.occurs.get_mut(usize::from(byte)) {
                *occurs = true;
            }
            run = if base64::is_digit(byte) { run.saturating_add(1) } else { 0 };
            bytes.longest_run = bytes.longest_run.max(run);
        }
        bytes.beyond_ascii = !text.is_ascii();
        bytes
    }

    /// Whether at least one of them occurs.
    fn has(&self, any: &[u8]) -> bool {
        any.iter().any(|byte| self.occurs.get(usize::from(*byte)).is_some_and(|occurs| *occurs))
    }
}
