//! Questions that a model worded, with options that code can carry out.

use std::collections::BTreeSet;

use proem_engine::effect::key::SignalRevision;
use proem_guard::{LabelTree, Untrusted};
use serde_json::{Value as Json, json};

use super::{
    AnswerRemark, AnswerScope, decode_arguments,
    draft::{DraftApproval, with_causes},
};
use crate::artefact::ArtefactKind;
use crate::contract::{CreateEscalation, EscalationAction, EscalationActionType, EscalationReason, TimeSensitivity};

/// The names of options, in their order.
const IDS: [&str; 5] = ["A", "B", "C", "D", "E"];

/// A question that a model worded.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEscalation {
    /// The signals that led to it.
    pub signals: BTreeSet<SignalRevision>,
    /// The question.
    pub title: Untrusted<String>,
    /// The facts that a person has to know, and the model's reasons for its recommendation.
    pub about: LabelTree,
    /// The options, two to five.
    pub options: Vec<ModelOption>,
    /// The id of the option that it recommends.
    pub recommended: &'static str,
    /// Why a person is asked.
    pub reason: EscalationReason,
    /// How soon it has to be decided.
    pub time: TimeSensitivity,
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelOption {
    /// `A`, `B`, `C`.
    pub id: &'static str,
    /// Its meaning.
    pub label: Untrusted<String>,
    /// The one action that follows, without its causes. `None` if nothing does.
    pub action: Option<Untrusted<Json>>,
}

impl ModelOption {
    /// The action that follows, because of these signals.
    #[must_use]
    pub fn action(&self, causes: &[SignalRevision]) -> Option<Untrusted<Json>> {
        // A person chooses it, so nobody else has to approve it.
        self.action.as_ref().map(|action| with_causes(action, causes, DraftApproval::ByPolicy))
    }
}

impl ModelEscalation {
    /// Reads a question. An option whose action can't be carried out stays without one, and that is said.
    ///
    /// # Errors
    ///
    /// [`AnswerRemark`] if it is for another project, about nothing that the model was given, or its options are
    /// unclear.
    pub fn read(
        arguments: &Untrusted<Json>,
        scope: AnswerScope<'_>,
    ) -> Result<(Self, BTreeSet<AnswerRemark>), AnswerRemark> {
        let said: CreateEscalation = decode_arguments(arguments).ok_or(AnswerRemark::NotAsked)?;
        if !scope.is_project(&said.project_id) {
            return Err(AnswerRemark::OtherProject);
        }
        let (signals, is_beyond) = scope.named(&said.context.signals_involved);
        if signals.is_empty() || is_beyond {
            return Err(AnswerRemark::UnknownSignal);
        }
        let ids: BTreeSet<&str> = said.options.iter().map(|option| option.id.trim()).collect();
        let place = said.options.iter().position(|option| option.id.trim() == said.agent_recommendation.trim());
        let recommended = place.and_then(|place| IDS.get(place).copied());
        let is_clear = ids.len() == said.options.len() && (2..=IDS.len()).contains(&said.options.len());
        let Some(recommended) = recommended.filter(|_| is_clear) else { return Err(AnswerRemark::OptionsUnclear) };
        let label = arguments.label();
        let outside = |text: &str| Untrusted::new(text.to_owned(), label.clone());
        let mut remarks = BTreeSet::new();
        let mut options = Vec::new();
        for (option, id) in said.options.iter().zip(IDS) {
            let wanted = option.actions_if_chosen.first();
            let action = wanted.and_then(|action| typed_action(action, &said.title, scope));
            if wanted.is_some() && action.is_none() {
                remarks.insert(AnswerRemark::OptionAction);
            }
            let action = action.map(|action| Untrusted::new(action, label.clone()));
            options.push(ModelOption { id, label: outside(&option.label), action });
        }
        let escalation = Self {
            signals,
            title: outside(&said.title),
            about: escalation_subject(&said, &outside),
            options,
            recommended,
            reason: said.escalation_reason,
            time: said.context.time_sensitivity,
        };
        Ok((escalation, remarks))
    }
}

/// The facts that a person has to know, under the label of the answer.
fn escalation_subject(said: &CreateEscalation, outside: &impl Fn(&str) -> Untrusted<String>) -> LabelTree {
    let text = |text: &str| LabelTree::from(outside(text));
    let list = |texts: &[String]| LabelTree::list(texts.iter().map(|one| text(one)));
    let options = said.options.iter().zip(IDS).map(|(option, id)| {
        LabelTree::map([
            ("option", LabelTree::from(id)),
            ("means", text(&option.description)),
            ("for", list(&option.pros)),
            ("against", list(&option.cons)),
        ])
    });
    let mut parts = vec![
        ("a model's summary", text(&said.context.summary)),
        ("background", text(&said.context.background)),
        ("options", LabelTree::list(options)),
        ("recommended because", text(&said.agent_rationale)),
    ];
    parts.extend(said.context.impact_if_delayed.as_deref().map(|delay| ("if it waits", text(delay))));
    LabelTree::map(parts)
}

/// The action that an option names, as an agent gives it, aimed at something known. `None` if it isn't.
fn typed_action(said: &EscalationAction, title: &str, scope: AnswerScope<'_>) -> Option<Json> {
    use EscalationActionType::{
        ArtefactUpdate, EmailExternal, EmailStakeholder, JiraComment, JiraCreateTicket, JiraStatusChange,
        MilestoneChange, NotificationInternal, ScopeChange,
    };
    let wanted = said.target.trim();
    let detail = said.detail.as_deref().map(str::trim).filter(|detail| !detail.is_empty());
    let ticket = || scope.ticket(wanted).map(|_| wanted.to_owned());
    let own_key = || wanted.eq_ignore_ascii_case(&scope.charter.key).then(|| scope.charter.key.clone());
    let person = || scope.charter.stakeholder(wanted).map(|known| known.address.clone());
    let artefact = || ArtefactKind::parse(wanted);
    let promised = || {
        let mut milestones = scope.charter.milestones.iter();
        milestones.find(|known| known.name == wanted)?.reference()
    };
    // The list that a mail is on follows from the address.
    let mail = |address: &str| if scope.charter.is_outside(address) { EmailExternal } else { EmailStakeholder };
    let (action, target, fields) = match said.action {
        JiraComment => (JiraComment, ticket()?, json!({ "body": detail? })),
        JiraStatusChange => (JiraStatusChange, ticket()?, json!({ "status": detail? })),
        JiraCreateTicket => {
            let summary: String = detail?.chars().take(150).collect();
            (JiraCreateTicket, own_key()?, json!({ "summary": summary }))
        }
        NotificationInternal => {
            (NotificationInternal, person()?, json!({ "subject": single_spaced(title), "body": detail? }))
        }
        EmailStakeholder | EmailExternal => {
            let address = person()?;
            (mail(&address), address, json!({ "subject": single_spaced(title), "body": detail? }))
        }
        ScopeChange => (ScopeChange, ticket().or_else(own_key)?, json!({ "change": detail? })),
        MilestoneChange => (MilestoneChange, promised().or_else(own_key)?, json!({ "change": detail? })),
        // A model words no offer: code alone makes those.
        ArtefactUpdate => {
            let content = detail.filter(|detail| !detail.starts_with('{'))?;
            (ArtefactUpdate, artefact()?.as_str().to_owned(), json!({ "content": content }))
        }
    };
    Some(json!({ "action": action.as_str(), "target": target, "fields": fields }))
}

fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
