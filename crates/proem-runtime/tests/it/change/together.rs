//! Changes that are assessed together: what they share, and what each has of its own.

use proem_risk::assess::Depth;
use proem_risk::change::Change;
use proem_risk::level::{Level, LevelRules, Thresholds};
use proem_runtime::change::{ChangeLimits, ResolvedChange, parse_change_spec};
use proem_runtime::risk::{Assessor, AssessorOptions};

use crate::change::{NOW, git, read, resolve_spec};
use crate::fixture::Fixture;

pub(crate) fn open_assessor(fixture: &Fixture, changes: &[ResolvedChange]) -> Assessor {
    let (git, repository) = git(fixture);
    let options = AssessorOptions {
        changes: changes.to_vec(),
        first_parent: false,
        window_days: 365,
        now: NOW,
        cache: Some(fixture.base.join("cache")),
        thresholds: Thresholds::shipped().unwrap(),
        level_rules: LevelRules::Rank,
        incidents: None,
        coverage: None,
    };
    Assessor::open(&git, &repository, options, &|_| ()).unwrap()
}

/// How many past commits a change is compared with, and what is not known of it.
fn compare_together(assessor: &Assessor, change: &Change) -> ((usize, u32), Vec<String>) {
    let look = assessor.look(change).unwrap();
    (look.sampled(), look.assess(Depth::TierTwo).unwrap().gaps)
}

fn repository() -> Fixture {
    let fixture = Fixture::committed();
    for number in 0..9 {
        fixture.write("src/a.rs", format!("fn number{number}() {{}}\n"));
        fixture.commit("next");
    }
    fixture
}

#[test]
fn each_is_compared_with_what_was_before_itself() {
    let fixture = repository();
    let specs = ["HEAD", "HEAD~3", "HEAD~8"].map(parse_change_spec);
    let changes = specs.clone().map(|spec| resolve_spec(&fixture, &spec).unwrap());
    let together = open_assessor(&fixture, &changes);
    for (spec, (sampled, of)) in specs.iter().zip([(9, 9), (6, 6), (1, 1)]) {
        let change = read(&fixture, spec);
        assert_eq!(compare_together(&together, &change), ((sampled, of), vec![]), "{spec:?}");
        let alone = open_assessor(&fixture, &[resolve_spec(&fixture, spec).unwrap()]);
        assert_eq!(compare_together(&alone, &change), ((sampled, of), vec![]), "{spec:?}");
    }
}

#[test]
fn a_change_that_nobody_announced_has_no_percentile() {
    let fixture = repository();
    let assessor = open_assessor(&fixture, &[resolve_spec(&fixture, &parse_change_spec("HEAD~3")).unwrap()]);
    assert_eq!(compare_together(&assessor, &read(&fixture, &parse_change_spec("HEAD~3"))), ((6, 6), vec![]));
    // Of its past one commit more would be wanted than was looked at.
    let gap = "the change was not compared with past commits, so the score has no percentile";
    assert_eq!(
        compare_together(&assessor, &read(&fixture, &parse_change_spec("HEAD~2"))),
        ((0, 7), vec![gap.to_owned()])
    );
}

/// Commits of every kind: among them renames with changes, a binary file, a link, other modes, other persons, another
/// class of a file, a moved pipeline version, and nothing at all.
fn varied() -> Fixture {
    let fixture = Fixture::committed();
    let lines = |from: usize| (from..from + 40).map(|line| format!("let number = {line};\n")).collect::<String>();
    let pipeline = |version| format!("jobs:\n  - uses: actions/checkout@{version}\n");
    fixture.write("src/a.rs", lines(0));
    fixture.write(".github/workflows/release.yml", pipeline("v4"));
    fixture.write("picture", b"\0\x01");
    fixture.commit("Add files");
    fixture.git(&["mv", "src/a.rs", "src/b.rs"]);
    fixture.write("src/b.rs", lines(2));
    fixture.write("new.txt", "");
    fixture.commit("Rename one and change it");
    fixture.write(".github/workflows/release.yml", pipeline("v5"));
    fixture.write("picture", b"\0\x02");
    fixture.commit("Take the next version");
    fixture.write(".mailmap", "Ann Other <ann@other.org> <ann@example.org>\n");
    fixture.write(".gitattributes", "src/b.rs linguist-generated\n");
    fixture.commit("Say who is who");
    fixture.write("src/b.rs", format!("-- a line that begins as a name does\n++ b/other\n{}", lines(5)));
    fixture.git(&["update-index", "--chmod=+x", "a.txt"]);
    fixture.commit("Change what is generated");
    fixture.git(&["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    std::os::unix::fs::symlink("a.txt", fixture.repo.join("link")).unwrap();
    fixture.git(&["rm", "-q", "new.txt"]);
    fixture.write("src/without_end.rs", "fn one() {}\nfn two() {}");
    fixture.commit("Add a link");
    fixture.write("src/without_end.rs", "fn one() {}\nfn three() {}\n");
    fixture.write("ünusual.rs", lines(9));
    fixture.commit("End the last line");
    fixture.write("odd\nname.rs", lines(9));
    fixture.commit("Add a name of two lines");
    fixture
}

#[test]
fn changes_that_are_read_together_are_what_they_are_alone() {
    let fixture = varied();
    // One of them twice.
    let specs: Vec<_> = (0..10).chain([3]).map(|back| parse_change_spec(&format!("HEAD~{back}"))).collect();
    let resolved: Vec<_> = specs.iter().map(|spec| resolve_spec(&fixture, spec).unwrap()).collect();
    let assessor = open_assessor(&fixture, &resolved);
    let together = assessor.read_changes(&resolved, &ChangeLimits::default()).unwrap();
    assert_eq!(together.len(), specs.len());
    for (change, spec) in together.into_iter().zip(&specs) {
        let [mut change, mut alone] = [change, read(&fixture, spec)];
        // Git quotes an unusual name and names no file without lines, so their lines can't be told from its patch.
        for read in [&mut change, &mut alone] {
            read.patches.retain(|patch| !patch.path.as_bytes().is_empty() && patch.path.as_bytes().is_ascii());
        }
        assert_eq!(change, alone, "{spec:?}");
    }
}

#[test]
fn a_lock_file_that_takes_a_package_from_elsewhere_is_told_alone_and_together() {
    let fixture = Fixture::committed();
    let lock = |host: &str, version: u32| {
        format!("{{\n  \"version\": \"1.{version}.0\",\n  \"resolved\": \"https://{host}/a-1.{version}.0.tgz\"\n}}\n")
    };
    let hosts = ["registry.npmjs.org", "registry.npmjs.org", "npm.evil.example"];
    for (version, host) in (0..).zip(hosts) {
        fixture.write("web/package-lock.json", lock(host, version));
        fixture.commit("Lock");
    }
    let specs = ["HEAD", "HEAD~1"].map(parse_change_spec);
    let resolved = specs.clone().map(|spec| resolve_spec(&fixture, &spec).unwrap());
    let assessor = open_assessor(&fixture, &resolved);
    let together = assessor.read_changes(&resolved, &ChangeLimits::default()).unwrap();
    for ((change, spec), expected) in together.iter().zip(&specs).zip([Level::Medium, Level::Low]) {
        for change in [change, &read(&fixture, spec)] {
            let assessment = assessor.look(change).unwrap().assess(Depth::TierTwo).unwrap();
            assert_eq!(assessment.level, expected, "{spec:?}: {:?}", assessment.reasons);
        }
    }
}

#[test]
fn a_change_with_more_lines_than_are_looked_at_is_read_alone() {
    let fixture = varied();
    let resolved = [resolve_spec(&fixture, &parse_change_spec("HEAD")).unwrap()];
    let limits = ChangeLimits { patch: 64, ..ChangeLimits::default() };
    let together = open_assessor(&fixture, &resolved).read_changes(&resolved, &limits).unwrap();
    assert_eq!(together[0].gaps, ["changed lines beyond 0 MiB are not looked at"]);
    assert!(together[0].patches.is_empty() && together[0].files.iter().all(|file| file.lines.is_some()));
}
