//! Uncommitted changes: the index as it would be, and files that were moved without telling git.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use proem_runtime::change::Spec;

use crate::change::{TEN, change_lines, read, resolve_spec};
use crate::fixture::{self, Fixture};

const INEXACT: &str = "rename_incomplete: an untracked file may be a deleted file that was renamed and edited; stage \
                       both so that the rename is detected";

/// A repository with these files.
fn committed(files: &[(&str, &[u8])]) -> Fixture {
    let fixture = Fixture::committed();
    for (path, content) in files {
        fixture.write(path, content);
    }
    fixture.commit("before");
    fixture
}

/// Moves a file as a file manager does.
fn move_file(fixture: &Fixture, from: &str, to: &str) {
    let to = fixture.repo.join(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(fixture.repo.join(from), to).unwrap();
}

#[test]
fn what_is_only_intended_to_be_added_is_not_staged() {
    let fixture = committed(&[("b", b"1\n")]);
    fixture.write("intended.rs", "fn intended() {}\n");
    fixture.git(&["add", "-N", "intended.rs"]);
    assert_eq!(change_lines(&read(&fixture, &Spec::Staged)), [""; 0]);
    assert_eq!(change_lines(&read(&fixture, &Spec::WorkTree)), ["Added intended.rs +1 -0 0..1"]);
    fixture.git(&["add", "intended.rs"]);
    fs::remove_file(fixture.repo.join("intended.rs")).unwrap();
    assert_eq!(change_lines(&read(&fixture, &Spec::Staged)), ["Added intended.rs +1 -0 0..1"]);
    assert_eq!(change_lines(&read(&fixture, &Spec::WorkTree)), [""; 0]);
}

#[test]
fn every_path_in_conflict_is_counted_once() {
    let fixture = committed(&[("b", b"1\n"), ("new\nline", b"1\n")]);
    fixture.git(&["checkout", "-q", "-b", "side"]);
    for (branch, content) in [("side", "2\n"), ("main", "3\n")] {
        fixture.git(&["checkout", "-q", branch]);
        for path in ["b", "new\nline", "clean"] {
            fixture.write(path, if path == "clean" { "1\n" } else { content });
        }
        fixture.commit(branch);
    }
    fixture.try_git(&["merge", "-q", "side"]);
    let error = resolve_spec(&fixture, &Spec::Staged).unwrap_err().to_string();
    assert!(error.starts_with("2 paths are in conflict, so what is staged can't be committed; "), "{error}");
    fixture.git(&["add", "-A"]);
    assert_eq!(change_lines(&read(&fixture, &Spec::Staged)).len(), 2);
}

#[test]
fn a_file_that_was_moved_without_git_is_a_rename() {
    let fixture = committed(&[
        ("src/a.rs", b"fn unmistakable() {}\n"),
        ("picture", b"\0\x01"),
        ("ten", TEN.as_bytes()),
        ("empty", b""),
    ]);
    move_file(&fixture, "src/a.rs", "lib/new\n\"a\\.rs");
    move_file(&fixture, "picture", "art/picture");
    let change = read(&fixture, &Spec::WorkTree);
    assert_eq!(
        change_lines(&change),
        ["Renamed picture=>art/picture +? -? ?..?", "Renamed src/a.rs=>lib/new\n\"a\\.rs +0 -0 1..1"]
    );
    // Nothing was written or taken away.
    assert_eq!((change.gaps, change.identifiers), (vec![], vec![]));
    // Edited as well: that is not compared.
    move_file(&fixture, "ten", "eleven");
    fixture.write("eleven", format!("{TEN}11\n"));
    let change = read(&fixture, &Spec::WorkTree);
    assert_eq!(
        change_lines(&change),
        [
            "Renamed picture=>art/picture +? -? ?..?",
            "Added eleven +11 -0 0..11",
            "Renamed src/a.rs=>lib/new\n\"a\\.rs +0 -0 1..1",
            "Deleted ten +0 -10 10..0",
        ]
    );
    assert_eq!(change.gaps, [INEXACT]);
}

#[test]
fn a_moved_file_is_what_git_would_add() {
    let fixture =
        committed(&[(".gitattributes", b"*.txt text eol=crlf\n"), ("b.txt", b"1\r\n2\r\n"), ("c.bin", b"1\r\n")]);
    assert_eq!(fixture.git(&["cat-file", "blob", "HEAD:b.txt"]), "1\n2\n");
    move_file(&fixture, "b.txt", "d.txt");
    move_file(&fixture, "c.bin", "c.txt");
    let change = read(&fixture, &Spec::WorkTree);
    // As text, the content of the other one would be another.
    let expected = ["Deleted c.bin +0 -1 1..0", "Added c.txt +1 -0 0..1", "Renamed b.txt=>d.txt +0 -0 2..2"];
    assert_eq!((change_lines(&change), change.gaps), (expected.map(str::to_owned).to_vec(), vec![INEXACT.to_owned()]));
}

#[test]
fn several_equal_files_are_paired_by_name_and_each_once() {
    let fixture = committed(&[("one/x", b"1\n"), ("one/y", b"1\n"), ("one/z", b"1\n")]);
    for name in ["x", "y", "z"] {
        fs::remove_file(fixture.repo.join("one").join(name)).unwrap();
    }
    fixture.write("two/y", "1\n");
    fixture.write("two/a", "1\n");
    let expected = ["Deleted one/z +0 -1 1..0", "Renamed one/x=>two/a +0 -0 1..1", "Renamed one/y=>two/y +0 -0 1..1"];
    let change = read(&fixture, &Spec::WorkTree);
    assert_eq!((change_lines(&change), change.gaps.len()), (expected.map(str::to_owned).to_vec(), 0));
}

#[test]
fn what_only_left_the_index_did_not_change() {
    let fixture = committed(&[("b", b"1\n"), ("c", b"1\n")]);
    fixture.git(&["rm", "-q", "--cached", "b"]);
    let change = read(&fixture, &Spec::WorkTree);
    assert_eq!((change_lines(&change), change.gaps.len()), (vec![], 0));
    assert_eq!(change_lines(&read(&fixture, &Spec::Staged)), ["Deleted b +0 -1 1..0"]);
}

#[test]
fn links_and_pipes_are_no_moved_files() {
    let fixture = committed(&[("b", b"1\n"), ("to", b"b")]);
    fs::remove_file(fixture.repo.join("b")).unwrap();
    fs::remove_file(fixture.repo.join("to")).unwrap();
    fixture::link("/etc/hostname", fixture.repo.join("link"));
    fixture.write("outside", "");
    fixture::link("b", fixture.repo.join("other"));
    let change = read(&fixture, &Spec::WorkTree);
    assert_eq!(
        change_lines(&change),
        [
            "Deleted b +0 -1 1..0",
            "Added link +? -? 0..? Link",
            "Added other +? -? 0..? Link",
            "Added outside +0 -0 0..0",
            "Deleted to +0 -1 1..0",
        ]
    );
    assert_eq!(change.gaps, [INEXACT]);
}

#[test]
fn paths_that_are_no_text_are_matched_too() {
    let fixture = committed(&[("b", b"1\n")]);
    let name = OsStr::from_bytes(b"\xff\n.rs");
    fs::rename(fixture.repo.join("b"), fixture.repo.join(name)).unwrap();
    let change = read(&fixture, &Spec::WorkTree);
    assert_eq!(change.files.len(), 1);
    assert_eq!(
        (change.files[0].path.as_bytes(), change.files[0].before.as_ref().unwrap().to_text().as_str()),
        (&b"\xff\n.rs"[..], "b")
    );
}
