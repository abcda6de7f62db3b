//! The state after some answers: made anew from them whenever it is needed, and written down nowhere.
//!
//! Invariants: rules classify every signal before a model is asked, and what no model says stays as they say it; what
//! an answer says of a signal counts once, and not at all where it says two things.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::{
    effect::key::SignalRevision,
    run::{ExchangeEnd, Outcome},
};
use proem_guard::{Untrusted, Verdict};
use proem_text::Source;
use serde::{Deserialize, Serialize};

use super::{
    batch::BatchCandidate,
    sender::prompt_sender_name,
    stage::{PipelineModel, PipelineStage},
    terms::{PipelineTerms, StageSignal},
};
use crate::{
    ClassificationContext, ProjectSignal, ReasoningNeed, SanitisedSignal, SignalClassification, SignalInBatch,
    TriageProject,
    answer::{AnswerRemark, AnswerScope, ModelProposals, Sanitation, StageCall, StageTool, stage_calls},
    artefact::{ArtefactActor, ArtefactKind},
    classify_each,
    contract::{ClassifySignal, RecommendedAction, SanitiseSignal},
    plan::{ArtefactGate, ArtefactSet, CycleContext, CycleMember, CyclePlan, plan_cycle},
    sanitise_signal,
    signal::SignalKind,
};

/// A call of a stage that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageExchange {
    /// The stage of the pipeline that asked.
    pub stage: PipelineStage,
    /// The model that was asked.
    pub model: PipelineModel,
    /// The places of the signals that it was asked about.
    pub members: Vec<usize>,
    /// How it ended.
    pub outcome: Outcome,
}

/// A signal's way through a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTrace {
    /// The stage of the pipeline that it went through.
    pub stage: PipelineStage,
    /// The result, in words of ours.
    pub came: String,
    /// A model's words about it, if they are shown.
    pub said: Option<Untrusted<String>>,
}

/// Something that was not taken, and of which signal, if it is of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StageRemark {
    /// The stage of the pipeline that it is about.
    pub stage: PipelineStage,
    /// The signal's place.
    pub signal: Option<usize>,
    /// A remark on the answer.
    pub remark: AnswerRemark,
}

/// How often a tool was called in answers that met their contract.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolTally {
    /// How often.
    pub calls: u64,
    /// How often what it was called with was taken.
    pub taken: u64,
}

impl ToolTally {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { calls: self.calls.saturating_add(other.calls), taken: self.taken.saturating_add(other.taken) }
    }
}

/// The outcome of the signals that a stage answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTally {
    /// Signals of answers that met their contract.
    pub signals: u64,
    /// Those that the model suspects.
    pub suspected: u64,
    /// Those that a person is to decide about.
    pub escalated: u64,
}

impl StageTally {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            signals: self.signals.saturating_add(other.signals),
            suspected: self.suspected.saturating_add(other.suspected),
            escalated: self.escalated.saturating_add(other.escalated),
        }
    }
}

/// A signal as the stages leave it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedSignal {
    /// Which one.
    pub id: SignalRevision,
    /// Its texts as far as they may go on, with the suspicion against them.
    pub sanitised: SanitisedSignal,
    /// Category, importance and what they rest on.
    pub classification: SignalClassification,
    /// Its way through the stages.
    pub way: Vec<StageTrace>,
}

/// One signal, with all that is known of it.
#[derive(Debug)]
struct SignalFinding<'t> {
    signal: &'t ProjectSignal,
    sanitised: SanitisedSignal,
    /// The text that later stages read.
    content: Untrusted<String>,
    /// The name of the sender.
    sender: Option<Untrusted<String>>,
    /// The classification by rules.
    rules: SignalClassification,
    /// The classification by a model, if there is one.
    told: Option<SignalClassification>,
    way: Vec<StageTrace>,
}

impl SignalFinding<'_> {
    /// The newest classification.
    fn classification(&self) -> &SignalClassification {
        self.told.as_ref().unwrap_or(&self.rules)
    }

    /// Its one line as the text has it. A model may have cut it, and then it is gone.
    fn summary(&self) -> Option<&Untrusted<String>> {
        let summary = self.sanitised.fields.iter().find(|field| field.name == "summary")?.text.as_ref()?;
        let is_there = summary.measure(|summary| {
            !summary.trim().is_empty() && self.content.measure(|content| content.lines().any(|line| line == summary))
        });
        is_there.then_some(summary)
    }

    fn judged(&self) -> JudgedSignal {
        JudgedSignal {
            id: SignalRevision::from(self.signal),
            sanitised: self.sanitised.clone(),
            classification: self.classification().clone(),
            way: self.way.clone(),
        }
    }
}

/// The known facts about signals.
#[derive(Debug)]
pub(super) struct Findings<'t> {
    terms: PipelineTerms<'t>,
    people: TriageProject,
    /// One for each signal of the subject, in its order.
    signals: Vec<SignalFinding<'t>>,
    pub(super) proposals: ModelProposals,
    pub(super) remarks: BTreeSet<StageRemark>,
    pub(super) tools: BTreeMap<&'static str, ToolTally>,
    pub(super) stages: BTreeMap<PipelineStage, StageTally>,
    /// Signals that a person is to decide about, by who says so.
    escalated: BTreeSet<(PipelineStage, usize)>,
}

impl<'t> Findings<'t> {
    /// The rules' verdicts, before a model is asked.
    pub(super) fn new(terms: PipelineTerms<'t>) -> Self {
        let sanitised: Vec<(&ProjectSignal, SanitisedSignal)> =
            terms.subject.signals.iter().map(|signal| (signal, sanitise_signal(signal, terms.screening))).collect();
        let people = terms.subject.charter.people();
        let batch: Vec<SignalInBatch<'_>> =
            sanitised.iter().map(|(signal, sanitised)| SignalInBatch { signal, sanitised }).collect();
        let rules = classify_each(&batch, ClassificationContext { lexicon: terms.lexicon, project: &people });
        // The batch was made of these signals, one by one.
        let signals = terms.subject.signals.iter().zip(rules).map(|(signal, (item, rules))| SignalFinding {
            signal,
            sanitised: item.sanitised.clone(),
            content: item.sanitised.content(),
            sender: prompt_sender_name(signal, &terms.subject.charter, terms.screening),
            rules,
            told: None,
            way: Vec::new(),
        });
        let signals = signals.collect();
        Self {
            terms,
            people,
            signals,
            proposals: ModelProposals::default(),
            remarks: BTreeSet::new(),
            tools: BTreeMap::new(),
            stages: BTreeMap::new(),
            escalated: BTreeSet::new(),
        }
    }

    /// The same as if models had said of every signal that they are asked about what rules say.
    pub(super) fn agreed(&self) -> Self {
        let mut agreed = Self::new(self.terms);
        for candidate in agreed.candidates(PipelineStage::Classify) {
            if let Some(finding) = agreed.signals.get_mut(candidate.place) {
                finding.told = Some(finding.rules.clone());
            }
        }
        agreed
    }

    /// All signals of the subject, as they are judged by now.
    pub(super) fn judged(&self) -> Vec<JudgedSignal> {
        self.signals.iter().map(SignalFinding::judged).collect()
    }

    /// The signals that a stage asks about. Texts that are out, and what a backlog lists, are for rules alone.
    pub(super) fn candidates(&self, stage: PipelineStage) -> Vec<BatchCandidate> {
        let asked = self.signals.iter().enumerate().filter_map(|(place, finding)| {
            let SignalFinding { signal, sanitised, content, told, .. } = finding;
            let is_flagged = sanitised.verdict == Verdict::Flag;
            let is_read = sanitised.verdict <= Verdict::Flag && signal.kind != SignalKind::TicketListed;
            let candidate = BatchCandidate { place, bytes: content.len(), is_flagged, model: PipelineModel::Small };
            let answer = &finding.classification().answer;
            let is_told = || told.is_some();
            match stage {
                _ if !is_read => None,
                PipelineStage::Sanitise => (!content.is_empty()).then_some(candidate),
                PipelineStage::Classify => Some(candidate),
                PipelineStage::Reasoning => {
                    let need = ReasoningNeed::of(answer);
                    let model = PipelineModel::of(self.terms.subject.mix, need);
                    (need != ReasoningNeed::Unneeded && is_told()).then_some(BatchCandidate { model, ..candidate })
                }
                // Anything derived from a flagged text needs approval, and a version of an artefact has none.
                PipelineStage::ArtefactUpdate => {
                    let is_for_it = matches!(
                        answer.recommended_action,
                        RecommendedAction::UpdateArtefact | RecommendedAction::Escalate
                    );
                    let may = self.terms.subject.gate == ArtefactGate::Permitted && !is_flagged;
                    (may && is_for_it && is_told()).then_some(candidate)
                }
            }
        });
        asked.collect()
    }

    /// Signals as a stage is told of them.
    pub(super) fn signals(&self, members: &[usize]) -> Vec<StageSignal<'_>> {
        let of = |place: &usize| {
            let finding = self.signals.get(*place)?;
            Some(StageSignal {
                signal: finding.signal,
                ticket: finding.sanitised.name("ticket").and(finding.signal.ticket.as_ref()),
                content: &finding.content,
                summary: finding.summary(),
                sender: finding.sender.as_ref(),
                is_flagged: finding.sanitised.verdict == Verdict::Flag,
                classification: finding.classification(),
            })
        };
        members.iter().filter_map(of).collect()
    }

    /// The artefacts as they will stand when rules have changed them because of what is known.
    pub(super) fn artefacts(&self) -> ArtefactSet {
        let proposals = ModelProposals { updates: Vec::new(), ..self.proposals.clone() };
        let mut artefacts = self.terms.subject.artefacts.clone();
        for change in self.plan(&proposals).changes {
            artefacts.set(change.artefact);
        }
        artefacts
    }

    fn plan(&self, proposals: &ModelProposals) -> CyclePlan {
        let subject = self.terms.subject;
        let members: Vec<CycleMember<'_>> = self
            .signals
            .iter()
            .map(|finding| CycleMember {
                signal: finding.signal,
                sanitised: &finding.sanitised,
                classification: finding.classification(),
            })
            .collect();
        let actor = ArtefactActor::System("triage".to_owned());
        let context = CycleContext {
            charter: &subject.charter,
            level: subject.level,
            gate: subject.gate,
            lexicon: self.terms.lexicon,
            artefacts: &subject.artefacts,
            actor: &actor,
            proposals,
            now: subject.now,
        };
        plan_cycle(&members, &context)
    }

    /// Says what became of signals in a stage without an answer.
    pub(super) fn left_to_rules(&mut self, stage: PipelineStage, members: &[usize], why: &str) {
        for place in members {
            if let Some(finding) = self.signals.get_mut(*place) {
                finding.way.push(StageTrace { stage, came: format!("left to the rules: {why}"), said: None });
            }
        }
    }

    /// Takes up what a call ended with.
    pub(super) fn take(&mut self, exchange: &StageExchange) {
        let ExchangeEnd::Answered { value } = &exchange.outcome.ended else { return };
        let calls = stage_calls(value);
        let signals = u64::try_from(exchange.members.len()).unwrap_or(u64::MAX);
        self.tally_stage(exchange.stage, StageTally { signals, ..StageTally::default() });
        match exchange.stage {
            PipelineStage::Sanitise => self.take_sanitised(exchange, &calls),
            PipelineStage::Classify | PipelineStage::Reasoning => {
                self.take_classified(exchange, &calls);
                self.take_proposals(exchange, &calls);
            }
            PipelineStage::ArtefactUpdate => self.take_proposals(exchange, &calls),
        }
    }

    fn tally_stage(&mut self, stage: PipelineStage, more: StageTally) {
        let known = self.stages.entry(stage).or_default();
        *known = known.and(more);
    }

    fn escalated(&mut self, stage: PipelineStage, place: usize) {
        if self.escalated.insert((stage, place)) {
            self.tally_stage(stage, StageTally { escalated: 1, ..StageTally::default() });
        }
    }

    fn tally(&mut self, tool: StageTool, calls: u64, taken: u64) {
        let known = self.tools.entry(tool.as_str()).or_default();
        *known = known.and(ToolTally { calls, taken });
    }

    fn remark(&mut self, stage: PipelineStage, signal: Option<usize>, remark: AnswerRemark) {
        self.remarks.insert(StageRemark { stage, signal, remark });
    }

    /// An answer's verdict on each of its signals with one tool: once, or not at all.
    fn of_each<'c>(
        &mut self,
        exchange: &StageExchange,
        calls: &'c [StageCall],
        tool: StageTool,
    ) -> Vec<(usize, &'c StageCall)> {
        let signals = &self.terms.subject.signals;
        let mut by_place: BTreeMap<Option<usize>, Vec<&StageCall>> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.tool == tool) {
            self.tally(tool, 1, 0);
            let is_of = |place: &&usize| {
                let named = signals.get(**place).map(|signal| signal.id.as_str());
                named.is_some_and(|id| call.names(id))
            };
            by_place.entry(exchange.members.iter().find(is_of).copied()).or_default().push(call);
        }
        let mut once = Vec::new();
        for (place, said) in by_place {
            match (place, said.as_slice()) {
                (None, _) => self.remark(exchange.stage, None, AnswerRemark::UnknownSignal),
                (Some(place), [call]) => once.push((place, *call)),
                (Some(place), _) => self.remark(exchange.stage, Some(place), AnswerRemark::AnsweredTwice),
            }
        }
        once
    }

    fn take_sanitised(&mut self, exchange: &StageExchange, calls: &[StageCall]) {
        let answers = self.of_each(exchange, calls, StageTool::Sanitise);
        let mut taken = BTreeSet::new();
        for (place, call) in &answers {
            let (Some(said), Some(signal)) = (call.typed::<SanitiseSignal>(), self.signals.get(*place)) else {
                continue;
            };
            taken.insert(*place);
            let sanitation = Sanitation::told(&signal.sanitised, &said, self.terms.screening);
            let came = match (sanitation.remark, sanitation.is_cut, sanitation.is_suspected) {
                (Some(remark), ..) => format!("the text stays as it was: {}", remark.in_words()),
                (None, true, _) => "a model cut the text and suspects it".to_owned(),
                (None, false, true) => "a model suspects the text".to_owned(),
                (None, false, false) => "a model let the text pass as it was".to_owned(),
            };
            match sanitation.remark {
                Some(remark) => self.remark(exchange.stage, Some(*place), remark),
                None => self.tally(call.tool, 0, 1),
            }
            if let Some(finding) = self.signals.get_mut(*place) {
                finding.content = sanitation.content;
                if sanitation.is_suspected {
                    finding.sanitised = finding.sanitised.clone().suspected();
                    self.tally_stage(exchange.stage, StageTally { suspected: 1, ..StageTally::default() });
                }
            }
            self.came(exchange, *place, &came, None);
        }
        self.unanswered(exchange, &taken);
    }

    fn take_classified(&mut self, exchange: &StageExchange, calls: &[StageCall]) {
        let answers = self.of_each(exchange, calls, StageTool::Classify);
        let mut taken = BTreeSet::new();
        let ids: Vec<String> = exchange.members.iter().filter_map(|place| self.id(*place)).collect();
        let batch: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        for (place, call) in &answers {
            let (Some(said), Some(finding)) = (call.typed::<ClassifySignal>(), self.signals.get(*place)) else {
                continue;
            };
            taken.insert(*place);
            let context = ClassificationContext { lexicon: self.terms.lexicon, project: &self.people };
            let item = SignalInBatch { signal: finding.signal, sanitised: &finding.sanitised };
            let mut told = finding.rules.told(&said, &item, context, &batch);
            let is_last = exchange.stage == PipelineStage::Reasoning;
            if is_last && told.answer.recommended_action == RecommendedAction::DeferToSonnet {
                // There is nobody behind the large model but a person.
                told.answer.recommended_action = RecommendedAction::Escalate;
            }
            let answer = &told.answer;
            let came = format!(
                "{} says {}, {}, {}",
                exchange.model.as_str(),
                answer.importance.as_str(),
                answer.category.as_str(),
                answer.recommended_action.as_str()
            );
            if answer.recommended_action == RecommendedAction::Escalate {
                self.escalated(exchange.stage, *place);
            }
            let why = Untrusted::new(said.action_rationale.clone(), call.arguments.label().clone());
            if let Some(finding) = self.signals.get_mut(*place) {
                finding.told = Some(told);
            }
            self.tally(call.tool, 0, 1);
            self.came(exchange, *place, &came, Some(why));
        }
        if exchange.stage == PipelineStage::Classify {
            self.unanswered(exchange, &taken);
        }
    }

    fn take_proposals(&mut self, exchange: &StageExchange, calls: &[StageCall]) {
        let signals: Vec<&ProjectSignal> =
            exchange.members.iter().filter_map(|place| self.terms.subject.signals.get(*place)).collect();
        let stage = exchange.stage;
        let beside = self.beside(stage);
        let scope = AnswerScope { charter: &self.terms.subject.charter, signals: &signals, beside: &beside };
        for call in calls.iter().filter(|call| !matches!(call.tool, StageTool::Sanitise | StageTool::Classify)) {
            let is_for_it = matches!(call.tool, StageTool::Update(_)) || stage != PipelineStage::ArtefactUpdate;
            let taken = if is_for_it {
                self.proposals.take(call, scope, self.terms.rules)
            } else {
                Err(AnswerRemark::NotAsked)
            };
            self.tally(call.tool, 1, u64::from(taken.is_ok()));
            match &taken {
                Ok(remarks) => remarks.iter().for_each(|remark| self.remark(stage, None, *remark)),
                Err(remark) => self.remark(stage, None, *remark),
            }
            let asks = call.tool == StageTool::Escalate && taken.is_ok();
            let came = match taken {
                Ok(_) => format!("{} {}", exchange.model.as_str(), taken_words(call.tool)),
                Err(remark) => format!("an answer was not taken: {}", remark.in_words()),
            };
            for place in exchange.members.clone() {
                if self.id(place).is_some_and(|id| call.names_among(&id)) || exchange.members.len() == 1 {
                    self.came(exchange, place, &came, None);
                    if asks {
                        self.escalated(stage, place);
                    }
                }
            }
        }
    }

    /// The parts of a request beside its signals that somebody outside may have written.
    fn beside(&self, stage: PipelineStage) -> Vec<Source> {
        let subject = self.terms.subject;
        let filled = subject.artefacts.iter().filter(|artefact| artefact.items().next().is_some());
        let artefacts = filled.map(|artefact| match artefact.kind() {
            ArtefactKind::DeliveryState => Source::named("request/delivery-state"),
            ArtefactKind::RaidLog => Source::named("request/raid-log"),
            ArtefactKind::BacklogSummary => Source::named("request/backlog-summary"),
            ArtefactKind::DecisionLog => Source::named("request/decision-log"),
        });
        let has_past = stage == PipelineStage::Reasoning && !subject.situations.is_empty();
        artefacts.chain(has_past.then(|| Source::named("request/earlier-situations"))).collect()
    }

    fn came(&mut self, exchange: &StageExchange, place: usize, came: &str, said: Option<Untrusted<String>>) {
        let with = match exchange.members.len() {
            0 | 1 => "alone".to_owned(),
            many => format!("with {} others", many.saturating_sub(1)),
        };
        if let Some(finding) = self.signals.get_mut(place) {
            finding.way.push(StageTrace { stage: exchange.stage, came: format!("{came} (asked {with})"), said });
        }
    }

    /// Says of which signals an answer says nothing.
    fn unanswered(&mut self, exchange: &StageExchange, taken: &BTreeSet<usize>) {
        for place in &exchange.members {
            let twice =
                StageRemark { stage: exchange.stage, signal: Some(*place), remark: AnswerRemark::AnsweredTwice };
            let is_answered = taken.contains(place);
            if !is_answered && !self.remarks.contains(&twice) {
                self.remark(exchange.stage, Some(*place), AnswerRemark::NotAnswered);
            }
            if !is_answered {
                self.left_to_rules(exchange.stage, &[*place], "no answer for it could be taken");
            }
        }
    }

    fn id(&self, place: usize) -> Option<String> {
        self.terms.subject.signals.get(place).map(|signal| signal.id.clone())
    }
}

const fn taken_words(tool: StageTool) -> &'static str {
    match tool {
        StageTool::Escalate => "asks a person",
        StageTool::Draft => "drafts a mail",
        StageTool::Comment => "drafts a comment",
        StageTool::Update(_) => "proposes a change of an artefact",
        StageTool::Sanitise | StageTool::Classify => "answers",
    }
}
