//! What a pipeline is of, and what it is held to.

use proem_engine::{
    Error, ErrorKind,
    ledger::ModelMix,
    ordered::OrderedJson,
    policy::AutonomyLevel,
    run::{ExchangeTerms, Time},
};
use proem_guard::Untrusted;
use serde_json::{Value as Json, json};

use super::stage::{PipelineLimits, PipelineModel, PipelineStage};
use crate::{
    prompted::PreparedRequest,
    screen::Screening,
    triage::{
        ProjectSignal, SignalClassification, TriageLexicon,
        answer::DraftRules,
        artefact::Artefact,
        charter::ProjectCharter,
        plan::{ArtefactGate, ArtefactSet},
    },
};

/// What signals are worked on with: the inputs of a run, from which all of it can be made anew.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineSubject {
    /// The text of the project's file, as a person vouched for it.
    pub charter_text: String,
    /// The same, read.
    pub charter: ProjectCharter,
    /// The signals, in the order in which they came.
    pub signals: Vec<ProjectSignal>,
    /// The artefacts as they stood.
    pub artefacts: ArtefactSet,
    /// The level in force.
    pub level: AutonomyLevel,
    /// Whether rules may change artefacts.
    pub gate: ArtefactGate,
    /// Which models there is money for.
    pub mix: ModelMix,
    /// The time of the cycle.
    pub now: Time,
}

impl PipelineSubject {
    /// As the inputs of a run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for what has more labels than can be written.
    pub fn write(&self) -> Result<OrderedJson, Error> {
        let unwritten = |what: &str, error: &dyn core::fmt::Display| {
            Error::new(ErrorKind::InvalidInput, format!("{what} can't be written down: {error}"))
        };
        let signals = self.signals.iter().map(|signal| signal.write().map_err(|error| unwritten("a signal", &error)));
        let artefacts =
            self.artefacts.iter().map(|artefact| artefact.write().map_err(|error| unwritten("an artefact", &error)));
        Ok(json!({
            "artefacts": artefacts.collect::<Result<Vec<_>, _>>()?,
            "charter": self.charter_text,
            "gate": self.gate == ArtefactGate::Permitted,
            "level": self.level.as_str(),
            "mix": self.mix,
            "now": self.now.0,
            "signals": signals.collect::<Result<Vec<_>, _>>()?,
        })
        .into())
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for anything else.
    pub fn read(inputs: &OrderedJson) -> Result<Self, Error> {
        let wrong = |what: &str| {
            Error::new(ErrorKind::InvalidInput, format!("`{what}` of the inputs is none of a run of triage"))
        };
        let inputs = inputs.to_json();
        let text = |name: &'static str| inputs.get(name).and_then(Json::as_str).ok_or_else(|| wrong(name));
        let texts = |name: &'static str| {
            let list = inputs.get(name).and_then(Json::as_array).ok_or_else(|| wrong(name))?;
            list.iter().map(|text| text.as_str().ok_or_else(|| wrong(name))).collect::<Result<Vec<_>, _>>()
        };
        let charter_text = text("charter")?.to_owned();
        let charter = ProjectCharter::parse(&charter_text, "charter").map_err(|_| wrong("charter"))?;
        let signals = texts("signals")?;
        let signals = signals.into_iter().map(|text| ProjectSignal::read(text).map_err(|_| wrong("signals")));
        let mut artefacts = ArtefactSet::new(&charter.id);
        for text in texts("artefacts")? {
            artefacts.set(Artefact::read(text).map_err(|_| wrong("artefacts"))?);
        }
        let may = inputs.get("gate").and_then(Json::as_bool).ok_or_else(|| wrong("gate"))?;
        let mix = inputs.get("mix").cloned().and_then(|mix| serde_json::from_value(mix).ok());
        Ok(Self {
            charter,
            signals: signals.collect::<Result<_, _>>()?,
            artefacts,
            level: AutonomyLevel::of_name(text("level")?).ok_or_else(|| wrong("level"))?,
            gate: if may { ArtefactGate::Permitted } else { ArtefactGate::Withheld },
            mix: mix.ok_or_else(|| wrong("mix"))?,
            now: Time(inputs.get("now").and_then(Json::as_i64).ok_or_else(|| wrong("now"))?),
            charter_text,
        })
    }
}

/// What a stage is asked about.
#[derive(Debug, Clone, Copy)]
pub struct StageSubject<'s> {
    /// The project, its artefacts and its level.
    pub subject: &'s PipelineSubject,
    /// The artefacts as they will stand when rules have changed them.
    pub artefacts: &'s ArtefactSet,
    /// The signals.
    pub signals: &'s [StageSignal<'s>],
}

/// A signal as a stage is told of it. Its raw texts are in no prompt.
#[derive(Debug, Clone, Copy)]
pub struct StageSignal<'s> {
    /// The signal, of which closed words are shown.
    pub signal: &'s ProjectSignal,
    /// What of its texts may be read.
    pub content: &'s Untrusted<String>,
    /// Whether that is suspected: it is shown with a mark at each word.
    pub is_flagged: bool,
    /// What is known of it by then.
    pub classification: &'s SignalClassification,
}

/// Makes what stages ask: it holds prompts, contracts and models.
pub trait StageAsker: Sync {
    /// The request of a stage to one of two models.
    ///
    /// # Errors
    ///
    /// If it can't be made of the prompt, or doesn't fit.
    fn request(
        &self,
        stage: PipelineStage,
        model: PipelineModel,
        subject: StageSubject<'_>,
    ) -> Result<PreparedRequest, Error>;

    /// What its answer is held to.
    fn terms(&self, stage: PipelineStage, model: PipelineModel) -> ExchangeTerms<'_>;
}

/// What a pipeline is held to; rebuilt from the same files when a run is resumed.
#[derive(Clone, Copy)]
pub struct PipelineTerms<'t> {
    /// Makes what stages ask.
    pub asker: &'t dyn StageAsker,
    /// What is worked on.
    pub subject: &'t PipelineSubject,
    /// The words of the rules.
    pub lexicon: &'t TriageLexicon,
    /// The words by which drafts are judged.
    pub rules: &'t DraftRules,
    /// What looks at texts from outside.
    pub screening: Screening<'t>,
    /// How long, how often and for how much.
    pub limits: PipelineLimits,
}

impl core::fmt::Debug for PipelineTerms<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PipelineTerms").field("limits", &self.limits).finish_non_exhaustive()
    }
}
