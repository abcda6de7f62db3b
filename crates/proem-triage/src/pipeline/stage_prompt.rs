//! A stage's message to a model: the blocks of its prompt.

use proem_engine::budget::AnswerLength;
use proem_engine::{
    Error, call::Arrival, contract::AnswerContract, profile::Profile, prompt::compiled_prompt::Prompt,
    providers::Model, tokens::CachingCounter,
};
use proem_guard::InstallationKey;

use super::{
    stage::PipelineStage,
    terms::{StageSignal, StageSubject},
};
use crate::{
    artefact::{Artefact, BacklogExtent, FigureSources, count_figures},
    blocks::{self, PromptBatch, PromptSignal, StageContext},
    classify::ReasoningNeed,
};
use proem_agents::prompt_call::{LabelledCall, PreparedRequest, prepare_labelled};

/// A stage's prompt and whom it is for.
#[derive(Debug, Clone, Copy)]
pub struct StagePrompt<'p> {
    /// The prompt.
    pub prompt: &'p Prompt,
    /// The required form of its answer.
    pub contract: &'p AnswerContract,
    /// The model that is asked.
    pub model: &'p Model,
    /// The installation's key.
    pub key: &'p InstallationKey,
    /// How the answer arrives.
    pub arrival: Arrival,
    /// The most tokens of the answer.
    pub output_tokens: usize,
    /// The lessons and wishes.
    pub profile: Option<&'p Profile>,
}

/// The request of a stage. Its texts were looked at before: guard has seen every signal, and what of it may be read is
/// all that is told.
///
/// # Errors
///
/// As [`prepare_labelled`].
pub fn prepare_stage(
    asked: &StagePrompt<'_>,
    stage: PipelineStage,
    subject: StageSubject<'_>,
    counts: &mut CachingCounter<'_>,
) -> Result<PreparedRequest, Error> {
    let told = subject.subject;
    let (signals, artefacts): (Vec<_>, Vec<&Artefact>) =
        (told.signals.iter().collect(), subject.artefacts.iter().collect());
    let figures = count_figures(&FigureSources {
        now: told.now,
        signals: &signals,
        // A cycle has what came since the last one, which is no whole backlog.
        coverage: BacklogExtent::Part,
        places: &told.charter.places(),
        artefacts: &artefacts,
    });
    let actions: Vec<_> = told.actions.iter().map(super::terms::EarlierAction::told).collect();
    let situations = match stage {
        PipelineStage::Reasoning => super::situation::similar_situations(&told.situations, subject.signals),
        _ => Vec::new(),
    };
    let context = StageContext {
        charter: &told.charter,
        level: told.level,
        policy: told.policy.policy(),
        artefacts: subject.artefacts,
        figures: &figures,
        actions: &actions,
        situations: &situations,
        now: told.now,
    };
    let signals: Vec<PromptSignal<'_>> = subject.signals.iter().map(|signal| prompt_signal(signal, stage)).collect();
    let batch = PromptBatch { id: stage.as_str(), signals: &signals };
    let inputs = match stage {
        PipelineStage::Sanitise => blocks::sanitise_inputs(&context, &batch),
        PipelineStage::Classify => blocks::classify_inputs(&context, &batch),
        PipelineStage::Reasoning => blocks::reasoning_inputs(&context, &batch),
        PipelineStage::ArtefactUpdate => blocks::artefact_update(&context, &batch),
    };
    let call = LabelledCall {
        declared: Default::default(),
        prompt: asked.prompt,
        owed: asked.contract.owed(),
        inputs: &inputs,
        model: asked.model,
        key: asked.key,
        input_tokens: None,
        answer: AnswerLength::Enough(asked.output_tokens),
        arrival: asked.arrival,
        profile: asked.profile,
        inquiry: None,
    };
    prepare_labelled(&call, counts)
}

/// A signal as a stage is told of it.
fn prompt_signal<'s>(told: &StageSignal<'s>, stage: PipelineStage) -> PromptSignal<'s> {
    let is_classified = stage > PipelineStage::Classify;
    let why = match ReasoningNeed::of(&told.classification.answer) {
        _ if stage != PipelineStage::Reasoning => None,
        ReasoningNeed::Unneeded => None,
        ReasoningNeed::Wording => Some("something has to be worded"),
        ReasoningNeed::Asked => Some("the classifier is not sure"),
        ReasoningNeed::Demanded => Some("it is critical, or about several things at once"),
    };
    PromptSignal {
        signal: told.signal,
        summary: told.summary,
        sender: told.sender,
        content: told.content,
        ticket: told.ticket,
        is_flagged: told.is_flagged,
        suspicion: told.is_flagged.then_some("parts of it are like an attack"),
        classification: is_classified.then_some(told.classification),
        why,
    }
}
