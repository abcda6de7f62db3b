//! A person decides an escalation, and the process ends around the decision: what follows from it is written with it.

use serde_json::Value as Json;

use super::scene::{Office, POLICY};

/// An office whose level is too low for a reminder, and the escalation about the one that was proposed.
fn asked() -> Option<(Office, String)> {
    let office = Office::open()?;
    let narrow = POLICY
        .replace("level = \"tactical\"", "level = \"monitoring\"")
        .replace("[actions.reminder]\nlevel = \"monitoring\"", "[actions.reminder]\nlevel = \"tactical\"");
    office.fixture.configure("policy.toml", &narrow);
    let proposed = office.propose_action(&office.reminder());
    assert_eq!((&proposed["state"], &proposed["decision"]["ruling"]), (&"waiting".into(), &"escalation".into()));
    Some((office, proposed["escalation"].as_str().unwrap().to_owned()))
}

/// The decider, and the reason.
fn decision(office: &Office, id: &str) -> Json {
    let all = office.fixture.questions();
    let row = all.into_iter().find(|row| row.id.0 == id).unwrap();
    row.decision.map_or(Json::Null, |made| made.option.into())
}

/// Decides in a process that is killed at a place.
fn killed_at(office: &mut Office, place: &str, id: &str, option: &str) {
    office.fixture.set("PROEM_FAILPOINT", place);
    let left = office.decide(&["escalations", "decide", id, option, "--because", "the sponsor agreed"], "y\n").unwrap();
    office.fixture.set("PROEM_FAILPOINT", "");
    assert_ne!(left.code, Some(0), "{place} was not passed: {}", left.shown);
}

#[test]
fn a_decision_and_what_follows_from_it_are_one_record() {
    for (place, option, state, decided, swept) in [
        ("before-decision", "A", "waiting", Json::Null, "waiting"),
        ("after-decision", "A", "approved", "A".into(), "executed"),
        ("after-decision", "B", "cancelled", "B".into(), "cancelled"),
    ] {
        let Some((mut office, id)) = asked() else { return };
        killed_at(&mut office, place, &id, option);
        let states = || office.states().values().cloned().collect::<Vec<_>>();
        assert_eq!((states(), decision(&office, &id)), (vec![state.to_owned()], decided.clone()), "{place} {option}");
        for _ in 0..2 {
            office.perform_due();
            assert_eq!(states(), [swept], "{place} {option}");
            office.agree(&office.in_outbox());
        }
        if decided == Json::Null {
            // Nobody has decided, so somebody still can.
            let left = office.decide(&["escalations", "decide", &id, "A"], "y\n").unwrap();
            assert_eq!((left.code, states()), (Some(0), vec!["approved".to_owned()]), "{}", left.shown);
        } else {
            let left = office.fixture.proem(&["escalations", "decide", &id, "A"]);
            assert!(left.code() == 1 && left.stderr().contains("was decided"), "{}", left.transcript());
        }
    }
}

/// A consequence that is no longer possible leaves the question open.
#[test]
fn an_option_that_can_not_happen_any_more_decides_nothing() {
    let Some((office, id)) = asked() else { return };
    let action = office.states().into_keys().next().unwrap();
    assert_eq!(office.decide(&["queue", "cancel", &action], "y\n").unwrap().code, Some(0));
    let left = office.decide(&["escalations", "decide", &id, "A"], "y\n").unwrap();
    assert!(left.code == Some(1) && left.shown.contains("nothing was decided: "), "{}", left.shown);
    assert_eq!(decision(&office, &id), Json::Null);
    let left = office.decide(&["escalations", "decide", &id, "B"], "y\n").unwrap();
    assert_eq!((left.code, decision(&office, &id)), (Some(0), "B".into()), "{}", left.shown);
}
