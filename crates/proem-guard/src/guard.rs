//! Looks for attacks in every reading of a text.
//!
//! A text is cut into blocks that overlap, so that memory doesn't grow with it. Each block is read in every way that
//! [`mod@crate::view`] knows. Each reading goes through every scanner and, in windows of one and two sentences, through
//! the learned scorer. The findings are mapped back to the original.
//!
//! Invariants: a finding's span is inside the text, at borders of characters; what was not looked at is listed in
//! [`Scan::unread`] and never passes as harmless.

mod blocks;
mod gathering;
mod reasons;

pub use self::reasons::{ConceptReason, FindingReasons, WindowReason};
use self::{blocks::overlapping_blocks, gathering::Gathering};
use crate::{
    error::RuleError,
    finding::Severity,
    lexicon::Lexicon,
    scan::{Scan, Scanner, Sight, UnreadReason},
    scanners::{self, ToolVocabulary},
    score::{self, TextScorer, TextScorerError},
    sentence_scorer::{SentenceScorer, SentenceScorerError, Window},
    source::{self, LanguageFamily, Licences},
    untrusted::Untrusted,
    view::{self, DecodingLimits},
};
use alloc::{boxed::Box, string::String, vec, vec::Vec};
use core::fmt;
use proem_text::Span;

/// The scanners with their rules, and the learned scorer with its calibration.
pub struct Guard {
    lexicon: Lexicon,
    scanners: Vec<Box<dyn Scanner + Send + Sync>>,
    model: SentenceScorer<'static>,
    stage: TextScorer,
    licences: Licences,
    /// The concepts that are a reason to believe the learned scorer in a file.
    reasons: Vec<u16>,
    /// The concept of words that address a machine that reads.
    reader: Option<u16>,
}

/// The names of those concepts: words that speak to a machine, or of keeping something from people.
const REASONS: [&str; 2] = ["have_ai", "conceal"];

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.scanners.iter().map(|scanner| scanner.name()).collect();
        f.debug_struct("Guard").field("scanners", &names).field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Guard {
    /// The guard that ships, for an agent that has these tools.
    ///
    /// # Errors
    ///
    /// [`GuardError`] if a data file inside the program is damaged.
    pub fn shipped(tools: &[ToolVocabulary]) -> Result<Self, GuardError> {
        let model = SentenceScorer::shipped().map_err(GuardError::Model)?;
        let stage = TextScorer::shipped().map_err(GuardError::Stage)?;
        Self::learned(tools, model, stage)
    }

    /// The scanners that ship with a learned model and weights of the caller's, as training and
    /// measuring need them.
    ///
    /// # Errors
    ///
    /// [`GuardError::Rules`] if the rules inside the program are damaged.
    pub fn learned(
        tools: &[ToolVocabulary],
        model: SentenceScorer<'static>,
        stage: TextScorer,
    ) -> Result<Self, GuardError> {
        let (lexicon, scanners) = scanners::shipped_scanners(tools).map_err(GuardError::Rules)?;
        let reasons = REASONS.iter().filter_map(|name| lexicon.concept(name)).collect();
        let reader = lexicon.concept("machine_reader");
        Ok(Self { lexicon, scanners, model, stage, licences: Licences::shipped(), reasons, reader })
    }

    /// The same with another way from features to a score, as a calibration makes one.
    #[must_use]
    pub fn with_stage(mut self, stage: TextScorer) -> Self {
        self.stage = stage;
        self
    }

    /// The same with only those scanners whose name the predicate takes; for measuring what each
    /// is worth.
    #[must_use]
    pub fn with_scanners(mut self, mut keep: impl FnMut(&str) -> bool) -> Self {
        self.scanners.retain(|scanner| keep(scanner.name()));
        self
    }

    /// The same with one more scanner.
    #[must_use]
    pub fn and_scanner(mut self, scanner: Box<dyn Scanner + Send + Sync>) -> Self {
        self.scanners.push(scanner);
        self
    }

    /// How features become a score.
    #[must_use]
    pub const fn stage(&self) -> &TextScorer {
        &self.stage
    }

    /// The learned model's id, which calibrations name.
    #[must_use]
    pub fn model_id(&self) -> String {
        self.model.id()
    }

    /// The names of the scanners, in the order they run.
    pub fn scanner_names(&self) -> impl Iterator<Item = &'static str> {
        self.scanners.iter().map(|scanner| scanner.name())
    }

    /// Looks for attacks in a text.
    #[must_use]
    pub fn scan(&self, text: &Untrusted<String>) -> Scan {
        self.scan_text(text.value())
    }

    /// Looks for attacks in the text of a file of source: the learned scorer reads what people write in
    /// it (see [`source::prose`]), rules read all of it.
    #[must_use]
    pub fn scan_source(&self, text: &Untrusted<String>, syntax: LanguageFamily) -> Scan {
        let text = text.value();
        let mut gathering = Gathering::default();
        // Rules read everything, names and all: an order can be in an identifier. The learned scorer was trained on
        // sentences, and code looks like none of them.
        self.gather(text, Scoring::None, &mut gathering);
        let prose = source::prose(text, syntax);
        gathering.read(prose.map);
        self.gather(&prose.text, Scoring::Paragraphs, &mut gathering);
        // After both passes: what the rules found waits for what the scorer says of the same place.
        gathering.heed_witnesses(syntax);
        gathering.finish(&self.stage, score::FILE)
    }

    /// The same for a text that is not from outside, or inside this crate.
    pub(crate) fn scan_text(&self, text: &str) -> Scan {
        let mut gathering = Gathering::default();
        self.gather(text, Scoring::Windows, &mut gathering);
        gathering.finish(&self.stage, score::MESSAGE)
    }

    fn gather(&self, text: &str, scoring: Scoring, gathering: &mut Gathering) {
        for block in overlapping_blocks(text) {
            let part = text.get(block.start..block.end).unwrap_or_default();
            self.scan_block(part, block.start, scoring, gathering);
        }
    }

    /// The windows that the learned scorer reads a clean text in.
    pub(crate) fn windows(&self, text: &str) -> Vec<Window> {
        self.model.windows(text)
    }

    /// Scans a block that begins `offset` bytes into the text.
    fn scan_block(&self, block: &str, offset: usize, scoring: Scoring, gathering: &mut Gathering) {
        let readings = view::all_readings(block, &DecodingLimits::for_text(block.len()));
        gathering.begin_block(offset, block, &readings);
        // One buffer for all scanners and readings. Each empties it.
        let mut hits = Vec::new();
        for reading in &readings.all {
            let folded = view::folded_view(&reading.view.text);
            let mentions = self.lexicon.mentions(&folded.text);
            let sight = Sight { reading, folded: &folded, mentions: &mentions };
            for scanner in &self.scanners {
                let result = scanner.scan(&sight, &mut hits);
                // Before its error is looked at: what a scanner found until it gave up was found.
                gathering.take_hits(reading, &mut hits);
                if let Err(error) = result {
                    let reason = UnreadReason::Scanner { name: scanner.name(), reason: error.reason };
                    gathering.leave_unread(Span::new(0, block.len()), reason);
                }
            }
            if scoring == Scoring::Paragraphs {
                let speaks = mentions.iter().filter(|mention| self.reasons.contains(&mention.concept));
                gathering.take_reasons(reading, speaks.map(|mention| folded.map.original(mention.span)));
                let addresses = mentions.iter().filter(|mention| Some(mention.concept) == self.reader);
                gathering.take_addresses(reading, addresses.map(|mention| folded.map.original(mention.span)));
            }
            for paragraph in scored_paragraphs(&reading.view.text, scoring) {
                let text = reading.view.text.get(paragraph.start..paragraph.end).unwrap_or_default();
                for Window { span, score, .. } in self.model.windows(text) {
                    // A low score is cheaper to take than to ask about.
                    let sentence = text.get(span.start..span.end).unwrap_or_default();
                    if scoring == Scoring::Paragraphs && score > 0.0 && self.licences.say(sentence) {
                        continue;
                    }
                    gathering.take_window(reading, span.moved(paragraph.start), score);
                }
            }
        }
        gathering.end_block(scoring.least());
    }
}

/// The texts that the learned scorer reads as one: two comments that don't follow each other, or two strings, are no
/// two sentences in a row.
fn scored_paragraphs(text: &str, scoring: Scoring) -> Vec<Span> {
    match scoring {
        Scoring::None => Vec::new(),
        Scoring::Windows => vec![Span::new(0, text.len())],
        Scoring::Paragraphs => {
            let mut start = 0usize;
            let parts = text.split("\n\n").map(|part| {
                let span = Span::new(start, start.saturating_add(part.len()));
                start = span.end.saturating_add(2);
                span
            });
            parts.collect()
        }
    }
}

/// Whether the learned scorer reads a text too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scoring {
    /// It reads all windows.
    Windows,
    /// It reads each paragraph on its own.
    Paragraphs,
    /// It reads none.
    None,
}

impl Scoring {
    /// The mildest findings that count. Names and operators of code break mild rules by chance.
    const fn least(self) -> Severity {
        if matches!(self, Self::None) { Severity::High } else { Severity::Low }
    }
}

/// A data file inside the program is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardError {
    /// The rules, concepts or patterns.
    Rules(RuleError),
    /// The learned model.
    Model(SentenceScorerError),
    /// The weights of the score.
    Stage(TextScorerError),
}

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules(error) => write!(f, "the rules of the injection scanner can't be loaded: {error}"),
            Self::Model(error) => write!(f, "the learned model of the injection scanner can't be loaded: {error}"),
            Self::Stage(error) => write!(f, "the weights of the injection scanner can't be loaded: {error}"),
        }
    }
}

impl core::error::Error for GuardError {}
