//! Laws of the table, written without it.

use std::collections::BTreeSet;

use proem_engine::effect::{
    ActionEventKind, ActionState, ApprovalChange, Authority, TRANSITIONS, TransitionRequirement, TransitionRule,
    transition,
};

/// The states in which bytes may be on their way.
const EXECUTION: [ActionState; 2] = [ActionState::Executing, ActionState::Resending];

/// The states that can be reached from those by the lines that are asked for.
fn reached(from: &[ActionState], along: impl Fn(&TransitionRule) -> bool) -> BTreeSet<ActionState> {
    let mut reached: BTreeSet<ActionState> = from.iter().copied().collect();
    loop {
        let next: Vec<ActionState> =
            TRANSITIONS.iter().filter(|rule| reached.contains(&rule.from) && along(rule)).map(|rule| rule.to).collect();
        let before = reached.len();
        reached.extend(next);
        if reached.len() == before {
            return reached;
        }
    }
}

fn successors(state: ActionState, along: impl Fn(&TransitionRule) -> bool) -> Vec<ActionState> {
    TRANSITIONS.iter().filter(|rule| rule.from == state && along(rule)).map(|rule| rule.to).collect()
}

#[test]
fn each_state_and_event_has_one_line_at_most() {
    let lines: BTreeSet<_> = TRANSITIONS.iter().map(|rule| (rule.from, rule.on)).collect();
    assert_eq!(lines.len(), TRANSITIONS.len());
    assert!(TRANSITIONS.is_sorted_by_key(|rule| ActionState::ALL.iter().position(|state| *state == rule.from)));
}

#[test]
fn every_state_is_reached_and_every_event_and_requirement_is_used() {
    assert_eq!(reached(&[ActionState::Proposed], |_| true), ActionState::ALL.into_iter().collect());
    let events: BTreeSet<_> = TRANSITIONS.iter().map(|rule| rule.on).collect();
    assert_eq!(events, ActionEventKind::ALL.into_iter().collect());
    let requirements: BTreeSet<_> = TRANSITIONS.iter().flat_map(|rule| rule.requires).copied().collect();
    assert_eq!(requirements, TransitionRequirement::ALL.into_iter().collect());
}

#[test]
fn what_has_ended_stays_ended() {
    let ends: Vec<&str> =
        ActionState::ALL.into_iter().filter(|state| state.is_end()).map(ActionState::as_str).collect();
    assert_eq!(ends, ["executed", "failed", "cancelled", "expired", "refused"]);
    for state in ActionState::ALL {
        assert_eq!(state.is_end(), successors(state, |_| true).is_empty(), "{state:?}");
    }
}

#[test]
fn every_state_can_end() {
    for state in ActionState::ALL {
        assert!(reached(&[state], |_| true).iter().any(|state| state.is_end()), "{state:?}");
    }
}

#[test]
fn what_waits_for_nobody_in_particular_ends_by_itself() {
    // Only an action that may have happened waits for a person for ever.
    for state in ActionState::ALL.into_iter().filter(|state| *state != ActionState::Unknown) {
        let alone = reached(&[state], |rule| rule.on.authority() == Authority::System);
        let unseen = alone.contains(&ActionState::Unknown);
        assert!(unseen || alone.iter().any(|state| state.is_end()), "{state:?}");
    }
}

#[test]
fn an_agent_causes_nothing() {
    for kind in ActionEventKind::ALL {
        assert!(matches!(kind.authority(), Authority::Operator | Authority::System), "{kind:?}");
    }
}

#[test]
fn only_a_person_widens() {
    // For an action that nobody approved, code alone can only let it go as held, ask, or end it.
    let people = ["approve", "release", "edit", "cancel", "resolve-sent", "resolve-not-sent", "resend", "doubt"];
    for kind in ActionEventKind::ALL {
        assert_eq!(kind.authority() == Authority::Operator, people.contains(&kind.as_str()), "{kind:?}");
    }
    for rule in TRANSITIONS.iter().filter(|rule| rule.approval == ApprovalChange::Given) {
        assert_eq!(rule.on.authority(), Authority::Operator, "{rule:?}");
    }
    // Code never takes an action out of the hands of a person who has to decide.
    let alone = |rule: &TransitionRule| rule.on.authority() == Authority::System;
    assert_eq!(successors(ActionState::Waiting, alone), [ActionState::Refused, ActionState::Expired]);
}

#[test]
fn execution_is_entered_from_a_hold_or_an_approval_alone() {
    let entries: Vec<_> = TRANSITIONS.iter().filter(|rule| EXECUTION.contains(&rule.to)).collect();
    let from: Vec<_> = entries.iter().map(|rule| (rule.from.as_str(), rule.to.as_str())).collect();
    assert_eq!(from, [("held", "executing"), ("approved", "executing"), ("resend", "resending")]);
    for rule in entries {
        assert_eq!(rule.on, ActionEventKind::TakeUp);
        assert!(rule.requires.contains(&TransitionRequirement::Gate), "{rule:?}");
        // An action that is not held goes by an approval that is checked in full and used up.
        let approved = [
            TransitionRequirement::ApprovalContent,
            TransitionRequirement::ApprovalPolicy,
            TransitionRequirement::ApprovalTime,
        ];
        let held = [
            TransitionRequirement::SteadyClock,
            TransitionRequirement::HoldOver,
            TransitionRequirement::ReleaseWindow,
            TransitionRequirement::HoldConditions,
        ];
        let (wanted, spent) = if rule.from == ActionState::Held {
            (&held[..], ApprovalChange::Absent)
        } else {
            (&approved[..], ApprovalChange::Spent)
        };
        assert!(wanted.iter().all(|requirement| rule.requires.contains(requirement)), "{rule:?}");
        assert_eq!(rule.approval, spent);
    }
}

#[test]
fn one_approval_opens_one_way_into_execution() {
    // Without another word of a person, nothing that was executed once is executed again.
    for state in EXECUTION {
        let alone = reached(&successors(state, |_| true), |rule| rule.on.authority() != Authority::Operator);
        assert!(EXECUTION.iter().all(|state| !alone.contains(state)), "{state:?} → {alone:?}");
        assert!(!alone.contains(&ActionState::Held) && !alone.contains(&ActionState::Approved), "{alone:?}");
    }
    // An approval is there in two states, and every line out of them ends it.
    for rule in TRANSITIONS {
        let has = |state| matches!(state, ActionState::Approved | ActionState::Resend);
        let wanted = match (has(rule.from), has(rule.to)) {
            (false, false) => &[ApprovalChange::Absent][..],
            (false, true) => &[ApprovalChange::Given],
            (true, _) => &[ApprovalChange::Void, ApprovalChange::Spent],
        };
        assert!(wanted.contains(&rule.approval) && !(has(rule.from) && has(rule.to)), "{rule:?}");
    }
}

#[test]
fn only_a_person_says_what_an_unknown_one_was() {
    let mut out: Vec<_> =
        TRANSITIONS.iter().filter(|rule| rule.from == ActionState::Unknown).map(|rule| (rule.on, rule.to)).collect();
    out.sort_unstable();
    assert_eq!(
        out,
        [
            (ActionEventKind::ResolveSent, ActionState::Executed),
            (ActionEventKind::ResolveNotSent, ActionState::Failed),
            (ActionEventKind::Resend, ActionState::Resend),
        ]
    );
    assert!(out.iter().all(|(on, _)| on.authority() == Authority::Operator));
}

#[test]
fn a_doubt_is_never_forgotten() {
    // Once an action may have happened, it is unknown, goes once more, or is said to have happened or not.
    let doubtful = reached(&[ActionState::Unknown], |_| true);
    let names: Vec<&str> = doubtful.into_iter().map(ActionState::as_str).collect();
    assert_eq!(names, ["executed", "failed", "unknown", "resend", "resending"]);
    // That the second try went wrong says nothing of the first.
    for rule in TRANSITIONS.iter().filter(|rule| rule.from == ActionState::Resending) {
        let to = if rule.on == ActionEventKind::Sent { ActionState::Executed } else { ActionState::Unknown };
        assert_eq!(rule.to, to, "{rule:?}");
    }
    for state in EXECUTION {
        for on in [ActionEventKind::Die, ActionEventKind::Lose] {
            assert_eq!(transition(state, on).map(|rule| rule.to), Some(ActionState::Unknown));
        }
    }
}

#[test]
fn an_edit_is_approved_anew_and_never_touches_what_went_out() {
    let edits: Vec<_> = TRANSITIONS.iter().filter(|rule| rule.on == ActionEventKind::Edit).collect();
    let from: Vec<&str> = edits.iter().map(|rule| rule.from.as_str()).collect();
    assert_eq!(from, ["held", "waiting", "approved"]);
    assert!(edits.iter().all(|rule| rule.to == ActionState::Waiting));
}

#[test]
fn the_names_are_those_that_stand_in_stores() {
    let states: Vec<&str> = ActionState::ALL.into_iter().map(ActionState::as_str).collect();
    let events: Vec<&str> = ActionEventKind::ALL.into_iter().map(ActionEventKind::as_str).collect();
    assert_eq!(
        states.join(" "),
        "proposed held waiting approved executing executed failed unknown resend resending cancelled expired refused"
    );
    assert_eq!(
        events.join(" "),
        "hold require-approval refuse approve release edit cancel expire lapse-approval take-up sent fail not-sent lose \
         die resolve-sent resolve-not-sent resend doubt"
    );
    assert_eq!(proem_engine::effect::NAMES, 2, "other names are another form, which the store has to tell apart");
    assert!(ActionState::ALL.into_iter().all(|state| ActionState::parse(state.as_str()) == Some(state)));
    assert!(ActionEventKind::ALL.into_iter().all(|kind| ActionEventKind::parse(kind.as_str()) == Some(kind)));
    assert_eq!((ActionState::parse("Held"), ActionEventKind::parse("")), (None, None));
}
