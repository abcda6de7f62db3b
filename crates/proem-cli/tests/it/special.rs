//! Named pipes and devices where files are opened: as an argument, in the user's folders, in a repository.
//!
//! Opening a pipe means waiting until somebody writes into it, which nobody does here: a command that opens one never
//! ends, and its test is over after the time below.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::fixture::Fixture;
use crate::run::{fixture, start};

/// The longest that a command may take.
const LONGEST: Duration = Duration::from_secs(15);

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn device(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    _ = fs::remove_file(path);
    symlink("/dev/zero", path).unwrap();
}

/// Puts something where a file should be.
type Make = fn(&Path);

/// The kinds of entry, and their names.
const KINDS: [(Make, &str); 2] = [(pipe, "a named pipe"), (device, "a device")];

/// Exit code, standard output and standard error of a command. One that doesn't end is a failure.
fn run_within(fixture: &Fixture, args: &[&str]) -> (i32, String, String) {
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    let child: Child =
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let ended = receiver.recv_timeout(LONGEST);
    if ended.is_err() {
        _ = Command::new("kill").args(["-9", &id]).status();
    }
    assert!(ended.is_ok(), "{args:?} does not end");
    let output = ended.unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A command has to refuse what is there, in words.
#[track_caller]
fn refused(fixture: &Fixture, args: &[&str], kind: &str) {
    let (code, stdout, stderr) = run_within(fixture, args);
    assert!((1..=3).contains(&code), "{args:?} ended with {code}: {stdout}{stderr}");
    assert!(stderr.contains(kind), "{args:?}: {stderr}");
}

#[test]
fn arguments() {
    let server = start(vec![]);
    for (make, kind) in KINDS {
        let fixture = fixture(&server, "").committed();
        make(&fixture.repo.join("odd.jsonl"));
        make(&fixture.repo.join("tapes/0001-00-00.json"));
        make(&fixture.repo.join("book/assemble/task/9.0.0.prompt"));
        fixture.write("rows.jsonl", "{\"title\": \"a\"}\n");
        fixture.write("history.json", "[]\n");
        make(&fixture.repo.join("out.jsonl"));
        for args in [
            &["run", "reviews/strict", "--input", "odd.jsonl"][..],
            &["run", "reviews/strict", "--batch", "odd.jsonl"],
            &["run", "reviews/strict", "--batch", "rows.jsonl", "--out", "out.jsonl"],
            &["run", "reviews/strict", "--set", "title=x", "--replay", "tapes"],
            &["tokens", "odd.jsonl"],
            &["scan", "odd.jsonl"],
            &["scan", "--jsonl", "odd.jsonl"],
            &["scan", "--calibrate", "odd.jsonl"],
            &["select", "--queries", "odd.jsonl"],
            &["select", "mend it", "--catalogue", "odd.jsonl"],
            &["select", "mend it", "--usage", "odd.jsonl"],
            &["adapt", "--history", "odd.jsonl"],
            &["adapt", "--signals", "odd.jsonl"],
            &["adapt", "--history", "history.json", "--registry", "odd.jsonl"],
            &["risk", "--incidents", "odd.jsonl"],
            &["risk", "--coverage", "odd.jsonl"],
            &["lisp", "run", "odd.jsonl"],
            &["lisp", "check", "odd.jsonl"],
            &["lisp", "run", "-e", "1", "--input", "odd.jsonl"],
        ] {
            refused(&fixture, args, kind);
        }
        // These follow no link, and say so before they see what it leads to.
        refused(&fixture, &["init", "--from", "odd.jsonl"], "odd.jsonl");
        refused(&fixture, &["trust", "odd.jsonl"], "odd.jsonl");
        refused(&fixture, &["lisp", "run", "-e", "1", "--memory", "odd.jsonl"], "odd.jsonl");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn the_users_own_files() {
    for (make, kind) in KINDS {
        for place in [
            "config/proem/config.toml",
            "config/proem/guard/verdicts.tsv",
            "state/proem/records.db",
            "state/proem/records.db-wal",
            "state/proem/records.db.epochs/opening",
            "state/proem/trust.json",
            "key",
        ] {
            let fixture = Fixture::folder().committed();
            make(&fixture.base.join(place));
            let state = fixture.base.join("state/proem");
            if state.exists() {
                fs::set_permissions(state, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
            }
            let (code, _, stderr) = run_within(&fixture, &["assemble", "mend the clock"]);
            let name = Path::new(place).file_name().unwrap().to_str().unwrap();
            let (shown, said) = (name.trim_end_matches("-wal"), ["link", "regular file", kind, "no file"]);
            assert!(stderr.contains(shown) || stderr.contains("records.db"), "{place} ({code}): {stderr}");
            assert!(said.iter().any(|said| stderr.contains(said)), "{place} ({code}): {stderr}");
        }
    }
}

/// So long that a git which waits is not ended by it within a test.
const PATIENT: &str = "[git]\nquestion_seconds = 600\nhistory_seconds = 600\n";

/// Forms of commands that start git.
const STARTING: [&[&str]; 11] = [
    &["assemble", "mend the clock"],
    &["risk"],
    &["risk", "HEAD"],
    &["risk", "--staged"],
    &["risk", "--worktree"],
    &["risk", "--since", "2000-01-01"],
    &["trust", "list"],
    &["book", "list"],
    &["catalogue", "list"],
    &["select", "mend it"],
    &["init"],
];

/// Each place at which git opens files is tried by a test of the use case that opens a project.
#[test]
fn every_command_refuses_what_git_would_wait_for_before_git_starts() {
    for (make, kind) in KINDS {
        let fixture = Fixture::folder().committed();
        fixture.configure("config.toml", PATIENT);
        fixture.write("README.md", "changed\n");
        make(&fixture.repo.join(".gitattributes"));
        STARTING.iter().for_each(|args| refused(&fixture, args, kind));
    }
}

#[test]
fn includes_of_includes_are_looked_at() {
    // Of the repository, and of the user. Both ends of the chain are relative to the file that names them.
    for (make, kind) in KINDS {
        let fixture = Fixture::folder().committed();
        fixture.configure("config.toml", PATIENT);
        fixture.git(&["config", "include.path", "one"]);
        fixture.write(".git/one", "[include]\n\tpath = \\\n\"more/two\" ; a comment\n");
        fixture.write(".git/more/two", "[CORE]\r\n\texcludesFile = ~/odd\r\n");
        make(&fixture.base.join("home/odd"));
        refused(&fixture, &["risk"], kind);
        let fixture = Fixture::folder().committed();
        fixture.configure("config.toml", PATIENT);
        fs::write(fixture.base.join("home/.gitconfig"), "[includeIf \"gitdir:/a]b/\"] path = odd\n").unwrap();
        make(&fixture.base.join("home/odd"));
        refused(&fixture, &["risk"], kind);
    }
}

/// A regular file for us can be a pipe for git: both have a standard output, and another one each. Each setting and each name
/// of a descriptor is tried by a test of the use case.
#[test]
fn descriptors_are_no_files_of_git() {
    let fixture = Fixture::folder().committed();
    fixture.configure("config.toml", PATIENT);
    fixture.git(&["config", "include.path", "/dev/stdout"]);
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    let out = |name: &str| fs::File::create(fixture.base.join(name)).unwrap();
    command.args(["risk", "--worktree"]).stdin(Stdio::null()).stdout(out("out")).stderr(out("err"));
    let mut child = command.spawn().unwrap();
    let id = child.id().to_string();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait()));
    let ended = receiver.recv_timeout(LONGEST);
    if ended.is_err() {
        _ = Command::new("kill").args(["-9", &id]).status();
    }
    let said = fs::read_to_string(fixture.base.join("err")).unwrap();
    assert!(ended.is_ok_and(|code| !code.unwrap().success()), "{said}");
    assert!(said.contains("is a device"), "{said}");
}

#[test]
fn a_linked_work_tree_and_a_pipe_for_a_repository_are_refused() {
    let fixture = Fixture::folder().committed();
    fixture.configure("config.toml", PATIENT);
    let linked = fixture.base.join("linked");
    fixture.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let root = linked.to_str().unwrap().to_owned();
    for (place, named) in [
        (fixture.repo.join(".git/worktrees/linked/index"), "linked/index"),
        (fixture.repo.join(".git/worktrees/linked/commondir"), "linked/commondir"),
        (linked.join(".git"), "linked/.git"),
    ] {
        let kept = fs::read(&place).unwrap();
        pipe(&place);
        refused(&fixture, &["risk", "HEAD", "--root", &root], &format!("{named}` is a named pipe"));
        fs::remove_file(&place).unwrap();
        fs::write(&place, kept).unwrap();
    }
    let odd = fixture.base.join("odd");
    pipe(&odd);
    let mut fixture = fixture;
    fixture.set("GIT_CONFIG_GLOBAL", odd.as_os_str());
    refused(&fixture, &["risk", "HEAD"], "odd` is a named pipe");
}

#[test]
fn pipes_in_a_submodule_are_refused() {
    for place in ["sub/.gitattributes", ".git/modules/sub/info/exclude", ".git/modules/sub/HEAD"] {
        let fixture = Fixture::folder().committed();
        fixture.configure("config.toml", PATIENT);
        let other = fixture.base.join("other");
        let other = other.to_str().unwrap();
        fixture.git(&["init", "-q", other]);
        fixture.git(&["-C", other, "commit", "-q", "--allow-empty", "-m", "first"]);
        fixture.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "sub"]);
        fixture.commit("sub");
        fixture.write("sub/new.md", "x\n");
        pipe(&fixture.repo.join(place));
        // The command ends, whatever git makes of the submodule.
        let (code, stdout, stderr) = run_within(&fixture, &["risk", "--worktree"]);
        assert!(code == 0 || stderr.contains("is a named pipe"), "{place}: {code} {stdout}{stderr}");
    }
}

#[test]
fn a_loop_of_includes_ends() {
    let fixture = Fixture::folder().committed();
    fixture.write(".git/one", "[include]\npath = two\n");
    fixture.write(".git/two", "[include]\npath = one\npath = two\n");
    fixture.git(&["config", "include.path", "one"]);
    let (code, _, stderr) = run_within(&fixture, &["risk", "HEAD"]);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("git"), "{stderr}");
}

#[test]
fn what_git_opens_anywhere_is_found_when_it_says_nothing() {
    // Folders below the root, tracked and not, and a loose object.
    let places: [(&str, &[&str], &str); 3] = [
        ("src/.gitattributes", &["risk", "--worktree"], "src/.gitattributes` is a named pipe"),
        ("new/.gitignore", &["assemble", "mend the clock"], "new/.gitignore` is a named pipe"),
        ("object", &["risk", "HEAD"], "is a named pipe"),
    ];
    for (place, args, expected) in places {
        let fixture = Fixture::folder().committed();
        fixture.configure("config.toml", PATIENT);
        fixture.write("src/main.rs", "fn main() {}\n");
        fixture.write("new/file", "new\n");
        match place {
            "object" => {
                let id = fixture.git(&["rev-parse", "HEAD:README.md"]);
                let (folder, name) = id.trim().split_at(2);
                pipe(&fixture.repo.join(".git/objects").join(folder).join(name));
            }
            place => pipe(&fixture.repo.join(place)),
        }
        refused(&fixture, args, expected);
    }
}

#[test]
fn alternates_of_alternates_are_looked_at() {
    let fixture = Fixture::folder().committed();
    let objects = |name: &str| fixture.base.join(name).join("objects");
    for (name, next) in [("one", "two"), ("two", "three")] {
        fs::create_dir_all(objects(name).join("info")).unwrap();
        fs::write(objects(name).join("info/alternates"), format!("{}\n", objects(next).display())).unwrap();
    }
    fixture.write(".git/objects/info/alternates", format!("{}\n", objects("one").display()));
    pipe(&objects("three").join("info/alternates"));
    refused(&fixture, &["risk", "HEAD"], "three/objects/info/alternates` is a named pipe");
}

#[test]
fn what_ends_at_once_is_no_reason_to_refuse() {
    let fixture = Fixture::folder().committed();
    for setting in ["core.attributesFile", "core.excludesFile", "mailmap.file"] {
        fixture.git(&["config", setting, "/dev/null"]);
    }
    symlink("/dev/null", fixture.repo.join(".git/info/attributes")).unwrap();
    for args in [&["assemble", "mend the clock"][..], &["risk", "HEAD"]] {
        let (code, _, stderr) = run_within(&fixture, args);
        assert_eq!(code, 0, "{args:?}: {stderr}");
    }
}
