//! A cycle whose models say what a script says.

use std::sync::{LazyLock, Mutex};

use proem_agents::prompt_call::{InputAuthor, PreparedRequest, PromptCall, prepare_prompt_call};
use proem_agents::screen::Screening;
use proem_engine::Error;
use proem_engine::call::{Arrival, CallFailure, FinishReason, Response, ResponsePart, ToolCall, Usage};
use proem_engine::contract::ToolContracts;
use proem_engine::effect::ActionState;
use proem_engine::ledger::ModelMix;
use proem_engine::policy::AutonomyLevel;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::providers::{CallEnforcement, Model, Provider, Providers};
use proem_engine::run::{
    AnswerRequirement, CallRequirement, Effect, EffectResult, Event, EventKind, ExchangeLimits, ExchangeTerms, Machine,
    Step, Time,
};
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{InstallationKey, Policy, Untrusted, show};
use proem_text::{Label, Source};
use proem_triage::answer::DraftRules;
use proem_triage::charter::ProjectCharter;
use proem_triage::pipeline::{
    EarlierAction, Pipeline, PipelineEnd, PipelineLimits, PipelineModel, PipelineStage, PipelineSubject, PipelineTerms,
    StageAsker, StageSubject, SubjectPolicy,
};
use proem_triage::plan::{ArtefactGate, ArtefactSet};
use proem_triage::{ProjectSignal, TriageLexicon, contract::stage_contracts};
use serde_json::{Value as Json, json};

use crate::sanitise::guard;

pub(crate) const PROJECT: &str = "0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f";
pub(crate) const NOW: Time = Time(1_795_500_000_000);

static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy::shipped().unwrap());
static RULES: LazyLock<DraftRules> = LazyLock::new(|| DraftRules::shipped().unwrap());
static LEXICON: LazyLock<TriageLexicon> = LazyLock::new(|| TriageLexicon::shipped().unwrap());

const PROMPT: &str = "---
model: small
input:
  schema: { ids(array): string }
proem:
  version: 1.0.0
  budget: { input: 20000, output: 4096 }
  inputs:
    ids: { trust: trusted }
  sections:
    - { name: role, trust: constitution }
    - { name: ids, trust: trusted, cache: never }
---
{{role \"system\"}}{{section \"role\"}}
Call the tools.
{{role \"user\"}}{{section \"ids\"}}
{{#each ids}}- {{this}}
{{/each}}
";

/// A question: the stage, the model, and each signal's id with the text that the model read.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) stage: PipelineStage,
    pub(crate) model: PipelineModel,
    pub(crate) signals: Vec<(String, String)>,
    /// The name of each signal and its sender.
    pub(crate) heads: Vec<[Option<String>; 2]>,
    /// The most tokens of the answer.
    pub(crate) answer_tokens: usize,
}

impl Asked {
    pub(crate) fn words(&self) -> String {
        format!("{} {} {}", self.stage.as_str(), self.model.as_str(), self.signals.len())
    }
}

/// A model's behaviour: calls of tools, or something else.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Calls(Vec<(String, Json)>),
    CutOff,
    Fails(&'static str),
}

pub(crate) struct Scene {
    prompt: Prompt,
    tools: ToolContracts,
    model: Model,
    key: InstallationKey,
    asked: Mutex<Vec<Asked>>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let files = [("a/judge/1.0.0.prompt".to_owned(), PartialText::Template(PROMPT.to_owned()))].into();
        let book = Book::new(vec![BookLayer { origin: Origin::Embedded, files }]).unwrap();
        Self {
            prompt: book.prompt("a/judge", None).unwrap(),
            tools: ToolContracts::new(stage_contracts().unwrap().into()).unwrap(),
            model: Providers::load().unwrap().unlisted("m", Provider::OpenAi),
            key: InstallationKey::new([7; 32]),
            asked: Mutex::default(),
        }
    }

    pub(crate) fn terms<'s>(&'s self, subject: &'s PipelineSubject, limits: PipelineLimits) -> PipelineTerms<'s> {
        let screening = Screening { guard: guard(), policy: &POLICY };
        PipelineTerms { asker: self, subject, lexicon: &LEXICON, rules: &RULES, screening, limits }
    }
}

impl StageAsker for Scene {
    fn request(
        &self,
        stage: PipelineStage,
        model: PipelineModel,
        subject: StageSubject<'_>,
    ) -> Result<PreparedRequest, Error> {
        let text = |text: &Untrusted<String>| show::exact_json(text).as_str().unwrap().to_owned();
        let signals: Vec<(String, String)> =
            subject.signals.iter().map(|told| (told.signal.id.clone(), text(told.content))).collect();
        let heads = subject.signals.iter().map(|told| [told.summary.map(text), told.sender.map(text)]).collect();
        let ids: Vec<&str> = signals.iter().map(|(id, _)| id.as_str()).collect();
        let inputs = json!({ "ids": ids }).into();
        let call = PromptCall {
            prompt: &self.prompt,
            owed: AnswerRequirement::Text,
            inputs: &inputs,
            given: InputAuthor::ByCaller,
            model: &self.model,
            key: &self.key,
            screening: Screening { guard: guard(), policy: &POLICY },
            input_tokens: None,
            output_tokens: None,
            arrival: Arrival::Whole,
            profile: None,
            inquiry: None,
        };
        let mut prepared = prepare_prompt_call(&call, &mut CachingCounter::new(&OpenAi::O200k))?;
        prepared.request.answer = self.tools.form(CallEnforcement::Forced);
        self.asked.lock().unwrap().push(Asked { stage, model, signals, heads, answer_tokens: subject.answer_tokens });
        Ok(prepared)
    }

    fn terms(&self, _: PipelineStage, _: PipelineModel) -> ExchangeTerms<'_> {
        ExchangeTerms {
            owed: AnswerRequirement::Calls { tools: &self.tools, needed: CallRequirement::Some },
            fallback: None,
            limits: ExchangeLimits::default(),
            key: &self.key,
            counter: &OpenAi::O200k,
        }
    }
}

pub(crate) fn charter_text() -> String {
    format!(
        "id = \"{PROJECT}\"\nname = \"Payments\"\nkey = \"PAY\"\nlevel = \"tactical\"\nowner = \"Olivia\"\n\
         time_zone = \"UTC\"\ndomains = [\"corp.example\"]\n\n\
         [[stakeholders]]\nname = \"Sam\"\naddress = \"sam@corp.example\"\n\n\
         [[stakeholders]]\nname = \"Vera\"\naddress = \"vera@vendor.example\"\n"
    )
}

pub(crate) fn subject(signals: Vec<ProjectSignal>) -> PipelineSubject {
    let charter_text = charter_text();
    PipelineSubject {
        charter: ProjectCharter::parse(&charter_text, "project.toml").unwrap(),
        charter_text,
        signals,
        artefacts: ArtefactSet::new(PROJECT),
        level: AutonomyLevel::Tactical,
        gate: ArtefactGate::Permitted,
        mix: ModelMix::Both,
        policy: SubjectPolicy::read(
            proem_engine::policy::Policy::shipped_text().to_owned(),
            None,
            &proem_engine::policy::ProjectAllowances::default(),
        )
        .unwrap(),
        actions: vec![EarlierAction {
            at: Time(NOW.0 - 1),
            action: "jira_comment".into(),
            state: ActionState::Executed,
            because: Some("it goes by itself".into()),
            is_escalated: false,
            confidence: Some([500, 1_000, 1_000, 333]),
        }],
        situations: Vec::new(),
        now: NOW,
    }
}

fn performed(does: &Does) -> EffectResult {
    let outside = |text: &str| Untrusted::new(text.to_owned(), Label::from_source(Source::named("model")));
    let call = |(name, arguments): &(String, Json)| {
        ResponsePart::Call(ToolCall {
            id: outside("1"),
            name: outside(name),
            arguments: outside(&arguments.to_string()),
        })
    };
    let (content, finish) = match does {
        Does::Calls(calls) => (calls.iter().map(call).collect(), FinishReason::Calls),
        Does::CutOff => (Vec::new(), FinishReason::Length),
        Does::Fails(kind) => {
            let kind = serde_json::from_value(json!(kind)).unwrap();
            return EffectResult::Failed { failure: CallFailure::new(kind, "it went wrong; look at it") };
        }
    };
    let usage =
        Usage { input: Some(50), cache_read: Some(0), cache_writes: Vec::new(), output: Some(5), ..Usage::default() };
    EffectResult::Response { response: Box::new(Response { model: None, id: None, content, finish, usage }) }
}

#[expect(clippy::panic, reason = "a test may stop at what it didn't expect")]
fn unexpected(found: &impl std::fmt::Debug) -> ! {
    panic!("{found:?}")
}

/// Drives a cycle to its end. Its state is written down and read back at every step.
pub(crate) fn run(
    scene: &Scene,
    subject: &PipelineSubject,
    limits: PipelineLimits,
    model: &dyn Fn(&Asked) -> Does,
) -> (PipelineEnd, Vec<String>) {
    let terms = scene.terms(subject, limits);
    let mut pipeline = Pipeline::new(terms);
    let (mut now, mut what, mut next) = (NOW, EventKind::Started, 0);
    let mut happened = Vec::new();
    loop {
        let mut twin = Pipeline::restore(terms, &pipeline.state().unwrap()).unwrap();
        let step = pipeline.step(Event { now, what: what.clone() }).unwrap();
        // The twin asks the asker as well.
        let asked = scene.asked.lock().unwrap().len();
        assert_eq!(twin.step(Event { now, what }).unwrap(), step, "the same state and event make the same step");
        scene.asked.lock().unwrap().truncate(asked);
        assert_eq!(twin.state().unwrap(), pipeline.state().unwrap());
        match step {
            Step::Done(end) => {
                assert!(pipeline.step(Event { now, what: EventKind::Started }).is_err(), "it is over");
                return (end, happened);
            }
            Step::Wait { until } => {
                happened.push(format!("wait {}", (until.0 - now.0) / 1_000));
                (now, what) = (until, EventKind::Woken);
            }
            Step::Do(effects) => {
                let [(id, Effect::Call { .. })] = effects.as_slice() else { unexpected(&effects) };
                assert_eq!(id.0, next, "effects are numbered through the run");
                next += 1;
                let asked = scene.asked.lock().unwrap().last().unwrap().clone();
                happened.push(asked.words());
                now = Time(now.0 + 2_000);
                what = EventKind::Performed { results: vec![(*id, performed(&model(&asked)))] };
            }
            Step::Ask(questions) => unexpected(&questions),
        }
    }
}

pub(crate) fn sanitise_call(id: &str, content: &str) -> (String, Json) {
    let arguments = json!({
        "signal_id": id, "original_source": "jira", "original_type": "comment_created", "sanitised_content": content,
        "threat_detected": false, "threats_found": [], "content_preserved_ratio": 1.0, "confidence_score": 0.9,
        "requires_human_review": false,
    });
    ("sanitise_signal".to_owned(), arguments)
}

pub(crate) fn classify_call(id: &str, importance: &str, category: &str, action: &str) -> (String, Json) {
    let mut arguments = json!({
        "signal_id": id, "importance": importance, "category": category, "recommended_action": action,
        "action_rationale": "because", "requires_sonnet": action == "defer_to_sonnet",
        "time_sensitivity": "this_week", "confidence": 0.8,
    });
    if action == "defer_to_sonnet" {
        arguments["sonnet_reason"] = json!("unclear");
    }
    if action == "update_artefact" {
        arguments["artefacts_affected"] = json!(["raid_log"]);
    }
    ("classify_signal".to_owned(), arguments)
}

pub(crate) fn draft_call(id: &str, to: &str, body: &str) -> (String, Json) {
    let arguments = json!({
        "project_id": PROJECT, "communication_type": "follow_up",
        "recipient": { "email": to, "name": "N", "is_external": false },
        "subject": "Refunds", "body": body, "tone": "professional", "urgency": "normal", "context": "asked",
        "requires_approval": false, "signals_referenced": [id],
    });
    ("draft_communication".to_owned(), arguments)
}
