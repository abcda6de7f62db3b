//! What is read of a tree's files, and what is left of it where time is short.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use proem_runtime::context::{ContextLimits, ContextReader, read_folder};
use proem_runtime::git::{GitAnswers, discover};
use proem_runtime::structure::TreeState;
use proem_runtime::{Environment, gather};
use tempfile::TempDir;

use crate::fixture::{Fixture, program};

#[test]
fn what_was_cut_off_by_time_is_read_since() {
    let folder = TempDir::new().unwrap();
    let source = "/// Fits.\nfn fit() {}\n";
    fs::write(folder.path().join("budget.rs"), source).unwrap();
    fs::write(folder.path().join("image.png"), b"\x89PNG").unwrap();
    let none = ContextLimits { time: Some(Duration::ZERO), ..ContextLimits::default() };
    let read = |limits: &ContextLimits| read_folder(&Environment::inherited(), folder.path(), limits).unwrap();
    let (cut, whole) = (read(&none), read(&ContextLimits { time: None, ..none }));
    assert!(cut.unread > 0 && whole.unread == 0);
    let place = |name: &str| whole.files.iter().position(|file| file.path == name).unwrap();
    let (code, image) = (place("budget.rs"), place("image.png"));
    assert!(cut.files[code].record.is_none() && cut.gaps[0].contains("were not read in time"), "{:?}", cut.gaps);
    let late = cut.late_record(code, source.as_bytes(), &none);
    assert_eq!(late, whole.files[code].record);
    assert_eq!(late.map(|record| record.symbols()[0].name.clone()).as_deref(), Some("fit"));
    assert_eq!(whole.late_record(code, source.as_bytes(), &none), None, "what was read in time stays as it is");
    assert_eq!(cut.late_record(image, b"\x89PNG", &none), None);
}

/// What git was asked, by the command and its first option behind the settings, which are always the same; with how often.
fn questions(fixture: &Fixture) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for line in fs::read_to_string(fixture.base.join("asked")).unwrap().lines() {
        let (_, command) = line.split_once("submodule.recurse=false ").unwrap();
        let question: Vec<&str> = command.split(' ').take(2).collect();
        *asked.entry(question.join(" ")).or_default() += 1;
    }
    fs::remove_file(fixture.base.join("asked")).unwrap();
    asked
}

#[test]
fn one_piece_of_work_asks_git_each_question_once() {
    let mut fixture = Fixture::of_files(&[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n"), ("c.rs", "fn c() {}\n")]);
    fixture.write("b.rs", "fn changed() {}\n");
    fixture.write("d.rs", "fn added() {}\n");
    fs::remove_file(fixture.repo.join("c.rs")).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let git = program("git", &BTreeMap::from([(OsString::from("PATH"), path)]));
    let asked = fixture.base.join("asked");
    fixture.replace_git(&format!("echo \"$*\" >>'{}'\nexec '{}' \"$@\"", asked.display(), git.display()));
    let read = |answers: [&GitAnswers; 2]| {
        let mut options = fixture.options();
        options.answers = Some(answers[0].clone());
        let facts = gather(&fixture.repo, &options).unwrap();
        let git = fixture.program().remembering(answers[1]);
        let repository = discover(&git, &fixture.repo, Duration::from_mins(1)).unwrap().unwrap();
        let limits = ContextLimits { time: None, ..ContextLimits::default() };
        let mut reader = ContextReader::open(&git, &repository, None, limits).unwrap();
        let tree = reader.read(TreeState::WorkTree, &|_, _| ()).unwrap();
        let files: Vec<_> = tree.files.iter().map(|file| (file.path.clone(), file.changed)).collect();
        (facts, files)
    };
    let apart = read([&GitAnswers::default(), &GitAnswers::default()]);
    let asked_apart = questions(&fixture);
    let shared = GitAnswers::default();
    let together = read([&shared, &shared]);
    let asked_together = questions(&fixture);
    assert_eq!(together, apart);
    let files = [("a.rs", false), ("b.rs", true), ("d.rs", true)].map(|(path, changed)| (path.to_owned(), changed));
    assert_eq!(together.1, files);
    for question in
        ["rev-parse --is-bare-repository", "config --list", "status --porcelain=v2", "ls-files -o", "ls-files -s"]
    {
        assert_eq!((asked_apart[question], asked_together[question]), (2, 1), "{question}");
    }
    // Each later piece of work knows what was asked before it, and nothing of the other.
    let before = GitAnswers::default();
    discover(&fixture.program().remembering(&before), &fixture.repo, Duration::from_mins(1)).unwrap();
    for answers in [before.branched(), before.branched()] {
        assert_eq!(read([&answers, &answers]), apart);
    }
    let asked = questions(&fixture);
    assert_eq!((asked["rev-parse --is-bare-repository"], asked["status --porcelain=v2"]), (1, 2));
}

#[test]
fn contents_are_those_that_git_has_whatever_lies_in_the_work_tree() {
    for fixture in [Fixture::unborn(), Fixture::unborn_sha256()] {
        fixture.write(".gitattributes", "windows.rs text eol=crlf\n");
        for name in ["same.rs", "windows.rs", "edited.rs"] {
            fixture.write(name, "fn a() {}\nfn b() {}\n");
        }
        fixture.commit("first");
        fs::remove_file(fixture.repo.join("windows.rs")).unwrap();
        fixture.git(&["checkout", "-q", "--", "windows.rs"]);
        assert!(fs::read_to_string(fixture.repo.join("windows.rs")).unwrap().contains("\r\n"));
        let (git, repository) = (fixture.program(), fixture.repository());
        let limits = ContextLimits { time: None, ..ContextLimits::default() };
        let mut reader = ContextReader::open(&git, &repository, None, limits).unwrap();
        let tree = reader.read(TreeState::WorkTree, &|_, _| ()).unwrap();
        // What changes behind the listing is not what was listed.
        fixture.write("edited.rs", "fn edited() {}\n");
        let places: Vec<usize> = (0..tree.files.len()).filter(|at| tree.files[*at].path.ends_with(".rs")).collect();
        let contents = reader.contents(&tree, &places).unwrap();
        assert_eq!(contents.len(), 3);
        assert!(contents.values().all(|content| content == b"fn a() {}\nfn b() {}\n"), "{contents:?}");
    }
}

#[test]
fn a_work_tree_is_read_without_its_commit() {
    let fixture = Fixture::of_files(&[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")]);
    fixture.write("b.rs", "fn changed() {}\n");
    fixture.write(".git/refs/heads/main", "1234567890123456789012345678901234567890\n");
    assert!(!fixture.try_git(&["status"]).status.success());
    let (git, repository) = (fixture.program(), fixture.repository());
    let limits = ContextLimits { time: None, ..ContextLimits::default() };
    let mut reader = ContextReader::open(&git, &repository, None, limits).unwrap();
    let tree = reader.read(TreeState::WorkTree, &|_, _| ()).unwrap();
    let files: Vec<_> = tree.files.iter().map(|file| (file.path.as_str(), file.changed)).collect();
    assert_eq!(files, [("a.rs", false), ("b.rs", true)]);
}
