//! The guide through proposals, holds and approvals.

use std::fs;
use std::os::unix::fs::symlink;

use crate::fixture::Fixture;
use crate::guide::{self, Tried};
use crate::terminal::screen::start;

#[test]
fn actions_are_taken_from_their_proposal_to_their_end() {
    // The ids that the guide shows depend on the folder.
    let fixture = Fixture::fixed("approvals");
    let Some(terminal) = start(fixture.command("true")) else { return };
    terminal.end();
    // The guide's reader has these two folders.
    fs::create_dir(fixture.base.join("home/.local")).unwrap();
    symlink(fixture.base.join("config"), fixture.base.join("home/.config")).unwrap();
    symlink(fixture.base.join("state"), fixture.base.join("home/.local/state")).unwrap();

    let tried = guide::run_pages(&fixture, &["approvals.md", "approvals-after.md"], &[]);
    assert_eq!(tried, Tried { files: 3, sessions: 24 });

    // Two mails have left, each once, and nothing else has.
    let outbox = fs::read_dir(fixture.base.join("state/proem/outbox")).unwrap();
    let mut mails: Vec<String> = outbox.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    mails.sort_by_key(|mail| mail.contains("Week 13"));
    let subjects: Vec<&str> =
        mails.iter().filter_map(|mail| mail.lines().find(|line| line.starts_with("Subject: "))).collect();
    assert_eq!(subjects, ["Subject: Status of week 12", "Subject: Week 13"]);
    assert!(mails.iter().all(|mail| mail.contains("<ada@corp.example>")), "{mails:?}");
}
