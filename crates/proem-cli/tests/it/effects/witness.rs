//! Records that are older than their witness, a copy, or somebody else's: nothing is sent, and a person is shown what was.
//!
//! The oracle is a mail server: unlike an outbox it takes a mail twice.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proem_app::effects::ActionDesk;
use proem_app::effects::sweep::CredentialReading;
use proem_app::places::Channel;
use proem_app::records::actor;
use proem_app::when;
use proem_runtime::Environment;
use proem_runtime::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpPlace, SmtpReaction, SmtpScript};
use serde_json::{Value as Json, json};

use super::scene::{Office, POLICY, plain, received};
use crate::fixture::{BEAT, Run};

/// An office whose mails go to a server.
struct Scene {
    office: Office,
    server: ScriptedSmtp,
}

impl Scene {
    fn open() -> Option<Self> {
        let office = Office::open()?;
        let server = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::None)).unwrap();
        office.to_server(plain(&server));
        Some(Self { office, server })
    }

    fn state(&self) -> PathBuf {
        self.office.fixture.base.join("state/proem")
    }

    fn records(&self) -> PathBuf {
        self.state().join("records.db")
    }

    /// Keeps a copy of the records, as a backup does.
    fn back_up(&self) -> PathBuf {
        let copy = self.office.fixture.base.join("backup.db");
        fs::copy(self.records(), &copy).unwrap();
        copy
    }

    /// Puts a copy of the records in the place of the records.
    fn restore(&self, copy: &Path) {
        for end in ["-wal", "-shm"] {
            _ = fs::remove_file(self.state().join(format!("records.db{end}")));
        }
        fs::copy(copy, self.records()).unwrap();
    }

    fn received(&self) -> BTreeMap<String, usize> {
        received(&self.server.log())
    }

    /// Sweeps, which must send nothing because effects are parked.
    #[track_caller]
    fn is_parked(&self, why: &str) {
        if !self.office.fixture.is_in_this_process() {
            return self.is_parked_in_words(why);
        }
        let before = self.received();
        let sweep = async |desk: &ActionDesk<'_>| desk.sweep(CredentialReading::OwnEnvironment, &mut |_| {}).await;
        let obstacles = self.office.fixture.at_desk(sweep).obstacles;
        assert!(obstacles.iter().any(|obstacle| obstacle.as_str() == "parked"), "{obstacles:?}");
        assert_eq!(self.received(), before);
        let known = self.office.fixture.at_records(async |store| Ok(store.witness_list().await?));
        let parked = format!("effects are parked: {}", known.parked.unwrap());
        assert!(parked.contains(why), "{why}: {parked}");
    }

    /// The same by commands, which say why.
    #[track_caller]
    fn is_parked_in_words(&self, why: &str) {
        let before = self.received();
        let swept = self.office.sweep();
        assert!(obstacles(&swept).as_array().unwrap().contains(&"parked".into()), "{}", swept.transcript());
        assert_eq!(self.received(), before);
        let status = self.office.fixture.proem(&["effects", "status"]);
        assert!(status.stdout().contains(why), "{}", status.transcript());
        assert!(status.stdout().contains("`proem store adopt` shows what was sent"), "{}", status.stdout());
    }

    /// A person adopts, and what was sent is of no matter.
    #[track_caller]
    fn adopt_unseen(&self) {
        if self.office.fixture.is_in_this_process() {
            let person = actor(&Environment::inherited(), Channel::Terminal);
            self.office.fixture.at_records(async |store| Ok(store.adopt(person, when::time_now()).await?));
        } else {
            self.adopt();
        }
    }

    /// A person adopts; what was shown.
    #[track_caller]
    fn adopt(&self) -> String {
        let left = self.office.decide(&["store", "adopt"], "y\n").unwrap();
        assert_eq!(left.code, Some(0), "{}", left.shown);
        left.shown
    }

    /// Everything came once, whatever is swept from here on.
    #[track_caller]
    fn came_once(&self, ids: &[String]) {
        for _ in 0..2 {
            self.office.perform_due();
        }
        let received = self.received();
        assert!(received.values().all(|times| *times == 1), "{received:?}");
        assert!(ids.iter().all(|id| received.contains_key(id)), "{received:?}");
    }

    fn states(&self, ids: &[String]) -> Vec<String> {
        let states = self.office.states();
        ids.iter().map(|id| states.get(id).cloned().unwrap_or_default()).collect()
    }
}

/// The digits of an action's key that a list shows.
fn short(id: &str) -> String {
    id.chars().take(12).collect()
}

/// The obstacles of a sweep that did nothing.
#[track_caller]
fn obstacles(swept: &Run) -> Json {
    assert_eq!(swept.code(), 1, "{}", swept.transcript());
    let report: Json = serde_json::from_str(swept.stdout()).unwrap();
    report["obstacles"].clone()
}

#[test]
fn a_restored_backup_sends_nothing() {
    let Some(scene) = Scene::open() else { return };
    let ids = scene.office.approve_notes(2);
    let backup = scene.back_up();
    assert_eq!(scene.office.sweep().code(), 0);
    assert_eq!(scene.received().len(), 2);
    scene.restore(&backup);
    scene.is_parked_in_words("the witness knows of 2 effects that these records lack");
    assert_eq!(scene.states(&ids), ["approved", "approved"]);
    let shown = scene.adopt();
    assert!(ids.iter().all(|id| shown.contains(&short(id))), "{shown}");
    assert!(shown.contains("`approved` in these records") && shown.contains("sent"), "{shown}");
    assert_eq!(scene.states(&ids), ["unknown", "unknown"]);
    scene.came_once(&ids);
    // A person who looked says that it went. The bytes are gone, so nobody can have them sent once more.
    let again = scene.office.decide(&["queue", "resolve", &ids[0], "resend"], "y\n").unwrap();
    assert_ne!(again.code, Some(0), "{}", again.shown);
    scene.came_once(&ids);
}

#[test]
fn what_the_backup_never_knew_is_not_proposed_anew() {
    let Some(scene) = Scene::open() else { return };
    let backup = scene.back_up();
    let note = scene.office.note();
    let id = scene.office.propose_action(&note)["id"].as_str().unwrap().to_owned();
    scene.office.approve(std::slice::from_ref(&id));
    scene.office.perform_due();
    scene.restore(&backup);
    scene.is_parked("the witness knows of an effect that these records lack");
    assert!(scene.adopt().contains("not in these records"));
    // The signal is read again: by itself, and together with another one.
    assert_eq!(scene.office.propose_action(&note)["fate"], "duplicate");
    let mut wider = note;
    wider["causes"].as_array_mut().unwrap().push(json!({ "id": "signal-99", "revision": "1" }));
    assert_eq!(scene.office.propose_action(&wider)["fate"], "duplicate");
    scene.came_once(&[id]);
}

#[test]
fn nothing_is_approved_while_effects_are_parked() {
    let Some(scene) = Scene::open() else { return };
    let ids = scene.office.approve_notes(1);
    let other = scene.office.propose_note();
    let backup = scene.back_up();
    scene.office.perform_due();
    scene.restore(&backup);
    let left = scene.office.decide(&["queue", "approve", &other], "y\n").unwrap();
    assert_eq!(left.code, Some(1), "{}", left.shown);
    assert!(left.shown.contains("effects are parked") && left.shown.contains("proem store adopt"), "{}", left.shown);
    assert_eq!(scene.states(std::slice::from_ref(&other)), ["waiting"]);
    // A no, a proposal and reading go on.
    assert_eq!(scene.office.propose_action(&scene.office.note())["fate"], "new");
    assert_eq!(scene.office.decide(&["queue", "cancel", &other], "y\n").unwrap().code, Some(0));
    assert_eq!(scene.office.fixture.proem(&["queue", "show", &ids[0]]).code(), 0);
    scene.adopt_unseen();
    let next = scene.office.approve_notes(1);
    scene.came_once(&[ids, next].concat());
}

#[test]
fn an_escalation_approves_nothing_while_effects_are_parked() {
    let Some(scene) = Scene::open() else { return };
    let narrow = POLICY
        .replace("level = \"tactical\"", "level = \"monitoring\"")
        .replace("[actions.reminder]\nlevel = \"monitoring\"", "[actions.reminder]\nlevel = \"tactical\"");
    scene.office.fixture.configure("policy.toml", &narrow);
    let sent = scene.office.approve_notes(1);
    let asked = scene.office.propose_action(&scene.office.reminder());
    let (id, escalation) = (asked["id"].as_str().unwrap().to_owned(), asked["escalation"].as_str().unwrap());
    let backup = scene.back_up();
    scene.office.perform_due();
    scene.restore(&backup);
    let left = scene.office.decide(&["escalations", "decide", escalation, "A"], "y\n").unwrap();
    assert!(left.code == Some(1) && left.shown.contains("effects are parked"), "{}", left.shown);
    assert_eq!(scene.states(std::slice::from_ref(&id)), ["waiting"]);
    scene.adopt_unseen();
    assert_eq!(scene.office.decide(&["escalations", "decide", escalation, "A"], "y\n").unwrap().code, Some(0));
    scene.came_once(&[sent, vec![id]].concat());
}

/// A backup from between a person's wish that it go once more and the sweep that did it: it does not go a third time.
#[test]
fn a_backup_from_before_a_second_attempt_makes_no_third() {
    let Some(scene) = Scene::open() else { return };
    let lost = SmtpScript::new(SmtpEncryption::None).with(SmtpPlace::Body(2), SmtpReaction::Drop);
    let lost = ScriptedSmtp::start(lost).unwrap();
    scene.office.to_server(plain(&lost));
    let ids = scene.office.approve_notes(1);
    scene.office.perform_due();
    assert_eq!(scene.states(&ids), ["unknown"]);
    scene.office.to_server(plain(&scene.server));
    assert_eq!(scene.office.decide(&["queue", "resolve", &ids[0], "resend"], "y\n").unwrap().code, Some(0));
    let backup = scene.back_up();
    scene.office.perform_due();
    assert_eq!(scene.states(&ids), ["executed"]);
    scene.restore(&backup);
    scene.is_parked("the witness knows of an effect that these records lack");
    scene.adopt_unseen();
    assert_eq!(scene.states(&ids), ["unknown"]);
    scene.came_once(&ids);
}

/// A copy of the database alone, taken while a performer waits between intent and effect.
#[test]
fn a_backup_from_the_middle_of_a_sweep_sends_nothing_again() {
    let Some(scene) = Scene::open() else { return };
    let ids = scene.office.approve_notes(2);
    let sweep = scene.office.waiting_at("intent-witnessed");
    let backup = scene.back_up();
    sweep.let_go();
    // It waits there once more, with the second action.
    let waits = scene.office.fixture.base.join("waits-intent-witnessed");
    while !waits.exists() {
        std::thread::sleep(BEAT);
    }
    sweep.let_go();
    assert_eq!(sweep.end().status.code(), Some(0));
    assert_eq!(scene.received().len(), 2);
    scene.restore(&backup);
    scene.is_parked("lack");
    scene.adopt_unseen();
    scene.came_once(&ids);
}

#[test]
fn an_action_that_was_never_sent_goes_behind_an_adoption() {
    let Some(scene) = Scene::open() else { return };
    let sent = scene.office.approve_notes(1);
    let backup = scene.back_up();
    scene.office.perform_due();
    scene.restore(&backup);
    scene.is_parked("lack");
    // The witness is whole, so the yes to what it does not have stays good.
    scene.adopt_unseen();
    let later = scene.office.approve_notes(1);
    scene.came_once(&[sent, later].concat());
}

#[test]
fn once_parked_they_stay_so_without_a_witness() {
    let Some(scene) = Scene::open() else { return };
    let ids = scene.office.approve_notes(1);
    let backup = scene.back_up();
    scene.office.perform_due();
    scene.restore(&backup);
    scene.is_parked("lack");
    fs::remove_file(scene.office.witness()).unwrap();
    scene.is_parked("lack");
    // Nobody knows what was sent, so what was approved has to be approved anew.
    let shown = scene.adopt();
    assert!(shown.contains("is no whole account"), "{shown}");
    assert_eq!(scene.states(&ids), ["waiting"]);
    scene.came_once(&[]);
}

/// The way in which somebody spoils a witness, and why effects are parked then.
type Spoiler = (&'static str, fn(&Path), &'static str);

const SPOILERS: &[Spoiler] = &[
    ("removed", |path| fs::remove_file(path).unwrap(), "their witness is gone"),
    ("emptied", |path| fs::write(path, "").unwrap(), "line 1 of the witness of effects is damaged"),
    (
        "a link",
        |path| with_file_aside(path, |to| std::os::unix::fs::symlink(to, path).unwrap()),
        "it is a link or not a regular",
    ),
    ("a second name", |path| fs::hard_link(path, path.with_extension("twin")).unwrap(), "the file has a second name"),
    (
        "a pipe",
        |path| {
            fs::remove_file(path).unwrap();
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        },
        "it is a link or not a regular file",
    ),
    (
        "a folder",
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
        "it is a link or not a regular file",
    ),
    ("a copy", |path| with_file_aside(path, |to| _ = fs::copy(to, path).unwrap()), "these records are a copy"),
    (
        "cut at a line",
        |path| {
            let text = fs::read_to_string(path).unwrap();
            fs::write(path, text.split_inclusive('\n').take(1).collect::<String>()).unwrap();
        },
        "the witness lacks an effect that these records know of",
    ),
    (
        "one figure",
        |path| {
            let text = fs::read_to_string(path).unwrap();
            let line = text.lines().nth(1).unwrap();
            let other = line.replace("\"version\":", "\"version\":1");
            fs::write(path, text.replace(line, &other)).unwrap();
        },
        "line 2 of the witness of effects is damaged",
    ),
    (
        "a line less",
        |path| {
            let text = fs::read_to_string(path).unwrap();
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            fs::write(path, [lines[0], lines[2]].concat()).unwrap();
        },
        "line 2 of the witness of effects is damaged",
    ),
    (
        "words behind",
        |path| fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"{}\n").unwrap(),
        "line 4 of the witness of effects is damaged",
    ),
];

/// Moves a file aside for what is put in its place.
fn with_file_aside(path: &Path, then: impl FnOnce(&Path)) {
    let aside = path.with_extension("moved");
    fs::rename(path, &aside).unwrap();
    then(&aside);
}

#[test]
fn a_witness_that_was_tampered_with_parks_effects() {
    for (what, spoil, why) in SPOILERS {
        eprintln!("{what}");
        let Some(scene) = Scene::open() else { return };
        let sent = scene.office.approve_notes(1);
        scene.office.perform_due();
        let waiting = scene.office.approve_notes(1);
        spoil(&scene.office.witness());
        scene.is_parked(why);
        scene.adopt_unseen();
        // The records know what was sent, and it stays so. An earlier yes has to be given anew.
        assert_eq!(scene.states(&[sent.clone(), waiting.clone()].concat()), ["executed", "waiting"], "{what}");
        scene.office.perform_due();
        assert_eq!(scene.received().len(), 1, "{what}");
        if *why == "these records are a copy" {
            // A copy has another id, for which nobody has switched effects on.
            scene.office.fixture.switch_effects_on();
        }
        scene.office.approve(&waiting);
        scene.came_once(&[sent, waiting].concat());
        assert!(fs::metadata(scene.office.witness()).unwrap().is_file(), "{what}");
    }
}

/// A witness loses its end, byte by byte, beside records that lost their last effect: nothing goes twice.
#[test]
fn a_witness_cut_at_every_byte_sends_nothing_twice() {
    let Some(scene) = Scene::open() else { return };
    let ids = scene.office.approve_notes(1);
    let backup = scene.back_up();
    scene.office.perform_due();
    let witness = scene.office.witness();
    let (text, whole) = (fs::read(&witness).unwrap(), fs::read(scene.records()).unwrap());
    let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    // With the witness cut to its first line both are of the time before: nothing here can tell.
    let cuts = (first + 1..text.len()).step_by(23).chain([text.len() - 1]);
    for cut in cuts {
        fs::OpenOptions::new().write(true).open(&witness).unwrap().set_len(cut as u64).unwrap();
        scene.restore(&backup);
        scene.is_parked("effects are parked");
        fs::OpenOptions::new().append(true).open(&witness).unwrap().write_all(&text[cut..]).unwrap();
    }
    fs::write(scene.records(), whole).unwrap();
    scene.came_once(&ids);
}

#[test]
fn a_copied_store_sends_nothing() {
    let Some(mut scene) = Scene::open() else { return };
    let sent = scene.office.approve_notes(1);
    scene.office.perform_due();
    let due = scene.office.approve_notes(2);
    let base = scene.office.fixture.base.clone();
    assert!(Command::new("cp").arg("-a").arg(base.join("state")).arg(base.join("copy")).status().unwrap().success());
    // Two copies of one installation sweep at the same time.
    let copied = base.join("copy");
    let mut original = scene.office.sweeping(&[]);
    let mut copy = scene.office.sweeping(&[("XDG_STATE_HOME", copied.to_str().unwrap())]);
    assert_eq!((original.wait().unwrap().code(), copy.wait().unwrap().code()), (Some(0), Some(1)));
    scene.came_once(&[sent.clone(), due.clone()].concat());
    scene.office.fixture.set("XDG_STATE_HOME", &copied);
    scene.is_parked("these records are a copy");
    // An adoption makes records of their own of it: effects are off, and every yes is void.
    scene.adopt_unseen();
    let swept = scene.office.sweep();
    assert_eq!(obstacles(&swept), json!(["switched-off"]), "{}", swept.transcript());
    assert_eq!(scene.states(&due), ["waiting", "waiting"]);
    scene.office.fixture.set("XDG_STATE_HOME", base.join("state"));
    scene.came_once(&[sent, due].concat());
}

#[test]
fn a_store_that_was_moved_goes_on_and_one_on_another_machine_does_not() {
    let Some(mut scene) = Scene::open() else { return };
    let sent = scene.office.approve_notes(1);
    scene.office.perform_due();
    let base = scene.office.fixture.base.clone();
    let due = scene.office.approve_notes(1);
    scene.office.fixture.set("PROEM_MACHINE", "another");
    scene.is_parked("these records are a copy");
    scene.adopt_unseen();
    scene.office.fixture.set("PROEM_MACHINE", "another");
    assert_eq!(scene.office.decide(&["effects", "on"], "y\n").unwrap().code, Some(0));
    fs::rename(base.join("state"), base.join("moved")).unwrap();
    scene.office.fixture.set("XDG_STATE_HOME", base.join("moved"));
    scene.office.approve(&due);
    scene.came_once(&[sent, due].concat());
}

#[test]
fn an_emptied_store_says_what_is_safe_and_its_successor_sends_nothing_again() {
    let Some(scene) = Scene::open() else { return };
    let note = scene.office.note();
    let id = scene.office.propose_action(&note)["id"].as_str().unwrap().to_owned();
    scene.office.approve(std::slice::from_ref(&id));
    scene.office.perform_due();
    fs::write(scene.records(), "").unwrap();
    let swept = scene.office.sweep();
    assert_eq!(swept.code(), 3);
    assert!(swept.stderr().contains("leave `effects.witness` where it is"), "{}", swept.stderr());
    assert!(!swept.stderr().contains("restore a backup"), "{}", swept.stderr());
    // New records beside the old witness.
    fs::remove_file(scene.records()).unwrap();
    scene.is_parked("the witness of effects belongs to other records");
    let shown = scene.adopt();
    assert!(shown.contains(&short(&id)), "{shown}");
    assert_eq!(scene.office.propose_action(&note)["fate"], "duplicate");
    assert_eq!(scene.office.decide(&["effects", "on"], "y\n").unwrap().code, Some(0));
    scene.came_once(&[id]);
}

/// Records and witness are both put back from the same backup: as new files they are known for a copy.
#[test]
fn a_backup_with_its_witness_is_a_copy() {
    let Some(scene) = Scene::open() else { return };
    let sent = scene.office.approve_notes(1);
    scene.office.perform_due();
    let due = scene.office.approve_notes(1);
    let backup = scene.back_up();
    let witness = fs::read(scene.office.witness()).unwrap();
    scene.office.perform_due();
    scene.restore(&backup);
    fs::remove_file(scene.office.witness()).unwrap();
    fs::write(scene.office.witness(), witness).unwrap();
    scene.is_parked("these records are a copy");
    scene.adopt_unseen();
    assert_eq!(scene.states(&due), ["waiting"]);
    scene.came_once(&[sent, due].concat());
}

#[test]
fn a_witness_that_goes_during_a_sweep_stops_it() {
    for (what, spoil) in [
        ("removed", (|path| fs::remove_file(path).unwrap()) as fn(&Path)),
        ("replaced", |path| with_file_aside(path, |to| _ = fs::copy(to, path).unwrap())),
        ("cut", |path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10).unwrap()),
    ] {
        let Some(scene) = Scene::open() else { return };
        let sent = scene.office.approve_notes(1);
        scene.office.perform_due();
        let due = scene.office.approve_notes(1);
        let sweep = scene.office.waiting_at("after-take-up");
        spoil(&scene.office.witness());
        sweep.let_go();
        let output = sweep.end();
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(3) && words.contains("the witness of effects"), "{what}: {words}");
        assert_eq!(scene.received().len(), 1, "{what}");
        assert_eq!(scene.states(&due), ["waiting"], "{what}");
        scene.is_parked("effects are parked");
        scene.adopt_unseen();
        scene.came_once(&sent);
    }
}

/// Records that had effects before there were witnesses are parked once, and their adoption makes one.
#[test]
fn records_from_before_the_witness_are_adopted_once() {
    let Some(scene) = Scene::open() else { return };
    let sent = scene.office.approve_notes(1);
    scene.office.perform_due();
    fs::remove_file(scene.office.witness()).unwrap();
    let connection = rusqlite::Connection::open(scene.records()).unwrap();
    let older = "DROP TABLE witnessed; DROP TABLE witnessed_claims; DROP TABLE signal_judgements; DROP TABLE tool_calls; DROP TABLE states; DROP TABLE callers; DROP TABLE assignments; DROP TABLE sync_sources; DROP TABLE work; DELETE FROM meta WHERE key = 'witness'; \
                 PRAGMA user_version = 8";
    connection.execute_batch(older).unwrap();
    drop(connection);
    scene.is_parked("these records have had effects, and their witness is gone");
    scene.adopt_unseen();
    let next = scene.office.approve_notes(1);
    scene.came_once(&[sent.clone(), next].concat());
    assert!(scene.office.witnessed().contains(&sent[0]));
}

#[test]
fn a_clock_that_stands_still_changes_nothing_of_it() {
    let Some(mut scene) = Scene::open() else { return };
    scene.office.fixture.set("PROEM_CLOCK", super::scene::now().to_string());
    let ids = scene.office.approve_notes(2);
    let backup = scene.back_up();
    scene.office.perform_due();
    for _ in 0..2 {
        scene.restore(&backup);
        scene.is_parked("the witness knows of 2 effects that these records lack");
        scene.adopt_unseen();
    }
    scene.came_once(&ids);
}

#[test]
fn the_witness_holds_no_text() {
    let Some(scene) = Scene::open() else { return };
    scene.office.approve_notes(1);
    scene.office.perform_due();
    let text = fs::read_to_string(scene.office.witness()).unwrap();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["what"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["opened", "intent", "sent"]);
    for line in &lines {
        for (key, value) in line.as_object().unwrap().iter().filter(|(key, _)| *key != "what") {
            let texts = value.as_array().map_or_else(|| vec![value], |all| all.iter().collect());
            for text in texts.into_iter().filter_map(Json::as_str) {
                assert!(text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key} is more than a digest: {text}");
            }
        }
    }
}
