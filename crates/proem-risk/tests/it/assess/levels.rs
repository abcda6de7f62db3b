//! From signals to levels.

use proem_risk::assess::{Assessment, Depth, Investigate};
use proem_risk::change::LineCounts;
use proem_risk::finding::QuietPart;
use proem_risk::level::{Level, LevelReason, LevelRules};
use proem_risk::metric::{Metric, MetricName, Sentence, Signal};
use proem_risk::path::FileRole;

use crate::assess::world::World;

/// A change of these files, whose Tier 1 signals are as given for each, under these rules.
fn under(rules: LevelRules, sampled: u32, files: &[(&str, [Signal; 3])]) -> Assessment {
    let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    let mut world = World::new(&paths);
    world.rules = rules;
    world.sampled(sampled);
    // Its score is above none of the sample's.
    world.change.files.iter_mut().for_each(|file| file.lines = Some(LineCounts { added: 0, removed: 1 }));
    let mut assessment = world.assess(Depth::TierOne);
    for (index, (_, signals)) in (0_u32..).zip(files) {
        for (name, signal) in
            [MetricName::Coupling, MetricName::CoChange, MetricName::TestRatio].into_iter().zip(signals)
        {
            assessment = assessment.with(index, metric(name, *signal));
        }
    }
    assessment
}

/// The same without a place among past commits.
fn with_signals(files: &[(&str, [Signal; 3])]) -> Assessment {
    under(LevelRules::Rank, 0, files)
}

fn metric(name: MetricName, signal: Signal) -> Metric {
    match signal {
        Signal::Unknown => Metric::unknown(name, Sentence::ours("nobody knows")),
        signal => Metric { signal, ..Metric::of(name, 1.0) },
    }
}

#[test]
fn signals_are_evidence_where_the_rank_is_known() {
    use Signal::{High as H, Low as L, Medium as M, Unknown as U};
    let check = |path: &str, signals: [Signal; 3], expected: Level, investigate: Investigate| {
        let assessment = under(LevelRules::Rank, 200, &[(path, signals)]);
        let found = (assessment.level, assessment.investigate);
        assert_eq!(found, (expected, investigate), "{path} {signals:?} {:?}", assessment.score.rank);
        assessment
    };
    check("a.py", [L, L, L], Level::Low, Investigate::NothingHigh);
    check("a.py", [M, M, M], Level::Low, Investigate::NothingHigh);
    let assessment = check("a.py", [H, H, H], Level::Low, Investigate::Yes);
    assert!(matches!(assessment.reasons.as_slice(), [LevelReason::Score { .. }]), "{:?}", assessment.reasons);
    // An unmeasured value raises nothing, and is no LOW either.
    let assessment = check("a.py", [U, U, U], Level::Low, Investigate::NothingHigh);
    assert_eq!(assessment.files[0].level, Level::Unknown);
    let assessment = check("auth.py", [L, L, L], Level::Medium, Investigate::Yes);
    assert_eq!(assessment.reasons, [LevelReason::WorstFile { file: 0 }, LevelReason::Sensitive { file: 0 }]);
    check("auth.py", [U, U, U], Level::Medium, Investigate::Yes);
}

#[test]
fn without_a_rank_the_measured_signals_decide() {
    use Signal::{High as H, Low as L, Medium as M, Unknown as U};
    let check = |path: &str, signals: [Signal; 3], expected: Level| {
        let assessment = with_signals(&[(path, signals)]);
        assert_eq!(assessment.level, expected, "{path} {signals:?}");
        assert_eq!(assessment.files[0].level, expected);
        assessment
    };
    check("a.py", [L, L, L], Level::Low);
    check("a.py", [H, L, L], Level::Medium);
    check("a.py", [H, M, M], Level::Medium);
    check("a.py", [H, H, L], Level::High);
    check("a.py", [U, L, U], Level::Low);
    check("a.py", [U, H, U], Level::Medium);
    let assessment = check("a.py", [U, U, U], Level::Unknown);
    assert_eq!((assessment.reasons, assessment.investigate), (vec![LevelReason::NothingKnown], Investigate::Yes));
    let assessment = check("auth.py", [U, U, U], Level::Medium);
    let reasons = [LevelReason::WorstFile { file: 0 }, LevelReason::Sensitive { file: 0 }, LevelReason::Unranked];
    assert_eq!(assessment.reasons, reasons);
    check("auth.py", [H, H, L], Level::High);
    assert_eq!(check("a.py", [M, M, M], Level::Low).investigate, Investigate::NothingHigh);
    assert_eq!(check("a.py", [H, M, M], Level::Medium).investigate, Investigate::Yes);
    // Something is known of one of them.
    let assessment = with_signals(&[("a.py", [U; 3]), ("b.py", [L; 3])]);
    assert_eq!((assessment.level, assessment.files[0].level), (Level::Low, Level::Unknown));
}

#[test]
fn the_seeds_counting_is_there_by_name() {
    use Signal::{High as H, Low as L, Medium as M, Unknown as U};
    let check = |path: &str, signals: [Signal; 3], expected: Level| {
        for rules in [LevelRules::Seed, LevelRules::RankOrSeed] {
            let assessment = under(rules, 200, &[(path, signals)]);
            assert_eq!(assessment.level, expected, "{path} {signals:?} {rules:?}");
            assert_eq!(assessment.files[0].level, expected);
        }
    };
    check("a.py", [L, L, L], Level::Low);
    check("a.py", [M, M, M], Level::Low);
    check("a.py", [H, L, L], Level::Medium);
    check("a.py", [H, H, L], Level::High);
    check("a.py", [U, L, U], Level::Low);
    check("a.py", [U, U, U], Level::Medium);
    check("auth.py", [L, L, L], Level::Medium);
    check("auth.py", [H, H, L], Level::High);
    let unknown = under(LevelRules::Seed, 0, &[("a.py", [U; 3])]);
    assert_eq!((unknown.level, unknown.investigate), (Level::Medium, Investigate::Yes));
    assert_eq!(unknown.reasons, [LevelReason::WorstFile { file: 0 }, LevelReason::AllUnknown]);
}

#[test]
fn an_assessment_of_before_is_read_and_goes_on_as_it_was() {
    use Signal::{High as H, Low as L};
    let before = under(LevelRules::RankOrSeed, 200, &[("a.py", [H, L, L])]);
    let written = serde_json::to_value(&before).unwrap();
    assert_eq!(written.get("rules"), None);
    let read: Assessment = serde_json::from_value(written).unwrap();
    assert_eq!(read, before);
    assert_eq!(read.with(0, metric(MetricName::OwnershipChurn, H)).level, Level::High);
    let today = under(LevelRules::Rank, 200, &[("a.py", [H, L, L])]);
    let read: Assessment = serde_json::from_value(serde_json::to_value(&today).unwrap()).unwrap();
    assert_eq!((read.rules, read.with(0, metric(MetricName::OwnershipChurn, H)).level), (LevelRules::Rank, Level::Low));
}

#[test]
fn without_a_rank_a_change_has_the_level_of_its_worst_file_that_counts() {
    use Signal::{High as H, Low as L};
    let assessment = with_signals(&[("a.py", [L; 3]), ("test_b.py", [H; 3]), ("c.py", [H, L, L])]);
    assert_eq!(assessment.level, Level::Medium);
    let names = vec![MetricName::Coupling];
    let reasons = [LevelReason::WorstFile { file: 2 }, LevelReason::Tier { high: 1, names }, LevelReason::Unranked];
    assert_eq!(assessment.reasons, reasons);
    let order: Vec<u32> = assessment.files.iter().map(|file| file.index).collect();
    assert_eq!(order, [2, 0, 1]);
}

#[test]
fn documentation_and_generated_files_are_low_and_not_investigated() {
    let check = |paths: &[&str], level: Level, investigate: Investigate| {
        let assessment = World::new(paths).assess(Depth::TierTwo);
        assert_eq!((assessment.level, assessment.investigate), (level, investigate), "{paths:?}");
        assessment
    };
    let assessment = check(&["a.md", "b_generated.py", "Cargo.lock"], Level::Low, Investigate::NothingThatRuns);
    assert_eq!(assessment.confidence, None);
    let roles = vec![FileRole::Documentation, FileRole::Generated, FileRole::Lock];
    assert_eq!(assessment.reasons, [LevelReason::NothingRuns { roles }]);
    assert!(assessment.files.iter().all(|file| file.metrics.is_empty()));
    check(&[], Level::Low, Investigate::NothingThatRuns);
    // The shipped program stays the same if tests alone change.
    let assessment = check(&["test_a.py", "b.md"], Level::Low, Investigate::NothingThatRuns);
    let parts = vec![QuietPart::Tests, QuietPart::Documentation];
    assert_eq!(assessment.reasons, [LevelReason::Quiet { parts }]);
    let seed = World { rules: LevelRules::Seed, ..World::new(&["test_a.py"]) }.assess(Depth::TierTwo);
    assert_eq!((seed.level, seed.reasons), (Level::Medium, vec![LevelReason::AllUnknown]));
    // A sensitive file is looked at, whatever its kind.
    check(&["auth.md"], Level::Medium, Investigate::Yes);
}

#[test]
fn the_score_has_a_level_by_its_place() {
    let check = |lines: u32, sampled: u32, expected: Signal| {
        let mut world = World::new(&["a.yml"]);
        world.sampled(sampled);
        world.change.author = None;
        world.change.files[0].lines = Some(LineCounts { added: lines, removed: 1 });
        let assessment = world.assess(Depth::TierOne);
        assert_eq!(assessment.score.signal, expected, "{lines} of {sampled}: {:?}", assessment.score.rank);
        assessment
    };
    let assessment = check(100_000, 200, Signal::High);
    // Nothing says where to look, and no past change scores higher.
    assert_eq!((assessment.level, assessment.investigate), (Level::Medium, Investigate::Yes));
    assert!(matches!(assessment.reasons.as_slice(), [LevelReason::Score { percentile }] if *percentile >= 95.0));
    let assessment = check(1, 200, Signal::Low);
    assert_eq!((assessment.level, assessment.investigate), (Level::Low, Investigate::NothingHigh));
    let assessment = check(1, 49, Signal::Unknown);
    assert_eq!((assessment.level, assessment.confidence), (Level::Unknown, None));
    assert_eq!(check(1, 50, Signal::Low).level, Level::Low);
}

#[test]
fn what_could_not_be_known_is_said() {
    let mut world = World::new(&["a.py"]);
    world.commit(1, "ann", &["a.py"]);
    world.missing.shallow = true;
    world.missing.partial = true;
    world.change.commits = 3;
    world.change.gaps = vec!["something of its own".to_owned()];
    world.has_tree = false;
    assert_eq!(
        world.assess(Depth::TierOne).gaps,
        [
            "something of its own",
            "the files of the repository could not be read",
            "the clone is shallow: older commits are missing; fetch the rest of the history",
            "the clone is partial: some file contents are missing",
            "the change has several commits, but is compared with single past commits"
        ]
    );
}

#[test]
fn tier_two_is_measured_where_the_rules_investigate() {
    let mut world = World::new(&["a.py", "b.py"]);
    for importer in 0..11 {
        world.edge(&format!("importer{importer}.py"), "a.py").edge("importer0.py", "b.py");
    }
    let has = |assessment: &Assessment, index: u32, name: MetricName| {
        let file = assessment.files.iter().find(|file| file.index == index).unwrap();
        file.metrics.iter().any(|metric| metric.name == name)
    };
    let one = world.assess(Depth::TierOne);
    assert!(!has(&one, 0, MetricName::OwnershipChurn) && has(&one, 0, MetricName::PriorFixes));
    let two = world.assess(Depth::TierTwo);
    assert!(has(&two, 0, MetricName::OwnershipChurn) && has(&two, 0, MetricName::IncidentSimilarity));
    assert!(has(&two, 1, MetricName::OwnershipChurn), "the change is investigated");
    world.rules = LevelRules::Seed;
    let two = world.assess(Depth::TierTwo);
    assert!(
        has(&two, 0, MetricName::OwnershipChurn) && !has(&two, 1, MetricName::OwnershipChurn),
        "b.py has no HIGH signal"
    );
    let calm = World::new(&["b.py"]).assess(Depth::TierTwo);
    assert_eq!((calm.level, has(&calm, 0, MetricName::OwnershipChurn)), (Level::Low, false));
}

#[test]
fn a_hop_is_worth_it_if_it_could_raise_the_level() {
    use Signal::{High as H, Low as L, Unknown as U};
    let check = |signals: [Signal; 3], other: [Signal; 3], expected: bool| {
        let assessment = with_signals(&[("a.py", signals), ("b.py", other)]);
        assert_eq!(assessment.could_raise(0, MetricName::OwnershipChurn), expected, "{signals:?} {other:?}");
        assessment
    };
    let assessment = check([H, L, L], [L; 3], true);
    assert!(
        !assessment.could_raise(1, MetricName::OwnershipChurn),
        "one HIGH more makes b.py MEDIUM, which the change is"
    );
    assert!(!assessment.could_raise(0, MetricName::LinesAdded), "no rule speaks of it");
    assert!(!assessment.could_raise(7, MetricName::OwnershipChurn), "there is no such file");
    let measured = assessment.with(0, metric(MetricName::OwnershipChurn, L));
    assert!(!measured.could_raise(0, MetricName::OwnershipChurn), "it is measured");
    assert!(measured.could_raise(0, MetricName::IncidentSimilarity));
    check([L; 3], [L; 3], true);
    check([H, H, L], [L; 3], false);
    check([H, L, L], [H, H, L], false);
    check([U; 3], [H, L, L], true);
    // If the rank decides, a HIGH signal is evidence that a model may cite.
    let ranked = |signals| under(LevelRules::Rank, 200, &[("a.py", signals)]);
    assert!(ranked([L; 3]).could_raise(0, MetricName::OwnershipChurn));
    assert!(!ranked([L; 3]).with(0, metric(MetricName::OwnershipChurn, L)).could_raise(0, MetricName::OwnershipChurn));
}
