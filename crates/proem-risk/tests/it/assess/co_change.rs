//! Finds the files that usually change together.

use proem_risk::assess::Depth;
use proem_risk::history::HistoryGaps;
use proem_risk::metric::{Fraction, MetricName, Signal};

use crate::assess::world::{World, text};

/// A repository in which `a.py` changed alone and with `b.py` so often.
fn pair(together: i64, alone: i64) -> World {
    let mut world = World::new(&["a.py"]);
    world.file("b.py", 10);
    for commit in 0..alone {
        world.commit(200 - commit, "ann", &["a.py"]);
    }
    for commit in 0..together {
        world.commit(60 - commit, "ann", &["a.py", "b.py"]);
    }
    world
}

#[test]
fn the_signal_comes_from_the_lower_bound() {
    let check = |together, alone, expected: Signal| {
        let metric = pair(together, alone).measure(MetricName::CoChange);
        assert_eq!(metric.signal, expected, "{together} of {}: {}", together + alone, text(&metric.evidence));
        metric
    };
    // 15 of 20 is 0.75, and 0.53 to 0.89 with Wilson's interval.
    let metric = check(15, 5, Signal::Medium);
    assert_eq!(metric.value, Some(0.75));
    assert_eq!(metric.of, Some(Fraction { numerator: 15, denominator: 20 }));
    let between = metric.between.unwrap();
    assert!((between.low - 0.5313).abs() < 1e-4 && (between.high - 0.8881).abs() < 1e-4, "{between:?}");
    assert_eq!(
        text(&metric.evidence),
        "‹b.py› changed in 15 of the 20 commits that touched this file in 12 months (0.75, at least 0.53); \
         in the last 90 days in 15 of 15"
    );
    check(30, 0, Signal::High);
    check(5, 5, Signal::Low);
    check(3, 2, Signal::Low);
}

#[test]
fn too_few_commits_are_unknown() {
    let metric = pair(4, 0).measure(MetricName::CoChange);
    assert_eq!((metric.signal, metric.value), (Signal::Unknown, None));
    assert_eq!(text(&metric.evidence), "4 commits of at most 30 files touched it in 12 months, 5 are needed");
    assert_eq!(pair(5, 0).measure(MetricName::CoChange).signal, Signal::Medium);
    // Two commits together make no partner, and no partner is low.
    let metric = pair(2, 3).measure(MetricName::CoChange);
    assert_eq!((metric.signal, metric.value), (Signal::Low, Some(0.0)));
    let metric = World::new(&["a.py"]).measure(MetricName::CoChange);
    assert_eq!(metric.signal, Signal::Unknown);
    assert_eq!(text(&metric.evidence), "the file has no history yet, so nothing changes with it usually");
}

#[test]
fn a_shallow_history_is_unknown_until_it_spans_the_window() {
    let mut world = pair(15, 5);
    world.missing = HistoryGaps { shallow: true, ..HistoryGaps::default() };
    let metric = world.measure(MetricName::CoChange);
    assert_eq!(metric.signal, Signal::Unknown);
    assert_eq!(text(&metric.evidence), "the history goes back 200 days only, 365 are needed");
    let mut older = World::new(&["a.py"]);
    older.commit(366, "ann", &["z.py"]);
    older.listed.extend(world.listed.clone().into_iter().enumerate().map(|(at, mut listed)| {
        listed.id = crate::assess::world::id(at + 1);
        listed.parents = vec![crate::assess::world::id(at)];
        listed
    }));
    older.file("b.py", 10);
    older.missing = world.missing;
    assert_eq!(older.measure(MetricName::CoChange).signal, Signal::Medium);
}

#[test]
fn a_change_whose_date_can_not_be_true_is_not_older_than_its_base() {
    let usual = pair(15, 5);
    for at in [0, i64::MIN, crate::assess::world::NOW - 900 * crate::assess::world::DAY] {
        let mut world = usual.clone();
        world.change.at = at;
        assert_eq!(world.measure(MetricName::CoChange), usual.measure(MetricName::CoChange), "{at}");
    }
    // The history corrects the date of a commit that it has.
    let mut world = usual.clone();
    world.change.base = None;
    world.change.id = world.listed.last().map(|listed| listed.id);
    world.change.at = 4_300_000_000;
    assert_eq!(world.measure(MetricName::CoChange).of, usual.measure(MetricName::CoChange).of);
}

#[test]
fn sweeps_tests_and_what_is_gone_do_not_count() {
    let mut world = World::new(&["a.py"]);
    let sweep: Vec<String> = (0..31).map(|file| format!("sweep{file}.py")).collect();
    let sweep: Vec<&str> = sweep.iter().map(String::as_str).chain(["a.py"]).collect();
    world.file("test_a.py", 10).file("a_generated.py", 10);
    for day in 0..6 {
        world.commit(100 - day, "ann", &["a.py", "test_a.py", "a_generated.py", "gone.py"]);
    }
    for day in 0..4 {
        world.commit(50 - day, "ann", &sweep);
    }
    let metric = world.measure(MetricName::CoChange);
    assert_eq!((metric.signal, metric.value), (Signal::Low, Some(0.0)), "{}", text(&metric.evidence));
    let excluded: Vec<_> = metric.excluded.iter().map(|excluded| (excluded.what.as_str(), excluded.count)).collect();
    let partners = "partners that are tests, documentation, generated or vendored";
    assert_eq!(excluded, [("commits of more than 30 files", 4), (partners, 2)]);
}

#[test]
fn a_usual_partner_that_is_missing_is_named_once_and_one_with_an_import_weighs_less() {
    let mut world = World::new(&["a.py", "c.py"]);
    world.file("b.py", 10).edge("a.py", "d.py").edge("c.py", "d.py");
    for day in 0..10 {
        world.commit(100 - day, "ann", &["a.py", "b.py", "d.py", "c.py"]);
    }
    for day in 0..2 {
        world.commit(50 - day, "ann", &["c.py"]);
    }
    let assessment = world.assess(Depth::TierOne);
    let partners: Vec<_> = assessment.partners.iter().map(|p| (p.path.as_str(), p.of, p.imported)).collect();
    assert_eq!(partners, [("b.py", 0, Some(false)), ("d.py", 0, Some(true))]);
    let gap = world.measure(MetricName::CoChangeGap);
    assert_eq!((gap.value, gap.signal), (Some(2.0), Signal::None));
    assert_eq!(text(&gap.evidence), "2 files that usually changed with it are not in this change");
    let names: Vec<String> = gap.details.iter().map(text).collect();
    assert_eq!(names, ["‹b.py›: 10 of 10", "‹d.py›: 10 of 10"]);
}

#[test]
fn details_have_the_other_shares() {
    let mut world = pair(6, 4);
    world.commit(10, "ann", &["b.py"]).commit(9, "ann", &["b.py"]);
    let details = world.measure(MetricName::CoChange).details;
    // 6 / (10 + 8 − 6), 2 · 6 / (10 + 8).
    assert_eq!(
        details.iter().map(text).collect::<Vec<_>>(),
        ["‹b.py›: 6 of 10, Jaccard 0.50, degree 0.67, no import between them"]
    );
}

#[test]
fn tests_are_no_partners_of_any_kind() {
    let mut world = World::new(&["a.py", "test_b.py"]);
    world.file("test_a.py", 10).file("b.py", 10);
    for day in 0..10 {
        world.commit(100 - day, "ann", &["a.py", "test_a.py", "b.py", "test_b.py"]);
    }
    let metric = world.measure(MetricName::CoChange);
    assert_eq!((metric.details.len(), metric.total), (1, Some(1)), "{:?}", metric.details);
    assert_eq!(world.measure(MetricName::CoChangeGap).value, Some(1.0));
    let assessment = world.assess(Depth::TierOne);
    let partners: Vec<_> = assessment.partners.iter().map(|partner| partner.path.as_str()).collect();
    assert_eq!((partners, assessment.more_partners), (vec!["b.py"], 0));
    let test = assessment.files.iter().find(|file| file.path == "test_b.py").unwrap();
    assert!(test.metrics.iter().all(|metric| metric.name != MetricName::CoChange), "{:?}", test.metrics);
}

#[test]
fn partners_beyond_those_that_are_named_are_counted() {
    let mut world = World::new(&["a.py"]);
    let names: Vec<String> = (0..25).map(|number| format!("p{number:02}.py")).collect();
    names.iter().for_each(|name| _ = world.file(name, 10));
    let all: Vec<&str> = names.iter().map(String::as_str).chain(["a.py"]).collect();
    for day in 0..10 {
        world.commit(100 - day, "ann", &all);
    }
    let assessment = world.assess(Depth::TierOne);
    assert_eq!((assessment.partners.len(), assessment.more_partners), (20, 5));
    let gap = world.measure(MetricName::CoChangeGap);
    assert_eq!((gap.details.len(), gap.total, gap.beside(3)), (20, Some(25), 22));
}
