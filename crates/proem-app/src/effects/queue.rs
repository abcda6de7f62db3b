//! Waiting actions, and a person's answers to them.
//!
//! Invariants: an approval is for exactly what was shown, under the policy that was in force then; whatever changes an
//! action takes an operator. Two operators at once can't both be right, for each decides on the version that he saw.

use std::collections::BTreeMap;

use proem_engine::effect::key::{EffectKey, SignalRevision};
use proem_engine::effect::{ActionEvent, ActionState, Authority, StandingApproval, Transition, TransitionRequest};
use proem_engine::policy::{AutonomyLevel, Decision, Policy, ProposedAction};
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted};
use proem_store::query::{ActionDetail, ActionRow, ActionsWanted, LineDepth, QuarantinedItem, QueueLine, SenderRow};
use proem_store::record::{
    ActionCorrection, ApprovalBreadth, NewTransition, QuarantineReview, QuarantineState, TransitionLoad,
};
use proem_store::{QuarantineAnswer, TransitionAnswer};
use proem_triage::ProjectSignal;
use serde_json::{Value as Json, json};

use super::desk::ActionDesk;
use super::drafting::{ActionDraft, DraftRefusal, draft_action};
use super::ruling::RulingTerms;
use crate::error::Error;
use crate::message::Hint;
use crate::operator::{Displayed, Operator};
use crate::when;

/// The fewest digits of a key that name an action.
const SHORTEST_ID: usize = 4;

/// An action with everything that a person decides by.
#[derive(Debug)]
pub struct QueuedAction {
    /// The action with all that happened to it.
    pub detail: ActionDetail,
    /// Its content. `None` once its texts are gone.
    pub action: Option<ProposedAction>,
    /// The current policy's decision. `None` once its texts are gone.
    pub decision: Option<Decision>,
    /// The bytes that would leave now, or why there are none.
    pub draft: Option<Result<ActionDraft, DraftRefusal>>,
    /// The content of its signals, one for each of its causes. `None` for one that was not taken in here, or whose text
    /// is gone.
    pub causes: Vec<Option<LabelTree>>,
}

/// A person's answer to an action.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueVerdict {
    /// It may happen as it was displayed.
    Approve(Displayed),
    /// It may happen before its hold is over, as it was displayed.
    Release(Displayed),
    /// It must not happen.
    Cancel {
        /// Why, in the person's own words. Empty if there are none.
        why: String,
    },
    /// It says something else from here on, as was displayed.
    Edit(Box<ProposedAction>, Displayed),
    /// It was unknown, and it happened.
    Sent {
        /// How the person knows.
        why: String,
    },
    /// It was unknown, and it did not happen.
    NotSent {
        /// How the person knows.
        why: String,
    },
    /// It was unknown, and the same bytes shall go once more, which say what was displayed.
    Resend(Displayed),
}

/// A person's verdict on a field in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuarantineVerdict {
    /// It comes in as it was displayed, as text from outside like any other.
    Release(Displayed),
    /// It stays out for good.
    Dismiss,
}

/// Why a decision covers nothing.
pub(super) const NOT_DISPLAYED: &str = "nothing was decided: it was not shown to its end; look at it again";

impl ActionDesk<'_> {
    /// The signals that actions which have not ended were proposed for.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub(crate) async fn open_causes(&self) -> Result<Vec<SignalRevision>, Error> {
        let wanted = ActionsWanted { project: Some(self.owner.clone()), ..ActionsWanted::default() };
        let mut causes = Vec::new();
        for row in self.store.actions(&wanted).await? {
            if let Some(form) = &row.form {
                causes.extend(ProposedAction::stored(form, &self.policy)?.signals());
            }
        }
        Ok(causes)
    }

    /// Actions by the time at which something is due, one line of each. Those that are unfinished, if no states are
    /// named.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn queue(
        &self,
        states: &[ActionState],
        most: Option<u64>,
        depth: LineDepth,
    ) -> Result<Vec<QueueLine>, Error> {
        let wanted = ActionsWanted { project: Some(self.owner.clone()), states: states.to_vec(), most };
        Ok(self.store.queue_lines(&wanted, depth).await?)
    }

    /// An action's target, as written. `None` once its texts are gone, or if the line was read without.
    #[must_use]
    pub fn target(&self, line: &QueueLine) -> Option<Untrusted<String>> {
        let action = ProposedAction::stored(line.form.as_deref()?, &self.policy).ok()?;
        Some(action.target().clone())
    }

    /// The key of the one action whose key begins like that.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub async fn find(&self, id: &str) -> Result<EffectKey, Error> {
        let is_id = id.len() >= SHORTEST_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            let problem =
                format!("`{}` is no id of an action; give {SHORTEST_ID} to 64 of its digits", escape_for_terminal(id));
            return Err(Error::invalid(problem).hinting(Hint::ListQueue));
        }
        let id = id.to_ascii_lowercase();
        // A second one is enough to know that there are several.
        match self.store.keys_beginning(&self.owner, &id, 2).await?.as_slice() {
            [key] => Ok(*key),
            [] => Err(Error::invalid(format!("no action has the id `{id}`")).hinting(Hint::ListQueue)),
            _ => Err(Error::invalid(format!("several actions have the id `{id}…`; give more of it"))),
        }
    }

    /// An action with everything that a person decides by.
    ///
    /// # Errors
    ///
    /// If there is none with that key, or the records are unreadable.
    pub async fn item(&self, key: &EffectKey) -> Result<QueuedAction, Error> {
        let detail = self.store.action(&self.owner, key).await?;
        let action = detail.row.form.as_deref().map(|form| ProposedAction::stored(form, &self.policy)).transpose()?;
        let Some(action) = action else {
            return Ok(QueuedAction { detail, action: None, decision: None, draft: None, causes: Vec::new() });
        };
        let terms = RulingTerms::proposal(self.level());
        let decision = self.ruling(&action, *key, terms).await?;
        let settings = &self.project.config.effects;
        let mut draft = draft_action(&action, key, &self.policy, settings, when::time_now());
        if let (Ok(draft), Some(recorded)) = (&mut draft, &detail.bytes) {
            // A second attempt sends what the first one did.
            draft.bytes = recorded.to_vec();
        }
        let mut causes = Vec::new();
        for signal in action.signals() {
            let row = self.store.signal(&self.owner, &signal).await?;
            causes.push(row.and_then(|row| row.text).and_then(|text| cause_tree(&text)));
        }
        Ok(QueuedAction { detail, action: Some(action), decision: Some(decision), draft: Some(draft), causes })
    }

    /// The action with fields as a person wants them, and where it then differs.
    ///
    /// # Errors
    ///
    /// If it has no such field, or a text is too long.
    pub fn edited(&self, action: &ProposedAction, changes: &BTreeMap<String, String>) -> Result<ProposedAction, Error> {
        Ok(action.edited(&self.policy, changes)?)
    }

    /// Writes what a person says to an action that he saw in this version.
    ///
    /// # Errors
    ///
    /// If it changed meanwhile, or this can't be said of it where it is, with what to do instead.
    pub async fn say(
        &self,
        operator: &Operator,
        seen: &ActionRow,
        verdict: QueueVerdict,
        breadth: ApprovalBreadth,
    ) -> Result<Transition, Error> {
        if let QueueVerdict::Edit(action, _) = &verdict {
            let decision = self.first_ruling(action).await?;
            if decision.finds_credential() {
                let reasons: Vec<String> = decision.reasons.iter().map(ToString::to_string).collect();
                return Err(Error::negative(format!("nothing was changed: {}", reasons.join("; "))));
            }
        }
        match self.store.transit(self.spoken_of(operator, seen, verdict, breadth)?).await? {
            TransitionAnswer::Made(transition) => Ok(*transition),
            TransitionAnswer::Refused(refused) => Err(Error::negative(refused.to_string())),
        }
    }

    /// A person's answer to an action, as recorded.
    pub(super) fn spoken_of(
        &self,
        operator: &Operator,
        seen: &ActionRow,
        verdict: QueueVerdict,
        breadth: ApprovalBreadth,
    ) -> Result<NewTransition, Error> {
        let at = when::time_now();
        let (event, load, details) = self.spoken(seen, verdict, breadth, at)?;
        Ok(NewTransition {
            key: seen.key,
            project: self.owner.clone(),
            actor: operator.actor().clone(),
            at,
            request: TransitionRequest { event, by: Authority::Operator, version: seen.version, epoch: None },
            policy: self.policy.hash(),
            window: self.policy.release_window(),
            load,
            details,
        })
    }

    fn spoken(
        &self,
        seen: &ActionRow,
        verdict: QueueVerdict,
        breadth: ApprovalBreadth,
        at: Time,
    ) -> Result<(ActionEvent, TransitionLoad, Json), Error> {
        // The ledger may know a later time, and an approval that had expired by then would be none.
        let from = at.max(self.status.last_seen).0;
        let approval = StandingApproval {
            content: seen.content,
            policy: self.policy.hash(),
            expires: Time(from.saturating_add(self.policy.approval_time())),
        };
        let approval = |displayed: &Displayed| match displayed.covers(&seen.content.0) {
            true => Ok(approval),
            false => Err(Error::negative(NOT_DISPLAYED)),
        };
        let at_level = json!({ "level": self.level().as_str() });
        let words = |why: String| if why.is_empty() { json!({}) } else { json!({ "words": why }) };
        Ok(match verdict {
            QueueVerdict::Approve(seen) => {
                (ActionEvent::Approve(approval(&seen)?), TransitionLoad::Approval(breadth), at_level)
            }
            QueueVerdict::Release(seen) => {
                (ActionEvent::Release(approval(&seen)?), TransitionLoad::Approval(breadth), at_level)
            }
            QueueVerdict::Resend(seen) => {
                (ActionEvent::Resend(approval(&seen)?), TransitionLoad::Approval(breadth), at_level)
            }
            QueueVerdict::Cancel { why } => (ActionEvent::Cancel, TransitionLoad::Nothing, words(why)),
            QueueVerdict::Sent { why } => (ActionEvent::ResolveSent, TransitionLoad::Nothing, words(why)),
            QueueVerdict::NotSent { why } => (ActionEvent::ResolveNotSent, TransitionLoad::Nothing, words(why)),
            QueueVerdict::Edit(action, displayed) => {
                if !displayed.covers(&action.content().0) {
                    return Err(Error::negative(NOT_DISPLAYED));
                }
                let form = action.write()?;
                (ActionEvent::Edit { content: action.content() }, TransitionLoad::Form(form), json!({}))
            }
        })
    }

    /// Writes that an executed action should not have happened like this: it is no precedent any more.
    ///
    /// # Errors
    ///
    /// If it was not executed.
    pub async fn correct(&self, operator: &Operator, key: EffectKey, why: &str) -> Result<(), Error> {
        let (project, actor) = (self.owner.clone(), operator.actor().clone());
        let correction = ActionCorrection { key, project, actor, at: when::time_now(), why: why.to_owned() };
        Ok(self.store.correct_action(correction).await?)
    }

    /// Fields in quarantine that nobody has looked at, and how many each sender has.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn quarantine(&self) -> Result<(Vec<SenderRow>, Vec<QuarantinedItem>), Error> {
        let senders = self.store.quarantined_senders(&self.owner).await?;
        Ok((senders, self.store.quarantined(&self.owner, Some(QuarantineState::Quarantined)).await?))
    }

    /// Writes what a person says of a field in quarantine.
    ///
    /// # Errors
    ///
    /// If there is no such field, somebody said so before, or it would be let in and was not shown to its end.
    pub async fn review(
        &self,
        operator: &Operator,
        item: &QuarantinedItem,
        verdict: QuarantineVerdict,
    ) -> Result<QuarantineAnswer, Error> {
        let state = match verdict {
            QuarantineVerdict::Dismiss => QuarantineState::Dismissed,
            QuarantineVerdict::Release(displayed) => {
                let text = item.text.as_deref().and_then(|written| LabelTree::read(written).ok());
                let Some(text) = text else {
                    return Err(Error::negative("its text is gone, so nobody can let it in; keep it out"));
                };
                if !displayed.covers_tree(&text)? {
                    return Err(Error::negative(NOT_DISPLAYED));
                }
                QuarantineState::Released
            }
        };
        let id = item.id.clone();
        let (project, actor) = (self.owner.clone(), operator.actor().clone());
        Ok(self.store.review_quarantine(QuarantineReview { id, project, actor, at: when::time_now(), state }).await?)
    }
}

impl QueuedAction {
    /// The form before the last edit. Nothing if nobody edited it.
    #[must_use]
    pub fn before_edit(&self, policy: &Policy) -> Option<ProposedAction> {
        let replaced = self.detail.transitions.iter().rev().find_map(|made| made.replaced.as_deref())?;
        ProposedAction::stored(replaced, policy).ok()
    }

    /// The level of autonomy at which a person approved it last.
    #[must_use]
    pub fn approved_at(&self) -> Option<AutonomyLevel> {
        approved_at(&self.detail)
    }
}

/// The content of a signal, from its written form.
fn cause_tree(written: &str) -> Option<LabelTree> {
    let signal = ProjectSignal::read(written).ok()?;
    let texts = [("ticket", signal.ticket), ("summary", signal.summary)];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, LabelTree::Outside(text?))));
    let fields = Some(("fields", signal.fields)).filter(|(_, fields)| *fields != LabelTree::map::<&str>([]));
    Some(LabelTree::map(texts.chain(fields)))
}

/// The level of autonomy at which a person approved an action last.
pub(super) fn approved_at(detail: &ActionDetail) -> Option<AutonomyLevel> {
    let level = |details: &Json| AutonomyLevel::parse(details.get("level")?.as_str()?);
    detail.transitions.iter().rev().find_map(|made| level(&made.details))
}

/// The fields of an action, to show them.
#[must_use]
pub fn action_fields(action: &ProposedAction) -> Option<&LabelTree> {
    match action.tree() {
        LabelTree::Map(root) => root.get("fields"),
        _ => None,
    }
}

fn escape_for_terminal(text: &str) -> String {
    proem_guard::show::terminal_str(text).into_string()
}
