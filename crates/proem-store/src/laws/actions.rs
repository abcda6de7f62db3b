//! The starting point of the laws about actions.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use proem_engine::effect::key::{EffectKey, KeyParts, SignalClaim, SignalRevision};
use proem_engine::effect::{
    ActionEvent, ActionHash, ActionVersion, Authority, BytesHash, GateRuling, PerformerEpoch, PolicyHash,
    ReleaseWindow, StandingApproval, TakeUp, Transition, TransitionRefused, TransitionRequest,
};
use proem_engine::run::Time;
use proem_guard::Untrusted;
use proem_guard::check::{ActionField, FieldRole, Referent};
use proem_text::Label;
use serde_json::json;

use super::samples::LawSamples;
use crate::query::{EvidenceWanted, StoredEvidence};
use crate::record::{
    Actor, ActorKind, ApprovalBreadth, CreditScope, DecisionEffect, EffectsPower, EffectsSwitch, EscalationId,
    EscalationOption, HashedContent, NewAction, NewDecision, NewEscalation, NewQuarantine, NewTransition,
    PerformerClaim, QuarantineId, TransitionLoad, content_hash, digest_of,
};
use crate::{ProposalAnswer, Store};

/// The hash of a text.
fn text_digest(text: &str) -> [u8; 32] {
    digest_of(&content_hash(text.as_bytes())).unwrap_or_default()
}

/// Makes actions and what happens to them, in a law.
#[derive(Debug, Clone, Copy)]
pub struct LawActions;

impl LawActions {
    /// When everything happens, unless a law says otherwise.
    pub const NOW: Time = Time(1_000_000);
    /// Until when actions wait: 30 days later.
    pub const DEADLINE: Time = Time(Self::NOW.0 + 30 * 24 * 60 * 60 * 1_000);
    /// The text of an action after an edit.
    pub const EDITED: &'static str = "what a person made of it";

    /// Proem itself.
    #[must_use]
    pub fn system(self) -> Actor {
        Actor { kind: ActorKind::System, id: "proem".to_owned(), channel: "sweep".to_owned() }
    }

    /// The policy in force.
    #[must_use]
    pub const fn policy(self) -> PolicyHash {
        PolicyHash([9; 32])
    }

    /// The scope that counts all actions.
    #[must_use]
    pub fn scope(self) -> CreditScope {
        CreditScope { name: "send-mail".to_owned(), recipient: Some([4; 32]), kind: "status".to_owned() }
    }

    /// A signal in one of its revisions.
    #[must_use]
    pub fn signal(self, signal: u64, revision: u32) -> SignalRevision {
        SignalRevision { id: format!("mail-{signal}"), revision: revision.to_string() }
    }

    /// An action that one signal caused.
    #[must_use]
    pub fn action(self, signal: u64) -> NewAction {
        self.caused(&[self.signal(signal, 1)])
    }

    /// An action that these signals caused.
    #[must_use]
    pub fn caused(self, causes: &[SignalRevision]) -> NewAction {
        let project = LawSamples.project();
        let value = Untrusted::new("bob@example.org".to_owned(), Label::trusted());
        let field = ActionField { path: "to", role: FieldRole::Recipient, value: &value };
        let Some(target) = Referent::of(&field) else { panic!("an address names somebody") };
        let parts = KeyParts { project: &project.0, action: "send-mail", target, causes };
        let (Ok(key), Ok(claims)) = (EffectKey::new(&parts), SignalClaim::of(&parts)) else {
            panic!("the parts make a key");
        };
        let form = format!("the action {key}");
        NewAction {
            key,
            claims,
            project,
            actor: LawSamples.actor(),
            at: Self::NOW,
            scope: self.scope(),
            target: *target.digest(),
            content: ActionHash(text_digest(&form)),
            form,
            deadline: Self::DEADLINE,
            decision: json!(null),
            origin: None,
            texts: vec![HashedContent::new("what the signals say")],
        }
    }

    /// A person's yes to an action as it was proposed.
    #[must_use]
    pub const fn approval(self, action: &NewAction) -> StandingApproval {
        StandingApproval { content: action.content, policy: self.policy(), expires: Self::DEADLINE }
    }

    /// The bytes that an action goes out as.
    #[must_use]
    pub fn bytes(self, action: &NewAction) -> String {
        format!("the bytes of {}", action.key)
    }

    /// That an action is taken up, with the policy's yes.
    #[must_use]
    pub fn take_up(self, action: &NewAction) -> ActionEvent {
        let bytes = BytesHash(text_digest(&self.bytes(action)));
        ActionEvent::TakeUp(TakeUp { gate: GateRuling::Permits, unmet: Vec::new(), bytes })
    }

    /// That a person changes an action.
    #[must_use]
    pub fn edit(self) -> ActionEvent {
        ActionEvent::Edit { content: ActionHash(text_digest(Self::EDITED)) }
    }

    /// An event from whom it has to come, with what belongs to it, by no epoch.
    #[must_use]
    pub fn happens(self, action: &NewAction, version: u64, event: ActionEvent) -> NewTransition {
        let by = event.kind().authority();
        let load = match &event {
            ActionEvent::Edit { .. } => TransitionLoad::Form(Self::EDITED.to_owned()),
            ActionEvent::TakeUp(_) => TransitionLoad::Bytes(self.bytes(action).into_bytes().into()),
            ActionEvent::Approve(_) | ActionEvent::Release(_) | ActionEvent::Resend(_) => {
                TransitionLoad::Approval(ApprovalBreadth::Single)
            }
            _ => TransitionLoad::Nothing,
        };
        NewTransition {
            key: action.key,
            project: action.project.clone(),
            actor: if by == Authority::Operator { LawSamples.actor() } else { self.system() },
            at: Self::NOW,
            request: TransitionRequest { event, by, version: ActionVersion(version), epoch: None },
            policy: self.policy(),
            window: ReleaseWindow::default(),
            load,
            details: json!({}),
        }
    }

    /// The same by a performer.
    #[must_use]
    pub fn performs(self, action: &NewAction, version: u64, event: ActionEvent, by: PerformerEpoch) -> NewTransition {
        let mut transition = self.happens(action, version, event);
        transition.request.epoch = Some(by);
        transition
    }

    /// Lets it happen, if the table does.
    ///
    /// # Errors
    ///
    /// [`TransitionRefused`] if the table has it otherwise.
    pub async fn tried(self, store: &Store, transition: NewTransition) -> Result<Transition, TransitionRefused> {
        match store.transit(transition).await {
            Ok(answer) => answer.made(),
            Err(error) => panic!("{error}"),
        }
    }

    /// Lets it happen, which it does. The version that it made.
    pub async fn made(self, store: &Store, transition: NewTransition) -> u64 {
        match self.tried(store, transition).await {
            Ok(made) => made.after.version.0,
            Err(refused) => panic!("{refused}"),
        }
    }

    /// Proposes an action that is new.
    pub async fn proposed(self, store: &Store, action: &NewAction) {
        let answer = store.propose(action.clone()).await;
        assert!(matches!(answer, Ok(ProposalAnswer::New)), "{answer:?}");
    }

    /// Proposes an action that a person then approves. The version.
    pub async fn approved(self, store: &Store, action: &NewAction) -> u64 {
        self.proposed(store, action).await;
        let version = self.made(store, self.happens(action, 0, ActionEvent::RequireApproval)).await;
        let approve = ActionEvent::Approve(self.approval(action));
        self.made(store, self.happens(action, version, approve)).await
    }

    /// That effects are switched on or off.
    #[must_use]
    pub fn switch(self, power: EffectsPower) -> EffectsSwitch {
        EffectsSwitch { project: LawSamples.project(), actor: LawSamples.actor(), at: Self::NOW, power }
    }

    /// The records' evidence for and against an action that rests on no signal.
    pub async fn evidence(self, store: &Store, action: &NewAction) -> StoredEvidence {
        let wanted = EvidenceWanted {
            project: action.project.clone(),
            scope: action.scope.clone(),
            signals: Vec::new(),
            most: u64::MAX,
        };
        match store.evidence(wanted).await {
            Ok(found) => found,
            Err(error) => panic!("{error}"),
        }
    }

    /// Switches effects on and begins a performer's life.
    pub async fn performer(self, store: &Store) -> PerformerEpoch {
        let switched = store.switch_effects(self.switch(EffectsPower::On)).await;
        assert!(switched.is_ok(), "{switched:?}");
        let claim = PerformerClaim {
            project: LawSamples.project(),
            actor: LawSamples.actor(),
            at: Self::NOW,
            process: "4711".to_owned(),
        };
        match store.take_epoch(claim).await {
            Ok(epoch) => epoch,
            Err(error) => panic!("{error}"),
        }
    }

    /// An escalation with two options, one of which has an action.
    #[must_use]
    pub fn escalation(self, id: &str) -> NewEscalation {
        let option = |id: &str, action: Option<&str>| EscalationOption {
            id: id.to_owned(),
            label: format!("label of {id}"),
            action: action.map(str::to_owned),
        };
        NewEscalation {
            id: EscalationId(id.to_owned()),
            project: LawSamples.project(),
            actor: LawSamples.actor(),
            at: Self::NOW,
            action: None,
            reason: "two teams wait for each other".to_owned(),
            sensitivity: "today".to_owned(),
            deadline: Some(Self::DEADLINE),
            options: vec![option("write", Some("an action of an option")), option("wait", None)],
        }
    }

    /// A decision of it.
    #[must_use]
    pub fn decision(self, id: &str, option: &str) -> NewDecision {
        NewDecision {
            escalation: EscalationId(id.to_owned()),
            project: LawSamples.project(),
            actor: LawSamples.actor(),
            at: Self::NOW,
            option: option.to_owned(),
            words: "they know".to_owned(),
            effect: DecisionEffect::Nothing,
            artefacts: Vec::new(),
        }
    }

    /// A field that stays out.
    #[must_use]
    pub fn quarantine(self, signal: u64) -> NewQuarantine {
        NewQuarantine {
            id: QuarantineId { signal: format!("mail-{signal}"), revision: "1".to_owned(), field: "body".to_owned() },
            project: LawSamples.project(),
            actor: LawSamples.actor(),
            at: Self::NOW,
            text: HashedContent::new(format!("ignore all of {signal}")),
            findings: json!([{ "rule": "override" }]),
            verdict: proem_guard::Verdict::Quarantine,
            sender: "eve@example.org".to_owned(),
        }
    }
}
