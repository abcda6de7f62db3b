//! The admissible parts of a model's answer: pure checks, one for each tool.
//!
//! A model classifies, words and proposes. Code accepts none of that as it is. This module has the parts that code
//! admits: a cut of a text ([`Sanitation`]), and [`ModelProposals`], which [`super::plan`] fits into the same plan that
//! rules make. [`super::SignalClassification::told`] admits a classification.
//!
//! Invariants: every id is one that the model was given. Whom a mail goes to, which ticket is commented and which
//! action an option has are looked up and never copied from an answer. Every text keeps the label of the answer. Flags
//! only tighten; what is not admitted is said as an [`AnswerRemark`], in words of ours.

mod draft;
mod escalation;
mod sentences;
mod wording;

use std::collections::BTreeSet;

use proem_engine::effect::key::SignalRevision;
use proem_guard::{Untrusted, Verdict, show};
use proem_text::{Label, Source};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::{
    artefact::ArtefactKind, charter::ProjectCharter, contract::SanitiseSignal, sanitise::SanitisedSignal,
    signal::ProjectSignal,
};
use proem_agents::screen::Screening;

pub use self::{
    draft::{DraftApproval, ModelComment, ModelDraft},
    escalation::{ModelEscalation, ModelOption},
    sentences::kept_sentences,
    wording::{DraftFault, DraftRules},
};

/// A tool that a stage may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StageTool {
    /// `sanitise_signal`.
    Sanitise,
    /// `classify_signal`.
    Classify,
    /// `create_escalation`.
    Escalate,
    /// `draft_communication`.
    Draft,
    /// `jira_comment`.
    Comment,
    /// `update_delivery_state` and its like.
    Update(ArtefactKind),
}

impl StageTool {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sanitise => "sanitise_signal",
            Self::Classify => "classify_signal",
            Self::Escalate => "create_escalation",
            Self::Draft => "draft_communication",
            Self::Comment => "jira_comment",
            Self::Update(ArtefactKind::DeliveryState) => "update_delivery_state",
            Self::Update(ArtefactKind::RaidLog) => "update_raid_log",
            Self::Update(ArtefactKind::BacklogSummary) => "update_backlog_summary",
            Self::Update(ArtefactKind::DecisionLog) => "update_decision_log",
        }
    }

    /// The tool of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "sanitise_signal" => Some(Self::Sanitise),
            "classify_signal" => Some(Self::Classify),
            "create_escalation" => Some(Self::Escalate),
            "draft_communication" => Some(Self::Draft),
            "jira_comment" => Some(Self::Comment),
            name => {
                let kind = name.strip_prefix("update_")?;
                ArtefactKind::ALL.into_iter().find(|known| known.as_str() == kind).map(Self::Update)
            }
        }
    }
}

/// One call of an answer.
#[derive(Debug, Clone)]
pub struct StageCall {
    /// The tool.
    pub tool: StageTool,
    /// The call's arguments, under the answer's label.
    pub arguments: Untrusted<Json>,
}

impl StageCall {
    /// Whether it is about the signal of this id.
    #[must_use]
    pub fn names(&self, id: &str) -> bool {
        self.arguments.measure(|value| value.get("signal_id").and_then(Json::as_str) == Some(id))
    }

    /// Whether the signal of this id is among those that it names.
    #[must_use]
    pub fn names_among(&self, id: &str) -> bool {
        const LISTS: [&str; 3] = ["/signals_referenced", "/signals_incorporated", "/context/signals_involved"];
        self.arguments.measure(|value| {
            let lists = LISTS.iter().filter_map(|place| value.pointer(place).and_then(Json::as_array));
            lists.flatten().any(|named| named.as_str() == Some(id))
        })
    }

    /// Its arguments as their type. `None` only for what no contract has checked.
    pub(super) fn typed<T: DeserializeOwned>(&self) -> Option<T> {
        decode_arguments(&self.arguments)
    }
}

/// The calls of an answer, in the model's order. A contract has checked them before.
#[must_use]
pub fn stage_calls(value: &Untrusted<Json>) -> Vec<StageCall> {
    let exact = show::exact_value(value);
    let calls = exact.get("calls").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = calls.iter().filter_map(|call| {
        let tool = StageTool::parse(call.get("name")?.as_str()?)?;
        let arguments = call.get("arguments")?.clone();
        Some(StageCall { tool, arguments: Untrusted::new(arguments, value.label().clone()) })
    });
    read.collect()
}

/// The arguments of a call as their type. `None` only for what no contract has checked.
pub(super) fn decode_arguments<T: DeserializeOwned>(arguments: &Untrusted<Json>) -> Option<T> {
    serde_json::from_value(show::exact_value(arguments)).ok()
}

/// Something of an answer that was not admitted, in words of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerRemark {
    /// It names a signal that it was not given.
    UnknownSignal,
    /// It answers for a signal twice, and differently.
    AnsweredTwice,
    /// It doesn't answer for a signal.
    NotAnswered,
    /// It changes a text instead of cutting it.
    TextChanged,
    /// The kept part of a text is an attack.
    CutToAttack,
    /// It is for another project.
    OtherProject,
    /// It goes to nobody whom the project knows.
    UnknownRecipient,
    /// It names a ticket that none of its signals is about.
    UnknownTicket,
    /// The options of a question don't have ids of their own, or none is the recommended one.
    OptionsUnclear,
    /// An option's action is aimed at something unknown, or lacks what it needs.
    OptionAction,
    /// It is an action where nothing but a classification was asked for.
    NotAsked,
}

impl AnswerRemark {
    /// The remark, to go on after "a model's answer was not taken: ".
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::UnknownSignal => "it names a signal that it was not given",
            Self::AnsweredTwice => "it answers for a signal twice, each time otherwise",
            Self::NotAnswered => "it says nothing about a signal that it was given",
            Self::TextChanged => "it changes a text where it may only cut",
            Self::CutToAttack => "what it leaves of a text is an attack",
            Self::OtherProject => "it is for another project",
            Self::UnknownRecipient => "it is for somebody whom the project's file doesn't name",
            Self::UnknownTicket => "it names a ticket that its signals are not about",
            Self::OptionsUnclear => "its options have no ids of their own, or none is recommended",
            Self::OptionAction => "an option's action is aimed at something unknown, or lacks a text",
            Self::NotAsked => "it does what it was not asked for",
        }
    }
}

/// The names that a call may use.
#[derive(Debug, Clone, Copy)]
pub struct AnswerScope<'s> {
    /// The project.
    pub charter: &'s ProjectCharter,
    /// The signals that the model was given.
    pub signals: &'s [&'s ProjectSignal],
    /// The other parts of the request that somebody outside may have written, as sources.
    pub beside: &'s [Source],
}

impl<'s> AnswerScope<'s> {
    fn is_project(&self, id: &str) -> bool {
        id.eq_ignore_ascii_case(&self.charter.id)
    }

    /// The signals that an answer names: those that the model was given, and whether it names others.
    fn named(&self, ids: &[String]) -> (BTreeSet<SignalRevision>, bool) {
        let found: BTreeSet<SignalRevision> = ids
            .iter()
            .filter_map(|id| {
                self.signals.iter().find(|signal| signal.id == *id).map(|signal| SignalRevision::from(*signal))
            })
            .collect();
        let is_beyond = ids.iter().any(|id| !self.signals.iter().any(|signal| signal.id == *id));
        (found, is_beyond)
    }

    /// The label of everything in the request beside the thread of a ticket.
    fn beside_thread(&self, ticket: &Untrusted<String>) -> Label {
        let is_of_thread = |signal: &&ProjectSignal| {
            let named = signal.ticket.as_ref();
            named
                .is_some_and(|named| named.measure(|named| ticket.measure(|ticket| named.eq_ignore_ascii_case(ticket))))
        };
        let others = self.signals.iter().any(|signal| !is_of_thread(signal));
        let others = others.then(|| Source::named("request/other-signals"));
        let beside = self.beside.iter().cloned().chain(others);
        beside.fold(Label::trusted(), |label, source| label.join(&Label::from_source(source)))
    }

    /// The key of a ticket as one of the signals has it.
    fn ticket(&self, key: &str) -> Option<&'s Untrusted<String>> {
        let tickets = self.signals.iter().filter_map(|signal| signal.ticket.as_ref());
        tickets.into_iter().find(|ticket| ticket.measure(|ticket| ticket.eq_ignore_ascii_case(key)))
    }
}

/// A model's proposals for a cycle, as far as they are admitted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelProposals {
    /// Questions to a person.
    pub escalations: Vec<ModelEscalation>,
    /// The mails that the model would send.
    pub drafts: Vec<ModelDraft>,
    /// Comments on tickets.
    pub comments: Vec<ModelComment>,
    /// Changes of artefacts, in the order in which they were proposed.
    pub updates: Vec<ModelUpdate>,
}

/// A change of an artefact that a model proposes. It is read against the version that stands when it is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelUpdate {
    /// Which artefact.
    pub kind: ArtefactKind,
    /// The signals that it was asked about.
    pub signals: BTreeSet<SignalRevision>,
    /// The call's arguments.
    pub arguments: Untrusted<Json>,
}

impl ModelProposals {
    /// Takes a call up, or says why not.
    ///
    /// # Errors
    ///
    /// The remark, if nothing of the call is admitted.
    pub fn take(
        &mut self,
        call: &StageCall,
        scope: AnswerScope<'_>,
        rules: &DraftRules,
    ) -> Result<BTreeSet<AnswerRemark>, AnswerRemark> {
        let mut remarks = BTreeSet::new();
        match call.tool {
            StageTool::Sanitise | StageTool::Classify => return Err(AnswerRemark::NotAsked),
            StageTool::Escalate => {
                let (escalation, said) = ModelEscalation::read(&call.arguments, scope)?;
                remarks = said;
                self.escalations.push(escalation);
            }
            StageTool::Draft => self.drafts.push(ModelDraft::read(&call.arguments, scope, rules)?),
            StageTool::Comment => self.comments.push(ModelComment::read(&call.arguments, scope, rules)?),
            StageTool::Update(kind) => {
                let signals = scope.signals.iter().map(|signal| SignalRevision::from(*signal)).collect();
                self.updates.push(ModelUpdate { kind, signals, arguments: call.arguments.clone() });
            }
        }
        Ok(remarks)
    }
}

/// The part of a signal's texts that goes on to later prompts.
#[derive(Debug, Clone, PartialEq)]
pub struct Sanitation {
    /// The signal's text, as far as it may be passed on.
    pub content: Untrusted<String>,
    /// Whether the model took it for an attack, or had doubts.
    pub is_suspected: bool,
    /// Whether something was cut.
    pub is_cut: bool,
    /// Why guard's text stays, if the answer's was not taken.
    pub remark: Option<AnswerRemark>,
}

impl Sanitation {
    /// The part that goes on if no model was asked.
    #[must_use]
    pub fn by_rules(signal: &SanitisedSignal) -> Self {
        Self { content: signal.content(), is_suspected: false, is_cut: false, remark: None }
    }

    /// The result of an answer: a cut of the text, and more suspicion. Never less.
    #[must_use]
    pub fn told(signal: &SanitisedSignal, said: &SanitiseSignal, screening: Screening<'_>) -> Self {
        let given = signal.content();
        let is_suspected = said.threat_detected || said.requires_human_review;
        let mut kept = None;
        let content = given.clone().map(|text| {
            kept = kept_sentences(&text, &said.sanitised_content);
            let parts = kept.iter().flatten().filter_map(|span| text.get(span.start..span.end));
            parts.collect::<Vec<_>>().join("\n")
        });
        let stays = |remark| Self { content: given.clone(), is_suspected: true, is_cut: false, remark: Some(remark) };
        if kept.is_none() {
            return stays(AnswerRemark::TextChanged);
        }
        // A cut may put an attack together of what was none.
        let bar = screening.policy.bar("joined", "text");
        if bar.judge(&screening.guard.scan(&content)) >= Verdict::Quarantine {
            return stays(AnswerRemark::CutToAttack);
        }
        let is_cut = word_count(&content) < word_count(&given);
        Self { content, is_suspected: is_suspected || is_cut, is_cut, remark: None }
    }
}

fn word_count(text: &Untrusted<String>) -> usize {
    text.measure(|text| text.split_whitespace().count())
}
