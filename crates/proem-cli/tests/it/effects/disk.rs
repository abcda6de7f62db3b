//! A state folder on a disk of its own, which fills or becomes read-only.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use proem_runtime::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpScript};
use serde_json::{Value as Json, json};

use super::scene::{Office, plain, received};
use crate::skipped::skip;

/// A page, in which a file of this file system has room behind its end without asking for more.
const PAGE: u64 = 4096;

/// A small file system in memory.
struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Mounts one over a folder. `None`, said out loud, where this user may not.
    fn over(folder: PathBuf) -> Option<Self> {
        let disk = Self { folder };
        disk.mount(&["-t", "tmpfs", "-o", "size=4m,mode=700", "none"]).then_some(disk)
    }

    fn mount(&self, args: &[&str]) -> bool {
        let mounted = Command::new("mount").args(args).arg(&self.folder).output();
        let is_mounted = mounted.is_ok_and(|output| output.status.success());
        if !is_mounted {
            skip("mounts", "this user may mount no file system");
        }
        is_mounted
    }

    /// Takes all room there is, until the file that is given back is removed.
    fn fill(&self) -> PathBuf {
        let path = self.folder.join("ballast");
        let mut ballast = File::create(&path).unwrap();
        let page = vec![0; usize::try_from(PAGE).unwrap()];
        while ballast.write_all(&page).is_ok() {}
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}

/// An office whose records are on such a disk, and whose mails go to a server.
struct Scene {
    // The disk goes before the folder that it is mounted over.
    disk: Disk,
    office: Office,
    server: ScriptedSmtp,
}

impl Scene {
    fn open() -> Option<Self> {
        let office = Office::closed();
        let disk = Disk::over(office.fixture.base.join("state"))?;
        let office = office.switched_on()?;
        let server = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::None)).unwrap();
        office.to_server(plain(&server));
        Some(Self { disk, office, server })
    }

    /// The lengths of the witness's last intent and of its last outcome.
    fn lines(&self) -> [u64; 2] {
        let text = fs::read_to_string(self.office.witness()).unwrap();
        let last = |is_intent: bool| {
            let of_kind = |line: &&str| (serde_json::from_str::<Json>(line).unwrap()["what"] == "intent") == is_intent;
            let line = text.lines().rev().find(of_kind).unwrap();
            u64::try_from(line.len() + 1).unwrap()
        };
        [last(true), last(false)]
    }

    /// Has effects performed until the next intent, or the next outcome, begins a new page.
    fn come_to_the_end_of_a_page(&self, at_outcome: bool) {
        for _ in 0..200 {
            self.office.approve_notes(1);
            assert_eq!(self.office.sweep().code(), 0);
            let ([intent, outcome], length) = (self.lines(), fs::metadata(self.office.witness()).unwrap().len());
            let before = if at_outcome { length + intent } else { length };
            let line = if at_outcome { outcome } else { intent };
            let room = PAGE - before % PAGE;
            // The intent before that outcome must have room.
            let is_intents_page = at_outcome && length / PAGE != (before - 1) / PAGE;
            if room < line && !is_intents_page {
                return;
            }
        }
        panic!("no line comes to the end of a page");
    }
}

/// The disk is full when the witness is to have a line: without the intent nothing is sent, and without the outcome
/// nothing is sent again.
#[test]
fn a_disk_that_fills_while_the_witness_is_written() {
    for (place, at_outcome, arrives) in [("after-take-up", false, 0), ("before-effect", true, 1)] {
        let Some(scene) = Scene::open() else { return };
        scene.come_to_the_end_of_a_page(at_outcome);
        let before = received(&scene.server.log()).len();
        let ids = scene.office.approve_notes(2);
        let sweep = scene.office.waiting_at(place);
        let ballast = scene.disk.fill();
        sweep.let_go();
        let output = sweep.end();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{place}: {words}");
        assert!(words.contains("the witness of effects in") && words.contains("No space left"), "{place}: {words}");
        assert_eq!(received(&scene.server.log()).len() - before, arrives, "{place}: {words}");
        fs::remove_file(ballast).unwrap();
        for _ in 0..2 {
            scene.office.perform_due();
        }
        let arrived = received(&scene.server.log());
        let states = scene.office.agree(&arrived);
        let waiting: Vec<String> = ids.iter().filter(|id| states[*id] == "waiting").cloned().collect();
        if !waiting.is_empty() {
            scene.office.approve(&waiting);
            scene.office.perform_due();
        }
        let arrived = received(&scene.server.log());
        let states = scene.office.agree(&arrived);
        let ended = |id: &String| ["executed", "unknown"].contains(&states[id].as_str());
        assert!(ids.iter().all(ended), "{place}: {states:?}");
        assert!(ids.iter().any(|id| arrived.contains_key(id)), "{place}");
    }
}

/// On a read-only file system reading works, and effects are off for a reason that is said.
#[test]
fn a_read_only_state_folder_is_read_and_sends_nothing() {
    let Some(scene) = Scene::open() else { return };
    let sent = scene.office.approve_notes(1);
    scene.office.perform_due();
    let due = scene.office.approve_notes(1);
    if !scene.disk.mount(&["-o", "remount,ro"]) {
        return;
    }
    let swept = scene.office.sweep();
    let report: Json = serde_json::from_str(swept.stdout()).unwrap();
    assert_eq!((swept.code(), &report["obstacles"]), (1, &json!(["read-only-folder"])), "{}", swept.transcript());
    assert_eq!(scene.office.states()[&sent[0]], "executed");
    let status = scene.office.fixture.proem(&["effects", "status"]);
    let said = "nothing can be written into";
    assert!(status.code() == 0 && status.stdout().contains(said), "{}", status.transcript());
    for args in [vec!["queue", "show", &due[0]], vec!["store", "status"], vec!["effects", "log"], vec!["runs", "list"]]
    {
        let run = scene.office.fixture.proem(&args);
        assert_eq!(run.code(), 0, "{}", run.transcript());
    }
    assert_eq!(received(&scene.server.log()).len(), 1);
    assert!(scene.disk.mount(&["-o", "remount,rw"]));
    assert_eq!(scene.office.sweep().code(), 0);
    let arrived = received(&scene.server.log());
    assert_eq!((arrived.len(), scene.office.agree(&arrived)[&due[0]].as_str()), (2, "executed"));
}
