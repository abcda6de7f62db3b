//! Laws about what is kept of actions: by a purge, over time, and of whom.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use proem_engine::effect::{ActionEvent, ActionState, RefusalRule, TransitionRequirement as Requirement};
use proem_engine::profile::Quality;
use proem_engine::run::Time;

use super::actions::LawActions;
use super::samples::{Backend, LawSamples, query_number};
use crate::query::{ActionsWanted, EvidenceWanted};
use crate::record::{ActionCorrection, ApprovalBreadth, NewAction, QuarantineReview, QuarantineState, TransitionLoad};
use crate::{ActionPurge, Error, ProposalAnswer, Purge, Store};

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// No purge takes what an action needs that has not ended. One that has keeps its key and its claims.
///
/// # Panics
///
/// If not.
pub async fn a_purge_leaves_open_actions(backend: &impl Backend) {
    let store = backend.open().await;
    let (open, ended) = (LawActions.action(1), LawActions.action(2));
    let epoch = LawActions.performer(&store).await;
    for action in [&open, &ended] {
        let version = LawActions.approved(&store, action).await;
        let take_up = LawActions.performs(action, version, LawActions.take_up(action), epoch);
        let version = LawActions.made(&store, take_up).await;
        let event = if action.key == open.key { ActionEvent::Lose } else { ActionEvent::Sent };
        LawActions.made(&store, LawActions.performs(action, version, event, epoch)).await;
    }
    for id in ["about", "decided"] {
        let mut escalation = LawActions.escalation(id);
        escalation.action = (id == "about").then_some(open.key);
        assert!(store.escalate(escalation).await.is_ok());
        assert!(store.decide(LawActions.decision(id, "write")).await.is_ok());
    }
    let before = store.action(&open.project, &open.key).await.ok();
    LawSamples.whole(&store, 1, Quality::High).await;
    let runs = Purge { project: None, before: None, runs: Vec::new(), actor: LawSamples.actor(), at: LawActions::NOW };
    assert!(store.purge(runs).await.is_ok_and(|purged| purged.runs == 1));
    assert_eq!(before, store.action(&open.project, &open.key).await.ok(), "a purge of runs");
    assert!(ended_form(&store, &ended).await.is_some(), "a purge of runs takes no action");
    let purge = ActionPurge {
        project: Some(open.project.clone()),
        before: Time(LawActions::NOW.0 + 1),
        actor: LawSamples.actor(),
        at: Time(LawActions::NOW.0 + 1),
    };
    let purged = store.purge_actions(purge.clone()).await;
    let Ok(purged) = purged else { panic!("{purged:?}") };
    assert_eq!(purged.actions.into_iter().collect::<Vec<_>>(), [(ActionState::Executed, 1)]);
    assert_eq!(purged.escalations, 1, "what is about an open action stays");
    assert_eq!(before, store.action(&open.project, &open.key).await.ok(), "a purge of actions");
    assert_eq!(ended_form(&store, &ended).await, None);
    assert!(store.purge_actions(purge).await.is_ok_and(|purged| purged.is_nothing()), "it is done once");
    tombstones_hold(&store, &ended).await;
    let left = "SELECT count(*) FROM contents WHERE CAST(bytes AS TEXT) LIKE '%";
    for text in [&ended.form, &LawActions.bytes(&ended)] {
        assert_eq!(query_number(backend, &format!("{left}{text}%'")).await, 0, "{text}");
    }
    store.close().await;
}

async fn ended_form(store: &Store, action: &NewAction) -> Option<String> {
    let wanted = ActionsWanted { states: vec![ActionState::Executed], ..ActionsWanted::default() };
    let rows = store.actions(&wanted).await.unwrap_or_default();
    rows.into_iter().find(|row| row.key == action.key)?.form
}

/// An event that happened once does not happen again when its texts are gone.
async fn tombstones_hold(store: &Store, ended: &NewAction) {
    let again = store.propose(ended.clone()).await;
    assert!(matches!(again, Ok(ProposalAnswer::Known { state: ActionState::Executed, .. })), "{again:?}");
    let wider = LawActions.caused(&[LawActions.signal(2, 1), LawActions.signal(3, 1)]);
    let wider = store.propose(wider).await;
    assert!(matches!(wider, Ok(ProposalAnswer::Duplicate { of }) if of == ended.key), "{wider:?}");
    assert_eq!(LawActions.evidence(store, ended).await.precedents, 1, "it stays a precedent");
}

/// A clock that goes back releases no hold and takes no time of the ledger back.
///
/// # Panics
///
/// If it does.
pub async fn the_time_of_effects_never_goes_back(backend: &impl Backend) {
    let store = backend.open().await;
    let action = LawActions.action(1);
    let epoch = LawActions.performer(&store).await;
    LawActions.proposed(&store, &action).await;
    let hold = ActionEvent::Hold { due: LawActions::NOW };
    let version = LawActions.made(&store, LawActions.happens(&action, 0, hold)).await;
    let later = LawActions.action(2);
    let mut proposal = later.clone();
    proposal.at = Time(LawActions::NOW.0 + 120_000);
    LawActions.proposed(&store, &proposal).await;
    // The clock is two minutes behind what was seen, then a second.
    let mut take_up = LawActions.performs(&action, version, LawActions.take_up(&action), epoch);
    let refused = LawActions.tried(&store, take_up.clone()).await.err();
    assert_eq!(refused.map(|refused| refused.rule), Some(RefusalRule::Requirement(Requirement::SteadyClock)));
    take_up.at = Time(proposal.at.0 - 1_000);
    LawActions.made(&store, take_up).await;
    let cancel = LawActions.happens(&later, 0, ActionEvent::Cancel);
    LawActions.made(&store, cancel).await;
    let status = store.effects(&action.project).await;
    assert!(status.is_ok_and(|status| status.last_seen == proposal.at));
    let back = "SELECT count(*) FROM transitions a JOIN transitions b ON a.seq < b.seq AND a.at > b.at";
    assert_eq!(query_number(backend, back).await, 0);
    store.close().await;
}

/// A hold that a slower clock counted begins and ends when it is written, and whoever let it run out said yes to nothing:
/// what goes by itself is no precedent, and what a person approved stays one without its texts.
///
/// # Panics
///
/// If not.
pub async fn a_hold_that_ran_out_is_no_precedent(backend: &impl Backend) {
    let store = backend.open().await;
    let epoch = LawActions.performer(&store).await;
    let held = LawActions.action(1);
    LawActions.proposed(&store, &held).await;
    let hold = ActionEvent::Hold { due: Time(LawActions::NOW.0 - 5) };
    let version = LawActions.made(&store, LawActions.happens(&held, 0, hold)).await;
    let due = store.action(&held.project, &held.key).await.ok().and_then(|detail| detail.row.due);
    assert_eq!(due, Some(LawActions::NOW), "no hold is over before it begins");
    let take_up = LawActions.performs(&held, version, LawActions.take_up(&held), epoch);
    let version = LawActions.made(&store, take_up).await;
    LawActions.made(&store, LawActions.performs(&held, version, ActionEvent::Sent, epoch)).await;
    assert_eq!(LawActions.evidence(&store, &held).await.precedents, 0);
    let approved = LawActions.action(2);
    let version = LawActions.approved(&store, &approved).await;
    let take_up = LawActions.performs(&approved, version, LawActions.take_up(&approved), epoch);
    let version = LawActions.made(&store, take_up).await;
    LawActions.made(&store, LawActions.performs(&approved, version, ActionEvent::Sent, epoch)).await;
    assert_eq!(LawActions.evidence(&store, &held).await.precedents, 1);
    let at = Time(LawActions::NOW.0 + 1);
    let purge = ActionPurge { project: None, before: at, actor: LawSamples.actor(), at };
    assert!(store.purge_actions(purge).await.is_ok_and(|purged| !purged.is_nothing()));
    assert_eq!(LawActions.evidence(&store, &held).await.precedents, 1, "a purge changes no precedent");
    store.close().await;
}

/// A day gives one approval's credit at most, several at once give none, a no takes all, and a correction too.
///
/// # Panics
///
/// If not.
pub async fn credit_is_for_separate_days(backend: &impl Backend) {
    let store = backend.open().await;
    let mut signal = 0;
    let mut expected = async |day: i64, breadth: ApprovalBreadth, credit: u64| {
        signal += 1;
        let action = LawActions.action(signal);
        LawActions.proposed(&store, &action).await;
        let version = LawActions.made(&store, LawActions.happens(&action, 0, ActionEvent::RequireApproval)).await;
        let mut approval = LawActions.approval(&action);
        approval.expires = Time(i64::MAX);
        let event = ActionEvent::Release(approval);
        let released = LawActions.tried(&store, LawActions.happens(&action, version, event)).await;
        assert!(released.is_err(), "what waits has no hold to be released from");
        let mut approve = LawActions.happens(&action, version, ActionEvent::Approve(approval));
        approve.at = Time(LawActions::NOW.0 + day * DAY);
        approve.load = TransitionLoad::Approval(breadth);
        LawActions.made(&store, approve).await;
        assert_eq!(LawActions.evidence(&store, &action).await.credit.approvals, credit, "day {day}");
        (action, version + 1)
    };
    for (day, breadth, credit) in [
        (0, ApprovalBreadth::Bulk, 0),
        (0, ApprovalBreadth::Single, 1),
        (0, ApprovalBreadth::Single, 1),
        (1, ApprovalBreadth::Single, 2),
        (2, ApprovalBreadth::Bulk, 2),
    ] {
        expected(day, breadth, credit).await;
    }
    let (action, version) = expected(2, ApprovalBreadth::Single, 3).await;
    LawActions.made(&store, LawActions.happens(&action, version, ActionEvent::Cancel)).await;
    // The day of the no is used up.
    expected(2, ApprovalBreadth::Single, 0).await;
    let (action, version) = expected(3, ApprovalBreadth::Single, 1).await;
    let epoch = LawActions.performer(&store).await;
    let take_up = LawActions.performs(&action, version, LawActions.take_up(&action), epoch);
    let version = LawActions.made(&store, take_up).await;
    let correction = ActionCorrection {
        key: action.key,
        project: action.project.clone(),
        actor: LawSamples.actor(),
        at: LawActions::NOW,
        why: "to the wrong one".to_owned(),
    };
    assert!(matches!(store.correct_action(correction.clone()).await, Err(Error::Conflict(_))), "it has not happened");
    LawActions.made(&store, LawActions.performs(&action, version, ActionEvent::Sent, epoch)).await;
    assert_eq!(LawActions.evidence(&store, &action).await.precedents, 1);
    let wanted = |most| EvidenceWanted {
        project: action.project.clone(),
        scope: action.scope.clone(),
        signals: Vec::new(),
        most,
    };
    let none = store.evidence(wanted(0)).await.map(|found| found.precedents);
    assert_eq!(none.ok(), Some(0), "no more are counted than are wanted");
    let beside = store.action_with_evidence(action.key, wanted(5)).await;
    assert!(
        matches!(&beside, Ok((detail, found)) if detail.row.state == ActionState::Executed && found.precedents == 1),
        "{beside:?}"
    );
    assert!(store.correct_action(correction).await.is_ok());
    let corrected = LawActions.evidence(&store, &action).await;
    assert_eq!((corrected.precedents, corrected.credit.approvals), (0, 0));
    store.close().await;
}

/// Every line about effects says in which project it was written and by whom, and what happened is only added to.
///
/// # Panics
///
/// If not.
pub async fn every_line_of_effects_has_project_and_actor(backend: &impl Backend) {
    let store = backend.open().await;
    let action = LawActions.action(1);
    LawActions.approved(&store, &action).await;
    LawActions.performer(&store).await;
    assert!(store.escalate(LawActions.escalation("e")).await.is_ok());
    assert!(store.decide(LawActions.decision("e", "wait")).await.is_ok());
    let item = LawActions.quarantine(1);
    let (id, project) = (item.id.clone(), item.project.clone());
    assert!(store.quarantine(item).await.is_ok());
    let review = QuarantineReview {
        id,
        project,
        actor: LawSamples.actor(),
        at: LawActions::NOW,
        state: QuarantineState::Released,
    };
    assert!(store.review_quarantine(review).await.is_ok());
    for table in [
        "actions",
        "action_claims",
        "action_texts",
        "transitions",
        "action_approvals",
        "escalations",
        "escalation_options",
        "decisions",
        "credits",
        "quarantined",
        "performers",
        "effects_state",
    ] {
        let all = query_number(backend, &format!("SELECT count(*) FROM {table}")).await;
        let named = "project = '/home/ada/engine' AND actor IN ('person:ada@terminal', 'system:proem@sweep')";
        let with = query_number(backend, &format!("SELECT count(*) FROM {table} WHERE {named}")).await;
        assert!(all > 0, "{table} is empty");
        assert_eq!(with, all, "{table}");
    }
    for sql in ["UPDATE transitions SET event = 'sent'", "DELETE FROM transitions"] {
        assert!(backend.execute(sql).await.is_err(), "`{sql}` was done");
    }
    store.close().await;
}
