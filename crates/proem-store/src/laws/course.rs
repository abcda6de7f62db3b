//! The laws that hold for actions in any order of events, with several processes.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use proem_engine::effect::{ActionEvent, ActionEventKind, ActionState, PerformerEpoch, TRANSITIONS};
use proem_engine::run::Time;

use super::actions::LawActions;
use super::samples::{Backend, query_number};
use crate::record::NewAction;
use crate::{ProposalAnswer, Store};

/// One thing that somebody does.
#[derive(Debug, Clone, Copy)]
pub enum ActionMove {
    /// Somebody proposes an action.
    Propose(u8),
    /// The event of that place among [`proem_engine::effect::ActionEventKind::ALL`] is to happen to an action, decided
    /// on a version that many changes ago.
    Happen(u8, usize, u64),
    /// One of the events that lead an action on from where it is, and not to its end.
    Onward(u8, usize),
    /// Another performer takes over.
    TakeOver,
    /// The clock goes on by so many milliseconds, or back.
    Clock(i64),
    /// A process dies, and another opens the store.
    Kill(usize),
}

/// The state of one random course.
struct Course {
    stores: Vec<Store>,
    epochs: Vec<PerformerEpoch>,
    now: i64,
}

/// In any course, a person acts between two entries into execution, versions and states follow each other without a
/// gap, there is at most one valid approval, and time does not go back.
///
/// # Panics
///
/// If not.
pub async fn actions_keep_their_course(backend: &impl Backend, moves: &[ActionMove]) {
    let mut course = Course { stores: vec![backend.open().await, backend.open().await], epochs: Vec::new(), now: 0 };
    for (turn, step) in moves.iter().enumerate() {
        course.take(backend, turn, *step).await;
        assert_eq!(broken_courses(backend).await, [""; 0], "after {step:?}");
    }
    for store in course.stores {
        store.close().await;
    }
}

/// The broken rules among those that no action may break, in words.
pub async fn broken_courses(backend: &impl Backend) -> Vec<&'static str> {
    let mut broken = Vec::new();
    for (what, none) in BROKEN {
        if query_number(backend, none).await != 0 {
            broken.push(what);
        }
    }
    broken
}

/// The states that must not occur, with the query that counts each.
const BROKEN: [(&str, &str); 5] = [
    (
        "two take-ups without a person between",
        "SELECT count(*) FROM transitions a JOIN transitions b ON a.action = b.action AND a.version < b.version \
         WHERE a.event = 'take-up' AND b.event = 'take-up' AND NOT EXISTS (SELECT 1 FROM transitions p \
         WHERE p.action = a.action AND p.version > a.version AND p.version < b.version AND p.actor LIKE 'person:%')",
    ),
    (
        "a version without the one before",
        "SELECT count(*) FROM transitions t WHERE t.version > 1 AND NOT EXISTS (SELECT 1 FROM transitions p \
         WHERE p.action = t.action AND p.version = t.version - 1 AND p.state_after = t.state_before)",
    ),
    (
        "an action that is not where its last line left it",
        "SELECT count(*) FROM actions a WHERE a.version > 0 AND NOT EXISTS (SELECT 1 FROM transitions t \
         WHERE t.action = a.key AND t.version = a.version AND t.state_after = a.state)",
    ),
    (
        "an approval that stands and is not the action's",
        "SELECT count(*) FROM action_approvals p JOIN actions a ON a.key = p.action WHERE p.used IS NULL \
         AND p.void IS NULL AND (a.state NOT IN ('approved', 'resend') OR a.content <> p.content)",
    ),
    ("a time that went back", "SELECT count(*) FROM transitions a JOIN transitions b ON a.seq < b.seq AND a.at > b.at"),
];

impl Course {
    async fn take(&mut self, backend: &impl Backend, turn: usize, step: ActionMove) {
        match step {
            ActionMove::Clock(by) => self.now = self.now.saturating_add(by),
            ActionMove::TakeOver => {
                let Some(store) = self.stores.first() else { return };
                self.epochs.push(LawActions.performer(store).await);
            }
            ActionMove::Kill(which) => {
                let which = which % self.stores.len();
                self.stores.remove(which).abandon().await;
                self.stores.push(backend.open().await);
            }
            ActionMove::Propose(which) => {
                let action = LawActions.action(u64::from(which));
                let Some(store) = self.stores.get(turn % self.stores.len()) else { return };
                let answer = store.propose(action).await;
                assert!(matches!(answer, Ok(ProposalAnswer::New | ProposalAnswer::Known { .. })), "{answer:?}");
            }
            ActionMove::Happen(which, event, ago) => self.happen(turn, which, ago, |_| event).await,
            ActionMove::Onward(which, draw) => self.happen(turn, which, 0, |state| onward(state, draw)).await,
        }
    }

    /// Lets the event of that place happen to an action, by where it is.
    async fn happen(&self, turn: usize, which: u8, ago: u64, place: impl FnOnce(ActionState) -> usize) {
        let mut action = LawActions.action(u64::from(which));
        let Some(store) = self.stores.get(turn % self.stores.len()) else { return };
        if store.action(&action.project, &action.key).await.is_err() {
            LawActions.proposed(store, &action).await;
        }
        let Ok(found) = store.action(&action.project, &action.key).await else { return };
        // An approval covers the content of that moment.
        action.content = found.row.content;
        let version = found.row.version.0.saturating_sub(ago);
        let event = event_of(&action, place(found.row.state), self.clock());
        let mut transition = LawActions.happens(&action, version, event);
        transition.at = self.clock();
        // Of two epochs the stale one tries as well.
        transition.request.epoch = self.epochs.iter().rev().nth(turn % 7 / 6).copied();
        _ = LawActions.tried(store, transition).await;
    }

    fn clock(&self) -> Time {
        Time(LawActions::NOW.0.saturating_add(self.now))
    }
}

/// The place of an event that leads on from a state; that of the first one from an end.
fn onward(state: ActionState, draw: usize) -> usize {
    let events: Vec<ActionEventKind> =
        TRANSITIONS.iter().filter(|rule| rule.from == state && !rule.to.is_end()).map(|rule| rule.on).collect();
    let event = events.get(draw % events.len().max(1));
    event.and_then(|event| ActionEventKind::ALL.iter().position(|kind| kind == event)).unwrap_or(0)
}

/// The event of that place, as it might come.
fn event_of(action: &NewAction, place: usize, now: Time) -> ActionEvent {
    let mut approval = LawActions.approval(action);
    approval.expires = Time(now.0.saturating_add(60_000));
    let events = [
        ActionEvent::Hold { due: now },
        ActionEvent::RequireApproval,
        ActionEvent::Refuse,
        ActionEvent::Approve(approval),
        ActionEvent::Release(approval),
        LawActions.edit(),
        ActionEvent::Cancel,
        ActionEvent::Expire,
        ActionEvent::LapseApproval,
        LawActions.take_up(action),
        ActionEvent::Sent,
        ActionEvent::Fail,
        ActionEvent::NotSent,
        ActionEvent::Lose,
        ActionEvent::Die,
        ActionEvent::ResolveSent,
        ActionEvent::ResolveNotSent,
        ActionEvent::Resend(approval),
        ActionEvent::Doubt,
    ];
    let place = place % events.len();
    match events.into_iter().nth(place) {
        Some(event) => event,
        None => panic!("{place} is no event's place"),
    }
}
