//! A performer that is stopped where it is, another one that takes over, and the first one going on.
//!
//! The lock dies with its process and with nothing else: a stopped one keeps it. A process that takes over all the same
//! has to get past the lock, here by removing its file, as a person would who thinks it is left over. Then the epoch
//! decides.

use rustix::process::Signal;
use serde_json::json;

use super::scene::Office;

/// A stopped performer keeps the others out, for they can't know whether it will go on.
#[test]
fn a_stopped_performer_keeps_its_lock_until_it_ends() {
    let Some(office) = Office::open() else { return };
    let id = office.approve_notes(1).remove(0);
    let stopped = office.waiting_at("after-take-up");
    stopped.signal(Signal::STOP);
    let refused = office.fixture.proem(&["effects", "sweep"]);
    let holder = format!("being performed by process {}; wait until it has ended, or end it", stopped.id());
    assert!(refused.code() == 1 && refused.stderr().contains(&holder), "{}", refused.stderr());
    assert_eq!(office.agree(&office.in_outbox())[&id], "executing");
    // It ends without going on: the lock is free at once, and what it had taken up is in doubt.
    stopped.signal(Signal::KILL);
    assert_eq!(stopped.end().status.code(), None);
    let swept = office.sweep();
    assert_eq!((swept.code(), office.in_outbox().len()), (1, 0), "{}", swept.stdout());
    assert_eq!(office.agree(&office.in_outbox())[&id], "unknown");
}

/// Stops a performer at a place, has another one take over past the lock, and lets the first one go on. `states` are
/// those of the action behind the take-over and in the end, `arrived` how often it was in the outbox at both times.
#[track_caller]
fn taken_over(place: &str, states: [&str; 2], arrived: [usize; 2], said: &str) {
    let Some(office) = Office::open() else { return };
    let id = office.approve_notes(1).remove(0);
    let stopped = office.waiting_at(place);
    stopped.signal(Signal::STOP);
    std::fs::remove_file(office.lock()).unwrap();
    office.perform_due();
    assert_eq!(office.agree(&office.in_outbox())[&id], states[0], "{place}");
    assert_eq!(office.in_outbox().len(), arrived[0], "{place}");
    let before = office.events(&id);
    stopped.let_go();
    stopped.signal(Signal::CONT);
    let output = stopped.end();
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains(said), "{place}: {words}");
    assert_eq!(office.events(&id), before, "{place}: the stale one writes nothing");
    assert_eq!(office.agree(&office.in_outbox())[&id], states[1], "{place}");
    assert_eq!(office.in_outbox().len(), arrived[1], "{place}");
    // Nor does anything come of it later.
    assert_eq!(office.sweep().json()["changes"], json!([]), "{place}");
    assert_eq!(office.in_outbox().len(), arrived[1], "{place}");
}

#[test]
fn a_stale_performer_takes_nothing_up() {
    for place in ["after-epoch", "before-take-up"] {
        taken_over(place, ["executed"; 2], [1, 1], "nothing is due");
    }
}

#[test]
fn a_stale_performer_fails_before_the_effect() {
    taken_over(
        "after-take-up",
        ["unknown"; 2],
        [0, 0],
        "another performer has taken over; nothing was sent by this one",
    );
}

/// The residue of `docs/design/0014-effects.md`: no receiver knows epochs. A process that has checked its epoch already
/// sends once, and the record goes on to say that nobody knows.
#[test]
fn a_performer_that_is_stopped_behind_its_last_look_sends_once_and_is_not_believed() {
    taken_over("before-effect", ["unknown"; 2], [0, 1], "unknown");
    taken_over("after-effect", ["unknown"; 2], [1, 1], "unknown");
}
