//! Files that git would wait for, at each place where it opens one: a named pipe, or a device that never ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use proem_app::project::{BookReading, OpenProject};

use crate::Home;

/// The longest that opening a project may take.
const LONGEST: Duration = Duration::from_secs(15);

/// So long that a git which waits is not ended by it within a test.
const PATIENT: &str = "[git]\nquestion_seconds = 600\nhistory_seconds = 600\n";

/// The places where git opens files, and the setting that leads there, if one does.
const GITS: [(&str, Option<&str>); 28] = [
    (".gitattributes", None),
    (".gitignore", None),
    (".mailmap", None),
    (".git/info/attributes", None),
    (".git/info/exclude", None),
    (".git/info/grafts", None),
    (".git/objects/info/alternates", None),
    (".git/objects/pack/pack-0.idx", None),
    (".git/shallow", None),
    (".git/packed-refs", None),
    (".git/index", None),
    (".git/HEAD", None),
    (".git/config", None),
    (".git/commondir", None),
    ("odd", Some("core.attributesFile")),
    ("odd", Some("core.excludesFile")),
    ("odd", Some("mailmap.file")),
    (".gitmodules", None),
    (".git/config.worktree", None),
    (".git/refs/heads/topic/deep", None),
    (".git/worktrees/other/HEAD", None),
    (".git/rebase-merge/head-name", None),
    ("odd", Some("include.path")),
    ("odd", Some("includeIf.onbranch:nowhere.path")),
    ("odd", Some("diff.orderFile")),
    ("odd", Some("blame.ignoreRevsFile")),
    ("odd", Some("commit.template")),
    ("odd", Some("gpg.ssh.allowedSignersFile")),
];

/// Puts a named pipe, or a link to a device, where a file should be.
fn make_special(path: &Path, kind: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    _ = fs::remove_file(path);
    match kind {
        "a named pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        _ => symlink("/dev/zero", path).unwrap(),
    }
}

/// Why a project can't be opened. Git must not be waited for.
fn opening_error(home: &Home) -> String {
    let (sender, receiver) = mpsc::channel();
    let (places, work) = (home.places.clone(), home.work.clone());
    std::thread::spawn(move || {
        let opened = OpenProject::open(&work, &places, BookReading::Trusted);
        sender.send(opened.err().map(|error| error.to_string()))
    });
    let refused = receiver.recv_timeout(LONGEST);
    assert!(refused.is_ok(), "git waits");
    refused.unwrap().unwrap_or_default()
}

#[test]
fn a_project_is_not_opened_where_git_would_wait() {
    for kind in ["a named pipe", "a device"] {
        for (place, setting) in GITS {
            let home = Home::with_repository(PATIENT);
            home.write("README.md", "# Clock\n");
            home.commit("first");
            home.write("README.md", "changed\n");
            if let Some(setting) = setting {
                home.git(&["config", setting, home.work.join(place).to_str().unwrap()]);
            }
            make_special(&home.work.join(place), kind);
            let refused = opening_error(&home);
            assert!(refused.contains(kind), "{place}: {refused}");
        }
    }
}

/// A regular file for us can be a pipe for git: both have a standard output, and another one each.
#[test]
fn descriptors_are_no_files_of_git() {
    for setting in ["include.path", "core.excludesFile", "core.attributesFile"] {
        for descriptor in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr", "link"] {
            let home = Home::with_repository(PATIENT);
            home.write("README.md", "# Clock\n");
            home.commit("first");
            let mut named = Path::new(descriptor).to_path_buf();
            if descriptor == "link" {
                named = home.work.join(".git/link");
                symlink("/dev/stdout", &named).unwrap();
            }
            home.git(&["config", setting, named.to_str().unwrap()]);
            let refused = opening_error(&home);
            assert!(refused.contains("is a device"), "{setting} {descriptor}: {refused}");
        }
    }
}
