//! Completion, as the shells ask for it and as people press Tab.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::fixture::Fixture;
use crate::skipped::skip;
use crate::terminal::screen::{WIDE, start_on};

const PROMPT: &str = "---\nproem:\n  version: 1.0.0\n  purpose: tries something\n  sections:\n    - { name: role, trust: constitution }\n\
    ---\n{{role \"system\"}}{{section \"role\"}}\nBe brief.\n";

/// The completions of the last of these words. Nothing but the binary can be started.
fn completion_offers(fixture: &Fixture, words: &[&str]) -> Vec<String> {
    let mut command = fixture.command(&fixture.binary);
    command.env("PATH", "/nowhere").env("PROEM_COMPLETE", "bash");
    command.env("_PROEM_LINE", format!("proem {}", words.join(" "))).env("_PROEM_CURRENT", words.last().unwrap());
    let output = command.args(["--", "complete"]).stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.split('\u{b}').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A user with a book and a model, in a repository with a book that somebody else wrote.
fn scene() -> Fixture {
    let fixture = Fixture::folder().committed();
    fixture.configure("book/own/thing/1.0.0.prompt", PROMPT);
    fixture.configure("book/own/$(touch pwned)/1.0.0.prompt", PROMPT);
    fixture.configure(
        "config.toml",
        "[providers.local]\nbase_url = \"http://127.0.0.1:1/v1\"\n[providers.local.models.tiny]\n",
    );
    fixture.write(".proem/book/theirs/evil/1.0.0.prompt", PROMPT);
    fixture.write("proem.toml", "[roles]\nnobodys = \"local/tiny\"\n");
    fixture.write("notes/$(touch pwned).md", "x\n");
    fixture.write("notes/plain.md", "x\n");
    fixture
}

#[test]
fn names_come_from_layers_that_count_and_no_process_is_started() {
    let fixture = scene();
    let rows: [(&[&str], &[&str]); 11] = [
        (&["run", "own/"], &["own/thing"]),
        (&["book", "show", "risk/d"], &["risk/decision"]),
        (&["book", "show", "own/thing@"], &["own/thing@1.0.0"]),
        (&["run", "theirs/"], &[]),
        (&["run", "x", "--model", "local/"], &["local/tiny"]),
        (&["run", "x", "--model", "nobod"], &[]),
        (&["run", "x", "--provider", "l"], &["local"]),
        (&["scan", "notes/p"], &["notes/plain.md"]),
        (&["scan", "notes/$"], &[]),
        (&["lisp", "doc", "group-"], &["group-by"]),
        (&["lisp", "run", "notes/p"], &["notes/plain.md"]),
    ];
    for (words, expected) in rows {
        assert_eq!(completion_offers(&fixture, words), expected, "{words:?}");
    }
    assert!(completion_offers(&fixture, &["do"]).contains(&"doctor".to_owned()));
    assert!(completion_offers(&fixture, &["run", "x", "--mod"]).contains(&"--model".to_owned()));
    let all = [completion_offers(&fixture, &["run", ""]), completion_offers(&fixture, &["scan", "notes/"])].concat();
    assert!(all.iter().all(|name| !name.contains(['$', ' ', '('])), "{all:?}");
    // Nothing was written by looking: no key, no records.
    assert!(!fixture.base.join("state/proem").exists());
}

#[test]
fn what_is_trusted_by_its_hash_is_named_and_runs_are() {
    let fixture = scene();
    let assembled = fixture.proem(&["assemble", "mend the clock"]);
    assert_eq!(assembled.code(), 0, "{}", assembled.transcript());
    let runs = completion_offers(&fixture, &["runs", "show", ""]);
    let runs: Vec<&String> = runs.iter().filter(|name| !name.starts_with('-')).collect();
    assert_eq!((runs.len(), runs.last().map(|last| last.as_str())), (2, Some("last")), "{runs:?}");
    assert!(runs[0].len() >= 8 && runs[0].bytes().all(|byte| byte.is_ascii_hexdigit()), "{runs:?}");
    let path = ".proem/book/theirs/evil/1.0.0.prompt";
    crate::assemble::trust(&fixture, path);
    assert_eq!(completion_offers(&fixture, &["run", "theirs/"]), ["theirs/evil"]);
    // From a folder below, too, and in a work tree of its own.
    fixture.commit("begin");
    fixture.git(&["worktree", "add", "-q", "../other"]);
    for folder in [fixture.repo.join("src"), fixture.base.join("other")] {
        let mut command = fixture.command(&fixture.binary);
        command.current_dir(folder).env("PATH", "/nowhere").env("PROEM_COMPLETE", "fish");
        let output = command.args(["--", "proem", "run", "theirs/"]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "theirs/evil");
    }
    fixture.write(path, PROMPT.replace("brief", "evil"));
    assert_eq!(completion_offers(&fixture, &["run", "theirs/"]), [""; 0]);
}

/// A shell of this machine, said out loud if it isn't there.
fn shell_path(name: &str) -> Option<String> {
    let found = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
        .iter()
        .map(|folder| format!("{folder}/{name}"))
        .find(|path| Path::new(path).is_file());
    if found.is_none() {
        skip("shell", format!("this machine has no {name}"));
    }
    found
}

/// Presses keys in a shell that has loaded the script, until each text is there.
fn pressed(name: &str, args: &[&str], begin: &dyn Fn(&str) -> String, rows: &[(&str, &str)]) {
    let Some(path) = shell_path(name) else { return };
    let mut fixture = scene();
    let folder = Path::new(env!("CARGO_BIN_EXE_proem")).parent().unwrap().to_str().unwrap();
    fixture.set("PATH", format!("{folder}:/usr/bin:/bin"));
    fixture.set("TERM", "dumb");
    fixture.set("PS1", "$ ");
    let script = fixture.base.join("script");
    fs::write(&script, fixture.proem(&["completions", name]).answer()).unwrap();
    let mut command = fixture.command(path);
    command.args(args);
    let Some(mut terminal) = start_on(WIDE, command) else { return };
    terminal.press(&format!("{}; echo rea''dy\n", begin(script.to_str().unwrap())));
    terminal.until("ready");
    for (keys, expected) in rows {
        terminal.press(&format!("{keys}\t"));
        terminal.until(expected);
        // A line of its own for each.
        terminal.press("\u{15}");
    }
    terminal.press("exit\n");
    terminal.end();
    assert!(!fixture.repo.join("pwned").exists());
}

#[test]
fn in_bash() {
    let begin = |script: &str| format!("source {script}");
    let rows = [
        ("proem run own/t", "proem run own/thing"),
        ("proem book show own/thing@", "own/thing@1.0.0"),
        ("proem run x --model=local/t", "--model=local/tiny"),
        ("proem scan notes/p", "notes/plain.md"),
        ("proem doct", "proem doctor"),
    ];
    pressed("bash", &["--norc", "--noprofile", "-i"], &begin, &rows);
}

#[test]
fn in_zsh() {
    let begin = |script: &str| format!("autoload -U compinit; compinit -u -D; source {script}");
    let rows = [
        ("proem run own/t", "proem run own/thing"),
        ("proem book show own/thing@", "own/thing@1.0.0"),
        ("proem scan notes/p", "notes/plain.md"),
    ];
    pressed("zsh", &["-f", "-i"], &begin, &rows);
}

/// Fish says what it would offer without a terminal.
#[test]
fn in_fish() {
    let Some(path) = shell_path("fish") else { return };
    let mut fixture = scene();
    let folder = Path::new(env!("CARGO_BIN_EXE_proem")).parent().unwrap().to_str().unwrap();
    fixture.set("PATH", format!("{folder}:/usr/bin:/bin"));
    let script = fixture.base.join("script");
    fs::write(&script, fixture.proem(&["completions", "fish"]).answer()).unwrap();
    for (line, expected) in [
        ("proem run own/", "own/thing"),
        ("proem run x --model local/", "local/tiny"),
        ("proem scan notes/p", "notes/plain.md"),
    ] {
        let asked = format!("source {}; complete -C '{line}'", script.display());
        let output = fixture.command(&path).args(["--no-config", "-c", &asked]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> = text.lines().map(|line| line.split('\t').next().unwrap()).collect();
        assert_eq!(names, [expected], "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
