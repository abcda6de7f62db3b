//! Several processes that want something of the same action at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value as Json;

use super::scene::{Office, variable_number};
use crate::terminal::screen::Left;

/// A person cancels while another process performs: one of the two wins, and the record says what was done.
#[test]
fn a_cancellation_races_a_sweep() {
    let Some(office) = Office::open() else { return };
    let mut won = BTreeMap::new();
    for round in 0..variable_number("PROEM_RACES", 4) {
        let id = office.approve_notes(1).remove(0);
        // The person has seen the action and the question. The answer and the sweep start together, the one or the
        // other a little earlier.
        let cancelling = office.asked(&["queue", "cancel", &id]).unwrap();
        let sweep = office.sweeping(&[]);
        std::thread::sleep(Duration::from_millis(round % 4 * 30));
        cancelling.press("y\n");
        let left = cancelling.end();
        let swept = sweep.wait_with_output().unwrap();
        let state = one_has_won(&office, &id, &left);
        assert_eq!(swept.status.code(), Some(0), "who performs loses nothing by it");
        *won.entry(state).or_insert(0) += 1;
    }
    eprintln!("won: {won:?}");
}

/// The same with each order made sure of: right before the take-up the person wins, and right behind it the sweep.
#[test]
fn a_cancellation_comes_before_or_behind_the_take_up() {
    let Some(office) = Office::open() else { return };
    for (place, expected) in [("before-take-up", "cancelled"), ("after-take-up", "executed")] {
        let id = office.approve_notes(1).remove(0);
        let cancelling = office.asked(&["queue", "cancel", &id]).unwrap();
        let sweep = office.waiting_at(place);
        cancelling.press("y\n");
        let left = cancelling.end();
        sweep.let_go();
        assert_eq!(sweep.end().status.code(), Some(0), "{place}");
        assert_eq!(one_has_won(&office, &id, &left), expected, "{place}");
    }
}

/// The state of an action for which a person and a sweep wanted different things. The person's message, the record and
/// the outbox agree.
#[track_caller]
fn one_has_won(office: &Office, id: &str, left: &Left) -> String {
    let arrived = office.in_outbox();
    let state = office.agree(&arrived)[id].clone();
    let events = office.events(id);
    let happened = |event: &str| events.iter().any(|one| one == event);
    let (code, effect) = match state.as_str() {
        "cancelled" => (0, false),
        "executed" => (1, true),
        other => panic!("{other}: {events:?}, {}", left.shown),
    };
    assert_eq!(left.code, Some(code), "{}", left.shown);
    assert_eq!((happened("take-up"), happened("cancel"), arrived.contains_key(id)), (effect, !effect, effect));
    state
}

/// One person cancels what another one releases, at the same time: one of them is told that it has changed, and it
/// leaves only if the other one won.
#[test]
fn a_cancellation_races_a_release() {
    let Some(office) = Office::open() else { return };
    let mut won = BTreeMap::new();
    for round in 0..variable_number("PROEM_RACES", 4) {
        let proposed = office.propose_action(&office.reminder());
        let id = proposed["id"].as_str().unwrap().to_owned();
        let [cancelling, releasing] = ["cancel", "release"].map(|way| office.asked(&["queue", way, &id]).unwrap());
        let both = if round % 2 == 0 { [&cancelling, &releasing] } else { [&releasing, &cancelling] };
        both.into_iter().for_each(|terminal| terminal.press("y\n"));
        let codes = (cancelling.end().code.unwrap(), releasing.end().code.unwrap());
        let state = office.states()[&id].clone();
        let expected = if state == "approved" { (1, 0) } else { (0, 1) };
        assert_eq!(codes, expected, "{state}");
        assert_eq!(office.events(&id).len(), 2, "who lost left no trace");
        assert_eq!(office.sweep().code(), 0);
        let arrived = office.in_outbox();
        let end = office.agree(&arrived)[&id].clone();
        assert_eq!(end, if state == "approved" { "executed" } else { "cancelled" });
        assert_eq!(arrived.contains_key(&id), end == "executed");
        *won.entry(state).or_insert(0) += 1;
    }
    eprintln!("won: {won:?}");
}

/// Two people say different things of one action: one is heard, and the other one is told.
#[test]
fn two_people_decide_at_once() {
    let Some(office) = Office::open() else { return };
    for first in ["approve", "cancel"] {
        let id = office.propose_note();
        let ways = if first == "approve" { ["approve", "cancel"] } else { ["cancel", "approve"] };
        let [one, other] = ways.map(|way| office.asked(&["queue", way, &id]).unwrap());
        one.press("y\n");
        assert_eq!(one.end().code, Some(0));
        other.press("y\n");
        let left = other.end();
        assert_eq!(left.code, Some(1), "{}", left.shown);
        let said = left.shown.rsplit("[y/N] y").next().unwrap().replace(['\r', '\n'], " ");
        assert!(said.contains("error: "), "{said}");
        let expected = if first == "approve" { "approved" } else { "cancelled" };
        assert_eq!(office.states()[&id], expected);
        assert_eq!(office.events(&id).len(), 2, "the second decision left no trace");
    }
}

/// Eight sweeps at once: one works, the others are told so, and each mail is there once.
#[test]
fn eight_sweeps_start_at_once() {
    let Some(office) = Office::open() else { return };
    let ids = office.approve_notes(5);
    let sweeps: Vec<Child> = (0..8).map(|_| office.sweeping(&[])).collect();
    let mut codes: Vec<Option<i32>> = sweeps.into_iter().map(|mut sweep| sweep.wait().unwrap().code()).collect();
    codes.sort_unstable();
    assert_eq!(codes[0], Some(0));
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 1))), "{codes:?}");
    let states = office.agree(&office.in_outbox());
    assert!(ids.iter().all(|id| states[id] == "executed"), "{states:?}");
}

/// The same action is proposed by eight processes at once: there is one action, one of them wrote it, and one mail.
#[test]
fn eight_processes_propose_the_same_action() {
    let Some(office) = Office::open() else { return };
    office.fixture.write("action.json", office.note().to_string());
    let propose = || {
        let mut command = office.command(&["effects", "propose", "action.json", "--json"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<Child> = (0..8).map(|_| propose()).collect();
    let said: Vec<Json> = processes
        .into_iter()
        .map(|process| {
            let output = process.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0));
            serde_json::from_slice(&output.stdout).unwrap()
        })
        .collect();
    let with = |fate: &str| said.iter().filter(|one| one["fate"] == fate).count();
    assert_eq!((with("new"), with("known")), (1, 7), "{said:?}");
    let ids: BTreeSet<&str> = said.iter().map(|one| one["id"].as_str().unwrap()).collect();
    let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
    assert_eq!(ids.len(), 1, "{said:?}");
    assert_eq!(office.states().into_iter().collect::<Vec<_>>(), [(ids[0].clone(), "waiting".to_owned())]);
    office.approve(&ids);
    assert_eq!(office.sweep().code(), 0);
    let arrived = office.in_outbox();
    assert_eq!((arrived.len(), office.agree(&arrived)[&ids[0]].as_str()), (1, "executed"));
    // It stays one when it is proposed once more.
    assert_eq!(propose().wait_with_output().unwrap().status.code(), Some(0));
    office.perform_due();
    assert_eq!(office.in_outbox(), arrived);
}
