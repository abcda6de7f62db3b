//! Uncommitted changes, and what is said when they can't be found out.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, time::Duration};

use proem_agents::assemble::place_facts::{ChangedPath, DiffStat, PathStatus, PlaceFacts, WorkTree};
use proem_runtime::{TrustedFile, gather_facts};
use sha2::{Digest as _, Sha256};

use crate::fixture::{Fixture, assert_text, git_of, said};

fn work_tree(gathered: &PlaceFacts) -> &WorkTree {
    git_of(gathered).work_tree.as_ref().unwrap()
}

fn changes(gathered: &PlaceFacts) -> &[ChangedPath] {
    work_tree(gathered).changes.as_ref().unwrap()
}

/// A path, what happened to it, and its lines.
type Expected<'a> = (&'a str, PathStatus, Option<(u64, u64)>);

#[track_caller]
fn assert_changes(gathered: &PlaceFacts, expected: &[Expected<'_>]) {
    let found = changes(gathered);
    for (change, (path, status, lines)) in found.iter().zip(expected) {
        assert_text(&change.path, path, "git/paths");
        assert_eq!((change.status, change.lines), (*status, *lines), "{path}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn what_proem_wrote_is_no_change_until_somebody_edits_it() {
    let fixture = Fixture::committed();
    let mut options = fixture.options();
    for path in ["proem.toml", ".proem/book/book.toml", ".proem/rules.md", "staged.toml"] {
        fixture.write(path, "as written\n");
        let hash = proem_text::hex::encode_hex(Sha256::digest("as written\n"));
        options.set_up.insert(TrustedFile { name: path.to_owned(), hash });
    }
    fixture.write("mine.toml", "as written\n");
    fixture.git(&["add", "staged.toml"]);
    let seen = || {
        let gathered = gather_facts(&fixture.repo, &options).unwrap();
        let tree = work_tree(&gathered).clone();
        let paths: Vec<String> = changes(&gathered)
            .iter()
            .map(|change| proem_guard::show::terminal_text(&change.path).into_string())
            .collect();
        (tree.staged.unwrap().files, tree.unstaged.unwrap().files, tree.untracked.unwrap(), paths.join(" "))
    };
    assert_eq!(seen(), (0, 0, 1, "mine.toml".to_owned()));
    fixture.write(".proem/rules.md", "edited\n");
    fixture.write("staged.toml", "edited\n");
    assert_eq!(seen(), (1, 1, 2, ".proem/rules.md mine.toml staged.toml".to_owned()));
    // A file that was committed and then restored to the written state is somebody's change.
    fixture.git(&["add", "."]);
    fixture.commit("set up");
    fixture.write("staged.toml", "as written\n");
    assert_eq!(seen(), (0, 1, 0, "staged.toml".to_owned()));
}

#[test]
fn every_kind_of_change_is_counted() {
    let fixture = Fixture::committed();
    fixture.write("both", "1\n2\n");
    fixture.write("gone", "1\n");
    fixture.write("old name", "1\n2\n3\n4\n5\n6\n7\n8\n");
    fixture.write("picture", b"\0\x01");
    fixture.write("touched", b"\0\x02");
    fixture.write("script", "");
    fixture.commit("more");
    fixture.write("both", "1\n2\n3\n");
    fixture.git(&["add", "both"]);
    fixture.write("both", "1\n3\n");
    fs::remove_file(fixture.repo.join("gone")).unwrap();
    fixture.git(&["mv", "old name", "new name"]);
    fixture.write("picture", b"\0\x03");
    fixture.write("added", "a\nb\n");
    fixture.git(&["add", "added"]);
    fixture.git(&["update-index", "--chmod=+x", "script"]);
    // Another time without another content is no change.
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1);
    fs::File::options().write(true).open(fixture.repo.join("touched")).unwrap().set_modified(long_ago).unwrap();
    fixture.write("new/file", "x");
    fixture.write("new/other", "x");
    fixture.write(".gitignore", "ignored\n");
    fixture.write("ignored", "x");
    let index = fs::read(fixture.repo.join(".git/index")).unwrap();
    let gathered = fixture.gather();
    assert_eq!(fs::read(fixture.repo.join(".git/index")).unwrap(), index, "the index was written");
    assert_changes(
        &gathered,
        &[
            (".gitignore", PathStatus::Untracked, None),
            ("added", PathStatus::Added, Some((2, 0))),
            ("both", PathStatus::Modified, Some((1, 1))),
            ("gone", PathStatus::Deleted, Some((0, 1))),
            ("new name", PathStatus::Renamed, Some((0, 0))),
            ("new/file", PathStatus::Untracked, None),
            ("new/other", PathStatus::Untracked, None),
            ("picture", PathStatus::Modified, None),
            ("script", PathStatus::Modified, Some((0, 0))),
        ],
    );
    let found = work_tree(&gathered);
    assert_eq!(found.staged, Some(DiffStat { files: 4, insertions: 3, deletions: 0, binary: 0 }));
    assert_eq!(found.unstaged, Some(DiffStat { files: 4, insertions: 0, deletions: 2, binary: 1 }));
    assert_eq!(found.untracked, Some(3));
    assert_eq!(gathered.gaps, []);
}

#[test]
fn before_the_first_commit_everything_staged_is_added() {
    let fixture = Fixture::unborn();
    fixture.write("a", "1\n2\n");
    fixture.git(&["add", "a"]);
    let gathered = fixture.gather();
    assert_changes(&gathered, &[("a", PathStatus::Added, Some((2, 0)))]);
    assert_eq!(gathered.gaps, []);
}

#[test]
fn a_conflict_belongs_to_neither_side() {
    let fixture = Fixture::committed();
    fixture.git(&["checkout", "-q", "-b", "other"]);
    fixture.write("a.txt", "theirs\n");
    fixture.commit("theirs");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("a.txt", "ours\n");
    fixture.commit("ours");
    fixture.try_git(&["merge", "other"]);
    let gathered = fixture.gather();
    assert_changes(&gathered, &[("a.txt", PathStatus::Unmerged, None)]);
    assert_eq!(work_tree(&gathered).staged, Some(DiffStat::default()));
    assert_eq!(work_tree(&gathered).unstaged, Some(DiffStat::default()));
}

#[test]
fn a_file_that_became_a_link_changed_its_type() {
    let fixture = Fixture::committed();
    fs::remove_file(fixture.repo.join("a.txt")).unwrap();
    crate::fixture::link("elsewhere", fixture.repo.join("a.txt"));
    assert_changes(&fixture.gather(), &[("a.txt", PathStatus::TypeChanged, Some((1, 1)))]);
}

#[test]
fn names_are_what_they_are() {
    let fixture = Fixture::committed();
    let names = ["a\nb", "c\u{1b}[31m", "d\u{202e}cod.exe", "e\" 'f", "g\tz"];
    for name in names {
        fixture.write(name, "x");
    }
    fs::write(fixture.repo.join(OsStr::from_bytes(b"h\xff")), "x").unwrap();
    let gathered = fixture.gather();
    let expected: Vec<_> =
        names.into_iter().chain(["\"h\\377\""]).map(|name| (name, PathStatus::Untracked, None)).collect();
    assert_changes(&gathered, &expected);
    fixture.git(&["add", "-A"]);
    let expected: Vec<_> = expected.into_iter().map(|(name, ..)| (name, PathStatus::Added, Some((1, 0)))).collect();
    assert_changes(&fixture.gather(), &expected);
}

#[test]
fn paths_beyond_the_cap_are_counted_and_said() {
    let fixture = Fixture::committed();
    for n in 0..5 {
        fixture.write(&format!("new{n}"), "x");
    }
    let mut options = fixture.options();
    options.limits.paths = 2;
    let gathered = gather_facts(&fixture.repo, &options).unwrap();
    assert_changes(&gathered, &[("new0", PathStatus::Untracked, None), ("new1", PathStatus::Untracked, None)]);
    assert_eq!(work_tree(&gathered).untracked, Some(5));
    assert_eq!(said(&gathered.gaps), ["changed paths: only the first 2 of 5 are listed"]);
}

#[test]
fn more_output_than_allowed_is_a_gap_and_no_number() {
    let fixture = Fixture::committed();
    for n in 0..100 {
        fixture.write(&format!("{n:0>60}"), "x");
    }
    let mut options = fixture.options();
    options.limits.output_bytes = 3000;
    let gathered = gather_facts(&fixture.repo, &options).unwrap();
    assert_eq!((work_tree(&gathered).untracked, changes(&gathered).len()), (None, 49));
    let why = "untracked files: there are more than 49; add irrelevant files to `.gitignore`";
    assert_eq!(said(&gathered.gaps), [why]);

    fixture.git(&["add", "-A"]);
    let gathered = gather_facts(&fixture.repo, &options).unwrap();
    let found = work_tree(&gathered);
    assert_eq!((found.staged, found.unstaged, found.untracked), (None, None, Some(0)));
    assert_eq!(
        said(&gathered.gaps),
        [
            "changed files: only the first 16 could be read; commit or revert some",
            "staged lines: the list of changed files is not complete",
            "unstaged lines: the list of changed files is not complete",
        ]
    );

    options.limits.output_bytes = 60;
    let gathered = gather_facts(&fixture.repo, &options).unwrap();
    assert_eq!(work_tree(&gathered).changes, None);
    let why = "upstream and uncommitted changes: `git config` printed more than the limit of 60 bytes; run \
               `GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git --no-optional-locks --no-pager -c core.fsmonitor=false \
               -c core.hooksPath=/dev/null -c log.showSignature=false config` to see its output";
    assert_eq!(said(&gathered.gaps), [why]);
}

/// A diff of such a file would be as large as the file. Git is told not to make one.
#[test]
fn a_huge_text_is_changed_and_its_lines_are_not_counted() {
    let fixture = Fixture::committed();
    let huge = "a line of text\n".repeat(33 * 1024 * 1024 / 15 + 1);
    fixture.write("huge.txt", &huge);
    fixture.commit("huge");
    fixture.write("huge.txt", format!("{huge}one more\n"));
    let gathered = fixture.gather();
    assert_changes(&gathered, &[("huge.txt", PathStatus::Modified, None)]);
    let stat = DiffStat { files: 1, insertions: 0, deletions: 0, binary: 1 };
    assert_eq!(work_tree(&gathered).unstaged, Some(stat));
}

#[test]
fn without_time_nothing_is_known_and_nothing_is_zero() {
    let fixture = Fixture::committed();
    let mut options = fixture.options();
    options.limits.changes_time = Duration::ZERO;
    let gathered = gather_facts(&fixture.repo, &options).unwrap();
    assert!(git_of(&gathered).commit.is_some());
    let nothing = WorkTree { staged: None, unstaged: None, untracked: None, changes: None };
    assert_eq!(work_tree(&gathered), &nothing);
    let time = "took longer than the 0 ms it may take; ignore large files and folders in `.gitignore`, or raise `git.question_seconds` or `git.history_seconds` in your configuration";
    assert_eq!(said(&gathered.gaps), [format!("upstream and uncommitted changes: `git config` {time}")]);

    options.limits.repository_time = Duration::ZERO;
    fixture.write("AGENTS.md", "hello");
    let gathered = gather_facts(&fixture.repo, &options).unwrap();
    assert_eq!((gathered.git, gathered.rule_files.len()), (None, 0));
    assert_eq!(said(&gathered.gaps), [format!("repository, rule files and memories: `git rev-parse` {time}")]);
}

#[test]
fn a_broken_index_is_a_gap() {
    let fixture = Fixture::committed();
    fixture.write(".git/index", "garbage");
    fixture.write("AGENTS.md", "still read");
    fixture.write(".proem/private/memory.jsonl", r#"{"text":"a","kind":"k"}"#);
    let gathered = fixture.gather();
    assert!(git_of(&gathered).commit.is_some());
    assert_eq!(work_tree(&gathered).changes, None);
    assert_eq!((gathered.rule_files.len(), gathered.memories.len()), (1, 0));
    assert_eq!(
        said(&gathered.gaps),
        [
            "upstream and changed files: `git status` failed with exit code 128; `GIT_ALLOW_PROTOCOL=none \
             GIT_NO_LAZY_FETCH=1 git -c core.fsmonitor=false -c core.hooksPath=/dev/null fsck` finds the damage",
            "untracked files: `git ls-files` failed with exit code 128; `GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git -c core.fsmonitor=false -c core.hooksPath=/dev/null fsck` finds the damage",
            "outline of the repository: `git ls-files` failed with exit code 128; `GIT_ALLOW_PROTOCOL=none \
             GIT_NO_LAZY_FETCH=1 git -c core.fsmonitor=false -c core.hooksPath=/dev/null fsck` finds the damage",
            "memories and activity: `git ls-files` failed with exit code 128; `GIT_ALLOW_PROTOCOL=none \
             GIT_NO_LAZY_FETCH=1 git -c core.fsmonitor=false -c core.hooksPath=/dev/null fsck` finds the damage",
        ]
    );
    assert!(gathered.gaps[0].about.as_ref().unwrap().measure(|said| said.contains("index")));
}
