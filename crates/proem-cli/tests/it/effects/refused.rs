//! The answers to mistakes and attacks: both outputs and the exit code, literally.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::Value as Json;

use super::scene::{DAY, Office, POLICY, id_of, now};
use crate::fixture::Run;
use crate::terminal::scene::settled;

/// The outputs of commands, one after the other.
fn settled_session(office: &Office, runs: &[Run]) -> String {
    settled(&office.fixture, &runs.iter().map(Run::transcript).collect::<Vec<_>>().join("\n"))
}

/// A note with something else in it, as a person proposes it who reads the answer.
fn proposed(office: &Office, change: impl FnOnce(&mut Json)) -> Run {
    let mut note = office.note();
    change(&mut note);
    office.fixture.write("action.json", note.to_string());
    office.fixture.proem(&["effects", "propose", "action.json"])
}

/// A command at a terminal that is answered with yes: what was said behind the question, and the exit code.
#[track_caller]
fn answered(office: &Office, args: &[&str], meanwhile: impl FnOnce()) -> Option<String> {
    let terminal = office.asked(args)?;
    meanwhile();
    terminal.press("y\n");
    let left = terminal.end();
    let said = left.shown.rsplit("[y/N] y").next().unwrap_or_default().trim().to_owned();
    let command = args.join(" ");
    Some(settled(&office.fixture, &format!("$ proem {command}\n{said}\n── exit code {}\n", left.code.unwrap())))
}

#[test]
fn a_policy_with_mistakes() {
    let office = Office::closed();
    let wrong =
        POLICY.replace("level = \"tactical\"", "levle = \"tactical\"").replace("reminder = 30", "reminder = -30");
    office.fixture.configure("policy.toml", &wrong);
    let [listed, swept] = [["queue", "list"], ["effects", "sweep"]].map(|args| office.fixture.proem(&args));
    assert_eq!((listed.stderr(), listed.code()), (swept.stderr(), swept.code()));
    // Lines and columns are a part of what is said.
    snapshot!(swept.transcript());
}

#[test]
fn recipients_and_fields_that_nobody_knows() {
    let office = Office::closed();
    let runs = [
        proposed(&office, |note| note["target"] = "eve@corp.example".into()),
        proposed(&office, |note| note["fields"]["cc"] = vec!["eve@evil.example"].into()),
        proposed(&office, |note| note["fields"]["attachment"] = "../../etc/passwd".into()),
        proposed(&office, |note| note["action"] = "../note".into()),
        proposed(&office, |note| note["target"] = "../../ada@corp.example".into()),
    ];
    snapshot!(settled_session(&office, &runs));
    assert!(office.in_outbox().is_empty());
}

/// A credential is refused at every door, and no record has it.
#[test]
fn a_credential_in_a_text() {
    let Some(office) = Office::open() else { return };
    let key = format!("AKIA{}", "Q3ZK2WD7XV4LM5PB");
    let run = proposed(&office, |note| note["fields"]["body"] = format!("Use {key} for it.").into());
    assert!(run.code() == 1 && run.stdout().contains("`body` has a credential"), "{}", run.transcript());
    let unknown = |note: &mut Json| {
        note["action"] = "shout".into();
        note["fields"]["body"] = format!("Use {key} for it.").into();
    };
    assert_eq!(proposed(&office, unknown).code(), 1);
    assert!(office.open_actions().is_empty());
    let id = office.propose_note();
    // No terminal shows it, so nobody can be asked about it.
    let edit = ["queue", "edit", &id, "--set", &format!("body=Use {key} for it.")];
    let left = office.on_terminal(&edit, 24, 80).unwrap().end();
    assert!(left.code == Some(1) && left.shown.contains("what looks like a credential"), "{}", left.shown);
    for end in ["", "-wal"] {
        let records = fs::read(office.fixture.base.join(format!("state/proem/records.db{end}"))).unwrap_or_default();
        assert!(!records.windows(key.len()).any(|window| window == key.as_bytes()), "records.db{end}");
    }
}

#[test]
fn headers_within_a_text() {
    let Some(office) = Office::open() else { return };
    let injected = |text: &str| format!("{text}\r\nBcc: eve@evil.example");
    let run = proposed(&office, |note| note["fields"]["subject"] = injected("Week 1").into());
    let id = office.open_actions().remove(0);
    let refused = office.fixture.proem(&["queue", "approve", &id]);
    let mut said = settled_session(&office, &[run, refused]);
    // The names beside the addresses are the user's own, and a mistake there stops every mail.
    let good = office.propose_note();
    office.approve(std::slice::from_ref(&good));
    for (config, policy) in [("name = \"Ann\\r\\nBcc: eve@evil.example\"\n", POLICY.to_owned()), ("", injected_name())]
    {
        office.configure(config);
        office.fixture.configure("policy.toml", &policy);
        let swept = office.fixture.proem(&["effects", "sweep"]);
        said.push_str(&settled_session(&office, &[swept]));
    }
    snapshot!(said);
    assert!(office.in_outbox().is_empty());
}

/// A policy that has a header in the name of a recipient.
fn injected_name() -> String {
    POLICY.replace("name = \"Ada\"", "name = \"Ada\\r\\nBcc: eve@evil.example\"")
}

#[test]
fn a_body_of_five_megabytes() {
    let Some(office) = Office::open() else { return };
    let long = "0123456789abcde\n".repeat(5 * 1024 * 1024 / 16);
    let run = proposed(&office, |note| note["fields"]["body"] = long.clone().into());
    let id = office.propose_note();
    office.fixture.write("body.txt", &long);
    let edited = office.fixture.proem(&["queue", "edit", &id, "--file", "body=body.txt"]);
    snapshot!(settled_session(&office, &[run, edited]));
    assert_eq!(office.states().len(), 1);
}

#[test]
fn a_yes_to_what_has_changed_or_ended() {
    let Some(mut office) = Office::open() else { return };
    let (edited, cancelled, expired) = (office.propose_note(), office.propose_note(), office.propose_note());
    let mut said = answered(&office, &["queue", "approve", &edited], || {
        let left = office.decide(&["queue", "edit", &edited, "--set", "subject=Another"], "y\n").unwrap();
        assert_eq!(left.code, Some(0), "{}", left.shown);
    })
    .unwrap();
    said += &answered(&office, &["queue", "approve", &cancelled], || {
        let left = office.decide(&["queue", "cancel", &cancelled], "y\n").unwrap();
        assert_eq!(left.code, Some(0), "{}", left.shown);
    })
    .unwrap();
    office.fixture.set("PROEM_CLOCK", (now() + 8 * DAY).to_string());
    said += &answered(&office, &["queue", "approve", &expired], || ()).unwrap();
    snapshot!(said);
    let states = office.states();
    assert_eq!([&edited, &cancelled, &expired].map(|id| states[id].as_str()), ["waiting", "cancelled", "waiting"]);
    office.perform_due();
    assert!(office.in_outbox().is_empty());
}

#[test]
fn effects_that_are_off() {
    let office = Office::closed();
    let runs = [
        proposed(&office, |_| ()),
        office.fixture.proem(&["effects", "sweep"]),
        office.fixture.proem(&["effects", "sweep", "--json"]),
        office.fixture.proem(&["effects", "on"]),
    ];
    snapshot!(settled_session(&office, &runs));
    assert!(office.in_outbox().is_empty());
}

#[test]
fn effects_that_are_switched_off_behind_a_yes() {
    let Some(office) = Office::open() else { return };
    let id = office.approve_notes(1).remove(0);
    let left = office.decide(&["effects", "off"], "y\n").unwrap();
    assert_eq!(left.code, Some(0), "{}", left.shown);
    assert_eq!(office.sweep().code(), 1);
    assert_eq!((office.states()[&id].as_str(), office.in_outbox().len()), ("approved", 0));
    // They are switched off when the sweep has read what is due: the take-up asks once more.
    office.decide(&["effects", "on"], "y\n").unwrap();
    let sweep = office.waiting_at("before-take-up");
    office.decide(&["effects", "off"], "y\n").unwrap();
    sweep.let_go();
    sweep.end();
    assert_eq!((office.states()[&id].as_str(), office.in_outbox().len()), ("approved", 0));
    office.decide(&["effects", "on"], "y\n").unwrap();
    assert_eq!(office.sweep().code(), 0);
    assert_eq!(office.agree(&office.in_outbox())[&id], "executed");
}

#[test]
fn records_that_keep_no_texts() {
    let office = Office::closed();
    office.configure("[records]\nkeep = \"hashes\"\n");
    let runs = [
        proposed(&office, |_| ()),
        office.fixture.proem(&["effects", "status"]),
        office.fixture.proem(&["effects", "sweep"]),
    ];
    snapshot!(settled_session(&office, &runs));
    assert!(office.states().is_empty());
    // An action that was approved before doesn't go either.
    let Some(office) = Office::open() else { return };
    let id = office.approve_notes(1).remove(0);
    office.configure("[records]\nkeep = \"hashes\"\n");
    assert_eq!(office.sweep().code(), 1);
    assert_eq!((office.states()[&id].as_str(), office.in_outbox().len()), ("approved", 0));
}

#[test]
fn records_of_another_installation() {
    let Some(office) = Office::open() else { return };
    office.approve_notes(1);
    fs::write(office.fixture.base.join("key"), format!("{}\n", "5a".repeat(32))).unwrap();
    let runs = [
        office.fixture.proem(&["effects", "sweep"]),
        office.fixture.proem(&["effects", "status"]),
        proposed(&office, |_| ()),
    ];
    // The person who switched them on is the one who runs the tests.
    let said = settled_session(&office, &runs);
    let said = said.lines().filter(|line| !line.starts_with("switched ")).collect::<Vec<_>>().join("\n");
    snapshot!(said);
    assert!(office.in_outbox().is_empty());
}

#[test]
fn an_outbox_that_can_not_be_written_between_intent_and_effect() {
    let Some(office) = Office::open() else { return };
    office.approve_notes(1);
    assert_eq!(office.sweep().code(), 0);
    let id = office.approve_notes(1).remove(0);
    // To root no folder of its own is read-only. The system's about a process is.
    let is_root = fs::metadata(&office.fixture.base).unwrap().uid() == 0;
    if is_root {
        office.configure("[effects]\noutbox = \"/proc/1\"\n");
    }
    let sweep = office.waiting_at("before-effect");
    assert_eq!(office.states()[&id], "executing");
    fs::set_permissions(office.outbox(), fs::Permissions::from_mode(0o500)).unwrap();
    sweep.let_go();
    let output = sweep.end();
    fs::set_permissions(office.outbox(), fs::Permissions::from_mode(0o700)).unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("note  waiting: nothing was put into the outbox: could not create `"), "{words}");
    assert!(words.ends_with("nothing was performed; 1 action waits for your yes\n"), "{words}");
    assert_eq!(output.status.code(), Some(1));
    office.to_outbox();
    assert_eq!(office.events(&id)[2..], ["take-up", "not-sent"]);
    assert_eq!(office.agree(&office.in_outbox())[&id], "waiting");
    // Once it can be written, the same mail goes after another yes.
    office.approve(std::slice::from_ref(&id));
    assert_eq!(office.sweep().code(), 0);
    let mail = fs::read(office.outbox().join(format!("{id}.eml"))).unwrap();
    assert_eq!(id_of(&mail), id);
}
