//! Each effect asks again: a change between two effects of a sweep stops the second.

use std::thread;
use std::time::{Duration, Instant};

use proem_runtime::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpPlace, SmtpReaction, SmtpScript};

use super::scene::{Office, POLICY, plain, received};
use crate::fixture::BEAT;

const POLICY_FILE: &str = ".proem/policy.toml";
const CHARTER: &str = ".proem/triage/project.toml";
const CHARTER_TEXT: &str = "id = \"0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f\"\nname = \"Mobile checkout\"\nkey = \"TES\"\n\
                            level = \"tactical\"\nowner = \"Olivia Reyes\"\ntime_zone = \"UTC\"\n\
                            domains = [\"corp.example\"]\n";

/// Something that decides about effects, and how a person changes it.
type Change = (&'static str, fn(&Office));

fn answer_yes(office: &Office, args: &[&str]) {
    let left = office.decide(args, "y\n").unwrap();
    assert_eq!(left.code, Some(0), "{args:?}: {}", left.shown);
}

const CHANGES: &[Change] = &[
    ("switch", |office| answer_yes(office, &["effects", "off"])),
    ("policy", |office| office.fixture.configure("policy.toml", &POLICY.replace("name = \"Bob\"", "name = \"Rob\""))),
    ("policy of the project", |office| {
        office.fixture.write(POLICY_FILE, POLICY.replace("level = \"tactical\"", "level = \"monitoring\""));
    }),
    ("trust of the policy", |office| {
        office.fixture.revoke_trust(POLICY_FILE);
    }),
    ("level", |office| office.fixture.write(CHARTER, CHARTER_TEXT.replace("\"tactical\"", "\"monitoring\""))),
    ("trust of the level", |office| {
        office.fixture.revoke_trust(CHARTER);
    }),
    ("configuration", |office| office.configure("[records]\nkeep = \"hashes\"\n")),
];

/// An office with a policy and a level of its project's own, both trusted.
fn governed() -> Option<Office> {
    let office = Office::open()?;
    office.fixture.trust(&[(POLICY_FILE, POLICY), (CHARTER, CHARTER_TEXT)]);
    Some(office)
}

/// The first mail's server takes its time, and meanwhile somebody changes what the second one rests on.
#[test]
fn what_changes_while_one_mail_leaves_stops_the_next() {
    for (what, change) in CHANGES {
        let Some(office) = governed() else { return };
        let late = SmtpReaction::Late(Duration::from_secs(3));
        let script = SmtpScript::new(SmtpEncryption::None).with(SmtpPlace::Dot, late);
        let server = ScriptedSmtp::start(script).unwrap();
        office.to_server(plain(&server));
        let ids = office.approve_notes(2);
        let sweep = office.sweeping(&[]);
        let begun = Instant::now();
        while server.log().mails.is_empty() {
            assert!(begun.elapsed() < Duration::from_mins(1), "{what}: no mail came");
            thread::sleep(BEAT);
        }
        change(&office);
        let output = sweep.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{what}");
        let arrived = received(&server.log());
        assert_eq!(arrived.len(), 1, "{what}: {arrived:?}");
        let states = office.agree(&arrived);
        let mut found: Vec<&str> = ids.iter().map(|id| states[id].as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, ["approved", "executed"], "{what}: a yes stays what it was");
    }
}

/// The same behind the taking up, right before the effect: nothing leaves, and nobody has to find out whether it did.
#[test]
fn what_changes_behind_the_intent_stops_the_effect() {
    for place in ["after-take-up", "intent-witnessed"] {
        for (what, change) in CHANGES {
            let Some(office) = governed() else { return };
            let id = office.approve_notes(1).remove(0);
            let sweep = office.waiting_at(place);
            change(&office);
            sweep.let_go();
            let output = sweep.end();
            let words = String::from_utf8(output.stderr).unwrap();
            let said = if *what == "switch" { "effects were switched off" } else { "changed before it left" };
            assert!(words.contains(said), "{what}, {place}: {words}");
            assert!(office.in_outbox().is_empty(), "{what}, {place}");
            assert_eq!(office.agree(&office.in_outbox())[&id], "waiting", "{what}, {place}");
            assert_eq!(office.events(&id)[2..], ["take-up", "not-sent"], "{what}, {place}");
        }
    }
}
