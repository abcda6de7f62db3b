//! Reading changes: commits, ranges, what is staged and work trees, of all kinds of repositories.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;
mod odd_repositories;
mod sha256;
mod together;
mod uncommitted;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use proem_risk::change::{Change, ChangeKind, ChangedFile, FileKind};
use proem_risk::history::ObjectId;
use proem_risk::path::PathRules;
use proem_risk::sample::DrawnCommit;
use proem_runtime::Error;
use proem_runtime::change::{
    ChangeLimits, CommitSelection, ResolvedChange, Spec, base_attributes, commits_since, parse_change_spec,
    read_change, read_drawn_commits, resolve_change,
};
use proem_runtime::git::{GitProgram, Repository};
use proem_runtime::history::{HistoryWanted, read_repository_history};

use fixture::{Canary, Fixture};

const NOW: i64 = 1_750_000_000;

fn git(fixture: &Fixture) -> (GitProgram, Repository) {
    (fixture.program(), fixture.repository())
}

fn resolve_spec(fixture: &Fixture, spec: &Spec) -> Result<ResolvedChange, Error> {
    let (git, repository) = git(fixture);
    resolve_change(&git, &repository, spec, NOW)
}

fn read(fixture: &Fixture, spec: &Spec) -> Change {
    let (git, repository) = git(fixture);
    let resolved = resolve_change(&git, &repository, spec, NOW).unwrap();
    read_change(&git, &repository, &resolved, &PathRules::shipped().unwrap(), &ChangeLimits::default()).unwrap()
}

fn head(fixture: &Fixture) -> Change {
    read(fixture, &parse_change_spec("HEAD"))
}

fn id(fixture: &Fixture, revision: &str) -> ObjectId {
    ObjectId::parse(fixture.git(&["rev-parse", revision]).trim().as_bytes()).unwrap()
}

/// Each file: status, paths, lines added and removed, lines before and after.
fn change_lines(change: &Change) -> Vec<String> {
    let number = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    let file = |file: &ChangedFile| {
        let before = file.before.as_ref().map(|before| format!("{}=>", before.to_text())).unwrap_or_default();
        let kind = if file.kind == FileKind::Regular { String::new() } else { format!(" {:?}", file.kind) };
        let lines =
            file.lines.map_or_else(|| "+? -?".to_owned(), |lines| format!("+{} -{}", lines.added, lines.removed));
        let (from, to) = (number(file.lines_before), number(file.lines_after));
        format!("{:?} {before}{} {lines} {from}..{to}{kind}", file.status, file.path.to_text())
    };
    change.files.iter().map(file).collect()
}

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

#[test]
fn every_kind_of_change_in_a_commit() {
    let fixture = Fixture::committed();
    for (path, content) in [
        ("changed", "1\n2\n3\n"),
        ("gone", "1\n2"),
        ("moved", "a\nb\n"),
        ("edited", TEN),
        ("script", "x\n"),
        ("kind", "y\n"),
    ] {
        fixture.write(path, content);
    }
    fixture.write("picture", b"\0\x01");
    fixture.write("sub/.keep", "");
    fixture.commit("before");
    fixture.write("changed", "1\ntwo\n3\n4\n");
    fixture.write("new.rs", "fn a() {}\n\nno end");
    fixture.write("empty", "");
    fixture.write("picture", b"\0\x02");
    fixture.git(&["rm", "-q", "gone"]);
    fixture.git(&["mv", "moved", "moved away"]);
    fixture.git(&["mv", "edited", "edited too"]);
    fixture.write("edited too", TEN.replace("5\n", "five\n"));
    fixture.git(&["update-index", "--chmod=+x", "script"]);
    fs::remove_file(fixture.repo.join("kind")).unwrap();
    fixture::link("a.txt", fixture.repo.join("kind"));
    fixture::link("/etc/passwd", fixture.repo.join("link"));
    fixture.git(&["add", "-A"]);
    fixture.git(&["update-index", "--chmod=+x", "script"]);
    let commit = id(&fixture, "HEAD").to_string();
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub/module")]);
    fixture.git(&["commit", "-q", "-m", "  the change\nmore"]);
    let change = head(&fixture);
    assert_eq!(
        change_lines(&change),
        [
            "Modified changed +2 -1 3..4",
            "Renamed edited=>edited too +1 -1 10..10",
            "Added empty +0 -0 0..0",
            "Deleted gone +0 -2 2..0",
            "TypeChanged kind +? -? ?..? Link",
            "Added link +? -? 0..? Link",
            "Renamed moved=>moved away +0 -0 2..2",
            "Added new.rs +3 -0 0..3",
            "Modified picture +? -? ?..?",
            "Modified script +0 -0 1..1",
            "Added sub/module +? -? 0..? Submodule",
        ]
    );
    assert_eq!(
        (change.kind, change.commits, change.is_merge, change.subject.as_str()),
        (ChangeKind::Commit, 1, false, "the change")
    );
    assert_eq!(change.author.unwrap().mail, "ann@example.org");
    assert_eq!(
        (change.at, change.base, change.id),
        (1_704_067_200, Some(id(&fixture, "HEAD~1")), Some(id(&fixture, "HEAD")))
    );
    assert_eq!(change.gaps, [""; 0]);
}

#[test]
fn roots_merges_ranges_and_empty_changes() {
    let fixture = Fixture::committed();
    let root = head(&fixture);
    assert_eq!((change_lines(&root), root.base), (vec!["Added a.txt +1 -0 0..1".to_owned()], None));
    fixture.git(&["checkout", "-q", "-b", "side"]);
    fixture.write("side.txt", "1\n");
    fixture.commit("side one");
    fixture.write("side.txt", "1\n2\n");
    fixture.commit("side two");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("main.txt", "1\n");
    fixture.commit("main one");
    for text in ["main..side", "main...side"] {
        let range = read(&fixture, &parse_change_spec(text));
        assert_eq!(change_lines(&range), ["Added side.txt +2 -0 0..2"], "{text}");
        assert_eq!((range.kind, range.commits, range.base), (ChangeKind::Range, 2, Some(id(&fixture, "HEAD~1"))));
        assert_eq!((range.subject.as_str(), range.author.unwrap().mail.as_str()), ("side two", "ann@example.org"));
    }
    fixture.git(&["merge", "-q", "-m", "merged", "side"]);
    let merge = head(&fixture);
    assert_eq!((change_lines(&merge), merge.is_merge), (vec!["Added side.txt +2 -0 0..2".to_owned()], true));
    assert_eq!(resolve_spec(&fixture, &parse_change_spec("HEAD")).unwrap().said, "the merge, against its first parent");
    fixture.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    assert_eq!(head(&fixture).files, []);
    assert_eq!(read(&fixture, &parse_change_spec("HEAD..HEAD")).files, []);
    assert_eq!(read(&fixture, &parse_change_spec("..")).commits, 0);
}

#[test]
fn revisions() {
    for (text, expected) in [
        ("HEAD~2", Spec::Rev("HEAD~2".to_owned())),
        ("a..b", Spec::Range("a".to_owned(), "b".to_owned())),
        ("a...b", Spec::Range("a".to_owned(), "b".to_owned())),
        ("..b", Spec::Range("HEAD".to_owned(), "b".to_owned())),
        ("a..", Spec::Range("a".to_owned(), "HEAD".to_owned())),
    ] {
        assert_eq!(parse_change_spec(text), expected);
    }
    let fixture = Fixture::committed();
    let error = |text| resolve_spec(&fixture, &parse_change_spec(text)).unwrap_err().to_string();
    for text in [
        "nothing",
        "-x",
        "--all",
        "HEAD~99",
        "",
        "a\nb",
        "HEAD:a.txt",
        ":/x",
        "--output=x",
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    ] {
        let expected = format!(
            "there is no commit `{}`; name a branch, a tag or a commit that exists in this repository",
            text.escape_debug()
        );
        assert_eq!(error(text), expected);
    }
    fixture.git(&["checkout", "-q", "--orphan", "apart"]);
    fixture.commit("apart");
    assert_eq!(
        error("main..apart"),
        "`main` and `apart` have no common ancestor in this clone; fetch more of the history, or name related commits"
    );
    let unborn = Fixture::unborn();
    let no_commits = "the repository has no commits; commit something";
    for spec in [Spec::Auto, parse_change_spec("HEAD"), parse_change_spec("@")] {
        assert_eq!(resolve_spec(&unborn, &spec).unwrap_err().to_string(), no_commits);
    }
    fixture.git(&["config", "core.bare", "true"]);
    for spec in [Spec::Staged, Spec::WorkTree] {
        let text = resolve_spec(&fixture, &spec).unwrap_err().to_string();
        assert!(text.ends_with("is a bare repository, which has nothing uncommitted; name a commit"), "{text}");
    }
    assert_eq!(resolve_spec(&fixture, &Spec::Auto).unwrap().kind, ChangeKind::Commit);
}

#[test]
fn short_ids_that_fit_several_commits_are_refused() {
    let fixture = Fixture::committed();
    let mut ids: Vec<String> = Vec::new();
    for number in 0..400 {
        let tree = fixture.git(&["rev-parse", "HEAD^{tree}"]);
        let commit = fixture.git(&["commit-tree", "-m", &number.to_string(), tree.trim()]);
        ids.push(commit.trim().get(..4).unwrap().to_owned());
        let unique: std::collections::BTreeSet<&String> = ids.iter().collect();
        if unique.len() < ids.len() {
            break;
        }
    }
    let short = ids.last().unwrap();
    let error = resolve_spec(&fixture, &parse_change_spec(short)).unwrap_err().to_string();
    assert_eq!(error, format!("more than one commit begins with `{short}`; give more of its digits"));
}

#[test]
fn what_is_not_committed() {
    let fixture = Fixture::committed();
    fixture.write("both", TEN);
    fixture.write("touched", b"\0\x02");
    fixture.write("back", "1\n");
    fixture.write(".gitignore", "*.log\n");
    fixture.commit("more");
    assert_eq!(resolve_spec(&fixture, &Spec::Auto).unwrap().said, "HEAD, because nothing is uncommitted");
    fixture.write("both", format!("{TEN}11\n"));
    fixture.write("staged", "1\n2\n");
    fixture.write("back", "2\n");
    fixture.git(&["add", "both", "staged", "back"]);
    fixture.write("both", format!("{TEN}11\n12\n"));
    fixture.write("back", "1\n");
    let touched = fs::File::options().write(true).open(fixture.repo.join("touched")).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH + Duration::from_hours(24)).unwrap();
    fixture.write("untracked.py", "a = 1\nb = 2");
    fixture.write("ignored.log", "x\n");
    fixture::link("/etc/passwd", fixture.repo.join("link"));
    fixture.write("nested/file", "x\n");
    fixture.git(&["init", "-q", "nested"]);
    fixture.write("binary", b"\0");
    let staged = read(&fixture, &Spec::Staged);
    assert_eq!(
        change_lines(&staged),
        ["Modified back +1 -1 1..1", "Modified both +1 -0 10..11", "Added staged +2 -0 0..2"]
    );
    assert_eq!((staged.kind, staged.id, staged.commits, staged.at), (ChangeKind::Staged, None, 0, NOW));
    let auto = read(&fixture, &Spec::Auto);
    assert_eq!(
        change_lines(&auto),
        [
            "Added binary +? -? 0..?",
            "Modified both +2 -0 10..12",
            "Added link +? -? 0..? Link",
            "Added nested/ +? -? 0..? Submodule",
            "Added staged +2 -0 0..2",
            "Added untracked.py +2 -0 0..2",
        ]
    );
    assert_eq!(auto.gaps, ["lines: 1 untracked files are binary, too large or could not be read"]);
    assert_eq!((auto.kind, auto.base), (ChangeKind::WorkTree, Some(id(&fixture, "HEAD"))));
}

#[test]
fn an_unborn_branch_has_a_work_tree() {
    let fixture = Fixture::unborn();
    fixture.write("staged", "1\n");
    fixture.git(&["add", "staged"]);
    fixture.write("untracked", "1\n2\n");
    let auto = read(&fixture, &Spec::Auto);
    assert_eq!(change_lines(&auto), ["Added staged +1 -0 0..1", "Added untracked +2 -0 0..2"]);
    assert_eq!((auto.base, change_lines(&read(&fixture, &Spec::Staged)).len()), (None, 1));
}

#[test]
fn whoever_works_here_is_the_author_of_what_is_not_committed() {
    let fixture = Fixture::committed();
    fixture.write("b", "1\n");
    fixture.git(&["config", "user.useConfigOnly", "true"]);
    assert_eq!(read(&fixture, &Spec::WorkTree).author, None);
    fixture.git(&["config", "user.name", "Bob"]);
    fixture.git(&["config", "user.email", "Bob@Example.org"]);
    assert_eq!(read(&fixture, &Spec::WorkTree).author.unwrap().mail, "bob@example.org");
    // The mailmap of the base holds, not that of the change.
    fixture.write(".mailmap", "Robert <robert@example.org> <bob@example.org>\n");
    assert_eq!(read(&fixture, &Spec::WorkTree).author.unwrap().mail, "bob@example.org");
    fixture.commit("a mailmap");
    fixture.write("b", "2\n");
    assert_eq!(read(&fixture, &Spec::WorkTree).author.unwrap().mail, "robert@example.org");
}

#[test]
fn a_conflict_is_said() {
    let fixture = Fixture::committed();
    fixture.git(&["checkout", "-q", "-b", "side"]);
    fixture.write("a.txt", "two\n");
    fixture.commit("two");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("a.txt", "three\n");
    fixture.commit("three");
    fixture.try_git(&["merge", "-q", "side"]);
    let change = read(&fixture, &Spec::WorkTree);
    assert_eq!(change_lines(&change), ["Modified a.txt +? -? ?..?"]);
    assert_eq!(change.gaps, ["1 paths are in conflict; resolve them to have them assessed"]);
    let staged = resolve_spec(&fixture, &Spec::Staged).unwrap_err().to_string();
    assert_eq!(
        staged,
        "1 path is in conflict, so what is staged can't be committed; resolve the conflicts and stage the files"
    );
}

#[test]
fn a_change_does_not_hide_its_own_lines() {
    let fixture = Fixture::committed();
    fixture.write("src/a.rs", "1\n");
    fixture.write("src/gen.rs", "1\n");
    fixture.write("src/.gitattributes", "gen.rs linguist-generated\n");
    fixture.commit("before");
    fixture.write("src/a.rs", "1\n2\n");
    fixture.write(".gitattributes", "*.rs -diff linguist-generated\n");
    fixture.write(".git/info/attributes", "");
    fixture.commit("after");
    let change = head(&fixture);
    assert_eq!(change_lines(&change), ["Added .gitattributes +1 -0 0..1", "Modified src/a.rs +1 -0 1..2"]);
    let (program, repository) = git(&fixture);
    let resolved = resolve_change(&program, &repository, &parse_change_spec("HEAD"), NOW).unwrap();
    let attributes = base_attributes(&program, &repository, &resolved).unwrap();
    let role = |path: &str| {
        let path = proem_risk::path::RepoPath::new(path);
        proem_risk::path::classify_path(&path, &attributes, &PathRules::shipped().unwrap()).role
    };
    assert_eq!(
        (role("src/a.rs"), role("src/gen.rs")),
        (proem_risk::path::FileRole::Code, proem_risk::path::FileRole::Generated)
    );
}

#[test]
fn names_are_bytes() {
    let fixture = Fixture::committed();
    for name in [&b"new\nline.rs"[..], b"\xff\xfe.rs", b"tab\t\"quote\".rs", b":(glob)*.rs"] {
        fs::write(fixture.repo.join(OsStr::from_bytes(name)), "some_name\n").unwrap();
    }
    fixture.git(&["add", "-A"]);
    let staged: Vec<Vec<u8>> =
        read(&fixture, &Spec::Staged).files.iter().map(|file| file.path.as_bytes().to_vec()).collect();
    assert_eq!(staged, [&b":(glob)*.rs"[..], b"new\nline.rs", b"tab\t\"quote\".rs", b"\xff\xfe.rs"]);
    fixture.git(&["reset", "-q"]);
    let untracked = read(&fixture, &Spec::WorkTree);
    assert!(untracked.files.iter().map(|file| file.path.as_bytes()).eq(staged.iter().map(Vec::as_slice)));
    assert!(untracked.files.iter().all(|file| file.lines_after == Some(1)));
    fixture.commit("names");
    assert_eq!(head(&fixture).identifiers, ["some", "name"]);
}

#[test]
fn names_in_changed_lines_are_found() {
    let fixture = Fixture::committed();
    fixture.write("src/a.rs", "fn stays() {}\n\nfn goes() {}\n");
    fixture.write("Cargo.lock", "before\n");
    fixture.commit("before");
    fixture.write("src/a.rs", "fn stays() {}\n\nlet parseHeader = 12;\n");
    fixture.write("Cargo.lock", "locked\n");
    fixture.commit("after");
    assert_eq!(head(&fixture).identifiers, ["goes", "let", "parseheader", "parse", "header"]);
}

#[test]
fn a_rename_of_everything_and_a_merge_of_600_files() {
    let fixture = Fixture::committed();
    for number in 0..600 {
        fixture.write(&format!("old/{}/{number}.txt", number % 50), format!("{number}\n"));
    }
    fixture.commit("many");
    fixture.git(&["checkout", "-q", "-b", "side"]);
    fixture.git(&["mv", "old", "new"]);
    fixture.commit("all of them");
    let moved = head(&fixture);
    assert_eq!(moved.files.len(), 600);
    assert!(moved.files.iter().all(|file| file.before.is_some() && file.lines_after == Some(1)));
    for number in 0..600 {
        fixture.write(&format!("new/{}/{number}.txt", number % 50), format!("changed {number}\n"));
    }
    fixture.git(&["mv", "new", "newer"]);
    fixture.commit("changed and moved");
    let change = head(&fixture);
    assert_eq!(
        change.gaps,
        ["rename_incomplete: too many files, or missing file contents; some added and deleted files may be renames"]
    );
    assert_eq!(change.files.len(), 1200);
    fixture.git(&["checkout", "-q", "main"]);
    fixture.git(&["merge", "-q", "--no-ff", "-m", "merged", "side~1"]);
    let merge = head(&fixture);
    assert_eq!((merge.files.len(), merge.is_merge), (600, true));
}

/// A clone whose blobs stayed behind, with a file to change.
fn partial() -> Fixture {
    let mut fixture = Fixture::committed();
    fixture.write("same.txt", TEN);
    fixture.write("b.txt", "1\n2\n");
    fixture.commit("before");
    fixture.write("b.txt", "1\n2\n3\n");
    fixture.git(&["mv", "same.txt", "moved.txt"]);
    fixture.write("c.txt", "1\n");
    fixture.commit("after");
    fixture.git(&["config", "uploadpack.allowFilter", "true"]);
    let (from, to) = (format!("file://{}", fixture.repo.display()), fixture.base.join("clone"));
    fixture.git(&["clone", "-q", "--no-checkout", "--filter=blob:none", &from, to.to_str().unwrap()]);
    fixture.repo = to;
    fixture
}

#[test]
fn what_a_partial_clone_left_out_is_unknown() {
    let fixture = partial();
    let change = head(&fixture);
    assert_eq!(
        change_lines(&change),
        ["Modified b.txt +? -? ?..?", "Added c.txt +? -? 0..?", "Renamed same.txt=>moved.txt +? -? ?..?"]
    );
    assert_eq!(
        change.gaps,
        [
            "lines: the contents of some files are not in this clone",
            "names in changed lines could not be read: some contents are not in this clone"
        ]
    );
    let (git, repository) = git(&fixture);
    let cache = fixture.base.join("cache");
    let ids = [id(&fixture, "HEAD"), id(&fixture, "HEAD~2")];
    let drawn = read_drawn_commits(&git, &repository, &ids, Some(&cache)).unwrap();
    assert!(drawn.iter().flat_map(|drawn| &drawn.files).all(|file| file.lines.is_none()));
    assert_eq!(drawn.iter().map(|drawn| drawn.files.len()).collect::<Vec<_>>(), [3, 1]);
}

#[test]
fn a_deleted_object_leaves_the_other_files_known() {
    let fixture = Fixture::committed();
    fixture.write("b.txt", "1\n2\n");
    fixture.write("c.txt", "1\n");
    fixture.write("gone.txt", "1\n2\n3\n");
    fixture.commit("before");
    for (path, content) in [("a.txt", "one\ntwo\n"), ("b.txt", "1\nzwei\n3\n"), ("new.txt", "1\n")] {
        fixture.write(path, content);
    }
    fixture.git(&["rm", "-q", "gone.txt"]);
    fixture.commit("after");
    let missing = fixture.git(&["rev-parse", "HEAD:a.txt"]);
    let (folder, name) = missing.trim().split_at(2);
    fs::remove_file(fixture.repo.join(".git/objects").join(folder).join(name)).unwrap();
    let change = head(&fixture);
    assert_eq!(
        change_lines(&change),
        [
            "Modified a.txt +? -? ?..?",
            "Modified b.txt +2 -1 2..3",
            "Deleted gone.txt +0 -3 3..0",
            "Added new.txt +1 -0 0..1"
        ]
    );
    assert_eq!(change.gaps.len(), 3);
}

#[test]
fn a_parent_that_a_shallow_clone_left_out_is_an_error() {
    let mut fixture = Fixture::committed();
    fixture.write("b", "1\n");
    fixture.commit("second");
    let (from, to) = (format!("file://{}", fixture.repo.display()), fixture.base.join("clone"));
    fixture.git(&["clone", "-q", "--depth=1", &from, to.to_str().unwrap()]);
    fixture.repo = to;
    let error = resolve_spec(&fixture, &parse_change_spec("HEAD")).unwrap_err().to_string();
    let commit = id(&fixture, "HEAD");
    assert_eq!(
        error,
        format!(
            "the parent of `{commit}` is not in this clone, so its change is unknown; clone the repository again without \
             `--depth`"
        )
    );
}

#[test]
fn batches_are_listed_newest_first() {
    let fixture = Fixture::committed();
    let mut stream = String::new();
    for (number, at) in [1_600_000_000_i64, 1, 1_600_000_200, 1_600_000_300].into_iter().enumerate() {
        let mark = number + 1;
        stream += &format!("commit refs/heads/dates\nmark :{mark}\ncommitter A <a@x> {at} +0000\ndata 0\n");
        if number == 3 {
            stream += "from :3\nmerge :1\n";
        }
        stream += &format!("M 100644 inline f\ndata 1\n{number}\n");
    }
    let mut child = std::process::Command::new("git")
        .current_dir(&fixture.repo)
        .args(["fast-import", "--quiet"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    fixture.git(&["checkout", "-q", "-f", "dates"]);
    let (git, repository) = git(&fixture);
    let list = |batch: &CommitSelection, most| commits_since(&git, &repository, batch, most).unwrap();
    let range = CommitSelection::Range("HEAD~3".to_owned(), "HEAD".to_owned());
    let all = list(&range, 10);
    let resolved = |revision| resolve_spec(&fixture, &Spec::Rev(id(&fixture, revision).to_string())).unwrap();
    assert_eq!((all.commits, all.merges, all.more), (vec![resolved("HEAD~1"), resolved("HEAD~2")], 1, false));
    let first = list(&range, 1);
    assert_eq!((first.commits.len(), first.more), (1, true));
    // A commit with a wrong date ends nothing.
    let since = list(&CommitSelection::Since(1_500_000_000), 10);
    assert_eq!(since.commits, [resolved("HEAD~1"), resolved("HEAD~3")]);
    assert!(commits_since(&git, &repository, &CommitSelection::Range("-x".to_owned(), "HEAD".to_owned()), 1).is_err());
}

#[test]
fn a_commit_without_a_readable_date_is_listed() {
    let fixture = Fixture::committed();
    let [tree, parent] = ["HEAD^{tree}", "HEAD"].map(|name| fixture.git(&["rev-parse", name]).trim().to_owned());
    // No date, no author, and neither of both. Each is what an importer has written.
    let lines = ["Ann <ann@x> +0000", "Ann", "", "<> 99999999999999999999 +0000"];
    let mut tip = parent;
    for who in lines {
        let text = format!("tree {tree}\nparent {tip}\nauthor {who}\ncommitter {who}\n\nFix the rounding\n");
        fixture.write("commit", &text);
        tip = fixture.git(&["hash-object", "-t", "commit", "-w", "--literally", "commit"]).trim().to_owned();
    }
    fixture.git(&["update-ref", "HEAD", &tip]);
    let (git, repository) = git(&fixture);
    for batch in [
        CommitSelection::Since(1_500_000_000),
        CommitSelection::Range(format!("HEAD~{}", lines.len()), "HEAD".to_owned()),
    ] {
        let listing = commits_since(&git, &repository, &batch, 10).unwrap();
        assert!(listing.commits.len() >= lines.len() - 1, "{batch:?} {:?}", listing.commits);
        assert!(
            listing.commits.iter().any(|commit| commit.id == Some(id(&fixture, "HEAD")))
                || matches!(batch, CommitSelection::Since(_))
        );
    }
}

fn drawn_numbers(drawn: &DrawnCommit) -> Vec<String> {
    let file = |file: &proem_risk::sample::DrawnFile| {
        let lines = file.lines.map(|lines| (lines.added, lines.removed));
        format!("{} {lines:?} {:?}", file.path.to_text(), file.before)
    };
    drawn.files.iter().map(file).collect()
}

#[test]
fn past_commits_are_read_with_their_lines() {
    let fixture = Fixture::committed();
    fixture.write("b\nb", TEN);
    fixture.write("picture", b"\0");
    fixture.commit("second");
    fixture.git(&["mv", "b\nb", "c"]);
    fixture.write("a.txt", "two\nthree\n");
    fixture.git(&["rm", "-q", "picture"]);
    fixture.commit("third");
    fixture.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    fixture.write("c", "1\n");
    fixture.commit("last");
    let (git, repository) = git(&fixture);
    let cache = fixture.base.join("cache");
    let ids = ["HEAD~2", "HEAD~4", "HEAD~1", "HEAD"].map(|revision| id(&fixture, revision));
    let read = || read_drawn_commits(&git, &repository, &ids, Some(&cache)).unwrap();
    let first = read();
    assert_eq!(
        first.iter().map(drawn_numbers).collect::<Vec<_>>(),
        [
            vec!["a.txt Some((2, 1)) Some(1)", "b\nb Some((0, 0)) Some(10)", "picture None None"],
            vec!["a.txt Some((1, 0)) Some(0)"],
            vec![],
            vec!["c Some((0, 9)) Some(10)"],
        ]
    );
    assert!(first.iter().zip(ids).all(|(drawn, id)| drawn.id == id));
    let file = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read(&file).unwrap();
    assert_eq!(read(), first);
    // A kept history is used, and a damaged one is not.
    fs::remove_dir_all(fixture.repo.join(".git/objects")).unwrap();
    fs::create_dir(fixture.repo.join(".git/objects")).unwrap();
    assert_eq!(read(), first);
    let mut damaged = kept;
    let last = damaged.last_mut().unwrap();
    *last ^= 1;
    fs::write(&file, damaged).unwrap();
    assert!(read_drawn_commits(&git, &repository, &ids, Some(&cache)).is_err());
}

/// Sets every trap at once.
fn trap(fixture: &Fixture, canary: &Canary) {
    fixture.write(".gitattributes", "* filter=x diff=x\n");
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.x.command",
        "diff.x.textconv",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "gpg.program",
        "pager.log",
        "pager.diff",
        "alias.log",
        "alias.diff-tree",
        "remote.origin.uploadpack",
    ] {
        fixture.git(&["config", key, canary.script()]);
    }
    for (key, value) in [
        ("filter.x.required", "true"),
        ("log.showSignature", "true"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("protocol.file.allow", "always"),
        ("submodule.recurse", "true"),
        ("diff.submodule", "log"),
        ("core.hooksPath", "hooks"),
    ] {
        fixture.git(&["config", key, value]);
    }
    fixture.git(&["config", "remote.origin.url", &format!("ext::{}", canary.script())]);
    canary.copy_to(&fixture.repo.join("hooks/post-index-change"));
    canary.copy_to(&fixture.repo.join("git"));
}

#[test]
fn nothing_of_a_hostile_repository_runs() {
    for missing in [None, Some("HEAD:a.txt"), Some("HEAD~1:b.rs")] {
        let fixture = Fixture::committed();
        fixture.write("b.rs", "1\n");
        fixture.write("old.rs", "moved\n");
        fixture.commit("second");
        fixture.write("b.rs", "2\n");
        fixture.commit("third");
        let canary = fixture.canary("canary");
        let ids = ["HEAD", "HEAD~1", "HEAD~2"].map(|revision| id(&fixture, revision));
        let gone = missing.map(|missing| fixture.git(&["rev-parse", missing]));
        trap(&fixture, &canary);
        if let Some(gone) = gone {
            let (folder, name) = gone.trim().split_at(2);
            fs::remove_file(fixture.repo.join(".git/objects").join(folder).join(name)).unwrap();
        }
        fixture.write("b.rs", "3\n");
        fixture.write("new.rs", "1\n");
        fs::rename(fixture.repo.join("old.rs"), fixture.repo.join("moved.rs")).unwrap();
        assert!(!canary.was_run(), "the preparations ran it");
        let (git, repository) = git(&fixture);
        let wanted = HistoryWanted { tips: vec![ids[0]], base: Some(ids[0]), now: NOW, ..HistoryWanted::default() };
        for first_parent in [false, true] {
            let wanted = HistoryWanted { first_parent, ..wanted.clone() };
            read_repository_history(&git, &repository, &wanted, Some(&fixture.base.join("cache")), &|_| ()).unwrap();
        }
        read_drawn_commits(&git, &repository, &ids, None).unwrap();
        for batch in [CommitSelection::Since(0), CommitSelection::Range("HEAD~2".to_owned(), "HEAD".to_owned())] {
            assert!(commits_since(&git, &repository, &batch, 10).unwrap().commits.len() >= 2);
        }
        for spec in [
            Spec::Auto,
            Spec::Staged,
            Spec::WorkTree,
            parse_change_spec("HEAD"),
            parse_change_spec("HEAD~2"),
            parse_change_spec("HEAD~2..HEAD"),
        ] {
            let resolved = resolve_change(&git, &repository, &spec, NOW).unwrap();
            base_attributes(&git, &repository, &resolved).unwrap();
            let rules = PathRules::shipped().unwrap();
            let change = read_change(&git, &repository, &resolved, &rules, &ChangeLimits::default());
            if spec == Spec::WorkTree {
                let files = change.unwrap().files;
                let moved = |file: &ChangedFile| file.path.as_bytes() == b"moved.rs" && file.before.is_some();
                assert!(files.iter().any(|file| file.path.as_bytes() == b"new.rs") && files.iter().any(moved));
            } else {
                change.unwrap();
            }
        }
        assert!(!canary.was_run(), "{missing:?}");
        fixture.try_git(&["status"]);
        fixture.try_git(&["diff", "HEAD"]);
        assert!(canary.was_run(), "no trap");
    }
}
