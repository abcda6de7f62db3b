//! An action as an agent gives it, down the whole corridor: read, decided about, written down.

use std::path::Path;

use proem_engine::effect::key::EffectKey;
use proem_engine::effect::{ActionEvent, ActionState, ActionVersion, Authority, TransitionRequest};
use proem_engine::policy::{Decision, ProposedAction, RefusalNotice, Ruling, SourceAgreement};
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted};
use proem_runtime::files::{self, FileContent};
use proem_store::record::{
    Actor, ActorKind, EscalationId, EscalationOption, NewAction, NewEscalation, NewTransition, TransitionLoad,
};
use proem_store::{ProposalAnswer, TransitionAnswer};
use proem_text::{Label, Source, hex};
use proem_triage::plan::{OptionReasons, question_case};
use serde_json::Value as Json;

use super::desk::{ActionDesk, EffectsObstacle, keeps_texts};
use super::escalations::{ABOUT, BECAUSE};
use super::remedy::refusal_remedies;
use super::ruling::RulingTerms;
use crate::error::Error;
use crate::when;

/// The most bytes of a file with an action: the texts of one, escaped, with room for the rest.
const MAX_ACTION: usize = 2 << 20;
/// From whom the texts of an action are that comes as a file.
const SOURCE: Source = Source::named("action");
/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

/// The outcome of a proposal.
#[derive(Debug)]
pub struct Proposal {
    /// Its key. `None` for an action that no list has.
    pub key: Option<EffectKey>,
    /// An action with its target and fields.
    pub action: ProposedAction,
    /// The decision about it.
    pub decision: Decision,
    /// The fate of the action.
    pub fate: ProposalFate,
    /// The obstacles to effects.
    pub obstacles: Vec<EffectsObstacle>,
    /// The escalation that asks a person, if one was made.
    pub escalation: Option<EscalationId>,
}

/// The end of a proposal's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalFate {
    /// It is written down, and is there.
    Written(ActionState),
    /// The same action was written down before, and is there.
    Known(ActionState),
    /// Another action has one of its signals.
    Duplicate(EffectKey),
    /// Nothing is kept, so it was decided about and forgotten.
    Unwritten,
}

/// Reads an action from a file.
///
/// # Errors
///
/// If it can't be read, is too large or is no JSON.
pub fn read_action(path: &Path) -> Result<Untrusted<Json>, Error> {
    let shown = proem_guard::show::terminal_str(&path.display().to_string()).into_string();
    let bytes = match files::read_regular(path, MAX_ACTION)? {
        Some(FileContent::Whole(bytes)) => bytes,
        Some(FileContent::Cut(_)) => {
            return Err(Error::invalid(format!("`{shown}` has more than {MAX_ACTION} bytes; an action is shorter")));
        }
        None => return Err(Error::invalid(format!("there is no file `{shown}`"))),
    };
    parse_action(&bytes).map_err(|problem| Error::invalid(format!("`{shown}` is no JSON: {problem}")))
}

/// An action from the bytes of its JSON. Its texts are from outside.
///
/// # Errors
///
/// Parses the JSON, or returns its problem.
pub fn parse_action(bytes: &[u8]) -> Result<Untrusted<Json>, String> {
    let json = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(Untrusted::new(json, Label::from_source(SOURCE)))
}

impl ActionDesk<'_> {
    /// The policy's ruling on an action that would be proposed. Nothing is written.
    ///
    /// # Errors
    ///
    /// Every problem of the action, or if the records can't be read.
    pub async fn explain(&self, json: &Untrusted<Json>) -> Result<(ProposedAction, Decision), Error> {
        let action = ProposedAction::read(json, &self.policy)?;
        let decision = self.first_ruling(&action).await?;
        Ok((action, decision))
    }

    /// Takes an action down the corridor. A forbidden action is refused, whether effects are on or off. Any other stays
    /// a proposal while there are obstacles to effects.
    ///
    /// # Errors
    ///
    /// Every problem of the action, or if the records can't be read or written.
    pub async fn propose(&self, json: &Untrusted<Json>) -> Result<Proposal, Error> {
        let action = ProposedAction::read(json, &self.policy)?;
        self.take_in_by(action, RulingTerms::proposal(self.level())).await
    }

    /// The same for an action whose sources the reader of its signals has counted and compared. Every refusal becomes a
    /// question.
    ///
    /// # Errors
    ///
    /// As [`Self::propose`].
    pub async fn propose_agreed(&self, json: &Untrusted<Json>, sources: SourceAgreement) -> Result<Proposal, Error> {
        let action = ProposedAction::read(json, &self.policy)?;
        let terms = RulingTerms { sources: Some(sources), ..RulingTerms::proposal(self.level()) };
        let decision = self.ruling_of(&action, terms).await?;
        if self.can_be_allowed(&action, &decision).await {
            let escalation = Some(self.escalate(None, &action, &decision, RefusedOffer::Offered).await?);
            let (fate, obstacles) = (ProposalFate::Unwritten, self.obstacles());
            return Ok(Proposal { key: None, action, decision, fate, obstacles, escalation });
        }
        let mut proposal = self.take_in(action, decision).await?;
        // A forbidden action is no news about an agent, but this one has a signal behind it, and nobody else asks.
        let is_refused = matches!(proposal.decision.ruling, Ruling::Refusal(_));
        if is_refused && proposal.escalation.is_none() && keeps_texts(self.project) {
            let key = proposal.key.filter(|_| !matches!(proposal.fate, ProposalFate::Unwritten));
            let offer = RefusedOffer::Withheld;
            proposal.escalation = Some(self.escalate(key, &proposal.action, &proposal.decision, offer).await?);
        }
        Ok(proposal)
    }

    async fn take_in_by(&self, action: ProposedAction, terms: RulingTerms) -> Result<Proposal, Error> {
        let decision = self.ruling_of(&action, terms).await?;
        self.take_in(action, decision).await
    }

    async fn take_in(&self, action: ProposedAction, decision: Decision) -> Result<Proposal, Error> {
        match self.new_action(&action, &decision)? {
            NewProposal::Written(new) => {
                let key = new.key;
                let answer = self.store.propose(*new).await?;
                self.taken_in(key, action, decision, answer).await
            }
            NewProposal::Unwritten(key) => self.unwritten(key, action, decision).await,
        }
    }

    /// The record of an action.
    pub(super) fn new_action(&self, action: &ProposedAction, decision: &Decision) -> Result<NewProposal, Error> {
        let (key, claims) = match action.key(&self.owner.0, &self.policy) {
            // A credential is in no record, not even in that of a refusal.
            Ok((key, claims)) if keeps_texts(self.project) && !decision.finds_credential() => (key, claims),
            key => return Ok(NewProposal::Unwritten(key.ok().map(|(key, _)| key))),
        };
        let at = when::time_now();
        let scope = self.scope(action);
        Ok(NewProposal::Written(Box::new(NewAction {
            key,
            claims,
            project: self.owner.clone(),
            actor: self.agent(),
            at,
            target: scope.recipient.unwrap_or_default(),
            scope,
            content: action.content(),
            form: action.write()?,
            deadline: Time(at.0.saturating_add(self.policy.decision_time())),
            decision: decision.to_json(),
            origin: None,
            texts: Vec::new(),
        })))
    }

    /// The fate of an action that is not recorded.
    pub(super) async fn unwritten(
        &self,
        key: Option<EffectKey>,
        action: ProposedAction,
        decision: Decision,
    ) -> Result<Proposal, Error> {
        // An action that is on no list gets no key and no record, but a person hears of it.
        let is_asked = key.is_none() && keeps_texts(self.project);
        let escalation = if is_asked { self.escalated(None, &action, &decision).await? } else { None };
        let (fate, obstacles) = (ProposalFate::Unwritten, self.obstacles());
        Ok(Proposal { key, action, decision, fate, obstacles, escalation })
    }

    /// The fate of an action that is recorded.
    pub(super) async fn taken_in(
        &self,
        key: EffectKey,
        action: ProposedAction,
        decision: Decision,
        answer: ProposalAnswer,
    ) -> Result<Proposal, Error> {
        // A person is asked before the action is settled: a process that ends in between leaves a proposal, which the
        // next sweep settles. Asking twice is asking once.
        let is_open = match answer {
            ProposalAnswer::New => true,
            ProposalAnswer::Known { state, .. } => matches!(state, ActionState::Proposed | ActionState::Waiting),
            ProposalAnswer::Duplicate { .. } => false,
        };
        let escalation = if is_open { self.escalated(Some(key), &action, &decision).await? } else { None };
        let fate = match answer {
            ProposalAnswer::Known { state, .. } => ProposalFate::Known(state),
            ProposalAnswer::Duplicate { of } => ProposalFate::Duplicate(of),
            ProposalAnswer::New => {
                let settled = self.settle(&Standing { key, version: ActionVersion(0) }, &decision).await?;
                ProposalFate::Written(settled)
            }
        };
        let obstacles = self.obstacles();
        Ok(Proposal { key: Some(key), action, decision, fate, obstacles, escalation })
    }

    /// The ruling when an action is proposed.
    pub(super) async fn first_ruling(&self, action: &ProposedAction) -> Result<Decision, Error> {
        self.ruling_of(action, RulingTerms::proposal(self.level())).await
    }

    async fn ruling_of(&self, action: &ProposedAction, terms: RulingTerms) -> Result<Decision, Error> {
        // An action that no list has gets no key, and the decision about it needs none.
        let key = action.key(&self.owner.0, &self.policy).map_or(EffectKey::of_bytes([0; 32]), |(key, _)| key);
        self.ruling(action, key, terms).await
    }

    /// Lets happen to a proposed action what was decided; where it stands then.
    pub(super) async fn settle(&self, standing: &Standing, decision: &Decision) -> Result<ActionState, Error> {
        let event = match &decision.ruling {
            Ruling::Hold(minutes) => {
                let wait = i64::from(minutes.0).saturating_mul(MINUTE);
                // The store may know a later time than this clock, before which no hold may end.
                let now = when::time_now().max(self.status.last_seen);
                ActionEvent::Hold { due: Time(now.0.saturating_add(wait)) }
            }
            // The person answers by approving it or not.
            Ruling::Approval | Ruling::Escalation => ActionEvent::RequireApproval,
            Ruling::Refusal(_) => ActionEvent::Refuse,
            // At the door nothing is permitted at once, and what is blocked stays a proposal.
            Ruling::Permit(_) | Ruling::Standstill => return Ok(ActionState::Proposed),
        };
        match self.system_event(standing, event, decision.to_json()).await? {
            TransitionAnswer::Made(made) => Ok(made.after.state),
            TransitionAnswer::Refused(refused) => Ok(refused.state),
        }
    }

    /// Something that Proem itself lets happen to an action.
    pub(super) async fn system_event(
        &self,
        standing: &Standing,
        event: ActionEvent,
        details: Json,
    ) -> Result<TransitionAnswer, Error> {
        let transition = NewTransition {
            key: standing.key,
            project: self.owner.clone(),
            actor: self.system(),
            at: when::time_now(),
            request: TransitionRequest { event, by: Authority::System, version: standing.version, epoch: None },
            policy: self.policy.hash(),
            window: self.policy.release_window(),
            load: TransitionLoad::Nothing,
            details,
        };
        Ok(self.store.transit(transition).await?)
    }

    /// Asks a person, if the policy says that a person has to choose.
    pub(super) async fn escalated(
        &self,
        key: Option<EffectKey>,
        action: &ProposedAction,
        decision: &Decision,
    ) -> Result<Option<EscalationId>, Error> {
        match decision.ruling {
            Ruling::Escalation | Ruling::Refusal(RefusalNotice::Escalated) => {
                self.escalate(key, action, decision, RefusedOffer::Withheld).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Asks a person about an action that the policy lets no agent take.
    async fn escalate(
        &self,
        key: Option<EffectKey>,
        action: &ProposedAction,
        decision: &Decision,
        offer: RefusedOffer,
    ) -> Result<EscalationId, Error> {
        // One of the same content is the same question.
        let id = match (key, offer) {
            (Some(key), _) => EscalationId(key.to_string()),
            (None, RefusedOffer::Offered) => self.offer_id(action),
            (None, RefusedOffer::Withheld) => EscalationId(hex::encode_hex(action.content().0)),
        };
        let mut reasons: Vec<String> = decision.reasons.iter().map(ToString::to_string).collect();
        if matches!(decision.ruling, Ruling::Refusal(_)) {
            reasons.extend(refusal_remedies(decision));
        }
        let option = |id: &str, label: &str, action: Option<String>| {
            Ok::<_, Error>(EscalationOption { id: id.to_owned(), label: written_label_text(label)?, action })
        };
        let options = match decision.ruling {
            Ruling::Escalation => vec![
                option("A", "have it happen: approve the action as it is shown", Some(action.write()?))?,
                option("B", "leave it: cancel the action", None)?,
            ],
            _ => {
                let mut options =
                    vec![option("A", "leave it", None)?, option("B", "do it yourself, outside Proem", None)?];
                if offer == RefusedOffer::Offered {
                    let label = "have it happen, once you have allowed it: the policy decides about it anew";
                    options.push(option("C", label, Some(action.write()?))?);
                }
                options
            }
        };
        let shows = key.is_none() && !decision.finds_credential();
        let told = ToldAction { action, key, shows, options: options.len() };
        let because = reasons.join("; ");
        let escalation = NewEscalation {
            id: id.clone(),
            project: self.owner.clone(),
            actor: self.system(),
            at: when::time_now(),
            action: key,
            reason: told.case(&because, &decision.ruling)?,
            sensitivity: "no_deadline".to_owned(),
            deadline: None,
            options,
        };
        self.store.escalate(escalation).await?;
        Ok(id)
    }

    /// Whether a person can lift the refusal of an action that is written down nowhere yet. Once it is written down as
    /// refused it stays so, since what has ended stays ended.
    async fn can_be_allowed(&self, action: &ProposedAction, decision: &Decision) -> bool {
        let is_refused = matches!(decision.ruling, Ruling::Refusal(_)) && !decision.finds_credential();
        if !is_refused || !keeps_texts(self.project) || refusal_remedies(decision).is_empty() {
            return false;
        }
        match action.key(&self.owner.0, &self.policy) {
            Ok((key, _)) => self.store.action(&self.owner, &key).await.is_err(),
            // An action that is on no list is recorded nowhere.
            Err(_) => true,
        }
    }

    /// The id of the question that offers a refused action.
    fn offer_id(&self, action: &ProposedAction) -> EscalationId {
        let key = action.key(&self.owner.0, &self.policy).ok().map(|(key, _)| key.to_string());
        EscalationId(key.unwrap_or_else(|| hex::encode_hex(action.content().0)))
    }

    /// Why the offer of a refused action can't be taken up yet. `None` for any other option, or once it is allowed.
    pub(super) fn still_refused(
        &self,
        escalation: &EscalationId,
        action: &ProposedAction,
        decision: &Decision,
    ) -> Option<String> {
        // One that no list had was asked about by its content, and may have a key by now.
        let ids = [self.offer_id(action), EscalationId(hex::encode_hex(action.content().0))];
        let is_offer = matches!(decision.ruling, Ruling::Refusal(_)) && ids.contains(escalation);
        let reasons = decision.reasons.iter().map(ToString::to_string);
        is_offer.then(|| reasons.chain(refusal_remedies(decision)).collect::<Vec<_>>().join("; "))
    }

    /// The agent that gave the action, as recorded.
    fn agent(&self) -> Actor {
        Actor { kind: ActorKind::Agent, ..self.system() }
    }
}

/// An action that a person is asked about.
struct ToldAction<'a> {
    action: &'a ProposedAction,
    /// Its key, if it is written down.
    key: Option<EffectKey>,
    /// Whether the question has to show it, since it is written down nowhere else.
    shows: bool,
    /// How many options there are.
    options: usize,
}

impl ToldAction<'_> {
    /// Why a person is asked, with the background and the reasons of each option.
    fn case(&self, because: &str, ruling: &Ruling) -> Result<String, Error> {
        let causes = self.action.causes().len();
        let signals = if causes == 1 { "1 signal".to_owned() } else { format!("{causes} signals") };
        let mut background = vec![format!("An agent proposed it because of {signals}.")];
        background.extend(self.key.map(|key| {
            let key = key.to_string();
            format!("`proem queue show {}` shows it.", key.get(..8).unwrap_or(&key))
        }));
        let reasons: &[(&str, OptionReasons)] = match ruling {
            Ruling::Escalation => &ESCALATED_REASONS,
            _ => REFUSED_REASONS.get(..self.options).unwrap_or_default(),
        };
        let about = if self.shows { self.action.tree() } else { &LabelTree::Null };
        let about = question_case(&background, about, reasons.iter().copied());
        let tree = LabelTree::map([(BECAUSE, LabelTree::from(because)), (ABOUT, about)]);
        // Text that is too long for the written form is left out. The reasons never are.
        tree.write().or_else(|_| written_label_text(because))
    }
}

/// The arguments for and against the options of an action that a person decides about.
const ESCALATED_REASONS: [(&str, OptionReasons); 2] = [
    ("A", OptionReasons { pro: "what the signals ask for is done", con: "it can't be taken back" }),
    ("B", OptionReasons { pro: "nothing leaves", con: "whoever waits for it waits on" }),
];
/// The same for one that the policy refused.
const REFUSED_REASONS: [(&str, OptionReasons); 3] = [
    ("A", OptionReasons { pro: "nothing leaves", con: "whoever waits for it waits on" }),
    ("B", OptionReasons { pro: "it is done by somebody who may", con: "the records do not show it as done" }),
    ("C", OptionReasons { pro: "what the signals ask for is done", con: "the policy has to allow such actions first" }),
];

/// Whether a question about a refused action offers it to whoever allows it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusedOffer {
    /// It is refused for good: the records have it as refused.
    Withheld,
    /// The question alone has it, so that nothing keeps it from happening later.
    Offered,
}

/// A text of ours in the written form of texts with labels.
fn written_label_text(text: &str) -> Result<String, Error> {
    LabelTree::from(text).write().map_err(|error| Error::bug("a question can't be written down", error))
}

/// The record of a proposal.
pub(super) enum NewProposal {
    /// The action.
    Written(Box<NewAction>),
    /// Nothing, as nothing is kept or no list has the action. Its key, if it has one.
    Unwritten(Option<EffectKey>),
}

/// Which version of which action something is decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// The action.
    pub(super) key: EffectKey,
    pub(super) version: ActionVersion,
}
