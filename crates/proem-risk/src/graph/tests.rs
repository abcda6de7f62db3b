use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use proptest::prelude::*;

use super::*;

fn edge(from: u32, to: u32) -> Edge {
    Edge { from, to, kind: EdgeKind::Import, calls: Some(1) }
}

fn graph(files: u32, edges: &[(u32, u32)]) -> Graph {
    Graph::new(files, edges.iter().map(|&(from, to)| edge(from, to)))
}

#[test]
fn fan_in_counts_distinct_importers_in_product_code() {
    let kinds = [EdgeKind::Import, EdgeKind::TypeOnly, EdgeKind::Test, EdgeKind::Ownership, EdgeKind::Import];
    let edges = (1..).zip(kinds).map(|(from, kind)| Edge { from, to: 0, kind, calls: Some(2) });
    let again = Edge { from: 2, to: 0, kind: EdgeKind::Ownership, calls: Some(9) };
    let graph = Graph::new(6, edges.chain([again, edge(0, 0), edge(0, 6), edge(6, 0)]));
    assert_eq!(graph.importers(0).len(), 5);
    let all = graph.fan_in(0, |_| true);
    assert_eq!(all, FanIn { importers: 3, type_only: 1, calls: Some(6) });
    assert_eq!(graph.fan_in(0, |file| file != 5), FanIn { importers: 2, type_only: 1, calls: Some(4) });
    assert_eq!(graph.fan_in(6, |_| true), FanIn { importers: 0, type_only: 0, calls: Some(0) });
}

#[test]
fn calls_are_unknown_if_one_importer_does_not_tell() {
    let silent = Edge { calls: None, ..edge(1, 0) };
    assert_eq!(Graph::new(3, [silent, edge(2, 0)]).fan_in(0, |_| true).calls, None);
    assert_eq!(Graph::new(3, [silent, edge(1, 0)]).fan_in(0, |_| true).calls, Some(1));
}

#[test]
fn half_of_the_importers_of_types_weigh() {
    for (importers, type_only, expected) in [(0, 0, 0), (5, 0, 5), (5, 1, 5), (5, 2, 4), (4, 4, 2), (3, 3, 2)] {
        assert_eq!(FanIn { importers, type_only, calls: None }.weighted(), expected);
    }
}

#[test]
fn cycles_and_chains_are_walked_without_recursion() {
    let long: Vec<_> = (1..100_000).map(|n| (n, n - 1)).collect();
    assert_eq!(graph(100_000, &long).transitive(0, |_| true), 99_999);
    let circle = graph(4, &[(0, 1), (1, 2), (2, 0), (3, 0)]);
    assert_eq!((0..4).map(|file| circle.transitive(file, |_| true)).collect::<Vec<_>>(), [3, 3, 3, 0]);
    assert_eq!(circle.transitive(0, |file| file != 2), 1);
}

#[test]
fn either_direction_explains() {
    let graph = graph(4, &[(0, 1), (2, 1)]);
    for (one, other, expected) in [(0, 1, true), (1, 0, true), (0, 2, false), (3, 0, false), (9, 0, false)] {
        assert_eq!(graph.imports_between(one, other), expected, "{one} {other}");
    }
}

#[test]
fn neighbours_are_counted_by_distance() {
    let graph = graph(7, &[(1, 0), (2, 0), (3, 1), (4, 2), (0, 3), (5, 4)]);
    let found = graph.neighbours(0, NeighbourLimits { hops: 2, named: 3 }, |_| true);
    assert_eq!((found.direct, found.transitive, found.mean_distance), (2, 2, Some(1.5)));
    assert_eq!(found.nearest, [1, 2, 3]);
    let none = graph.neighbours(6, NeighbourLimits { hops: 2, named: 3 }, |_| true);
    assert_eq!((none.direct, none.transitive, none.mean_distance, none.nearest.len()), (0, 0, None, 0));
    assert_eq!(graph.neighbours(0, NeighbourLimits { hops: 3, named: 9 }, |_| true).nearest, [1, 2, 3, 4, 5]);
    // A test is no neighbour, and leads to none.
    let product = graph.neighbours(0, NeighbourLimits { hops: 3, named: 9 }, |file| file != 1);
    assert_eq!((product.direct, product.nearest.as_slice()), (1, [2, 4, 5].as_slice()));
}

/// The reach of each file, by the definition.
fn closure(files: u32, edges: &[(u32, u32)]) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut reached: BTreeMap<u32, BTreeSet<u32>> = (0..files).map(|file| (file, BTreeSet::new())).collect();
    for _ in 0..files {
        for &(from, to) in edges {
            let further = reached[&from].clone();
            let known = reached.get_mut(&to).unwrap();
            known.insert(from);
            known.extend(further);
        }
    }
    reached
}

proptest! {
    #[test]
    fn what_is_reached_is_the_closure(edges in prop::collection::vec((0_u32..12, 0_u32..12), 0..40)) {
        let graph = graph(12, &edges);
        let closure = closure(12, &edges);
        for file in 0..12 {
            let others = closure[&file].iter().filter(|&&other| other != file).count();
            prop_assert_eq!(graph.transitive(file, |_| true) as usize, others);
            let direct: BTreeSet<u32> = edges.iter().filter(|(from, to)| *to == file && from != to).map(|e| e.0).collect();
            let found: Vec<u32> = graph.importers(file).iter().map(|importer| importer.file).collect();
            prop_assert_eq!(&found, &direct.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(graph.fan_in(file, |_| true).importers as usize, direct.len());
            let around = graph.neighbours(file, NeighbourLimits { hops: 12, named: usize::MAX }, |_| true);
            prop_assert_eq!(around.nearest.len(), others);
            let nearest = u32::try_from(around.nearest.len()).unwrap();
            prop_assert_eq!(nearest, around.direct + around.transitive);
            for other in 0..12 {
                let linked = file != other && edges.iter().any(|&e| e == (file, other) || e == (other, file));
                prop_assert_eq!(graph.imports_between(file, other), linked);
            }
        }
    }

    #[test]
    fn the_order_of_edges_does_not_matter(edges in prop::collection::vec((0_u32..6, 0_u32..6, 0_usize..4, 0_u32..3), 0..20)) {
        const KINDS: [EdgeKind; 4] = [EdgeKind::Import, EdgeKind::TypeOnly, EdgeKind::Test, EdgeKind::Ownership];
        let edges: Vec<Edge> =
            edges.into_iter().map(|(from, to, kind, calls)| Edge { from, to, kind: KINDS[kind], calls: calls.checked_sub(1) }).collect();
        prop_assert_eq!(Graph::new(6, edges.iter().copied()), Graph::new(6, edges.iter().rev().copied()));
    }
}
