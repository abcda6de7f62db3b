//! Laws about actions: what is the same, and what happens once.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use futures_util::future::join_all;
use proem_engine::effect::key::SignalRevision;
use proem_engine::effect::{
    ActionEvent, ActionState, Authority, BytesHash, EpochRule, GateRuling, PerformerEpoch, RefusalRule, TakeUp,
    TransitionRequirement as Requirement,
};
use proem_engine::run::Time;
use proem_guard::Verdict;

use super::actions::LawActions;
use super::samples::{Backend, LawSamples, query_number};
use crate::query::{ActionDetail, EvidenceWanted};
use crate::record::{
    ArtefactEdit, DecisionEffect, EffectsPower, EscalationId, EscalationState, EscalationWithdrawal, HashedContent,
    NewAction, NewArtefactVersion, NewDecision, NewQuarantine, Project, QuarantineReview, QuarantineState,
    TransitionLoad,
};
use crate::{DecisionAnswer, Error, EscalationAnswer, ProposalAnswer, QuarantineAnswer, Store, TransitionAnswer};

/// The same key is one action, a shared claim is a duplicate, and a revision is neither.
///
/// # Panics
///
/// If not.
pub async fn the_same_action_is_proposed_once(backend: &impl Backend) {
    let store = backend.open().await;
    let (first, second) = (LawActions.signal(1, 1), LawActions.signal(2, 1));
    let action = LawActions.caused(std::slice::from_ref(&first));
    LawActions.proposed(&store, &action).await;
    let mut reworded = action.clone();
    reworded.form.push_str(", in other words");
    let known = store.propose(reworded).await;
    assert!(matches!(known, Ok(ProposalAnswer::Known { state: ActionState::Proposed, .. })), "{known:?}");
    let both = store.propose(LawActions.caused(&[first, second])).await;
    assert!(matches!(both, Ok(ProposalAnswer::Duplicate { of }) if of == action.key), "{both:?}");
    LawActions.proposed(&store, &LawActions.caused(&[LawActions.signal(1, 2)])).await;
    let mut causeless = LawActions.action(9);
    causeless.claims.clear();
    assert!(matches!(store.propose(causeless).await, Err(Error::Conflict(_))));
    assert_eq!(query_number(backend, "SELECT count(*) FROM actions").await, 2);
    assert_eq!(query_number(backend, "SELECT count(*) FROM action_claims").await, 2);
    store.close().await;
}

/// Of eight that propose the same action at once, one does.
///
/// # Panics
///
/// If not.
pub async fn eight_writers_propose_one_action(backend: &impl Backend) {
    let mut stores = Vec::new();
    for _ in 0..8 {
        stores.push(backend.open().await);
    }
    let answers = join_all(stores.iter().map(|store| store.propose(LawActions.action(1)))).await;
    let new = answers.iter().filter(|answer| matches!(answer, Ok(ProposalAnswer::New))).count();
    let known = answers.iter().filter(|answer| matches!(answer, Ok(ProposalAnswer::Known { .. }))).count();
    assert_eq!((new, known), (1, 7), "{answers:?}");
    for store in stores {
        store.close().await;
    }
}

/// A refused transition changes nothing: not the action, not the log, not the ledger's time.
///
/// # Panics
///
/// If it does.
pub async fn a_refused_transition_leaves_no_trace(backend: &impl Backend) {
    let store = backend.open().await;
    let action = LawActions.action(1);
    let version = LawActions.approved(&store, &action).await;
    let seen = store.effects(&action.project).await.map(|status| status.last_seen);
    let before = store.action(&action.project, &action.key).await;
    let mut from_agent = LawActions.happens(&action, version, ActionEvent::Cancel);
    from_agent.request.by = Authority::Agent;
    let mut borrowed = LawActions.happens(&action, version, ActionEvent::Cancel);
    borrowed.actor = LawActions.system();
    let stale = LawActions.happens(&action, version - 1, ActionEvent::Cancel);
    let epochless = LawActions.happens(&action, version, LawActions.take_up(&action));
    let expected = [
        (from_agent, RefusalRule::Authority(Authority::Operator)),
        (borrowed, RefusalRule::Authority(Authority::Operator)),
        (stale, RefusalRule::Version),
        (epochless, RefusalRule::Epoch(EpochRule::InForce)),
        (LawActions.happens(&action, version, ActionEvent::Expire), RefusalRule::NoTransition),
    ];
    for (mut transition, rule) in expected {
        transition.at = Time(LawActions::NOW.0 + 5);
        let refused = LawActions.tried(&store, transition).await.err();
        assert_eq!(refused.map(|refused| refused.rule), Some(rule));
    }
    let mut unloaded = LawActions.happens(&action, version, LawActions.edit());
    unloaded.load = TransitionLoad::Nothing;
    assert!(matches!(store.transit(unloaded).await, Err(Error::Conflict(_))));
    let after = store.action(&action.project, &action.key).await;
    assert_eq!(before.ok(), after.ok());
    assert_eq!(seen.ok(), store.effects(&action.project).await.map(|status| status.last_seen).ok());
    store.close().await;
}

/// Of all that take an action up, one does. Another time takes a person in between, and the same bytes.
///
/// # Panics
///
/// If not.
pub async fn a_person_stands_between_two_take_ups(backend: &impl Backend) {
    let stores = [backend.open().await, backend.open().await];
    let [store, other] = &stores;
    let action = LawActions.action(1);
    let version = LawActions.approved(store, &action).await;
    let epoch = LawActions.performer(store).await;
    let take_up = |version| LawActions.performs(&action, version, LawActions.take_up(&action), epoch);
    let tries = join_all([store, other, store, other].map(|store| LawActions.tried(store, take_up(version)))).await;
    assert_eq!(tries.iter().filter(|tried| tried.is_ok()).count(), 1, "{tries:?}");
    let lost = LawActions.performs(&action, version + 1, ActionEvent::Lose, epoch);
    let version = LawActions.made(store, lost).await;
    assert!(LawActions.tried(other, take_up(version)).await.is_err(), "nobody has looked");
    let resend = ActionEvent::Resend(LawActions.approval(&action));
    let version = LawActions.made(store, LawActions.happens(&action, version, resend)).await;
    let others = TakeUp { gate: GateRuling::Permits, unmet: Vec::new(), bytes: BytesHash([0; 32]) };
    let others = LawActions.performs(&action, version, ActionEvent::TakeUp(others), epoch);
    let refused = LawActions.tried(other, others).await.err();
    assert_eq!(refused.map(|refused| refused.rule), Some(RefusalRule::Requirement(Requirement::SameBytes)));
    LawActions.made(other, take_up(version)).await;
    let detail = action_detail(store, &action).await;
    assert_eq!(detail.row.state, ActionState::Resending);
    assert_eq!(detail.bytes.as_deref(), Some(LawActions.bytes(&action).as_bytes()));
    close_both(stores).await;
}

/// The outcome of an action and the intent of the next share one transaction. An error undoes both. A refusal of one
/// leaves the other.
///
/// # Panics
///
/// If not.
pub async fn an_outcome_is_written_with_the_next_intent(backend: &impl Backend) {
    let store = backend.open().await;
    let [first, second] = [LawActions.action(1), LawActions.action(2)];
    let versions = [LawActions.approved(&store, &first).await, LawActions.approved(&store, &second).await];
    let epoch = LawActions.performer(&store).await;
    let taken = LawActions.performs(&first, versions[0], LawActions.take_up(&first), epoch);
    let taken = LawActions.made(&store, taken).await;
    let sent = LawActions.performs(&first, taken, ActionEvent::Sent, epoch);
    let intent = LawActions.performs(&second, versions[1], LawActions.take_up(&second), epoch);
    let states =
        async || [action_detail(&store, &first).await.row.state, action_detail(&store, &second).await.row.state];

    let mut unloaded = intent.clone();
    unloaded.load = TransitionLoad::Nothing;
    let failed = store.transit_both([sent.clone(), unloaded]).await;
    assert!(matches!(failed, Err(Error::Conflict(_))), "{failed:?}");
    assert_eq!(states().await, [ActionState::Executing, ActionState::Approved], "an error undoes both");

    let stale = LawActions.performs(&second, versions[1] + 1, LawActions.take_up(&second), epoch);
    let answers = store.transit_both([sent.clone(), stale]).await;
    assert!(matches!(answers, Ok([TransitionAnswer::Made(_), TransitionAnswer::Refused(_)])), "{answers:?}");
    assert_eq!(states().await, [ActionState::Executed, ActionState::Approved], "a refusal undoes nothing");

    let answers = store.transit_both([sent, intent]).await;
    assert!(matches!(answers, Ok([TransitionAnswer::Refused(_), TransitionAnswer::Made(_)])), "{answers:?}");
    assert_eq!(states().await, [ActionState::Executed, ActionState::Executing]);
    store.close().await;
}

/// A performer that another has taken over from says nothing more.
///
/// # Panics
///
/// If it does.
pub async fn a_stale_epoch_is_refused(backend: &impl Backend) {
    let store = backend.open().await;
    let (taken, waits) = (LawActions.action(1), LawActions.action(2));
    let version = LawActions.approved(&store, &taken).await;
    let other = LawActions.approved(&store, &waits).await;
    let stale = LawActions.performer(&store).await;
    let take_up = LawActions.performs(&taken, version, LawActions.take_up(&taken), stale);
    let version = LawActions.made(&store, take_up).await;
    let epoch = LawActions.performer(&store).await;
    assert_eq!(epoch, PerformerEpoch(stale.0 + 1));
    let due = store.due_actions(&taken.project, epoch, LawActions::NOW).await.unwrap_or_default();
    assert_eq!(due.len(), 2, "{due:?}");
    for (action, version, event) in [
        (&taken, version, ActionEvent::Sent),
        (&taken, version, ActionEvent::NotSent),
        (&waits, other, LawActions.take_up(&waits)),
    ] {
        let refused = LawActions.tried(&store, LawActions.performs(action, version, event, stale)).await.err();
        assert!(matches!(refused.map(|refused| refused.rule), Some(RefusalRule::Epoch(_))), "{refused:?}");
    }
    LawActions.made(&store, LawActions.performs(&taken, version, ActionEvent::Die, epoch)).await;
    assert_eq!(action_detail(&store, &taken).await.row.state, ActionState::Unknown);
    store.close().await;
}

/// An approval is good for one taking up, an edit voids it, and what is not sent needs another.
///
/// # Panics
///
/// If not.
pub async fn an_approval_is_used_once(backend: &impl Backend) {
    let store = backend.open().await;
    let (sent, edited) = (LawActions.action(1), LawActions.action(2));
    let epoch = LawActions.performer(&store).await;
    let version = LawActions.approved(&store, &sent).await;
    let take_up = LawActions.performs(&sent, version, LawActions.take_up(&sent), epoch);
    let version = LawActions.made(&store, take_up).await;
    let version = LawActions.made(&store, LawActions.performs(&sent, version, ActionEvent::NotSent, epoch)).await;
    let again = LawActions.performs(&sent, version, LawActions.take_up(&sent), epoch);
    assert!(LawActions.tried(&store, again).await.is_err());
    let approvals = action_detail(&store, &sent).await.approvals;
    assert!(matches!(approvals.as_slice(), [one] if one.used.is_some() && one.void.is_none()), "{approvals:?}");
    let version = LawActions.approved(&store, &edited).await;
    let version = LawActions.made(&store, LawActions.happens(&edited, version, LawActions.edit())).await;
    let stale = ActionEvent::Approve(LawActions.approval(&edited));
    let refused = LawActions.tried(&store, LawActions.happens(&edited, version, stale)).await.err();
    let rule = RefusalRule::Requirement(Requirement::ApprovalContent);
    assert_eq!(refused.map(|refused| refused.rule), Some(rule), "what was shown is no more");
    let detail = action_detail(&store, &edited).await;
    assert!(matches!(detail.approvals.as_slice(), [one] if one.void.is_some() && one.used.is_none()));
    assert_eq!(detail.row.form.as_deref(), Some(LawActions::EDITED));
    let replaced = detail.transitions.last().and_then(|line| line.replaced.clone());
    assert_eq!(replaced.as_deref(), Some(edited.form.as_str()), "both contents are kept");
    store.close().await;
}

/// While effects are off nothing is taken up, whatever the gate said.
///
/// # Panics
///
/// If something is.
pub async fn nothing_is_taken_up_while_effects_are_off(backend: &impl Backend) {
    let store = backend.open().await;
    let action = LawActions.action(1);
    let version = LawActions.approved(&store, &action).await;
    let epoch = LawActions.performer(&store).await;
    let take_up = || LawActions.performs(&action, version, LawActions.take_up(&action), epoch);
    assert!(store.switch_effects(LawActions.switch(EffectsPower::Off)).await.is_ok());
    let refused = LawActions.tried(&store, take_up()).await.err();
    assert_eq!(refused.map(|refused| refused.rule), Some(RefusalRule::Requirement(Requirement::Gate)));
    let mut by_code = LawActions.switch(EffectsPower::On);
    by_code.actor = LawActions.system();
    assert!(matches!(store.switch_effects(by_code).await, Err(Error::Conflict(_))));
    // On for another store is off for this one.
    assert!(backend.execute("UPDATE effects_state SET state = 'on', store = 'another'").await.is_ok());
    assert!(LawActions.tried(&store, take_up()).await.is_err());
    assert!(store.switch_effects(LawActions.switch(EffectsPower::On)).await.is_ok());
    LawActions.made(&store, take_up()).await;
    store.close().await;
}

/// An escalation is decided once, by a person, for one of its options.
///
/// # Panics
///
/// If not.
pub async fn an_escalation_is_decided_once(backend: &impl Backend) {
    let stores = [backend.open().await, backend.open().await];
    let [store, other] = &stores;
    let mut narrow = LawActions.escalation("e0");
    narrow.options.truncate(1);
    assert!(matches!(store.escalate(narrow).await, Err(Error::Conflict(_))));
    assert!(matches!(store.escalate(LawActions.escalation("e1")).await, Ok(EscalationAnswer::Done)));
    let again = other.escalate(LawActions.escalation("e1")).await;
    assert!(matches!(again, Ok(EscalationAnswer::Stands(EscalationState::Open))), "{again:?}");
    let mut by_code = LawActions.decision("e1", "write");
    by_code.actor = LawActions.system();
    assert!(matches!(store.decide(by_code).await, Err(Error::Conflict(_))));
    assert!(matches!(store.decide(LawActions.decision("e1", "shout")).await, Err(Error::NotFound(_))));
    assert!(matches!(store.decide(LawActions.decision("e2", "wait")).await, Err(Error::NotFound(_))));
    let answers = join_all([
        store.decide(LawActions.decision("e1", "write")),
        other.decide(LawActions.decision("e1", "wait")),
        store.decide(LawActions.decision("e1", "wait")),
    ])
    .await;
    let done = answers.iter().filter(|answer| matches!(answer, Ok(DecisionAnswer::Done { .. }))).count();
    assert_eq!(done, 1, "{answers:?}");
    let decision = LawActions.decision("e1", "wait");
    let withdrawal = EscalationWithdrawal {
        escalation: decision.escalation.clone(),
        project: decision.project.clone(),
        actor: decision.actor.clone(),
        at: decision.at,
    };
    let withdrawn = store.withdraw(withdrawal).await;
    assert!(matches!(withdrawn, Ok(EscalationAnswer::Stands(EscalationState::Decided))), "{withdrawn:?}");
    let row = store.escalation(&decision.project, &decision.escalation).await;
    let Ok(row) = row else { panic!("{row:?}") };
    assert!(row.decision.is_some() && row.options.len() == 2, "{row:?}");
    assert!(matches!(store.escalate(LawActions.escalation("e3")).await, Ok(EscalationAnswer::Done)));
    let decided = store.decided_escalations(&decision.project, 5).await;
    assert!(matches!(decided.as_deref(), Ok([only]) if *only == row), "{decided:?}");
    close_both(stores).await;
}

/// A decision is written with what follows from it, or not at all.
///
/// # Panics
///
/// If not.
pub async fn a_decision_is_written_with_what_follows(backend: &impl Backend) {
    let store = backend.open().await;
    let (waiting, chosen) = (LawActions.action(1), LawActions.action(2));
    LawActions.proposed(&store, &waiting).await;
    let require = LawActions.happens(&waiting, 0, ActionEvent::RequireApproval);
    let version = LawActions.made(&store, require).await;
    for id in ["e1", "e2"] {
        assert!(store.escalate(LawActions.escalation(id)).await.is_ok());
    }
    let approves = |version| {
        let approve = ActionEvent::Approve(LawActions.approval(&waiting));
        DecisionEffect::Transition(Box::new(LawActions.happens(&waiting, version, approve)))
    };
    let log = |version: u64| ArtefactEdit {
        project: LawSamples.project(),
        actor: LawSamples.actor(),
        at: LawActions::NOW,
        version: NewArtefactVersion {
            kind: "decision_log".to_owned(),
            version,
            content: HashedContent::new(format!("log {version}")),
            entry: HashedContent::new("somebody decided"),
            causes: Vec::new(),
        },
    };
    let decision = |id: &str, effect, artefacts| NewDecision { effect, artefacts, ..LawActions.decision(id, "write") };
    // A decision that does not fit leaves the question open, the action as it was, and the log without an entry.
    let refused = store.decide(decision("e1", approves(version + 1), vec![log(1)])).await;
    assert!(
        matches!(&refused, Ok(DecisionAnswer::Refused(refused)) if refused.rule == RefusalRule::Version),
        "{refused:?}"
    );
    let moved = store.decide(decision("e1", approves(version), vec![log(2)])).await;
    assert!(matches!(moved, Ok(DecisionAnswer::ArtefactMoved)), "{moved:?}");
    let mut causeless = chosen.clone();
    causeless.claims.clear();
    let causeless = store.decide(decision("e1", DecisionEffect::Proposal(Box::new(causeless)), vec![log(1)])).await;
    assert!(matches!(causeless, Err(Error::Conflict(_))), "{causeless:?}");
    let row = store.escalation(&waiting.project, &EscalationId("e1".to_owned())).await;
    assert!(matches!(&row, Ok(row) if row.state == EscalationState::Open && row.decision.is_none()), "{row:?}");
    assert_eq!(action_detail(&store, &waiting).await.row.state, ActionState::Waiting);
    assert_eq!(query_number(backend, "SELECT count(*) FROM artefact_versions").await, 0);

    let done = store.decide(decision("e1", approves(version), vec![log(1)])).await;
    assert!(matches!(done, Ok(DecisionAnswer::Done { proposal: None })), "{done:?}");
    assert_eq!(action_detail(&store, &waiting).await.row.state, ActionState::Approved);
    let proposes = || DecisionEffect::Proposal(Box::new(chosen.clone()));
    let done = store.decide(decision("e2", proposes(), vec![log(2)])).await;
    assert!(matches!(done, Ok(DecisionAnswer::Done { proposal: Some(ProposalAnswer::New) })), "{done:?}");
    assert_eq!(action_detail(&store, &chosen).await.row.state, ActionState::Proposed);
    let again = store.decide(decision("e2", proposes(), vec![log(3)])).await;
    assert!(matches!(again, Ok(DecisionAnswer::Stands(EscalationState::Decided))), "{again:?}");
    assert_eq!(query_number(backend, "SELECT count(*) FROM artefact_versions").await, 2);
    assert_eq!(query_number(backend, "SELECT count(*) FROM actions").await, 2);
    store.close().await;
}

/// A person's word about a field in quarantine is final.
///
/// # Panics
///
/// If not.
pub async fn a_quarantine_is_reviewed_once(backend: &impl Backend) {
    let store = backend.open().await;
    let item = LawActions.quarantine(1);
    let review = |state| QuarantineReview {
        id: item.id.clone(),
        project: item.project.clone(),
        actor: LawSamples.actor(),
        at: LawActions::NOW,
        state,
    };
    for expected in [QuarantineAnswer::Done, QuarantineAnswer::Stands] {
        assert_eq!(store.quarantine(item.clone()).await.ok(), Some(expected));
    }
    let mut by_code = review(QuarantineState::Released);
    by_code.actor = LawActions.system();
    assert!(matches!(store.review_quarantine(by_code).await, Err(Error::Conflict(_))));
    let none = store.review_quarantine(review(QuarantineState::Quarantined)).await;
    assert!(matches!(none, Err(Error::Conflict(_))), "{none:?}");
    for (state, expected) in
        [(QuarantineState::Released, QuarantineAnswer::Done), (QuarantineState::Dismissed, QuarantineAnswer::Stands)]
    {
        assert_eq!(store.review_quarantine(review(state)).await.ok(), Some(expected));
    }
    assert_eq!(store.quarantine(item.clone()).await.ok(), Some(QuarantineAnswer::Stands), "it is not taken out again");
    let known = SignalRevision { id: item.id.signal.clone(), revision: item.id.revision.clone() };
    let other = SignalRevision { revision: format!("{} again", known.revision), ..known.clone() };
    // A field that a person released still counts as suspicious. A field that nobody has looked at, or that was
    // dismissed, stays out.
    let [waits, dismissed] = [2, 3].map(|signal| LawActions.quarantine(signal));
    for item in [&waits, &dismissed] {
        assert_eq!(store.quarantine(item.clone()).await.ok(), Some(QuarantineAnswer::Done));
    }
    let dismissal = QuarantineReview { id: dismissed.id.clone(), ..review(QuarantineState::Dismissed) };
    assert_eq!(store.review_quarantine(dismissal).await.ok(), Some(QuarantineAnswer::Done));
    let wanted = |project: &Project, signals| EvidenceWanted {
        project: project.clone(),
        scope: LawActions.action(1).scope,
        signals,
        most: 0,
    };
    let of = |item: &NewQuarantine| SignalRevision { id: item.id.signal.clone(), revision: item.id.revision.clone() };
    for (signals, expected) in [
        (vec![], None),
        (vec![other.clone()], None),
        (vec![other, known.clone()], Some(Verdict::Flag)),
        (vec![of(&waits)], Some(waits.verdict)),
        (vec![of(&dismissed), known.clone()], Some(dismissed.verdict)),
    ] {
        let found = store.evidence(wanted(&item.project, signals.clone())).await.map(|found| found.quarantine);
        assert_eq!(found.ok(), Some(expected), "{signals:?}");
    }
    let elsewhere = store.evidence(wanted(&Project("elsewhere".to_owned()), vec![known])).await;
    assert_eq!(elsewhere.map(|found| found.quarantine).ok(), Some(None));
    let senders = store.quarantined_senders(&item.project).await.unwrap_or_default();
    assert!(
        matches!(senders.as_slice(), [one] if (one.quarantined, one.released, one.dismissed) == (1, 1, 1)),
        "{senders:?}"
    );
    assert_eq!(store.effects(&item.project).await.map(|status| status.quarantined).ok(), Some(1), "one waits");
    store.close().await;
}

/// An action with all that happened to it.
async fn action_detail(store: &Store, action: &NewAction) -> ActionDetail {
    match store.action(&action.project, &action.key).await {
        Ok(detail) => detail,
        Err(error) => panic!("{error}"),
    }
}

async fn close_both(stores: [Store; 2]) {
    for store in stores {
        store.close().await;
    }
}
