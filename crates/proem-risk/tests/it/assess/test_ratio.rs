//! Lines of tests to lines of code.

use proem_risk::metric::{MetricName, Signal};

use crate::assess::world::{World, text};

#[test]
fn the_ratio_is_of_lines_plus_one() {
    let check = |code, tests, ratio: f64, signal| {
        let mut world = World::new(&["a.py"]);
        world.file("a.py", code).file("test_a.py", tests);
        let metric = world.measure(MetricName::TestRatio);
        assert!((metric.value.unwrap() - ratio).abs() < 1e-9, "{metric:?}");
        assert_eq!(metric.signal, signal, "{ratio}");
        text(&metric.evidence)
    };
    assert_eq!(check(99, 79, 0.8, Signal::Low), "79 lines of tests in 1 file that have its name for 99 lines of code");
    check(99, 78, 0.79, Signal::Medium);
    check(99, 29, 0.3, Signal::Medium);
    check(99, 28, 0.29, Signal::High);
    check(u32::MAX, 0, 1.0 / 4_294_967_296.0, Signal::High);
    check(0, u32::MAX, 4_294_967_296.0, Signal::Low);
}

#[test]
fn the_ratio_has_a_place_among_those_of_other_files() {
    let mut world = World::new(&["a.py"]);
    world.file("a.py", 99).file("test_a.py", 49);
    // Three files have fewer tests, one has more, one has none that are found.
    for (name, tests) in [("b", 9), ("c", 19), ("d", 29), ("e", 99)] {
        world.file(&format!("{name}.py"), 99).file(&format!("test_{name}.py"), tests);
    }
    world.file("f.py", 99);
    let rank = world.measure(MetricName::TestRatio).rank.unwrap();
    assert_eq!((rank.percentile, rank.among), (60.0, 5));
}

#[test]
fn tests_inside_the_file_are_tests() {
    let mut world = World::new(&["a.py"]);
    world.file("a.py", 100);
    world.files.last_mut().unwrap().inline_tests = 40;
    let metric = world.measure(MetricName::TestRatio);
    assert_eq!(text(&metric.evidence), "40 lines of tests inside it for 60 lines of code");
}

#[test]
fn no_tests_found_is_unknown_and_a_report_stands_beside() {
    let mut world = World::new(&["a.py"]);
    let metric = world.measure(MetricName::TestRatio);
    assert_eq!((metric.value, metric.signal), (None, Signal::Unknown));
    assert_eq!(text(&metric.evidence), "no tests of it were found by name, import or history");
    world.coverage = Some("SF:a.py\nDA:1,1\nDA:2,1\nDA:3,1\nDA:4,0\nend_of_record\n".to_owned());
    let metric = world.measure(MetricName::TestRatio);
    assert_eq!(metric.signal, Signal::Unknown);
    assert!(text(&metric.evidence).ends_with("; a report says that 3 of 4 lines were run (75 %)"));
}

#[test]
fn a_test_that_usually_changes_with_it_is_its_test() {
    let mut world = World::new(&["a.py"]);
    world.file("tests/everything.py", 50);
    for day in 0..8 {
        world.commit(100 - day, "ann", &["a.py", "tests/everything.py"]);
    }
    let metric = world.measure(MetricName::TestRatio);
    assert_eq!(text(&metric.evidence), "50 lines of tests in 1 file that change with it for 100 lines of code");
}

#[test]
fn the_ratio_is_unknown_without_lines() {
    let mut world = World::new(&["a.py"]);
    world.file("a.py", 1).files.last_mut().unwrap().lines = None;
    assert_eq!(text(&world.measure(MetricName::TestRatio).evidence), "its lines could not be counted");
}

#[test]
fn what_the_change_adds_to_tests_counts() {
    let check = |paths: &[&str], tests: Option<u32>, value: f64, words: &str| {
        let mut world = World::new(paths);
        world.file("a.py", 99);
        if let Some(lines) = tests {
            world.file("test_a.py", lines);
        }
        let metric = world.measure(MetricName::TestRatio);
        assert!((metric.value.unwrap() - value).abs() < 1e-9, "{metric:?}");
        assert_eq!(text(&metric.evidence), words);
    };
    check(
        &["a.py", "tests/feature.py"],
        Some(20),
        0.29,
        "20 lines of tests in 1 file that have its name and 8 added along with it for 99 lines of code",
    );
    check(&["a.py", "tests/feature.py"], None, 0.09, "8 lines of tests added along with it for 99 lines of code");
    // Those that belong to it anyhow count once.
    check(&["a.py", "test_a.py"], Some(79), 0.8, "79 lines of tests in 1 file that have its name for 99 lines of code");
}
