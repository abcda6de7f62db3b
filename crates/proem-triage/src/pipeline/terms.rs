//! The subject and the terms of a pipeline.

use proem_engine::{
    Error, ErrorKind,
    effect::ActionState,
    ledger::ModelMix,
    ordered_json::OrderedJson,
    policy::{ActionConfidence, AutonomyLevel, Policy, ProjectAllowances},
    run::{ExchangeTerms, ServerFindings, Time},
};
use proem_guard::{LabelTree, Untrusted};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::situation::PastSituation;
use super::stage::{PipelineLimits, PipelineModel, PipelineStage};
use crate::{
    ProjectSignal, SignalClassification, TriageLexicon,
    answer::DraftRules,
    artefact::Artefact,
    blocks::{RecentAction, RecentActionState},
    charter::ProjectCharter,
    plan::{ArtefactGate, ArtefactSet},
};
use proem_agents::{prompt_call::PreparedRequest, screen::Screening};

/// The inputs of a run, from which all of it can be made anew.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineSubject {
    /// The text of the project's file, as a person vouched for it.
    pub charter_text: String,
    /// The same, read.
    pub charter: ProjectCharter,
    /// The signals, in the order in which they came.
    pub signals: Vec<ProjectSignal>,
    /// The artefacts as they were.
    pub artefacts: ArtefactSet,
    /// The level in force.
    pub level: AutonomyLevel,
    /// Whether rules may change artefacts.
    pub gate: ArtefactGate,
    /// Which models there is money for.
    pub mix: ModelMix,
    /// The policy in force.
    pub policy: SubjectPolicy,
    /// The actions of the last 24 hours, oldest first.
    pub actions: Vec<EarlierAction>,
    /// Past matters that may resemble the new ones.
    pub situations: Vec<PastSituation>,
    /// The time of the cycle.
    pub now: Time,
}

/// The policy in force, with the texts that it was read from.
#[derive(Debug, Clone)]
pub struct SubjectPolicy {
    /// The policy's own text, and that of one that only makes it narrower, if there is one.
    texts: Vec<String>,
    policy: Policy,
}

/// By the texts.
impl PartialEq for SubjectPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl SubjectPolicy {
    /// A policy that knows the project's people and tickets, made narrower by another one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if one of them is none.
    pub fn read(base: String, narrower: Option<String>, project: &ProjectAllowances) -> Result<Self, Error> {
        let mut policy = Policy::parse(&base, "policy")?.knowing(project);
        if let Some(narrower) = &narrower {
            policy = policy.narrowed_by(&Policy::parse(narrower, "policy")?);
        }
        Ok(Self { texts: [base].into_iter().chain(narrower).collect(), policy })
    }

    /// The policy.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// An action of the last 24 hours, in words of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierAction {
    /// When it was proposed.
    pub at: Time,
    /// Its name.
    pub action: String,
    /// Its state.
    #[serde(with = "state_word")]
    pub state: ActionState,
    /// Why it was decided so, in words of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Whether a person was asked instead.
    #[serde(default)]
    pub is_escalated: bool,
    /// How sure code was of it, in thousandths: sources, boundary, schema and precedent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<[u32; 4]>,
}

/// A state by its word.
mod state_word {
    use proem_engine::effect::ActionState;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(state: &ActionState, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(state.as_str())
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<ActionState, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = ActionState::ALL.into_iter().find(|state| state.as_str() == word);
        known.ok_or_else(|| D::Error::custom("this is no state of an action"))
    }
}

impl EarlierAction {
    /// As a prompt is told of it.
    pub(super) fn told(&self) -> RecentAction {
        let state = match self.state {
            ActionState::Executed => RecentActionState::Executed,
            state if self.is_escalated && !state.is_end() => RecentActionState::Escalated,
            ActionState::Proposed
            | ActionState::Held
            | ActionState::Waiting
            | ActionState::Approved
            | ActionState::Executing
            | ActionState::Resend
            | ActionState::Resending => RecentActionState::Pending,
            ActionState::Unknown => RecentActionState::Unknown,
            ended => RecentActionState::Ended(ended.as_str()),
        };
        let description = LabelTree::from(self.because.as_deref().unwrap_or(&self.action));
        let confidence = self.confidence.map(|[sources, boundary, schema, precedent]| ActionConfidence {
            sources,
            boundary,
            schema,
            precedent,
        });
        RecentAction { at: self.at, action: self.action.clone(), description, state, confidence }
    }
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
        let situations =
            self.situations.iter().map(|past| past.tree().write().map_err(|error| unwritten("the past", &error)));
        Ok(json!({
            "artefacts": artefacts.collect::<Result<Vec<_>, _>>()?,
            "charter": self.charter_text,
            "ahead_of_utc": self.charter.ahead_of_utc,
            "gate": self.gate == ArtefactGate::Permitted,
            "level": self.level.as_str(),
            "mix": self.mix,
            "actions": self.actions,
            "now": self.now.0,
            "policy": self.policy.texts,
            "situations": situations.collect::<Result<Vec<_>, _>>()?,
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
        let mut charter = ProjectCharter::parse(&charter_text, "charter").map_err(|_| wrong("charter"))?;
        // Runs that were recorded before know none.
        charter.ahead_of_utc = inputs.get("ahead_of_utc").and_then(Json::as_i64).unwrap_or_default();
        let signals = texts("signals")?;
        let signals = signals.into_iter().map(|text| ProjectSignal::read(text).map_err(|_| wrong("signals")));
        let mut artefacts = ArtefactSet::new(&charter.id);
        for text in texts("artefacts")? {
            artefacts.set(Artefact::read(text).map_err(|_| wrong("artefacts"))?);
        }
        let past = |text: &str| LabelTree::read(text).ok().and_then(|tree| PastSituation::of_tree(&tree));
        let situations = texts("situations")?.into_iter().map(|text| past(text).ok_or_else(|| wrong("situations")));
        let may = inputs.get("gate").and_then(Json::as_bool).ok_or_else(|| wrong("gate"))?;
        let mix = inputs.get("mix").cloned().and_then(|mix| serde_json::from_value(mix).ok());
        Ok(Self {
            signals: signals.collect::<Result<_, _>>()?,
            artefacts,
            level: AutonomyLevel::of_name(text("level")?).ok_or_else(|| wrong("level"))?,
            gate: if may { ArtefactGate::Permitted } else { ArtefactGate::Withheld },
            mix: mix.ok_or_else(|| wrong("mix"))?,
            policy: {
                let mut texts = texts("policy")?.into_iter().map(str::to_owned);
                let base = texts.next().ok_or_else(|| wrong("policy"))?;
                SubjectPolicy::read(base, texts.next(), &charter.allowances())?
            },
            actions: serde_json::from_value(inputs.get("actions").cloned().unwrap_or_default())
                .map_err(|_| wrong("actions"))?,
            situations: situations.collect::<Result<_, _>>()?,
            now: Time(inputs.get("now").and_then(Json::as_i64).ok_or_else(|| wrong("now"))?),
            charter,
            charter_text,
        })
    }
}

/// The subject of a stage's question.
#[derive(Debug, Clone, Copy)]
pub struct StageSubject<'s> {
    /// The project, its artefacts and its level.
    pub subject: &'s PipelineSubject,
    /// The artefacts as they will stand when rules have changed them.
    pub artefacts: &'s ArtefactSet,
    /// The signals.
    pub signals: &'s [StageSignal<'s>],
    /// The most tokens of the answer: by the size of what is asked, so that no more of a budget is reserved than that.
    pub answer_tokens: usize,
    /// The earlier calls' lessons about the model's server.
    pub server: ServerFindings,
}

/// A signal as a stage is told of it. Its raw texts are in no prompt.
#[derive(Debug, Clone, Copy)]
pub struct StageSignal<'s> {
    /// The signal, of which closed words are shown.
    pub signal: &'s ProjectSignal,
    /// The readable part of its texts.
    pub content: &'s Untrusted<String>,
    /// Its one line, if nothing of it was cut.
    pub summary: Option<&'s Untrusted<String>>,
    /// The name of its sender.
    pub sender: Option<&'s Untrusted<String>>,
    /// The name of its ticket, unless that is kept out.
    pub ticket: Option<&'s Untrusted<String>>,
    /// Whether that is suspected: it is shown with a mark at each word.
    pub is_flagged: bool,
    /// Its classification so far.
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

    /// The terms of its answer.
    fn terms(&self, stage: PipelineStage, model: PipelineModel) -> ExchangeTerms<'_>;
}

/// The terms of a pipeline. Rebuilt from the same files when a run is resumed.
#[derive(Clone, Copy)]
pub struct PipelineTerms<'t> {
    /// Makes what stages ask.
    pub asker: &'t dyn StageAsker,
    /// The subject.
    pub subject: &'t PipelineSubject,
    /// The words of the rules.
    pub lexicon: &'t TriageLexicon,
    /// The words by which drafts are judged.
    pub rules: &'t DraftRules,
    /// The guard for text from outside.
    pub screening: Screening<'t>,
    /// How long, how often and for how much.
    pub limits: PipelineLimits,
}

impl core::fmt::Debug for PipelineTerms<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PipelineTerms").field("limits", &self.limits).finish_non_exhaustive()
    }
}
