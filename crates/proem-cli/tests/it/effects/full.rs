//! The disk is full in the middle of a sweep: nothing is lost, nothing goes twice, and what may have gone is listed.

use std::collections::BTreeMap;

use proem_runtime::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpScript};

use super::scene::{Office, plain, received};

/// The place without room, the states of two approved mails behind the sweep that met it, its exit code, their states
/// behind the next one, and the numbers of mails that have arrived behind either.
type Row = (&'static str, [&'static str; 2], i32, [&'static str; 2], [usize; 2]);

fn check(office: &mut Office, rows: &[Row], arrived: impl Fn(&Office) -> BTreeMap<String, usize>) {
    for (full, stands, code, then, times) in rows {
        let ids = office.approve_notes(2);
        let check = |office: &Office, expected: &[&str; 2], times: usize, when: &str| {
            let arrived = arrived(office);
            let states = office.agree(&arrived);
            let mut found: Vec<&str> = ids.iter().map(|id| states[id].as_str()).collect();
            found.sort_unstable();
            let came = ids.iter().filter(|id| arrived.contains_key(*id)).count();
            assert_eq!((found.as_slice(), came), (expected.as_slice(), times), "{full}, {when}");
        };
        office.fixture.set("PROEM_FAILPOINT", format!("full:{full}"));
        let swept = office.sweep();
        office.fixture.set("PROEM_FAILPOINT", "");
        assert_eq!(swept.code(), *code, "{full}: {}", swept.transcript());
        if *code == 3 {
            assert!(swept.stderr().contains("no storage space"), "{full}: {}", swept.stderr());
        }
        check(office, stands, times[0], "when it was full");
        office.perform_due();
        check(office, then, times[1], "when there was room again");
        office.perform_due();
        check(office, then, times[1], "and from then on");
        // A mail that waits for a person again goes once with another yes.
        let waiting: Vec<String> = ids.iter().filter(|id| office.states()[*id] == "waiting").cloned().collect();
        if !waiting.is_empty() {
            office.approve(&waiting);
            office.perform_due();
            check(office, &["executed", "executed"], 2, "with another yes");
        }
    }
}

const APPROVED: [&str; 2] = ["approved", "approved"];
const EXECUTED: [&str; 2] = ["executed", "executed"];

#[test]
fn a_full_disk_before_between_and_behind_intent_and_effect() {
    let Some(mut office) = Office::open() else { return };
    let rows: [Row; 4] = [
        // The intent has no room: nothing was sent, and the yes stays good.
        ("take-up", APPROVED, 3, EXECUTED, [0, 2]),
        // The intent is there, and the file of the outbox has no room.
        ("new-file", ["waiting", "waiting"], 1, ["waiting", "waiting"], [0, 0]),
        // That it has not gone can't be recorded either: a person has to look, and the other one goes.
        ("new-file,not-sent", ["approved", "executing"], 3, ["executed", "unknown"], [0, 1]),
        // It went, and there is no room to say so.
        ("sent", ["approved", "executing"], 3, ["executed", "unknown"], [1, 2]),
    ];
    check(&mut office, &rows, Office::in_outbox);
}

#[test]
fn a_mail_server_has_it_and_the_record_of_that_has_no_room() {
    let Some(mut office) = Office::open() else { return };
    let server = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::None)).unwrap();
    office.to_server(plain(&server));
    let rows: [Row; 2] = [
        ("sent", ["approved", "executing"], 3, ["executed", "unknown"], [1, 2]),
        ("sent,die", ["approved", "executing"], 3, ["executed", "unknown"], [1, 2]),
    ];
    check(&mut office, &rows, |_| received(&server.log()));
}
