//! A change of very many files is assessed, with details for the most risky.

use proem_risk::assess::{DETAILED, Depth, LISTED};
use proem_risk::metric::MetricName;

use crate::assess::world::World;

#[test]
fn a_change_of_three_thousand_files_has_details_for_the_most_risky() {
    let paths: Vec<String> = (0..3000).map(|file| format!("folder{}/file{file}.py", file % 50)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut world = World::new(&[]);
    world.change.files = World::new(&paths).change.files;
    world.files = World::new(&paths[..200]).files;
    for (at, together) in (0_i64..).zip(paths.chunks(5)) {
        for commit in 0..6 {
            world.commit(300 - (at + commit) % 200, "ann", together);
        }
    }
    let assessment = world.assess(Depth::TierTwo);
    assert_eq!(assessment.files.len(), 3000);
    let has_all =
        |file: &proem_risk::assess::FileAssessment| file.metrics.iter().any(|m| m.name == MetricName::PriorFixes);
    assert_eq!(assessment.files.iter().filter(|file| has_all(file)).count(), DETAILED);
    assert!(assessment.files.iter().skip(DETAILED).all(|f| f.metrics.iter().all(|m| m.details.is_empty())));
    let said = "2950 of 3000 files have only the fast (Tier 1) signals; the 50 riskiest have all signals";
    assert!(assessment.gaps.iter().any(|gap| gap == said), "{:?}", assessment.gaps);
}

#[test]
fn a_change_of_more_files_than_are_listed_lists_the_most_risky() {
    let paths: Vec<String> = (0..LISTED + 2_000).map(|file| format!("folder{}/file{file}.py", file % 50)).collect();
    let notes: Vec<String> = (0..1_000).map(|file| format!("docs/note{file}.md")).collect();
    let paths: Vec<&str> = notes.iter().chain(&paths).map(String::as_str).collect();
    let mut world = World::new(&[]);
    world.change.files = World::new(&paths).change.files;
    let assessment = world.assess(Depth::TierTwo);
    assert_eq!(assessment.files.len(), LISTED);
    assert!(assessment.files.iter().all(|file| file.path.ends_with(".py")), "documentation comes last");
    let said = "3000 of 6000 files are not listed; the 3000 riskiest are";
    assert!(assessment.gaps.iter().any(|gap| gap == said), "{:?}", assessment.gaps);
    // A later measurement changes only its own file.
    let one = assessment.files[0].clone();
    let again = assessment.clone().with(one.index, one.metrics[0].clone());
    assert_eq!((again.level, again.confidence, again.files.len()), (assessment.level, assessment.confidence, LISTED));
}
