//! The leader of a file, and since when.

use proem_risk::metric::{Fraction, MetricName, Signal};

use crate::assess::world::{World, text};

/// Commits of a file: `(days before, author)`.
fn by(commits: &[(i64, &str)]) -> World {
    let mut commits = commits.to_vec();
    commits.sort_by_key(|(days, _)| core::cmp::Reverse(*days));
    let mut world = World::new(&["a.py"]);
    for (days, author) in commits {
        world.commit(days, author, &["a.py"]);
    }
    world
}

fn times(number: i64, newest: i64, author: &str) -> Vec<(i64, &str)> {
    (0..number).map(|commit| (newest + commit, author)).collect()
}

#[test]
fn a_new_owner_is_high_at_first_and_low_after_a_quarter() {
    let check = |since: i64, expected: Signal| {
        // Ben's commits are old enough to have left the quarter before Ann's first.
        let commits = [times(25, 300, "ben"), times(1, since, "ann"), times(4, 1, "ann")].concat();
        let metric = by(&commits).measure(MetricName::OwnershipChurn);
        assert_eq!(metric.signal, expected, "{since}: {}", text(&metric.evidence));
        (metric.value, text(&metric.evidence))
    };
    let (value, evidence) = check(14, Signal::High);
    assert_eq!(value, Some(14.0));
    assert_eq!(
        evidence,
        "‹ann@example.org› leads since 14 days with 5 of 5 commits in the last 90 days; \
         ‹ben@example.org› led with 25 of 25 commits in the 12 months before"
    );
    check(29, Signal::High);
    check(30, Signal::Medium);
    check(89, Signal::Medium);
}

#[test]
fn the_days_have_a_place_among_those_of_other_files() {
    let mut world = World::new(&["a.py"]);
    let lead = |file: &'static str, since: i64| {
        let old = (0..25).map(move |commit| (300 + commit, "ben", file));
        let new = (0..5).map(move |commit| (since + commit, "ann", file));
        old.chain(new)
    };
    let mut commits: Vec<_> =
        [("a.py", 20), ("b.py", 5), ("c.py", 60)].into_iter().flat_map(|(f, s)| lead(f, s)).collect();
    commits.sort_by_key(|(days, ..)| core::cmp::Reverse(*days));
    for (days, author, file) in commits {
        world.commit(days, author, &[file]);
    }
    let rank = world.measure(MetricName::OwnershipChurn).rank.unwrap();
    assert_eq!((rank.among, rank.percentile.round()), (3, 33.0));
}

#[test]
fn a_lead_that_began_before_the_quarter_is_low() {
    // Ben led the year before, Ann has led each quarter since day 100.
    let commits = [times(25, 330, "ben"), times(4, 97, "ann"), times(4, 60, "ann"), times(4, 1, "ann")].concat();
    let metric = by(&commits).measure(MetricName::OwnershipChurn);
    assert_eq!((metric.value, metric.signal), (Some(100.0), Signal::Low), "{}", text(&metric.evidence));
}

#[test]
fn the_same_owner_is_low() {
    let metric = by(&[times(20, 100, "ann"), times(5, 1, "ann")].concat()).measure(MetricName::OwnershipChurn);
    assert_eq!((metric.value, metric.signal), (Some(119.0), Signal::Low));
    assert_eq!(
        text(&metric.evidence),
        "‹ann@example.org› leads in the last 90 days with 5 of 5 commits and led in the 12 months before with \
         20 of 20, for 119 days at least"
    );
    // An author who shares the lead has not lost it.
    let tied = [times(20, 100, "ann"), times(4, 1, "ann"), times(4, 10, "ben")].concat();
    assert_eq!(by(&tied).measure(MetricName::OwnershipChurn).signal, Signal::Low);
}

#[test]
fn too_few_commits_are_unknown() {
    let check = |commits: &[(i64, &str)], evidence: &str| {
        let metric = by(commits).measure(MetricName::OwnershipChurn);
        assert_eq!((metric.signal, text(&metric.evidence).as_str()), (Signal::Unknown, evidence));
    };
    let nineteen = [times(15, 100, "ben"), times(4, 1, "ann")].concat();
    check(&nineteen, "19 commits in 12 months touched the file, 20 are needed");
    let twenty = [times(16, 100, "ben"), times(4, 1, "ann")].concat();
    assert_eq!(by(&twenty).measure(MetricName::OwnershipChurn).signal, Signal::High);
    let two = [times(20, 100, "ben"), times(2, 1, "ann")].concat();
    check(&two, "nobody has more than 2 commits of it in the last 90 days, 3 are needed");
    check(
        &[times(2, 100, "ben"), times(20, 1, "ann")].concat(),
        "nobody has more than 2 commits of it in the 12 months before the last 90 days, 3 are needed",
    );
    let tied = [times(20, 100, "ben"), times(4, 1, "ann"), times(4, 10, "cyd")].concat();
    check(&tied, "2 authors lead with 4 each");
    check(&[], "the file has no history yet");
}

#[test]
fn shares_are_of_twenty_commits_at_least() {
    let world = by(&[times(19, 100, "ann"), times(1, 10, "ben")].concat());
    let share = world.measure(MetricName::OwnerShare);
    assert_eq!(share.of, Some(Fraction { numerator: 19, denominator: 20 }));
    assert_eq!(text(&share.evidence), "‹ann@example.org› wrote 19 of the 20 commits that touched it in 12 months");
    // One of 20 is 5 %, which is a major contributor. One of 21 isn't.
    assert_eq!(world.measure(MetricName::MinorContributors).value, Some(0.0));
    let world = by(&[times(20, 100, "ann"), times(1, 10, "ben")].concat());
    let minor = world.measure(MetricName::MinorContributors);
    assert_eq!(minor.value, Some(1.0));
    assert_eq!(
        text(&minor.evidence),
        "1 of 2 authors wrote less than 5 % of the 21 commits that touched it in 12 months"
    );
    let world = by(&times(19, 100, "ann"));
    assert_eq!(world.measure(MetricName::OwnerShare).value, None);
    assert_eq!(world.measure(MetricName::RecentCommits).value, Some(0.0));
}
