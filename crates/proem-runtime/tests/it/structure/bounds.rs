//! Limits, and what is missing.

use std::{fs, time::Duration};

use proem_runtime::{
    Error,
    structure::{SourceGap, StructureLimits, TreeState},
};

use crate::fixture::Fixture;
use crate::structure::fixture::edges;

fn files() -> Fixture {
    Fixture::of_files(&[("a.py", "import b, c\n"), ("b.py", "import c\n"), ("c.py", "x = 1\n")])
}

fn check(limits: StructureLimits, unread: [Option<SourceGap>; 3], gap: &str) {
    let fixture = files();
    for at in [TreeState::Commit("HEAD"), TreeState::WorkTree] {
        let found = fixture.try_read(at, limits).unwrap();
        let why: Vec<Option<SourceGap>> = found.files.iter().map(|file| file.unread).collect();
        assert_eq!(why, unread, "{at:?}");
        assert_eq!(found.gaps, [gap], "{at:?}");
        assert!(found.files.iter().all(|file| file.unread.is_none() || file.lines.is_none()));
    }
}

#[test]
fn what_is_beyond_the_limits_is_labelled() {
    let all = StructureLimits::default();
    let late = Some(SourceGap::NotReached);
    let rest = "2 of 3 source files were not read, because an overall limit was reached; their importers are known, \
                their own imports are not";
    check(StructureLimits { files: 1, ..all }, [None, late, late], rest);
    check(StructureLimits { bytes: 5, ..all }, [None, late, late], rest);
    let mut small = all;
    small.source.bytes = 9;
    let large = "1 of 3 source files were too large to be read; their importers are known, their own imports are not";
    check(small, [Some(SourceGap::TooLarge), None, None], large);
}

#[test]
fn a_source_that_takes_too_long_is_given_up() {
    let fixture = Fixture::of_files(&[("a.py", &"f(x)\n".repeat(5000)), ("b.py", "import a\n")]);
    let limits = StructureLimits { parse_time: Duration::ZERO, ..StructureLimits::default() };
    let found = fixture.try_read(TreeState::Commit("HEAD"), limits).unwrap();
    assert_eq!(found.files[0].unread, Some(SourceGap::TimedOut));
    assert_eq!(found.gaps.len(), 1);
}

#[test]
fn a_list_that_is_too_long_or_too_slow_is_an_error() {
    let fixture = files();
    for at in [TreeState::Commit("HEAD"), TreeState::WorkTree] {
        let short = StructureLimits { listing: 10, ..StructureLimits::default() };
        let error = fixture.try_read(at, short).unwrap_err();
        assert!(matches!(error, Error::TooMuchOutput { .. }), "{at:?}: {error}");
        let none = StructureLimits { time: Duration::ZERO, ..StructureLimits::default() };
        let error = fixture.try_read(at, none).unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{at:?}: {error}");
    }
}

#[test]
fn a_blob_that_is_not_here_is_labelled() {
    let fixture = files();
    let id = fixture.git(&["rev-parse", "HEAD:b.py"]);
    let (folder, name) = id.trim().split_at(2);
    fs::remove_file(fixture.repo.join(".git/objects").join(folder).join(name)).unwrap();
    let found = fixture.read(TreeState::Commit("HEAD"));
    assert_eq!(edges(&found), ["a.py -> b.py", "a.py -> c.py"]);
    assert_eq!(found.files.iter().map(|file| file.unread).collect::<Vec<_>>(), [None, Some(SourceGap::Missing), None]);
    assert_eq!(
        found.gaps,
        ["1 of 3 source files were missing from this clone; their importers are known, their own imports are not"]
    );
}

#[test]
fn a_damaged_object_is_an_error_or_labelled_and_never_a_result() {
    let fixture = files();
    let id = fixture.git(&["rev-parse", "HEAD:b.py"]);
    let (folder, name) = id.trim().split_at(2);
    let object = fixture.repo.join(".git/objects").join(folder).join(name);
    fs::remove_file(&object).unwrap();
    fs::write(&object, "junk").unwrap();
    match fixture.try_read(TreeState::Commit("HEAD"), StructureLimits::default()) {
        Ok(found) => assert_eq!(found.files[1].unread, Some(SourceGap::Missing)),
        Err(error) => assert!(matches!(error, Error::GitFailed { command: "cat-file", .. }), "{error}"),
    }
}

#[test]
fn a_project_file_that_cannot_be_read_is_said() {
    let fixture = Fixture::of_files(&[("Cargo.toml", "[package"), ("src/lib.rs", "")]);
    assert_eq!(
        fixture.read(TreeState::WorkTree).gaps,
        ["a project file could not be read: the project file does not have the format that its name implies; \
             imports that need it stay unresolved"]
    );
}
