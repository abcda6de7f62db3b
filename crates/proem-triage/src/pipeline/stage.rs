//! The stages that ask a model: how long, how often and for how much, and which model.

use proem_engine::{call::FailureKind, ledger::ModelMix};
use serde::{Deserialize, Serialize};

use crate::classify::ReasoningNeed;

/// A stage that asks a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PipelineStage {
    /// The part of a text that may go on.
    Sanitise,
    /// A signal's category, and the recommended action.
    Classify,
    /// The weighing and wording.
    Reasoning,
    /// The changes of the artefacts.
    ArtefactUpdate,
}

proem_text::word_table! {
    pub PipelineStage {
        // In the order in which they run.
        Sanitise = "sanitise",
        Classify = "classify",
        Reasoning = "reasoning",
        ArtefactUpdate = "artefact-update",
    }
}

impl PipelineStage {
    /// The name of its prompt in the book.
    #[must_use]
    pub const fn prompt(self) -> &'static str {
        match self {
            Self::Sanitise => "triage/sanitise",
            Self::Classify => "triage/classify",
            Self::Reasoning => "triage/reasoning",
            Self::ArtefactUpdate => "triage/artefact-update",
        }
    }

    /// The stage behind it.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Sanitise => Some(Self::Classify),
            Self::Classify => Some(Self::Reasoning),
            Self::Reasoning => Some(Self::ArtefactUpdate),
            Self::ArtefactUpdate => None,
        }
    }

    /// About how many tokens an answer has for a signal whose text has so many bytes.
    pub(super) const fn answer_tokens(self, bytes: usize) -> usize {
        match self {
            // The answer repeats the text. A token has three bytes at least, in the languages that were counted.
            Self::Sanitise => 160_usize.saturating_add(bytes.div_ceil(3)),
            Self::Classify => 220,
            Self::Reasoning => 1_600,
            // A whole delivery state is in the answer, whatever the number of signals.
            Self::ArtefactUpdate => 300,
        }
    }
}

/// How much is kept free for an answer, and so reserved of a budget before the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AnswerRoom {
    /// An answer about these signals, with room to spare.
    #[default]
    BySize,
    /// The most that the stage has, for signals whose answer did not fit before.
    Whole,
}

impl PipelineStage {
    /// The tokens that are kept free for an answer about signals whose texts have these many bytes, before the stage's own
    /// limit.
    ///
    /// These are estimates: for each signal a classification, a question with its options or a draft, and where an artefact
    /// may be written anew its content. One that is too low costs a second call and never an answer, since an answer that
    /// was cut off is asked for again with the whole limit.
    fn roomy_tokens(self, bytes: impl Iterator<Item = usize>) -> usize {
        let (fixed, each) = match self {
            Self::Sanitise => (400, 0),
            Self::Classify => (400, 330),
            Self::Reasoning => (1_500, 700),
            Self::ArtefactUpdate => (2_500, 400),
        };
        let of_texts = |bytes: usize| match self {
            Self::Sanitise => self.answer_tokens(bytes).saturating_mul(5).div_ceil(4),
            _ => 0,
        };
        bytes.fold(fixed, |sum, bytes| sum.saturating_add(each).saturating_add(of_texts(bytes)))
    }
}

/// How long, how often and for how much a stage asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageLimits {
    /// The most seconds that the stage takes; what was not asked by then is left to the rules.
    pub seconds: u32,
    /// How often a call that failed is made again.
    pub retries: u32,
    /// The seconds before it is.
    pub pause_seconds: u32,
    /// The most tokens of an answer.
    pub output_tokens: usize,
    /// The most signals of one call.
    pub batch: usize,
}

/// The most tokens of an answer of the small model.
const MOST_OF_SMALL: usize = 4_096;

impl StageLimits {
    /// The most tokens of an answer of one of the models.
    #[must_use]
    pub fn output_tokens(&self, model: PipelineModel) -> usize {
        match model {
            PipelineModel::Small => self.output_tokens.min(MOST_OF_SMALL),
            PipelineModel::Large => self.output_tokens,
        }
    }

    /// The most tokens of an answer about signals whose texts have these many bytes.
    pub(super) fn answer_tokens(
        &self,
        stage: PipelineStage,
        model: PipelineModel,
        room: AnswerRoom,
        bytes: impl Iterator<Item = usize>,
    ) -> usize {
        let most = self.output_tokens(model);
        match room {
            AnswerRoom::BySize => stage.roomy_tokens(bytes).min(most),
            AnswerRoom::Whole => most,
        }
    }
}

/// The limits of all stages, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineLimits(pub [StageLimits; 4]);

/// Two retries each; 120 s and 30 s between for the first two, 300 s and 60 s for reasoning, 180 s and 30 s for artefacts.
impl Default for PipelineLimits {
    fn default() -> Self {
        let of = |seconds, pause_seconds, output_tokens| StageLimits {
            seconds,
            retries: 2,
            pause_seconds,
            output_tokens,
            batch: 50,
        };
        Self([of(120, 30, 4_096), of(120, 30, 4_096), of(300, 60, 8_192), of(180, 30, 4_096)])
    }
}

impl PipelineLimits {
    /// Those of a stage.
    #[must_use]
    pub fn of(&self, stage: PipelineStage) -> StageLimits {
        let Self([sanitise, classify, reasoning, update]) = *self;
        match stage {
            PipelineStage::Sanitise => sanitise,
            PipelineStage::Classify => classify,
            PipelineStage::Reasoning => reasoning,
            PipelineStage::ArtefactUpdate => update,
        }
    }

    /// The seconds of all stages, pauses included.
    #[must_use]
    pub fn seconds(&self) -> u32 {
        let of =
            |limits: StageLimits| limits.seconds.saturating_add(limits.retries.saturating_mul(limits.pause_seconds));
        self.0.into_iter().map(of).fold(0, u32::saturating_add)
    }
}

/// Which of two models is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PipelineModel {
    /// The small one.
    Small,
    /// The large one.
    Large,
}

proem_text::word_table! {
    /// The name of the role.
    pub PipelineModel {
        Small = "small",
        Large = "large",
    }
}

impl PipelineModel {
    /// The model for what needs reasoning, as far as there is money for it.
    #[must_use]
    pub const fn of(mix: ModelMix, need: ReasoningNeed) -> Self {
        match (mix, need) {
            (ModelMix::Both, _) | (ModelMix::LargeIfDemanded, ReasoningNeed::Demanded) => Self::Large,
            (ModelMix::LargeIfDemanded | ModelMix::SmallOnly, _) => Self::Small,
        }
    }
}

/// The fate of a batch whose call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterFailure {
    /// It is asked again after a pause.
    Retry,
    /// It is left to the rules.
    Degrade,
    /// Everything is: nobody can be asked.
    Stop,
}

/// The consequence of a failed call for those behind it.
pub(super) const fn after_failure(kind: FailureKind) -> AfterFailure {
    match kind {
        FailureKind::RateLimited
        | FailureKind::Server
        | FailureKind::Unreachable
        | FailureKind::TimedOut
        | FailureKind::Malformed
        | FailureKind::Cut => AfterFailure::Retry,
        FailureKind::Refused
        | FailureKind::TooLong
        | FailureKind::TooLarge
        | FailureKind::Empty
        | FailureKind::UnknownTool => AfterFailure::Degrade,
        FailureKind::NoKey
        | FailureKind::KeyRefused
        | FailureKind::UnknownModel
        | FailureKind::NoCredit
        | FailureKind::ModeRefused
        | FailureKind::NotBooked
        | FailureKind::Redirected
        | FailureKind::Insecure
        | FailureKind::Cancelled
        | FailureKind::Replay => AfterFailure::Stop,
        // Nobody knows what it means for those behind it.
        _ => AfterFailure::Stop,
    }
}
