//! The change metrics of Kamei et al., by hand.

use proem_risk::change::LineCounts;
use proem_risk::history::{HistoryGaps, Mends};
use proem_risk::metrics::kamei::{features_of_change, sample_features};
use proem_risk::patch::LinePrints;
use proem_risk::path::RepoPath;
use proem_risk::sample::{DrawnCommit, DrawnFile};
use proem_risk::score::ChangeFeatures;

use crate::assess::world::{World, id, person};

fn repository() -> World {
    let mut world = World::new(&["core/a.py", "core/b.py", "app/c.py", "notes.md"]);
    world.commit(10, "ann", &["core/a.py", "app/c.py"]);
    world.commit(4, "ben", &["core/a.py"]);
    world.says(1, "ann", &["core/z.py"], ("fix", Mends::Fix));
    world
}

fn features(world: &World) -> ChangeFeatures {
    world.look(|facts| features_of_change(facts.past, facts.change))
}

fn near(value: Option<f64>, expected: f64) {
    assert!((value.unwrap() - expected).abs() < 1e-9, "{value:?} is not {expected}");
}

#[test]
fn each_metric_follows_its_definition() {
    let found = features(&repository());
    // The note doesn't count.
    near(found.ns, 2.0);
    near(found.nd, 2.0);
    near(found.nf, 3.0);
    near(found.entropy, 1.0);
    near(found.la, 24.0);
    near(found.ld, 6.0);
    near(found.lt, 300.0);
    assert_eq!(found.fix, None);
    near(found.ndev, 2.0);
    // 4, 0 for the new file, and 10 days.
    near(found.age, 14.0 / 3.0);
    // 2 + 1, 0 + 1, 1 + 1.
    near(found.nuc, 6.0);
    // Two files, one file, and the three of the change.
    near(found.exp, 6.0);
    near(found.rexp, 3.0 + 2.0 / 11.0 + 1.0 / 2.0);
    // a, z and c, and b of the change.
    near(found.sexp, 4.0);
}

#[test]
fn what_is_not_known_is_none() {
    let mut world = repository();
    world.change.author = None;
    let found = features(&world);
    assert_eq!((found.exp, found.rexp, found.sexp), (None, None, None));
    near(found.ndev, 3.0);
    world.change.author = Some(person("new"));
    let found = features(&world);
    near(found.exp, 3.0);
    near(found.rexp, 3.0);
    near(found.sexp, 3.0);
    near(found.ndev, 3.0);
    world.missing = HistoryGaps { shallow: true, ..HistoryGaps::default() };
    let found = features(&world);
    assert_eq!((found.ndev, found.age, found.nuc, found.exp), (None, None, None, None));
    near(found.la, 24.0);
    // A file without lines is a binary one, unless contents are missing.
    world.change.files.first_mut().unwrap().lines = None;
    near(features(&world).la, 16.0);
    world.missing = HistoryGaps { partial: true, ..HistoryGaps::default() };
    let found = features(&world);
    assert_eq!((found.la, found.ld, found.lt, found.entropy), (None, None, None, None));
    near(found.nf, 3.0);
    let found = features(&World::new(&["notes.md", "Cargo.lock"]));
    assert_eq!(found, ChangeFeatures::default());
}

#[test]
fn entropy_is_of_changed_lines() {
    let check = |lines: &[u32], expected: f64| {
        let paths: Vec<String> = (0..lines.len()).map(|file| format!("f{file}.py")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let mut world = World::new(&paths);
        for (file, lines) in world.change.files.iter_mut().zip(lines) {
            file.lines = Some(LineCounts { added: *lines, removed: 0 });
        }
        near(features(&world).entropy, expected);
        assert!(features(&world).entropy.unwrap().is_sign_positive(), "{lines:?}");
    };
    check(&[7], 0.0);
    check(&[7, 0], 0.0);
    check(&[0, 0], 0.0);
    check(&[5, 5], 1.0);
    check(&[5, 5, 0, 0], 0.5);
    check(&[u32::MAX, u32::MAX], 1.0);
}

#[test]
fn a_drawn_commit_has_the_metrics_of_its_time() {
    let world = repository();
    let history = world.history();
    let drawn = |number: usize, path: &str| DrawnCommit {
        id: id(number),
        files: vec![DrawnFile {
            path: RepoPath::new(path),
            lines: Some(LineCounts { added: 3, removed: 1 }),
            before: Some(9),
            prints: LinePrints::default(),
        }],
    };
    let all =
        [drawn(2, "core/z.py"), drawn(0, "core/a.py"), drawn(1, "core/a.py"), drawn(1, "x.md"), drawn(77, "x.py")];
    let sampled = sample_features(&history, &all, &|path| !path.as_bytes().ends_with(b".md"));
    assert!(sampled.is_sorted_by_key(|(index, _)| *index));
    let found: Vec<_> = sampled.iter().map(|(_, sampled)| sampled.features).collect();
    let exp: Vec<_> = found.iter().map(|features| (features.exp, features.nuc, features.fix)).collect();
    // In the order of the history. The note's commit and the unknown one are left out.
    assert_eq!(
        exp,
        [(Some(1.0), Some(1.0), Some(false)), (Some(1.0), Some(2.0), Some(false)), (Some(3.0), Some(1.0), Some(true))]
    );
    near(found[2].rexp, 1.0 + 2.0 / 10.0);
    near(found[2].sexp, 2.0);
    near(found[1].age, 6.0);
}
