//! A clock that jumps. The binary reads `PROEM_CLOCK` where tests set it, so that every time here is exact.

use super::scene::{DAY, Office, now};

const MINUTE: i64 = 60_000;
/// The first millisecond that 32 bits of seconds don't hold.
const YEAR_2038: i64 = (1 << 31) * 1000;

/// An office whose clock is set, with a reminder that is held from its beginning on for 30 minutes.
struct Clocked {
    office: Office,
    begun: i64,
    id: String,
}

impl Clocked {
    fn new() -> Option<Self> {
        let mut office = Office::open()?;
        let begun = now();
        office.fixture.set("PROEM_CLOCK", begun.to_string());
        let proposed = office.propose_action(&office.reminder());
        assert_eq!(proposed["state"], "held", "{proposed}");
        Some(Self { office, begun, id: proposed["id"].as_str().unwrap().to_owned() })
    }

    fn set(&mut self, time: i64) {
        self.office.fixture.set("PROEM_CLOCK", time.to_string());
    }

    /// Has the ledger see a time, without a sweep.
    fn seen(&mut self, time: i64) {
        self.set(time);
        self.office.propose_note();
    }

    /// A sweep at a time; where the reminder stands then. It is in the outbox if it is executed, and only then.
    #[track_caller]
    fn sweep_at(&mut self, time: i64) -> String {
        self.set(time);
        self.office.perform_due();
        let arrived = self.office.in_outbox();
        let state = self.office.agree(&arrived)[&self.id].clone();
        assert_eq!(arrived.contains_key(&self.id), state == "executed");
        state
    }
}

#[test]
fn a_hold_ends_at_its_time() {
    let Some(mut clocked) = Clocked::new() else { return };
    let due = clocked.begun + 30 * MINUTE;
    assert_eq!(clocked.sweep_at(due - 1), "held");
    assert_eq!(clocked.sweep_at(due), "executed");
}

#[test]
fn a_clock_that_went_back_releases_nothing() {
    let Some(mut clocked) = Clocked::new() else { return };
    let past = clocked.begun + 31 * MINUTE;
    // By the ledger the hold is over. The clock is not to be trusted with it.
    clocked.seen(past);
    for clock in [past - 60_001, clocked.begun - DAY, 0] {
        assert_eq!(clocked.sweep_at(clock), "held", "at {clock}");
    }
    assert_eq!(clocked.sweep_at(past - 60_000), "executed", "a minute is no jump");
}

#[test]
fn what_is_late_is_asked_about_and_never_sent() {
    for late in [4 * 60 * MINUTE + 1, DAY] {
        let Some(mut clocked) = Clocked::new() else { return };
        let due = clocked.begun + 30 * MINUTE;
        assert_eq!(clocked.sweep_at(due + late), "waiting", "{late} late");
        assert_eq!(clocked.sweep_at(due + late), "waiting", "{late} late");
        clocked.office.approve(&[clocked.id.clone()]);
        assert_eq!(clocked.sweep_at(due + late), "executed", "{late} late");
    }
    let Some(mut clocked) = Clocked::new() else { return };
    let due = clocked.begun + 30 * MINUTE;
    assert_eq!(clocked.sweep_at(due + 4 * 60 * MINUTE), "executed", "the window's last moment");
}

#[test]
fn what_a_clock_of_2038_has_done_is_mended_by_a_person() {
    let Some(mut clocked) = Clocked::new() else { return };
    let past = clocked.begun + 31 * MINUTE;
    assert_eq!(clocked.sweep_at(YEAR_2038), "waiting");
    // Twelve years are more than the time to decide.
    assert_eq!(clocked.sweep_at(YEAR_2038), "expired");
    clocked.set(past);
    // Later times count from what the ledger has seen until somebody sets it right.
    let second = clocked.office.propose_action(&clocked.office.reminder());
    clocked.id = second["id"].as_str().unwrap().to_owned();
    assert_eq!(clocked.sweep_at(past + 31 * MINUTE), "held");
    let left = clocked.office.decide(&["store", "reset-clock"], "y\n").unwrap();
    assert_eq!(left.code, Some(0), "{}", left.shown);
    assert_eq!(clocked.sweep_at(past + 31 * MINUTE), "held", "its hold was set by the wrong clock");
    let third = clocked.office.propose_action(&clocked.office.reminder());
    clocked.id = third["id"].as_str().unwrap().to_owned();
    assert_eq!(clocked.sweep_at(past + 62 * MINUTE), "executed");
}

#[test]
fn what_a_person_has_approved_goes_whatever_the_clock_did() {
    for clock in [now() - DAY, 0] {
        let Some(mut office) = Office::open() else { return };
        let id = office.approve_notes(1).remove(0);
        office.fixture.set("PROEM_CLOCK", clock.to_string());
        assert_eq!(office.sweep().code(), 0);
        assert_eq!(office.agree(&office.in_outbox())[&id], "executed", "at {clock}");
    }
    // The yes itself has an end.
    let Some(mut office) = Office::open() else { return };
    let id = office.approve_notes(1).remove(0);
    office.fixture.set("PROEM_CLOCK", (now() + DAY + MINUTE).to_string());
    office.perform_due();
    assert_eq!(office.agree(&office.in_outbox())[&id], "waiting");
}
