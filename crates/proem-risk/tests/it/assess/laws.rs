//! Laws that hold for every change.

use std::sync::LazyLock;

use proem_risk::assess::{Assessment, Depth};
use proem_risk::change::{FileKind, FileStatus, LineCounts};
use proem_risk::history::{HistoryGaps, Mends};
use proem_risk::level::{Level, LevelRules};
use proem_risk::metric::{Metric, MetricName, Sentence, Signal};
use proptest::prelude::*;

use crate::assess::world::World;

const TIERED: [MetricName; 5] = [
    MetricName::Coupling,
    MetricName::CoChange,
    MetricName::TestRatio,
    MetricName::OwnershipChurn,
    MetricName::IncidentSimilarity,
];

const PATHS: [&str; 8] =
    ["a.py", "b.py", "lib/c.py", "test_a.py", "auth.py", "x.yml", "notes.md", "lib/d_generated.py"];

fn signal() -> impl Strategy<Value = Signal> {
    prop_oneof![Just(Signal::Unknown), Just(Signal::Low), Just(Signal::Medium), Just(Signal::High)]
}

fn metric(name: MetricName, signal: Signal) -> Metric {
    match signal {
        Signal::Unknown => Metric::unknown(name, Sentence::ours("nobody knows")),
        signal => Metric { signal, ..Metric::of(name, 1.0) },
    }
}

/// Metrics of the first three files.
fn metrics() -> impl Strategy<Value = Vec<(u32, MetricName, Signal)>> {
    prop::collection::vec((0_u32..3, prop::sample::select(TIERED.to_vec()), signal()), 0..16).prop_map(|mut metrics| {
        metrics.sort_by_key(|(file, name, _)| (*file, *name));
        metrics.dedup_by_key(|(file, name, _)| (*file, *name));
        metrics
    })
}

fn put(assessment: Assessment, metrics: &[(u32, MetricName, Signal)]) -> Assessment {
    metrics.iter().fold(assessment, |assessment, (file, name, signal)| assessment.with(*file, metric(*name, *signal)))
}

/// A change of three files in a repository with enough past commits for a score, or not.
fn base(is_scored: bool) -> Assessment {
    static BOTH: LazyLock<(Assessment, Assessment)> = LazyLock::new(|| {
        let of = |sampled| {
            let mut world = World::new(&["a.py", "auth.py", "x.yml"]);
            world.sampled(sampled);
            world.assess(Depth::TierOne)
        };
        (of(10), of(60))
    });
    if is_scored { BOTH.1.clone() } else { BOTH.0.clone() }
}

fn rules() -> impl Strategy<Value = LevelRules> {
    prop_oneof![Just(LevelRules::Rank), Just(LevelRules::Seed), Just(LevelRules::RankOrSeed)]
}

/// A world with dates, lines and shapes of any kind.
fn world() -> impl Strategy<Value = World> {
    let days = prop_oneof![4 => -5_i64..600, 1 => Just(19_000_i64), 1 => Just(-30_000_i64)];
    let touched = prop::collection::vec(prop::sample::select(PATHS.to_vec()), 0..5);
    let mends = prop_oneof![Just(Mends::Nothing), Just(Mends::Fix), Just(Mends::Revert)];
    let commit = (days, prop::sample::select(vec!["ann", "ben", "bot[bot]"]), touched, mends);
    let lines = prop::option::of(prop_oneof![Just(0), Just(u32::MAX), 0_u32..500]);
    let changed = prop::sample::subsequence(PATHS.to_vec(), 0..PATHS.len());
    let missing = (any::<bool>(), any::<bool>(), any::<bool>());
    let at = prop_oneof![4 => Just(crate::assess::world::NOW), 1 => Just(0), 1 => Just(4_300_000_000), 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
    (prop::collection::vec(commit, 0..60), changed, lines, missing, (at, 0_u32..80)).prop_map(
        |(commits, changed, lines, (shallow, partial, capped), (at, sampled))| {
            let mut world = World::new(&changed);
            for (days, author, mut touched, mends) in commits {
                touched.sort_unstable();
                touched.dedup();
                world.says(days, author, &touched, ("something", mends));
            }
            world.sampled(sampled);
            world.missing = HistoryGaps { shallow, partial, capped, ..HistoryGaps::default() };
            world.change.at = at;
            for (place, file) in world.change.files.iter_mut().enumerate() {
                file.lines = lines.map(|lines| LineCounts { added: lines, removed: lines });
                file.lines_before = lines;
                if place % 3 == 1 {
                    file.status = FileStatus::Deleted;
                }
                if place % 5 == 4 {
                    file.kind = FileKind::Submodule;
                }
            }
            world
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_level_never_falls_when_a_signal_rises(metrics in metrics(), at in any::<prop::sample::Index>(), is_scored in any::<bool>(), rules in rules()) {
        prop_assume!(!metrics.is_empty());
        let at = at.index(metrics.len());
        let rank = |signal: Signal| [Signal::Low, Signal::Medium, Signal::High].iter().position(|other| *other == signal);
        let level = |signal: Signal| {
            let mut metrics = metrics.clone();
            metrics[at].2 = signal;
            put(Assessment { rules, ..base(is_scored) }, &metrics).level
        };
        prop_assume!(rank(metrics[at].2).is_some());
        prop_assert!(level(Signal::Low) <= level(Signal::Medium));
        prop_assert!(level(Signal::Medium) <= level(Signal::High));
        // An unmeasured value raises nothing.
        prop_assert!(rules != LevelRules::Rank || level(Signal::Unknown) <= level(Signal::Low).max(Level::Unknown));
    }

    #[test]
    fn metrics_may_come_in_any_order(metrics in metrics(), seed in any::<u64>()) {
        let mut shuffled = metrics.clone();
        shuffled.sort_by_key(|(file, name, _)| (u64::from(*file) * 31 + *name as u64 * 7).wrapping_mul(seed | 1));
        prop_assert_eq!(put(base(true), &metrics), put(base(true), &shuffled));
    }

    #[test]
    fn more_unknowns_never_raise_the_confidence(metrics in metrics(), at in any::<prop::sample::Index>(), is_scored in any::<bool>()) {
        prop_assume!(!metrics.is_empty());
        let known = put(base(is_scored), &metrics);
        let mut less = metrics.clone();
        less[at.index(metrics.len())].2 = Signal::Unknown;
        let less = put(base(is_scored), &less);
        prop_assert!(less.confidence.unwrap_or(0.0) <= known.confidence.unwrap_or(0.0));
        let unscored = put(base(false), &metrics);
        prop_assert!(unscored.confidence.unwrap_or(0.0) <= known.confidence.unwrap_or(0.0));
        prop_assert!(known.confidence.is_none_or(|confidence| (0.0..=1.0).contains(&confidence)));
    }

    #[test]
    fn what_could_not_raise_does_not(metrics in metrics(), file in 0_u32..3, (two, rules) in (any::<bool>(), rules()), outcome in signal()) {
        let name = if two { MetricName::OwnershipChurn } else { MetricName::IncidentSimilarity };
        let metrics: Vec<_> = metrics.into_iter().filter(|(f, n, _)| (*f, *n) != (file, name)).collect();
        let base = Assessment { rules, ..base(true) };
        // The level follows from the rules once a metric is put where it was.
        let (first, same) = (base.files[0].index, base.files[0].metrics[0].clone());
        let before = put(base.with(first, same), &metrics);
        let after = before.clone().with(file, metric(name, outcome));
        prop_assert!(before.could_raise(file, name) || after.level <= before.level);
        prop_assert!(before.level != Level::High || !before.could_raise(file, name));
    }

    #[test]
    fn any_repository_is_assessed_the_same_twice_and_unknown_is_never_low(world in world()) {
        let assessment = world.assess(Depth::TierTwo);
        prop_assert_eq!(&assessment, &world.assess(Depth::TierTwo));
        let written = serde_json::to_string(&assessment).unwrap();
        let read: Assessment = serde_json::from_str(&written).unwrap();
        prop_assert_eq!((read.level, read.reasons.len(), &read.partners.len()), (assessment.level, assessment.reasons.len(), &assessment.partners.len()));
        for file in &assessment.files {
            let tiered = || file.metrics.iter().filter(|metric| metric.name.tier().is_some());
            prop_assert!(tiered().all(|metric| (metric.value.is_none()) == (metric.signal == Signal::Unknown)));
            let counts = matches!(file.class.role, proem_risk::path::FileRole::Code | proem_risk::path::FileRole::Configuration);
            let is_unknown = tiered().all(|metric| metric.signal == Signal::Unknown);
            prop_assert!(!counts || !is_unknown || file.level >= Level::Unknown);
            for metric in &file.metrics {
                prop_assert!(metric.value.is_none_or(f64::is_finite), "{metric:?}");
                prop_assert!(metric.value.is_some() || !metric.evidence.0.is_empty(), "{metric:?}");
                prop_assert!(metric.details.len() <= 20);
                prop_assert!(metric.rank.is_none_or(|rank| (0.0..=100.0).contains(&rank.percentile)));
            }
        }
        prop_assert!(assessment.metrics.iter().all(|metric| metric.value.is_none_or(f64::is_finite)));
    }
}
