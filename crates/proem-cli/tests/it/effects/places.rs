//! A sweep is stopped before and after everything that it records and does. Another one follows.
//!
//! The places are those of `proem_store::failpoint`: one on either side of each record, and those of
//! [`failpoint::SWEEP`] around and within an effect.

use std::collections::BTreeMap;
use std::time::Duration;

use proem_runtime::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpPlace, SmtpReaction, SmtpScript};
use proem_store::failpoint;
use serde_json::{Value as Json, json};

use super::scene::{DAY, Office, POLICY, now, plain, received};

/// The place at which a sweep is stopped, the action's states then and behind the next sweep, and whether it has
/// arrived then.
type Stop = (&'static str, [&'static str; 2], [usize; 2]);

/// The places up to the effect, and those behind it, of an action that a person has approved.
const BEFORE: [Stop; 6] = [
    ("before-epoch", ["approved", "executed"], [0, 1]),
    ("after-epoch", ["approved", "executed"], [0, 1]),
    ("before-take-up", ["approved", "executed"], [0, 1]),
    ("after-take-up", ["executing", "unknown"], [0, 0]),
    ("intent-witnessed", ["executing", "unknown"], [0, 0]),
    ("before-effect", ["executing", "unknown"], [0, 0]),
];
const BEHIND: [Stop; 4] = [
    ("after-effect", ["executing", "unknown"], [1, 1]),
    ("outcome-witnessed", ["executing", "unknown"], [1, 1]),
    ("before-sent", ["executing", "unknown"], [1, 1]),
    ("after-sent", ["executed", "executed"], [1, 1]),
];

const WITHIN_OUTBOX: [Stop; 2] =
    [("new-file-written", ["executing", "unknown"], [0, 0]), ("new-file-linked", ["executing", "unknown"], [1, 1])];
const WITHIN_SMTP: [Stop; 2] =
    [("before-mail", ["executing", "unknown"], [0, 0]), ("after-mail", ["executing", "unknown"], [1, 1])];

/// Stops a sweep at a place.
#[track_caller]
fn stop(office: &Office, place: &str) {
    let mut sweep = office.command(&["effects", "sweep"]);
    let status = sweep.env("PROEM_FAILPOINT", place).status().unwrap();
    assert_eq!(status.code(), None, "{place} was not passed");
}

/// Stops a sweep at each place, with a mail of its own, and lets another one follow. `arrived` is what was received.
fn check(office: &Office, stops: &[Stop], arrived: impl Fn() -> BTreeMap<String, usize>) {
    for (place, states, times) in stops {
        let id = office.approve_notes(1).remove(0);
        stop(office, place);
        let stands = |state: &str, times: usize| {
            let arrived = arrived();
            let found = office.agree(&arrived)[&id].clone();
            let came = arrived.get(&id).copied().unwrap_or_default();
            assert_eq!((found.as_str(), came), (state, times), "{place}");
        };
        stands(states[0], times[0]);
        let swept = office.sweep();
        assert_eq!(swept.code(), i32::from(states[1] == "unknown"), "{place}: {}", swept.stdout());
        stands(states[1], times[1]);
    }
    // Every sweep from then on finds nothing to do.
    let all = arrived();
    assert_eq!(office.sweep().json()["changes"], json!([]));
    assert_eq!(arrived(), all);
}

#[test]
fn a_sweep_to_an_outbox_is_stopped_at_every_place() {
    let Some(office) = Office::open() else { return };
    check(&office, &[&BEFORE[..], &WITHIN_OUTBOX, &BEHIND].concat(), || office.in_outbox());
}

/// The outcome of one action is written with the intent of the next: a stop on either side of that leaves one of the
/// two in doubt and no more.
#[test]
fn a_sweep_is_stopped_between_two_actions() {
    let Some(office) = Office::open() else { return };
    for (place, stands, then, came) in [
        ("before-sent", [["approved", "executing"]; 2], [["executed", "unknown"]; 2], [1, 2]),
        // Behind an effect that took long, which a disk decides, the two are written one after the other.
        (
            "after-sent",
            [["executed", "executing"], ["approved", "executed"]],
            [["executed", "unknown"], ["executed", "executed"]],
            [1, 1],
        ),
    ] {
        let (ids, before) = (office.approve_notes(2), office.in_outbox().len());
        let stand = || {
            let states = office.agree(&office.in_outbox());
            let mut found: Vec<String> = ids.iter().map(|id| states[id].clone()).collect();
            found.sort_unstable();
            (found, office.in_outbox().len() - before)
        };
        stop(&office, place);
        let (found, arrived) = stand();
        let Some(row) = stands.iter().position(|expected| *expected == *found) else { panic!("{place}: {found:?}") };
        assert_eq!(arrived, came[0], "{place}");
        office.perform_due();
        let (found, arrived) = stand();
        assert_eq!(found, then[row], "{place}");
        assert_eq!(arrived, if then[row] == ["executed"; 2] { 2 } else { came[1] }, "{place}");
        assert_eq!(office.sweep().json()["changes"], json!([]), "{place}");
    }
}

/// Behind an effect that took long, what became of it is written at once: a stop behind that leaves nothing in doubt.
#[test]
fn a_sweep_is_stopped_behind_a_slow_mail_server() {
    let Some(office) = Office::open() else { return };
    let late = SmtpReaction::Late(Duration::from_millis(100));
    let script = SmtpScript::new(SmtpEncryption::None).with(SmtpPlace::Dot, late);
    let server = ScriptedSmtp::start(script).unwrap();
    office.to_server(plain(&server));
    let ids = office.approve_notes(2);
    let states = || {
        let states = office.agree(&received(&server.log()));
        let mut found: Vec<String> = ids.iter().map(|id| states[id].clone()).collect();
        found.sort_unstable();
        found
    };
    stop(&office, "after-sent");
    assert_eq!((states(), received(&server.log()).len()), (["approved", "executed"].map(str::to_owned).into(), 1));
    office.perform_due();
    assert_eq!((states(), received(&server.log()).len()), (["executed", "executed"].map(str::to_owned).into(), 2));
}

#[test]
fn a_sweep_to_a_mail_server_is_stopped_at_every_place() {
    let Some(office) = Office::open() else { return };
    let server = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::None)).unwrap();
    office.to_server(plain(&server));
    // The steps before the way out are the outbox's, too.
    check(&office, &[&BEFORE[3..], &WITHIN_SMTP, &BEHIND].concat(), || received(&server.log()));
}

#[test]
fn every_place_of_an_effect_is_in_a_table() {
    let within = WITHIN_OUTBOX.iter().chain(&WITHIN_SMTP);
    let tested = BEFORE.iter().skip(4).chain(within).chain(BEHIND.iter().take(2)).map(|(place, ..)| *place);
    assert_eq!(tested.collect::<Vec<_>>(), failpoint::SWEEP);
}

/// Stops a sweep beside an outcome that a server with a fault brings about.
#[test]
fn a_sweep_is_stopped_beside_every_outcome() {
    let Some(office) = Office::open() else { return };
    let drops = || SmtpReaction::Drop;
    let no = || SmtpReaction::Say("550 no such user\r\n".to_owned());
    for (event, place, reaction, state) in [
        ("fail", SmtpPlace::Recipient(1), no as fn() -> SmtpReaction, "failed"),
        ("not-sent", SmtpPlace::Sender, drops, "waiting"),
        ("lose", SmtpPlace::Body(2), drops, "unknown"),
    ] {
        for (side, stands, then) in [("before", "executing", "unknown"), ("after", state, state)] {
            let script = SmtpScript::new(SmtpEncryption::None).with(place, reaction());
            let server = ScriptedSmtp::start(script).unwrap();
            office.to_server(plain(&server));
            let id = office.approve_notes(1).remove(0);
            stop(&office, &format!("{side}-{event}"));
            assert_eq!(office.states()[&id], stands, "{side}-{event}");
            let connections = server.log().connections;
            office.perform_due();
            assert_eq!(office.agree(&BTreeMap::new())[&id], then, "{side}-{event}");
            assert_eq!(server.finish().connections, connections, "{side}-{event}: nothing was tried again");
        }
    }
}

/// Stops a sweep beside what it records without performing anything: nothing is lost, and the next one goes on.
#[test]
fn a_sweep_is_stopped_beside_every_other_record() {
    for (side, event, state, proposal) in [
        ("before", "require-approval", "waiting", Office::note as fn(&Office) -> Json),
        ("after", "require-approval", "waiting", Office::note),
        ("before", "hold", "held", Office::reminder),
        ("after", "hold", "held", Office::reminder),
        ("before", "refuse", "refused", Office::note),
        ("after", "refuse", "refused", Office::note),
    ] {
        let mut office = Office::closed();
        let first = id(&office.propose_action(&proposal(&office)));
        office.fixture.switch_effects_on();
        if event == "refuse" {
            // An action that was proposed under one policy is decided about under another.
            let never = POLICY.replace("address = \"ada@", "address = \"eve@");
            office.fixture.configure("policy.toml", &never);
        }
        let check = |office: &Office, event: &str, (id, from, to): (&String, &str, &str)| {
            assert_eq!(office.states()[id], from, "{side}-{event}");
            stop(office, &format!("{side}-{event}"));
            let stands = if side == "before" { from } else { to };
            assert_eq!(office.states()[id], stands, "{side}-{event}");
            office.perform_due();
            assert_eq!(office.agree(&office.in_outbox())[id], to, "{side}-{event}");
            let happened = office.events(id);
            assert_eq!(happened.iter().filter(|one| *one == event).count(), 1, "{side}-{event}: {happened:?}");
        };
        check(&office, event, (&first, "proposed", state));
        if event != "require-approval" {
            continue;
        }
        // A performer that died, and one that dies when it says so.
        let lost = office.approve_notes(1).remove(0);
        stop(&office, "after-take-up");
        check(&office, "die", (&lost, "executing", "unknown"));
        // A yes that is too old, and a question that nobody answered.
        let late = office.approve_notes(1).remove(0);
        office.fixture.set("PROEM_CLOCK", (now() + 2 * DAY).to_string());
        check(&office, "lapse-approval", (&late, "approved", "waiting"));
        office.fixture.set("PROEM_CLOCK", (now() + 8 * DAY).to_string());
        // The only one that nobody answered.
        let cancelled = office.decide(&["queue", "cancel", &first], "y\n").unwrap();
        assert_eq!(cancelled.code, Some(0), "{}", cancelled.shown);
        check(&office, "expire", (&late, "waiting", "expired"));
    }
}

fn id(proposed: &Json) -> String {
    proposed["id"].as_str().unwrap().to_owned()
}
