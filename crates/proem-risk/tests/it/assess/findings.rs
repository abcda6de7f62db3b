//! Findings, what they are worth, and what they do to a level.

use proem_risk::assess::{Assessment, Depth};
use proem_risk::change::FileStatus;
use proem_risk::finding::{CalledFunction, ChangedFunction, Finding};
use proem_risk::history::Mends;
use proem_risk::level::{Level, LevelReason, LevelRules};
use proem_risk::path::{GitAttributes, PathRules, RepoPath, classify_path};
use proem_risk::signal::SignalName;
use proem_risk::tree::Imports;

use crate::assess::world::{World, text};

const FIXED: &str = "if total > limit_of(account): raise Overdrawn(account)";

/// The one finding with a signal.
#[track_caller]
fn only(assessment: &Assessment, signal: SignalName) -> &Finding {
    let mut found = assessment.found.findings.iter().filter(|finding| finding.signal == signal);
    let first = found.next();
    assert!(first.is_some() && found.next().is_none(), "{signal:?} in {:?}", assessment.found.findings);
    first.unwrap()
}

fn has(assessment: &Assessment, signal: SignalName) -> bool {
    assessment.found.findings.iter().any(|finding| finding.signal == signal)
}

#[test]
fn a_missing_partner_is_named_with_how_often() {
    let mut world = World::new(&["a.py"]);
    for day in 0..10_i64 {
        let paths: &[&str] = if day == 3 { &["a.py"] } else { &["a.py", "b.py"] };
        world.commit(100 - day, "bob", paths);
    }
    let finding = |world: &World| text(&only(&world.assess(Depth::TierOne), SignalName::MissingPartner).evidence);
    assert_eq!(finding(&world), "‹b.py› is missing: it changed with ‹a.py› 9 of the last 10 times");
    // Of a change of documentation nothing is missing, nor is a lock file or what changes along.
    for path in ["a.md", "a.yml"] {
        let mut other = World::new(&[path]);
        (0..10).for_each(|day| {
            other.commit(100 - day, "bob", &[path, "b.py"]);
        });
        assert!(!has(&other.assess(Depth::TierOne), SignalName::MissingPartner), "{path}");
    }
    let mut whole = World { listed: world.listed.clone(), ..World::new(&["a.py", "b.py"]) };
    whole.change.base = world.change.base;
    assert!(!has(&whole.assess(Depth::TierOne), SignalName::MissingPartner));
}

#[test]
fn lines_of_a_fix_are_found_again_with_the_fix_and_its_age() {
    let mut world = World::new(&["a.py"]);
    world.commit(90, "bob", &["a.py"]).says(40, "bob", &["a.py"], ("Fix overdraft", Mends::Fix));
    world.with_lines(&[], &[FIXED, "}"]).commit(30, "bob", &["c.py"]);
    world.changes("a.py", &[FIXED], &["pass_everything_through(account)"]);
    let assessment = world.assess(Depth::TierOne);
    let found = only(&assessment, SignalName::FixedLines);
    let words = text(&found.evidence);
    assert!(
        words.starts_with("‹a.py› loses 1 line of the fix ")
            && words.ends_with(", made 40 days before: ‹Fix overdraft›")
    );
    assert_eq!((found.line, found.count, found.days), (Some(5), 1, Some(40)));
    assert!(found.advice.as_ref().unwrap().command.as_ref().unwrap().starts_with("git show 0000"));
    // Moving it inside the file, or a line that somebody wrote since, is no such thing.
    let mut moved = world.clone();
    moved.change.patches.clear();
    moved.changes("a.py", &[FIXED], &[FIXED]);
    assert!(!has(&moved.assess(Depth::TierOne), SignalName::FixedLines));
    let mut rewritten = world.clone();
    rewritten
        .commit(5, "bob", &["a.py"])
        .with_lines(&[FIXED], &[])
        .commit(4, "bob", &["a.py"])
        .with_lines(&[], &[FIXED]);
    assert!(!has(&rewritten.assess(Depth::TierOne), SignalName::FixedLines));
}

#[test]
fn reverted_code_that_comes_back_is_found() {
    let lines = [
        "cache_of_answers = load_answers_of_yesterday()",
        "cache_of_answers.refresh_in_background()",
        "return cache_of_answers.get(question)",
    ];
    let mut world = World::new(&["a.py"]);
    world.commit(90, "bob", &["a.py"]).with_lines(&[], &lines);
    world.says(80, "bob", &["a.py"], ("Revert \"Cache answers\"", Mends::Revert)).with_lines(&lines, &[]);
    world.changes("a.py", &[], &lines);
    let assessment = world.assess(Depth::TierOne);
    let words = text(&only(&assessment, SignalName::RevertedLines).evidence);
    assert!(
        words.contains("gets 3 lines back that ") && words.ends_with("80 days before: ‹Revert \"Cache answers\"›"),
        "{words}"
    );
}

#[test]
fn a_change_without_its_usual_tests_is_told_so() {
    let mut world = World::new(&["a.py"]);
    (0..10).for_each(|day| {
        world.commit(100 - day, "bob", &["a.py", "test_a.py"]);
    });
    let words = text(&only(&world.assess(Depth::TierOne), SignalName::WithoutTests).evidence);
    assert_eq!(
        words,
        "no test changes here, but tests changed with ‹a.py› 10 of the last 10 times, most often ‹test_a.py›"
    );
    let with = World { listed: world.listed.clone(), ..World::new(&["a.py", "test_b.py"]) };
    let with = World { change: proem_risk::change::Change { base: world.change.base, ..with.change.clone() }, ..with };
    assert!(!has(&with.assess(Depth::TierOne), SignalName::WithoutTests));
}

#[test]
fn a_file_that_nobody_active_knows_is_named() {
    let mut world = World::new(&["a.py"]);
    (0..3).for_each(|day| {
        world.commit(900 - day, "gone", &["a.py"]);
    });
    world.commit(20, "ann", &["b.py"]);
    let words = text(&only(&world.assess(Depth::TierOne), SignalName::Strangers).evidence);
    assert_eq!(
        words,
        "nobody who knows ‹a.py› is active: the last author of its 3 commits committed 2 years before for the last time"
    );
    // Somebody who wrote it is still here, if elsewhere; or is the author by another address.
    let mut active = world.clone();
    active.commit(10, "gone", &["b.py"]);
    assert!(!has(&active.assess(Depth::TierOne), SignalName::Strangers));
    // A bot that touches it is nobody, and a colleague who changed the address is somebody.
    let mut automated = world.clone();
    automated.commit(9, "dependabot[bot]", &["a.py"]).commit(8, "ann", &["b.py"]);
    assert_eq!(text(&only(&automated.assess(Depth::TierOne), SignalName::Strangers).evidence), words);
    let mut moved = world.clone();
    moved.commit(10, "gone at home", &["b.py"]).commit(8, "ann", &["b.py"]);
    moved.listed.iter_mut().filter(|listed| listed.author.mail.contains("at home")).for_each(|listed| {
        listed.author.name = "Gone".to_owned();
    });
    assert!(!has(&moved.assess(Depth::TierOne), SignalName::Strangers));
    let mut renamed = world.clone();
    renamed.listed.iter_mut().take(3).for_each(|listed| listed.author.name = "Ann".to_owned());
    assert!(!has(&renamed.assess(Depth::TierOne), SignalName::Strangers));
}

#[test]
fn deleting_what_others_import_is_not_low_and_names_them() {
    let mut world = World::new(&["lib.py"]);
    world.sampled(200);
    world.change.files[0].status = FileStatus::Deleted;
    let mut base = World::new(&["lib.py"]);
    for path in ["p.py", "q.py", "r.py", "s.py"] {
        base.imports(path, Imports::Read { resolved: 1, unresolved: 0, external: 0 }).edge(path, "lib.py");
        world.imports(path, Imports::Read { resolved: 0, unresolved: 1, external: 0 });
    }
    world.files.retain(|file| file.path.as_bytes() != b"lib.py");
    world.base = Some(Box::new(base.clone()));
    let assessment = world.assess(Depth::TierOne);
    let words = text(&only(&assessment, SignalName::BrokenImporters).evidence);
    assert_eq!(
        words,
        "‹lib.py› is deleted; 4 files import it at the base: ‹p.py›, ‹q.py›, ‹r.py› and 1 other; 4 no longer find what \
         they import: ‹p.py›, ‹q.py›, ‹r.py› and 1 other"
    );
    assert_eq!(assessment.level, Level::Medium);
    assert!(assessment.reasons.contains(&LevelReason::BreaksImporters { file: 0 }));
    // A file that became a folder of the same name is still found by all who import it.
    ["p.py", "q.py", "r.py", "s.py"].iter().for_each(|path| {
        world.imports(path, Imports::Read { resolved: 1, unresolved: 0, external: 0 });
    });
    assert!(!has(&world.assess(Depth::TierOne), SignalName::BrokenImporters));
}

#[test]
fn callers_of_a_changed_signature_are_named_only_where_they_import_it() {
    let mut world = World::new(&["lib.py"]);
    world.changes("lib.py", &["def compute(a, b):"], &["def compute(a, b, c):"]);
    let functions = proem_risk::finding::functions_changed_by(&world.change);
    let function = ChangedFunction { file: 0, name: "compute".to_owned(), line: 7 };
    assert_eq!(functions, std::slice::from_ref(&function));
    let mut base = World::new(&["lib.py"]);
    base.edge("p.py", "lib.py").file("q.py", 10);
    world.base = Some(Box::new(base));
    let callers = ["p.py", "q.py"].map(RepoPath::new).to_vec();
    world.called = vec![CalledFunction { function, callers }];
    let words = text(&only(&world.assess(Depth::TierOne), SignalName::ChangedSignature).evidence);
    assert_eq!(words, "‹lib.py› changes the signature of ‹compute›, and 1 file that names it does not change: ‹p.py›");
}

#[test]
fn parameters_with_a_default_and_other_words_change_no_signature() {
    let check = |old: &str, new: &str, expected: usize| {
        let mut world = World::new(&["lib.py"]);
        world.changes("lib.py", &[old], &[new]);
        assert_eq!(proem_risk::finding::functions_changed_by(&world.change).len(), expected, "{old} → {new}");
    };
    check("def compute(a):", "def compute(a, b=None):", 0);
    check("def compute(a, b):", "def compute(a):", 1);
    check("pub fn compute(a: u8) -> u8 {", "pub fn compute(a: u8, b: u8) -> u8 {", 1);
    check("func (s *Server) Compute(a int) {", "func (s *Server) Compute(a, b int) {", 1);
    check("static int compute(int a) {", "static int compute(int a, int b) {", 1);
    check("    if (compute(a)) {", "    if (compute(a, b)) {", 0);
    check("int x = compute(a) {", "int x = compute(a, b) {", 0);
    check("def a(b):", "def a(b, c):", 0);
    check("def (", "def (,", 0);
}

#[test]
fn weaker_tests_are_found_unless_the_checks_moved() {
    let mut world = World::new(&["test_a.py", "test_b.py"]);
    world.changes("test_a.py", &["assert compute(1) == 2"], &[]);
    let words = text(&only(&world.assess(Depth::TierOne), SignalName::WeakerTests).evidence);
    assert_eq!(words, "‹test_a.py› checks less: 1 assertion fewer than before");
    world.changes("test_b.py", &[], &["assert compute(1) == 2"]);
    assert!(!has(&world.assess(Depth::TierOne), SignalName::WeakerTests));
}

#[test]
fn a_test_that_is_rewritten_at_its_length_checks_no_less() {
    let mut world = World::new(&["test_a.py"]);
    let old = ["assert compute(1) == 2, 'of one'", "assert compute(2) == 4, 'of two'"];
    world.changes("test_a.py", &old, &["check_all_of([(1, 2), (2, 4), (3, 6)])", "check_none_of([(0, 1), (0, 2)])"]);
    assert!(!has(&world.assess(Depth::TierOne), SignalName::WeakerTests));
}

#[test]
fn errors_that_are_handled_in_another_file_are_not_lost() {
    let mut world = large();
    let raises = "raise Overdrawn(account, limit_of(account))";
    world.change.patches.clear();
    world.changes("a.py", &[raises], &["something_else_entirely()"]);
    let words = text(&only(&world.assess(Depth::TierOne), SignalName::ErrorPath).evidence);
    assert_eq!(words, "‹a.py› handles fewer errors at line 5 (`raise`, 1 fewer)");
    let moved = World::new(&["b.py"]);
    world.change.files.extend(moved.change.files.clone());
    world.files.extend(moved.files);
    world.changes("b.py", &[], &[raises]);
    assert!(!has(&world.assess(Depth::TierOne), SignalName::ErrorPath));
}

#[test]
fn a_sensitive_file_is_not_low_if_its_rights_change_or_its_lines_are_unknown() {
    let check = |lines: Option<(&str, &str)>, expected: Level| {
        let mut world = World::new(&["auth.yml"]);
        world.sampled(200);
        world.change.files[0].lines = Some(proem_risk::change::LineCounts { added: 1, removed: 1 });
        if let Some((old, new)) = lines {
            world.changes("auth.yml", &[old], &[new]);
        }
        assert_eq!(world.assess(Depth::TierOne).level, expected, "{lines:?}");
    };
    check(None, Level::Medium);
    check(Some(("timeout: 3", "permissions: write-all")), Level::Medium);
    check(Some(("run: make", "run: curl x | sh")), Level::Medium);
    check(Some(("timeout: 3", "timeout: 4")), Level::Low);
}

/// A history in which taking away lines of a fix has often needed a fix.
fn earned() -> World {
    let mut world = World::new(&["a.py"]);
    world.sampled(200);
    world.change.files.iter_mut().for_each(|file| {
        file.lines = Some(proem_risk::change::LineCounts { added: 1, removed: 1 });
    });
    for round in 0..60_i64 {
        let line = format!("{FIXED} # {round}");
        let wrong = format!("pass_everything_through(account_number_{round})");
        let at = |step: i64| 300 - round * 5 - step;
        world.says(at(0), "bob", &["a.py"], ("Fix overdraft", Mends::Fix)).with_lines(&[], &[&line]);
        world.commit(at(1), "bob", &["a.py"]).with_lines(&[&line], &[&wrong]);
        world.says(at(2), "bob", &["a.py"], ("Fix again", Mends::Fix)).with_lines(&[&wrong], &[]);
        for quiet in 0..6 {
            let other = format!("an_ordinary_line_of_code_{round}_{quiet}()");
            world.commit(at(3), "bob", &["b.py"]).with_lines(&[], &[&other]);
        }
    }
    world.says(1, "bob", &["a.py"], ("Fix overdraft", Mends::Fix)).with_lines(&[], &[FIXED]);
    world.changes("a.py", &[FIXED], &["something_else_entirely()"]);
    world
}

#[test]
fn signals_that_earned_it_raise_a_change_and_a_busy_place_alone_does_not() {
    let world = earned();
    let assessment = world.assess(Depth::TierOne);
    assert_eq!(assessment.level, Level::High, "{:?}", assessment.found);
    let signals = vec![SignalName::FixedLines, SignalName::ErrorPath, SignalName::FixedOften];
    let earned: Vec<SignalName> = assessment.found.earned.iter().map(|row| row.signal).collect();
    assert_eq!(earned, signals);
    let mut one = world.clone();
    one.change.patches.clear();
    let one = one.assess(Depth::TierOne);
    let words = text(&only(&one, SignalName::FixedOften).evidence);
    assert_eq!(words, "‹a.py› was fixed 121 times in the year before, the last time 1 day before: ‹Fix overdraft›");
    assert_eq!((one.level, one.found.earned.len()), (Level::Low, 1), "a file that is fixed often says nothing new");
    let seed = World { rules: LevelRules::Seed, ..world }.assess(Depth::TierOne);
    assert!(!seed.reasons.iter().any(|reason| matches!(reason, LevelReason::Earned { .. })));
}

/// A change of one large file among 200 small ones, on top of a fix.
fn large() -> World {
    let mut world = World::new(&["a.py"]);
    world.sampled(200);
    // In no order, so that the newest are no larger than the others.
    world.sample.commits.rotate_left(150);
    let (low, high) = world.sample.commits.split_at(100);
    world.sample.commits = low.iter().zip(high).flat_map(|(one, other)| [one.clone(), other.clone()]).collect();
    world.change.files.iter_mut().for_each(|file| {
        file.lines = Some(proem_risk::change::LineCounts { added: 46, removed: 1 });
    });
    world.says(40, "bob", &["a.py"], ("Fix overdraft", Mends::Fix)).with_lines(&[], &[FIXED]);
    world.changes("a.py", &["something_old()"], &["something_else_entirely()"]);
    world
}

#[test]
fn a_rank_alone_raises_nothing_and_its_change_is_told_why() {
    let assessment = large().assess(Depth::TierOne);
    let rank = assessment.score.rank.unwrap().percentile;
    assert!((80.0..99.0).contains(&rank), "{rank}");
    assert_eq!(assessment.level, Level::Low);
    let words: Vec<String> = assessment.reasons.iter().map(LevelReason::in_words).collect();
    assert_eq!(words[0], "nothing beside its rank says where to look, and a rank alone is no alarm");
}

#[test]
fn a_rank_beside_a_fix_names_the_line_and_the_fix() {
    let mut world = large();
    world.around("a.py", 12, FIXED);
    let assessment = world.assess(Depth::TierOne);
    let found = only(&assessment, SignalName::NearFix);
    let words = text(&found.evidence);
    assert!(words.starts_with("‹a.py› changes what is around line 12, where the fix "), "{words}");
    assert!(words.ends_with(" was made 40 days before: ‹Fix overdraft›"), "{words}");
    assert_eq!(assessment.level, Level::Medium);
    // The lines of the fix that are gone say more.
    world.change.patches[0].hunks[0].removed.push(FIXED.as_bytes().to_vec());
    assert!(!has(&world.assess(Depth::TierOne), SignalName::NearFix));
    // A small change beside a fix is what most changes are, and so is one beside a fix of long ago.
    let mut small = large();
    small.around("a.py", 12, FIXED).change.files[0].lines = None;
    small.change.files[0].lines = Some(proem_risk::change::LineCounts { added: 1, removed: 1 });
    assert_eq!(small.assess(Depth::TierOne).level, Level::Low);
    let mut old = large();
    old.listed[0].at -= 400 * crate::assess::world::DAY;
    old.around("a.py", 12, FIXED);
    assert!(!has(&old.assess(Depth::TierOne), SignalName::NearFix));
}

#[test]
fn changes_that_grow_do_not_all_stand_out() {
    let mut world = large();
    world.around("a.py", 12, FIXED);
    // The last hundred are as large as this one, and the four hundred before them were small.
    let like = crate::assess::world::features(60.0);
    let small = crate::assess::world::features(1.0);
    let sampled = |features| proem_risk::sample::SampledCommit { features };
    world.sample.commits =
        std::iter::repeat_n(sampled(small), 400).chain(std::iter::repeat_n(sampled(like), 100)).collect();
    let assessment = world.assess(Depth::TierOne);
    assert!(assessment.score.rank.unwrap().percentile >= 80.0, "{:?}", assessment.score);
    assert_eq!(assessment.level, Level::Low);
    let words: Vec<String> = assessment.reasons.iter().map(LevelReason::in_words).collect();
    assert_eq!(words[0], "many of the latest changes have such a score: it is above that of 0 % of the last 100");
}

#[test]
fn code_from_another_source_is_never_low_and_names_both() {
    let check = |path: &str, old: &str, new: &str, expected: Level| {
        let mut world = World::new(&[path]);
        world.sampled(200);
        world.change.files[0].lines = Some(proem_risk::change::LineCounts { added: 1, removed: 1 });
        world.changes(path, &[old], &[new]);
        let assessment = world.assess(Depth::TierOne);
        assert_eq!(assessment.level, expected, "{old} → {new}");
        assessment
    };
    let swapped = check("auth.yml", "- uses: actions/checkout@v4", "- uses: acti0ns/checkout@v4", Level::Medium);
    let words = text(&only(&swapped, SignalName::OtherSource).evidence);
    let expected =
        "‹auth.yml› takes code from another source at line 7: ‹actions/checkout v4› becomes ‹acti0ns/checkout v4›";
    assert_eq!(words, expected);
    let (one, other) = ("a".repeat(40), "b".repeat(40));
    let digest = |id: &str, version: &str| format!("- uses: a/b@{id} # {version}");
    check("auth.yml", &digest(&one, "v4"), &digest(&other, "v4"), Level::Medium);
    check("ci.yml", &digest(&one, "v4"), &digest(&other, "v4"), Level::Medium);
    check("auth.yml", &digest(&one, "v4.1"), &digest(&other, "v4.2"), Level::Low);
    check("auth.yml", "- uses: a/b@v4", "- uses: a/b@v5", Level::Low);
}

#[test]
fn a_lock_file_alone_that_takes_a_package_from_another_source_is_not_low() {
    let rules = PathRules::shipped().unwrap();
    let assess = |paths: &[&str], samples: u32, new: &str| {
        let mut world = World::new(paths);
        world.sampled(samples);
        for file in &mut world.change.files {
            file.class = classify_path(&file.path, &GitAttributes::default(), &rules);
        }
        let line = |host: &str| format!("\"resolved\": \"https://{host}/left-pad/-/left-pad-1.3.0.tgz\",");
        world.changes("package-lock.json", &[&line("registry.npmjs.org")], &[&line(new)]);
        world.assess(Depth::TierOne)
    };
    // With a rank and without one, and beside tests.
    for (paths, samples) in [
        (&["package-lock.json"][..], 200),
        (&["package-lock.json"][..], 0),
        (&["package-lock.json", "tests/test_a.py"][..], 200),
        (&["package-lock.json", "README.md"][..], 200),
    ] {
        let swapped = assess(paths, samples, "npm.evil.example");
        assert_eq!(swapped.level, Level::Medium, "{paths:?} of {samples}: {:?}", swapped.reasons);
        let words = text(&only(&swapped, SignalName::OtherSource).evidence);
        let expected = "‹package-lock.json› takes code from another source at line 7: ‹registry.npmjs.org› becomes \
                        ‹npm.evil.example›";
        assert_eq!(words, expected);
        assert_eq!(swapped.reasons.first(), Some(&LevelReason::OtherSource { file: 0 }), "{:?}", swapped.reasons);
        let bumped = assess(paths, samples, "registry.npmjs.org");
        assert_eq!(bumped.level, Level::Low, "{paths:?} of {samples}: {:?}", bumped.reasons);
    }
}

#[test]
fn what_nobody_runs_or_wrote_is_low_with_the_true_reason() {
    let rules = PathRules::shipped().unwrap();
    for (paths, words) in [
        (&["tests/test_a.py"][..], "only tests change"),
        (&["docs/guide.md", "CHANGELOG.md"][..], "only documentation changes"),
        (&["man/proem.1", "doc/proem.conf.5"][..], "only documentation changes"),
        (&["api/users.pb.go"][..], "only generated files change"),
        (&["vendor/github.com/x/y.go"][..], "only vendored files change"),
        (&["Cargo.lock", "web/yarn.lock"][..], "only lock files change"),
        (&["tests/test_a.py", "docs/guide.md", "Cargo.lock"][..], "only tests, documentation and lock files change"),
    ] {
        let mut world = World::new(paths);
        world.sampled(200);
        for file in &mut world.change.files {
            file.class = classify_path(&file.path, &GitAttributes::default(), &rules);
            file.lines = Some(proem_risk::change::LineCounts { added: 100_000, removed: 50_000 });
        }
        let assessment = world.assess(Depth::TierTwo);
        let reasons: Vec<String> = assessment.reasons.iter().map(LevelReason::in_words).collect();
        assert_eq!((assessment.level, reasons), (Level::Low, vec![words.to_owned()]), "{paths:?}");
        assert!(assessment.found.findings.is_empty(), "{paths:?}: {:?}", assessment.found.findings);
    }
}

#[test]
fn versions_and_comments_alone_are_low_whatever_their_rank() {
    let check = |path: &str, old: &str, new: &str, words: &str| {
        let mut world = World::new(&[path]);
        world.sampled(200);
        world.change.files[0].lines = Some(proem_risk::change::LineCounts { added: 100_000, removed: 1 });
        world.changes(path, &[old], &[new]);
        let assessment = world.assess(Depth::TierOne);
        let said: Vec<String> = assessment.reasons.iter().map(LevelReason::in_words).collect();
        assert_eq!((assessment.level, said), (Level::Low, vec![words.to_owned()]));
    };
    check("a.py", "__version__ = \"1.2.0\"", "__version__ = \"1.3.0\"", "only version numbers change");
    check("a.py", "# why", "# therefore", "only comments change");
}
