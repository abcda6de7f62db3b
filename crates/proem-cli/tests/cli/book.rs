//! A person who writes prompts: looks at the book, adds a version, checks, locks, edits.

use std::fs;

use crate::fixture::{Fixture, Run};

const PROMPT: &str = "\
---
input:
  schema:
    name: string, whom to greet
proem:
  version: 1.0.0
  changes: the first version
  purpose: greet somebody
  inputs:
    name: { trust: trusted }
  sections:
    - { name: role, trust: constitution }
    - { name: task, trust: task }
---
{{role \"system\"}}{{section \"role\"}}
You are a polite host. Your task is to greet. Never shout.
{{role \"user\"}}{{section \"task\"}}
Greet {{name}}.
";

const BOOK: &str = ".proem/book/host/greet";

#[test]
fn the_shipped_book() {
    let fixture = Fixture::folder().committed();
    let show = fixture.proem(&["book", "show", "assemble/task"]);
    let files: Vec<&str> = show.answer().lines().filter(|line| line.starts_with("── ")).collect();
    let last = show.stdout().lines().last().unwrap_or_default();
    let runs = [
        fixture.proem(&["book", "list"]),
        fixture.proem(&["book", "check"]),
        fixture.proem(&["book", "check", "--json"]),
        fixture.proem(&["book", "show", "assemble/tusk"]),
        fixture.proem(&["book", "show", "assemble/task@7.0.0"]),
        fixture.proem(&["book", "list", "--book", "gone"]),
        fixture.proem(&["book", "lock"]),
    ];
    let sessions: Vec<String> = runs.iter().map(Run::transcript).collect();
    snapshot!(format!("{}\n\n{}\n…\n{last}\n", sessions.join("\n"), files.join("\n")));
}

#[test]
fn a_version_from_draft_to_release() {
    let fixture = Fixture::folder().committed();
    let mut sessions = Vec::new();
    let mut proem = |args: &[&str]| sessions.push(fixture.proem(args).transcript());
    fixture.write(
        &format!("{BOOK}/1.0.0.prompt"),
        PROMPT.replace("{{name}}", "{{nmae}}").replace("version: 1.0.0", "version: 1.0"),
    );
    proem(&["book", "check"]);
    proem(&["book", "lock"]);
    fixture.write(&format!("{BOOK}/1.0.0.prompt"), PROMPT);
    proem(&["book", "check"]);
    proem(&["book", "lock"]);
    proem(&["book", "list"]);
    fixture.write(&format!("{BOOK}/1.0.0.prompt"), PROMPT.replace("Never shout", "Never whisper"));
    proem(&["book", "check"]);
    proem(&["book", "lock"]);
    fixture.write(&format!("{BOOK}/1.0.0.prompt"), PROMPT);
    fixture.write(&format!("{BOOK}/1.1.0.prompt"), PROMPT.replace("version: 1.0.0", "version: 1.1.0"));
    proem(&["book", "lock"]);
    proem(&["book", "list"]);
    snapshot!(sessions.join("\n"));
    let lock = fs::read_to_string(fixture.repo.join(".proem/book/book.lock")).unwrap();
    assert_eq!(lock.lines().filter(|line| line.starts_with("\"host/greet@")).count(), 2, "{lock}");
}
