//! A repository that would make git run something: reading its structure must not.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use proem_runtime::structure::TreeState;

use crate::structure::fixture::{Fixture, edges};

/// A program that leaves a mark when it runs.
fn canary(fixture: &Fixture) -> (String, PathBuf) {
    let (script, mark) = (fixture.base.join("canary.sh"), fixture.base.join("ran"));
    fs::write(&script, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (script.to_str().unwrap().to_owned(), mark)
}

#[test]
fn nothing_of_the_repository_runs() {
    for key in
        ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "core.pager"]
    {
        let fixture = Fixture::committed(&[
            (".gitattributes", "* filter=x diff=x\n"),
            ("a.py", "import b\n"),
            ("b.py", "x = 1\n"),
        ]);
        let (script, mark) = canary(&fixture);
        fixture.git(&["config", key, &script]);
        fixture.write("b.py", "x = 2\n");
        // The same size and another time: git has to look at the content.
        let found = [
            fixture.read(TreeState::WorkTree),
            fixture.read(TreeState::Index),
            fixture.read(TreeState::Commit("HEAD")),
        ];
        assert!(!mark.exists(), "{key} ran");
        for found in found {
            assert_eq!(edges(&found), ["a.py -> b.py"], "{key}");
        }
        if key == "filter.x.clean" {
            fixture.git(&["diff", "--stat"]);
            assert!(mark.exists(), "the trap doesn't work");
        }
    }
}

#[test]
fn hooks_and_committed_caches_are_nothing_special() {
    let fixture = Fixture::committed(&[("a.py", "import b\n"), ("b.py", ""), ("structure-1.bin", "proemst1")]);
    let (script, mark) = canary(&fixture);
    for hook in ["post-index-change", "pre-auto-gc", "reference-transaction", "post-checkout"] {
        fs::create_dir_all(fixture.repo.join(".git/hooks")).unwrap();
        fs::copy(&script, fixture.repo.join(".git/hooks").join(hook)).unwrap();
    }
    assert_eq!(edges(&fixture.read(TreeState::WorkTree)), ["a.py -> b.py"]);
    assert!(!mark.exists());
}
