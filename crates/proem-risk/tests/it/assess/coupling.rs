//! How many files import a file.

use proem_risk::change::FileStatus;
use proem_risk::metric::{Metric, MetricName, Signal};
use proem_risk::tree::Imports;

use crate::assess::world::{World, text};

fn imported(by: u32) -> World {
    let mut world = World::new(&["a.py"]);
    for importer in 0..by {
        world.edge(&format!("importer{importer:02}.py"), "a.py");
    }
    world
}

fn check(world: &World, signal: Signal, evidence: &str) -> Metric {
    let metric = world.measure(MetricName::Coupling);
    assert_eq!((metric.signal, text(&metric.evidence).as_str()), (signal, evidence));
    metric
}

#[test]
fn the_signal_is_by_files() {
    check(&imported(0), Signal::Low, "no file imports it");
    check(&imported(5), Signal::Low, "5 files import it");
    check(&imported(6), Signal::Medium, "6 files import it");
    check(&imported(10), Signal::Medium, "10 files import it");
    let metric = check(&imported(11), Signal::High, "11 files import it");
    assert_eq!(metric.value, Some(11.0));
    assert_eq!(metric.details.len(), 11);
    // Of 12 files, 11 have a lower fan-in.
    let rank = metric.rank.unwrap();
    assert_eq!(rank.among, 12);
    assert!((rank.percentile - 91.666).abs() < 0.001, "{rank:?}");
}

#[test]
fn tests_and_generated_files_do_not_count() {
    let mut world = imported(2);
    world.edge("test_a.py", "a.py").edge("a_generated.py", "a.py");
    let metric = check(&world, Signal::Low, "2 files import it");
    assert_eq!(metric.excluded.first().map(|excluded| excluded.count), Some(2));
}

#[test]
fn what_hides_importers_is_never_low() {
    let mut world = imported(0);
    world.imports("large.py", Imports::Unread);
    check(&world, Signal::Unknown, "no file is known to import it, but 1 file of its language could not be read");
    let mut world = imported(5);
    world.imports("large.py", Imports::Unread);
    check(&world, Signal::Unknown, "5 files import it, but 1 file of its language could not be read");
    let mut world = imported(4);
    world.imports("large.py", Imports::Unread);
    check(&world, Signal::Low, "4 files import it; a lower bound: 1 file of its language could not be read");
    let mut world = imported(6);
    world.imports("large.py", Imports::Unread);
    check(&world, Signal::Medium, "6 files import it; a lower bound: 1 file of its language could not be read");
    let mut world = imported(1);
    world.imports("x.py", Imports::Read { resolved: 0, unresolved: 7, external: 0 });
    check(
        &world,
        Signal::Low,
        "1 file imports it; a lower bound: 7 imports in its language could not be traced to a file",
    );
}

#[test]
fn languages_that_call_each_other_hide_importers_of_each_other() {
    let mut world = World::new(&["A.java"]);
    world.imports("b.kt", Imports::NoParser);
    check(&world, Signal::Unknown, "no file is known to import it, but 1 file of its language could not be read");
    let mut world = World::new(&["a.py"]);
    world.imports("b.kt", Imports::NoParser);
    check(&world, Signal::Low, "no file imports it");
}

#[test]
fn unknown_says_why() {
    let mut world = imported(3);
    world.imports("a.py", Imports::NoParser);
    check(&world, Signal::Unknown, "imports of its language can't be read");
    world.imports("a.py", Imports::Unread);
    check(&world, Signal::Unknown, "the file is too large, took too long to read or is no text");
    world.has_tree = false;
    check(&world, Signal::Unknown, "the files of the repository could not be read");
    let mut world = imported(3);
    world.change.files.first_mut().unwrap().status = FileStatus::Deleted;
    check(&world, Signal::Unknown, "the file is gone, so who imported it can't be counted after the change");
}

#[test]
fn transitive_importers_and_calls_stand_beside() {
    let mut world = imported(2);
    world.edge("far.py", "importer00.py");
    let metric = world.measure(MetricName::TransitiveCoupling);
    assert_eq!((metric.value, metric.signal), (Some(3.0), Signal::None));
    assert_eq!(text(&world.measure(MetricName::CallSites).evidence), "its importers call it in 4 places");
}
