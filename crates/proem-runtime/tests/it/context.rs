//! The reading of a tree's files, and its limits.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use proem_risk::history::ObjectId;
use proem_runtime::context::{ContextLimits, ContextReader, FileReading, PastExtent, ReadingBound};
use proem_runtime::git::{GitAnswers, discover_repository_around};
use proem_runtime::history::{HistoryWanted, read_repository_history};
use proem_runtime::structure::TreeState;
use proem_runtime::{Environment, gather_facts};
use proem_select::context::words::distinct_words;
use tempfile::TempDir;

use crate::fixture::{Fixture, program};

const ALL: ReadingBound = ReadingBound { files: usize::MAX, bytes: u64::MAX };

#[test]
fn a_folder_is_read_whole_or_by_words_and_what_is_likely_is_read_since() {
    let folder = TempDir::new().unwrap();
    let source = "/// Fits.\nfn fit() {}\n";
    fs::write(folder.path().join("budget.rs"), source).unwrap();
    fs::write(folder.path().join("image.png"), b"\x89PNG").unwrap();
    let mut reader =
        ContextReader::of_folder(&Environment::inherited(), folder.path(), ContextLimits::default()).unwrap();
    let mut counted = reader.list(TreeState::WorkTree).unwrap();
    assert_eq!((counted.missing(), counted.unread), (1, 1));
    let terms = distinct_words("fit nothing");
    reader.count_words(&mut counted, (&[1, 0], &terms), &|_, _| ()).unwrap();
    let whole = reader.read(TreeState::WorkTree, &|_, _| ()).unwrap();
    assert_eq!((counted.unread, whole.unread, counted.counted_files()), (0, 0, 1));
    let place = |name: &str| whole.files.iter().position(|file| file.path == name).unwrap();
    let (code, image) = (place("budget.rs"), place("image.png"));
    let record = counted.files[code].record.as_ref().unwrap();
    assert!(record.symbols().is_empty() && terms.iter().any(|term| record.count(*term).is_some()));
    let late = counted.late_record(code, source.as_bytes());
    assert_eq!(late, whole.files[code].record);
    assert_eq!(late.map(|record| record.symbols()[0].name.clone()).as_deref(), Some("fit"));
    assert_eq!(whole.late_record(code, source.as_bytes()), None, "what was read stays as it is");
    assert_eq!(counted.late_record(image, b"\x89PNG"), None);
}

/// A repository of `count` sources, one word in each.
fn many(count: usize) -> Fixture {
    let files: Vec<(String, String)> =
        (0..count).map(|n| (format!("src/f{n:03}.rs"), format!("fn function_{n}() {{}}\n"))).collect();
    Fixture::of_files(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
}

#[test]
fn a_bound_of_work_cuts_the_same_files_off_each_time() {
    let fixture = many(600);
    let (git, repository) = (fixture.program(), fixture.repository());
    let read = |bound: ReadingBound| {
        let mut reader = ContextReader::open(&git, &repository, None, ContextLimits::default()).unwrap();
        let mut tree = reader.list(TreeState::WorkTree).unwrap();
        reader.read_missing(&mut tree, bound, &|_, _| ()).unwrap();
        let known: Vec<_> = tree.files.iter().map(|file| file.reading).collect();
        (known, tree.unread, tree.missing(), tree.is_out_of_time)
    };
    let cut = read(ReadingBound { bytes: 1, ..ALL });
    assert_eq!(cut, read(ReadingBound { bytes: 1, ..ALL }));
    assert!(cut.1 > 0 && cut.1 == cut.2 && !cut.3, "{cut:?}");
    assert!(cut.0.is_sorted_by_key(|reading| *reading != FileReading::Whole), "the first by their paths are read");
    assert_eq!(read(ReadingBound { files: 7, ..ALL }).1, 593);
    assert_eq!(read(ALL).1, 0);
}

#[test]
fn a_clock_that_ends_a_reading_says_so() {
    let fixture = many(3);
    let (git, repository) = (fixture.program(), fixture.repository());
    let limits = ContextLimits { time: Duration::ZERO, ..ContextLimits::default() };
    let mut reader = ContextReader::open(&git, &repository, None, limits).unwrap();
    let tree = reader.read(TreeState::WorkTree, &|_, _| ()).unwrap();
    assert!(tree.is_out_of_time && tree.unread == 3);
}

#[test]
fn words_are_counted_alike_whatever_is_kept() {
    let fixture = many(40);
    let (git, repository) = (fixture.program(), fixture.repository());
    let cache = fixture.base.join("cache");
    let terms = distinct_words("function_7");
    let order: Vec<usize> = (0..40).rev().collect();
    let counted = |cache: Option<&Path>| {
        let mut reader = ContextReader::open(&git, &repository, cache, ContextLimits::default()).unwrap();
        let mut tree = reader.list(TreeState::WorkTree).unwrap();
        reader.count_words(&mut tree, (&order, &terms), &|_, _| ()).unwrap();
        reader.read_files(&mut tree, &[7, 8], ALL).unwrap();
        tree.files.iter().map(|file| (file.record.clone(), file.reading)).collect::<Vec<_>>()
    };
    let cold = counted(None);
    let mut reader = ContextReader::open(&git, &repository, Some(&cache), ContextLimits::default()).unwrap();
    reader.read(TreeState::WorkTree, &|_, _| ()).unwrap();
    assert_eq!(reader.keep(), None);
    assert_eq!(counted(Some(&cache)), cold);
    assert_eq!(cold.iter().filter(|(_, reading)| *reading == FileReading::Whole).count(), 2);
}

#[test]
fn a_bare_repository_is_read_as_its_work_tree_is() {
    let fixture = many(30);
    let bare = fixture.base.join("bare.git");
    fixture.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let git = fixture.program();
    let terms = distinct_words("function_7");
    let order: Vec<usize> = (0..30).collect();
    let counted = |folder: &Path| {
        let repository = discover_repository_around(&git, folder, Duration::from_mins(1)).unwrap().unwrap();
        let mut reader = ContextReader::open(&git, &repository, None, ContextLimits::default()).unwrap();
        let mut tree = reader.list(TreeState::Commit("HEAD")).unwrap();
        reader.count_words(&mut tree, (&order, &terms), &|_, _| ()).unwrap();
        reader.read_files(&mut tree, &[7], ALL).unwrap();
        tree.files.iter().map(|file| (file.path.clone(), file.record.clone())).collect::<Vec<_>>()
    };
    assert_eq!(counted(&bare), counted(&fixture.repo));
}

#[test]
fn a_short_look_at_a_history_that_is_not_kept_has_its_newest_commits_and_keeps_no_part_of_it() {
    let fixture = Fixture::unborn();
    for n in 0..5 {
        fixture.write("a.rs", format!("fn a{n}() {{}}\n"));
        fixture.commit(&format!("change {n}"));
    }
    let (git, repository) = (fixture.program(), fixture.repository());
    let cache = fixture.base.join("cache");
    let tip = ObjectId::parse(fixture.git(&["rev-parse", "HEAD"]).trim().as_bytes()).unwrap();
    let read = |most_unkept| {
        let wanted = HistoryWanted { tips: vec![tip], now: i64::MAX, most_unkept, ..HistoryWanted::default() };
        let reading = read_repository_history(&git, &repository, &wanted, Some(&cache), &|_| ()).unwrap();
        (reading.history.commits().len(), reading.cached, reading.extent)
    };
    assert_eq!(read(2), (2, 0, PastExtent::Newest));
    assert_eq!(read(2), (2, 0, PastExtent::Newest), "a part was not kept");
    assert_eq!(read(5), (5, 0, PastExtent::Whole), "what fits is whole");
    assert_eq!(read(2), (5, 5, PastExtent::Whole), "what is kept is used");
}

/// The questions to git, by the command and its first option behind the settings, which are always the same; with their
/// counts.
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
        let facts = gather_facts(&fixture.repo, &options).unwrap();
        let git = fixture.program().remembering(answers[1]);
        let repository = discover_repository_around(&git, &fixture.repo, Duration::from_mins(1)).unwrap().unwrap();
        let limits = ContextLimits::default();
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
    discover_repository_around(&fixture.program().remembering(&before), &fixture.repo, Duration::from_mins(1)).unwrap();
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
        let limits = ContextLimits::default();
        let mut reader = ContextReader::open(&git, &repository, None, limits).unwrap();
        let tree = reader.read(TreeState::WorkTree, &|_, _| ()).unwrap();
        // A file that changes after the listing is not the listed one.
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
    let limits = ContextLimits::default();
    let mut reader = ContextReader::open(&git, &repository, None, limits).unwrap();
    let tree = reader.read(TreeState::WorkTree, &|_, _| ()).unwrap();
    let files: Vec<_> = tree.files.iter().map(|file| (file.path.as_str(), file.changed)).collect();
    assert_eq!(files, [("a.rs", false), ("b.rs", true)]);
}
