//! Repositories with less, more or something else than is usual: each is assessed within bounds, and what is missing is
//! said.

use std::fs;

use proem_risk::assess::{Assessment, Depth};
use proem_risk::change::{Change, FileKind};
use proem_risk::metric::MetricName;
use proem_runtime::change::{ChangeLimits, CommitSelection, Spec, commits_since, parse_change_spec};
use proem_runtime::git::GitLimits;

use super::together::open_assessor;
use crate::change::{NOW, git, id, partial, read, resolve_spec};
use crate::fixture::Fixture;

/// The change and the assessment of a commit.
fn assess(fixture: &Fixture, revision: &str) -> (Change, Assessment) {
    let resolved = [resolve_spec(fixture, &parse_change_spec(revision)).unwrap()];
    let assessor = open_assessor(fixture, &resolved);
    let mut changes = assessor.read_changes(&resolved, &ChangeLimits::default()).unwrap();
    let change = changes.remove(0);
    let assessment = assessor.look(&change).unwrap().assess(Depth::TierTwo).unwrap();
    (change, assessment)
}

/// A clone with an option of git's.
fn clone(mut fixture: Fixture, option: &str) -> Fixture {
    fixture.git(&["config", "uploadpack.allowFilter", "true"]);
    let (from, to) = (format!("file://{}", fixture.repo.display()), fixture.base.join("clone"));
    fixture.git(&["clone", "-q", "--no-checkout", option, &from, to.to_str().unwrap()]);
    fixture.repo = to;
    fixture
}

/// Nine commits of one file, by one person at one time, as an import of another system's history leaves them.
fn imported() -> Fixture {
    let fixture = Fixture::committed();
    for number in 0..9 {
        fixture.write("src/a.rs", format!("fn number{number}() {{}}\n"));
        fixture.commit("next");
    }
    fixture
}

#[test]
fn a_clone_without_contents_has_unknown_lines_and_no_wrong_ones() {
    let fixture = partial();
    let (change, assessment) = assess(&fixture, "HEAD");
    assert!(change.files.iter().all(|file| file.lines.is_none()), "{:?}", change.files);
    assert!(assessment.gaps.iter().any(|gap| gap.contains("are not in this clone")), "{:?}", assessment.gaps);
    assert!(assessment.gaps.iter().any(|gap| gap.contains("the clone is partial")), "{:?}", assessment.gaps);
    let added = assessment.metrics.iter().find(|metric| metric.name == MetricName::LinesAdded);
    assert_eq!(added.and_then(|metric| metric.value), None);
}

#[test]
fn commits_at_the_edge_of_a_shallow_clone_are_left_out_of_a_batch() {
    let fixture = clone(imported(), "--depth=3");
    let (git, repository) = git(&fixture);
    let listing = commits_since(&git, &repository, &CommitSelection::Since(0), 10).unwrap();
    let ids: Vec<_> = listing.commits.iter().filter_map(|commit| commit.id).collect();
    assert_eq!((ids, listing.parentless), (vec![id(&fixture, "HEAD"), id(&fixture, "HEAD~1")], 1));
    let (change, assessment) = assess(&fixture, "HEAD~1");
    assert_eq!(change.files.len(), 1);
    assert!(assessment.gaps.iter().any(|gap| gap.contains("the clone is shallow")), "{:?}", assessment.gaps);
}

#[test]
fn a_clone_without_trees_is_refused_with_its_remedy() {
    let fixture = clone(imported(), "--filter=tree:0");
    let resolved = resolve_spec(&fixture, &parse_change_spec("HEAD")).unwrap();
    let (git, repository) = git(&fixture);
    let options = proem_runtime::risk::AssessorOptions {
        changes: vec![resolved],
        first_parent: false,
        window_days: 365,
        now: NOW,
        cache: None,
        thresholds: proem_risk::level::Thresholds::shipped().unwrap(),
        level_rules: proem_risk::level::LevelRules::Rank,
        incidents: None,
        coverage: None,
    };
    let error = proem_runtime::risk::Assessor::open(&git, &repository, options, &|_| ()).unwrap_err().to_string();
    assert!(error.contains("clone the repository again"), "{error}");
}

#[test]
fn one_author_and_one_date_are_assessed_as_any_other() {
    let (change, assessment) = assess(&imported(), "HEAD");
    assert_eq!(change.author.as_ref().map(|author| author.mail.as_str()), Some("ann@example.org"));
    assert_eq!(assessment.gaps, [""; 0]);
    assert!(assessment.score.scored.is_some());
}

#[test]
fn a_history_of_merges_alone_has_nothing_to_compare_with() {
    let fixture = Fixture::committed();
    for number in 0..3 {
        // A merge of two equal trees: nobody but the first commit touched anything.
        let tree = fixture.git(&["rev-parse", "HEAD^{tree}"]);
        let [one, other] = ["one", "other"].map(|side| {
            let made = fixture.git(&["commit-tree", tree.trim(), "-p", "HEAD", "-m", &format!("{side} {number}")]);
            made.trim().to_owned()
        });
        let merge = fixture.git(&["commit-tree", tree.trim(), "-p", &one, "-p", &other, "-m", "merge"]);
        fixture.git(&["reset", "-q", "--hard", merge.trim()]);
    }
    let (change, assessment) = assess(&fixture, "HEAD");
    assert!(change.is_merge && change.files.is_empty());
    assert!(assessment.gaps.iter().any(|gap| gap.contains("has no files")), "{:?}", assessment.gaps);
}

#[test]
fn a_commit_without_parents_adds_all_its_files() {
    let (change, assessment) = assess(&Fixture::of_files(&[("a.rs", "fn a() {}\n"), ("b.rs", "")]), "HEAD");
    let lines: Vec<_> = change.files.iter().map(|file| file.lines.map(|lines| (lines.added, lines.removed))).collect();
    assert_eq!((lines, change.base), (vec![Some((1, 0)), Some((0, 0))], None));
    assert_eq!(assessment.score.rank, None);
}

#[test]
fn a_commit_with_eight_parents_is_assessed_against_the_first() {
    let fixture = Fixture::committed();
    let first = fixture.git(&["rev-parse", "HEAD"]).trim().to_owned();
    for side in 0..7 {
        fixture.git(&["checkout", "-q", "-b", &format!("side{side}"), &first]);
        fixture.write(&format!("side{side}.rs"), "fn side() {}\n");
        fixture.commit("side");
    }
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("main.rs", "fn main() {}\n");
    fixture.commit("main");
    let sides: Vec<String> = (0..7).map(|side| format!("side{side}")).collect();
    let args = [&["merge", "-q", "-m", "all"][..], &sides.iter().map(String::as_str).collect::<Vec<_>>()].concat();
    fixture.git(&args);
    let (change, assessment) = assess(&fixture, "HEAD");
    assert_eq!((change.is_merge, change.files.len()), (true, 7));
    assert!(assessment.gaps.iter().any(|gap| gap.contains("against its first parent")), "{:?}", assessment.gaps);
}

#[test]
fn a_submodule_is_neither_entered_nor_counted() {
    let fixture = imported();
    let commit = fixture.git(&["rev-parse", "HEAD"]).trim().to_owned();
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},inner")]);
    fixture.git(&["commit", "-q", "-m", "Add a module"]);
    let (change, assessment) = assess(&fixture, "HEAD");
    assert_eq!(
        change.files.iter().map(|file| (file.kind, file.lines)).collect::<Vec<_>>(),
        [(FileKind::Submodule, None)]
    );
    assert!(assessment.gaps.iter().any(|gap| gap.contains("1 submodule was not read")), "{:?}", assessment.gaps);
}

#[test]
fn a_file_that_moves_with_each_commit_keeps_its_past() {
    let fixture = Fixture::unborn();
    let text: String = (0..40).map(|line| format!("let number = {line};\n")).collect();
    fixture.write("src/place0.rs", &text);
    fixture.commit("Begin");
    for week in 1..=12 {
        fixture.git(&["mv", &format!("src/place{}.rs", week - 1), &format!("src/place{week}.rs")]);
        fixture.commit("Move it");
    }
    fixture.write("src/place12.rs", text.replace("number = 3;", "number = 33;"));
    fixture.commit("Change it");
    let resolved = [resolve_spec(&fixture, &parse_change_spec("HEAD")).unwrap()];
    let assessor = open_assessor(&fixture, &resolved);
    let change = assessor.read_changes(&resolved, &ChangeLimits::default()).unwrap().remove(0);
    let assessment = assessor.look(&change).unwrap().assess(Depth::TierTwo).unwrap();
    let earlier = assessment.metrics.iter().find(|metric| metric.name == MetricName::UniqueChanges);
    assert_eq!(earlier.and_then(|metric| metric.value), Some(14.0), "{:?}", assessment.metrics);
}

#[test]
fn a_large_binary_file_is_not_read() {
    let fixture = imported();
    fixture.write("large.bin", "");
    fs::File::options().write(true).open(fixture.repo.join("large.bin")).unwrap().set_len(200 << 20).unwrap();
    fixture.git(&["add", "-A"]);
    fixture.git(&["-c", "core.bigFileThreshold=1m", "-c", "core.compression=0", "commit", "-q", "-m", "Add an image"]);
    fixture.write("src/a.rs", "fn after() {}\n");
    fixture.commit("next");
    for revision in ["HEAD", "HEAD~1"] {
        let (change, assessment) = assess(&fixture, revision);
        let large = change.files.iter().find(|file| file.path.as_bytes() == b"large.bin");
        assert_eq!(large.map(|file| file.lines), (revision != "HEAD").then_some(None));
        // An image alone is nothing that runs, so it has no score.
        assert_eq!(assessment.score.scored.is_some(), revision == "HEAD", "{:?}", assessment.gaps);
    }
}

#[test]
fn lines_of_a_file_that_was_rewritten_again_and_again_are_counted_once_each() {
    let fixture = Fixture::unborn();
    for version in 0..4 {
        let lines = (0..400).map(|line| format!("let line{line} = {};\n", line * version % 7)).collect::<String>();
        fixture.write("src/a.rs", lines);
        fixture.commit("Rewrite it");
    }
    let (change, _) = assess(&fixture, "HEAD");
    let alone = read(&fixture, &Spec::Rev("HEAD".to_owned()));
    assert_eq!(change.files, alone.files);
    let (git, repository) = git(&fixture);
    let limits = GitLimits { history: std::time::Duration::ZERO, ..GitLimits::default() };
    let resolved = resolve_spec(&fixture, &parse_change_spec("HEAD")).unwrap();
    let limited =
        proem_runtime::change::read_drawn_commits(&git.within(limits), &repository, &[resolved.id.unwrap()], None);
    assert!(limited.is_err(), "the time of reading is bounded");
}
