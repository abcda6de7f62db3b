//! Changes that are assessed together: what they share, and what each has of its own.

use proem_risk::assess::Depth;
use proem_risk::change::Change;
use proem_risk::level::{LevelRules, Thresholds};
use proem_runtime::change::{ResolvedChange, parse_change_spec};
use proem_runtime::risk::{Assessor, AssessorOptions};

use crate::change::{NOW, git, read, resolve_spec};
use crate::fixture::Fixture;

fn opened(fixture: &Fixture, changes: &[ResolvedChange]) -> Assessor {
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
    let together = opened(&fixture, &changes);
    for (spec, (sampled, of)) in specs.iter().zip([(9, 9), (6, 6), (1, 1)]) {
        let change = read(&fixture, spec);
        assert_eq!(compare_together(&together, &change), ((sampled, of), vec![]), "{spec:?}");
        let alone = opened(&fixture, &[resolve_spec(&fixture, spec).unwrap()]);
        assert_eq!(compare_together(&alone, &change), ((sampled, of), vec![]), "{spec:?}");
    }
}

#[test]
fn a_change_that_nobody_announced_has_no_percentile() {
    let fixture = repository();
    let assessor = opened(&fixture, &[resolve_spec(&fixture, &parse_change_spec("HEAD~3")).unwrap()]);
    assert_eq!(compare_together(&assessor, &read(&fixture, &parse_change_spec("HEAD~3"))), ((6, 6), vec![]));
    // Of its past one commit more would be wanted than was looked at.
    let gap = "the change was not compared with past commits, so the score has no percentile";
    assert_eq!(
        compare_together(&assessor, &read(&fixture, &parse_change_spec("HEAD~2"))),
        ((0, 7), vec![gap.to_owned()])
    );
}
