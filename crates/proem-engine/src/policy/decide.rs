//! The decision about an action: never, approval, level, hold, auto, in this order.

use std::collections::BTreeMap;

use proem_guard::Untrusted;
use proem_guard::Verdict;
use proem_guard::check::{
    Action, ActionCheck, ActionField, ActionRule, ActionViolation, ApprovalNeed, CheckContext, Confidence, FieldRole,
    HoldMinutes, Reach, Referent, ReferentKind, Strictness, TrustedExcerpt, check_action, tighten,
};
use proem_guard::credential;
use proem_text::{Label, Secrecy, Source, Sources};

use super::{
    action::FieldValue,
    condition::{AutomaticCondition, ConditionResult},
    confidence::ActionConfidence,
    decision::{Decision, DecisionMoment, DecisionRequest, EffectSwitch, RefusalNotice, Ruling, VerdictBasis},
    field,
    permit::Permit,
    reason::DecisionReason,
    terms::{ActionList, ActionTerms, EffectRoute},
};
use crate::effect::HoldCondition;

/// The demand of a reason, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Stance {
    #[default]
    Go,
    Approval,
    Escalation,
    Refusal,
}

/// The grounds so far.
#[derive(Debug, Default)]
struct DecisionGrounds {
    stance: Stance,
    reasons: Vec<DecisionReason>,
    against: BTreeMap<AutomaticCondition, Vec<String>>,
    unmet: Vec<HoldCondition>,
}

impl DecisionGrounds {
    fn add(&mut self, stance: Stance, reason: DecisionReason) {
        self.stance = self.stance.max(stance);
        self.reasons.push(reason);
    }

    /// The same, for a reason that one of the seven conditions is about.
    fn against(&mut self, condition: AutomaticCondition, stance: Stance, reason: DecisionReason) {
        self.against.entry(condition).or_default().push(reason.to_string());
        self.add(stance, reason);
    }

    fn unmet(&mut self, condition: HoldCondition) {
        if !self.unmet.contains(&condition) {
            self.unmet.push(condition);
            self.unmet.sort_unstable();
        }
    }
}

/// The view of a listed action.
#[derive(Debug)]
struct ActionView<'a> {
    terms: &'a ActionTerms,
    /// The list that counts, which is another action's if somebody outside receives it.
    list: ActionList,
    reach: Reach,
    has_foreign_text: bool,
    check: ActionCheck,
}

/// Decides about an action.
///
/// Actions that are never taken or on no list are refused first. At a proposal, an automatic action gets a hold of 0
/// minutes and no permit, because a permit belongs to the moment of execution. At that moment, the current policy,
/// level and evidence count, including everything in them that is stricter than before.
pub fn decide(request: &DecisionRequest<'_>) -> Decision {
    let mut grounds = DecisionGrounds::default();
    let terms = request.action.name().and_then(|name| request.policy.action(name));
    let Some(terms) = terms else { return refused_decision(request, grounds) };
    let values = request.action.values(terms);
    for problem in request.action.problems_in(terms, &values) {
        grounds.against(AutomaticCondition::Schema, Stance::Refusal, DecisionReason::Malformed(problem));
    }
    let is_valid = grounds.reasons.is_empty();
    let view = view_action(request, terms, &values, &mut grounds);
    decide_by_lists(request, &view, &mut grounds);
    weigh_causes(request, &view, &mut grounds);
    let confidence = ActionConfidence::new(view.list, is_valid, request.sources, request.past);
    let hold = hold(request, &view, &mut grounds);
    if view.list == ActionList::Auto && confidence.sources == 0 {
        grounds.add(Stance::Approval, DecisionReason::NoSource);
    }
    let ruling = ruling(request, hold, &mut grounds);
    finish_decision(request, ruling, (grounds, confidence, hold, view.reach, view.check))
}

/// An action that is on no list of those that may be taken.
fn refused_decision(request: &DecisionRequest<'_>, mut grounds: DecisionGrounds) -> Decision {
    let is_denied = request.action.is_denied(request.policy);
    let (condition, reason, notice) = if is_denied {
        (AutomaticCondition::Denylist, DecisionReason::Never, RefusalNotice::Recorded)
    } else {
        grounds.against.entry(AutomaticCondition::Schema).or_default().push(DecisionReason::Unknown.to_string());
        (AutomaticCondition::Allowlist, DecisionReason::Unknown, RefusalNotice::Escalated)
    };
    grounds.against(condition, Stance::Refusal, reason);
    if request.action.has_credential() {
        grounds.add(Stance::Refusal, DecisionReason::Credential("fields".to_owned()));
    }
    grounds.unmet(HoldCondition::ChecksPass);
    let confidence = ActionConfidence::new(ActionList::Never, is_denied, request.sources, request.past);
    let reach = tighten(request.action.assessment().reach.as_ref(), Reach::Internal);
    finish_decision(request, Ruling::Refusal(notice), (grounds, confidence, None, reach, ActionCheck::default()))
}

/// The checks of its values, and whom it reaches.
fn view_action<'a>(
    request: &DecisionRequest<'a>,
    terms: &'a ActionTerms,
    values: &[FieldValue<'_>],
    grounds: &mut DecisionGrounds,
) -> ActionView<'a> {
    let mut computed = Reach::Internal;
    for value in values.iter().filter(|value| value.terms.role == FieldRole::Recipient) {
        computed = computed.stricter(request.policy.internal.reach(&value.text));
        let referent = Referent::of(&ActionField { path: &value.path, role: value.terms.role, value: &value.text });
        if !referent.is_some_and(|referent| request.policy.known.contains(&referent)) {
            let reason = DecisionReason::UnknownRecipient(value.path.to_string());
            grounds.against(AutomaticCondition::KnownRecipients, Stance::Approval, reason);
            grounds.unmet(HoldCondition::ChecksPass);
        }
    }
    for value in values.iter().filter(|value| value.text.measure(|text| !credential::find_credentials(text).is_empty()))
    {
        grounds.unmet(HoldCondition::ChecksPass);
        grounds.add(Stance::Refusal, DecisionReason::Credential(value.path.to_string()));
    }
    if request.action.has_credential_in_note() {
        grounds.unmet(HoldCondition::ChecksPass);
        grounds.add(Stance::Refusal, DecisionReason::Credential("note".to_owned()));
    }
    let reach = tighten(request.action.assessment().reach.as_ref(), computed);
    if reach == Reach::External {
        grounds.unmet(HoldCondition::InternalRecipient);
    }
    let mut check = checked_values(request, values);
    check.failures.retain(|failure| !is_excused(request, values, failure));
    for failure in &check.failures {
        breach(values, failure, grounds);
    }
    for value in values.iter().filter(|value| is_of_elsewhere(terms, value)) {
        grounds.unmet(HoldCondition::ChecksPass);
        let (field, sources) = (value.path.to_string(), foreign_sources(value.text.label()));
        grounds.add(Stance::Approval, DecisionReason::ForeignText { field, sources });
    }
    let is_foreign =
        |value: &FieldValue<'_>| !field::names_something(value.terms.role) && !value.text.label().is_trusted();
    let has_foreign_text =
        values.iter().any(|value| is_foreign(value) && matches!(value.terms.role, FieldRole::FreeText(_)));
    let list = effective(request, terms, reach);
    ActionView { terms, list, reach, has_foreign_text, check }
}

fn checked_values(request: &DecisionRequest<'_>, values: &[FieldValue<'_>]) -> ActionCheck {
    let name = request.action.name().unwrap_or_default();
    let fields: Vec<ActionField<'_>> = values
        .iter()
        .map(|value| ActionField { path: &value.path, role: value.terms.role, value: &value.text })
        .collect();
    // A field that a person typed vouches for itself.
    let typed = values.iter().filter_map(|value| Some(TrustedExcerpt::whole("edit", value.typed?)));
    let trusted: Vec<TrustedExcerpt<'_>> = request.evidence.trusted.iter().copied().chain(typed).collect();
    let context = CheckContext {
        actions: &[name],
        denied: &[],
        allow: &request.policy.allowlist,
        trusted: &trusted,
        untrusted: request.evidence.untrusted,
        request: request.evidence.request,
        prompt: request.evidence.prompt,
    };
    check_action(&Action { name: &Untrusted::new(name.to_owned(), Label::trusted()), fields: &fields }, &context)
}

/// A text of a template says nothing that its request held, unless that is secret.
fn is_excused(request: &DecisionRequest<'_>, values: &[FieldValue<'_>], failure: &ActionViolation) -> bool {
    let value = values.iter().find(|value| value.path == failure.field);
    failure.rule == ActionRule::Audience
        && value.is_some_and(|value| {
            let is_secret = value.text.label().join(request.evidence.request).secrecy() == Secrecy::Secret;
            let of_template = |text: &String| value.terms.templates.iter().any(|template| template.matches(text));
            !is_secret && value.text.measure(of_template)
        })
}

/// Whether a free text goes to a ticket and is neither a person's, nor of a template, nor of the ticket's own thread.
fn is_of_elsewhere(terms: &ActionTerms, value: &FieldValue<'_>) -> bool {
    let to_ticket = matches!(terms.route, EffectRoute::Request(_)) && matches!(terms.target.role, FieldRole::Id(_));
    let is_free = matches!(value.terms.role, FieldRole::FreeText(_)) && !value.text.label().is_trusted();
    let of_template = |text: &String| value.terms.templates.iter().any(|template| template.matches(text));
    to_ticket && is_free && !value.text.measure(of_template) && !foreign_sources(value.text.label()).is_empty()
}

/// The sources of a label beside a tracker's own texts and a model that read them. A request that holds more than one
/// ticket's thread names the rest as sources of their own.
fn foreign_sources(label: &Label) -> Vec<String> {
    const OF_THREAD: [&str; 3] = ["jira/", "asana/", "model"];
    match label.sources() {
        Sources::Many => vec!["many sources".to_owned()],
        Sources::Named(named) => {
            let foreign = named.iter().map(Source::as_str);
            let foreign = foreign.filter(|name| !OF_THREAD.iter().any(|family| name.starts_with(family)));
            foreign.map(|name| format!("`{name}`")).collect()
        }
    }
}

/// A failure of the checks: what names something is refused, what a person may read all the same is put before him.
fn breach(values: &[FieldValue<'_>], failure: &ActionViolation, grounds: &mut DecisionGrounds) {
    let names = values.iter().any(|value| value.path == failure.field && field::names_something(value.terms.role));
    let reason = DecisionReason::Breach { field: failure.field.clone(), rule: failure.rule };
    grounds.unmet(HoldCondition::ChecksPass);
    match failure.rule {
        ActionRule::PromptLeak | ActionRule::CanaryLeak => {
            grounds.against(AutomaticCondition::PromptLeakage, Stance::Refusal, reason);
        }
        ActionRule::Provenance(..) if names => {
            grounds.against(AutomaticCondition::Allowlist, Stance::Refusal, reason);
        }
        ActionRule::Provenance(ReferentKind::Url | ReferentKind::Host, _) => {
            grounds.unmet(HoldCondition::TrustedValues);
            grounds.against(AutomaticCondition::ExternalUrls, Stance::Approval, reason);
        }
        ActionRule::Provenance(..) => {
            grounds.unmet(HoldCondition::TrustedValues);
            grounds.add(Stance::Approval, reason);
        }
        ActionRule::SchemeRefused => grounds.against(AutomaticCondition::ExternalUrls, Stance::Refusal, reason),
        ActionRule::Audience => grounds.add(Stance::Approval, reason),
        _ => grounds.add(Stance::Refusal, reason),
    }
}

/// The list that counts: outside, that of another action, and at least approval.
fn effective(request: &DecisionRequest<'_>, terms: &ActionTerms, reach: Reach) -> ActionList {
    if reach == Reach::Internal {
        return terms.list;
    }
    let outside = terms.external.as_deref().map(|name| match request.policy.action(name) {
        Some(external) => external.list,
        None => ActionList::Never,
    });
    terms.list.max(outside.unwrap_or(ActionList::Approval)).max(ActionList::Approval)
}

/// Never, approval, level.
fn decide_by_lists(request: &DecisionRequest<'_>, view: &ActionView<'_>, grounds: &mut DecisionGrounds) {
    let autonomy = AutomaticCondition::Autonomy;
    if view.list > view.terms.list {
        let stance = if view.list == ActionList::Never { Stance::Refusal } else { Stance::Approval };
        grounds.against(autonomy, stance, DecisionReason::External(view.terms.external.clone()));
    } else if view.list == ActionList::Approval {
        grounds.against(autonomy, Stance::Approval, DecisionReason::ApprovalListed);
    } else if request.level < view.terms.level {
        let reason = DecisionReason::Level { needed: view.terms.level, present: request.level };
        grounds.against(autonomy, Stance::Escalation, reason);
    }
    let need = tighten(request.action.assessment().approval.as_ref(), ApprovalNeed::NotNeeded);
    if need == ApprovalNeed::Needed {
        grounds.add(Stance::Approval, DecisionReason::ModelAsks);
    }
}

/// The guard's verdict on its causes.
fn weigh_causes(request: &DecisionRequest<'_>, view: &ActionView<'_>, grounds: &mut DecisionGrounds) {
    let worst = request.verdict.worst;
    let is_score_alone = request.verdict.basis == VerdictBasis::ScoreAlone && worst == Verdict::Flag;
    match worst {
        Verdict::Allow => {}
        Verdict::Block => {
            grounds.unmet(HoldCondition::NoFinding);
            grounds.add(Stance::Refusal, DecisionReason::Blocked);
        }
        // A new kind of harmless text is often flagged by the score, so that alone it stops only what carries text.
        Verdict::Flag if is_score_alone && !view.has_foreign_text => {}
        Verdict::Flag | Verdict::Quarantine => {
            grounds.unmet(HoldCondition::NoFinding);
            grounds.add(Stance::Approval, DecisionReason::Flagged(worst));
        }
    }
}

/// How long it is held. `None` for what doesn't go by itself.
fn hold(request: &DecisionRequest<'_>, view: &ActionView<'_>, grounds: &mut DecisionGrounds) -> Option<HoldMinutes> {
    let stated = request.action.assessment().hold.as_ref();
    let computed = match view.list {
        ActionList::Auto if request.past.executed == 0 => {
            grounds.add(Stance::Go, DecisionReason::FirstOfType);
            request.policy.first_hold()
        }
        ActionList::Auto => HoldMinutes(0),
        ActionList::Hold(base) => {
            let steps = request.policy.hold_steps();
            let shorter = steps.cap(request.past.approvals).unwrap_or(base.0);
            let least = if view.has_foreign_text { steps.untrusted } else { 0 };
            let minutes = HoldMinutes(base.0.min(shorter.max(least)));
            if minutes < base {
                grounds.add(Stance::Go, DecisionReason::ShorterHold(minutes));
            }
            minutes
        }
        ActionList::Approval | ActionList::Never => return None,
    };
    Some(tighten(stated, computed))
}

fn ruling(request: &DecisionRequest<'_>, hold: Option<HoldMinutes>, grounds: &mut DecisionGrounds) -> Ruling {
    if grounds.stance == Stance::Refusal {
        return Ruling::Refusal(RefusalNotice::Escalated);
    }
    if request.switch != EffectSwitch::On {
        grounds.reasons.push(DecisionReason::Switch(request.switch));
        return Ruling::Standstill;
    }
    let permit = || Ruling::Permit(Permit::new(request.key, request.action.content(), request.policy.hash()));
    match (request.moment, hold) {
        (DecisionMoment::ApprovedExecution { approved_at }, _) => {
            // A person's yes is good for the level that he knew.
            if grounds.stance == Stance::Escalation && request.level < approved_at {
                grounds.reasons.push(DecisionReason::LevelFell);
                return Ruling::Approval;
            }
            grounds.reasons.push(DecisionReason::Approved);
            permit()
        }
        (DecisionMoment::Proposal, _) if grounds.stance == Stance::Escalation => Ruling::Escalation,
        (_, Some(hold)) if grounds.stance == Stance::Go => match request.moment {
            DecisionMoment::HeldExecution { held } if hold > held => {
                grounds.reasons.push(DecisionReason::LongerHold { held, present: hold });
                Ruling::Approval
            }
            DecisionMoment::HeldExecution { .. } => {
                grounds.reasons.push(DecisionReason::Automatic);
                permit()
            }
            _ => {
                let is_now = hold == HoldMinutes(0);
                grounds.reasons.push(if is_now { DecisionReason::Automatic } else { DecisionReason::Held(hold) });
                Ruling::Hold(hold)
            }
        },
        _ => Ruling::Approval,
    }
}

fn finish_decision(
    request: &DecisionRequest<'_>,
    ruling: Ruling,
    found: (DecisionGrounds, ActionConfidence, Option<HoldMinutes>, Reach, ActionCheck),
) -> Decision {
    let (mut grounds, confidence, hold, reach, check) = found;
    let conditions = AutomaticCondition::ALL.map(|condition| ConditionResult {
        condition,
        against: grounds.against.remove(&condition).unwrap_or_default(),
    });
    let mean = Confidence::new(u16::try_from(confidence.mean()).unwrap_or_default());
    Decision {
        ruling,
        reasons: grounds.reasons,
        conditions: conditions.into(),
        confidence,
        stated: tighten(request.action.assessment().confidence.as_ref(), mean),
        unmet: grounds.unmet,
        hold,
        reach,
        check,
        content: request.action.content(),
        policy: request.policy.hash(),
    }
}
