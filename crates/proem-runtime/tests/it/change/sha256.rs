//! Repositories whose ids are those of SHA-256.

use std::fs;

use proem_risk::change::ChangeKind;
use proem_runtime::change::{CommitSelection, Spec, commits_since, parse_change_spec, read_drawn_commits};

use crate::change::{TEN, change_lines, git, head, id, read, resolve_spec};
use crate::fixture::Fixture;

#[test]
fn an_unborn_branch() {
    let fixture = Fixture::unborn_sha256();
    fixture.write("staged", "1\n");
    fixture.git(&["add", "staged"]);
    fixture.write("untracked", "1\n2\n");
    assert_eq!(change_lines(&read(&fixture, &Spec::Staged)), ["Added staged +1 -0 0..1"]);
    assert_eq!(change_lines(&read(&fixture, &Spec::Auto)), ["Added staged +1 -0 0..1", "Added untracked +2 -0 0..2"]);
}

#[test]
fn commits_ranges_and_what_is_not_committed() {
    let fixture = Fixture::unborn_sha256();
    for (path, content) in [("a.txt", "one\n"), ("b.rs", "fn before() {}\n"), ("moved", TEN), ("gone", "1\n")] {
        fixture.write(path, content);
    }
    fixture.write(".gitattributes", "*.gen linguist-generated\n");
    fixture.commit("first");
    let root = head(&fixture);
    assert_eq!((root.files.len(), root.base, root.id), (5, None, Some(id(&fixture, "HEAD"))));
    assert_eq!(root.id.unwrap().to_string().len(), 64);
    fixture.write("b.rs", "fn after() {}\n");
    fixture.git(&["mv", "moved", "away"]);
    fixture.git(&["rm", "-q", "gone"]);
    fixture.commit("second");
    let expected = ["Renamed moved=>away +0 -0 10..10", "Modified b.rs +1 -1 1..1", "Deleted gone +0 -1 1..0"];
    let change = head(&fixture);
    assert_eq!(
        (change_lines(&change), change.identifiers),
        (expected.map(str::to_owned).to_vec(), vec!["before".to_owned(), "after".to_owned()])
    );
    let digits = change.id.unwrap().to_string();
    let short = digits.get(..9).unwrap();
    assert_eq!(resolve_spec(&fixture, &parse_change_spec(short)).unwrap().id, change.id);
    let range = read(&fixture, &parse_change_spec(&format!("HEAD~1..{short}")));
    assert_eq!(
        (change_lines(&range), range.kind, range.commits),
        (expected.map(str::to_owned).to_vec(), ChangeKind::Range, 1)
    );
    fixture.write("a.txt", "two\n");
    fixture.git(&["add", "a.txt"]);
    fixture.write("a.txt", "three\n");
    fs::rename(fixture.repo.join("away"), fixture.repo.join("back")).unwrap();
    assert_eq!(change_lines(&read(&fixture, &Spec::Staged)), ["Modified a.txt +1 -1 1..1"]);
    assert_eq!(
        change_lines(&read(&fixture, &Spec::WorkTree)),
        ["Modified a.txt +1 -1 1..1", "Renamed away=>back +0 -0 10..10"]
    );
}

#[test]
fn batches_and_past_commits() {
    let fixture = Fixture::unborn_sha256();
    fixture.write("a.txt", "one\n");
    fixture.commit("first");
    fixture.write("a.txt", "two\n");
    fixture.commit("second");
    let (git, repository) = git(&fixture);
    let cache = fixture.base.join("cache");
    let ids = [id(&fixture, "HEAD"), id(&fixture, "HEAD~1")];
    let listed = commits_since(&git, &repository, &CommitSelection::Since(0), 10).unwrap();
    assert_eq!(listed.commits.iter().filter_map(|commit| commit.id).collect::<Vec<_>>(), ids);
    // Read from git, and then from what was kept.
    for _ in 0..2 {
        let drawn = read_drawn_commits(&git, &repository, &ids, Some(&cache)).unwrap();
        let lines = drawn.iter().map(|drawn| drawn.files[0].lines.map(|lines| (lines.added, lines.removed)));
        assert!(lines.eq([Some((1, 1)), Some((1, 0))]), "{drawn:?}");
    }
}
