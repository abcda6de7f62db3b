//! Looks for attacks in every reading of a text.
//!
//! A text is cut into blocks that overlap, so that memory doesn't grow with it. Each block is read
//! in every way that [`mod@crate::view`] knows; each reading goes through every scanner and, in
//! windows of one and two sentences, through the learned scorer. What they find is mapped back to
//! the original.
//!
//! Invariants: a finding's span lies inside the text, at borders of characters; what was not looked
//! at is listed in [`Scan::unread`] and never passes as harmless.

mod blocks;
mod gathering;

use self::{blocks::blocks, gathering::Gathering};
use crate::{
    learned::{Model, ModelError, Window},
    lexicon::Lexicon,
    scan::{Scan, Scanner, Sight, UnreadReason},
    scanners::{self, RuleError, Tool},
    score::{Stage, StageError},
    untrusted::Untrusted,
    view::{self, Limits},
};
use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;
use proem_text::Span;

/// The scanners with their rules, and the learned scorer with its calibration.
pub struct Guard {
    lexicon: Lexicon,
    scanners: Vec<Box<dyn Scanner + Send + Sync>>,
    model: Model<'static>,
    stage: Stage,
}

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
    pub fn shipped(tools: &[Tool]) -> Result<Self, GuardError> {
        let model = Model::shipped().map_err(GuardError::Model)?;
        let stage = Stage::shipped().map_err(GuardError::Stage)?;
        Self::learned(tools, model, stage)
    }

    /// The scanners that ship with a learned model and weights of the caller's, as training and
    /// measuring need them.
    ///
    /// # Errors
    ///
    /// [`GuardError::Rules`] if the rules inside the program are damaged.
    pub fn learned(tools: &[Tool], model: Model<'static>, stage: Stage) -> Result<Self, GuardError> {
        let (lexicon, scanners) = scanners::shipped(tools).map_err(GuardError::Rules)?;
        Ok(Self { lexicon, scanners, model, stage })
    }

    /// The same with another way from features to a score, as a calibration makes one.
    #[must_use]
    pub fn with_stage(mut self, stage: Stage) -> Self {
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
    pub const fn stage(&self) -> &Stage {
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

    /// The same for a text that is not from outside, or inside this crate.
    pub(crate) fn scan_text(&self, text: &str) -> Scan {
        let mut gathering = Gathering::default();
        for block in blocks(text) {
            let part = text.get(block.start..block.end).unwrap_or_default();
            self.scan_block(part, block.start, &mut gathering);
        }
        gathering.finish(&self.stage)
    }

    /// The windows that the learned scorer reads a clean text in.
    pub(crate) fn windows(&self, text: &str) -> Vec<Window> {
        self.model.windows(text)
    }

    fn scan_block(&self, block: &str, offset: usize, gathering: &mut Gathering) {
        let readings = view::readings(block, &Limits::for_text(block.len()));
        gathering.begin_block(offset, block, &readings);
        let mut hits = Vec::new();
        for reading in &readings.all {
            let folded = view::folded(&reading.view.text);
            let mentions = self.lexicon.mentions(&folded.text);
            let sight = Sight { reading, folded: &folded, mentions: &mentions };
            for scanner in &self.scanners {
                let result = scanner.scan(&sight, &mut hits);
                gathering.take_hits(reading, &mut hits);
                if let Err(error) = result {
                    let reason = UnreadReason::Scanner { name: scanner.name(), reason: error.reason };
                    gathering.leave_unread(Span::new(0, block.len()), reason);
                }
            }
            for window in self.model.windows(&reading.view.text) {
                gathering.take_window(reading, window);
            }
        }
        gathering.end_block();
    }
}

/// A data file inside the program is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardError {
    /// The rules, concepts or patterns.
    Rules(RuleError),
    /// The learned model.
    Model(ModelError),
    /// The weights of the score.
    Stage(StageError),
}

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules(error) => write!(f, "rules of the guard: {error}"),
            Self::Model(error) => write!(f, "learned model of the guard: {error}"),
            Self::Stage(error) => write!(f, "weights of the guard's score: {error}"),
        }
    }
}

impl core::error::Error for GuardError {}
