//! Earlier mending of a file.

use proem_risk::history::{HistoryGaps, Mends};
use proem_risk::metric::{Fraction, MetricName};

use crate::assess::world::{World, text};

fn repository() -> World {
    let mut world = World::new(&["a.py", "new.py"]);
    world.says(900, "ann", &["a.py"], ("begin", Mends::Nothing));
    world.says(800, "ann", &["a.py", "b.py"], ("fix the first", Mends::Fix));
    world.says(10, "ann", &["a.py"], ("fix the second", Mends::Fix));
    world.says(5, "bot[bot]", &["a.py"], ("fix by a program", Mends::Fix));
    world.says(1, "ann", &["a.py"], ("Revert the second", Mends::Revert));
    world
}

#[test]
fn fixes_and_reverts_count_over_the_whole_past() {
    let metric = repository().measure(MetricName::PriorFixes);
    assert_eq!(metric.value, Some(2.0));
    assert_eq!(metric.of, Some(Fraction { numerator: 2, denominator: 4 }));
    assert_eq!(text(&metric.evidence), "2 of the 4 commits that touched it fixed something");
    assert_eq!(metric.details.iter().map(text).collect::<Vec<_>>(), ["‹fix the second›", "‹fix the first›"]);
    // Among the two files that were ever fixed, one has fewer.
    assert_eq!(metric.rank.map(|rank| (rank.percentile, rank.among)), Some((50.0, 2)));
    let excluded: Vec<_> = metric.excluded.iter().map(|excluded| (excluded.what.as_str(), excluded.count)).collect();
    assert_eq!(excluded, [("commits of programs", 1)]);
    let metric = repository().measure(MetricName::PriorReverts);
    assert_eq!(text(&metric.evidence), "1 of the 4 commits that touched it reverted something");
}

#[test]
fn a_history_without_its_beginning_is_unknown_and_a_new_file_has_none() {
    let mut world = repository();
    world.change.files.swap(0, 1);
    assert_eq!(world.measure(MetricName::PriorFixes).value, Some(0.0));
    world.missing = HistoryGaps { shallow: true, ..HistoryGaps::default() };
    let metric = world.measure(MetricName::PriorFixes);
    assert_eq!((metric.value, text(&metric.evidence).as_str()), (None, "the history doesn't go back to its beginning"));
}
